"""The file versions of a snapshot as columns, against plain Python: which rows are of one version, and what the JVM maps."""

from __future__ import annotations

import struct
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from data_skip.spark.janino import load
from data_skip.spark.jvm import SOURCES
from data_skip.store import versions
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


def test_what_the_jvm_cannot_map_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(versions, "_MOST_MAPPED", 24)
    assert packed(table([("a" * 12, 1, 1), ("b" * 12, 1, 1)]), np.ones(2, dtype=bool))
    for keys in ([("a" * 12, 1, 1), ("b" * 13, 1, 1)], [(name, 1, 1) for name in "abc"]):
        with pytest.raises(ValueError, match="at most 24 are looked up"):
            packed(table(keys), np.ones(len(keys), dtype=bool))


def test_the_jvm_maps_more_than_two_billion_bytes(spark: SparkSession, tmp_path: Path) -> None:
    """As of some fifteen million files, of whose file only the last ones are written here: what is not takes no room."""
    count, path = 88_000_000, b"folder/last.parquet"
    with (tmp_path / "keys").open("wb") as file:
        for place, value in {0: count, 8 * count: 7, 16 * count: 8, 8 + 24 * count: len(path)}.items():
            file.seek(place)
            file.write(struct.pack("<q", value))
        file.seek(16 + 25 * count - 1)
        file.write(b"\1" + path)
    assert (tmp_path / "keys").stat().st_size > 1 << 31
    last = mapped(spark, tmp_path / "keys")
    assert (last.size(count - 1), last.modificationTime(count - 1), last.uri(count - 1)) == (7, 8, "file:/lake/folder/last.parquet")


def mapped(spark: SparkSession, file: Path) -> Any:
    """KnownFiles of a file; not by `put`: it is kept by nobody."""
    gateway: Any = spark.sparkContext._gateway
    known = load(gateway, "data_skip", SOURCES).getClassLoader().loadClass("data_skip.KnownFiles")
    kinds, values = gateway.new_array(gateway.jvm.Class, 2), gateway.new_array(gateway.jvm.Object, 2)
    for i, value in enumerate(["file:/lake", str(file)]):
        kinds[i], values[i] = gateway.jvm.Class.forName("java.lang.String"), value
    constructor = known.getDeclaredConstructor(kinds)
    constructor.setAccessible(True)
    return constructor.newInstance(values)


def test_files_by_their_folders(spark: SparkSession, tmp_path: Path) -> None:
    """As plain Python finds them; their paths take several of the blocks in which the JVM looks through them, one more than a block."""
    random = Random(16)
    folders = ["", "a/", "a/b/", "d=ä/", "long/" * 14_000]
    keys = [
        (f"{random.choice(folders[:4])}{random.choice(['', '', '', '_', '.'])}{i}", random.choice([0, 1, 1, 1]), i) for i in range(20_000)
    ]
    keys[10_000] = f"{folders[4]}x", 1, 10_000
    listed = np.array([random.random() < 0.9 for _ in keys])
    listed[10_000] = True
    (tmp_path / "keys").write_bytes(b"".join(packed(table(keys), listed)))
    expected: dict[str, list[int]] = {}
    empty: dict[str, int] = {}
    for i, (path, size, _) in enumerate(keys):
        folder, name = path[: path.rfind("/") + 1], path[path.rfind("/") + 1 :]
        place = path if name[0] in "_." else folder
        if listed[i] and size:
            expected.setdefault(place, []).append(i)
        elif listed[i]:
            empty.setdefault(place, i)
    alone = [[i] for place, i in empty.items() if place not in expected]
    assert alone and max(map(len, expected.values())) > 1_000
    assert [list(places) for places in mapped(spark, tmp_path / "keys").byFolder()] == [*expected.values(), *alone]
