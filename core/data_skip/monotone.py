"""Preimage by bisection: f(x) < c as a range of x, for a monotone f, found by asking Spark for f at some 64 points.

*Which* functions are monotone, and where, is the one thing that we claim ourselves: `CASTS` and `_monotone_call`. Each entry says
why. "Monotone" here asks two things of f on the whole domain of its type: the x at which f has a value (neither raises nor
gives NULL) are one stretch that holds 0, and on it f never turns. Outside of the stretch nothing is known and files are kept.
"""

from __future__ import annotations

import re
import struct
from decimal import Decimal
from typing import Any, Protocol

from data_skip.expression import Call, Expression, Literal
from data_skip.value_set import Interval, ValueSet, points, union

INTEGRAL = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
FRACTIONAL = ("float", "double")


class AskSpark(Protocol):
    """The Spark that planned the query; see Evaluator.java."""

    def bisect(self, function: Expression, constant: Literal, target: Expression) -> Bisection | None:
        """Where a monotone function of the target reaches and passes a constant; None where Spark cannot say."""

    def dates_ascend(self, zone: str) -> bool:
        """Whether local dates never go back in a time zone."""


class Bisection:
    """f has a value on the ordinals [first, last]; f(x) >= c from `reached`, f(x) > c from `passed` (<=, < where decreasing)."""

    def __init__(self, first: int, reached: int, passed: int, last: int, increasing: bool, strict: bool) -> None:
        self.first, self.reached, self.passed, self.last = first, reached, passed, last
        self.increasing, self.strict = increasing, strict

    def where(self, operator: str) -> list[tuple[int, int]]:
        """Closed ranges of ordinals at which `f(x) operator c` is true, or f has no value."""
        below, equal, above = (self.first, self.reached - 1), (self.reached, self.passed - 1), (self.passed, self.last)
        less, greater = (below, above) if self.increasing else (above, below)
        return {
            "LessThan": [less],
            "LessThanOrEqual": [less, equal],
            "EqualTo": [equal],
            "NotEqualTo": [less, greater],
            "GreaterThanOrEqual": [greater, equal],
            "GreaterThan": [greater],
        }[operator]


def preimage(operator: str, function: Expression, constant: Literal, target: Expression, spark: AskSpark) -> ValueSet | None:
    """The values of the target for which `function operator constant` can be true; None where that is not known."""
    if function == target or constant.value is None or not is_monotone(function, target, spark):
        return None
    found = spark.bisect(function, constant, target)
    if found is None:
        return None
    inside = [_interval(a, b, target.type) for a, b in found.where(operator) if a <= b]
    smallest, largest = _interval(found.first, found.first, target.type), _interval(found.last, found.last, target.type)
    outside = []
    if smallest.intervals:
        outside.append(ValueSet((Interval(high=smallest.intervals[0].low),)))
    if largest.intervals:  # f has no value above: there, and at NaN, nothing is known
        outside.append(ValueSet((Interval(low=largest.intervals[0].high),), nan=target.type in FRACTIONAL))
    everything = union(inside + outside)
    return ValueSet(everything.intervals, everything.nan, null=not found.strict)


def _interval(a: int, b: int, type_: str) -> ValueSet:
    """The closed range of ordinals [a, b] as values."""
    nan = _nan_ordinal(type_)
    if nan is None or b < nan:
        return ValueSet((Interval(value_at(a, type_), value_at(b, type_), True, True),))
    if a == nan:
        return points([float("nan")])
    return ValueSet((Interval(low=value_at(a, type_), low_closed=True),), nan=True)


def _nan_ordinal(type_: str) -> int | None:
    return {"float": 0x7F800001, "double": 0x7FF0000000000001}.get(type_)


def value_at(ordinal: int, type_: str) -> Any:
    """The value with this number in the order of its type: the twin of Domain.value in Domain.java."""
    if type_ in FRACTIONAL:
        real, size = (">f", 4) if type_ == "float" else (">d", 8)
        magnitude = struct.unpack(real, abs(ordinal).to_bytes(size, "big"))[0]
        return magnitude if ordinal >= 0 else -magnitude
    if scale := re.fullmatch(r"decimal\(\d+,(\d+)\)", type_):
        return Decimal(f"{ordinal}E-{scale[1]}")  # from text: arithmetic would round to 28 digits
    return ordinal


def is_monotone(function: Expression, target: Expression, spark: AskSpark) -> bool:
    """Whether `function` is a chain of monotone functions of the target and of nothing else."""
    while function != target:
        if not isinstance(function, Call) or not _monotone_call(function, spark):
            return False
        function = function.operands[0]
    return True


def _monotone_call(call: Call, spark: AskSpark) -> bool:
    """Whether a call is monotone in its first operand, all the others being constants."""
    match call:
        case Call("Cast", [inner]):
            return _monotone_cast(kind(inner.type), kind(call.type), call, spark)
        case Call("Year", [inner]):
            return inner.type == "date"  # the proleptic Gregorian calendar: no year comes back
    return False


def kind(type_: str) -> str:
    """`integral`, `fractional`, `decimal` or the type itself."""
    if type_ in INTEGRAL:
        return "integral"
    if type_ in FRACTIONAL:
        return "fractional"
    return "decimal" if type_.startswith("decimal(") else type_


# (from, to) -> does it hold only where overflow raises or gives NULL (ANSI or TRY), instead of wrapping round?
CASTS = {
    ("integral", "integral"): True,  # widening is the identity; narrowing wraps in LEGACY mode
    ("integral", "fractional"): False,  # rounds to nearest, which keeps weak order
    ("integral", "decimal"): False,  # exact, or NULL or an error
    ("fractional", "fractional"): False,  # rounds to nearest, infinity beyond; NaN stays NaN, on top
    ("fractional", "integral"): True,  # truncates; in LEGACY mode NaN becomes 0 and small types wrap
    ("decimal", "decimal"): False,  # rounds half up, or NULL or an error
    ("decimal", "integral"): True,  # truncates; wraps in LEGACY mode
    ("decimal", "fractional"): False,  # rounds to nearest
    ("date", "timestamp"): False,  # the start of the day: a later day never starts earlier
    ("date", "timestamp_ntz"): False,
    ("timestamp_ntz", "date"): False,
    ("timestamp", "date"): False,  # where local dates never go back: _monotone_cast
}


def _monotone_cast(source: str, target: str, cast: Call, spark: AskSpark) -> bool:
    needs_check = CASTS.get((source, target))
    if needs_check is None or (needs_check and cast.parameter("evalMode") == "LEGACY"):
        return False
    return (source, target) != ("timestamp", "date") or spark.dates_ascend(cast.parameter("timeZoneId"))
