"""Indexes over casts, where Spark has rewritten a comparison of the cast into one of what is cast."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from data_skip import BloomFilter, Skipping, ValueList
from tests.support import Lake, settings_of

START = datetime(2024, 3, 8, tzinfo=timezone.utc)
ZONE = "America/New_York"  # whose clocks change on 2024-03-10


@pytest.fixture(scope="module")
def days(spark: SparkSession, skipping: Skipping, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    """Two days a file, a week apart: `a` the 8th and 15th of March, to `f` the 13th and 20th; and NULL only."""
    with settings_of(spark, {"spark.sql.session.timeZone": ZONE}):
        lake = Lake(spark, skipping, tmp_path_factory.mktemp("casts") / "table")
        for i, name in enumerate("abcdef"):
            moments = [START + timedelta(days=i + 7 * week, hours=hour) for week in (0, 1) for hour in (5, 12, 20)]
            number = [i, i + 7]
            columns = {"t": pa.array(moments, pa.timestamp("us", "UTC")), "i": pa.array(number * 3, pa.int32())}
            lake.file(f"{name}.parquet", {**columns, "x": pa.array([float(n) for n in number] * 3, pa.float32())})
        lake.file(
            "null.parquet", {"t": pa.array([None], columns["t"].type), "i": pa.array([None], pa.int32()), "x": pa.nulls(1, pa.float32())}
        )
        lake.index(ValueList("to_date(t)"), BloomFilter("cast(i AS bigint)"), ValueList("cast(x AS double)"))
        lake.view("days")
        yield lake


@pytest.mark.parametrize(
    ("where", "read"),
    [
        ("to_date(t) = DATE'2024-03-09'", "b"),
        ("cast(t AS date) = DATE'2024-03-10'", "c"),  # of 23 hours
        ("to_date(t) = DATE'2024-03-30'", ""),
        ("to_date(t) IN (DATE'2024-03-08', DATE'2024-03-18')", "ad"),
        ("to_date(t) > DATE'2024-03-19'", "f"),
        ("to_date(t) >= DATE'2024-03-19'", "ef"),
        ("to_date(t) < DATE'2024-03-09'", "a"),
        ("t < TIMESTAMP'2024-03-09 00:00:00'", "a"),
        ("t > TIMESTAMP'2024-03-08 23:00:00' AND t < TIMESTAMP'2024-03-09 01:00:00'", "ab"),
        ("t = TIMESTAMP'2024-03-13 08:00:00'", "f"),
        ("t IS NULL", "null"),
        ("t = TIMESTAMP'2024-03-13 08:00:00' OR t IS NULL", "f null"),
        ("cast(i AS bigint) = 3L", "d"),
        ("i = 3", "d"),
        ("i IN (3, 12)", "df"),
        ("cast(x AS double) = 3.0D", "d"),
        ("x > 11.5", "f"),
        ("x = float('NaN')", ""),
        ("x BETWEEN 2.5 AND 4.5", "de"),
    ],
)
def test_each_predicate_reads_the_files_that_hold_a_match(days: Lake, where: str, read: str) -> None:
    expected = {f"{name}.parquet" for part in read.split() for name in ([part] if part == "null" else part)}
    days.query(f"SELECT * FROM days WHERE {where}", expected)
