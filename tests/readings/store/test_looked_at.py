"""The twenty-fifth reading: logs that were put back, looked at too early or not at all, and what the environment adds to requests."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest
from deltalake import DeltaTable

from data_skip.building.remote_files import RemoteFiles
from data_skip.store import DeltaStore, StoreError, guard
from data_skip.store.storage_options import StorageOptions, storage_options
from tests.object_store.test_object_place import Spark, append, clock, files
from tests.object_store.test_object_place import spark as hadoop
from tests.test_store import column, key, records

__all__ = ["clock", "hadoop"]  # fixtures

DEEP = '{"commitInfo":{"x":' + "[" * 200 + "]" * 200 + "}}"


@pytest.fixture
def store(tmp_path: Path) -> DeltaStore:
    """An index of three commits with records, which was looked at."""
    made = DeltaStore(f"file:{tmp_path}/.data_skip/_/_/_")
    for name in "abc":
        made.append([key(name)], [1], {column("x"): records(1)})
    assert made.snapshot() is not None
    return made


def log_of(store: DeltaStore, version: int) -> Path:
    return Path(store.location) / "_delta_log" / f"{version:020}.json"


@pytest.mark.parametrize("believed", [0.0, 2.0])
def test_an_index_that_was_put_back_and_written_since(hadoop: Spark, clock: list[float], tmp_path: Path, believed: float) -> None:
    """It has the version that was read, of the same table: what was read before was taken for it, and `snapshot` left out its files."""
    store = DeltaStore("s3://elsewhere", hadoop)  # type: ignore[arg-type]
    append(store, "a")
    shutil.copytree(hadoop.folder, tmp_path / "copy")
    append(store, "b")
    assert files(store, believed) == {"a", "b"}
    hadoop.folder.rename(tmp_path / "before")  # so that no number of a file is used again
    shutil.copytree(tmp_path / "copy", hadoop.folder)
    append(DeltaStore("s3://elsewhere", hadoop), "c")  # type: ignore[arg-type]
    clock[0] += 61
    assert files(store, believed) == {"a", "c"}


def test_a_writer_does_not_write_on_what_was_put_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the moment that a rewrite read the index and its commit: it put its rows in the place of those that were acknowledged."""
    store = DeltaStore(f"file:{tmp_path}/.data_skip/_/_/_")
    store.append([key("a")], [1], {column("x"): records(1)})
    shutil.copytree(store.location, tmp_path / "copy")
    store.append([key("b")], [1], {column("x"): records(1)})
    known = store.snapshot()
    assert known is not None and known.records(["x"], 1 << 20)
    opened, turns = store._opened, [1]

    def put_back(*asked: Any) -> DeltaTable:
        if turns:
            turns.clear()
            shutil.rmtree(store.location)
            shutil.copytree(tmp_path / "copy", store.location)
            DeltaStore(store.uri).append([key("c")], [1], {column("x"): records(1)})
        return opened(*asked)

    monkeypatch.setattr(store, "_opened", put_back)
    store.compact()
    found = DeltaStore(store.uri).snapshot()
    assert not turns and found is not None and {file.path for file in found.files} == {"a", "c"}


@pytest.mark.parametrize("write", ["append", "drop", "vacuum"])
def test_who_writes_looks_at_the_log_as_it_is(store: DeltaStore, write: str) -> None:
    """Commits before the last had been looked at once: what was written into them since, deltalake read, and the process ended."""
    log = log_of(store, 1)
    log.write_text(f"{log.read_text()}\n{DEEP}")
    writes: dict[str, Any] = {
        "append": lambda: store.append([key("d")], [1], {column("x"): records(1)}, False),
        "drop": lambda: store.drop("x"),
        "vacuum": lambda: store.vacuum(1),
    }
    with pytest.raises(StoreError, match="nested more than"):
        writes[write]()


def test_a_commit_that_is_written_in_place_is_looked_at_again(store: DeltaStore) -> None:
    """With as many bytes, and the time of before, it was taken for what had been looked at."""
    log = log_of(store, 2)
    text = log.read_text()
    log.write_text(f"{text}\n{' ' * len(DEEP)}")
    assert store.snapshot() is not None
    reader = DeltaStore(store.uri)
    assert reader.snapshot() is not None
    status = log.stat()
    log.write_text(f"{text}\n{DEEP}")
    os.utime(log, ns=(status.st_atime_ns, status.st_mtime_ns))
    log_of(store, 4).write_text('{"commitInfo":{}}')
    with pytest.raises(StoreError, match="nested more than"):
        reader.snapshot()


@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_records_are_files_when_they_are_read(store: DeltaStore, tmp_path: Path, kind: str) -> None:
    """A link was followed, a pipe waited for without end, if they came once the index was open."""
    found = store.snapshot()
    assert found is not None
    part = min(Path(store.location).glob("*.parquet"))
    part.rename(tmp_path / "elsewhere")
    if kind == "link":
        part.symlink_to(tmp_path / "elsewhere")
    else:
        os.mkfifo(part)
    opened = os.open(part, os.O_RDWR)  # so that nobody waits for a writer
    with pytest.raises(StoreError, match="is a link, a pipe or a device"):
        found.records(["x"])
    os.close(opened)


def test_history_reads_no_more_than_what_may_be_read(store: DeltaStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commits before a checkpoint are not looked at when an index is opened."""
    monkeypatch.setattr(guard, "_MOST_PARTS", 60)
    assert [step.action for step in store.history()] == ["made", "created", "added", "added"]
    log = log_of(store, 2)
    DeltaTable(store.location).create_checkpoint()
    log.write_text(f'{log.read_text()}\n{{"commitInfo":{{"x":[{"1," * 100}1]}}}}')
    assert [step.action for step in store.history()] == ["made", "created", "unknown", "added"]
    log.rename(tmp_path / "elsewhere")
    log.symlink_to(tmp_path / "elsewhere")
    assert store._log(2) == b""


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


def test_logs_take_no_more_memory_than_there_is(store: DeltaStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """A gigabyte of log was read, whatever the memory, and all of it at once."""
    size = sum(log_of(store, version).stat().st_size for version in range(4))
    monkeypatch.setattr(guard, "most_bytes", lambda: size * 3)
    assert DeltaStore(store.uri).snapshot() is not None
    monkeypatch.setattr(guard, "most_bytes", lambda: size * 3 - 3)
    with pytest.raises(StoreError, match=f"{size:,} bytes since its last checkpoint, at most {size - 1:,}"):
        DeltaStore(store.uri).snapshot()


def test_local_files_are_waited_for_until_a_moment(store: DeltaStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """A slow disk, or a log that takes its time to be looked at, kept a query for as long as it took."""
    reader, answering = DeltaStore(store.uri), threading.Event()
    looked, read = guard.Guard.look, DeltaStore.snapshot(store)
    assert read is not None
    monkeypatch.setattr(guard.Guard, "look", lambda *said: answering.wait(60) and looked(*said))
    monkeypatch.setattr(read, "_rows", lambda *asked: answering.wait(60) and type(read)._rows(read, *asked))
    start = time.perf_counter()
    assert store.snapshot(until=start) is read  # nothing is looked at, so nobody waits
    with pytest.raises(StoreError, match="in the time in which files are chosen"):
        reader.snapshot(until=start + 0.1)
    with pytest.raises(StoreError, match="have not come in the time"):
        read.records(["x"], 0, start + 0.2)
    assert time.perf_counter() - start < 30
    answering.set()
    assert reader.snapshot() is not None
    assert len(read.records(["x"])["x"]) == 3


def test_keys_are_not_read_again(store: DeltaStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """The JVM keeps those of so many tables; it is handed them once more, when the store may answer no more."""
    found = store.snapshot()
    assert found is not None
    monkeypatch.setattr(found, "_rows", None)
    handed = [found.hand_over(lambda file, mapped_as: (mapped_as, Path(file).read_bytes())) for _ in range(2)]
    assert handed[1] == (found.id, handed[1][1]) and handed[0][0] == ""
    again = found.hand_over(lambda file, mapped_as: None if mapped_as else Path(file).read_bytes())
    assert again == handed[0][1]


class Host(BaseHTTPRequestHandler):
    """Notes the headers of what it is asked."""

    asked: ClassVar[list[dict[str, str]]] = []

    def do_GET(self) -> None:
        self.asked.append(dict(self.headers))
        self.send_response(404)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def host() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Host)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    Host.asked.clear()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("name", ["TOKEN", "token", "AWS_SESSION_TOKEN", "Session_Token", "AWS_TOKEN"])
def test_no_token_of_the_environment_is_sent_beside_the_keys_of_hadoop(host: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever it was for, it went to the host of the store; which took it for a session token, and refused the keys."""

    class Told:
        def told(self, *_: Any) -> dict[str, Any]:
            found = {"fs.s3a.endpoint": host, "fs.s3a.path.style.access": "true", "fs.s3a.endpoint.region": "us-east-1"}
            return {"set": found, "overrides": {"max_retries": "0"}, "credentials": {"access_key": "of Hadoop", "secret_key": "of Hadoop"}}

    told: Any = Told()
    before = storage_options("s3a://bucket/a", told)
    monkeypatch.setenv(name, "of-another-place")
    after = storage_options("s3a://bucket/a", told)
    with pytest.raises(Exception, match="bucket"):
        DeltaTable("s3://bucket/a", storage_options=dict(after))
    with pytest.raises(OSError, match=r"x\.parquet"):  # where tasks run
        RemoteFiles("s3a://bucket/a", before, {"s3a://bucket/a/x.parquet": 10}).opened("s3a://bucket/a/x.parquet").read()
    assert len(Host.asked) >= 2
    assert all("Credential=of Hadoop/" in headers["authorization"] for headers in Host.asked)
    assert "of-another-place" not in str(Host.asked)


def test_tokens_that_are_told_are_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", "of-another-place")
    for options in ({"aws_session_token": "told"}, {"token": "told"}, {}):
        keys = {"aws_access_key_id": "a", "aws_secret_access_key": "b"} if options else {}

        class Told:
            overrides: ClassVar[dict[str, str]] = {**keys, **options}

            def told(self, *_: Any) -> dict[str, Any]:
                return {"set": {}, "overrides": self.overrides}

        told: Any = Told()
        found = dict(storage_options("s3a://bucket/a", told))
        assert {name: value for name, value in found.items() if "token" in name} == options
    assert "told" not in repr(StorageOptions({"token": "told"}))
