"""The preimage of a comparison: `f(x) op c` as a range of x, where f is monotone everywhere (monotone.py), found by bisection."""

from __future__ import annotations

import struct
from decimal import Decimal
from typing import Any

from data_skip.expression import Call, Expression, Literal
from data_skip.monotone import AskSpark, rule_of
from data_skip.spark_types import FRACTIONAL, is_decimal, precision_and_scale
from data_skip.value_set import Interval, ValueSet, union


def checked_calls(function: Expression, target: Expression, spark: AskSpark) -> list[Call] | None:
    """Which calls of a chain of functions, all monotone everywhere, from the target to `function`, are to be checked; None: it is none."""
    checked: list[Call] = []
    while function != target:
        rule = rule_of(function, spark) if isinstance(function, Call) else None
        varying = [operand for operand in function.children if not isinstance(operand, Literal)]
        if rule is None or not rule.everywhere or len(varying) != 1:
            return None
        if rule.checked and isinstance(function, Call):
            checked.append(function)
        (function,) = varying
    return checked


class Bisection:
    """f has a value on the ordinals [first, last]; f(x) >= c from `reached`, f(x) > c from `passed` (<=, < where decreasing).

    nan: the sign of f(NaN) - c; None where it has no value. strict: f(NULL) is NULL.
    """

    def __init__(self, first: int, reached: int, passed: int, last: int, increasing: bool, strict: bool, nan: int | None) -> None:
        self.first, self.reached, self.passed, self.last = first, reached, passed, last
        self.increasing, self.strict, self.nan = increasing, strict, nan

    def where(self, operator: str) -> list[tuple[int, int]]:
        """Closed ranges of ordinals at which `f(x) operator c` is true."""
        below, equal, above = (self.first, self.reached - 1), (self.reached, self.passed - 1), (self.passed, self.last)
        parts = {-1: below, 0: equal, 1: above} if self.increasing else {1: below, 0: equal, -1: above}
        return [parts[sign] for sign in _SIGNS[operator]]

    def of_nan(self, operator: str) -> bool:
        """Whether `f(NaN) operator c` may be true."""
        return self.nan is None or self.nan in _SIGNS[operator]


_SIGNS = {
    "LessThan": (-1,),
    "LessThanOrEqual": (-1, 0),
    "EqualTo": (0,),
    "NotEqualTo": (-1, 1),
    "GreaterThanOrEqual": (0, 1),
    "GreaterThan": (1,),
}


def preimage(operator: str, function: Expression, constant: Literal, target: Expression, spark: AskSpark) -> ValueSet | None:
    """The values of the target for which `function operator constant` can be true; None where that is not known."""
    if function == target or constant.value is None or (checked := checked_calls(function, target, spark)) is None:
        return None
    found = spark.bisect(function, constant, target, checked)
    if found is None:
        return None
    first, last = value_at(found.first, target.type), value_at(found.last, target.type)
    inside = [Interval(value_at(a, target.type), value_at(b, target.type), True, True) for a, b in found.where(operator) if a <= b]
    outside = [Interval(high=first), Interval(low=last)]  # there nothing is known
    everything = union(ValueSet((interval,)) for interval in inside + outside)
    return ValueSet(everything.intervals, target.type in FRACTIONAL and found.of_nan(operator), null=not found.strict)


def value_at(ordinal: int, type_: str) -> Any:
    """The value with this number in the order of its type: the twin of Domain.value in Domain.java."""
    if type_ in FRACTIONAL:
        real, size = (">f", 4) if type_ == "float" else (">d", 8)
        magnitude = struct.unpack(real, abs(ordinal).to_bytes(size, "big"))[0]
        return magnitude if ordinal >= 0 else -magnitude
    if is_decimal(type_):
        _, scale = precision_and_scale(type_)
        return Decimal(f"{ordinal}E-{scale}")  # from text: arithmetic would round to 28 digits
    return ordinal
