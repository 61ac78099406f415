"""The preimage of a comparison: `f(x) op c` as a range of x, where f is monotone everywhere (monotone.py), found by bisection."""

from __future__ import annotations

import struct
from decimal import Decimal
from typing import Any

from data_skip.ask_spark import Spark
from data_skip.data_types import FRACTIONAL, is_decimal, precision_and_scale
from data_skip.expression import Call, Expression, Literal
from data_skip.proofs.narrowing import rule_of
from data_skip.proofs.value_set import Interval, ValueSet, union


def checked_calls(function: Expression, target: Expression, spark: Spark) -> list[Call] | None:
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


def preimage(operator: str, function: Expression, constant: Literal, target: Expression, spark: Spark) -> ValueSet | None:
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
