"""The store, read once more: files of several file systems, and very many of them."""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from data_skip import MinMax, ValueList, upkeep
from data_skip.building import recent
from data_skip.clause import Field
from data_skip.planning.deadline import Deadline
from data_skip.planning.in_parts import part_by_part
from data_skip.store import DeltaStore, FileKey, StoreError, keys_file, parts, paths, snapshot
from data_skip.store.keys_file import KeysFile
from data_skip.store.layout import keys_of
from data_skip.store.row_groups import RowGroups
from tests.support import Lake
from tests.test_added import append, content, files, read
from tests.test_store import column, store

__all__ = ["store"]


def test_folders_on_file_systems_whose_clocks_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that tells no more than seconds beside one that tells more: a file there may be written again in the second of its time."""
    slept: list[float] = []
    monkeypatch.setattr(recent, "sleep", slept.append)
    now = time.time() // 1000 * 1000 * 1000 + 500
    files = keys_of([FileKey("s3://p=1/a", 1, int(now - 500)), FileKey("s3://p=2/a", 1, int(now - 99))])
    assert recent.too_recent(files, now).tolist() == [True, False]
    recent.let_clocks_pass(files, now)
    assert slept == [1.0]


def test_a_time_of_whole_seconds_by_a_clock_that_tells_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One file in a thousand that is written has such a time; a local file system tells what comes after the milliseconds."""
    slept: list[float] = []
    monkeypatch.setattr(recent, "sleep", slept.append)
    second = time.time_ns() // 1_000_000_000 * 1_000_000_000
    for name, moment in {"fine": second + 12_345, "coarse": second}.items():
        (tmp_path / name).touch()
        os.utime(tmp_path / name, ns=(moment, moment))
    fine, coarse = (keys_of([FileKey(f"file:{tmp_path}/{name}", 0, second // 1_000_000)]) for name in ("fine", "coarse"))
    now = second / 1_000_000 + 500
    assert [recent.too_recent(one, now).tolist() for one in (fine, coarse)] == [[False], [True]]
    for one in (fine, coarse):
        recent.let_clocks_pass(one, now)
    assert slept == [0.01, 1.0]


def test_paths_are_looked_through_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of very many files are one array, mapped from a file: what is made of them meanwhile would take as much memory again."""
    monkeypatch.setattr(paths, "_ROWS", 1000)
    names = pa.chunked_array([pa.array([f"date=2024-01-{i % 28}/part-{i:050}" for i in range(50_000)], pa.large_string())])
    letters = paths.Letters.of(names.chunk(0))
    assert letters.slash
    tracemalloc.start()
    try:
        paths.refuse_paths(names, letters)
        assert tracemalloc.get_traced_memory()[1] < names.nbytes // 10
    finally:
        tracemalloc.stop()
    for place in (999, 1000, 49_999):
        wrong = pa.chunked_array([pa.concat_arrays([names.chunk(0)[:place], pa.array(["a/../b"], pa.large_string())])])
        with pytest.raises(ValueError, match="no path below the root"):
            paths.refuse_paths(wrong, letters)


def test_what_killed_processes_leave_of_keys_is_deleted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """By the next one, and nothing of processes that live: these have locks, which end with a process."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    living, other = KeysFile(1), tmp_path / "data-skip-check-of-another-kind"
    pipe = Path(f"{living.name}-which-is-a-pipe")  # to open it waits for who writes to it
    os.mkfifo(pipe)
    for path in (other, Path(f"{living.name}-of-one-that-was-killed")):
        path.touch()
    keys_file._delete_left_behind.cache_clear()
    file = KeysFile(1)
    assert {*map(str, tmp_path.iterdir())} == {living.name, file.name, str(other)}
    living.delete()
    file.delete()
    assert [*tmp_path.iterdir()] == [other]


def test_an_index_is_rewritten_without_an_object_a_file(store: DeltaStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of very many, whose paths are mapped from a file, too: a list of them took four times as much memory and time as their columns."""
    append(store, range(300))
    append(store, range(290, 320), "y")
    expected = content(read(store))
    monkeypatch.setattr(snapshot.Snapshot, "files", property(lambda _: pytest.fail("file versions were made objects")))
    for many in (1 << 20, 10):
        with monkeypatch.context() as patched:
            patched.setattr(snapshot, "MANY_ROWS", many)
            DeltaStore(store.uri).compact(("x", "min"))
    append(store, range(320, 330))
    DeltaStore(store.uri).compact()
    monkeypatch.undo()
    found = content(read(DeltaStore(store.uri)))
    assert {key: said for key, said in found.items() if key in expected} == expected
    assert len(found) == 330


def test_a_footer_that_tells_of_other_rows_than_there_are(store: DeltaStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """As of a disk that forgets a bit. Arrow reads what there is; the rows after it would be taken for those of the next file versions."""
    monkeypatch.setattr(parts, "LEAST_PART", 1)
    append(store, range(77))
    (damaged,) = Path(store.location).glob("*.parquet")
    append(store, range(77, 90))
    wanted = Field("x", "min", "") > 50
    truth = {file for file in read(store).files if int(file.path.rpartition("/")[2]) > 50}
    whole, told = damaged.read_bytes(), pq.read_metadata(damaged)
    start = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    of_rows = 0
    for place in (match.start() for match in re.finditer(rb"\x9a\x01", whole) if match.start() > start):  # 77, as Thrift has it
        for more in (b"\x9c\x01", b"\x98\x01"):
            damaged.write_bytes(whole[:place] + more + whole[place + 2 :])
            now = pq.read_metadata(damaged)
            of_rows += now.num_rows != told.num_rows or now.row_group(0).num_rows != 77
            for most in (0, 1 << 20):
                with suppress(StoreError):
                    snapshot = read(DeltaStore(store.uri))
                    columns = snapshot.records(["x"]) if most else {}
                    found = part_by_part(wanted, snapshot, columns, np.ones(snapshot.count, dtype=bool), most, Deadline(math.inf))
                    assert truth <= {file for file, may_match in zip(snapshot.files, found, strict=True) if may_match}
    assert of_rows == 4


def test_an_index_that_takes_many_large_files_is_not_rewritten_for_them(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """deltalake makes several of what takes more than a hundred megabytes: one of ten gigabytes was rewritten by each refresh."""
    monkeypatch.setattr(upkeep, "_MOST_PARTS", 3)
    for i in range(6):
        lake.file(f"{i}.parquet", {"x": [i], "y": [f"{i}"]})
    indexed = lake.index(MinMax("x"), ValueList("y"))
    for number in range(7, 11):
        monkeypatch.setattr(snapshot, "_A_PART", 2)  # each is a large one
        lake.file(f"{number}.parquet", {"x": [number], "y": [f"{number}"]})
        assert indexed.refresh().files_collected
    assert [step.action for step in indexed.history()][-4:] == ["added"] * 4
    monkeypatch.undo()
    monkeypatch.setattr(upkeep, "_MOST_PARTS", 3)
    lake.file("11.parquet", {"x": [11], "y": ["11"]})
    indexed.refresh()
    assert [step.action for step in indexed.history()][-2:] == ["added", "compacted"]


def test_which_records_there_are_is_told_by_one_field(store: DeltaStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """A refresh asks for that, and read the whole index: of one that takes more than half of the memory it failed."""
    type_ = pa.struct([("values", pa.list_(pa.string())), ("nulls", pa.int64()), ("text", pa.string())])
    of = {name: column(name).with_type(type_) for name in "xy"}
    some = [None, {}, {"values": ["a" * 99]}, {"values": [], "nulls": 1, "text": "b" * 99}, {"text": "c" * 99}]
    for i, name in enumerate("xxyxy"):
        records = [some[(i * j) % 5] for j in range(40)]
        store.append(files(*range(i * 9, i * 9 + 40)), [1] * 40, {of[name]: pa.array(records, type_)})
    whole = read(DeltaStore(store.uri))
    expected = {of: whole.collected(of).tolist() for of in ("x", "y", "xy")}
    assert len({*map(tuple, expected.values())}) == 3 and 0 < sum(expected["xy"]) < len(expected["xy"])
    monkeypatch.setattr(snapshot, "_READ_WHOLE", 0)
    asked: list[Sequence[str]] = []
    real = RowGroups.read

    def noted(self: RowGroups, groups: Sequence[int], column: str, fields: Sequence[str]) -> pa.ChunkedArray:
        asked.append(fields)
        return real(self, groups, column, fields)

    monkeypatch.setattr(RowGroups, "read", noted)
    found = read(DeltaStore(store.uri))
    assert {of: found.collected(of).tolist() for of in expected} == expected
    assert ["nulls"] in asked and {*map(len, asked)} == {1} and not found.keeps("x")


def test_of_a_field_that_a_file_lacks_nothing_is_told(store: DeltaStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """As of an index whose records have one more by now: it takes least, and all older files were collected anew by each refresh."""
    types = [pa.struct([("text", pa.string())]), pa.struct([("text", pa.string()), ("more", pa.int64())])]
    for i, type_ in enumerate(types):
        records = pa.array([{"text": "a"}, None, {"text": "b"}], type_)
        store.append(files(*range(3 * i, 3 * i + 3)), [1] * 3, {column("x").with_type(type_): records})
    expected = read(DeltaStore(store.uri)).collected("x").tolist()
    assert sum(expected) == 4
    monkeypatch.setattr(snapshot, "_READ_WHOLE", 0)
    assert read(DeltaStore(store.uri)).collected("x").tolist() == expected


def test_a_forked_process_that_ends_deletes_no_keys() -> None:
    script = """if True:
        import os, sys
        from data_skip.store.keys_file import KeysFile
        file = KeysFile(1)
        if not (fork := os.fork()):
            sys.exit()
        os.waitpid(fork, 0)
        print(file.is_there)
        file.delete()
        print(file.is_there)"""
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split() == ["True", "False"]
