"""show_tree: the tree of a predicate as filters are given it, and a filter to begin with.

>>> print(show_tree(spark, "levenshtein(name, 'x') <= 2", "name string"))
And
  LessThanOrEqual
    Levenshtein: int
      name: string
      'x': string
    2: int
  IsNotNull
    name: string

@filters.on("LessThanOrEqual")
def filter_1(node: Call, indexes: Indexes) -> Iterator[Clause]:
    match node:
        case Call("Levenshtein", [name, Literal(a)]), Literal(b):  # a = 'x', b = 2
            ...
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from keyword import iskeyword
from tempfile import TemporaryDirectory

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from data_skip.errors import DataSkipError
from data_skip.expression import Call, Column, Expression, Literal
from data_skip.planning.normalize import normalize
from data_skip.session import enable
from data_skip.spark.errors import first_line

_LISTS = ("In", "InSet")  # of any number of operands
_TAKEN = ("node", "indexes", "filters", "others")  # what a filter calls other things


@dataclass(frozen=True)
class ShownTree:
    """What filters see of a predicate: `root` is the tree, `str()` shows it, with a filter for each of its leaves.

    But for IS NOT NULL, which Spark adds by itself, where there are others.
    """

    root: Expression

    @property
    def leaves(self) -> tuple[Expression, ...]:
        """What filters are asked about, beside ANDs and ORs of them."""
        return tuple(_leaves(self.root))

    def __str__(self) -> str:
        leaves = [leaf for leaf in dict.fromkeys(self.leaves) if isinstance(leaf, Call)]
        chosen = [leaf for leaf in leaves if leaf.name != "IsNotNull"] or leaves
        filters = [_filter(leaf, number) for number, leaf in enumerate(chosen, 1)]
        return "\n\n".join(["\n".join(_lines(self.root, 0)), *filters])

    __repr__ = __str__  # as a notebook shows it


def show_tree(spark: SparkSession, predicate: str, schema: StructType | str) -> ShownTree:
    """The tree of a SQL predicate over a table with some columns, as filters are given it: optimised by Spark, with NOT on leaves only.

    schema: as of `spark.read.schema`. DataSkipError for a predicate that Spark refuses, or of which it leaves nothing to be asked, as
    `1 = 1`. data-skip stays enabled in the session.
    """
    jvm = enable(spark).jvm
    with TemporaryDirectory(prefix="data-skip-tree-") as folder:
        try:
            scans = jvm.scans(spark.read.schema(schema).parquet(folder).where(predicate))
        except PySparkException as error:
            raise DataSkipError(f"Spark does not understand {predicate!r} over these columns: {first_line(error)}") from error
        if not scans:
            raise DataSkipError(f"Spark knows without looking at a row what {predicate!r} is: filters are not asked about it")
        return ShownTree(normalize(scans[-1].predicate))


def _leaves(node: Expression) -> Iterator[Expression]:
    if isinstance(node, Call) and node.name in ("And", "Or"):
        for child in node.children:
            yield from _leaves(child)
    else:
        yield node


def _lines(node: Expression, depth: int) -> Iterator[str]:
    indent = "  " * depth
    if not isinstance(node, Call):
        yield f"{indent}{node}: {node.type}"
        return
    told = "" if node.type == "boolean" else f": {node.type}"
    parameters = ", ".join(f"{name}={value!r}" for name, value in json.loads(node.parameters).items() if value is not None)
    further = [*([f"({parameters})"] if parameters else []), *([] if node.deterministic else ["not deterministic"])]
    yield "  ".join([f"{indent}{node.name}{told}", *further])
    for child in node.children:
        yield from _lines(child, depth + 1)


class _Pattern:
    """The pattern of one leaf, and what its names stand for."""

    def __init__(self, leaf: Call) -> None:
        self.constants: dict[str, str] = {}
        self._columns: dict[str, Expression] = {}
        self.casts: list[str] = []  # of which a pattern does not tell the type
        self.guards: list[str] = []  # a pattern binds a name once
        children = [self._of(child) for child in (leaf.children[:1] if leaf.name in _LISTS else leaf.children)]
        children += ["*others"] if leaf.name in _LISTS else []
        self.text = ", ".join(children) if len(children) > 1 else f"[{''.join(children)}]"

    def _of(self, node: Expression) -> str:
        if isinstance(node, Literal):
            name = _letter(len(self.constants))
            self.constants[name] = str(node)
            return f"Literal({name})"
        if isinstance(node, Call):
            self.casts += [f"a Cast to {node.type}"] if node.name == "Cast" else []
            return f'Call("{node.name}", [{", ".join(map(self._of, node.children))}])'
        name = self._name(node)
        self.guards += [f"{name} == {other}" for other, known in self._columns.items() if known == node][:1]
        self._columns[name] = node
        return name

    def _name(self, node: Expression) -> str:
        last = node.path[-1].lower() if isinstance(node, Column) else "element"
        name = (
            last
            if last.isidentifier() and not iskeyword(last) and last not in _TAKEN and len(last) > 1
            else f"column_{len(self._columns) + 1}"
        )
        return name if name not in self._columns else f"{name}_{len(self._columns) + 1}"


def _letter(i: int) -> str:
    return chr(ord("a") + i) if i < 26 else f"c{i}"


def _filter(leaf: Call, number: int) -> str:
    pattern = _Pattern(leaf)
    guard = f" if {' and '.join(pattern.guards)}" if pattern.guards else ""
    of_all = ["others: Literals, of NULL too, or other expressions"] if leaf.name in _LISTS else []
    told = ", ".join([*(f"{name} = {value}" for name, value in pattern.constants.items()), *pattern.casts, *of_all])
    return "\n".join(
        [
            f'@filters.on("{leaf.name}")',
            f"def filter_{number}(node: Call, indexes: Indexes) -> Iterator[Clause]:",
            "    match node:",
            f"        case {pattern.text}{guard}:{f'  # {told}' if told else ''}",
            "            ...",
        ]
    )
