"""A query that is cancelled ends, also where a part of it is being run before its files are chosen."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as TooLate
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.functions import udf

from data_skip import MinMax, ValueList
from tests.support import Lake, settings_of

SLOW = "aggregate(sequence(0L, 200000L + id), 0L, (a, v) -> a + v % 7)"  # after each row a task asks whether it was cancelled
ENDLESS = f"SELECT id FROM range(0, 1000, 1, 1) WHERE {SLOW} = 7"  # a minute
JOIN = f"SELECT count(*) FROM t JOIN ({ENDLESS}) d ON t.x = d.id"
BROADCAST = f"SELECT count(*) FROM t JOIN (SELECT r.id FROM range(0, 900, 1, 1) r JOIN ({ENDLESS}) d ON r.id = d.id) ON t.x = id"
SUBQUERY = f"SELECT count(*) FROM t WHERE x = (SELECT max(id) FROM ({ENDLESS}))"


@pytest.fixture
def facts(lake: Lake) -> Lake:
    for i in range(2):
        lake.file(f"{i}.parquet", {"x": list(range(i * 20_000, (i + 1) * 20_000)), "s": [f"s{i}"] * 20_000})
    lake.index(MinMax("x"), ValueList("s"))
    lake.view()
    return lake


def by_group(spark: SparkSession) -> Callable[[], Any]:
    spark.sparkContext.setJobGroup("endless", "to be cancelled", interruptOnCancel=True)
    return lambda: spark.sparkContext.cancelJobGroup("endless")


def by_tag(spark: SparkSession) -> Callable[[], Any]:
    spark.sparkContext.addJobTag("endless")
    return lambda: spark.sparkContext.cancelJobsWithTag("endless")


def by_tag_of_the_session(spark: SparkSession) -> Callable[[], Any]:
    """As interruptTag does, which is told by the thread that added the tag, or one that it started: Python's threads are no such."""
    spark.addTag("endless")
    tag = spark._jsparkSession.managedJobTags().get().apply("endless")
    context: Any = spark.sparkContext._jsc
    return lambda: context.sc().cancelJobsWithTag(tag, "part of cancelled job tags endless")


def by_interrupting_all(spark: SparkSession) -> Callable[[], Any]:
    return spark.interruptAll


def by_ctrl_c(spark: SparkSession) -> Callable[[], Any]:
    return spark.sparkContext.cancelAllJobs  # what PySpark does


@pytest.mark.parametrize(
    ("cancelling", "sql"),
    [
        *((cancelling, sql) for cancelling in (by_group, by_tag, by_ctrl_c) for sql in (JOIN, SUBQUERY)),
        *((cancelling, BROADCAST) for cancelling in (by_tag_of_the_session, by_interrupting_all)),
    ],
)
def test_a_small_side_is_cancelled_with_its_query(facts: Lake, cancelling: Callable[[SparkSession], Callable[[], Any]], sql: str) -> None:
    with ThreadPoolExecutor(1) as thread:
        cancel = thread.submit(cancelling, facts.spark).result()
        query = thread.submit(lambda: facts.spark.sql(sql).collect())
        wait_for_a_job(facts.spark)
        assert "SPARK_JOB_CANCELLED" in ended(query, cancel)


@pytest.mark.parametrize("first", ["a small side", "a Python function"])
def test_what_was_run_first_leaves_the_tags_of_a_session(facts: Lake, first: str) -> None:
    """Of a query in a query, Spark takes them away at its end."""
    facts.spark.udf.register("quick", udf(lambda text: text == "s1", "boolean"))
    ran = "quick(s)" if first == "a Python function" else "x IN (SELECT id + 20000 FROM range(0, 2, 1, 1))"
    with ThreadPoolExecutor(1) as thread:
        cancel = thread.submit(by_tag_of_the_session, facts.spark).result()
        with settings_of(facts.spark, {"spark.sql.adaptive.enabled": "false"}):  # whose threads set them anew
            query = thread.submit(lambda: facts.spark.sql(f"SELECT x FROM t WHERE {ran} UNION ALL {ENDLESS}").collect())
            wait_for_a_job(facts.spark)
            assert "SPARK_JOB_CANCELLED" in ended(query, cancel)


def test_a_python_function_is_cancelled_with_its_query(facts: Lake) -> None:
    facts.spark.udf.register("endless", udf(lambda text: time.sleep(30) is None and text == "s1", "boolean"))
    with ThreadPoolExecutor(1) as thread:
        cancel = thread.submit(by_group, facts.spark).result()
        query = thread.submit(lambda: facts.spark.sql("SELECT count(*) FROM t WHERE endless(s)").collect())
        wait_for_a_job(facts.spark)
        assert "SPARK_JOB_CANCELLED" in ended(query, cancel)


def test_a_python_function_that_takes_too_long_keeps_the_query(facts: Lake) -> None:
    facts.spark.udf.register("slow", udf(lambda text: text == "s1" or time.sleep(3) is not None, "boolean"))
    with settings_of(facts.spark, {"spark.data_skip.python.maxSeconds": "1"}):
        assert sorted(facts.read_by("SELECT * FROM t WHERE slow(s)")) == ["0.parquet", "1.parquet"]


def wait_for_a_job(spark: SparkSession) -> None:
    """Until one has run for half a second: others, as those of broadcasts, are over sooner."""
    tracker, end, since = spark.sparkContext.statusTracker(), time.monotonic() + 60, time.monotonic()
    active: list[int] = []
    while not active or time.monotonic() < since + 0.5:
        assert time.monotonic() < end
        time.sleep(0.05)
        if (now := tracker.getActiveJobsIds()) != active:
            active, since = now, time.monotonic()


def ended(query: Future[Any], cancel: Callable[[], Any]) -> str:
    """What a query raises that is cancelled once."""
    cancel()
    try:
        return str(query.exception(timeout=15))
    except TooLate:
        while not query.done():
            SparkSession.active().sparkContext.cancelAllJobs()
            time.sleep(0.2)
        return "it went on"
