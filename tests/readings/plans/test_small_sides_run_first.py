"""What is run first reads what the query reads, and takes its time once, however many scans ask for it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyspark import StorageLevel
from pyspark.sql import SparkSession

from data_skip import MinMax, ScanReport, Skipping
from tests.support import Lake, settings_of

FILES, ROWS = 4, 500
SLOW = "aggregate(sequence(0L, 200000L + pad), 0L, (a, v) -> a + v % 7) >= 0"  # 20 ms


@pytest.fixture(scope="module")
def lake(spark: SparkSession, skipping: Skipping, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    random = np.random.default_rng(1)
    lake = Lake(spark, skipping, tmp_path_factory.mktemp("sides") / "fact")
    for f in range(FILES):
        wide = {f"c{i}": random.integers(0, 1 << 60, ROWS) for i in range(10)}
        lake.file(f"{f}.parquet", {"k": np.arange(f * ROWS, (f + 1) * ROWS), **wide})
    lake.index(MinMax("k"))
    lake.view("fact")
    yield lake
    spark.catalog.dropTempView("fact")


@pytest.fixture
def dim(lake: Lake, tmp_path: Path) -> Iterator[Lake]:
    dim = Lake(lake.spark, lake.skipping, tmp_path / "dim")
    dim.file("0.parquet", {"id": list(range(40)), "pad": [0] * 40})
    dim.view("dim")
    yield dim
    lake.spark.catalog.dropTempView("dim")


@pytest.mark.parametrize("columns", [["id", "pad"], ["id"]])
def test_rows_of_a_cache_that_the_query_does_not_read(lake: Lake, dim: Lake, columns: list[str]) -> None:
    """A part of the optimised query equals a DataFrame that was cached before files were added; the query itself does not."""
    older = dim.view("dim").where("pad IS NOT NULL AND pad = 0L AND id IS NOT NULL").select(*columns).cache()
    try:
        assert older.count() == 40
        dim.file("1.parquet", {"id": [ROWS + 1], "pad": [0]})
        dim.view("dim")
        for kind in ("JOIN", "LEFT SEMI JOIN", "RIGHT JOIN"):
            for selected in ("fact.k", "fact.*"):
                lake.query(f"SELECT {selected} FROM fact {kind} dim ON k = id AND pad = 0")
        lake.query("SELECT k, pad FROM fact JOIN dim ON k = id WHERE pad = 0")
    finally:
        older.unpersist()


def test_a_cache_that_the_query_reads_serves_it(lake: Lake, dim: Lake) -> None:
    kept = dim.view("dim").where("pad = 0").cache()
    try:
        scan = lake.query("SELECT k FROM fact JOIN dim ON k = id AND pad = 0").scans[-1]
        kept.createOrReplaceTempView("dim")
        scan = lake.query("SELECT k FROM fact JOIN dim ON k = id").scans[-1]
        assert scan.files_read == 1, scan
    finally:
        kept.unpersist()


def test_a_side_of_many_scans_takes_its_time_once(lake: Lake, dim: Lake) -> None:
    """By what reports say: clocks tell less of it, on a machine that does other things."""
    scans = 5
    union = " UNION ALL ".join(["SELECT k FROM fact WHERE c0 >= 0"] * scans)
    sql = f"SELECT k FROM ({union}) WHERE k IN (SELECT id FROM dim WHERE {SLOW})"
    with settings_of(lake.spark, {"spark.data_skip.join.maxSeconds": "0.4"}):
        lake.spark.sql(sql).collect()
        notes = [note for scan in lake.skipping.report().scans for note in scan.notes if "is not used" in note]
    assert len([note for note in notes if "was not done in 0.4 s, and then ended" in note]) == 1, notes
    assert len([note for note in notes if "0.4 s are over" in note]) == scans - 1, notes


@pytest.mark.parametrize(("key", "type_"), [("v", "DOUBLE"), ("w", "FLOAT")])
def test_keys_that_are_fractions_are_served_by_their_range(lake: Lake, key: str, type_: str) -> None:
    """Spark's optimizer gives NaN one form, and 0.0 and -0.0: by functions that no index is of."""
    table = Lake(lake.spark, lake.skipping, lake.folder.parent / f"fractions-{key}")
    for f, values in enumerate([[-2.5, -0.0], [0.0, 0.5], [1.5, 2.5], [3.5, float("nan")], [None, None]]):
        rows = {key: pa.array(values, pa.float64() if key == "v" else pa.float32())}
        table.file(f"{f}", {**rows, **{f"c{i}": [f"{f}{i}" * 999] * 2 for i in range(9)}})
    table.index(MinMax(key))
    table.view("fractions")
    sides = {
        "(-0.0D), (NULL)": ("0 1", "0 1 4"),
        "(0.0D), (2.5D)": ("0 1 2", "0 1 2"),
        "(double('NaN'))": ("3", "3"),
        "(NULL), (1e300D)": ("3", "3 4"),  # whether a file with NaN ends with it, its range does not say
    }
    for side, read in sides.items():
        values = f"(SELECT CAST(x AS {type_}) AS x FROM VALUES {side} AS v(x))"
        for on, files in zip(("=", "<=>"), read, strict=True):
            scan = table.query(f"SELECT {key}, x FROM fractions JOIN {values} ON {key} {on} x").scans[-1]
            assert scan.files_read <= len(files.split()), (side, on, str(scan))
    table.query(f"SELECT {key} FROM fractions LEFT SEMI JOIN {values} ON x = {key}")
    lake.spark.catalog.dropTempView("fractions")


@pytest.mark.parametrize("seconds", ["99999999999", "9223372036854775807", "1e3"])
def test_any_time_is_a_time(lake: Lake, dim: Lake, seconds: str) -> None:
    with settings_of(lake.spark, {"spark.data_skip.join.maxSeconds": seconds}):
        scan = lake.query("SELECT k FROM fact JOIN dim ON k = id AND pad = 0").scans[-1]
    assert scan.files_read == 1, scan


@pytest.mark.parametrize("adaptive", ["true", "false"])
def test_what_is_broadcast_waits_for_no_broadcast(lake: Lake, dim: Lake, adaptive: str) -> None:
    """Spark has so many threads for that, and with all of them waiting a query would hang: with maxThreadThreshold=1 the first did."""
    joined = "(SELECT a.id, a.pad FROM dim a JOIN dim b ON a.id = b.id + 1)"
    with settings_of(lake.spark, {"spark.sql.adaptive.enabled": adaptive}):
        for side, used in ((joined, False), ("dim", True), (f"(SELECT * FROM {joined} UNION ALL SELECT * FROM dim)", False)):
            scan = of_fact(lake, f"SELECT /*+ BROADCAST(fact) */ fact.* FROM {side} d LEFT JOIN fact ON k = d.id")
            assert ("in which this one is broadcast" in str(scan.notes)) != used, (side, scan.notes)
            assert scan.files_read == (1 if used else FILES), side
        assert of_fact(lake, f"SELECT /*+ MERGE(fact) */ fact.* FROM fact LEFT SEMI JOIN {joined} d ON k = d.id").files_read == 1


def of_fact(lake: Lake, sql: str) -> ScanReport:
    """Compares rows; the report of the scan of `fact`."""
    (scan,) = (scan for scan in lake.query(sql).scans if scan.table.endswith("/fact"))
    return scan


def test_what_is_cached_may_be_computed_again(lake: Lake) -> None:
    """Where blocks go with an executor, or another thread takes the cache away, between the small side and the join."""
    levels = StorageLevel.MEMORY_ONLY, StorageLevel.MEMORY_AND_DISK
    for level, where, used in (*((level, "rand(1) >= 0", False) for level in levels), (levels[0], "id >= 0", True)):
        kept = lake.spark.sql(f"SELECT id FROM range(40) WHERE {where}").persist(level)
        kept.createOrReplaceTempView("kept")
        try:
            scan = of_fact(lake, "SELECT k FROM fact JOIN kept ON k = id AND k >= 0")
        finally:
            kept.unpersist(blocking=True)
            lake.spark.catalog.dropTempView("kept")
        assert scan.files_read == (1 if used else FILES), level
        assert ("what is cached may be computed again: it is not deterministic" in str(scan.notes)) != used, scan.notes


def test_which_records_a_reader_drops_depends_on_the_columns_it_reads(lake: Lake) -> None:
    side = Lake(lake.spark, lake.skipping, lake.folder.parent / "malformed")
    side.lines("0.csv", "1,1", f"{ROWS + 1},one")
    for mode, used in (("DROPMALFORMED", False), ("PERMISSIVE", True)):
        side.view("malformed", "csv", "id LONG, pad INT", mode=mode)
        scan = of_fact(lake, "SELECT fact.*, pad FROM fact JOIN malformed ON k = id AND k >= 0")
        assert ("depends on the columns read" in str(scan.notes)) != used, scan.notes
    lake.spark.catalog.dropTempView("malformed")


def test_a_zero_among_other_conditions_may_have_either_sign(lake: Lake) -> None:
    zeros = "(SELECT g, min(x) AS x FROM VALUES (0.0D, 1), (-0.0D, 1) AS v(x, g) GROUP BY g)"
    scan = of_fact(
        lake, f"SELECT k FROM fact JOIN {zeros} z ON k < {ROWS} * g AND startswith(CAST(k AS STRING), CAST(x AS STRING)) AND k >= 0"
    )
    assert scan.files_read == FILES and "was run first" in str(scan.notes), scan


def test_a_query_leaves_the_tags_of_its_thread(lake: Lake, dim: Lake) -> None:
    with settings_of(lake.spark, {"spark.sql.adaptive.enabled": "false"}):
        assert of_fact(lake, "SELECT /*+ MERGE(fact) */ k FROM fact JOIN dim ON k = id").files_read == 1
    assert not lake.spark.sparkContext.getJobTags()


@pytest.mark.parametrize("adaptive", ["true", "false"])
def test_a_broadcast_is_not_given_up_for_what_is_run_first(lake: Lake, dim: Lake, adaptive: str) -> None:
    """Spark gives a broadcast up after so many seconds; what was run in its thread took as long as it might elsewhere."""
    sql = f"SELECT /*+ BROADCAST(fact) */ fact.* FROM (SELECT * FROM dim WHERE {SLOW}) d LEFT JOIN fact ON k = d.id"
    with settings_of(lake.spark, {"spark.sql.adaptive.enabled": adaptive, "spark.sql.broadcastTimeout": "3"}):
        scan = of_fact(lake, sql)
        assert "was not done in 0.3 s, and then ended" in str(scan.notes), scan.notes
    with settings_of(lake.spark, {"spark.sql.adaptive.enabled": adaptive, "spark.sql.broadcastTimeout": "-1"}):
        assert of_fact(lake, sql.replace(SLOW, "id >= 0")).files_read == 1
