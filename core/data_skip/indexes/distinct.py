"""Lists of distinct values in records: collecting, merging, and asking whether any value of a list passes a test."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Number = TypeVar("Number", bound=np.generic)
_TRIED = 4  # times the limit: so many values are looked at before all are
_MOST_PLACES = 8  # a value: so many bytes are worth not to sort whole numbers
_FIRST_ROWS = 32  # times the width of numbers that lie close: so many are looked at before all are
_PLACES = {4: np.uint32, 8: np.int64}  # how differences of so many bytes are read as places
_BITS = {pa.float32(): pa.int32(), pa.float64(): pa.int64()}


def distinct(array: pa.Array, limit: int) -> list[Any] | None:
    """The distinct non-null values; None beyond the limit. Numbers are distinct by their bits: -0.0 is not 0.0, NaN is one value."""
    if len(array) > _TRIED * limit and distinct(array.slice(0, _TRIED * limit), limit) is None:
        return None
    if array.type in _BITS:
        array = pc.if_else(pc.is_nan(array), pa.scalar(float("nan"), array.type), array)
    values = unique(array)
    return None if len(values) > limit else values.to_pylist()


def unique(array: pa.Array) -> pa.Array:
    """The distinct non-null values of an array: of numbers those with distinct bits, in whatever order."""
    bits = _BITS.get(array.type, array.type)
    if not pa.types.is_signed_integer(bits):
        return array.drop_null().unique()
    return pa.array(ascending(array.view(bits).drop_null().to_numpy())).view(array.type)


def ascending(values: npt.NDArray[Number]) -> npt.NDArray[Number]:
    """The distinct values of an array without NaN, in ascending order: what np.unique took a hundredth of the time for before it hashed."""
    if len(values) and values.dtype in (np.int32, np.int64, np.uint64):
        low = values.min()
        width = int(values.max()) - int(low)
        if width < _MOST_PLACES * len(values):  # numbers that lie close are marked, not sorted
            found = np.zeros(width + 1, dtype=bool)
            start, end = 0, _FIRST_ROWS * len(found)
            while start < len(values) and not found.all():  # mostly the first ones are all that there are, or there are many
                found[(values[start:end] - low).view(_PLACES[values.itemsize])] = True
                start, end = end, len(values)
            return np.flatnonzero(found).astype(values.dtype) + low
    ordered = np.sort(values)
    first = np.ones(len(ordered), dtype=bool)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return ordered[first]


def merged_lists(a: list[Any] | None, b: list[Any] | None, limit: int) -> list[Any] | None:
    """The distinct values of both; None (unknown) where one is, or beyond the limit: a list that overflowed stays overflowed."""
    if a is None or b is None:
        return None
    merged = list({_identity(value): value for value in [*a, *b]}.values())
    return None if len(merged) > limit else merged


def _identity(value: Any) -> Any:
    return repr(value) if isinstance(value, float) else value


def owners(lists: pa.ListArray) -> npt.NDArray[np.int64]:
    """The list to which each of the flattened items belongs."""
    lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False)
    return np.repeat(np.arange(len(lists)), lengths)


def any_of_list(lists: pa.ListArray, test: Callable[[pa.Array], pa.BooleanArray]) -> pa.BooleanArray:
    """Whether any value of each list passes the test; null where the list is. Each distinct value is tested once."""
    if isinstance(lists, pa.ChunkedArray):
        lists = lists.combine_chunks()
    values, owner = lists.flatten(), owners(lists)
    encoded = values if len(values) == 0 or values.type in _BITS else values.dictionary_encode()
    if isinstance(encoded, pa.DictionaryArray):
        passed = test(encoded.dictionary).to_numpy(zero_copy_only=False)[encoded.indices.to_numpy()]
    else:
        passed = test(values).to_numpy(zero_copy_only=False) if len(values) else np.zeros(0, dtype=bool)
    result = np.zeros(len(lists), dtype=bool)
    result[owner[np.asarray(passed, dtype=bool)]] = True
    return pa.array(result, mask=lists.is_null().to_numpy(zero_copy_only=False))
