"""The store, read once more: files of several file systems, and very many of them."""

from __future__ import annotations

import tempfile
import time
import tracemalloc
from pathlib import Path

import pyarrow as pa
import pytest

from data_skip.building import indexing
from data_skip.store import DeltaStore, FileKey, keys_file, paths, snapshot
from data_skip.store.keys_file import KeysFile
from tests.test_added import append, content, read
from tests.test_store import store

__all__ = ["store"]


def test_folders_on_file_systems_whose_clocks_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that tells no more than seconds beside one that tells more: a file there may be written again in the second of its time."""
    slept: list[float] = []
    monkeypatch.setattr(indexing, "sleep", slept.append)
    now = time.time() // 1000 * 1000 * 1000 + 500
    coarse, fine = FileKey("p=1/a", 1, int(now - 500)), FileKey("p=2/a", 1, int(now - 99))
    assert indexing._too_recent_files([coarse, fine, None], now) == {coarse}
    indexing._let_clocks_pass([coarse, fine], now)
    assert slept == [1.0]


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
