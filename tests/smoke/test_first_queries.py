"""The first queries of the demo, in small: what `make test-versions` runs on each version of Spark between the oldest and the newest."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

import data_skip
import geo_skip
from sample_data.access_log import write_access_log
from sample_data.comparing import compare
from sample_data.countries import read_countries
from sample_data.queries import ACCESS_LOG_QUERIES, GEO_QUERIES, WEATHER_QUERIES, Query, access_log_indexes, weather_indexes
from sample_data.weather import write_weather
from tests.support import aged


@pytest.fixture(scope="module")
def lakes(spark: SparkSession, skipping: data_skip.Skipping, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    folder = tmp_path_factory.mktemp("lakes")
    tables = {
        "weather": (write_weather(folder / "weather", count=8), weather_indexes()),
        "access_log": (write_access_log(folder / "access_log"), access_log_indexes()),
    }
    geo_skip.register(spark)
    spark.sql(f"DECLARE OR REPLACE VARIABLE India STRING DEFAULT '{read_countries()['India']}'")
    for name, (written, indexes) in tables.items():
        for path in written.folder.glob("*.parquet"):
            aged(path)
        assert skipping.table(str(written.folder)).create_index(*indexes).files_too_recent == 0
        spark.read.parquet(str(written.folder)).createOrReplaceTempView(name)
    yield
    for name in tables:
        spark.catalog.dropTempView(name)
    spark.sql("DROP TEMPORARY VARIABLE India")


@pytest.mark.parametrize(
    "query",
    [GEO_QUERIES[0], *WEATHER_QUERIES[:2], *ACCESS_LOG_QUERIES[:2]],
    ids=["a region", "a box", "a threshold", "a beginning", "an ending"],
)
def test_rows_are_equal_and_files_are_skipped(lakes: None, spark: SparkSession, skipping: data_skip.Skipping, query: Query) -> None:
    outcome = compare(spark, skipping, query, repeats=1)
    assert outcome.rows_equal
    assert outcome.rows > 0
    assert outcome.files_read < outcome.files_total
