"""The set of values of one expression for which a predicate can be true: what most predicates come down to.

    temp > 101              (101, ...) and NaN
    city LIKE 'Jai%'        ['Jai', 'Jaj')
    day NOT IN (1, 3)       (..., 1) (1, 3) (3, ...)
    city <=> NULL           NULL only

Every index that knows the order of its values answers all of these with one test: does the file hold a value of the
set? Values are in Spark's own representation and order: strings by their UTF-8 bytes (which is Python's order of code
points), -0.0 equal to 0.0, NaN above everything. Whether the set is exact or wider than the predicate (LIKE 'a%b' as
its prefix 'a'), no value outside of it ever satisfies the predicate. That is all that may be relied on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cmp_to_key
from typing import Any


@dataclass(frozen=True)
class Interval:
    """The values from low to high; None: no end on this side. A closed end belongs to the interval."""

    low: Any = None
    high: Any = None
    low_closed: bool = False
    high_closed: bool = False

    def __contains__(self, value: Any) -> bool:
        above = self.low is None or value > self.low or (self.low_closed and value == self.low)
        below = self.high is None or value < self.high or (self.high_closed and value == self.high)
        return above and below


@dataclass(frozen=True)
class ValueSet:
    """Disjoint intervals in ascending order, and whether NaN and NULL belong to the set."""

    intervals: tuple[Interval, ...]
    nan: bool = False
    null: bool = False

    def complement(self, null: bool) -> ValueSet:
        """All the other values. Whether NULL belongs to it is said, since three-valued logic decides that."""
        gaps = []
        low, low_closed = None, False
        for interval in self.intervals:
            if interval.low is not None:
                gaps.append(Interval(low, interval.low, low_closed, not interval.low_closed))
            if interval.high is None:
                break
            low, low_closed = interval.high, not interval.high_closed
        else:
            gaps.append(Interval(low, None, low_closed, False))
        return ValueSet(tuple(gaps), not self.nan, null)


EVERYTHING = ValueSet((Interval(),), nan=True)
NOTHING = ValueSet(())
NULL_ONLY = ValueSet((), null=True)


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def points(values: Iterable[Any]) -> ValueSet:
    """Exactly these non-null values."""
    listed = list(values)
    numbers = sorted({value for value in listed if not _is_nan(value)})
    return ValueSet(tuple(Interval(v, v, True, True) for v in numbers), nan=len(listed) > 0 and any(map(_is_nan, listed)))


def compared(operator: str, value: Any) -> ValueSet:
    """The x with `x operator value`, for a Catalyst comparison and a non-null value."""
    if _is_nan(value):  # Spark: NaN = NaN, and NaN is above every number
        return {
            "EqualTo": points([value]),
            "GreaterThanOrEqual": points([value]),
            "GreaterThan": NOTHING,
            "LessThan": ValueSet((Interval(),)),
            "LessThanOrEqual": EVERYTHING,
        }[operator]
    return {
        "EqualTo": points([value]),
        "LessThan": ValueSet((Interval(high=value),)),
        "LessThanOrEqual": ValueSet((Interval(high=value, high_closed=True),)),
        "GreaterThan": ValueSet((Interval(low=value),), nan=True),
        "GreaterThanOrEqual": ValueSet((Interval(low=value, low_closed=True),), nan=True),
    }[operator]


def prefixed(prefix: str) -> ValueSet:
    """The strings that begin with a prefix: from the prefix to the first string above all that begin with it."""
    return ValueSet((Interval(prefix, after_prefix(prefix), True, False),))


def after_prefix(prefix: str) -> str | None:
    """The smallest string greater than all that begin with the prefix: its last code point that can grow, grown. None: there is none."""
    for end in range(len(prefix), 0, -1):
        code = ord(prefix[end - 1]) + 1
        if code == 0xD800:  # surrogates are no characters
            code = 0xE000
        if code <= 0x10FFFF:
            return prefix[: end - 1] + chr(code)
    return None


def after_bytes(prefix: bytes) -> bytes | None:
    """The smallest bytes greater than all that begin with the prefix. None: there are none."""
    kept = prefix.rstrip(b"\xff")
    return kept[:-1] + bytes([kept[-1] + 1]) if kept else None


def union(sets: Iterable[ValueSet]) -> ValueSet:
    """The values that belong to at least one of the sets."""
    listed = list(sets)
    intervals = sorted((i for s in listed for i in s.intervals), key=_by_low)
    merged: list[Interval] = []
    for interval in intervals:
        if merged and _touch(merged[-1], interval):
            merged[-1] = _joined(merged[-1], interval)
        else:
            merged.append(interval)
    return ValueSet(tuple(merged), any(s.nan for s in listed), any(s.null for s in listed))


def intersection(sets: Iterable[ValueSet]) -> ValueSet:
    """The values that belong to all of the sets: those that belong to no complement of one."""
    listed = list(sets)
    outside = union(s.complement(null=not s.null) for s in listed)
    return outside.complement(null=not outside.null)


def whole(values: ValueSet) -> ValueSet:
    """The set without what lies between two neighbouring whole numbers: of (2, 3) nothing, of (2, 4) just 3."""
    closed = []
    for interval in values.intervals:
        if interval.low is not None and interval.high is not None:
            low, high = interval.low + (not interval.low_closed), interval.high - (not interval.high_closed)
            if low > high:
                continue
            interval = Interval(low, high, True, True)
        closed.append(interval)
    return ValueSet(tuple(closed), values.nan, values.null)


def _compare_low(a: Interval, b: Interval) -> int:
    if a.low is None or b.low is None:
        return (a.low is not None) - (b.low is not None)
    if a.low != b.low:
        return -1 if a.low < b.low else 1
    return b.low_closed - a.low_closed


_by_low: Callable[[Interval], Any] = cmp_to_key(_compare_low)


def _touch(a: Interval, b: Interval) -> bool:
    """Whether no value lies between a and b, where a begins no later."""
    if a.high is None or b.low is None:
        return True
    return bool(b.low < a.high or (b.low == a.high and (a.high_closed or b.low_closed)))


def _joined(a: Interval, b: Interval) -> Interval:
    if a.high is None or (b.high is not None and b.high < a.high):
        return a
    closed = b.high_closed or (a.high_closed and a.high == b.high)
    return Interval(a.low, b.high, a.low_closed, closed)
