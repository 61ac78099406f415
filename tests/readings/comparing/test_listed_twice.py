"""A scan that is listed twice is given the same files: by the first ones Spark may have left out a sort."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from pyspark.sql import SparkSession

from data_skip import MinMax, Skipping
from data_skip.planning import callback
from tests.support import aged, rows_of, settings_of

FILES = 16  # of each bucket: in whatever order they are listed, some larger keys come before the smallest
SORTED_BY_FILE = {
    "spark.sql.legacy.bucketedTableScan.outputOrdering": "true",
    "spark.sql.sources.bucketing.autoBucketedScan.enabled": "false",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.adaptive.enabled": "true",
}
# A bucket of one file is sorted. Adaptive execution lists a scan with a sub-query again.
SQL = "SELECT l.k, l.x FROM twice_large l JOIN twice_small s ON l.k = s.k WHERE l.x >= (SELECT min(x) FROM twice_small)"


@pytest.fixture
def expected(spark: SparkSession, skipping: Skipping) -> Iterator[Any]:
    for name, rows in (("twice_large", spark.range(0, FILES * 1000, 1, FILES)), ("twice_small", spark.range(0, 20, 1, 1))):
        bucketed = rows.selectExpr("id AS k", "id % 10 AS x", "uuid() AS pad").write.bucketBy(2, "k").sortBy("k")
        bucketed.saveAsTable(name)
        for path in spark.table(name).inputFiles():
            aged(Path(unquote(path.removeprefix("file:"))))
        spark.catalog.refreshTable(name)
        skipping.table(name).create_index(MinMax("k"))
    with settings_of(spark, SORTED_BY_FILE):
        with skipping.disabled():
            rows_without = rows_of(spark.sql(SQL))
        yield rows_without
    for name in ("twice_large", "twice_small"):
        spark.sql(f"DROP TABLE {name}")


def _sorts(frame: Any) -> int:
    return int(frame._jdf.queryExecution().executedPlan().toString().split("Initial Plan")[0].count("Sort ["))


def test_by_one_query(spark: SparkSession, skipping: Skipping, expected: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the second time, the small side may run no more."""
    decide, decided = callback.Callback._decide, set[int]()

    def once(self: callback.Callback, java: Any, told: str, catalog: Any) -> str | None:
        number = json.loads(told.partition("\n")[0])["number"]
        if number in decided:
            return None
        said = decide(self, java, told, catalog)
        if said is not None and said.startswith("decided"):
            decided.add(number)
        return said

    monkeypatch.setattr(callback.Callback, "_decide", once)
    found = spark.sql(SQL)
    assert rows_of(found) == expected
    assert _sorts(found) < 2, "nothing was left out: the test cannot fail"
    assert max(scan.files_skipped for scan in skipping.report().scans) == 2 * (FILES - 1)


def _drop(spark: SparkSession, skipping: Skipping) -> None:
    skipping.table("twice_large").drop_index(MinMax("k"))


def _turn_off(spark: SparkSession, skipping: Skipping) -> None:
    spark.conf.set("spark.data_skip.enabled", "false")


@pytest.mark.parametrize("cached", [False, True])
@pytest.mark.parametrize("change", [_drop, _turn_off])
def test_by_a_query_that_was_planned_before(
    spark: SparkSession, skipping: Skipping, expected: Any, change: Callable[[SparkSession, Skipping], None], cached: bool
) -> None:
    """As for `explain()`, or `cache()`."""
    found = spark.sql(SQL)
    found = found.cache() if cached else found
    try:
        found._jdf.queryExecution().executedPlan()
        change(spark, skipping)
        assert rows_of(found) == expected
    finally:
        spark.conf.unset("spark.data_skip.enabled")
        found.unpersist()
