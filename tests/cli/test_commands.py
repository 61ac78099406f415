"""Each command in this process's session: what it does, what it prints, its JSON, and its exit code."""

from __future__ import annotations

import json
import os
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner, Result

from data_skip import DataSkipError, MinMax, ValueList
from data_skip.cli import comparing, doctor
from data_skip.cli.app import app
from data_skip.cli.asked import Asked
from data_skip.table import Table
from tests.support import Lake, settings_of


def run(*arguments: str, code: int = 0, stdin: str = "") -> Result:
    result = CliRunner().invoke(app, list(arguments), input=stdin, env={"COLUMNS": "200"})
    assert result.exit_code == code, result.output
    return result


def told(*arguments: str, code: int = 0) -> Any:
    """The JSON of a command, which is all that is on standard output."""
    return json.loads(run(*arguments, "--json", code=code).stdout)


@pytest.fixture
def odd(lake: Lake) -> Lake:
    """Two files, in a folder that a shell, SQL and URIs would all have to quote."""
    lake.folder = lake.folder.parent / 'it\'s 100% "mine"'
    lake.folder.mkdir()
    for i in range(2):
        lake.file(f"{i} 'o.parquet", {"x y": [i, i + 10], "city": [f"Nag'pur{i}", None]})
    return lake


def test_a_life_of_an_index(odd: Lake) -> None:
    table = str(odd.folder)
    made = told("create", table, "-i", "MinMax(`x y`)", "--index", "Suffix(city, 1)")
    assert (made["table"], made["files_collected"], made["indexes"]) == (table, 2, ["MinMax(`x y`)", "Suffix(city, length=1)"])
    known = told("describe", table)
    assert (known["version"], known["files"], known["files_indexed"]) == (1, 2, 2)
    assert [row["index"] for row in known["indexes"]] == ["MinMax(`x y`)", "Suffix(city, length=1, limit=10000)"]
    assert known == told("describe", table, "--spark")
    assert "2 of 2 files have a fresh record" in run("describe", table).stdout
    found = told("files", table, "--where", "`x y` > 10 AND city LIKE '%1'")
    assert (found["files_read"], found["files_total"], len(found["files"])) == (1, 2, 1)
    assert run("files", table, "-w", "`x y` > 99").stdout == ""
    assert run("files", table).stdout.splitlines() == told("files", table)["files"]
    odd.file("2.parquet", {"x y": [7], "city": ["x"]})
    assert "1 file with 1 row collected" in run("refresh", table).stdout
    assert told("drop", table, "-i", "Suffix(city)")["dropped"] == ["Suffix(city)"]
    assert [step["action"] for step in told("history", table)["commits"]] == ["dropped", "added", "created", "made"]
    assert told("history", table, "--last", "1")["commits"][0]["indexes"] == ["Suffix(city, length=1, limit=10000)"]
    printed = run("history", table).stdout
    assert "created" in printed and "MinMax(`x y`), Suffix(city, length=1, limit=10000)" in printed
    assert told("compact", table)["version"] == 4
    assert told("vacuum", table, "--dry-run") == {"table": table, "dry_run": True, "deleted": []}
    assert told("history", table, "--spark") == told("history", table)


@pytest.mark.long
def test_a_query_both_ways(odd: Lake) -> None:
    table = str(odd.folder)
    run("create", table, "-i", "MinMax(`x y`)")
    sql = "SELECT *, double('NaN') FROM `my \"view` WHERE `x y` > 10 AND city IS NULL"
    compared = told("query", sql, "--view", f'my "view={table}')
    assert compared["rows"] == 1 and compared["rows_equal"] and compared["failed"] == ""
    assert (compared["with"]["files"], compared["without"]["files"]) == (1, 2)
    assert compared["scans"][0]["predicates"][0]["files_skipped_alone"] == 1
    printed = run("query", "-", "--view", f'my "view={table}', "--repeats", "0", "--report", stdin=sql)
    assert "files read" in printed.stdout and "50.0 % skipped" in printed.stdout and "the same" in printed.stdout
    assert "skips 1 alone" in printed.stderr
    assert told("query", "SELECT 1", "--repeats", "0")["scans"] == []


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO twice VALUES (1)",
        "WITH w AS (SELECT 1) INSERT INTO twice SELECT * FROM w",
        "FROM twice INSERT INTO twice SELECT *",
        "CREATE TABLE another USING parquet AS SELECT 1 AS n",
        "CALL data_skip.refresh('twice')",
        "EXECUTE IMMEDIATE 'INSERT INTO twice VALUES (1)'",
    ],
)
def test_a_command_is_not_run_once_each_way(lake: Lake, sql: str) -> None:
    spark = lake.spark
    try:
        spark.sql(f"CREATE TABLE twice (n INT) USING parquet LOCATION '{lake.folder.as_uri()}'")
        assert "is no query but a command" in run("query", sql, code=1).stderr
        assert spark.table("twice").count() == 0 and not spark.catalog.tableExists("another")
        assert told("query", "WITH w AS (SELECT * FROM twice) SELECT * FROM w; -- all", "--repeats", "0")["rows"] == 0
    finally:
        spark.sql("DROP TABLE IF EXISTS another")
        spark.sql("DROP TABLE twice")


def test_rows_that_differ(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    lake.file("a.parquet", {"x": [1]})
    answers = iter([Counter([b"a"]), Counter([b"b"]), Counter([b"a"]), Counter([b"b"])])
    monkeypatch.setattr(comparing, "_run", lambda *_: (next(answers), 1.0))
    result = run("query", "SELECT x FROM t", "--view", f"t={lake.folder}", "--repeats", "0", code=3)
    assert "OTHERS" in result.stdout and "the rows are not the same" in result.stderr
    assert not told("query", "SELECT x FROM t", "--view", f"t={lake.folder}", "--repeats", "0", code=3)["rows_equal"]


def test_ensure(lake: Lake) -> None:
    lake.file("a.parquet", {"x": [1], "s": ["a"]})
    table = str(lake.folder)
    first = told("ensure", table, "-i", "MinMax(x)", "-i", "Prefix(s, 3)")
    assert first["created"]["files_collected"] == 1 and first["refreshed"] is None
    lake.file("b.parquet", {"x": [2], "s": ["b"]})
    again = told("ensure", table, "-i", "MinMax(x)", "-i", "ValueList(x)")
    assert (again["created"]["indexes"], again["created"]["files_collected"]) == (["ValueList(x)"], 2)
    assert again["refreshed"]["files_collected"] == 1
    assert "refreshed" in run("ensure", table, "-i", "MinMax(x)").stdout
    refused = run("ensure", table, "-i", "Prefix(s, 4)", code=1)
    assert "Prefix(s, length=3, limit=10000), which is Prefix(s, length=4) with other parameters: drop_index(" in refused.stderr


@pytest.mark.long
def test_recipes_and_functions_of_plugins(lake: Lake, spark: SparkSession) -> None:
    lake.file("a.parquet", {"lat": [1.0], "lng": [2.0], "user_agent": ["Mozilla/5.0 Firefox/3"], "s": ["x"]})
    table = str(lake.folder)
    assert told("create", table, "--recipe", "geo:lat,lng", "-i", "Formatted(user_agent, get_agent_name)")["indexes"] == [
        "Formatted(user_agent, 'get_agent_name')",
        "GeoBox(lat, lng)",
        "MinMax(lat)",
        "MinMax(lng)",
    ]
    where = "get_agent_name(user_agent) = 'Opera'"
    assert told("files", table, "-w", where)["files"] == []
    spark.sql("DROP TEMPORARY FUNCTION get_agent_name")
    assert told("query", f"SELECT 1 FROM t WHERE {where}", "--view", f"t={table}", "--repeats", "0")["with"]["files"] == 0
    assert told("files", table, "-w", where, "--register", "log_skip")["files"] == []
    assert "name a module with register(spark)" in run("files", table, "--register", "json", code=1).stderr


@pytest.mark.long
def test_text_is_read_as_it_is_told(lake: Lake) -> None:
    lake.text("a.csv", "n|k\n1|x\n")
    lake.text("b.csv", "n|k\n5|x\n")
    reader = ["--format", "csv", "--option", "header=true", "--option", "sep=|", "--schema", "n int, k string"]
    run("create", str(lake.folder), "-i", "MinMax(n)", *reader)
    found = told("files", str(lake.folder), "-w", "n = 5", *reader)
    assert [path.rpartition("/")[2] for path in found["files"]] == ["b.csv"]


@pytest.mark.parametrize(
    ("arguments", "code", "why"),
    [
        (["create", "T", "-i", "MinMax(nothing)"], 1, "nothing"),
        (["create", "T", "-i", "MinMax(x)"], 1, "MinMax(x) exists already"),
        (["create", "T", "-i", "Minmax(x)"], 2, "did you mean MinMax"),
        (["create", "T"], 2, "give an index"),
        (["create", "T", "-r", "gei:x"], 2, "no recipe is called"),
        (["create"], 2, "TABLE"),
        (["drop", "T", "-i", "ValueList(x)"], 1, "has no ValueList(x)"),
        (["refresh", "/nothing/there"], 1, "PATH_NOT_FOUND"),
        (["describe", "/nothing/there"], 1, "PATH_NOT_FOUND"),
        (["create", "", "-i", "MinMax(x)"], 1, "a table is named by its path, or by its name in the catalog, not by ''"),
        (["vacuum", ""], 1, "a table is named by its path"),
        (["query", "SELECT 1", "--view", "t="], 1, "a table is named by its path"),
        (["describe", "T", "--index-root", ""], 2, "--index-root is empty"),
        (["describe", "T", "--format", "parqet"], 1, "parqet"),
        (["describe", "T", "--schema", "x strin"], 1, "STRIN"),
        (["files", "T", "-w", "x >"], 1, "Spark does not understand 'x >'"),
        (["files", "T", "--option", "header"], 2, "write it as KEY=VALUE"),
        (["files", "T", "--register", ""], 1, "name a module with register(spark)"),
        (["query", "SELECT * FROM nothing_there"], 1, "TABLE_OR_VIEW_NOT_FOUND"),
        pytest.param(["query", "SELECT no_function(x) FROM t", "--view", "t=T"], 1, "--register MODULE", marks=pytest.mark.long),
        (["vacuum", "T", "--hours", "0"], 2, "hours"),
        (["nothing"], 2, "nothing"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_errors_are_a_sentence(lake: Lake, arguments: list[str], code: int, why: str) -> None:
    lake.file("a.parquet", {"x": [1]})
    lake.index(MinMax("x"))
    arguments = [str(lake.folder) if part == "T" else part.replace("=T", f"={lake.folder}") for part in arguments]
    result = run(*arguments, code=code)
    assert why in result.stderr and result.stdout == "" and "Traceback" not in result.stderr
    if code == 1:
        assert result.stderr.splitlines()[-1].startswith("error: ")


def test_a_view_without_a_table_is_told_before_spark_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("data_skip.cli.app._session", lambda *_: pytest.fail("Spark is started"))
    assert "--view 't': write it as NAME=TABLE" in run("query", "SELECT 1", "--view", "t", code=2).stderr


def test_errors_for_machines_and_for_whoever_mends_them(lake: Lake) -> None:
    lake.file("a.parquet", {"x": [1]})
    assert "nothing" in told("create", str(lake.folder), "-i", "MinMax(nothing)", code=1)["error"]
    assert "Traceback" in run("describe", "/nothing/there", "--debug", code=1).stderr


def test_a_table_of_the_catalog(lake: Lake, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is asked of Spark; a folder of the same name is the table, where there is one."""
    lake.file("0.parquet", {"x": [1]})
    lake.view().write.saveAsTable("by_command")
    try:
        assert told("describe", "by_command")["table"] == "by_command"
        where = told("describe", "by_command")["location"]
        lake.folder.rename(lake.folder.with_name("by_command"))
        monkeypatch.chdir(lake.folder.parent)
        assert told("describe", "by_command")["location"] != where
        monkeypatch.setattr("data_skip.cli.offline.is_local", lambda _: False)
        assert told("history", "by_command")["commits"] == []
    finally:
        spark.sql("DROP TABLE by_command")


def test_what_stops_a_command(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    lake.file("a.parquet", {"x": [1]})

    def stopped(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Table, "create_index", stopped)
    assert "stopped" in run("create", str(lake.folder), "-i", "MinMax(x)", code=130).stderr


def test_warnings_are_a_line(lake: Lake) -> None:
    lake.file("a.parquet", {"lat": [95.0], "lng": [2.0]})
    result = run("create", str(lake.folder), "-r", "geo:lat,lng")
    assert result.stderr.startswith("warning: GeoBox(lat, lng): some latitudes") and result.stderr.count("\n") == 1


@pytest.mark.long
def test_the_doctor(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    lake.file("a.parquet", {"x": [1]})
    lake.index(MinMax("x"))
    checks = {check["name"]: check for check in told("doctor", str(lake.folder))["checks"]}
    assert {"packages", "Java", "PYSPARK_PYTHON", "plugins", "Spark", "workers", "Sedona"} <= set(checks)
    assert {check["state"] for check in checks.values()} == {"ok"}
    assert checks[f"{lake.folder}: rights"]["found"] == "the folder of the index can be written"
    assert sorted(path.name for path in lake.folder.rglob("*.parquet")) == sorted({path.name for path in lake.folder.rglob("*.parquet")})
    monkeypatch.setenv("PYSPARK_PYTHON", "/no/python")
    result = run("doctor", "/nothing/there", code=3)
    assert "warning  PYSPARK_PYTHON: /no/python is no program here" in result.stdout
    assert "failed   /nothing/there: data: " in result.stdout and result.stderr == "not well: /nothing/there: data\n"


def test_a_python_of_another_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It is a link to the same file, and lacks the packages."""
    monkeypatch.delenv("PYSPARK_PYTHON")
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent))
    assert doctor._python().state == doctor.OK
    (tmp_path / "python3").symlink_to(sys.executable)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert doctor._python().state == doctor.WARNING


def test_rights_on_the_folder(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    lake.file("a.parquet", {"x": [1]})

    def refused(**_: Any) -> None:
        raise PermissionError("Permission denied")

    monkeypatch.setattr("data_skip.store.delta.TemporaryFile", refused)
    result = run("doctor", str(lake.folder), code=3)
    assert "cannot be written (Permission denied)" in result.stdout and "keep indexes elsewhere by --index-root" in result.stdout


def test_what_killed_writers_leave_is_deleted(lake: Lake) -> None:
    lake.file("a.parquet", {"x": [1]})
    table = lake.index(MinMax("x"))
    place = Path(table.describe().location)
    kept = {path.name for path in place.iterdir()}
    for name in ("part-00000-never.snappy.parquet", "part-00001-never.snappy.parquet#1", "_delta_log/00000000000000000009.json#2"):
        (place / name).write_bytes(b"PAR1")
        hours = 100 if "00001" in name else 200
        os.utime(place / name, (time.time() - hours * 3600,) * 2)
    (place / "part-00002-young.snappy.parquet").write_bytes(b"PAR1")
    expected = ["_delta_log/00000000000000000009.json#2", "part-00000-never.snappy.parquet"]
    assert sorted(told("vacuum", str(lake.folder), "--dry-run")["deleted"]) == expected
    assert sorted(told("vacuum", str(lake.folder))["deleted"]) == expected
    assert told("vacuum", str(lake.folder), "--hours", "99")["deleted"] == ["part-00001-never.snappy.parquet#1"]
    assert {path.name for path in place.iterdir()} == kept | {"part-00002-young.snappy.parquet"}
    assert [step.action for step in table.history()] == ["made", "created", "vacuumed"]
    assert table.files("x = 2") == []
    for hours in (0, 169, True):
        with pytest.raises(DataSkipError, match="give 1 to 168"):
            table.vacuum(hours)


def test_a_vacuum_where_there_is_no_index(lake: Lake) -> None:
    lake.file("a.parquet", {"x": [1]})
    assert run("vacuum", str(lake.folder)).stdout == f"{lake.folder} has no index\n"
    lake.index(MinMax("x"))
    assert run("vacuum", str(lake.folder)).stdout == f"{lake.folder}: 0 files of its index were deleted\n"


def test_nothing_elsewhere_is_deleted(lake: Lake, tmp_path: Path) -> None:
    """deltalake goes through links to folders."""
    lake.file("a.parquet", {"x": [1]})
    place = Path(lake.index(MinMax("x")).describe().location)
    other = tmp_path / "other"
    other.mkdir()
    for folder, name in ((other, "mine.parquet"), (place, "part-00000-never.parquet")):
        (folder / name).write_bytes(b"PAR1")
        os.utime(folder / name, (time.time() - 1000 * 3600,) * 2)
    (place / "link").symlink_to(other)
    refused = run("vacuum", str(lake.folder), code=1)
    assert "holds link/mine.parquet, which is none of its files" in refused.stderr
    assert (other / "mine.parquet").exists() and (place / "part-00000-never.parquet").exists()
    (place / "link").unlink()
    (place / "one.parquet").symlink_to(other / "mine.parquet")
    run("vacuum", str(lake.folder))
    assert (other / "mine.parquet").exists()


def test_a_log_that_others_wrote(lake: Lake) -> None:
    lake.file("a.parquet", {"x": [1]})
    table = lake.index(MinMax("x"), ValueList("x"))
    first = Path(table.describe().location) / "_delta_log" / f"{0:020}.json"
    second = first.with_name(f"{1:020}.json")
    whole = second.read_bytes()
    for text in (b"", b"{", b"[" * 100_000, b'{"commitInfo": 3}', b'{"add": {"stats": "[]"}}', b'{"commitInfo": {"timestamp": 1e300}}'):
        first.write_bytes(text)
        step = table._store.history()[0] if text else table.history()[0]
        assert step.action in ("unknown", "made") and not step.indexes
    assert second.read_bytes() == whole


def test_indexes_that_this_session_does_not_use(lake: Lake) -> None:
    """Commands say why, also where nobody asks for a report."""
    lake.file("a.parquet", {"x": [1], "s": ["2024-01-01 10:00:00"]})
    table, parsed = str(lake.folder), "to_timestamp(s, 'yyyy-MM-dd HH:mm:ss')"
    where = f"{parsed} > TIMESTAMP '2025-01-01 00:00:00'"
    sql = f"SELECT x FROM t WHERE {where}"
    lake.index(MinMax("x"), ValueList(parsed))
    assert told("files", table, "-w", where)["notes"] == []
    with settings_of(lake.spark, {"spark.sql.session.timeZone": "Asia/Tokyo"}):
        (note,) = told("files", table, "-w", where)["notes"]
        assert f"ValueList({parsed}, limit=10000) is not used: collected with spark.sql.session.timeZone=" in note
        assert f"note: {note}" in run("files", table, "-w", where).stderr
        assert f"note: {note}" in run("query", sql, "--view", f"t={table}", "--repeats", "0").stderr
        _, index, unused, _ = doctor._table(lake.skipping, table, Asked())
        assert "2 indexes, of which this session uses 1, at" in index.found
        assert (unused.state, unused.found) == (doctor.WARNING, note)
