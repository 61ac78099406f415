"""Filters: functions that look at one node of the WHERE tree and yield clauses that represent it.

    @filters.on("GreaterThan")
    def longer_than(node, indexes):
        match node:
            case Call("Length", [column]), Literal(n):
                for index in indexes.over(column, MaxLength):
                    yield index["longest"] > n

The tree is normalised: NOT stands on leaves only (a filter on "Not" gets the whole `NOT leaf`), constants of comparisons on
the right. All clauses that all filters yield for a node hold together (AND). A filter that raises yields nothing.
An OR may have very many operands, as the rows of a join: who can serve it as a whole yields a `Whole` clause.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, TypeVar

from data_skip.ask_spark import Spark as Spark  # filters of plugins import it from here
from data_skip.clause import ALWAYS_FALSE, ALWAYS_TRUE, Clause, Named, Words
from data_skip.expression import Expression
from data_skip.index import BoundIndex, Index

ANY = "*"
_MARK = "data_skip_nodes"


@dataclass(frozen=True)
class Indexes:
    """The indexes of one table that may be used for one query."""

    bound: tuple[BoundIndex, ...]
    spark: Spark
    implied: Callable[[Expression], Clause] = lambda predicate: ALWAYS_TRUE
    """What all filters say of another predicate, for a filter that knows what its node implies; ALWAYS_TRUE where they say nothing.

    Of every row that satisfies the node, the other predicate must be true, or true of one of its elements (see elements.py)."""

    _by_kind: dict[type[Index], list[BoundIndex]] = field(default_factory=dict, init=False, repr=False, compare=False)

    def of(self, kind: type[Index]) -> Iterator[BoundIndex]:
        """All indexes of a class."""
        if kind not in self._by_kind:
            self._by_kind[kind] = [index for index in self.bound if isinstance(index.index, kind)]
        return iter(self._by_kind[kind])

    def over(self, expression: Expression, kind: type[Index]) -> Iterator[BoundIndex]:
        """The indexes of a class whose only expression is this one."""
        return (index for index in self.of(kind) if index.expressions == (expression,))


def implied_clause(node: Expression, implied: Expression, indexes: Indexes) -> Iterator[Clause]:
    """The clause of a predicate that holds wherever the node does, told as one of the node; none where nothing serves it."""
    clause = indexes.implied(implied)
    if clause is ALWAYS_FALSE:
        yield clause
    elif clause is not ALWAYS_TRUE:
        names = ", ".join(dict.fromkeys(field.label for field in clause.fields()))
        yield Named(Words(lambda: f"{names} admits {indexes.spark.sql(node)}"), clause)


def admits(index: BoundIndex, node: Expression, indexes: Indexes) -> Words:
    """A clause in words for people: which index lets which predicate pass."""
    return Words(lambda: f"{index} admits {indexes.spark.sql(node)}")


FilterFunction = Callable[[Any, Indexes], Iterable[Clause]]
F = TypeVar("F", bound=FilterFunction)


def on(*names: str) -> Callable[[F], F]:
    """Marks a function as a filter of nodes with one of these Catalyst class names; with no name: of every node.

    TypeError for what is no name, as the function itself, where `@filters.on` is written without its parentheses.
    """
    if odd := [name for name in names if not isinstance(name, str)]:
        raise TypeError(f"filters.on takes names of nodes, as @filters.on('GreaterThan') above a function, not {odd[0]!r}")

    def mark(function: F) -> F:
        setattr(function, _MARK, names or (ANY,))
        return function

    return mark


def node_names(function: Any) -> tuple[str, ...]:
    """The nodes that a function is marked as a filter of; none where it is no filter."""
    return getattr(function, _MARK, ()) if callable(function) else ()


class Filters:
    """The filters of some modules, by the names of the nodes that they serve."""

    def __init__(self, modules: Iterable[ModuleType] = ()) -> None:
        self._by_name: dict[str, list[FilterFunction]] = {}
        known: set[int] = set()
        for module in modules:
            for function in vars(module).values():
                if id(function) not in known:
                    known.add(id(function))
                    for name in node_names(function):
                        self._by_name.setdefault(name, []).append(function)

    def of(self, name: str) -> list[FilterFunction]:
        """The filters of a node with this name."""
        return self._by_name.get(name, []) + self._by_name.get(ANY, [])
