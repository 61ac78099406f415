"""Settings that functions ask for as they run: a query may run by others than it was planned by."""

from __future__ import annotations

from pyspark.sql import Row, SparkSession

from data_skip import ValueList
from tests.support import Lake, settings_of

POLICY = "spark.sql.legacy.timeParserPolicy"


def _cached(spark: SparkSession, lake: Lake, then: str) -> list[Row]:
    """The rows of a cache that is planned by one policy, and filled by another."""
    with settings_of(spark, {POLICY: "CORRECTED", "spark.sql.ansi.enabled": "false"}):
        cached = spark.read.parquet(str(lake.folder)).where("to_timestamp(s, 'yyyy-MM-dd') = timestamp'2024-01-03'").cache()
        with settings_of(spark, {POLICY: then}):
            rows = cached.collect()
        cached.unpersist(blocking=True)
    return rows


def test_a_cache_is_filled_by_the_settings_of_its_first_query(lake: Lake) -> None:
    lake.file("padded", {"s": ["2024-01-03"]})
    lake.file("short", {"s": ["2024-1-3"]})
    lake.index(ValueList("s"))
    assert _cached(lake.spark, lake, "CORRECTED") == [Row(s="2024-01-03")]
    assert len(_cached(lake.spark, lake, "LEGACY")) == 2
