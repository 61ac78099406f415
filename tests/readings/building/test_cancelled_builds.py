"""An index that is being made, or refreshed, and is cancelled with all that its session does."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrameReader, SparkSession

from data_skip import DataSkipError, Index, MinMax
from data_skip.building.source import TableSource, frame_of
from data_skip.planning import bounded
from data_skip.spark import jvm
from data_skip.spark.errors import is_cancelled
from data_skip.spark.tasks import jobs_of
from tests.support import Lake
from tests.test_cancelling import by_interrupting_all, by_tag_of_the_session, ended, wait_for_a_job


class Endless(Index):
    fields = {"rows": pa.int32()}

    def collect(self, values: pa.Array) -> dict[str, int]:
        time.sleep(60)
        return {"rows": len(values)}

    def merge(self, a: dict[str, int], b: dict[str, int]) -> dict[str, int]:
        return {"rows": a["rows"] + b["rows"]}


@pytest.mark.parametrize("cancelling", [by_interrupting_all, by_tag_of_the_session])
@pytest.mark.parametrize("x", ["x", "x + 1"])
def test_an_index_is_cancelled_with_its_session(lake: Lake, cancelling: Callable[[SparkSession], Callable[[], Any]], x: str) -> None:
    """x: by tasks that read files themselves, which are of no query, and by Spark, in a copy of the session."""
    lake.file("0.parquet", {"x": [1, 2, 3]})
    table = lake.index(MinMax("x"))
    with ThreadPoolExecutor(1) as thread:
        cancel = thread.submit(cancelling, lake.spark).result()
        command = thread.submit(table.create_index, Endless(x))
        wait_for_a_job(lake.spark)
        assert "SPARK_JOB_CANCELLED" in ended(command, cancel)
        assert isinstance(command.exception(), DataSkipError)
        assert not thread.submit(lake.spark.sparkContext.getJobTags).result()
    assert table.describe().version == 1  # as it was
    lake.view()
    assert lake.read_by("SELECT * FROM t WHERE x > 3") == set()


def test_the_jobs_that_look_for_columns_are_cancelled_with_the_session(lake: Lake) -> None:
    """As of text, a pass over all of it: before any file is collected."""
    lake.bytes("0.csv", b"x\n1\n2\n")
    table = lake.table(format="csv", options={"header": "true", "inferSchema": "true"})
    session: Any = lake.spark._jsparkSession
    tag = session.sessionJobTag()
    commands: list[Callable[[], object]] = [lambda: table.create_index(MinMax("x")), table.refresh]
    for command in commands:
        before = _tags_of_jobs(lake.spark).keys()
        command()
        new = [tags for job, tags in _tags_of_jobs(lake.spark).items() if job not in before]
        assert len(new) >= 2
        assert all(tag in tags for tags in new), new


def _tags_of_jobs(spark: SparkSession) -> dict[int, set[str]]:
    context: Any = spark.sparkContext._jsc
    context.sc().listenerBus().waitUntilEmpty()
    jobs = context.sc().statusStore().jobsList(None)
    every = [jobs.apply(i) for i in range(jobs.size())]
    return {job.jobId(): set(job.jobTags().mkString(",").split(",")) for job in every}


def test_a_refresh_that_was_cancelled_is_tried_by_the_next_query(monkeypatch: pytest.MonkeyPatch) -> None:
    """As one that failed soon: of what takes long and fails, the next is tried later only."""
    monkeypatch.setattr(bounded, "_LONG", -1.0)
    monkeypatch.setattr(bounded, "_AGAIN", 1e9)
    whys = ["[SPARK_JOB_CANCELLED] Job 1 cancelled"] * 2 + ["disk full"]

    def refresh() -> Any:
        raise DataSkipError(whys.pop(0))

    index = bounded.Bounded(10)
    index.refreshed_by("t", refresh)
    for left in (2, 1, 0, 0):
        time.sleep(0.01)
        with pytest.raises(DataSkipError, match="cannot be refreshed"):
            index.bring_up_to_date()
        assert len(whys) == left


def test_nothing_more_is_run_once_spark_is_stopped() -> None:
    """As DAGScheduler.cleanUpAfterSchedulerStop says it, by an error that has no class."""
    assert is_cancelled(Exception("Job 4 cancelled because SparkContext was shut down"))
    assert not is_cancelled(Exception("Job aborted due to stage failure"))


def test_a_session_that_is_stopped_meanwhile_is_told(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """PySpark lets go of its JVM, and raises an AssertionError without a word, or an AttributeError of the same."""

    def command() -> None:
        with monkeypatch.context() as patch, jobs_of(lake.spark):
            patch.setattr(lake.spark.sparkContext, "_jsc", None)  # as SparkContext.stop() does
            raise AssertionError

    with ThreadPoolExecutor(1) as thread, pytest.raises(DataSkipError, match="stopped meanwhile"):
        thread.submit(command).result()


def test_a_session_that_was_stopped_is_refused(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """As `fitted` asks for it: PySpark raised an AttributeError."""
    monkeypatch.setattr(jvm, "stopped", lambda spark: True)
    with pytest.raises(DataSkipError, match="was stopped; make another"), jobs_of(lake.spark):
        raise AssertionError


def test_no_format_is_advised_where_looking_for_the_schema_is_cancelled(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    def cancelled(*_: Any) -> Any:
        raise PySparkException("[SPARK_JOB_CANCELLED] Job 1 cancelled part of cancelled job group a")

    monkeypatch.setattr(DataFrameReader, "load", cancelled)
    with pytest.raises(DataSkipError, match=r"cannot be read: .* group a$"):
        frame_of(lake.spark, TableSource("t", False, None, None, {}))
