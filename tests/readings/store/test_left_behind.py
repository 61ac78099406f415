"""What writers leave behind, and what vacuum may delete of it: files of those who sleep, were killed, or still write."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from deltalake import DeltaTable

from data_skip import DataSkipWarning, MinMax, upkeep
from data_skip.store import DeltaStore, StoreError, ages, delta, keys_file, left_behind, vacuuming
from data_skip.store.keys_file import KeysFile
from tests.readings.store.support import store_of_one, store_of_three
from tests.readings.support import before, log_folder, old, store_of_two_indexes
from tests.support import Lake
from tests.test_store import column, key, known, records

__all__ = ["store_of_one", "store_of_three", "store_of_two_indexes"]  # fixtures


def test_a_writer_that_slept_commits_no_file_that_vacuum_takes_for_old(store_of_one: DeltaStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """It wrote the file before, for the version after the one that it had read; that one is taken."""
    real, tried = delta.write_deltalake, []

    def write(target: Any, *args: Any, **options: Any) -> None:
        tried.append(target.version())
        if len(tried) == 1:
            old = Path(store_of_one.location, "part-00000-old.parquet")
            old.write_bytes(b"PAR1")
            os.utime(old, (time.time() - 7200,) * 2)
            assert DeltaStore(store_of_one.uri).vacuum(1) == [old.name]
        real(target, *args, **options)

    monkeypatch.setattr(delta, "write_deltalake", write)
    store_of_one.append([key("b")], [1], {column("x"): records(2)}, False)
    assert tried[1] > tried[0] and known(DeltaStore(store_of_one.uri)).keys() == {"a", "b"}
    assert "vacuumed" in [step.action for step in store_of_one.history()]


def test_what_another_writer_commits_while_vacuum_sleeps(store_of_one: DeltaStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its files are in no log that vacuum has read, and are old by the clock once it wakes."""
    never = Path(store_of_one.location, "part-00000-never.parquet")
    never.write_bytes(b"PAR1")
    real, asked = DeltaStore._old, []

    def _old(self: DeltaStore, table: Any, hours: int) -> list[str]:
        asked.append(hours)
        if len(asked) == 2:
            DeltaStore(store_of_one.uri).append([key("b")], [1], {column("x"): records(2)}, False)
            return real(self, table, 0)  # as by the clock two hours later
        return real(self, table, hours)

    os.utime(never, (time.time() - 7_200,) * 2)
    monkeypatch.setattr(DeltaStore, "_old", _old)
    assert DeltaStore(store_of_one.uri).vacuum(1) == [never.name]
    assert known(DeltaStore(store_of_one.uri)).keys() == {"a", "b"}


def test_old_files_that_may_not_be_deleted(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once all is committed and compacted: a refresh has not failed, nor has its compaction."""

    def refused(self: DeltaStore, names: list[str]) -> None:
        raise PermissionError(f"{names[0]} may not be deleted")

    monkeypatch.setattr(DeltaStore, "_delete", refused)
    monkeypatch.setattr(vacuuming, "_SWEPT_HOURS", 0)
    monkeypatch.setattr(upkeep, "_MOST_PARTS", 1)
    lake.file("a.parquet", {"x": [1]})
    table = lake.index(MinMax("x"))
    lake.file("b.parquet", {"x": [2]})
    with pytest.warns(
        DataSkipWarning, match=r"is up to date; the index at .* keeps files of old versions, which cannot all be deleted \(part-"
    ):
        assert table.refresh().files_collected == 1
    assert "compacted" in [step.action for step in table.history()]


def test_what_was_removed_a_moment_ago_by_a_clock_that_is_ahead(store_of_one: DeltaStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """A query of this moment needs it, though it was written long ago; deltalake tells by its own clock when it was removed."""
    never = Path(store_of_one.location, "part-00000-never.parquet")
    never.write_bytes(b"PAR1")
    for file in Path(store_of_one.location).rglob("*.*"):
        os.utime(file, (time.time() - 200 * 3_600,) * 2)
    before = {file.name for file in Path(store_of_one.location).glob("part-*")} - {never.name}
    store_of_one.append([key("b")], [1], {column("x"): records(2)}, False)
    store_of_one.compact()
    asked: list[float] = []
    real = DeltaTable.vacuum

    def vacuum(self: DeltaTable, hours: int | None = None, *args: Any, **options: Any) -> list[str]:
        asked.append(hours or 168)
        return real(self, max(0, (hours or 168) - 2), *args, **options | {"enforce_retention_duration": False})  # two hours ahead

    monkeypatch.setattr(DeltaTable, "vacuum", vacuum)
    monkeypatch.setattr(ages, "time", SimpleNamespace(time=lambda: time.time() + 7_200))
    assert DeltaStore(store_of_one.uri).vacuum(1) == [never.name]
    assert before <= {file.name for file in Path(store_of_one.location).glob("part-*")} and max(asked) <= 168


def test_a_commit_on_which_others_have_built_stays(store_of_three: DeltaStore, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without it nobody could read the log."""
    shutil.copytree(tmp_path / ".data_skip", tmp_path / "copy")
    real = delta.write_deltalake

    def write(*args: Any, **options: Any) -> None:
        monkeypatch.setattr(delta, "write_deltalake", real)
        (tmp_path / ".data_skip").rename(tmp_path / "before")
        shutil.copytree(tmp_path / "copy", tmp_path / ".data_skip")
        real(*args, **options)
        DeltaStore(store_of_three.uri).append([key("e")], [1], {column("x"): records(3)}, False)

    monkeypatch.setattr(delta, "write_deltalake", write)
    with pytest.raises(StoreError, match="put back from a copy"):
        store_of_three.append([key("d")], [1], {column("x"): records(2)}, False)
    assert {"a", "b", "c", "e"} <= known(DeltaStore(store_of_three.uri)).keys()


def test_who_commits_a_version_touches_its_file_once_more(store_of_three: DeltaStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """deltalake links it, and deletes the other link."""
    snapshot = store_of_three.snapshot()
    assert snapshot is not None
    commit = Path(store_of_three.location, "_delta_log", f"{snapshot.version:020}.json")

    def touch() -> None:
        os.link(commit, f"{commit}#1")
        os.unlink(f"{commit}#1")

    before(monkeypatch, delta, "write_deltalake", touch)
    store_of_three.append([key("d")], [1], {column("x"): records(2)}, False)
    assert "d" in known(store_of_three)


def test_a_file_that_is_being_written_is_not_left_over(store_of_three: DeltaStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the store's clock, behind which this machine's is not."""
    written = Path(store_of_three.location, "part-00000-being-written.parquet#1")
    written.write_bytes(b"PAR1")
    clock = Path(store_of_three.location).parent / "clock"
    clock.touch()
    for path in (clock, written, *Path(store_of_three.location, "_delta_log").iterdir()):
        old = path.stat().st_mtime - 7000
        os.utime(path, (old, old))
    monkeypatch.setattr(left_behind, "TemporaryFile", lambda dir: clock.open())
    assert DeltaStore(store_of_three.uri).vacuum(1) == [] and written.exists()


def test_vacuum_deletes_nothing_but_parquet_files(store_of_two_indexes: DeltaStore) -> None:
    """Whatever else lay in the folder was deleted."""
    mine, never = (
        old(Path(store_of_two_indexes.location) / "notes.txt"),
        old(Path(store_of_two_indexes.location) / "part-00000-never.parquet"),
    )
    for dry_run in (True, False):
        with pytest.raises(StoreError, match=r"holds notes\.txt, which is none of its files"):
            store_of_two_indexes.vacuum(168, dry_run)
    assert mine.exists() and never.exists()
    mine.unlink()
    assert store_of_two_indexes.vacuum(168) == ["part-00000-never.parquet"]


def test_vacuum_beside_a_writer_that_ends(store_of_two_indexes: DeltaStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is being written is there for a moment: that it was gone in the next one was an error, once all had been deleted."""
    gone, left = (old(log_folder(store_of_two_indexes) / f"{9:020}.json#{i}") for i in (1, 2))

    @contextmanager
    def listed(folder: str) -> Iterator[list[os.DirEntry[str]]]:
        with os.scandir(folder) as entries:
            found = list(entries)
        gone.unlink(missing_ok=True)
        yield found

    monkeypatch.setattr(left_behind, "os", SimpleNamespace(scandir=listed, unlink=os.unlink, path=os.path, fstat=os.fstat))
    assert left_behind.leftovers(store_of_two_indexes.location, 1, False) == [f"_delta_log/{left.name}"]
    assert not left.exists()


def test_what_a_killed_writer_left_of_an_index_at_rest(lake: Lake) -> None:
    """How long nobody has written was taken for how far clocks are apart: it was told, and never deleted."""
    lake.file("a.parquet", {"x": [1]})
    table = lake.index(MinMax("x"))
    folder = Path(lake.folder, ".data_skip/_/_/_")
    left = folder / "part-00000-killed.snappy.parquet#1"
    left.write_bytes(b"PAR1")
    for path in folder.rglob("*"):
        os.utime(path, (time.time() - 10 * 86_400,) * 2)
    assert table.vacuum(1, dry_run=True) == [left.name] == table.vacuum(1)
    assert not left.exists()


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


def test_a_forked_process(lake: Lake) -> None:
    """It was told to delete an index that is well."""
    lake.file("a.parquet", {"x": [1]})
    location = lake.index(MinMax("x")).describe().location
    told = lake.folder.parent / "told"
    if (child := os.fork()) == 0:
        try:
            DeltaStore(location).snapshot()
        except StoreError as error:
            told.write_text(str(error))
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert "spawn" in told.read_text() and "delete" not in told.read_text()
