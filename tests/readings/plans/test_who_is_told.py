"""Of what is run first for a query Spark's UI shows what it is, and nobody who listens to the user's queries is told."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.functions import udf

from data_skip import MinMax, ValueList
from tests.support import Lake

DESCRIPTION = "spark.job.description"


class Listener:
    """A QueryExecutionListener, which tells of each query whether it failed, and its name."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str]] = []

    def onSuccess(self, name: str, execution: Any, nanoseconds: int) -> None:
        self.told.append(("done", name))

    def onFailure(self, name: str, execution: Any, error: Any) -> None:
        self.told.append(("failed", name))

    class Java:
        implements = ("org.apache.spark.sql.util.QueryExecutionListener",)


@pytest.fixture
def facts(lake: Lake) -> Lake:
    pad = "".join(chr(33 + i * i % 90) for i in range(9000))
    for i in range(3):
        lake.file(f"{i}.parquet", {"x": [i], "s": [f"s{i}"], "pad": [pad]})
    lake.index(MinMax("x"), ValueList("s"))
    lake.view()
    return lake


@pytest.fixture
def listener(facts: Lake) -> Iterator[Listener]:
    listener, listeners = Listener(), facts.spark._jsparkSession.listenerManager()
    listeners.register(listener)
    yield listener
    listeners.unregister(listener)


@pytest.mark.parametrize(
    ("where", "description", "files"),
    [
        ("x IN (SELECT id + 2 FROM range(0, 1, 1, 1))", "data-skip: keys of a join", 1),
        ("x = (SELECT max(id) FROM range(0, 2, 1, 1))", "data-skip: keys of a join", 1),
        ("is_s1(s)", "data-skip: Python functions", 1),
        ("upper_is_s1(s)", "data-skip: Python functions", 1),  # that for NULL, which no row has, fails
    ],
)
def test_what_is_run_first(facts: Lake, listener: Listener, where: str, description: str, files: int) -> None:
    spark, java = facts.spark, facts.spark._jsparkSession
    bus, executions = java.sparkContext().listenerBus(), java.sharedState().statusStore()
    spark.udf.register("is_s1", udf(lambda text: text == "s1", "boolean"))
    spark.udf.register("upper_is_s1", udf(lambda text: text.upper() == "S1", "boolean"))
    frame = spark.sql(f"SELECT x FROM t WHERE {where}")
    bus.waitUntilEmpty()
    listener.told.clear()
    with described(spark, "of the user"):
        assert len(frame.collect()) == 1
        assert spark.sparkContext.getLocalProperty(DESCRIPTION) == "of the user"
    bus.waitUntilEmpty()
    assert listener.told == [("done", "collectToPython")]
    number = int(facts.skipping.report().execution_id)
    assert executions.execution(number).get().description() == "of the user"
    assert executions.execution(number + 1).get().description() == description
    assert facts.skipping.report().scans[-1].files_read == files


@contextmanager
def described(spark: SparkSession, description: str) -> Iterator[None]:
    spark.sparkContext.setLocalProperty(DESCRIPTION, description)
    try:
        yield
    finally:
        spark.sparkContext._jsc.setLocalProperty(DESCRIPTION, None)  # type: ignore[union-attr]
