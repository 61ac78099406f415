"""Settings that functions ask for as they run: a query may run by others than it was planned by."""

from __future__ import annotations

from pyspark.sql import Row, SparkSession

from data_skip import ValueList
from tests.support import Lake, settings_of

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
