"""The file versions of a snapshot as columns, against plain Python: which rows are of one version, and what the JVM maps."""

from __future__ import annotations

import struct
from dataclasses import fields
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
from data_skip.store import keys_file
from data_skip.store.file_versions import FileVersions
from data_skip.store.keys_file import KeysFile
from data_skip.store.versions import distinct, mixed_of

KEY = st.tuples(st.sampled_from(["", "a", "b/c", "ä", "\U0001f600/x"]), st.integers(0, 2), st.sampled_from([-1, 0, 1 << 62]))

# One version has one count of rows, if any is known.
ROW = st.tuples(KEY, st.booleans(), st.none() | st.integers(0, 3), st.none() | st.booleans()).map(
    lambda row: (row[0], len(row[0][0]) + row[0][1] if row[1] else None, *row[2:])
)


def table(keys: list[tuple[str, int, int]], chunks: int = 1) -> pa.Table:
    schema = pa.schema([("path", pa.string()), ("size", pa.int64()), ("modification_time", pa.int64())])
    whole = pa.Table.from_pylist([dict(zip(schema.names, key, strict=True)) for key in keys], schema=schema)
    size = max(1, len(keys) // chunks)
    return pa.concat_tables([whole.slice(start, size) for start in range(0, len(keys), size)]) if keys else whole


@given(st.lists(KEY, max_size=30), st.integers(1, 4), st.booleans())
def test_rows_of_one_version_are_found(keys: list[tuple[str, int, int]], chunks: int, alike: bool) -> None:
    """alike: whether all sizes and times are mixed to the same number."""
    whole = table(keys, chunks)
    mixed = mixed_of(whole["size"].to_numpy(), whole["modification_time"].to_numpy())
    found, places = distinct(whole, np.zeros_like(mixed) if alike else mixed)
    expected = list(dict.fromkeys(keys))
    assert [tuple(row.values()) for row in found.to_pylist()] == expected
    assert places is None if len(expected) == len(keys) else places.tolist() == [expected.index(key) for key in keys]


@given(st.lists(KEY, max_size=30, unique=True), st.integers(1, 4), st.integers(0, 3), st.booleans())
def test_what_the_jvm_maps_is_what_was_written(keys: list[tuple[str, int, int]], chunks: int, skipped: int, long: bool) -> None:
    """long: whether paths are taken for ones of more than two billion bytes."""
    keys, whole = keys[skipped:], table(keys, chunks).slice(skipped)
    listed = np.arange(len(keys)) % 2 == 0
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(keys_file, "_LONGER", 1 << 40 if long else 2)
        file = written(whole, listed)
    data = Path(file.name).read_bytes()
    count, width = struct.unpack_from("<q16xq", data)
    assert count == len(keys) and (width == 4 or long)
    sizes, times = np.split(np.frombuffer(data, "<i8", 2 * count, 32), 2)
    starts = np.frombuffer(data, f"<i{width}", count + 1, 32 + 16 * count)
    end = 32 + 16 * count + width * (count + 1)
    assert list(data[end : end + count]) == listed.tolist()
    text = data[end + count :]
    paths = [text[start:end].decode() for start, end in pairwise(starts)]
    assert list(zip(paths, sizes.tolist(), times.tolist(), strict=True)) == keys
    assert starts[-1] == len(text)
    again = file.mapped()
    file.delete()
    assert not file.is_there
    assert again.equals(whole.cast(again.schema))


def written(keys: pa.Table, listed: Any, first: int = 0, flat: bool = False) -> KeysFile:
    """A file of keys, but for the first ones."""
    file = KeysFile(len(keys) - first, first)
    for batch in keys.slice(first).to_batches():
        file.add(batch)
    file.tell(listed, flat)
    return file


@given(st.lists(ROW, max_size=30), st.lists(ROW, max_size=30), st.lists(ROW, max_size=30))
def test_rows_that_are_added_say_what_all_rows_say(first: list[Any], second: list[Any], third: list[Any]) -> None:
    same(of(first).and_of(rows(second)).and_of(rows(third)), of([*first, *second, *third]))


@given(st.lists(ROW, max_size=30), st.integers(1, 4))
def test_rows_whose_keys_go_to_a_file_say_what_others_say(said: list[Any], chunks: int) -> None:
    file = KeysFile(len(said))
    found = FileVersions.of(rows(said).to_batches(max(1, len(said) // chunks)), len(said), file)
    same(found, of(said))
    file.delete()


def same(found: FileVersions, expected: FileVersions) -> None:
    for field in fields(FileVersions):
        ours, theirs = getattr(found, field.name), getattr(expected, field.name)
        if field.name == "keys":
            assert ours.to_pylist() == theirs.to_pylist()
        elif isinstance(theirs, np.ndarray):
            np.testing.assert_array_equal(ours, theirs)
        else:
            assert ours == theirs


def of(said: list[Any]) -> FileVersions:
    return FileVersions.of(rows(said).to_batches(), len(said))


def rows(said: list[Any]) -> pa.Table:
    keys = table([key for key, *_ in said])
    counts, generations, collected = ([row[i] for row in said] for i in (1, 2, 3))
    keys = keys.append_column("row_count", pa.array(counts, pa.int64()))
    return keys.append_column("generation", pa.array(generations, pa.int64())).append_column("collected", pa.array(collected, pa.bool_()))


@pytest.mark.parametrize("column", range(3))
def test_a_row_without_a_part_of_its_key_is_refused(column: int) -> None:
    whole = rows([(("a", 1, 1), None, None, None)])
    field = whole.schema.field(column)
    with pytest.raises(ValueError, match="no path"):
        FileVersions.of(whole.set_column(column, field, pa.nulls(1, field.type)).to_batches(), 1)


def test_what_the_jvm_cannot_map_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Before anything is written: each query would write it anew."""
    monkeypatch.setattr(keys_file, "_MOST_MAPPED", 24)
    written(table([("a" * 12, 1, 1), ("b" * 13, 1, 1)]), np.ones(2, dtype=bool)).delete()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for first in (0, 1):
        with pytest.raises(OSError, match="3 file versions; at most 2 are looked up"):
            KeysFile(3 - first, first)
    assert not [*tmp_path.iterdir()]


def test_paths_that_are_much_longer_than_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """For which begins of 32 bits are taken, and are too small."""
    monkeypatch.setattr(keys_file, "_MOST_MAPPED", 100)
    with pytest.raises(OSError, match="more than 2 times as long as the first"):
        written(keys := pa.concat_tables([table([("a", 1, 1)]), table([("b" * 101, 1, 1)])]), np.ones(2, dtype=bool))
    file = KeysFile.of(keys, 0)  # of what is at hand that need not be guessed: nothing was skipped then, for any query
    file.tell(np.ones(2, dtype=bool), False)
    assert file.mapped()["path"].to_pylist() == ["a", "b" * 101]
    file.delete()


def test_the_jvm_maps_more_than_two_billion_bytes(spark: SparkSession, tmp_path: Path) -> None:
    """As of some fifteen million files, of whose file only the last ones are written here: what is not takes no room."""
    count, path = 104_000_000, b"folder/last.parquet"
    with (tmp_path / "keys").open("wb") as file:
        for place, value in {0: count, 24: 4, 24 + 8 * count: 7, 24 + 16 * count: 8}.items():
            file.seek(place)
            file.write(struct.pack("<q", value))
        file.seek(32 + 20 * count)
        file.write(struct.pack("<i", len(path)))
        file.seek(36 + 21 * count - 1)
        file.write(b"\1" + path)
    assert (tmp_path / "keys").stat().st_size > 1 << 31
    last = mapped(spark, tmp_path / "keys")
    assert (last.size(count - 1), last.modificationTime(count - 1), last.uri(count - 1)) == (7, 8, "file:/lake/folder/last.parquet")


def test_the_jvm_maps_paths_of_more_than_two_billion_bytes(spark: SparkSession, tmp_path: Path) -> None:
    """As of some twenty million files. The first buffer that the JVM takes ends within the second path here."""
    paths = {(1 << 31) - 9: b"folder/second.parquet", (1 << 31) + 12: b"folder/third.parquet"}
    end = max(paths) + len(paths[max(paths)])
    with (tmp_path / "keys").open("wb") as file:
        file.write(struct.pack("<14q", 3, 0, 0, 8, *(1, 2, 3), *(4, 5, 6), 0, *paths, end) + b"\1\1\1")
        for place, path in paths.items():
            file.seek(8 * 14 + 3 + place)
            file.write(path)
    known = mapped(spark, tmp_path / "keys")
    assert [known.uri(slot) for slot in (1, 2)] == [f"file:/lake/{path.decode()}" for path in paths.values()]
    assert (known.size(2), known.modificationTime(2), known.isListed(2)) == (3, 6, True)


def mapped(spark: SparkSession, file: Path, base: Any = None) -> Any:
    """KnownFiles of a file; not by `put`: it is kept by nobody."""
    gateway: Any = spark.sparkContext._gateway
    known = load(gateway, "data_skip", SOURCES).getClassLoader().loadClass("data_skip.KnownFiles")
    kinds, values = gateway.new_array(gateway.jvm.Class, 3), gateway.new_array(gateway.jvm.Object, 3)
    for i, value in enumerate(["file:/lake", str(file), base]):
        kinds[i], values[i] = known if i == 2 else gateway.jvm.Class.forName("java.lang.String"), value
    constructor = known.getDeclaredConstructor(kinds)
    constructor.setAccessible(True)
    return constructor.newInstance(values)


def test_files_by_their_folders(spark: SparkSession) -> None:
    """As plain Python finds them; their paths take several of the blocks in which the JVM looks through them, one more than a block."""
    random = Random(16)
    keys = drawn(random, 20_000)
    listed = np.array([random.random() < 0.9 for _ in keys])
    listed[10_000] = True
    file = written(table(keys), listed)
    filled, alone = by_folder(keys, listed)
    assert alone and max(map(len, filled)) > 1_000
    assert [list(places) for places in mapped(spark, Path(file.name)).byFolder()] == [*filled, *alone]


@pytest.mark.parametrize("gone", [0.0, 0.01, 0.9])
@pytest.mark.parametrize("back", [0.0, 0.01])
def test_files_that_are_added_to_those_of_an_earlier_version(spark: SparkSession, gone: float, back: float) -> None:
    """In their folders, and looked up, as if all were mapped at once; some files are gone since, and some are back."""
    for seed in range(5):
        random = Random(seed)
        flat = seed % 2 == 1
        keys = [(f"{i}", random.choice([0, 1, 1]), i) for i in range(400)] if flat else drawn(random, 400)
        first = random.randrange(300, 400)
        before = np.array([random.random() < 0.9 for _ in keys])
        listed = np.array([random.random() >= gone if was else random.random() < back for was in before])
        listed[first:] = before[first:]
        earlier = written(table(keys[:first]), before[:first], 0, flat)
        added = written(table(keys), listed, first, flat)
        known = mapped(spark, Path(added.name), mapped(spark, Path(earlier.name)))
        filled, alone = by_folder(keys, listed)
        found = [list(places) for places in known.byFolder()]
        assert sorted(found) == sorted([*filled, *alone])
        for i, (path, size, time) in enumerate(keys):
            assert (known.slot(f"file:/lake/{path}", size, time), known.size(i), known.modificationTime(i)) == (i, size, time)
            assert known.uri(i) == f"file:/lake/{path}"
        assert known.slot("file:/lake/a/nothing", 1, 1) == -1


def test_a_folder_whose_files_are_all_gone(spark: SparkSession) -> None:
    """Those of other folders are not put together again, as where the files of the oldest day are deleted each day."""
    keys = [(f"day={i // 10}/{i}", 1, i) for i in range(100)]
    listed = np.ones(len(keys), dtype=bool)
    earlier = written(table(keys), listed)
    added = written(table([*keys, ("day=10/100", 1, 100)]), np.array([place >= 10 for place in range(101)]), 100)
    base = mapped(spark, Path(earlier.name))
    before, after = ([*mapped_one.byFolder()] for mapped_one in (base, mapped(spark, Path(added.name), base)))
    assert [list(places) for places in after] == [list(range(10 * day, min(10 * day + 10, 101))) for day in range(1, 11)]
    assert [places.equals(same) for places, same in zip(before[1:], after, strict=False)] == [True] * 9  # as of objects


def drawn(random: Random, count: int) -> list[tuple[str, int, int]]:
    folders = ["", "a/", "a/b/", "d=ä/", "long/" * 14_000]
    keys = [
        (f"{random.choice(folders[:4])}{random.choice(['', '', '', '_', '.'])}{i}", random.choice([0, 1, 1, 1]), i) for i in range(count)
    ]
    keys[count // 2] = f"{folders[4]}x", 1, count // 2
    return keys


def by_folder(keys: list[tuple[str, int, int]], listed: Any) -> tuple[list[list[int]], list[list[int]]]:
    """The places of the files of each folder that has some with rows, and of each other one that of a file."""
    filled: dict[str, list[int]] = {}
    empty: dict[str, int] = {}
    for i, (path, size, _) in enumerate(keys):
        folder, name = path[: path.rfind("/") + 1], path[path.rfind("/") + 1 :]
        place = path if name[0] in "_." else folder
        if listed[i] and size:
            filled.setdefault(place, []).append(i)
        elif listed[i]:
            empty.setdefault(place, i)
    return [*filled.values()], [[i] for place, i in empty.items() if place not in filled]
