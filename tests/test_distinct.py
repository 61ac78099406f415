"""Lists of distinct values: collecting, merging, asking."""

from __future__ import annotations

from itertools import permutations
from math import copysign, isnan, nan
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from data_skip.building.plain import used
from data_skip.indexes.distinct import any_of_list, ascending, distinct, merged_lists


def test_distinct_leaves_nulls_out() -> None:
    assert distinct(pa.array(["b", None, "a", "b"]), 10) == ["b", "a"]
    assert distinct(pa.array([None], pa.string()), 10) == []


@pytest.mark.parametrize("rows", [[1], [1, 1000], [0, None, *[1] * 500], [*[0, 1] * 500, None, 2, 2], [None]])
def test_of_a_dictionary_those_values_that_some_row_has(rows: list[int | None]) -> None:
    values = pa.DictionaryArray.from_arrays(pa.array(rows, pa.int32()), pa.array([f"value {i}" for i in range(1001)]))
    few = pa.DictionaryArray.from_arrays(
        pa.array([None if row is None else row % 3 for row in rows], pa.int32()), pa.array(["a", "b", "c"])
    )
    for encoded in (values, few, few.slice(1)):
        found = used(encoded).to_pylist()
        assert sorted(found) == sorted({value for value in encoded.to_pylist() if value is not None})


@pytest.mark.parametrize("type_", [pa.float32(), pa.float64()])
def test_zeros_differ_and_nan_is_one_value(type_: pa.DataType) -> None:
    found = distinct(pa.array([0.0, -0.0, nan, -nan, 0.0, None], type_), 10)
    assert found is not None
    assert sorted(copysign(1, v) for v in found if v == 0) == [-1, 1]
    assert sum(map(isnan, found)) == 1
    assert len(found) == 3


def test_beyond_the_limit_is_unknown() -> None:
    array = pa.array([1, 2, 3, None])
    assert distinct(array, 3) == [1, 2, 3]
    assert distinct(array, 2) is None


def test_merging_forgets_no_overflow() -> None:
    """Whatever the order of the pieces: beyond the limit, or merged with an unknown list, a list stays unknown."""
    for pieces in permutations([[1, 2], [2, 3], [4]]):
        merged: list[int] | None = pieces[0]
        for piece in pieces[1:]:
            merged = merged_lists(merged, piece, 4)
        assert sorted(merged or []) == [1, 2, 3, 4]
    for pieces in permutations([[1, 2], [3], None]):
        merged = pieces[0]
        for piece in pieces[1:]:
            merged = merged_lists(merged, piece, 10)
        assert merged is None
    for pieces in permutations([[1], [2], [3]]):
        assert merged_lists(merged_lists(pieces[0], pieces[1], 1), pieces[2], 1) is None


def test_merging_keeps_both_zeros_and_one_nan() -> None:
    merged = merged_lists([0.0, nan], [-0.0, float("nan"), 0.0], 10)
    assert merged is not None
    assert sorted(map(repr, merged)) == ["-0.0", "0.0", "nan"]


def test_merging_tells_types_apart_by_value_only() -> None:
    assert merged_lists([b"a", b""], [b"a"], 10) == [b"a", b""]
    assert merged_lists(["", "a"], [""], 10) == ["", "a"]


LISTS = [["a", "b"], [], None, ["b"], ["c", "a", "c"]]


def test_any_of_list() -> None:
    tested: list[list[str]] = []

    def is_b(values: pa.Array) -> pa.BooleanArray:
        tested.append(values.to_pylist())
        return pc.equal(values, "b")

    lists = pa.array(LISTS, pa.list_(pa.string()))
    assert any_of_list(lists, is_b).to_pylist() == [True, False, None, True, False]
    assert tested == [["a", "b", "c"]]  # each value once


def test_any_of_list_of_slices_and_chunks() -> None:
    lists = pa.array(LISTS, pa.list_(pa.string()))
    is_a = lambda values: pc.equal(values, "a")  # noqa: E731
    assert any_of_list(lists.slice(1, 4), is_a).to_pylist() == [False, None, False, True]
    assert any_of_list(pa.chunked_array([lists.slice(3), lists.slice(0, 2)]), is_a).to_pylist() == [False, True, True, False]
    assert any_of_list(lists.slice(0, 0), is_a).to_pylist() == []
    assert any_of_list(pa.array([None, None], pa.list_(pa.string())), is_a).to_pylist() == [None, None]


def test_any_of_list_sees_each_zero() -> None:
    lists = pa.array([[0.0], [-0.0], [1.0, -0.0]], pa.list_(pa.float64()))
    negative = lambda values: pa.array([copysign(1, v) < 0 for v in values.to_pylist()])  # noqa: E731
    assert any_of_list(lists, negative).to_pylist() == [False, True, True]


@pytest.mark.parametrize("type_", [np.int8, np.int32, np.int64, np.uint64, np.float64])
@given(data=st.data())
def test_ascending_is_each_value_once_in_order(type_: type[np.number[Any]], data: st.DataObject) -> None:
    """Close ones, which are marked, and others, which are sorted, at both ends of what the type holds."""
    if type_ is np.float64:
        numbers: list[Any] = data.draw(st.lists(st.floats(allow_nan=False)))
    else:
        low, high = int(np.iinfo(type_).min), int(np.iinfo(type_).max)
        near = st.integers(0, 60)
        anywhere = data.draw(st.sampled_from([near.map(lambda n: low + n), near.map(lambda n: high - n), near, st.integers(low, high)]))
        numbers = data.draw(st.lists(anywhere, max_size=60))
    found = ascending(np.array(numbers, dtype=type_))
    assert found.dtype == type_ and found.tolist() == sorted(set(numbers))
