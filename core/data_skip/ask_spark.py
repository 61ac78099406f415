"""What data-skip asks the Spark that planned the query, instead of imitating it. `Scan` of spark/bridge.py answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from data_skip.expression import Call, Expression, Literal

_SIGNS = {
    "LessThan": (-1,),
    "LessThanOrEqual": (-1, 0),
    "EqualTo": (0,),
    "NotEqualTo": (-1, 1),
    "GreaterThanOrEqual": (0, 1),
    "GreaterThan": (1,),
}


@dataclass(frozen=True)
class Bisection:
    """How a monotone function f compares with a constant c over the ordered values of a type, numbered as in Domain.java ("ordinals")."""

    first: int  # f has a value on the ordinals [first, last]; elsewhere nothing is known
    reached: int  # from here on f(x) >= c; where f is not increasing, f(x) <= c
    passed: int  # from here on f(x) > c; where f is not increasing, f(x) < c
    last: int
    increasing: bool
    strict: bool  # f(NULL) is NULL
    nan: int | None  # the sign of f(NaN) - c; None where that has no value

    def where(self, operator: str) -> list[tuple[int, int]]:
        """Closed ranges of ordinals at which `f(x) operator c` is true."""
        below, equal, above = (self.first, self.reached - 1), (self.reached, self.passed - 1), (self.passed, self.last)
        parts = {-1: below, 0: equal, 1: above} if self.increasing else {1: below, 0: equal, -1: above}
        return [parts[sign] for sign in _SIGNS[operator]]

    def of_nan(self, operator: str) -> bool:
        """Whether `f(NaN) operator c` may be true."""
        return self.nan is None or self.nan in _SIGNS[operator]


@dataclass(frozen=True)
class Rule:
    """A claim about a function: where it is monotone, and what to mind. `zone` is the time zone of the call that it is about.

    Claim.java has the same fields.
    """

    operands: tuple[int, ...] | None = None  # those that may vary; None: all
    checked: bool = False  # it may wrap round where it overflows, so Spark is asked in ANSI mode, which raises an error
    inexact: bool = False  # it is right to one unit in the last place, and may turn within that
    cuts: tuple[int, ...] = ()  # the ordinals (see Domain.java) where it may turn; from one to the next it is monotone, or NULL throughout
    zone: str | None = None

    # Conditions on the ranges of its operands in a file: Conditions.java looks whether they hold.
    finite: bool = False  # no infinity
    nonzero: bool = False  # no 0 in the second operand
    offset: bool = False  # one offset from UTC
    period: str = ""  # within one such period of local time: "year", "week from sunday", ...
    seconds: bool = False  # seconds since 1970 of the years 1 to 9999
    text: bool = False  # years of four digits, which order as text
    shared: int = 0  # texts whose first so many characters are the same
    truncated: int = 0  # one whole quotient by this number, cut towards 0
    floored: int = 0  # one whole quotient by this number, rounded down
    calendar: bool = False  # the years 1 to 9999, as everywhere; said where whole numbers may lead out of them, and sums of days wrap round

    # The range of the result is wider than between its corners:
    days: bool = False  # by what makes whole local days of it
    slack: int = 0  # by this on either side

    @property
    def everywhere(self) -> bool:
        """Whether it holds on the whole domain, and exactly, so that a preimage can be found."""
        return replace(self, operands=None, checked=False, zone=None) == Rule()


@dataclass
class Claims:
    """What is told of a node whose range in each file is asked for. Nodes of Spark's tree are known by their numbers."""

    targets: dict[Expression, list[int]] = field(default_factory=dict)  # the expressions whose ranges are known, and where they stand
    rules: dict[int, Rule] = field(default_factory=dict)  # of the calls in between
    monotone: tuple[str, ...] = ()  # the names of functions that are monotone in each operand, always


class Spark(Protocol):
    """Questions about nodes of the query's own tree, and about time zones. Of a node that stands nowhere in it, nothing is known."""

    def truth(self, node: Expression, target: Expression, values: pa.Array) -> npt.NDArray[np.uint8] | None:
        """For each value of the target, whether the node is true: 0 no (false or null), 1 yes, 2 Spark raises an error.

        None where the node needs more than the target: another column, a subquery, a Python function that cannot be called here."""

    def bisect(self, function: Expression, constant: Literal, target: Expression, checked: list[Call]) -> Bisection | None:
        """Where a monotone function of the target reaches and passes a constant; None where Spark cannot say.

        The calls `checked` are evaluated in the form that raises an error where they overflow."""

    def may_be(self, node: Expression, claims: Claims, columns: list[pa.Array]) -> npt.NDArray[np.bool_]:
        """For each file, whether the node may be true there; `columns`: three for each target, see Ranges.mayBe in Ranges.java."""

    def cast(self, cast: Call, values: pa.Array) -> list[Literal] | None:
        """What a cast, which need not stand in the query, gives of values of its operand; None where one of them raises an error."""

    def value(self, node: Expression, given: Mapping[Expression, pa.Array]) -> float | None:
        """The number that a node of the query gives where expressions in it have these values, in arrays of one.

        None where it is NULL or an error, or needs more than these expressions."""

    def sql(self, node: Expression) -> str:
        """The node as Spark writes it in SQL, for people."""

    def dates_ascend(self, zone: str) -> bool:
        """Whether local dates never go back in a time zone."""

    def fixed_offset(self, zone: str) -> bool:
        """Whether a time zone has one offset from UTC, always."""
