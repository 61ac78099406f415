"""MinMax: the smallest and largest value of a file, how many rows it has, and how many of them are NULL or NaN."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from data_skip import filters
from data_skip.clause import Clause, Named, any_of
from data_skip.expression import Expression
from data_skip.filters import Indexes, admits
from data_skip.index import BoundIndex, Index, Record
from data_skip.overlap import meets
from data_skip.satisfying import satisfying
from data_skip.value_set import ValueSet, after_bytes, after_prefix

ORDERED = ("tinyint", "smallint", "int", "bigint", "float", "double", "boolean", "string", "binary", "date", "timestamp", "timestamp_ntz")
COUNTS = ("value_count", "null_count", "nan_count")  # values: neither NULL nor NaN
LONGEST = 128  # code points or bytes of a bound: a longer minimum is cut, a longer maximum cut and rounded up


def refuse_unordered(name: str, types: tuple[str, ...]) -> str | None:
    """Why an index that relies on the order of values refuses a type: it has none, or not that of its bytes."""
    for type_ in types:
        if " collate " in type_:
            return f"the order of {type_} is not that of its bytes; use ValueList"
        if type_ not in ORDERED and not type_.startswith("decimal("):
            return f"values of type {type_} have no order that {name} knows; index a field or function of it"
    return None


class MinMax(Index):
    """Smallest and largest value of one expression; serves every predicate that comes down to ranges, and IS [NOT] NULL."""

    def refuse(self, types: tuple[str, ...]) -> str | None:
        return refuse_unordered("MinMax", types)

    def record_fields(self, types: tuple[pa.DataType, ...]) -> Mapping[str, pa.DataType]:
        return {"min": types[0], "max": types[0], **dict.fromkeys(COUNTS, pa.int64())}

    def collect(self, *values: pa.Array) -> Record:
        (array,) = values
        nans = 0
        if pa.types.is_floating(array.type):
            is_nan = pc.is_nan(array)
            nans = pc.sum(is_nan).as_py() or 0
            array = pc.if_else(is_nan, None, array)
        low, high = extremes(array)
        nulls = values[0].null_count
        return {"min": low, "max": high, "value_count": len(array) - nulls - nans, "null_count": nulls, "nan_count": nans}

    def merge(self, a: Record, b: Record) -> Record:
        merged = {name: a[name] + b[name] for name in COUNTS}
        known = [r for r in (a, b) if r["value_count"]]
        for name, choose in (("min", min), ("max", max)):
            ends = [r[name] for r in known]
            merged[name] = None if None in ends or not ends else choose(ends)  # an unknown end stays unknown
        return merged


def extremes(array: pa.Array) -> tuple[Any, Any]:
    """Bounds of the non-null values: the smallest and the largest, text and bytes shortened to a bound; None: there is none."""
    if pa.types.is_boolean(array.type):
        low, high = extremes(array.cast(pa.int8()))
        return (None, None) if low is None else (bool(low), bool(high))
    found = pc.min_max(array)
    low, high = found["min"].as_py(), found["max"].as_py()
    if isinstance(low, str | bytes) and isinstance(high, str | bytes):
        low = low[:LONGEST]
        if len(high) > LONGEST:
            high = after_prefix(high[:LONGEST]) if isinstance(high, str) else after_bytes(high[:LONGEST])
    return low, high


@filters.on()
def in_range(node: Expression, indexes: Indexes) -> Iterator[Clause]:
    """Any predicate that some values of the indexed expression satisfy and others do not."""
    for index in indexes.of(MinMax):
        if (values := satisfying(node, index.expression, indexes.spark)) is not None:
            yield Named(admits(index, node, indexes), holds_any(index, values))


def holds_any(index: BoundIndex, values: ValueSet) -> Clause:
    """Whether a file may hold a value of the set: a number in range, NaN, or NULL."""
    parts: list[Clause] = []
    if values.intervals:
        parts.append((index["value_count"] > 0) & meets(index["min"], index["max"], values))
    if values.nan and index.expression.type in ("float", "double"):
        parts.append(index["nan_count"] > 0)
    if values.null:
        parts.append(index["null_count"] > 0)
    return any_of(parts) if parts else index["value_count"] < 0  # no value satisfies it: false wherever the record is known
