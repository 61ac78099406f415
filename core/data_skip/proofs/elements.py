"""Arrays and maps: an index over an array keeps what it keeps about the array's elements ("leaf fields" of Big Metadata).

An index over `tags` sees what `LATERAL VIEW OUTER explode(tags)` gives of a file's rows: every element, and NULL for each array that
is NULL or empty. So do Parquet's own statistics. What a leaf of the WHERE says of a row becomes what it says of some element:

    array_contains(a, c)       e = c                        a[0] = c, element_at(a, -1) = c     e = c
    exists(a, x -> p(x))       p(e)                         array_max(a) > c                    e > c
    forall(a, x -> p(x))       p(e) OR e IS NULL            m['k'] = c                          e = c, e of map_values(m),
    NOT exists(a, x -> p(x))   NOT p(e) OR e IS NULL                                            and e = 'k', e of map_keys(m)

`forall` is true of an array without elements: that is what the NULL stands for. Each leaf speaks of an element of its own, so
two leaves are never joined into one test, as `exists(a, x -> x > 50) AND exists(a, x -> x < 5)` shows. Within p, all is about one element.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pyarrow as pa

from data_skip import filters
from data_skip.clause import Clause
from data_skip.data_types import FRACTIONAL, element_type, is_array
from data_skip.expression import Call, Element, Expression, Literal, element_of, field_of, name_of, negation, new_call, predicate
from data_skip.filters import Indexes, Spark, implied_clause


def indexed(expressions: Sequence[Expression]) -> tuple[Expression, ...]:
    """What an index over expressions keeps records of: themselves, or of a single array, however deep, any element.

    Elements of several arrays belong to no row: an index over more than one expression sees arrays as they are.
    """
    if len(expressions) == 1:
        (expression,) = expressions
        while is_array(expression.type):
            expression = element_of(expression)
        return (expression,)
    return tuple(expressions)


@filters.on()
def by_element(node: Expression, indexes: Indexes) -> Iterator[Clause]:
    """A leaf that is true of a row only if some element of an array satisfies another predicate."""
    if not any(isinstance(part, Element) for index in indexes.bound for tree in index.expressions for part in tree.walk()):
        return
    if isinstance(node, Call) and node.name in ("And", "Or"):
        return
    for implied in (*_quantified(node), *_extracted(node, indexes.spark)):
        yield from implied_clause(node, implied, indexes)


def _quantified(node: Expression) -> Iterator[Expression]:
    """What some element satisfies wherever a leaf about an array as a whole is true."""
    match node:
        case Call("ArrayContains", [array, Literal() as constant]):
            yield _is(array, "EqualTo", constant)
        case Call("Not", [Call("ArrayContains", [array, Literal() as constant])]):
            yield _or_none(array, negation(_is(array, "EqualTo", constant)))
        case Call("ArraysOverlap", [array, Literal(tuple()) as constants] | [Literal(tuple()) as constants, array]):
            yield _is(array, "In", *_items(constants))
        case Call("Not", [Call("ArraysOverlap", [array, Literal(tuple()) as constants] | [Literal(tuple()) as constants, array])]):
            if element_type(array.type) not in FRACTIONAL:  # there Spark takes 0.0 and -0.0 for different
                yield _or_none(array, negation(_is(array, "In", *_items(constants))))
        case Call("ArrayExists", [array, function]) | Call("Not", [Call("ArrayForAll", [array, function])]):
            if (body := _of_element(array, function)) is not None:
                yield body if name_of(node) == "ArrayExists" else negation(body)
        case Call("ArrayForAll", [array, function]):
            if (body := _of_element(array, function)) is not None:
                yield _or_none(array, body)
        case Call("Not", [Call("ArrayExists", [array, function]) as exists]):
            body = _of_element(array, function)
            if body is not None and exists.parameter("followThreeValuedLogic"):  # else p(e) may be NULL
                yield _or_none(array, negation(body))
        case Call("EqualTo" | "EqualNullSafe", [array, Literal(tuple() as values)]) if is_array(array.type):
            for value in dict.fromkeys(values):
                yield _is(array, "EqualNullSafe", Literal(element_type(array.type), None, value))
        case Call("IsNull", [array]) if is_array(array.type):
            yield _is(array, "IsNull")


def _extracted(node: Expression, spark: Spark) -> Iterator[Expression]:
    """What some element satisfies wherever a leaf about one element of an array, or one value of a map, is true."""
    for part in dict.fromkeys(node.walk()):
        match part:
            case Call("GetArrayItem", [array, Literal(place)]):
                null_if_none = place == 0
            case Call("ElementAt", [array, Literal(place)]):
                null_if_none = place in (1, -1)
            case Call("ArrayMax" | "ArrayMin", [array]):
                null_if_none = True
            case Call("GetMapValue", [entries, _]):
                array = new_call(f"array<{part.type}>", "MapValues", entries)
                null_if_none = False
            case _:
                continue
        element = element_of(array)
        if element in node.walk():
            continue  # it is about another element as well
        false_of_none = not null_if_none and not _may_hold_of_null(node, part, spark)
        if null_if_none or false_of_none:
            yield substituted(node, part, element)
        match part:
            case Call("GetMapValue", [entries, Literal() as key]) if false_of_none:
                yield _is(new_call(f"array<{key.type}>", "MapKeys", entries), "EqualTo", key)


def _may_hold_of_null(node: Expression, part: Expression, spark: Spark) -> bool:
    """Whether a leaf may be true where a part of it is NULL: as far as Spark can tell."""
    answer = spark.truth(node, part, pa.nulls(1))
    return answer is None or bool(answer[0])


def _of_element(array: Expression, function: Expression) -> Expression | None:
    """The body of a lambda function of one variable, about any element of an array; None where that would mix up two elements."""
    match function:
        case Call("LambdaFunction", [body, Call("NamedLambdaVariable") as variable]):
            element = element_of(array)
            return None if element in body.walk() else substituted(body, variable, element)
    return None


def substituted(node: Expression, part: Expression, by: Expression) -> Expression:
    """The node with every occurrence of a part replaced; it keeps its place in Spark's tree."""
    if node == part:
        return replace(by, source=node.source)
    if not isinstance(node, Call):
        return replace(node, of=substituted(node.of, part, by)) if isinstance(node, Element) else node
    operands = tuple(substituted(operand, part, by) for operand in node.operands)
    if node.name == "GetStructField":
        return field_of(operands[0], node.parameter("field"), node.type, node.source)
    return replace(node, operands=operands)


def _is(array: Expression, name: str, *others: Expression) -> Call:
    """A predicate about any element of an array."""
    return predicate(name, element_of(array), *others)


def _or_none(array: Expression, condition: Expression) -> Call:
    """The condition, or an array without elements."""
    return predicate("Or", _is(array, "IsNull"), condition)


def _items(constants: Literal) -> list[Literal]:
    return [Literal(element_type(constants.type), None, value) for value in constants.value]
