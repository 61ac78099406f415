"""The command line, and what it prints of an index: terminals, pipes, full disks, paths that lead nowhere, names of databases."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

import data_skip
from data_skip import DataSkipError, MinMax, Skipping
from data_skip.cli import doctor
from data_skip.cli.asked import Asked
from data_skip.cli.offline import LocalTable
from data_skip.cli.showing import table as drawn
from data_skip.errors import printable
from data_skip.index import shown
from data_skip.store import DeltaStore, StoreError
from data_skip.store.definition import Definition
from data_skip.store.layout import definition_field
from data_skip.table import Table
from tests.readings.support import log_folder, old, store_of_two_indexes
from tests.support import Lake
from tests.test_store import READER, RECORD, key, records

__all__ = ["store_of_two_indexes"]  # fixtures
COMMANDS = "x\x1b]0;title\x07\x1b[31m\u202e"


def test_a_time_beyond_the_last_year_somewhere(store_of_two_indexes: DeltaStore) -> None:
    log = log_folder(store_of_two_indexes) / f"{0:020}.json"
    forged = {"commitInfo": {"timestamp": 253402300799000}}
    log.write_text(f"{log.read_text()}\n{json.dumps(forged)}")
    zone = {**os.environ, "TZ": "Asia/Tokyo"}
    done = subprocess.run(
        command("history", str(Path(store_of_two_indexes.location).parents[2])), env=zone, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


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


def test_nothing_in_an_error_of_the_store_is_a_command(store_of_two_indexes: DeltaStore) -> None:
    """Names of files, as others may choose them."""
    old(Path(store_of_two_indexes.location) / "a\x1b[31m")
    with pytest.raises(StoreError) as raised:
        store_of_two_indexes.vacuum(168)
    assert "\x1b" not in str(raised.value)
    (log_folder(store_of_two_indexes) / f"{3:020}.checkpoint.\x1b[31m").write_bytes(b"x")
    with pytest.raises(StoreError, match="a kind of checkpoint") as raised:
        DeltaStore(store_of_two_indexes.uri).snapshot()
    assert "\x1b" not in str(raised.value)


def test_what_is_printed_otherwise() -> None:
    assert printable("é 😀\ta\nb\u200d") == "é 😀\ta\nb\u200d"
    assert printable("\r\x00\x7f\x85\ud800") == r"\r\x00\x7f\x85\ud800"
    assert shown("MinMax", ("x\x1b",), {}) == r"MinMax(x\x1b)"
    assert MinMax("x\x1b").column != MinMax(r"x\x1b").column
    assert "\x1b" not in "".join(cell.plain for column in drawn(["a"], [["\x1b["]]).columns for cell in column.cells)  # type: ignore[attr-defined]


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("arguments", [["describe"], ["history"], ["describe", "--json"]])
def test_who_does_not_read_on_and_a_full_disk(store_of_two_indexes: DeltaStore, arguments: list[str], unbuffered: str) -> None:
    """The exit codes were 120, or 1 where rich printed; and 120 where nothing could be written."""
    line = command(*arguments, str(Path(store_of_two_indexes.location).parents[2]))
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


@pytest.mark.parametrize(("name", "told"), [("nosuch://a/b", "cannot be read"), ("", "is named by its path"), ("a:b", "cannot be read")])
@pytest.mark.parametrize("format_", [None, "parquet"])
def test_what_is_no_path_is_an_error_of_ours(skipping: Skipping, name: str, told: str, format_: str | None) -> None:
    with pytest.raises(DataSkipError, match=told):
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


def test_files_of_what_holds_nowhere(lake: Lake) -> None:
    lake.file("a.parquet", {"x": [1]})
    lake.index(MinMax("x"))
    assert lake.table().files("false") == lake.table().files("x = 1 AND x = 2") == []
    assert len(lake.table().files("true")) == 1
