"""Scans of Data Source V2 and of Hive in one query with those whose files are skipped: they read all files of their folders."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from data_skip import MinMax, Skipping
from tests.readings.comparing.support import SORTED, SUMS, cut_by_what_is_read, how_often, write
from tests.readings.support import printed_by
from tests.support import Lake, settings_of

V2 = {"spark.sql.sources.useV1SourceList": ""}
SECOND = SUMS.replace("ordered", "second")


@pytest.fixture(scope="module")
def ordered(spark: SparkSession, skipping: Skipping, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    """As in support.py; the view `second` reads the same files by a reader of Data Source V2."""
    lake = Lake(spark, skipping, tmp_path_factory.mktemp("beside_other_readers") / "ordered")
    for k in range(6):
        write(lake.folder / f"{k}.parquet", k, 2000, 10000 * k)
    with settings_of(spark, V2):
        lake.view("second")
    with cut_by_what_is_read(lake, "ordered"):
        yield lake
    spark.catalog.dropTempView("second")


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT a.k FROM ({SUMS}) a JOIN ({SECOND}) b ON a.s = b.s WHERE a.k = 5",
        f"SELECT k, s FROM ({SUMS}) WHERE k = 5 EXCEPT SELECT k, s FROM ({SECOND})",
        f"SELECT k, s FROM ({SUMS}) WHERE k = 5 AND s = (SELECT max(s) FROM ({SECOND}) WHERE k = 5)",
    ],
)
def test_sums_that_are_compared(ordered: Lake, sql: str) -> None:
    (scan,) = ordered.query(sql).scans
    assert scan.files_skipped == 0


def test_what_goes_by_no_order(ordered: Lake) -> None:
    exact = "SELECT k, max(id) AS s FROM ordered GROUP BY k"
    for mine in (exact, SUMS):
        other = exact.replace("ordered", "second")
        (scan,) = ordered.query(f"SELECT a.k FROM ({mine}) a JOIN ({other}) b ON a.k = b.k WHERE a.k = 5").scans
        assert scan.files_skipped == 5


def test_a_table_of_hive(tmp_path: Path) -> None:
    """In a session of its own, which has a metastore: its rows were others."""
    assert printed_by("comparing.on_hive", tmp_path) == {"compared": [0, 0, 0, 0], "of no order": [5, 5]}


def test_an_exchange_over_both_is_made_once(spark: SparkSession, skipping: Skipping, tmp_path: Path) -> None:
    lake, other = Lake(spark, skipping, tmp_path / "v1"), Lake(spark, skipping, tmp_path / "v2")
    for g in range(4):
        lake.file(f"{g}.parquet", {"g": [g] * 9, "k": list(range(9 * g, 9 * g + 9)), "pad": [f"{i * 7919 % 9973}" * 300 for i in range(9)]})
    lake.index(MinMax("g"))
    other.file("0.parquet", pa.table({"g": [0, 1, 2, 3], "w": [1, 2, 3, 4]}))
    lake.view("lake")
    with settings_of(spark, V2):
        other.view("other")
    spark.sql("SELECT id, concat('n', id) AS name FROM range(4)").write.parquet(str(tmp_path / "dim"))
    spark.read.parquet(str(tmp_path / "dim")).createOrReplaceTempView("dim")
    both = "SELECT g, max(k) AS k FROM (SELECT g, k FROM lake UNION ALL SELECT g, w FROM other) GROUP BY g"
    sql = f"SELECT a.* FROM ({both}) a JOIN dim ON a.g = id WHERE name = 'n1' UNION ALL SELECT a.* FROM ({both}) a JOIN dim ON a.g = id"
    with settings_of(spark, SORTED):
        plain, with_skipping = how_often(lake, sql, "ReusedExchange")
        assert plain > 0 and with_skipping == plain
        lake.query(sql)
