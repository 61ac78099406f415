"""What a small side costs, and what it may save: whether it is run first, and how it ends where it takes longer than that."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from pyspark.sql import SparkSession

from data_skip import MinMax, ScanReport, Skipping, ValueList
from tests.support import Lake, settings_of

FILES, ROWS = 4, 4_000
SIZE = 60_000  # of the dimension, in bytes, at least: more than a tenth of what is read of the fact for two of its columns
SLOW = "aggregate(sequence(0L, 200000L + id), 0L, (a, v) -> a + v % 7) >= 0"  # 20 ms


@pytest.fixture(scope="module")
def lake(spark: SparkSession, skipping: Skipping, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    """`fact`: a column k that ascends from file to file, m that is scattered, and ten wide ones that cannot be packed."""
    random = np.random.default_rng(1)
    lake = Lake(spark, skipping, tmp_path_factory.mktemp("cost") / "fact")
    scattered = random.permutation(FILES * ROWS)
    for f in range(FILES):
        rows = slice(f * ROWS, (f + 1) * ROWS)
        wide = {f"c{i}": random.integers(0, 1 << 60, ROWS) for i in range(10)}
        lake.file(f"{f}.parquet", {"k": np.arange(FILES * ROWS)[rows], "m": scattered[rows], "s": scattered[rows], **wide})
    lake.index(MinMax("k"), MinMax("m"), MinMax("s"), ValueList("s", limit=ROWS))
    lake.view("fact")
    dim = Lake(spark, skipping, lake.folder.parent / "dim")
    ids = np.concatenate([[7], random.integers(1 << 50, 1 << 60, 9_000)])
    size = dim.file("dim.parquet", {"id": ids}).stat().st_size
    assert SIZE < size < bytes_of(lake.folder) / 10
    dim.view("dim")
    yield lake
    for view in ("fact", "dim"):
        spark.catalog.dropTempView(view)


def bytes_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.glob("*.parquet"))


def fact_scan(lake: Lake, sql: str) -> ScanReport:
    """Compares rows; the report of the scan of `fact`."""
    (scan,) = (scan for scan in lake.query(sql).scans if scan.table.endswith("/fact"))
    return scan


def note(scan: ScanReport, text: str) -> bool:
    return any(text in note for note in scan.notes)


def test_only_columns_that_are_read_are_saved(lake: Lake) -> None:
    narrow, wide = (fact_scan(lake, f"SELECT {columns} FROM fact JOIN dim ON k = id WHERE k >= 0") for columns in ("k, m", "fact.*"))
    assert narrow.files_read == FILES and note(narrow, "other predicates leave 4 files"), narrow
    assert wide.files_read == 1 and note(wide, "was run first"), wide


def test_only_columns_that_are_read_are_paid(lake: Lake) -> None:
    lake.spark.read.parquet(str(lake.folder)).createOrReplaceTempView("same")
    sql = "SELECT fact.* FROM fact JOIN (SELECT k AS id FROM same WHERE k < 9) ON k = id WHERE m >= 0"
    with settings_of(lake.spark, {"spark.data_skip.join.maxBytes": str(bytes_of(lake.folder) // 2)}):
        scans = lake.query(sql).scans
    assert not any(note(scan, "more than spark.data_skip.join.maxBytes") for scan in scans), scans


@pytest.mark.parametrize("budget", ["1g", "1"])
def test_ranges_of_scattered_keys_save_nothing(lake: Lake, budget: str) -> None:
    for key, read in (("m", FILES), ("s", 1)):
        with settings_of(lake.spark, {"spark.data_skip.records.maxBytes": budget}):
            scan = fact_scan(lake, f"SELECT fact.* FROM fact JOIN dim ON {key} = id WHERE k >= 0")
        assert scan.files_read == read and note(scan, "the ranges of the files overlap") == (key == "m"), scan


def test_an_index_that_does_not_serve_the_scan_saves_nothing(lake: Lake) -> None:
    lake.view("otherwise", schema="k DECIMAL(20, 0), m BIGINT")
    scan = lake.query(
        "SELECT k, m FROM otherwise WHERE m >= 0 AND k IN (SELECT CAST(id AS DECIMAL(20, 0)) FROM VALUES (7L) AS v(id))"
    ).scans[-1]
    assert scan.files_read == FILES and note(scan, "MinMax(k) is not used") and not note(scan, "was run first"), scan


ROWS_OF_A_SIDE = f"SELECT id FROM range(0, 30, 1, 1) WHERE {SLOW}"
SIDES = {
    "rows": ROWS_OF_A_SIDE,
    "broadcast": f"SELECT a.id FROM range(0, 30, 1, 1) a JOIN ({ROWS_OF_A_SIDE}) b ON a.id = b.id",
    "groups": f"SELECT id FROM ({ROWS_OF_A_SIDE}) GROUP BY id",
}


@pytest.mark.long
@pytest.mark.parametrize("side", ["rows", "broadcast", "groups"])
def test_a_side_that_takes_long_is_ended(lake: Lake, side: str) -> None:
    with settings_of(lake.spark, {"spark.data_skip.join.maxSeconds": "0.2"}):
        scan = fact_scan(lake, f"SELECT k FROM fact WHERE m >= 0 AND k IN ({SIDES[side]})")
    assert scan.files_read == FILES and note(scan, "was not done in 0.2 s, and then ended"), scan


def test_a_sub_query_that_takes_long_is_ended(lake: Lake) -> None:
    with settings_of(lake.spark, {"spark.data_skip.join.maxSeconds": "0.2", "spark.sql.adaptive.enabled": "false"}):
        scan = fact_scan(lake, f"SELECT k FROM fact WHERE m >= 0 AND k = (SELECT max(id) FROM ({SIDES['rows']}))")
    assert scan.files_read == FILES and note(scan, "was not done in 0.2 s, and then ended"), scan


def test_what_fills_a_cache_is_not_ended(lake: Lake) -> None:
    """The query reads it as well, and what is cached would be an error: here the small side fills it before the join does."""
    settings = {
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.autoBroadcastJoinThreshold": "-1",
        "spark.data_skip.join.maxSeconds": "0.2",
    }
    frame = lake.spark.sql(SIDES["groups"]).cache()
    frame.createOrReplaceTempView("kept")
    try:
        with settings_of(lake.spark, settings):
            rows = lake.spark.sql("SELECT k FROM fact WHERE m >= 0 AND k IN (SELECT id FROM kept)").collect()
        assert sorted(row.k for row in rows) == list(range(30))
        assert note(lake.skipping.report().scans[-1], "was run first")
    finally:
        frame.unpersist()
        lake.spark.catalog.dropTempView("kept")


def test_no_time_runs_no_job(lake: Lake) -> None:
    with settings_of(lake.spark, {"spark.data_skip.join.maxSeconds": "0"}):
        scan = fact_scan(lake, "SELECT fact.* FROM fact JOIN dim ON k = id WHERE k >= 0")
    assert scan.files_read == FILES and note(scan, "0.0 s are over"), scan


def test_a_job_for_nearly_nothing_is_not_run(lake: Lake) -> None:
    sql = "SELECT fact.* FROM fact JOIN dim ON k = id WHERE k >= 0"
    with settings_of(lake.spark, {"spark.data_skip.join.leastBytes": "4m"}):
        scan = fact_scan(lake, sql)
    assert scan.files_read == FILES and note(scan, "a job takes longer than what it may save"), scan
    with settings_of(lake.spark, {"spark.data_skip.join.leastBytes": "few"}):
        assert note(fact_scan(lake, sql), "spark.data_skip.join.leastBytes=few is no size")
    with settings_of(lake.spark, {"spark.data_skip.join.leastBytes": "1m"}):
        assert fact_scan(lake, sql).files_read == 1
