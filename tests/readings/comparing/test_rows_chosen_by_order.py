"""Rows that are there, or not, by what goes by the order of rows: a query that asks for two of them at once compares the two.

Spark cuts files by how much it reads in all: with others skipped, the last row of `k = 4` is one of another file."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from data_skip import MinMax, Skipping
from tests.readings.comparing.support import LAST, OTHER, chosen
from tests.support import Lake

__all__ = ["chosen"]  # fixtures
NUMBERED = "SELECT k, id, row_number() OVER (PARTITION BY k ORDER BY g) AS n FROM chosen"
COUNTED = f"SELECT k, count(*) AS c FROM ({NUMBERED}) WHERE n < 2000 AND id < 50000 GROUP BY k"


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT a.k FROM ({LAST} HAVING i > 50000) a JOIN ({OTHER} HAVING i > 50000) b ON a.k = abs(b.k) WHERE a.k = 4",
        "SELECT 1 FROM range(1) WHERE (SELECT last(id) FROM chosen WHERE k = 4) < 50000"
        " AND (SELECT last(id) FROM chosen WHERE k % 5 = 4) > 50000",
        f"SELECT a.k FROM ({COUNTED}) a JOIN ({COUNTED}) b ON a.k = abs(b.k) AND a.c = b.c WHERE a.k = 4",
        f"SELECT k FROM (SELECT k, i, last(c.id) AS j FROM ({LAST} HAVING k = 4) a JOIN (SELECT k % 5 AS k, id FROM chosen) c USING (k)"
        " GROUP BY k, i) WHERE i = j",
    ],
)
def test_conditions_that_hold_at_once(chosen: Lake, sql: str) -> None:
    assert all(scan.files_read == 7 for scan in chosen.query(sql).scans)


@pytest.mark.parametrize(
    ("sql", "read"),
    [
        ("SELECT 1 WHERE EXISTS (SELECT 1 FROM chosen WHERE k = 4) AND EXISTS (SELECT 1 FROM chosen WHERE k % 7 = 2)", {1, 2}),
        (f"SELECT a.k FROM ({LAST} HAVING i > 5) a JOIN ({OTHER} HAVING i > 5) b USING (k) WHERE k = 5", {1}),
    ],
)
def test_files_are_skipped_where_the_order_decides_on_no_row(chosen: Lake, sql: str, read: set[int]) -> None:
    assert {scan.files_read for scan in chosen.query(sql).scans} == read


def test_what_is_made_of_a_cache(chosen: Lake) -> None:
    last = chosen.spark.sql(LAST).cache()
    try:
        last.count()
        last.createOrReplaceTempView("chosen_last")
        some = "SELECT * FROM chosen_last ORDER BY abs(k - 4) LIMIT 1"
        report = chosen.query(f"SELECT a.k FROM ({some}) a JOIN ({OTHER}) b ON a.i = b.i WHERE b.k = 4")
        assert [scan.files_read for scan in report.scans] == [7]
    finally:
        last.unpersist()
        chosen.spark.catalog.dropTempView("chosen_last")


def test_one_name_of_two_columns(spark: SparkSession, skipping: Skipping, tmp_path: Path) -> None:
    """Columns of CSV go by their place: of `k = 1` and `k = 2` all rows may be the same, once another schema calls another column k."""
    lake = Lake(spark, skipping, tmp_path / "columns")
    for i in range(3):
        lake.lines(f"{i}.csv", *[f"{i},{i + 1}"] * 3)
    views = {"chosen_a": "k INT, j INT", "chosen_b": "j INT, k INT"}
    lake.index(MinMax("k"), format="csv", schema=views["chosen_a"])
    for name, schema in views.items():
        spark.read.schema(schema).csv(str(lake.folder)).createOrReplaceTempView(name)
    sums = "SELECT k, j, sum(k * 1.0D) AS s FROM {} GROUP BY k, j"
    try:
        a, b = (sums.format(name) for name in views)
        report = lake.query(f"SELECT a.k FROM ({a}) a JOIN ({b}) b ON a.s * 2 = b.s WHERE a.k = 1 AND b.k = 2")
        assert all(scan.files_read == 3 for scan in report.scans)
    finally:
        for name in views:
            spark.catalog.dropTempView(name)
