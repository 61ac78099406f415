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

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from data_skip.clause import KEEP, Clause, Named
from data_skip.expression import Call, Expression, Literal
from data_skip.index import BoundIndex, Index
from data_skip.monotone import AskSpark

ANY = "*"
_MARK = "data_skip_nodes"


class Spark(AskSpark, Protocol):
    """The Spark that planned the query, for filters that need an answer about its semantics."""

    def truth(self, node: Expression, target: Expression, values: pa.Array) -> npt.NDArray[np.uint8] | None:
        """For each value of the target, whether the node is true: 0 no (false or null), 1 yes, 2 Spark raises an error.

        None where the node needs more than the target: another column, a subquery, a Python function."""

    def may_be(self, node: Expression, program: str, columns: list[pa.Array]) -> npt.NDArray[np.bool_]:
        """For each file, whether the node may be true there: see Ranges.java, and ranges.py."""

    def cast(self, cast: Call, values: pa.Array) -> list[Literal] | None:
        """What a cast, which need not stand in the query, gives of values of its operand; None where one of them raises an error."""

    def value(self, node: Expression, given: Mapping[Expression, pa.Array]) -> float | None:
        """The number that a node of the query gives where expressions in it have these values, in arrays of one.

        None where it is NULL or an error, or needs more than these expressions."""

    def sql(self, node: Expression) -> str:
        """The node as Spark writes it in SQL, for people."""


@dataclass(frozen=True)
class Indexes:
    """The indexes of one table that may be used for one query."""

    bound: tuple[BoundIndex, ...]
    spark: Spark
    implied: Callable[[Expression], Clause] = lambda predicate: KEEP
    """The clause of another predicate, which some row (or some element, see elements.py) of every file satisfies that holds a
    row satisfying the node: what all filters say of it; KEEP where they say nothing."""

    def of(self, kind: type[Index]) -> Iterator[BoundIndex]:
        """All indexes of a class."""
        return (index for index in self.bound if isinstance(index.index, kind))

    def over(self, expression: Expression, kind: type[Index]) -> Iterator[BoundIndex]:
        """The indexes of a class whose only expression is this one."""
        return (index for index in self.of(kind) if index.expressions == (expression,))


def implied_clause(node: Expression, implied: Expression, indexes: Indexes) -> Iterator[Clause]:
    """The clause of a predicate that holds wherever the node does, told as one of the node; none where nothing serves it."""
    clause = indexes.implied(implied)
    if clause is not KEEP:
        names = ", ".join(dict.fromkeys(field.label for field in clause.fields()))
        yield Named(f"{names} admits {indexes.spark.sql(node)}", clause)


def admits(index: BoundIndex, node: Expression, indexes: Indexes) -> str:
    """A clause in words for people: which index lets which predicate pass."""
    return f"{index} admits {indexes.spark.sql(node)}"


FilterFunction = Callable[[Any, Indexes], Iterable[Clause]]
F = TypeVar("F", bound=FilterFunction)


def on(*names: str) -> Callable[[F], F]:
    """Marks a function as a filter of nodes with one of these Catalyst class names; with no name: of every node."""

    def mark(function: F) -> F:
        setattr(function, _MARK, names or (ANY,))
        return function

    return mark


class Filters:
    """The filters of some modules, by the names of the nodes that they serve."""

    def __init__(self, modules: Iterable[ModuleType] = ()) -> None:
        self._by_name: dict[str, list[FilterFunction]] = {}
        known: set[int] = set()
        for module in modules:
            for function in vars(module).values():
                if callable(function) and hasattr(function, _MARK) and id(function) not in known:
                    known.add(id(function))
                    for name in getattr(function, _MARK):
                        self._by_name.setdefault(name, []).append(function)

    def of(self, name: str) -> list[FilterFunction]:
        """The filters of a node with this name."""
        return self._by_name.get(name, []) + self._by_name.get(ANY, [])
