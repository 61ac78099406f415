"""Whether ranges meet sets of values: one comparison after the other, all intervals at once, and brute force agree."""

from __future__ import annotations

from itertools import combinations_with_replacement
from math import nan

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from data_skip.clause import Field, Records
from data_skip.proofs import overlap
from data_skip.proofs.overlap import any_run_meets, meets, members
from data_skip.proofs.value_set import EVERYTHING, NOTHING, ValueSet, compared, points, prefixed, union

POINTS = list(range(-1, 9))
RANGES: list[tuple[int | None, int | None]] = [*combinations_with_replacement(POINTS, 2), (None, None), (None, 3), (3, None)]
RECORDS = Records({"i": pa.array([{"low": a, "high": b} for a, b in RANGES], pa.struct({"low": pa.int64(), "high": pa.int64()}))})
LOW, HIGH = Field("i", "low", "I"), Field("i", "high", "I")

SETS = st.recursive(
    st.one_of(
        st.builds(
            compared, st.sampled_from(["LessThan", "LessThanOrEqual", "GreaterThan", "GreaterThanOrEqual", "EqualTo"]), st.integers(0, 7)
        ),
        st.builds(points, st.lists(st.integers(0, 7), max_size=8)),
    ),
    lambda inner: st.one_of(
        st.builds(lambda s: s.complement(null=False), inner), st.builds(lambda s: union(s), st.lists(inner, min_size=1, max_size=3))
    ),
    max_leaves=6,
)


def meets_by_force(low: int | None, high: int | None, values: ValueSet) -> bool | None:
    if low is None or high is None:
        return None
    return any(i / 2 in interval for interval in values.intervals for i in range(2 * low, 2 * high + 1))


def decided(values: ValueSet, most_comparisons: int) -> list[bool | None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(overlap, "_MOST_COMPARISONS", most_comparisons)
        return meets(LOW, HIGH, values).evaluate(Records(RECORDS.columns)).to_pylist()


@given(SETS.filter(lambda s: len(s.intervals) > 0))
def test_ranges_meet_intervals(values: ValueSet) -> None:
    all_at_once = decided(values, 0)
    assert all_at_once == [meets_by_force(low, high, values) for low, high in RANGES]
    if values.intervals != EVERYTHING.intervals:  # `meets` has no comparison for "any value": ALWAYS_TRUE
        one_by_one = decided(values, 1000)
        for (low, high), one, other in zip(RANGES, one_by_one, all_at_once, strict=True):
            if low is not None and high is not None:
                assert one == other
            elif one is False:  # half a range may prove that no value is in the set
                assert not meets_by_force(-9 if low is None else low, 19 if high is None else high, values)


def test_half_a_range_still_decides() -> None:
    """`high` alone may lie below an interval."""
    assert decided(compared("GreaterThan", 5), 1000)[RANGES.index((None, 3))] is False
    assert decided(compared("LessThan", 2), 1000)[RANGES.index((3, None))] is False


def test_many_intervals_of_text() -> None:
    texts = ["b", "d\U0001f600", "\uff21", ""]
    values = union(map(prefixed, texts))
    lows, highs = ["a", "b", "c", "d", "e", "z", "\uff22"], ["az", "bz", "czz", "e", "y", "\uff20", "\U0001f600"]
    schema = pa.struct({"low": pa.string(), "high": pa.string()})
    for chosen in (values, values.complement(null=False), points([*"bcd", "\U0001f600"])):
        got = []
        for most in (0, 1000):
            known = Records({"i": pa.array([{"low": a, "high": b} for a, b in zip(lows, highs, strict=True)], schema)})
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(overlap, "_MOST_COMPARISONS", most)
                if len(chosen.intervals) == 0 or chosen.intervals == EVERYTHING.intervals:
                    continue
                got.append(meets(LOW, HIGH, chosen).evaluate(known).to_pylist())
        assert all(answer == got[0] for answer in got)


@given(SETS)
def test_members_are_those_in_an_interval(values: ValueSet) -> None:
    array = pa.array([float(i) / 2 for i in range(-2, 18)] + [nan], pa.float64())
    expected = [any(v in interval for interval in values.intervals) for v in array.to_pylist()[:-1]] + [values.nan]
    assert members(array, values).to_pylist() == expected


@pytest.mark.parametrize("type_", [pa.float32(), pa.float64()])
def test_both_zeros_are_members_where_one_is(type_: pa.DataType) -> None:
    array = pa.array([-0.0, 0.0, 1.0], type_)
    for zero in (0.0, -0.0):
        assert members(array, points([zero, 7.0])).to_pylist() == [True, True, False]
        assert members(array, compared("GreaterThan", zero)).to_pylist() == [False, False, True]
    assert members(array, NOTHING).to_pylist() == [False, False, False]


@given(SETS.filter(lambda s: len(s.intervals) > 0), st.lists(st.lists(st.sampled_from(RANGES[:-3]), max_size=3) | st.none(), max_size=5))
def test_any_run_of_a_file_meets(values: ValueSet, files: list[list[tuple[int, int]] | None]) -> None:
    lists = pa.list_(pa.int64())
    starts = pa.array([None if runs is None else [a for a, _ in runs] for runs in files], lists)
    ends = pa.array([None if runs is None else [b for _, b in runs] for runs in files], lists)
    expected = [None if runs is None else any(bool(meets_by_force(a, b, values)) for a, b in runs) for runs in files]
    for most in (0, 1000):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(overlap, "_MOST_COMPARISONS", most)
            assert any_run_meets(starts, ends, values).to_pylist() == expected
