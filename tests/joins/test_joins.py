"""Joins: the rows of a small side choose the files of the other (sideways information passing)."""

from __future__ import annotations

import gzip
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from data_skip import BloomFilter, MinMax, ScanReport, Skipping, ValueList
from tests.support import Lake, settings_of

FILES = 8


@pytest.fixture(scope="module")
def lake(spark: SparkSession, skipping: Skipping, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    """A fact table of 8 files: k and d ascend from file to file, b is scattered; dimensions `dim` (a file) and `inline` (literal rows)."""
    lake = Lake(spark, skipping, tmp_path_factory.mktemp("joins") / "fact")
    for f in range(FILES):
        rows = range(f * 100, f * 100 + 100)
        columns = {
            "k": pa.array([None if i % 50 == 49 else i for i in rows], pa.int32()),
            "d": [f"day {i // 20:03}" for i in rows],
            "b": [f"u{i * 7919 % 800}" for i in rows],
            "v": [float(i) for i in rows],
            "pad": [f"{i * 2654435761 % 2**32:032b}" * 8 for i in rows],
        }
        lake.file(f"f{f}.parquet", columns)
    lake.index(MinMax("k"), ValueList("d"), BloomFilter("b", fpp=1e-6), MinMax("v"))
    lake.view("fact")
    dim = Lake(spark, skipping, lake.folder.parent / "dim")
    ids = range(0, 800, 10)
    dim.file("dim.parquet", {"id": list(ids), "day": [f"day {i // 20:03}" for i in ids], "year": [2020 + i // 200 for i in ids]})
    dim.view("dim")
    spark.sql("SELECT * FROM VALUES (150L, 'a'), (155L, 'b'), (NULL, 'c'), (9999L, 'd') AS t(id, name)").createOrReplaceTempView("inline")
    yield lake
    for view in ("fact", "dim", "inline"):
        spark.catalog.dropTempView(view)


def fact_scan(lake: Lake, sql: str) -> ScanReport | None:
    """Compares rows; the report of the scan of `fact`, if it had one."""
    before = [report.execution_id for report in lake.skipping.reports()]
    report = lake.query(sql)
    scans = [scan for scan in report.scans if scan.table.endswith("/fact")] if report.execution_id not in before else []
    return scans[-1] if scans else None


def read(lake: Lake, sql: str) -> int:
    scan = fact_scan(lake, sql)
    return scan.files_read if scan else FILES


def test_a_side_that_is_run_first_is_told_of_once(lake: Lake) -> None:
    report = lake.query("SELECT f.k, d.day FROM fact f JOIN dim d ON f.k = d.id WHERE d.year = 2021")
    assert sorted((scan.table.rpartition("/")[2], scan.files_read, scan.files_total) for scan in report.scans) == [
        ("dim", 1, 1),
        ("fact", 2, 8),
    ]


@pytest.mark.parametrize(
    ("sql", "files"),
    [
        ("SELECT f.k, d.day FROM fact f JOIN dim d ON f.k = d.id WHERE d.year = 2021", 2),
        ("SELECT f.k, d.day FROM dim d JOIN fact f ON f.k = d.id WHERE d.year = 2021", 2),
        ("SELECT f.k, i.name FROM fact f JOIN inline i ON f.k = i.id", 1),
        ("SELECT f.k, i.name FROM fact f JOIN inline i ON f.k <=> i.id", 8),
        ("SELECT f.k, i.name FROM fact f LEFT JOIN inline i ON f.k = i.id", 8),
        ("SELECT f.k, i.name FROM inline i LEFT JOIN fact f ON f.k = i.id", 1),
        ("SELECT f.k, i.name FROM fact f RIGHT JOIN inline i ON f.k = i.id", 1),
        ("SELECT f.k, i.name FROM inline i RIGHT JOIN fact f ON f.k = i.id", 8),
        ("SELECT f.k, i.name FROM fact f FULL JOIN inline i ON f.k = i.id", 8),
        ("SELECT f.k FROM fact f LEFT SEMI JOIN inline i ON f.k = i.id", 1),
        ("SELECT f.k FROM fact f LEFT ANTI JOIN inline i ON f.k = i.id", 8),
        ("SELECT i.name FROM inline i LEFT SEMI JOIN fact f ON f.k = i.id", 1),
        ("SELECT i.name FROM inline i LEFT ANTI JOIN fact f ON f.k = i.id", 1),
        ("SELECT k FROM fact WHERE k IN (SELECT id FROM inline)", 1),
        ("SELECT k FROM fact WHERE k NOT IN (SELECT id FROM inline WHERE id IS NOT NULL)", 8),
        ("SELECT k FROM fact f WHERE EXISTS (SELECT 1 FROM inline i WHERE i.id = f.k AND i.name = 'a')", 1),
        ("SELECT k FROM fact f WHERE NOT EXISTS (SELECT 1 FROM inline i WHERE i.id = f.k)", 8),
        ("SELECT k FROM fact WHERE k = 1 OR k IN (SELECT id FROM inline)", 8),
        ("SELECT k FROM fact WHERE d IN (SELECT day FROM dim WHERE year = 2023)", 2),
        ("SELECT k FROM fact WHERE b IN (SELECT concat('u', id) FROM inline WHERE name < 'c')", 2),
        ("SELECT f.k FROM fact f JOIN dim d ON f.k = d.id AND f.d = d.day WHERE d.id IN (0, 10, 700)", 2),
        ("SELECT f.k FROM fact f JOIN inline i ON f.k = i.id + 1", 1),
        ("SELECT f.k FROM fact f JOIN inline i ON f.k BETWEEN i.id - 5 AND i.id + 5", 1),
        ("SELECT f.k FROM fact f JOIN inline i ON f.k = i.id AND f.v > i.id", 1),
        ("SELECT k FROM fact WHERE v > (SELECT max(id) - 100 FROM dim)", 2),
        ("SELECT k FROM fact WHERE k = (SELECT min(id) FROM dim WHERE year = 2022)", 1),
        ("SELECT f.k FROM fact f JOIN dim d ON f.k = d.id JOIN inline i ON f.d = concat('day 0', i.id - 140) WHERE d.year < 2030", 2),
        ("SELECT n, count(*) FROM (SELECT k % 7 AS n, k AS x FROM fact WHERE v >= 0) f JOIN inline i ON f.x = i.id GROUP BY n", 1),
        ("SELECT f.k FROM fact f JOIN (SELECT max(id) AS top FROM dim GROUP BY year) d ON f.k = d.top", 4),
        ("SELECT f.k FROM fact f JOIN inline i ON f.k = i.id WHERE i.id IS NULL", 8),
        ("SELECT f.k, n FROM (SELECT k, count(*) AS n FROM fact GROUP BY k) f JOIN inline i ON f.k = i.id", 1),
        ("SELECT f.h, n FROM (SELECT k DIV 2 AS h, sum(v) AS n FROM fact GROUP BY k DIV 2) f JOIN inline i ON f.h = i.id DIV 2", 1),
        ("SELECT f.n FROM (SELECT k, count(*) AS n FROM fact GROUP BY k) f JOIN inline i ON f.n = i.id - 149", 8),
        ("SELECT f.n FROM (SELECT count(*) AS n, max(k) AS k FROM fact) f JOIN inline i ON f.k = i.id", 8),
        ("SELECT f.k, n FROM (SELECT k, v, count(*) AS n FROM fact GROUP BY ROLLUP (k, v)) f JOIN inline i ON f.k = i.id", 8),
        ("SELECT f.v FROM (SELECT v, count(*) FROM fact GROUP BY v) f JOIN inline i ON f.v = i.id", 8),
        ("SELECT f.k FROM (SELECT DISTINCT k, d FROM fact) f JOIN inline i ON f.k = i.id", 1),
        (
            "SELECT f.k FROM (SELECT k, row_number() OVER (PARTITION BY k ORDER BY v) AS n FROM fact) f"
            " JOIN inline i ON f.k = i.id AND n = 1",
            1,
        ),
        ("SELECT f.n FROM (SELECT k, row_number() OVER (PARTITION BY d ORDER BY v) AS n FROM fact) f JOIN inline i ON f.k = i.id", 8),
        (
            "SELECT f.k, r FROM (SELECT k, d, rank() OVER (PARTITION BY d ORDER BY v) AS r FROM fact) f"
            " JOIN dim i ON f.d = i.day AND year = 2023",
            2,
        ),
        ("SELECT f.k FROM (SELECT /*+ REPARTITION(3) */ * FROM fact) f JOIN inline i ON f.k = i.id", 1),
        ("SELECT f.k FROM (SELECT k FROM fact ORDER BY v LIMIT 700) f JOIN inline i ON f.k = i.id", 8),
        ("SELECT f.x FROM (SELECT k AS x, d FROM fact UNION ALL SELECT id, day FROM dim) f JOIN inline i ON f.x = i.id", 1),
        ("SELECT f.k FROM fact f JOIN dim d ON f.k = d.id WHERE d.year = 1999", 8),
    ],
)
def test_files_read_of_the_large_side(lake: Lake, sql: str, files: int) -> None:
    assert read(lake, sql) == files, str(lake.skipping.report())


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT f.k FROM fact f JOIN (SELECT id FROM dim LIMIT 3) d ON f.k = d.id",
        "SELECT f.k FROM fact f JOIN (SELECT id FROM dim WHERE rand() >= 1e-9) d ON f.k = d.id",
        "SELECT k FROM fact WHERE v > (SELECT avg(id) FROM dim)",
        "SELECT k FROM fact WHERE v > (SELECT sum(id / 7) FROM dim)",
        "SELECT f.k FROM fact f JOIN (SELECT first(id) AS id FROM dim GROUP BY year) d ON f.k = d.id",
    ],
)
def test_what_may_give_other_rows_a_second_time_is_not_run(lake: Lake, sql: str) -> None:
    scan = fact_scan(lake, sql)
    assert scan is None or scan.files_read == FILES
    assert scan is None or not any("was run first" in note for note in scan.notes)


def test_a_large_other_side_is_not_run(lake: Lake) -> None:
    sql = "SELECT f.k FROM fact f JOIN dim d ON f.k = d.id WHERE d.year = 2021 AND f.v >= 0"
    with settings_of(lake.spark, {"spark.data_skip.join.maxBytes": "100"}):
        scan = fact_scan(lake, sql)
    assert scan is not None and scan.files_read == FILES
    assert any("more than spark.data_skip.join.maxBytes=100" in note for note in scan.notes)
    lake.spark.sql("SELECT * FROM fact").createOrReplaceTempView("same")
    scan = fact_scan(lake, "SELECT f.k FROM fact f JOIN same s ON f.k = s.k + 1 WHERE s.v >= 0")
    assert scan is None or scan.files_read == FILES  # as large as the table itself


def test_text_costs_what_it_is_unpacked(lake: Lake) -> None:
    folder = Lake(lake.spark, lake.skipping, lake.folder.parent / "text")
    lines = "".join(f"{i},{i * 2654435761 % 2**32:032b}\n" for i in range(100)).encode()
    for name, content in (("packed.csv.gz", gzip.compress(lines)), ("plain.csv", lines[: len(gzip.compress(lines))])):
        path = folder.bytes(name, content)
        view = name.split(".")[0]
        lake.spark.read.csv(str(path), schema="id int, pad string").createOrReplaceTempView(view)
        size = len(content) * (8 if view == "packed" else 1)
        with settings_of(lake.spark, {"spark.data_skip.join.maxBytes": str(size - 1)}):
            scan = fact_scan(lake, f"SELECT f.k FROM fact f JOIN {view} p ON f.k = p.id AND p.id < 10 WHERE f.v >= 0")
        assert scan is not None and any(f"may read {size} bytes" in note for note in scan.notes), view


def test_a_side_that_compares_all_rows_with_all_is_not_run(lake: Lake) -> None:
    rows = "range(0, 160, 1, 1)"
    for on, files in (("a.id = b.id", 1), ("a.id + b.id * 7 = 20", FILES), ("a.id < b.id AND a.id = 3 AND b.id > 100", FILES)):
        pairs = f"SELECT a.id FROM {rows} a JOIN {rows} b ON {on} WHERE a.id < 20"
        scan = fact_scan(lake, f"SELECT k FROM fact WHERE v >= 0 AND k IN ({pairs})")
        assert (scan.files_read if scan else FILES) == files, on


def test_sizes_are_written_as_sparks_own(lake: Lake) -> None:
    sql = "SELECT f.k FROM fact f JOIN dim d ON f.k = d.id WHERE d.year = 2021 AND f.v >= 0"
    with settings_of(lake.spark, {"spark.data_skip.join.maxBytes": " 64M "}):
        scan = fact_scan(lake, sql)
    assert scan is not None and scan.files_read < FILES
    with settings_of(lake.spark, {"spark.data_skip.join.maxBytes": "much"}):
        scan = fact_scan(lake, sql)
    assert scan is not None and scan.files_read == FILES
    assert any("spark.data_skip.join.maxBytes=much is no size" in note for note in scan.notes)
    scan = fact_scan(lake, "SELECT f.k FROM fact f JOIN dim d ON f.k = d.id WHERE d.year = 2021 AND f.k = 30")
    assert scan is not None and scan.files_read == 1
    assert any("other predicates leave 1 file with" in note for note in scan.notes)


def test_the_report_tells_of_the_join(lake: Lake) -> None:
    scan = fact_scan(lake, "SELECT f.k FROM fact f JOIN inline i ON f.k = i.id")
    assert scan is not None
    assert any("f.k" in note and "was run first, in" in note for note in scan.notes)
    assert "IN (" in scan.predicates[0].predicate


@pytest.fixture
def many(lake: Lake) -> Iterator[None]:
    """Views `many`, of 12,000 ids and as many days that are in no file but the first two, and `more`, of 120,000."""
    for name, ids in (("many", range(150, 12_150)), ("more", range(150, 120_150))):
        path = lake.folder.parent / f"{name}.parquet"
        columns = pa.table({"id": pa.array(ids, pa.int64())})
        pq.write_table(columns, path, use_dictionary=False, column_encoding={"id": "DELTA_BINARY_PACKED"})
        day = "concat(IF(id < 260, 'day ', 'no day '), lpad(id DIV 20, 3, '0'), IF(id < 260, '', string(id))) AS day"
        lake.spark.read.parquet(str(path)).selectExpr("id", day).createOrReplaceTempView(name)
    yield
    for name in ("many", "more"):
        lake.spark.catalog.dropTempView(name)


@pytest.mark.parametrize(
    ("sql", "files"),
    [
        ("SELECT v FROM fact JOIN many ON k = id", 7),
        ("SELECT v FROM fact JOIN more ON k = id", 7),
        ("SELECT v FROM fact JOIN many ON d = day", 2),
        ("SELECT v FROM fact WHERE d IN (SELECT day FROM many)", 2),
        ("SELECT v FROM fact JOIN more ON d = day", 7),
        ("SELECT v FROM fact JOIN many ON k <=> id", 7),
        ("SELECT v FROM fact JOIN (SELECT id FROM many UNION ALL SELECT NULL) m ON k <=> m.id", 8),
    ],
)
def test_many_keys_become_their_range_and_a_bloom_filter(lake: Lake, many: None, sql: str, files: int) -> None:
    scan = fact_scan(lake, sql)
    assert scan is not None and scan.files_read == files, str(scan)
    assert not any(" IN (" in predicate.predicate for predicate in scan.predicates)


def test_some_hundred_keys_are_told_with_their_range(lake: Lake, many: None) -> None:
    scan = fact_scan(lake, "SELECT v FROM fact LEFT SEMI JOIN many ON k = id AND id % 2 = 0 AND id < 460")
    assert scan is not None and scan.files_read == 4, str(scan)
    assert any(" IN (" in predicate.predicate for predicate in scan.predicates)


def test_cached_rows_and_rdds(lake: Lake) -> None:
    """An RDD may give other rows each time, also as a cache whose blocks are lost."""
    sql = "SELECT f.k FROM fact f JOIN made m ON f.k = m.id"
    of_rdd = lake.spark.createDataFrame([(150, "a"), (None, "b")], "id long, name string")
    for frame, files in ((of_rdd, FILES), (lake.spark.sql("SELECT 150L AS id UNION ALL SELECT NULL"), 1)):
        frame.createOrReplaceTempView("made")
        assert read(lake, sql) == files
        frame.cache()
        try:
            assert read(lake, sql) == files
        finally:
            frame.unpersist()
            lake.spark.catalog.dropTempView("made")


def test_d12_keys_are_those_of_this_run(lake: Lake, spark: SparkSession) -> None:
    other = Lake(spark, lake.skipping, lake.folder.parent / "changing")
    sql = "SELECT f.k FROM fact f JOIN changing c ON f.k = c.id"
    for keys, files in (([10], 1), ([110, 250], 2), ([701], 1)):
        other.file("one.parquet", {"id": keys})
        other.view("changing")
        assert read(lake, sql) == files
        assert sorted(row.k for row in spark.sql(sql).collect()) == keys
    spark.catalog.dropTempView("changing")


def test_without_adaptive_execution(lake: Lake) -> None:
    lake.spark.conf.set("spark.sql.adaptive.enabled", "false")
    try:
        assert read(lake, "SELECT f.k, d.day FROM fact f JOIN dim d ON f.k = d.id WHERE d.year = 2021") == 2
        lake.spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
        assert read(lake, "SELECT f.k, d.day FROM fact f JOIN dim d ON f.k = d.id WHERE d.year = 2021") == 2
    finally:
        lake.spark.conf.unset("spark.sql.adaptive.enabled")
        lake.spark.conf.unset("spark.sql.autoBroadcastJoinThreshold")


def test_explain_runs_nothing(lake: Lake) -> None:
    jobs = lake.spark.sparkContext.statusTracker()
    lake.spark.sparkContext.setJobGroup("explained", "explained")
    try:
        lake.spark.sql("SELECT f.k, d.day FROM fact f JOIN dim d ON f.k = d.id WHERE d.year = 2021").explain("formatted")
        assert jobs.getJobIdsForGroup("explained") == []
    finally:
        lake.spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)


def test_a_python_function_of_both_sides(lake: Lake) -> None:
    """Spark evaluates it above the join."""
    lake.spark.udf.register("same_day", lambda a, b: a == b, "boolean")
    assert read(lake, "SELECT f.k, d.id FROM fact f JOIN dim d ON same_day(f.d, d.day) WHERE d.year = 2021") == 2
    assert read(lake, "SELECT f.k, d.id FROM fact f JOIN dim d ON f.k > d.id AND same_day(f.d, d.day) WHERE d.year = 2021") == 2
