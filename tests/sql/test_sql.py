"""What SQL asks of data-skip: the same as Python is told; nothing happens under EXPLAIN; errors say what to do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread
from time import sleep
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F

import data_skip
from data_skip import MinMax, Skipping, Suffix, ValueList, versioned
from data_skip.store.history import Step
from data_skip.table import Table
from tests.support import Lake, aged, rows_of, settings_of

DOCUMENTATION = Path(__file__).parents[2] / "docs" / "sql.md"


@pytest.fixture(scope="module")
def weather(spark: SparkSession, skipping: Skipping, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    lake = Lake(spark, skipping, tmp_path_factory.mktemp("sql") / "weather")
    for i in range(4):
        lake.file(f"{i}.parquet", {"temp": [10 * i, 10 * i + 5], "city": [f"{i}pur", f"{i}on"]})
    lake.index(MinMax("temp"), Suffix("city", 3))
    lake.view("weather")
    return lake


@pytest.fixture
def fresh(lake: Lake) -> Lake:
    """Two files without an index."""
    for i in range(2):
        lake.file(f"{i}.parquet", {"temp": [i, i + 5], "city": [f"{i}pur", f"{i}on"]})
    return lake


@pytest.fixture
def ask(spark: SparkSession, weather: Lake) -> Callable[..., list[Row]]:
    """The rows of a statement, in which `{}` is the table."""

    def ask(sql: str, table: Any = weather.folder) -> list[Row]:
        return spark.sql(sql.replace("{}", f"'{table}'")).collect()

    return ask


def refused(ask: Callable[..., list[Row]], sql: str, table: Any = None) -> str:
    with pytest.raises(AnalysisException) as raised:
        ask(sql, table) if table else ask(sql)
    return str(raised.value)


Ask = Callable[..., list[Row]]


@pytest.mark.parametrize("where", ["temp > 21", "temp = 7", "city LIKE '%pur'", "temp > 5 AND city LIKE '%2pur'", "temp > 1000", "true"])
def test_files_are_those_of_python(ask: Ask, weather: Lake, where: str) -> None:
    found = ask(f'SELECT * FROM data_skip_files({{}}, "{where}")')
    assert [row.file for row in found] == weather.table().files(where)


def test_files_without_a_where_and_by_name(ask: Ask, weather: Lake) -> None:
    assert [row.file for row in ask("SELECT * FROM data_skip_files({})")] == weather.table().files()
    named = ask("SELECT * FROM data_skip_files(where => 'temp > 21', table => {})")
    assert [row.file for row in named] == weather.table().files("temp > 21")


def test_files_with_a_function_of_python(spark: SparkSession, fresh: Lake, ask: Ask) -> None:
    spark.udf.register("twice", lambda x: None if x is None else 2 * x, "long")
    fresh.index(ValueList("temp"))
    found = ask("SELECT * FROM data_skip_files({}, 'twice(temp) = 12')", fresh.folder)
    assert [Path(row.file).name for row in found] == ["1.parquet"]


def test_describe_is_that_of_python(ask: Ask, weather: Lake) -> None:
    told = weather.table().describe()
    found = ask("SELECT * FROM data_skip_describe({})")
    assert [(row["index"], row.index_files, row.index_bytes, row.problem) for row in found] == [
        (index["index"], index["files"], index["bytes"], index["problem"]) for index in told.rows
    ]
    assert {(row.table, row.location, row.version, row.files, row.files_indexed) for row in found} == {
        (told.table, told.location, told.version, told.files, told.files_indexed)
    }


def test_describe_of_a_table_without_an_index(ask: Ask, fresh: Lake) -> None:
    (row,) = ask("SELECT version, files, files_indexed, index FROM data_skip_describe({})", fresh.folder)
    assert row == Row(version=None, files=2, files_indexed=0, index=None)


def test_metadata_is_that_of_python(spark: SparkSession, ask: Ask, weather: Lake) -> None:
    found = spark.sql(f"SELECT * FROM data_skip_metadata('{weather.folder}')")
    assert found.schema == weather.table().metadata().schema
    assert rows_of(found) == rows_of(weather.table().metadata())


def test_report_is_that_of_python(ask: Ask, skipping: Skipping) -> None:
    ask("SELECT max(temp) FROM weather WHERE temp > 21 AND city LIKE '%pur'")
    told = skipping.report()
    (scan,), (row,) = told.scans, ask("SELECT * FROM data_skip_report()")
    for name in row.asDict():
        if name not in ("query", "predicates"):
            assert row[name] == getattr(scan, name), name
    assert row.query == told.execution_id
    assert [part.asDict() for part in row.predicates] == [vars(part) for part in scan.predicates]
    assert row.files_read == 2


def test_report_is_of_the_query_before(ask: Ask) -> None:
    ask("SELECT max(temp) FROM weather WHERE temp > 21")
    rows = ask("SELECT r.files_read, temp FROM data_skip_report() r JOIN weather ON temp > 11 AND temp < 20")
    assert rows == [Row(files_read=2, temp=15)]
    assert [row.files_read for row in ask("SELECT files_read FROM data_skip_report()")] == [1]


def test_report_where_skipping_was_off(ask: Ask, skipping: Skipping) -> None:
    with skipping.disabled():
        ask("SELECT max(temp) FROM weather WHERE temp > 21")
    (row,) = ask("SELECT query, table, notes FROM data_skip_report()")
    assert row.table is None and "ran while skipping was off" in row.notes[0]


def test_columns_are_those_of_the_documentation(spark: SparkSession, weather: Lake) -> None:
    text = DOCUMENTATION.read_text("utf-8")
    for call in ("report()", f"describe('{weather.folder}')", f"files('{weather.folder}')", f"history('{weather.folder}')"):
        name = call.partition("(")[0]
        documented = text.partition(f"### data_skip_{name}(")[2].partition("\n##")[0]
        told = [line.split("`")[1] for line in documented.splitlines() if line.startswith("| `")]
        assert told == spark.sql(f"SELECT * FROM data_skip_{call}").columns, name


def test_joins_laterals_sub_queries_and_views(ask: Ask, spark: SparkSession, weather: Lake) -> None:
    assert len(ask("SELECT * FROM (VALUES 1, 2) AS v(x), LATERAL data_skip_files({}, 'temp > 21') f")) == 4
    join = (
        "SELECT m.min_max__temp.min AS m FROM data_skip_files({}, 'temp > 21') f JOIN data_skip_metadata({}) m ON f.file LIKE '%' || m.path"
    )
    assert sorted(row.m for row in ask(join)) == [20, 30]
    assert ask("SELECT (SELECT count(*) FROM data_skip_files({}, 'temp > 21')) AS n") == [Row(n=2)]
    rows = f"parquet.`{weather.folder}` w JOIN data_skip_files({{}}, 'temp > 21') f ON w._metadata.file_path = f.file"
    assert ask(f"SELECT count(*) AS n FROM {rows}") == [Row(n=4)]
    ask("CREATE OR REPLACE TEMP VIEW hot AS SELECT * FROM data_skip_files({}, 'temp > 21')")
    assert len(ask("SELECT * FROM hot")) == 2
    spark.catalog.dropTempView("hot")
    assert "references to the temporary object `data_skip_files`" in refused(ask, "CREATE VIEW hot AS SELECT * FROM data_skip_files({})")


def test_persistent_functions_are_of_the_session_that_calls_them(ask: Ask, spark: SparkSession, weather: Lake) -> None:
    """Spark looks for temporary functions in them, but not for those that are tables."""
    ask("CREATE FUNCTION hot() RETURNS TABLE (file STRING) RETURN SELECT file FROM data_skip_files({}, 'temp > 21')")
    try:
        assert len(ask("SELECT * FROM hot()")) == 2
        with pytest.raises(AnalysisException, match="data_skip_files"):
            spark.newSession().sql("SELECT * FROM hot()")
    finally:
        ask("DROP FUNCTION hot")


def test_arguments_are_constants_of_any_form(ask: Ask, spark: SparkSession, weather: Lake) -> None:
    given = {"t": str(weather.folder), "w": "temp > 21"}
    assert spark.sql("SELECT * FROM data_skip_files(:t, :w)", args=given).count() == 2
    assert spark.sql("CALL data_skip.refresh(:t)", args={"t": given["t"]}).count() == 1
    ask("DECLARE OR REPLACE here STRING DEFAULT {}")
    assert len(ask("SELECT * FROM data_skip_files(here, concat('temp ', '> 21'))")) == 2
    assert len(ask("CALL data_skip.refresh(here)")) == 1


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("SELECT * FROM data_skip_files()", "data_skip_files: needs table; it takes table STRING, where STRING .may be left out."),
        ("SELECT * FROM data_skip_files(NULL)", "needs table"),
        ("SELECT * FROM data_skip_files(7)", "table is of type STRING, not INT as 7"),
        ("SELECT * FROM data_skip_files({}, 'temp > 1', what => 3)", "has no parameter what; it takes table STRING"),
        ("SELECT * FROM data_skip_files({}, table => {})", "table is given twice"),
        ("SELECT * FROM data_skip_files(where => 'true', {})", "an argument without a name stands behind one with a name"),
        ("SELECT * FROM data_skip_report(1)", "is given too many arguments; it takes no arguments"),
        ("SELECT * FROM data_skip_files({}, 'nowhere > 1')", "Spark does not understand 'nowhere > 1'"),
        ("SELECT * FROM data_skip_files('/nowhere/at/all')", "table '/nowhere/at/all' cannot be read"),
        ("SELECT * FROM data_skip_metadata('/nowhere/at/all')", r"has no index; create_index\(...\) makes one"),
        ("SELECT * FROM VALUES {} AS v(x), LATERAL data_skip_files(v.x)", "table has to be a constant .* UNION ALL"),
        ("SELECT * FROM data_skip_files((SELECT {}))", "table has to be a constant"),
        ("CALL data_skip.nothing()", r"there is no such procedure; these are: \[create_index"),
        ("CALL data_skip.refresh()", "`table` is required"),
        ("CALL data_skip.refresh(NULL)", "table is NULL; it has to be given"),
        ("CALL data_skip.create_index({}, array('MinMax(temp)'))", r"MinMax\(temp\) exists already on .*refresh\(\) brings it up to date"),
        ("CALL data_skip.create_index({}, array('Max(temp)'))", "names no kind of index .* BloomFilter"),
        ("CALL data_skip.create_index({}, array('MinMax(nowhere)'))", "UNRESOLVED_COLUMN.*nowhere"),
        ("CALL data_skip.create_index({}, array())", "indexes is empty"),
        ("CALL data_skip.create_index({}, array('MinMax(temp + 1)'), files_per_commit => 0)", "files_per_commit=0 is no number of files"),
        ("CALL data_skip.compact('/nowhere/at/all')", r"has no index; create_index\(...\) makes one"),
        ("CALL data_skip.vacuum('/nowhere/at/all')", r"has no index; create_index\(...\) makes one"),
        ("CALL data_skip.vacuum({}, hours => 0)", "hours=0"),
        ("CALL data_skip.drop_index({}, array('MinMax(city)'))", r"has no MinMax\(city\); describe\(\) lists what it has"),
    ],
)
def test_errors_say_what_to_do(ask: Ask, sql: str, message: str) -> None:
    with pytest.raises(AnalysisException, match=message):
        ask(sql)


def test_a_table_from_its_first_index_to_its_last(ask: Ask, fresh: Lake) -> None:
    (made,) = ask("CALL data_skip.create_index({}, array('MinMax(temp)', 'Suffix(city, 3)'))", fresh.folder)
    assert (made.indexes, made.files_collected, made.rows) == (["MinMax(temp)", "Suffix(city, length=3)"], 2, 4)
    assert "2 files with 4 rows collected" in made.report
    assert {index["index"] for index in fresh.table().describe().rows} == {"MinMax(temp)", "Suffix(city, length=3, limit=10000)"}
    fresh.view()
    fresh.check("temp > 5", read=["1.parquet"])
    fresh.file("2.parquet", {"temp": [9], "city": ["x"]})
    (done,) = ask("CALL data_skip.refresh(table => {})", fresh.folder)
    assert (done.files_collected, done.files_current) == (1, 2)
    dropped = ask("CALL data_skip.drop_index({}, array('MinMax(temp)', 'Suffix(city, 3)'))", fresh.folder)
    assert [row.dropped for row in dropped] == ["MinMax(temp)", "Suffix(city, length=3)"]
    assert fresh.table().describe().rows == []


def test_an_index_is_kept_small(ask: Ask, fresh: Lake) -> None:
    fresh.index(MinMax("temp"))
    fresh.file("2.parquet", {"temp": [9], "city": ["x"]})
    ask("CALL data_skip.refresh({})", fresh.folder)
    (compacted,) = ask("CALL data_skip.compact({})", fresh.folder)
    told = [Step(**row.asDict()) for row in ask("SELECT * FROM data_skip_history({})", fresh.folder)]
    known = fresh.table().history()
    assert [replace(step, time=None) for step in told] == [replace(step, time=None) for step in known]
    assert [step.time and step.time.timestamp() for step in told] == [step.time and step.time.timestamp() for step in known]
    assert [step.action for step in told][-1] == "compacted" and told[-1].version == compacted.version
    left_behind = next((fresh.folder / ".data_skip").rglob("*.parquet")).with_name("part-0-left-behind.parquet")
    left_behind.write_bytes(b"")
    aged(left_behind, 2 * 3600)
    assert left_behind.name not in str(ask("CALL data_skip.vacuum({})", fresh.folder))
    (gone,) = ask("CALL data_skip.vacuum({}, hours => 1, dry_run => true)", fresh.folder)
    assert left_behind.name in gone.file and left_behind.exists()
    assert ask("CALL data_skip.vacuum({}, 1)", fresh.folder) == [gone] and not left_behind.exists()


def test_ensure_index_creates_and_refreshes(ask: Ask, fresh: Lake) -> None:
    (made,) = ask("CALL data_skip.ensure_index({}, array('MinMax(temp)'))", fresh.folder)
    assert (made.done, made.indexes, made.files_collected) == ("created", ["MinMax(temp)"], 2)
    fresh.file("2.parquet", {"temp": [9], "city": ["x"]})
    both = ask("CALL data_skip.ensure_index({}, array('MinMax(temp)', 'Suffix(city, 3)'))", fresh.folder)
    assert [(row.done, row.indexes) for row in both] == [("created", ["Suffix(city, length=3)"]), ("refreshed", both[1].indexes)]
    assert "MinMax(temp)" in both[1].indexes
    assert fresh.table().describe().files_indexed == 3
    ask("EXPLAIN CALL data_skip.ensure_index({}, array('ValueList(temp)'))", fresh.folder)
    assert len(fresh.table().describe().rows) == 2


def test_readers_options(ask: Ask, lake: Lake) -> None:
    lake.lines("a.csv", "x;y", "1;2")
    lake.lines("b.csv", "x;y", "5;2")
    reader = "format => 'csv', schema => 'x INT, y INT', options => map('sep', ';', 'header', 'true')"
    ask(f"CALL data_skip.create_index({{}}, array('MinMax(x)'), {reader})", lake.folder)
    assert len(ask(f"SELECT * FROM data_skip_files({{}}, 'x > 3', {reader})", lake.folder)) == 1
    assert len(ask("SELECT * FROM data_skip_files({}, 'x > 3')", lake.folder)) == 1


def test_tables_of_the_catalog(ask: Ask, spark: SparkSession, skipping: Skipping) -> None:
    spark.range(10).repartition(2).write.mode("overwrite").saveAsTable("sql_numbers")
    try:
        for file in Path(spark.conf.get("spark.sql.warehouse.dir") or "").glob("sql_numbers/*.parquet"):
            aged(file)
        ask("CALL data_skip.create_index('sql_numbers', array('MinMax(id)'))")
        assert len(ask("SELECT * FROM data_skip_metadata('default.sql_numbers')")) == 2
        assert ask("SELECT * FROM data_skip_files('sql_numbers', 'id > 100')") == []
    finally:
        spark.sql("DROP TABLE sql_numbers")


@pytest.mark.parametrize("how", ["EXPLAIN", "EXPLAIN EXTENDED", "EXPLAIN FORMATTED", "EXPLAIN COST"])
def test_explain_has_no_effect(ask: Ask, weather: Lake, how: str) -> None:
    before = sorted(path for path in weather.folder.rglob("*") if path.is_file())
    version = weather.table().describe().version
    for call in (
        "CALL data_skip.create_index({}, array('ValueList(temp)'))",
        "CALL data_skip.refresh({})",
        "CALL data_skip.drop_index({}, array('MinMax(temp)'))",
        "SELECT * FROM data_skip_files({}, 'temp > 21'), data_skip_metadata({}), data_skip_describe({}), data_skip_report()",
    ):
        (row,) = ask(f"{how} {call}")
        assert "Error occurred" not in row.plan
    assert weather.table().describe().version == version
    assert sorted(path for path in weather.folder.rglob("*") if path.is_file()) == before


def test_a_call_runs_in_the_job_group_of_its_thread(spark: SparkSession, ask: Ask, fresh: Lake) -> None:
    spark.udf.register("slowly", versioned(lambda x: (sleep(10), x)[1], 1), "long")
    context = spark.sparkContext

    done = Event()

    def cancel() -> None:
        while not done.wait(0.2):  # again: the first jobs are short ones, which find the columns
            context.cancelJobGroup("sql calls")

    canceller = Thread(target=cancel, daemon=True)
    canceller.start()
    context.setJobGroup("sql calls", "a CALL", interruptOnCancel=True)
    try:
        assert "SPARK_JOB_CANCELLED" in refused(ask, "CALL data_skip.create_index({}, array('MinMax(slowly(temp))'))", fresh.folder)
    finally:
        done.set()
        for key in ("spark.jobGroup.id", "spark.job.description", "spark.job.interruptOnCancel"):
            context.setLocalProperty(key, None)  # type: ignore[arg-type]
        canceller.join()
    assert fresh.table().describe().version is None


def test_threads_do_not_wait_for_each_other(ask: Ask) -> None:
    errors: list[Exception] = []

    def several() -> None:
        try:
            for _ in range(3):
                assert len(ask("SELECT * FROM data_skip_files({}, 'temp > 21'), data_skip_metadata({})")) == 8
                assert len(ask("CALL data_skip.refresh({})")) == 1
        except Exception as error:
            errors.append(error)

    threads = [Thread(target=several) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


@pytest.fixture
def other(spark: SparkSession) -> Iterator[SparkSession]:
    """Another session."""
    other = spark.newSession()
    yield other
    data_skip.disable(other)
    spark.range(1).count()  # PySpark and Spark take this session for the active one again


def test_sessions_know_it_once_they_are_enabled(other: SparkSession, weather: Lake) -> None:
    files, call = f"SELECT * FROM data_skip_files('{weather.folder}', 'temp > 21')", f"CALL data_skip.refresh('{weather.folder}')"
    for sql in (files, call):
        with pytest.raises(AnalysisException, match=r"UNRESOLVABLE_TABLE_VALUED_FUNCTION|UNRESOLVED_ROUTINE|does not support procedures"):
            other.sql(sql)
    for _ in range(2):
        data_skip.enable(other)
        assert other.sql(files).count() == 2
        assert other.sql(call).count() == 1
        data_skip.disable(other)
        with pytest.raises(AnalysisException, match="UNRESOLVABLE_TABLE_VALUED_FUNCTION"):
            other.sql(files)
        with pytest.raises(AnalysisException, match=r"disabled in this session: data_skip.enable\(spark\)"):
            other.sql(call)


def test_a_catalog_of_that_name_is_left_to_its_owner(other: SparkSession, weather: Lake) -> None:
    other.conf.set("spark.sql.catalog.data_skip", "org.example.Theirs")
    data_skip.enable(other)
    assert other.sql(f"SELECT * FROM data_skip_files('{weather.folder}')").count() == 4
    with pytest.raises(Exception, match=r"org.example.Theirs"):
        other.sql(f"CALL data_skip.refresh('{weather.folder}')")
    assert other.conf.get("spark.sql.catalog.data_skip") == "org.example.Theirs"


def test_no_setting_is_left_behind(spark: SparkSession, skipping: Skipping) -> None:
    assert spark.conf.get("spark.sql.catalog.data_skip", None) is None


def test_spark_describes_the_functions(ask: Ask) -> None:
    told = " ".join(row.function_desc for row in ask("DESCRIBE FUNCTION data_skip_files"))
    assert "The files that a query would read. It takes table STRING, where STRING (may be left out)" in told


def test_where_skipping_is_off(ask: Ask, weather: Lake, spark: SparkSession) -> None:
    with settings_of(spark, {"spark.data_skip.enabled": "false"}):
        assert [row.file for row in ask("SELECT * FROM data_skip_files({}, 'temp > 21')")] == weather.table().files("temp > 21")
        assert len(ask("SELECT * FROM data_skip_describe({})")) == 2
        assert len(ask("CALL data_skip.refresh({})")) == 1


def test_rows_are_told_once_a_scan_and_anew_for_the_next_query(
    ask: Ask, weather: Lake, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str | None] = []
    files = Table.files

    def counted(table: Table, where: str | None = None) -> list[str]:
        asked.append(where)
        return files(table, where)

    monkeypatch.setattr(Table, "files", counted)
    frame = spark.sql(f"SELECT * FROM data_skip_files('{weather.folder}', 'temp > 21')")
    assert asked == []
    assert frame.join(frame.select(F.col("file").alias("same")), F.col("file") == F.col("same")).distinct().count() == 2
    assert asked == ["temp > 21"] * 2  # of which each scan is told once, however often adaptive execution plans the query
    assert frame.count() == 2
    assert asked == ["temp > 21"] * 3
