"""The file versions of a snapshot as columns, against plain Python: which rows are of one version, and what the JVM maps."""

from __future__ import annotations

import struct
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from data_skip.store.versions import distinct, packed

KEY = st.tuples(st.sampled_from(["", "a", "b/c", "ä", "\U0001f600/x"]), st.integers(0, 2), st.sampled_from([-1, 0, 1 << 62]))


def table(keys: list[tuple[str, int, int]], chunks: int = 1) -> pa.Table:
    schema = pa.schema([("path", pa.string()), ("size", pa.int64()), ("modification_time", pa.int64())])
    whole = pa.Table.from_pylist([dict(zip(schema.names, key, strict=True)) for key in keys], schema=schema)
    size = max(1, len(keys) // chunks)
    return pa.concat_tables([whole.slice(start, size) for start in range(0, len(keys), size)]) if keys else whole


@given(st.lists(KEY, max_size=30), st.integers(1, 4))
def test_rows_of_one_version_are_found(keys: list[tuple[str, int, int]], chunks: int) -> None:
    found, places = distinct(table(keys, chunks))
    expected = list(dict.fromkeys(keys))
    assert [tuple(row.values()) for row in found.to_pylist()] == expected
    assert places is None if len(expected) == len(keys) else places.tolist() == [expected.index(key) for key in keys]


@given(st.lists(KEY, max_size=30, unique=True), st.integers(1, 4), st.integers(0, 3))
def test_what_the_jvm_maps_is_what_was_packed(keys: list[tuple[str, int, int]], chunks: int, skipped: int) -> None:
    keys, whole = keys[skipped:], table(keys, chunks).slice(skipped)
    listed = np.arange(len(keys)) % 2 == 0
    data = b"".join(packed(whole, listed))
    (count,) = struct.unpack_from("<q", data)
    assert count == len(keys)
    sizes, times, starts = np.split(np.frombuffer(data, "<i8", 3 * count + 1, 8), [count, 2 * count])
    assert list(data[16 + 24 * count : 16 + 25 * count]) == listed.tolist()
    text = data[16 + 25 * count :]
    paths = [text[start:end].decode() for start, end in pairwise(starts)]
    assert list(zip(paths, sizes.tolist(), times.tolist(), strict=True)) == keys
    assert starts[-1] == len(text)


def test_a_row_without_a_part_of_its_key_is_refused() -> None:
    with pytest.raises(ValueError, match="no path"):
        distinct(table([("a", 1, 1)]).append_column("x", pa.nulls(1)).set_column(1, "size", pa.nulls(1, pa.int64())))
