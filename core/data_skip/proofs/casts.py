"""Indexes over a cast, and predicates about what is cast: Spark rewrites `cast(t AS date) = D` into a range of t.

    D <= t < D + 1          D <= cast(t AS date) <= D           t = T          cast(t AS date) = cast(T AS date)

A cast that has a value for every value keeps weak order, and NULL: where t lies in [a, b], cast(t) lies in [cast(a), cast(b)].
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from typing import Any

import pyarrow as pa

from data_skip import filters
from data_skip.clause import Clause
from data_skip.data_types import FRACTIONAL, INTEGRAL, TIMES, WHOLE, arrow_type
from data_skip.expression import Call, Expression, Literal, predicate
from data_skip.filters import Indexes, Spark, implied_clause
from data_skip.proofs.narrowing import rule_of
from data_skip.proofs.satisfying import jointly_satisfying, speak_of
from data_skip.proofs.value_set import Interval, ValueSet

# Beside casts to wider whole numbers. Those of times hold beyond the years 1 to 9999 as well, since days are counted.
_TOTAL = {
    *((a, b) for a in INTEGRAL for b in FRACTIONAL),
    *((a, b) for a in FRACTIONAL for b in FRACTIONAL),
    *((a, "date") for a in TIMES),
    *(("date", a) for a in TIMES),
}
_MOST_POINTS = 10_000


@filters.on()
def by_cast(node: Expression, indexes: Indexes) -> Iterator[Clause]:
    """A predicate about the operand of a cast over which there is an index: what the cast is, where it holds."""
    for cast in dict.fromkeys(index.expression for index in indexes.bound if len(index.expressions) == 1):
        match cast, node:
            case Call("Cast", [target]), _ if target not in (parts := set(node.walk())) or cast in parts:
                continue
            case Call("Cast", [target]), Call("And", operands) if not speak_of(target, operands):
                continue
            case (_, Call("Or", _)):
                continue
            case Call("Cast", [target]) as call, _ if _is_total(call, indexes.spark):
                values = jointly_satisfying(node, target, indexes.spark)
                implied = None if values is None else _image(call, values, indexes.spark)
                if implied is not None:
                    yield from implied_clause(node, implied, indexes)


def _is_total(cast: Call, spark: Spark) -> bool:
    """Whether a cast is monotone everywhere, and has a value of every value."""
    given, to = cast.operands[0].type, cast.type
    widens = given in INTEGRAL and to in INTEGRAL and INTEGRAL[given] <= INTEGRAL[to]
    rule = rule_of(cast, spark) if widens or (given, to) in _TOTAL else None
    return rule is not None and rule.everywhere


def _image(cast: Call, values: ValueSet, spark: Spark) -> Expression | None:
    """What the cast is of such values; None where that may be anything."""
    intervals = [_closed(interval, cast.operands[0].type) for interval in values.intervals]
    ends = [end for pair in intervals for end in pair if end is not None]
    if len(ends) > _MOST_POINTS:
        return None
    found = spark.cast(cast, pa.array(ends, arrow_type(cast.operands[0].type)))
    if found is None:
        return None
    literals = iter(found)
    parts = [_between(cast, *(None if end is None else next(literals) for end in pair)) for pair in intervals]
    if values.nan and cast.type in FRACTIONAL:
        parts.append(predicate("EqualTo", cast, Literal(cast.type, None, float("nan"))))
    if values.null:
        parts.append(predicate("IsNull", cast))
    known = [part for part in parts if part is not None]
    return reduce(lambda a, b: predicate("Or", a, b), known) if known and len(known) == len(parts) else None


def _closed(interval: Interval, type_: str) -> tuple[Any, Any]:
    """The ends of an interval, as values that belong to it where its values are whole numbers."""
    low, high = interval.low, interval.high
    whole = type_ in WHOLE
    smallest = -(1 << (INTEGRAL.get(type_, 32 if type_ == "date" else 64) - 1))
    if whole and low is not None and not interval.low_closed and low < -smallest - 1:
        low += 1
    if whole and high is not None and not interval.high_closed and high > smallest:
        high -= 1
    return low, high


def _between(cast: Call, low: Literal | None, high: Literal | None) -> Expression | None:
    if low is not None and high is not None and low == high:
        return predicate("EqualTo", cast, low)
    above = predicate("GreaterThanOrEqual", cast, low) if low is not None else None
    below = predicate("LessThanOrEqual", cast, high) if high is not None else None
    return predicate("And", above, below) if above is not None and below is not None else above or below
