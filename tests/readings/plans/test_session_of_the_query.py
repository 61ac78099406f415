"""What a query runs early, and what it evaluates here, is what it runs and evaluates itself: in its own session, plan and thread."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.functions import expr, pandas_udf

import data_skip
from data_skip import MinMax, Skipping, ValueList
from data_skip.files.listing import Listing
from tests.support import Lake, settings_of

TEXTS = ["s0", "s1", "s2", "s3", "0.0", "-0.0"]
SQL = "spark.sql."


@pytest.fixture(scope="module")
def facts(spark: SparkSession, skipping: Skipping, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    """A file for each of TEXTS: s, its place k, and t, so many hours after midnight in UTC; `negative` has -0.0 twice."""
    lake = Lake(spark, skipping, tmp_path_factory.mktemp("session_of_the_query") / "facts")
    pad = "".join(chr(33 + i * i % 90) for i in range(9000))
    for k, text in enumerate(TEXTS):
        hours = pa.array([datetime(2024, 1, 1, k, tzinfo=timezone.utc)], pa.timestamp("us", "UTC"))
        lake.file(text, {"s": [text], "k": [k], "t": hours, "pad": [pad]})
    lake.index(ValueList("s"), MinMax("k"), ValueList("t"))
    lake.view("facts")
    spark.sql("SELECT * FROM VALUES (-0.0D, 1), (-0.0D, 2) AS v(x, g)").createOrReplaceTempView("negative")
    yield lake
    for view in ("facts", "negative"):
        spark.catalog.dropTempView(view)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT k FROM facts JOIN (SELECT DISTINCT x FROM negative) n ON s = CAST(n.x AS STRING)",
        "SELECT k FROM facts JOIN (SELECT x, count(*) FROM negative GROUP BY x) n ON s = CAST(n.x AS STRING)",
        "SELECT k FROM facts WHERE s IN (SELECT CAST(x AS STRING) FROM (SELECT DISTINCT x FROM negative))",
        "SELECT k FROM facts SEMI JOIN (SELECT x FROM negative INTERSECT SELECT x FROM negative) n ON s = CAST(n.x AS STRING)",
    ],
)
def test_groups_of_zeros_may_be_made_elsewhere_in_the_plan(facts: Lake, sql: str) -> None:
    """Spark makes 0.0 of the keys of a group, and leaves out groups that are grouped again: so -0.0 was found instead."""
    scans = facts.query(sql).scans
    assert not scans or scans[-1].files_read == len(TEXTS)


def test_groups_of_other_keys_are_run(facts: Lake) -> None:
    assert facts.query("SELECT k FROM facts JOIN (SELECT DISTINCT g FROM negative) n ON k = n.g").scans[-1].files_read == 2


@pytest.fixture
def other(facts: Lake) -> Iterator[SparkSession]:
    """Another session, whose view of the facts is the global view `theirs`."""
    other = facts.spark.newSession()
    for key in ("parquet.filterPushdown", "orc.filterPushdown", "session.timeZone"):
        other.conf.set(SQL + key, str(facts.spark.conf.get(SQL + key)))
    other.read.parquet(str(facts.folder)).createOrReplaceGlobalTempView("theirs")
    yield other
    facts.spark.catalog.dropGlobalTempView("theirs")
    data_skip.disable(other)


@pytest.mark.parametrize("sql", ["SELECT k FROM {} JOIN pairs ON k = pairs.s.a", "SELECT k FROM {} WHERE k = (SELECT max(s.a) FROM pairs)"])
def test_a_small_side_is_run_in_the_session_of_the_query(facts: Lake, other: SparkSession, sql: str) -> None:
    other.conf.set(SQL + "json.enablePartialResults", "false")  # there the whole of s is NULL
    pairs = facts.folder.parent / "pairs.json"
    pairs.write_text('{"s": {"a": 3, "b": "no number"}}')
    facts.spark.read.schema("s STRUCT<a: BIGINT, b: INT>").json(str(pairs)).createOrReplaceTempView("pairs")
    try:
        for view in ("facts", "global_temp.theirs"):
            report = facts.query(sql.format(view))
            assert [scan.files_read for scan in report.scans if scan.table.endswith(facts.folder.name)] == [1], report
    finally:
        facts.spark.catalog.dropTempView("pairs")


def test_python_functions_are_run_in_the_session_of_the_query(facts: Lake, other: SparkSession) -> None:
    other.conf.set(SQL + "session.timeZone", "Asia/Tokyo")

    def hour_of(times: pd.Series) -> pd.Series:
        return times.dt.hour.fillna(-1).astype("int32")

    hour: Any = pandas_udf(hour_of, "int")  # type: ignore[call-overload]
    time = expr("coalesce(t, timestamp'2000-01-01 12:00:00')")  # of times that may be NULL pandas makes others
    for view in ("facts", "global_temp.theirs"):
        frame = facts.spark.table(view).where(hour(time) == 2).select("k")
        with facts.skipping.disabled():
            assert [row.k for row in frame.select("k").collect()] == [2]
        assert [row.k for row in facts.spark.table(view).where(hour(time) == 2).select("k").collect()] == [2]
        report = facts.skipping.decide(Listing.now(facts.skipping.jvm.scans(frame)[-1]))
        assert report.files_read == 1, report


@pytest.mark.parametrize(
    "where",
    [
        "exists(split(s, 's'), v -> v = '2')",
        "exists(split(s, 's'), v -> exists(split(s, 's'), w -> concat(w, v, w) = '22'))",
        "size(filter(split(s, 's'), (v, i) -> i > 0 AND v = '2')) = 1",
        "aggregate(split(s, 's'), 0, (a, v) -> a + length(v), a -> a + 1) = 2",
    ],
)
def test_lambda_variables_of_a_query_are_not_set_here(facts: Lake, where: str) -> None:
    """They belong to the DataFrame: while one thread of the driver evaluated with them, another set them to other values."""
    frame = facts.spark.table("facts").where(where)
    facts.query(f"SELECT * FROM facts WHERE {where}")
    assert facts.skipping.decide(Listing.now(facts.skipping.jvm.scans(frame)[-1])).files_read < len(TEXTS)
    found = values_of_variables(frame._jdf.queryExecution().analyzed().expressions().head())
    assert found
    assert set(found) == {None}


def values_of_variables(expression: Any) -> list[Any]:
    """What the lambda variables in an expression of the JVM hold."""
    if expression.getClass().getSimpleName() == "NamedLambdaVariable":
        return [expression.value().get()]
    children = expression.children()
    return [value for i in range(children.size()) for value in values_of_variables(children.apply(i))]


@pytest.mark.parametrize(
    "where",
    [
        "xpath_int(m, '/r/a') = 777",
        "xpath_string(m, '/r/a') = '777'",
        'to_json(named_struct(\'m\', m, \'n\', m)) = \'{"m":"<r><a>777</a></r>","n":"<r><a>777</a></r>"}\'',
        "from_json(to_json(named_struct('m', m)), 'm string').m = '<r><a>777</a></r>'",
    ],
)
def test_threads_that_plan_queries_of_one_dataframe_share_nothing_that_is_written_to(lake: Lake, where: str) -> None:
    """Evaluators of functions stand in the plan as objects, with buffers and inputs of their own."""
    for i in range(4):
        lake.file(f"{i}.parquet", {"m": [f"<r><a>{i * 300 + j}</a></r>" for j in range(300)]})
    lake.index(ValueList("m"))
    frame = lake.view().where(where)

    def kept(number: int) -> set[str]:
        listing = Listing.now(lake.skipping.jvm.scans(frame.selectExpr("m", f"{number} AS n"))[-1])
        assert lake.skipping.decide(listing).errors == []
        return {Path(path).name for path in listing.kept}

    assert kept(0) == {"2.parquet"}
    with ThreadPoolExecutor(8) as threads:
        assert all(found == {"2.parquet"} for found in threads.map(kept, range(40)))


def test_settings_are_the_query_s_while_another_session_is_active(lake: Lake) -> None:
    """`rdd` and `toLocalIterator` ask for the files on their caller's thread: java.text writes ten days of October 1582 as one."""
    days = ["1582-10-05 12:00:00", "1582-10-06 01:00:00"], ["1000-01-03 12:00:00"], ["2021-01-01 04:57:00"]
    for i, texts in enumerate(days):
        moments = [int(datetime.fromisoformat(text).replace(tzinfo=timezone.utc).timestamp() * 1e6) for text in texts]
        lake.file(f"{i}.parquet", {"v": pa.array(moments, pa.timestamp("us", "UTC"))})
    lake.index(MinMax("v"))
    other = lake.spark.newSession()
    skipping = data_skip.enable(other)
    active = lake.spark._jvm.org.apache.spark.sql.classic.SparkSession
    try:
        for key, value in {"spark.sql.legacy.timeParserPolicy": "LEGACY", "spark.sql.session.timeZone": "UTC"}.items():
            other.conf.set(key, value)

        def run(where: str, rows: Callable[[DataFrame], int]) -> int:
            frame = other.read.parquet(str(lake.folder)).where(where)
            frame._jdf.queryExecution().optimizedPlan()
            active.setActiveSession(lake.spark._jsparkSession)
            return rows(frame)

        for where in ("date_format(v, 'yyyy-MM-dd') = '1582-10-15'", "date_format(v, 'yyyy-MM-dd') = '2021-01-01'"):
            for rows in (lambda f: f.count(), lambda f: f.rdd.count(), lambda f: len(list(f.toLocalIterator()))):
                with skipping.disabled():
                    expected = run(where, rows)
                assert run(where, rows) == expected, where
    finally:
        active.setActiveSession(lake.spark._jsparkSession)
        skipping.close()


POLICY = "spark.sql.legacy.timeParserPolicy"
GENERATOR = "spark.sql.jsonGenerator.ignoreNullFields"


def _cached(spark: SparkSession, lake: Lake, where: str, setting: str, planned: str, filled: str) -> list[Row]:
    """The rows of a cache that is planned by one value of a setting, and filled by another."""
    with settings_of(spark, {setting: planned, "spark.sql.ansi.enabled": "false"}):
        cached = spark.read.parquet(str(lake.folder)).where(where).cache()
        with settings_of(spark, {setting: filled}):
            rows = cached.collect()
        cached.unpersist(blocking=True)
    return rows


def test_a_cache_is_filled_by_the_settings_of_its_first_query(lake: Lake) -> None:
    lake.file("padded", {"s": ["2024-01-03"]})
    lake.file("short", {"s": ["2024-1-3"]})
    lake.index(ValueList("s"))
    where = "to_timestamp(s, 'yyyy-MM-dd') = timestamp'2024-01-03'"
    assert _cached(lake.spark, lake, where, POLICY, "CORRECTED", "CORRECTED") == [Row(s="2024-01-03")]
    assert len(_cached(lake.spark, lake, where, POLICY, "CORRECTED", "LEGACY")) == 2


def test_of_any_setting(lake: Lake) -> None:
    lake.file("all", {"s": ['{"a":1,"b":2}']})
    lake.file("some", {"s": ['{"a":1}']})
    lake.index(ValueList("s"))
    where = "to_json(from_json(s, 'a INT, b INT')) LIKE '%null%'"
    assert _cached(lake.spark, lake, where, GENERATOR, "true", "true") == []
    assert len(_cached(lake.spark, lake, where, GENERATOR, "true", "false")) == 1
