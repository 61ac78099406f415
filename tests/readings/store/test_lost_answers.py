"""Stores that answer late, not at all, or with an error although what was asked is done."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from pyspark.errors import AnalysisException
from typer.testing import CliRunner

from data_skip import DataSkipError, MinMax
from data_skip.building import indexing
from data_skip.cli import app
from data_skip.cli.asked import Asked
from data_skip.store import DeltaStore, StoreError, guard
from data_skip.store.commit import Commit, retried
from data_skip.store.snapshot import Snapshot
from data_skip.table import Table
from tests.readings.store.support import store_of_one, store_that_was_read
from tests.support import Lake

__all__ = ["store_of_one", "store_that_was_read"]  # fixtures
PUT = "Error performing PUT http://127.0.0.1:9/b/t/_delta_log/00000000000000000005.json in 1.0s"
PART = "Error performing PUT http://127.0.0.1:9/b/t/part-00000.parquet in 1.0s"
STATUS = "Server returned non-2xx status code\n   \x1b[31m\u21b3\x1b[0m "


@pytest.mark.parametrize("error", [ValueError, RuntimeError, Exception])
def test_any_error_once_the_commit_is_there(error: type[Exception]) -> None:
    """deltalake has several kinds of them, and tidies up after a commit: what was committed was told to have failed."""
    log: dict[int, bytes] = {}

    def write() -> None:
        commit.is_done_before(0)
        if asked == "committed":
            log[1] = commit.name.encode()
        raise error("after it")

    def read(version: int) -> bytes:
        if version not in log:
            raise FileNotFoundError
        return log[version]

    for asked in ("committed", "refused"):
        log.clear()
        commit = Commit(read)
        if asked == "committed":
            assert retried(write, commit) is None
        else:
            with pytest.raises(error, match="after it"):
                retried(write, commit)


@pytest.mark.parametrize(
    ("error", "known"),
    [
        (f"Generic S3 error {PUT} - HTTP error error sending request operation timed out", False),
        (f"Generic S3 error {PUT}, after 1 retries - {STATUS}504 Gateway Timeout", False),
        (f"Generic S3 error {PUT} - {STATUS}408 Request Timeout", False),
        (f"Generic S3 error {PUT} - {STATUS}403 Forbidden", True),
        (f"Generic S3 error {PUT}, after 2 retries, max_retries: 10 - {STATUS}403 Forbidden", False),
        (f"Generic S3 error {PUT} - {STATUS}502 Bad Gateway: 403 Forbidden by the server behind it", False),
        (f"Generic S3 error {PUT} - {STATUS}499 <unknown status code>: 403 Forbidden", False),
        (f"Generic S3 error {PUT} - {STATUS}405 Method Not Allowed", True),
        (f"Generic S3 error {PART} - HTTP error error sending request operation timed out", True),
        ("No space left on device (os error 28)", True),
    ],
)
def test_a_commit_without_an_answer_may_be_there_later(error: str, known: bool) -> None:
    """It was said to be known that nothing was written, while the store was about to write it."""

    def nothing(_: int) -> bytes:
        raise FileNotFoundError

    def write() -> None:
        commit.is_done_before(4)
        raise OSError(error)

    commit = Commit(nothing)
    failed = retried(write, commit)
    assert failed is not None and failed[1] == known


def test_a_mark_whose_answer_is_lost(store_of_one: DeltaStore, monkeypatch: pytest.MonkeyPatch) -> None:
    never = Path(store_of_one.location, "part-00000-never.parquet")
    never.write_bytes(b"PAR1")
    os.utime(never, (time.time() - 7_200,) * 2)
    real = DeltaTable.create_write_transaction

    def lost(*args: Any, **options: Any) -> None:
        real(*args, **options)
        raise OSError("no answer")

    monkeypatch.setattr(DeltaTable, "create_write_transaction", lost)
    assert DeltaStore(store_of_one.uri).vacuum(1) == [never.name] and not never.exists()


def test_records_that_failed_too_late_are_asked_for_again() -> None:
    """Whoever asked next, however much later, was told the error of then, and read all files."""
    snapshot = Snapshot.__new__(Snapshot)
    snapshot.location = "s3://bucket/a"
    snapshot._lock, snapshot._asking = threading.Lock(), threading.Lock()
    snapshot._records, snapshot._asked, snapshot._sizes = {}, {}, {}
    slow = threading.Event()

    def fails(columns: list[str]) -> dict[str, pa.StructArray]:
        slow.wait()
        raise StoreError("the store did not answer")

    found = {"x": pa.array([{"min": 1}])}
    snapshot._begun = {}
    snapshot._read_records = fails  # type: ignore[method-assign]
    with pytest.raises(StoreError, match="have not come in the time"):
        snapshot.records(["x"], until=time.perf_counter())
    slow.set()
    while snapshot._asked:
        time.sleep(0.001)
    snapshot._read_records = lambda columns: found  # type: ignore[method-assign]
    assert snapshot.records(["x"], until=time.perf_counter() + 10)["x"].to_pylist() == [{"min": 1}]
    assert not snapshot._asked


def test_local_files_are_waited_for_until_a_moment(store_that_was_read: DeltaStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """A slow disk, or a log that takes its time to be looked at, kept a query for as long as it took."""
    reader, answering = DeltaStore(store_that_was_read.uri), threading.Event()
    looked, read = guard.Guard.look, DeltaStore.snapshot(store_that_was_read)
    assert read is not None
    monkeypatch.setattr(guard.Guard, "look", lambda *said: answering.wait(60) and looked(*said))
    monkeypatch.setattr(read, "_rows", lambda *asked: answering.wait(60) and type(read)._rows(read, *asked))
    start = time.perf_counter()
    assert store_that_was_read.snapshot(until=start) is read  # nothing is looked at, so nobody waits
    with pytest.raises(StoreError, match="in the time in which files are chosen"):
        reader.snapshot(until=start + 0.1)
    with pytest.raises(StoreError, match="have not come in the time"):
        read.records(["x"], 0, start + 0.2)
    assert time.perf_counter() - start < 30
    answering.set()
    assert reader.snapshot() is not None
    assert len(read.records(["x"])["x"]) == 3


def test_keys_are_not_read_again(store_that_was_read: DeltaStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """The JVM keeps those of so many tables; it is handed them once more, when the store may answer no more."""
    found = store_that_was_read.snapshot()
    assert found is not None
    monkeypatch.setattr(found, "_rows", None)
    handed = [found.hand_over(lambda file, mapped_as: (mapped_as, Path(file).read_bytes())) for _ in range(2)]
    assert handed[1] == (found.id, handed[1][1]) and handed[0][0] == ""
    again = found.hand_over(lambda file, mapped_as: None if mapped_as else Path(file).read_bytes())
    assert again == handed[0][1]


@pytest.mark.parametrize("what", ["describe", "history", "compact", "vacuum"])
def test_an_index_on_a_store_is_reached_by_spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    """Of a table of local files it was reached without Hadoop's credentials, and read without a look at its log."""

    def asked_for(asked: Asked, command: str) -> Any:
        raise DataSkipError(f"Spark is asked to {command}")

    monkeypatch.setattr(app, "_session", asked_for)
    result = CliRunner().invoke(app.app, [what, str(tmp_path), "--index-root", "s3a://bucket/indexes"])
    assert (result.exit_code, result.stderr) == (1, f"error: Spark is asked to {what}\n")
    for root in (f"file:{tmp_path}/root", f"{tmp_path}/root"):
        assert CliRunner().invoke(app.app, ["describe", str(tmp_path), "--index-root", root]).exit_code == 0


def test_what_was_no_listing_a_moment_ago_may_be_one(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """On an object store what was seen is believed for a while: an index that another session has made since was none."""
    lake.file("a.parquet", {"x": [1]})
    table = lake.index(MinMax("x"))
    real = table._store.snapshot

    def seen(believed: float = 0.0) -> Any:
        return SimpleNamespace(definitions={}, is_listing=True) if believed else real()

    monkeypatch.setattr(table._store, "snapshot", seen)
    assert Table.read(table, "snapshot").collect() == [(1,)]


def test_a_store_that_refuses_to_tell_is_an_error_of_ours(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any) -> bool:
        raise AnalysisException("AccessDenied")

    lake.file("a.parquet", {"x": [1]})
    table = lake.index(MinMax("x"))
    monkeypatch.setattr(table._jvm, "files_now", refused)
    with pytest.raises(DataSkipError, match="cannot be read: AccessDenied"):
        table.read("snapshot")


def test_a_table_that_cannot_be_listed_once_it_is_indexed(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was committed is told."""
    lake.file("a.parquet", {"x": [1]})

    def fails(*_: Any, **__: Any) -> None:
        raise DataSkipError("the files of t cannot be listed")

    monkeypatch.setattr(indexing, "_agree", fails)
    with pytest.raises(DataSkipError, match=r"cannot be listed; 1 file is indexed, refresh\(\) goes on"):
        lake.table().create_index(MinMax("x"))
