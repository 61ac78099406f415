"""The WHERE tree of a scan, as Spark analysed and optimised it, decoded into Python.

Four kinds of node: `Column` (a column of the table, or a field inside one), `Literal` (a constant), `Element` (any element of an
array, see elements.py) and `Call` (everything else). They compare by meaning, not by their place in a query, so that the tree of an
index expression can be found again inside a predicate, and they take part in pattern matching:

    match node:
        case Call("GreaterThan", [Call("Length", [column]), Literal(n)]): ...

A Call is the sequence of its children, so `case Call("Length", [column]), Literal(n)` matches the operands of a comparison.
"""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from data_skip.data_types import element_type

_OTHERS = ('"code"', '"?', '"options"')  # in the parameters of a call that is of others, or reads what is not told


@dataclass(frozen=True)
class Source:
    """Where a node stands in Spark's own tree: it means the same as node number `id` there, or as NOT of it."""

    id: int
    negated: bool = False

    def __str__(self) -> str:
        """As the Evaluator of the JVM is told it: `7`, or `!7` for NOT of node 7."""
        return f"!{self.id}" if self.negated else str(self.id)


@dataclass(frozen=True)
class Expression:
    """A node. `type` is Spark's name of its data type, as `int`, `decimal(10,2)` or `string collate UNICODE`."""

    type: str
    source: Source | None = field(compare=False, repr=False)

    @property
    def children(self) -> tuple[Expression, ...]:
        """The operands; none for columns and literals."""
        return ()

    def walk(self) -> Iterator[Expression]:
        """This node and all below it, from the top."""
        yield self
        for child in self.children:
            yield from child.walk()

    @property
    def deterministic(self) -> bool:
        """Whether Spark says that equal input gives equal output, here and everywhere below."""
        return all(child.deterministic for child in self.children)


@dataclass(frozen=True)
class Column(Expression):
    """A column of the table, or a field inside a struct column: its name parts, as `("address", "city")`.

    The field of an array of structs is the array of that field: `items.price`, of type array<double>.
    """

    path: tuple[str, ...]
    partition: bool = False
    __match_args__ = ("path",)

    def __str__(self) -> str:
        return ".".join(part if part.isidentifier() else f"`{part}`" for part in self.path)


@dataclass(frozen=True)
class Literal(Expression):
    """A constant in Spark's own representation: days for dates, microseconds since 1970 for timestamps, bytes for binary."""

    value: Any = field(compare=False)
    __match_args__ = ("value",)
    _exact: str = field(init=False, repr=False)  # tells -0.0 from 0.0, and says that NaN is NaN

    def __post_init__(self) -> None:
        object.__setattr__(self, "_exact", repr(self.value))

    def __str__(self) -> str:
        return repr(self.value) if not isinstance(self.value, Decimal) else str(self.value)


@dataclass(frozen=True)
class Opaque:
    """A literal value that has no Python form; equal to nothing but itself."""

    identity: str


@dataclass(frozen=True)
class Call(Expression, Sequence[Expression]):
    """An operator or function by the name of its Catalyst class, with its operands and scalar parameters."""

    name: str
    operands: tuple[Expression, ...]
    parameters: str = "{}"  # JSON: hashable, and equal where the parameters are
    own_deterministic: bool = True
    __match_args__ = ("name", "operands")

    @property
    def children(self) -> tuple[Expression, ...]:
        return self.operands

    @property
    def deterministic(self) -> bool:
        return self.own_deterministic

    def parameter(self, name: str) -> Any:
        """A scalar constructor parameter of the Catalyst class, as `escapeChar` of Like; KeyError where it has none."""
        return json.loads(self.parameters)[name]

    @property
    def time_zone(self) -> str | None:
        """The time zone in which Spark evaluates it; None where that depends on none."""
        zone = json.loads(self.parameters).get("timeZoneId")
        return zone if isinstance(zone, str) else None

    @property
    def is_subquery(self) -> bool:
        """Whether it is a sub-query, whose plan is not told."""
        return "plan" in json.loads(self.parameters)

    def __len__(self) -> int:
        return len(self.operands)

    def __getitem__(self, i: Any) -> Any:
        return self.operands[i]

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(str, self.operands))})"


@dataclass(frozen=True)
class Element(Expression):
    """Any element of an array; NULL as well, where a row's array has none: what `LATERAL VIEW OUTER explode` gives of a file's rows."""

    of: Expression
    __match_args__ = ("of",)

    @property
    def children(self) -> tuple[Expression, ...]:
        return (self.of,)

    def __str__(self) -> str:
        return f"element of {self.of}"


def element_of(array: Expression, source: Source | None = None) -> Element:
    """Any element of an expression of array type."""
    return Element(element_type(array.type), source, array)


def field_of(container: Expression, name: str, type_: str, source: Source | None) -> Expression:
    """A field of a struct, in the one form in which fields are compared: of an element, an element of the array of that field."""
    match container:
        case Column(path):
            return Column(type_, source, (*path, name), container.partition)
        case Element(Call("MapEntries", [entries])):
            return Element(type_, source, new_call(f"array<{type_}>", "MapKeys" if name == "key" else "MapValues", entries))
        case Element(array):
            return Element(type_, source, fields_of(array, name, f"array<{type_}>", None))
    return Call(type_, source, "GetStructField", (container,), json.dumps({"field": name}), container.deterministic)


def fields_of(array: Expression, name: str, type_: str, source: Source | None) -> Expression:
    """The array of one field of an array of structs."""
    match array:
        case Column() | Element():
            return field_of(array, name, type_, source)
    return Call(type_, source, "GetArrayStructFields", (array,), json.dumps({"field": name}), array.deterministic)


def name_of(node: Expression) -> str:
    """The name of a call; "" of another node."""
    return node.name if isinstance(node, Call) else ""


def negation(node: Expression) -> Call:
    """NOT node."""
    source = replace(node.source, negated=not node.source.negated) if node.source else None
    return replace(predicate("Not", node), source=source)


def new_call(type_: str, name: str, *operands: Expression) -> Call:
    """A call that stands nowhere in Spark's tree, of a deterministic function without parameters."""
    return Call(type_, None, name, operands, own_deterministic=all(operand.deterministic for operand in operands))


def predicate(name: str, *operands: Expression) -> Call:
    """A predicate that stands nowhere in Spark's tree, as `predicate("EqualTo", column, literal)`."""
    return new_call("boolean", name, *operands)


def decode(tree: Mapping[str, Any]) -> Expression:
    """The expression of a tree as TreeEncoder.java writes it."""
    type_, source = tree["type"], Source(tree["id"])
    if "column" in tree:
        return Column(type_, source, (tree["column"],), tree["partition"])
    if "value" in tree:
        return Literal(type_, source, decode_value(tree["value"]))
    name, parameters = tree["name"], dict(tree.get("parameters", {}))  # the tree stays as it is: it may be decoded again, and kept
    children = tuple(decode(child) for child in tree.get("children", ()))
    if name == "GetStructField":
        return field_of(children[0], parameters["field"], type_, source)
    if name == "GetArrayStructFields":
        return fields_of(children[0], parameters["field"], type_, source)
    if name == "ElementAt" and children[0].type.startswith("map<"):  # as m[k]: NULL where there is no such key
        return Call(type_, source, "GetMapValue", children, "{}", tree["deterministic"])
    if name == "InSet":  # Spark's form of a long IN list of constants
        element = children[0].type
        children += tuple(Literal(element, None, decode_value(value)) for value in parameters.pop("values"))
        name = "In"
    text = json.dumps(parameters, sort_keys=True)
    return Call(type_, source, name, children, text, tree["deterministic"])


def decode_value(encoded: Mapping[str, Any]) -> Any:
    """The value of a literal as TreeEncoder.java writes it."""
    ((kind, value),) = encoded.items()
    match kind:
        case "null":
            return None
        case "bool":
            return value
        case "int":
            return int(value)
        case "double":
            return struct.unpack(">d", int(value).to_bytes(8, "big", signed=True))[0]
        case "decimal":
            return Decimal(value)
        case "bytes":
            return base64.b64decode(value)
        case "array":
            return tuple(decode_value(item) for item in value)
        case "text":
            try:
                return base64.b64decode(value).decode("utf-8")
            except UnicodeDecodeError:
                return Opaque(value)
    return Opaque(value)


def columns_of(trees: Iterable[Expression]) -> set[Column]:
    """The columns, and fields of columns, that expressions read."""
    return {node for tree in trees for node in tree.walk() if isinstance(node, Column)}


def calls_of(trees: Iterable[Expression]) -> list[Call]:
    """The operators and functions of expressions, however deep."""
    return [node for tree in trees for node in tree.walk() if isinstance(node, Call)]


def calls_python(trees: Iterable[Expression]) -> bool:
    """Whether expressions call a Python function."""
    return any(call.name == "PythonUDF" for call in calls_of(trees))


def unversioned(trees: Iterable[Expression]) -> str:
    """The name of a Python function, called in expressions, that does not say which version it is; "" where all do. See functions.py."""
    found = (json.loads(call.parameters) for call in calls_of(trees) if call.name == "PythonUDF")
    return next((str(parameters["name"]) for parameters in found if parameters.get("unversioned")), "")


def calls_others(trees: Iterable[Expression]) -> bool:
    """Whether expressions call a function that Spark does not bring, of which nobody knows what it is, or that may read a file.

    See TreeEncoder.java. Objects are what functions are called on, as those of catalogs; files are named by options, as XSDs of from_xml.
    """
    nodes = [node for tree in trees for node in tree.walk()]
    if any(isinstance(node, Literal) and _holds_object(node.value) for node in nodes):
        return True
    return any(call.name == "PythonUDF" or any(sign in call.parameters for sign in _OTHERS) for call in nodes if isinstance(call, Call))


def _holds_object(value: Any) -> bool:
    return isinstance(value, Opaque) or (isinstance(value, tuple) and any(map(_holds_object, value)))


def conjuncts(node: Expression) -> list[Expression]:
    """The operands of an AND, however deep; the node itself where it is none."""
    if isinstance(node, Call) and node.name == "And":
        return [part for child in node.operands for part in conjuncts(child)]
    return [node]
