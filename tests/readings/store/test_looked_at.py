"""What deltalake will read is looked at before, and as it is: commits that were written into, links, pipes, folders in a log."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import pytest
from deltalake import DeltaTable

from data_skip import DataSkipError, MinMax
from data_skip.store import DeltaStore, StoreError, delta, opened
from data_skip.store.storage_options import StorageOptions
from tests.object_store.test_object_place import Spark, append, files
from tests.object_store.test_object_place import spark as hadoop
from tests.readings.store.support import log_of, store_that_was_read
from tests.support import Lake, aged
from tests.test_store import READER, column, key, records, store

__all__ = ["hadoop", "store", "store_that_was_read"]  # fixtures
DEEP = '{"commitInfo":{"x":' + "[" * 200 + "]" * 200 + "}}"


@pytest.mark.parametrize("write", ["append", "drop", "vacuum"])
def test_who_writes_looks_at_the_log_as_it_is(store_that_was_read: DeltaStore, write: str) -> None:
    """Commits before the last had been looked at once: what was written into them since, deltalake read, and the process ended."""
    log = log_of(store_that_was_read, 1)
    log.write_text(f"{log.read_text()}\n{DEEP}")
    writes: dict[str, Any] = {
        "append": lambda: store_that_was_read.append([key("d")], [1], {column("x"): records(1)}, False),
        "drop": lambda: store_that_was_read.drop("x"),
        "vacuum": lambda: store_that_was_read.vacuum(1),
    }
    with pytest.raises(StoreError, match="nested more than"):
        writes[write]()


def test_a_commit_that_is_written_in_place_is_looked_at_again(store_that_was_read: DeltaStore) -> None:
    """With as many bytes, and the time of before, it was taken for what had been looked at."""
    log = log_of(store_that_was_read, 2)
    text = log.read_text()
    log.write_text(f"{text}\n{' ' * len(DEEP)}")
    assert store_that_was_read.snapshot() is not None
    reader = DeltaStore(store_that_was_read.uri)
    assert reader.snapshot() is not None
    status = log.stat()
    log.write_text(f"{text}\n{DEEP}")
    os.utime(log, ns=(status.st_atime_ns, status.st_mtime_ns))
    log_of(store_that_was_read, 4).write_text('{"commitInfo":{}}')
    with pytest.raises(StoreError, match="nested more than"):
        reader.snapshot()


@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_records_are_files_when_they_are_read(store_that_was_read: DeltaStore, tmp_path: Path, kind: str) -> None:
    """A link was followed, a pipe waited for without end, if they came once the index was open."""
    found = store_that_was_read.snapshot()
    assert found is not None
    part = min(Path(store_that_was_read.location).glob("*.parquet"))
    part.rename(tmp_path / "elsewhere")
    if kind == "link":
        part.symlink_to(tmp_path / "elsewhere")
    else:
        os.mkfifo(part)
    opened = os.open(part, os.O_RDWR)  # so that nobody waits for a writer
    with pytest.raises(StoreError, match="is a link, a pipe or a device"):
        found.records(["x"])
    os.close(opened)


class Lists(Spark):
    """Hadoop, as it reaches what deltalake reaches, and lists what it is told."""

    found: Sequence[tuple[str, int, str]] | None = None
    overrides: dict[str, str]

    def told(self, *_: Any) -> dict[str, Any]:
        return {"set": {}, "overrides": self.overrides, "file_system": "org.apache.hadoop.fs.s3a.S3AFileSystem"}

    def listed(self, uri: str) -> Any:
        return self.found


@pytest.mark.parametrize(
    ("found", "overrides", "why"),
    [
        (None, {}, "Spark cannot list its log"),
        (None, {"timeout": "30s"}, "Spark cannot list its log"),
        (None, {"aws_access_key_id": "of deltalake alone"}, ""),
        ([("_delta_log", 10, "1")], {}, "_delta_log is a file"),
        ([("_delta_log", 10, "1")], {"aws_access_key_id": "of deltalake alone"}, "_delta_log is a file"),
    ],
)
def test_a_log_that_spark_does_not_see(hadoop: Spark, found: Any, overrides: dict[str, str], why: str) -> None:
    """It was not looked at, and deltalake read it: where a request failed, or an object has the name of the folder."""
    append(DeltaStore("s3://elsewhere", hadoop), "a")  # type: ignore[arg-type]
    lists = Lists(hadoop.folder)
    lists.found, lists.overrides = found, overrides
    store = DeltaStore("s3://elsewhere", lists)  # type: ignore[arg-type]
    if why:
        with pytest.raises(StoreError, match=why):
            store.snapshot()
    else:
        assert files(store) == {"a"}


def test_a_look_that_is_interrupted_leaves_nothing_to_believe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = DeltaStore(f"file:{tmp_path}/index")
    store.append([key("a")], [1], {column("x"): records(1)})
    first = store.snapshot()
    assert first is not None
    shutil.rmtree(tmp_path / "index")
    DeltaStore(store.uri).append([key("b")], [1], {column("x"): records(1)})

    def interrupted(_: object) -> NoReturn:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(opened, "refuse_table", interrupted)
        store.snapshot()
    second = store.snapshot()
    assert second is not None
    assert first.version == second.version
    assert [file.path for file in second.files] == ["b"]


def test_folders_in_the_log_are_walked_by_deltalake(tmp_path: Path) -> None:
    """It took no commit from there, but followed links, all over the file system."""
    store = DeltaStore(f"file:{tmp_path}/index")
    store.append([key("a")], [1], {column("x"): records(1)})
    log = tmp_path / "index" / "_delta_log"
    (log / "some" / "@eaDir").mkdir(parents=True)  # as some file systems make them
    shutil.copy(log / f"{1:020}.json", log / "some" / f"{2:020}.json")
    again = DeltaStore(store.uri).snapshot()
    assert again is not None
    assert (again.version, again.count) == (1, 1)
    (log / "some" / "@eaDir" / "link").symlink_to("/")
    with pytest.raises(StoreError, match="is a link"):
        DeltaStore(store.uri).snapshot()


@pytest.mark.parametrize("name", ["at=01%3A00", "a[b", "a\x7fb"])
def test_a_link_to_a_folder_that_deltalake_misreads(lake: Lake, name: str) -> None:
    """deltalake follows links first. Version 0 was written, and each query told of an index that cannot be read."""
    real = lake.folder.parent / name
    lake.folder.rename(real)
    lake.folder.symlink_to(real)
    lake.file("a.parquet", {"x": [1]})
    with pytest.raises(DataSkipError, match=r"deltalake cannot read nor write .*index_root"):
        lake.table().create_index(MinMax("x"))
    assert not list(lake.folder.glob(".data_skip/**/*.json"))
    lake.view()
    lake.spark.sql("SELECT * FROM t WHERE x = 2").collect()
    assert "cannot be read" not in str(lake.skipping.report())


def test_an_index_that_comes_to_such_a_name(lake: Lake) -> None:
    """A refresh of the copy wrote a version that could not be read, in the midst of what was of the other."""
    table, copy = Lake(lake.spark, lake.skipping, lake.folder / "a b"), lake.folder / "a%20b"
    table.file("a.parquet", {"x": [1]})
    table.index(MinMax("x"))
    shutil.copytree(table.folder, copy)
    aged(copy / "a.parquet")
    moved = Lake(lake.spark, lake.skipping, copy)
    moved.file("b.parquet", {"x": [2]})
    log = sorted(file.name for file in copy.rglob("*.json"))
    for attempt in (moved.table().refresh, moved.table().compact, lambda: moved.table().drop_index(MinMax("x"))):
        with pytest.raises(DataSkipError, match="rename it"):
            attempt()
    assert sorted(file.name for file in copy.rglob("*.json")) == log
    moved.view()
    assert moved.spark.sql("SELECT * FROM t WHERE x = 2").count() == 1


def test_a_link_that_is_turned_while_an_index_is_written(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was told that nothing was written, which was, to the folder of before."""
    first, second = lake.folder.parent / "first", lake.folder.parent / "second"
    lake.folder.rename(first)
    second.mkdir()
    lake.folder.symlink_to(first)
    lake.file("a.parquet", {"x": [1]})
    lake.index(MinMax("x"))
    lake.file("b.parquet", {"x": [2]})
    write = delta.write_deltalake

    def turned(*args: Any, **more: Any) -> None:
        write(*args, **more)
        lake.folder.unlink()
        lake.folder.symlink_to(second)

    monkeypatch.setattr(delta, "write_deltalake", turned)
    with pytest.raises(DataSkipError, match=r"turned to another folder meanwhile; what was written, if anything, is in .*first"):
        lake.table().refresh()
    assert lake.skipping.table(str(first)).describe().files_indexed == 2
    assert not list(second.iterdir())


def test_what_others_may_do_to_its_log(store: DeltaStore) -> None:
    """A month of it was kept, each commit of which is looked at by whoever opens it."""
    store.append([key("a")], [1], {column("x"): records(1)})
    assert DeltaTable(store.location).metadata().configuration["delta.logRetentionDuration"] == "interval 8 days"


def test_a_log_that_was_copied_onto_that_of_a_copy(store: DeltaStore, tmp_path: Path) -> None:
    """Its commits, and those that only the copy had, are of one table: records were read by the definition of the other."""
    store.append([key("a")], [1], {column("x"): records(1)})
    copy = DeltaStore(f"file:{tmp_path}/copy")
    shutil.copytree(store.location, copy.location)
    copy.drop("x")
    copy.append([key("a")], [1], {column("x", READER | {"options": {"mergeSchema": "true"}}): records(2)})
    assert copy.snapshot() is not None
    store.append([key("b")], [1], {column("x"): records(3)})
    shutil.copytree(store.location, copy.location, dirs_exist_ok=True)
    with pytest.raises(StoreError, match="has records of x by another definition, as in a log that was copied"):
        DeltaStore(copy.uri).snapshot()


def test_what_is_told_of_deltalake(monkeypatch: pytest.MonkeyPatch) -> None:
    options = StorageOptions({"aws_secret_access_key": "secret"})
    assert options.shown("Generic S3 error\n   \x1b[31m\u21b3\x1b[0m Error of secret") == "Generic S3 error Error of ***"
