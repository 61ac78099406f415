"""Does a file's range of values meet a ValueSet? As clauses over two fields, `low` and `high`."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import replace
from functools import reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from data_skip.clause import Clause, Computed, Field, all_of, any_of
from data_skip.proofs.value_set import Interval, ValueSet

_MOST_COMPARISONS = 16  # beyond, one function over all intervals is quicker than comparisons for each


def meets(low: Field, high: Field, values: ValueSet) -> Clause:
    """Whether [low, high] meets an interval of the set; unknown where low or high is."""
    if len(values.intervals) <= _MOST_COMPARISONS:
        return any_of([_meets_one(low, high, interval) for interval in values.intervals])
    text = f"[{low}, {high}] meets one of {len(values.intervals)} ranges"
    return Computed(text, (low, high), lambda a, b: _meets_many(a, b, values.intervals), pure=True)


def any_run_meets(starts: pa.ListArray, ends: pa.ListArray, values: ValueSet) -> pa.BooleanArray:
    """For files whose values lie in runs [start, end]: whether one of a file's runs meets an interval of the set; null where unknown."""
    starts, ends = (lists.combine_chunks() if isinstance(lists, pa.ChunkedArray) else lists for lists in (starts, ends))
    known = pc.and_(starts.is_valid(), ends.is_valid()).to_numpy(zero_copy_only=False)
    owners = np.repeat(np.flatnonzero(known), pc.list_value_length(starts.filter(known)).to_numpy(zero_copy_only=False))
    lows, highs = starts.filter(known).flatten(), ends.filter(known).flatten()
    met = np.zeros(len(starts), dtype=bool)
    if len(lows):
        found = pc.fill_null(_runs_meet(lows, highs, values.intervals), True).to_numpy(zero_copy_only=False)
        met[owners[found]] = True
    return pa.array(met, mask=~known)


def _runs_meet(lows: pa.Array, highs: pa.Array, intervals: tuple[Interval, ...]) -> pa.BooleanArray:
    """Whether each [low, high] meets an interval."""
    if len(intervals) > _MOST_COMPARISONS:
        return _meets_many(lows, highs, intervals)
    return reduce(pc.or_, (pc.and_(_within(highs, replace(i, high=None)), _within(lows, replace(i, low=None))) for i in intervals))


def members(array: pa.Array, values: ValueSet) -> pa.BooleanArray:
    """Which non-null values of an array belong to the set."""
    if all(interval.low is not None and interval.low == interval.high for interval in values.intervals):
        points = pa.array([interval.low for interval in values.intervals], array.type)
        found = pc.is_in(_without_negative_zero(array), value_set=_without_negative_zero(points))
    else:
        found = reduce(pc.or_, (_within(array, interval) for interval in values.intervals))
    return pc.or_(found, pc.is_nan(array)) if values.nan and pa.types.is_floating(array.type) else found


def _without_negative_zero(array: pa.Array) -> pa.Array:
    """-0.0 as 0.0, which Spark takes for equal and a hash does not."""
    return pc.add(array, pa.scalar(0.0, array.type)) if pa.types.is_floating(array.type) else array


def _within(array: pa.Array, interval: Interval) -> pa.BooleanArray:
    parts = [pa.array(np.ones(len(array), dtype=bool))]
    if interval.low is not None:
        parts.append((pc.greater_equal if interval.low_closed else pc.greater)(array, pa.scalar(interval.low)))
    if interval.high is not None:
        parts.append((pc.less_equal if interval.high_closed else pc.less)(array, pa.scalar(interval.high)))
    return reduce(pc.and_, parts)


def _meets_one(low: Field, high: Field, interval: Interval) -> Clause:
    """A value v with low <= v <= high lies above the interval's low end only if `high` does, below its high end only if `low` does."""
    parts = []
    if interval.low is not None:
        parts.append(high >= interval.low if interval.low_closed else high > interval.low)
    if interval.high is not None:
        parts.append(low <= interval.high if interval.high_closed else low < interval.high)
    return all_of(parts)


def _meets_many(lows: pa.Array, highs: pa.Array, intervals: tuple[Interval, ...]) -> pa.BooleanArray:
    """The first interval that ends at or above `low` is the only candidate: those before end too early, those after begin later."""
    ends = [interval.high for interval in intervals if interval.high is not None]

    def meets(low: object, high: object) -> bool | None:
        if low is None or high is None:
            return None
        first = bisect_left(ends, low)
        if first < len(ends) and ends[first] == low and not intervals[first].high_closed:
            first += 1
        if first == len(intervals):
            return False
        start = intervals[first].low
        return start is None or bool(start < high or (start == high and intervals[first].low_closed))

    return pa.array([meets(a, b) for a, b in zip(lows.to_pylist(), highs.to_pylist(), strict=True)], pa.bool_())
