"""MinMax: the smallest and largest value of a file, how many rows it has, and how many of them are NULL or NaN."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from data_skip import filters
from data_skip.clause import Clause, Named, Text, Words, any_of
from data_skip.data_types import FRACTIONAL, WHOLE, has_collation, is_decimal, is_ordered
from data_skip.expression import Expression, name_of
from data_skip.filters import Indexes, admits
from data_skip.footer import Footer, statistics
from data_skip.index import BoundIndex, Index, Record
from data_skip.proofs.dictionary import Decider, decider
from data_skip.proofs.like import LOOSE
from data_skip.proofs.overlap import meets
from data_skip.proofs.preimage import value_at
from data_skip.proofs.ranges import Bounds, WhereConstant, within_ranges
from data_skip.proofs.satisfying import satisfying
from data_skip.proofs.value_set import ValueSet, after_bytes, after_prefix

COUNTS = ("value_count", "null_count", "nan_count")  # values: neither NULL nor NaN
LONGEST = 128  # code points or bytes of a bound: a longer minimum is cut, a longer maximum cut and rounded up


def refuse_unordered(name: str, types: tuple[str, ...]) -> str | None:
    """Why an index that relies on the order of values refuses a type: it has none, or not that of its bytes."""
    for type_ in types:
        if has_collation(type_):
            return f"the order of {type_} is not that of its bytes; use ValueList"
        if not is_ordered(type_):
            return f"values of type {type_} have no order that {name} knows; index a field or function of it"
    return None


class MinMax(Index):
    """Smallest and largest value of one expression; serves every predicate that comes down to ranges, and IS [NOT] NULL."""

    extents = (("min", "max"),)

    def refuse(self, types: tuple[str, ...]) -> str | None:
        return refuse_unordered("MinMax", types)

    def record_fields(self, types: tuple[pa.DataType, ...]) -> Mapping[str, pa.DataType]:
        return {"min": types[0], "max": types[0], **dict.fromkeys(COUNTS, pa.int64())}

    def collect(self, *values: pa.Array) -> Record:
        array, counts = counted(values[0])
        low, high = extremes(array)
        return {"min": low, "max": high, **counts}

    def merge(self, a: Record, b: Record) -> Record:
        merged = {name: a[name] + b[name] for name in COUNTS}
        known = [r for r in (a, b) if r["value_count"]]
        for name, choose in (("min", min), ("max", max)):
            ends = [r[name] for r in known]
            merged[name] = None if None in ends or not ends else choose(ends)  # an unknown end stays unknown
        return merged

    def lift(self, footer: Footer, expressions: tuple[Expression, ...]) -> Record | None:
        """Of whole numbers, decimals, dates and times, from the statistics of row groups. The file is read where one has none."""
        chunks, type_ = footer.chunks(expressions[0]), expressions[0].type
        if chunks is None:
            return None
        record: Record = {"min": None, "max": None, **dict.fromkeys(COUNTS, 0)}
        for chunk in chunks:
            found = bounds(chunk, type_)
            if found is None:
                return None
            record = self.merge(record, found)
        return record


def bounds(chunk: pq.ColumnChunkMetaData, type_: str) -> Record | None:
    """A MinMax record of one column chunk by its statistics; None where these are not all there, or need not be exact."""
    found = statistics(chunk) if type_ in WHOLE or is_decimal(type_) else None  # text is cut, NaN left out
    if found is None:
        return None
    counts = {"value_count": chunk.num_values - found.null_count, "null_count": found.null_count, "nan_count": 0}
    if counts["value_count"] == 0:
        return {"min": None, "max": None, **counts}
    low, high = found.min_raw, found.max_raw
    if not found.has_min_max or not isinstance(low, int) or not isinstance(high, int):
        return None
    return {"min": value_at(low, type_), "max": value_at(high, type_), **counts}


def counted(array: pa.Array) -> tuple[pa.Array, Record]:
    """The values with NULL in place of NaN, and COUNTS of them."""
    nulls, nans = array.null_count, 0
    if pa.types.is_floating(array.type) and _may_hold_nan(array):
        is_nan = pc.is_nan(array)
        nans = pc.sum(is_nan).as_py() or 0
        array = pc.if_else(is_nan, None, array) if nans else array
    return array, {"value_count": len(array) - nulls - nans, "null_count": nulls, "nan_count": nans}


def _may_hold_nan(array: pa.Array) -> bool:
    """Whether a number is NaN, or there is NULL: the smallest is NaN then, and is found in a part of the time."""
    return len(array) > 0 and bool(np.isnan(array.to_numpy(zero_copy_only=False).min()))


def extremes(array: pa.Array) -> tuple[Any, Any]:
    """Bounds of the non-null values: the smallest and the largest, text and bytes shortened to a bound; None: there is none."""
    if pa.types.is_boolean(array.type):
        low, high = extremes(array.cast(pa.int8()))
        return (None, None) if low is None else (bool(low), bool(high))
    if pa.types.is_floating(array.type) and array.null_count < len(array):  # of which pyarrow takes ten times as long
        numbers = array.to_numpy(zero_copy_only=False)  # NULL is NaN, which is left out
        return np.fmin.reduce(numbers).item(), np.fmax.reduce(numbers).item()
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
    served = False
    for index in indexes.of(MinMax):
        values = satisfying(node, index.expression, indexes.spark)
        if values is not None:
            yield Named(admits(index, node, indexes), holds_any(index, values))
            served = True
    if name_of(node) in ("And", "Or"):
        return
    if not served or name_of(node) in LOOSE:  # of LIKE and RLIKE, the range of a prefix tells little
        yield from _in_image(node, indexes, constant_only=served)


def _in_image(node: Expression, indexes: Indexes, constant_only: bool) -> Iterator[Clause]:
    """What Spark says of the leaf for the ranges of all expressions in it; of a Python function, for files of one value."""
    parts = set(node.walk())
    used = [index for index in indexes.of(MinMax) if index.expression in parts]
    if not used:
        return
    text = Words(lambda: f"{', '.join(map(str, used))} {'admit' if len(used) > 1 else 'admits'} {indexes.spark.sql(node)}")
    known = {index.expression: _ranges(index) for index in used}
    clause = within_ranges(node, known, indexes.spark, text, constant_only)
    if clause is not None:
        yield clause
        return
    for index in used:
        decided = decider(node, index.expression, indexes.spark)
        if decided is not None:
            yield _decided_where_constant(index, decided, admits(index, node, indexes))


def _ranges(index: BoundIndex) -> Bounds:
    """The fields of a MinMax as ranges.py takes them."""
    return Bounds(index["min"], index["max"], *(index[name] for name in COUNTS))


def holds_any(index: BoundIndex, values: ValueSet) -> Clause:
    """Whether a file may hold a value of the set: a number in range, NaN, or NULL."""
    parts: list[Clause] = []
    if values.intervals:
        parts.append((index["value_count"] > 0) & meets(index["min"], index["max"], values))
    if values.nan and index.expression.type in FRACTIONAL:
        parts.append(index["nan_count"] > 0)
    if values.null:
        parts.append(index["null_count"] > 0)
    return any_of(parts) if parts else index["value_count"] < 0  # no value satisfies it: false wherever the record is known


def _decided_where_constant(index: BoundIndex, decided: Decider, text: Text) -> Clause:
    """Dictionary evaluation for files that hold one value (and perhaps NULL), or NULL only; unknown for all others.

    min <= every value <= max, whether or not long text was shortened to bounds: where the two are equal, so is every value. But 0.0
    may be -0.0, for which Spark may decide otherwise.
    """

    def may_match(low: pa.Array, high: pa.Array, values: pa.Array, nulls: pa.Array, nans: pa.Array) -> pa.BooleanArray:
        constant = pc.and_(pc.equal(low, high), pc.equal(nans, 0))
        if pa.types.is_floating(low.type):
            constant = pc.and_(constant, pc.not_equal(low, 0))
        decidable = pc.fill_null(pc.and_(constant, pc.greater(values, 0)), False)
        encoded = low.filter(decidable).dictionary_encode()
        if isinstance(encoded, pa.ChunkedArray):
            encoded = encoded.combine_chunks()
        distinct = encoded.dictionary
        answers = pc.take(decided.may_match(distinct), encoded.indices) if len(distinct) else pa.array([], pa.bool_())
        of_value = pc.replace_with_mask(pa.nulls(len(low), pa.bool_()), decidable, answers)
        of_value = pc.if_else(pc.and_(pc.equal(values, 0), pc.equal(nans, 0)), False, of_value)  # NULL only, or no row at all
        return pc.or_kleene(of_value, pc.greater(nulls, 0)) if decided.of_null else of_value

    return WhereConstant(text, _ranges(index).fields, may_match)
