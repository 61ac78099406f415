"""The twenty-fourth reading: what writers leave half done, logs without a beginning, terminals, pipes, names that Spark takes otherwise."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from deltalake import DeltaTable
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from typer.testing import CliRunner

import data_skip
from data_skip import DataSkipError, MinMax, Skipping
from data_skip.cli import app, doctor
from data_skip.cli.asked import Asked
from data_skip.cli.offline import LocalTable
from data_skip.cli.showing import table as drawn
from data_skip.errors import printable
from data_skip.index import shown
from data_skip.store import DeltaStore, StoreError, delta, left_behind
from data_skip.store.definition import Definition
from data_skip.store.layout import definition_field
from data_skip.table import Table
from tests.support import Lake
from tests.test_store import READER, RECORD, column, key, records

COMMANDS = "x\x1b]0;title\x07\x1b[31m\u202e"


@pytest.fixture
def store(tmp_path: Path) -> DeltaStore:
    """Two indexes, of two commits, and a third commit with records."""
    made = DeltaStore(f"file:{tmp_path}/.data_skip/_/_/_")
    made.append([key("a")], [5], {column("x"): records(1)})
    made.append([key("a")], [5], {column("y"): records(1)})
    made.append([key("b")], [5], {column("x"): records(1), column("y"): records(2)}, False)
    return made


def log_of(store: DeltaStore) -> Path:
    return Path(store.location) / "_delta_log"


def old(path: Path, content: bytes = b"PAR1") -> Path:
    path.write_bytes(content)
    os.utime(path, (time.time() - 1000 * 3600,) * 2)
    return path


@pytest.mark.parametrize("name", [f"{3:020}.checkpoint.parquet#1", f"{4:020}.json#12", "_last_checkpoint#1"])
def test_a_checkpoint_that_is_being_written(store: DeltaStore, name: str) -> None:
    """Meanwhile, and for ever where its writer was killed, it was taken for a kind of checkpoint that is refused."""
    left = old(log_of(store) / name)
    for _ in range(2):
        fresh = DeltaStore(store.uri)
        snapshot = fresh.snapshot()
        assert snapshot is not None and snapshot.version == 3
    fresh.append([key("c")], [5], {column("x"): records(1)}, False)
    assert fresh.vacuum(168) == [f"_delta_log/{name}"] and not left.exists()


@pytest.mark.parametrize("name", ["checkpoint.0000000001.0000000001.parquet", "checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.json"])
def test_other_kinds_of_checkpoints_are_refused_as_before(store: DeltaStore, name: str) -> None:
    (log_of(store) / f"{3:020}.{name}").write_bytes(b"x")
    with pytest.raises(StoreError, match="a kind of checkpoint"):
        DeltaStore(store.uri).snapshot()


def test_a_log_whose_beginning_is_gone(store: DeltaStore) -> None:
    """What was there before was told as created by the first commit that says which indexes there are."""
    DeltaTable(store.location).create_checkpoint()
    store.append([key("c")], [5], {column("z"): records(1)})
    store.drop("z")
    assert [(step.action, step.indexes) for step in store.history()][1:] == [
        ("created", ["MinMax(x)"]),
        ("created", ["MinMax(y)"]),
        ("added", []),
        ("created", ["MinMax(z)"]),
        ("dropped", ["MinMax(z)"]),
    ]
    for version in range(3):
        (log_of(store) / f"{version:020}.json").unlink()
    told = DeltaStore(store.uri).history()
    assert [(step.version, step.action, step.indexes) for step in told] == [
        (3, "added", []),
        (4, "unknown", []),
        (5, "dropped", ["MinMax(z)"]),
    ]


def test_history_reads_no_more_than_a_log_may_have(store: DeltaStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commits before a checkpoint are not looked at before, and there may be any number of them."""
    sizes = [path.stat().st_size for path in sorted(log_of(store).glob("*.json"))]
    monkeypatch.setattr(delta, "MOST_LOG", sum(sizes[-2:]))
    assert [step.version for step in store.history()] == [2, 3]


def test_a_time_beyond_the_last_year_somewhere(store: DeltaStore) -> None:
    log = log_of(store) / f"{0:020}.json"
    forged = {"commitInfo": {"timestamp": 253402300799000}}
    log.write_text(f"{log.read_text()}\n{json.dumps(forged)}")
    zone = {**os.environ, "TZ": "Asia/Tokyo"}
    done = subprocess.run(command("history", str(Path(store.location).parents[2])), env=zone, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_vacuum_deletes_nothing_but_parquet_files(store: DeltaStore) -> None:
    """Whatever else lay in the folder was deleted."""
    mine, never = old(Path(store.location) / "notes.txt"), old(Path(store.location) / "part-00000-never.parquet")
    for dry_run in (True, False):
        with pytest.raises(StoreError, match=r"holds notes\.txt, which is none of its files"):
            store.vacuum(168, dry_run)
    assert mine.exists() and never.exists()
    mine.unlink()
    assert store.vacuum(168) == ["part-00000-never.parquet"]


def test_vacuum_beside_a_writer_that_ends(store: DeltaStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is being written is there for a moment: that it was gone in the next one was an error, once all had been deleted."""
    gone, left = (old(log_of(store) / f"{9:020}.json#{i}") for i in (1, 2))

    @contextmanager
    def listed(folder: str) -> Iterator[list[os.DirEntry[str]]]:
        with os.scandir(folder) as entries:
            found = list(entries)
        gone.unlink(missing_ok=True)
        yield found

    monkeypatch.setattr(left_behind, "os", SimpleNamespace(scandir=listed, unlink=os.unlink, path=os.path, fstat=os.fstat))
    assert left_behind.leftovers(store.location, 1, False) == [f"_delta_log/{left.name}"]
    assert not left.exists()


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "data_skip.cli", *arguments]


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A table whose index says what a terminal takes for commands."""
    store = DeltaStore(f"file:{tmp_path}/.data_skip/_/_/_")
    tree = {"id": 0, "name": "AttributeReference", "type": "bigint", "column": "x", "partition": False}
    definition = Definition("MinMax", (COMMANDS,), {"n\x9b": "\x1b"}, 1, (tree,), READER)
    store.append([key("a")], [5], {definition_field("x", RECORD, definition): records(1)})
    return tmp_path


@pytest.mark.parametrize("what", ["describe", "history"])
def test_nothing_in_an_index_is_a_command_for_the_terminal(hostile: Path, what: str) -> None:
    done = subprocess.run(command(what, str(hostile)), capture_output=True, text=True, check=True)
    assert r"MinMax(x\x1b]0;title\x07\x1b[31m\u202e, n\x9b=" in done.stdout
    assert printable(done.stdout) == done.stdout and printable(done.stderr) == done.stderr
    machine = json.loads(subprocess.run(command(what, str(hostile), "--json"), capture_output=True, text=True, check=True).stdout)
    assert machine["table"] == str(hostile)
    assert "\x1b" not in str(LocalTable(str(hostile)).describe())


def test_nothing_in_an_error_of_the_store_is_a_command(store: DeltaStore) -> None:
    """Names of files, as others may choose them."""
    old(Path(store.location) / "a\x1b[31m")
    with pytest.raises(StoreError) as raised:
        store.vacuum(168)
    assert "\x1b" not in str(raised.value)
    (log_of(store) / f"{3:020}.checkpoint.\x1b[31m").write_bytes(b"x")
    with pytest.raises(StoreError, match="a kind of checkpoint") as raised:
        DeltaStore(store.uri).snapshot()
    assert "\x1b" not in str(raised.value)


def test_what_is_printed_otherwise() -> None:
    assert printable("é 😀\ta\nb\u200d") == "é 😀\ta\nb\u200d"
    assert printable("\r\x00\x7f\x85\ud800") == r"\r\x00\x7f\x85\ud800"
    assert shown("MinMax", ("x\x1b",), {}) == r"MinMax(x\x1b)"
    assert MinMax("x\x1b").column != MinMax(r"x\x1b").column
    assert "\x1b" not in "".join(cell.plain for column in drawn(["a"], [["\x1b["]]).columns for cell in column.cells)  # type: ignore[attr-defined]


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("arguments", [["describe"], ["history"], ["describe", "--json"]])
def test_who_does_not_read_on_and_a_full_disk(store: DeltaStore, arguments: list[str], unbuffered: str) -> None:
    """The exit codes were 120, or 1 where rich printed; and 120 where nothing could be written."""
    line = command(*arguments, str(Path(store.location).parents[2]))
    env = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(line, stdout=writing, stderr=subprocess.PIPE, env=env, text=True, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, "")
    with open("/dev/full", "w") as full:
        done = subprocess.run(line, stdout=full, stderr=subprocess.PIPE, env=env, text=True, check=False)
    assert done.returncode == 1 and done.stderr.startswith("error: OSError") and done.stderr.count("\n") == 1


def test_a_link_that_leads_nowhere(lake: Lake) -> None:
    """Hadoop passes over it; the description without Spark failed."""
    lake.file("a.parquet", {"x": [1]})
    (lake.folder / "b.parquet").symlink_to(lake.folder / "none")
    table = lake.index(MinMax("x"))
    assert LocalTable(str(lake.folder)).describe() == table.describe()


@pytest.mark.parametrize("name", ["nosuch://a/b", "", "a:b"])
@pytest.mark.parametrize("format_", [None, "parquet"])
def test_what_is_no_path_is_an_error_of_ours(skipping: Skipping, name: str, format_: str | None) -> None:
    with pytest.raises(DataSkipError, match="cannot be read"):
        skipping.table(name, format=format_)


def test_the_doctor_takes_a_folder_for_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As all commands do; where the catalog has a table of its name, it looked at that one."""
    (tmp_path / "weather").mkdir()
    monkeypatch.chdir(tmp_path)

    class Found:
        def table(self, name: str, **reader: Any) -> Table:
            raise DataSkipError(f"asked for {name}")

    found: Any = Found()
    assert [check.found for check in doctor._table(found, "weather", Asked())] == [f"asked for file:{tmp_path}/weather"]
    assert [check.found for check in doctor._table(found, "a.weather", Asked())] == ["asked for a.weather"]


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


def test_a_database_is_not_hidden(spark: SparkSession, lake: Lake) -> None:
    """Spark took `data_skip.t` for a table of the catalog in which the procedures are."""
    lake.file("a.parquet", {"x": [1]})
    spark.createDataFrame([(1,)], "x int")  # by which it is the active one
    spark.newSession().sql("CREATE DATABASE IF NOT EXISTS spark_catalog.data_skip")
    other = spark.newSession()
    try:
        data_skip.enable(other)
        other.sql("CREATE TABLE data_skip.t USING parquet AS SELECT 1 AS x")
        assert other.sql("SELECT * FROM data_skip.t WHERE x = 1").collect() == [(1,)]
        active = SparkSession.getActiveSession()
        assert len(other.sql(f"SELECT * FROM data_skip_files('{lake.folder}')").collect()) == 1
        assert SparkSession.getActiveSession() is active is not other  # it became the one in which somebody asked
        with pytest.raises(AnalysisException, match=r"does not support procedures|Cannot resolve routine"):
            other.sql(f"CALL data_skip.refresh('{lake.folder}')")
        data_skip.disable(other)
        assert other.table("data_skip.t").count() == 1
    finally:
        spark.newSession().sql("DROP DATABASE spark_catalog.data_skip CASCADE")
        data_skip.disable(other)
