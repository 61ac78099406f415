"""TRAPS, section D: which predicates belong to the scan. All over one table; `read_by_scan` tells its scans apart."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyspark
import pytest
from pyspark.sql import SparkSession

from data_skip import MinMax, Skipping, ValueList
from data_skip.files.listing import Listing
from tests.support import Lake, rows_of

ALL = {"low.parquet", "mid.parquet", "high.parquet", "void.parquet"}
HIGH = {"high.parquet"}
NOT_NULL = ALL - {"void.parquet"}
MOMENT = "to_timestamp(s, 'dd/MM/yyyy')"


@pytest.fixture(scope="module")
def lake(spark: SparkSession, skipping: Skipping, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    lake = Lake(spark, skipping, tmp_path_factory.mktemp("plans") / "table")
    day = ["31/01/2023", "01/02/2023", "03/04/2023"]
    lake.file("low.parquet", {"k": [1, 2, 3], "x": [1, 2, 3], "y": [100, 200, 300], "a": [[1, 90], [2], []], "s": day})
    lake.file("mid.parquet", {"k": [4, 5], "x": [50, 60], "y": [1, 2], "a": [[5], [6]], "s": ["01/01/2024", "02/01/2024"]})
    lake.file("high.parquet", {"k": [6, 7], "x": [150, 200], "y": [7, 8], "a": [[7], [80]], "s": ["30/12/2025", "31/12/2025"]})
    nothing = {"x": pa.array([None], pa.int64()), "a": pa.array([None], pa.list_(pa.int64()))}
    lake.file("void.parquet", {"k": [8], **nothing, "y": [9], "s": ["05/05/2026"]})
    lake.index(MinMax("x"), MinMax("y"), MinMax(MOMENT), MinMax("nvl(x, 1000)"), ValueList("x"))
    lake.view()
    spark.createDataFrame([(1, 100), (4, 150), (9, 200)], "k long, v long").createOrReplaceTempView("o")
    yield lake
    for view in ("t", "o"):
        spark.catalog.dropTempView(view)


@pytest.fixture
def scans(lake: Lake) -> Callable[[str], list[set[str]]]:
    """Compares the rows of a query, then gives the files that each of its skipping scans reads."""

    def read(sql: str) -> list[set[str]]:
        lake.query(sql)
        return read_by_scan(lake, sql)

    return read


def read_by_scan(lake: Lake, sql: str) -> list[set[str]]:
    found = []
    for scan in lake.skipping.jvm.scans(lake.spark.sql(sql)):
        listing = Listing.now(scan)
        lake.skipping.decide(listing)
        found.append({Path(path).name for path in listing.kept})
    return found


Scans = Callable[[str], list[set[str]]]


def test_d1_where_on_the_nullable_side_of_an_outer_join(lake: Lake, scans: Scans) -> None:
    assert scans("SELECT o.k, r.x FROM o LEFT JOIN t r ON o.k = r.k WHERE r.x IS NULL") in ([], [ALL])
    assert scans("SELECT o.k, r.x FROM t r RIGHT JOIN o ON o.k = r.k WHERE coalesce(r.x, 500) > 300") in ([], [ALL])
    assert scans("SELECT o.k, r.x FROM o FULL JOIN t r ON o.k = r.k WHERE r.x IS NULL OR r.x > 100") in ([], [ALL])
    # A predicate that no missing match satisfies turns the join into an inner one: its files are skipped.
    assert scans("SELECT o.k, r.x FROM o LEFT JOIN t r ON o.k = r.k WHERE r.x > 100") == [HIGH]


def test_d2_on_condition_of_the_preserved_side(lake: Lake, scans: Scans) -> None:
    assert scans("SELECT l.k, l.x, o.v FROM t l LEFT JOIN o ON l.k = o.k AND l.x > 100") in ([], [ALL])
    assert scans("SELECT l.k, l.x, o.v FROM o FULL JOIN t l ON l.k = o.k AND l.x > 100") in ([], [ALL])
    assert scans("SELECT l.k FROM t l LEFT ANTI JOIN o ON l.k = o.k AND l.x > 100") in ([], [ALL])
    # ON does select rows of the other side, of an inner join and of a semi join.
    assert scans("SELECT o.k, r.x FROM o LEFT JOIN t r ON o.k = r.k AND r.x > 100") == [HIGH]
    assert scans("SELECT l.k FROM t l JOIN o ON l.k + 3 = o.k AND l.x > 100") == [HIGH]
    assert scans("SELECT l.k FROM t l LEFT SEMI JOIN o ON l.k + 3 = o.k AND l.x > 100") == [HIGH]
    assert scans("SELECT o.k FROM o LEFT ANTI JOIN t r ON o.k = r.k AND r.x > 100") == [HIGH]


def test_d3_filters_above_aggregates_windows_limits_and_pivots(lake: Lake, scans: Scans) -> None:
    for sql in (
        "SELECT * FROM (SELECT k, x, row_number() OVER (ORDER BY k) AS rn FROM t) WHERE x > 100 AND rn = 7",
        "SELECT k % 2 AS g, max(x) AS m FROM t GROUP BY 1 HAVING max(x) > 100 AND min(x) < 10",
        "SELECT g, x FROM (SELECT k % 2 AS g, max(x) AS x FROM t GROUP BY 1) WHERE x > 100",
        "SELECT * FROM (SELECT k, x FROM t ORDER BY k LIMIT 6) WHERE x > 100",
        "SELECT * FROM (SELECT k, x FROM t ORDER BY k LIMIT 10 OFFSET 6) WHERE x > 100",
        "SELECT * FROM (SELECT k % 2 AS g, x FROM t) PIVOT (sum(x) FOR g IN (0 AS a, 1 AS b)) WHERE a > 100",
        "SELECT count(*), count_if(x > 100), sum(x) FILTER (WHERE x > 100) FROM t",
    ):
        assert scans(sql) in ([], [ALL]), sql
    # What the optimiser may push to the scan, it has pushed.
    assert scans("SELECT * FROM (SELECT DISTINCT x FROM t) WHERE x > 100") == [HIGH]
    assert scans("SELECT * FROM (SELECT x, sum(y) AS s FROM t GROUP BY x) WHERE x > 100") == [HIGH]
    assert scans("SELECT * FROM (SELECT x, y, rank() OVER (PARTITION BY x ORDER BY y) AS r FROM t) WHERE x > 100 AND r = 1") == [HIGH]
    assert scans("SELECT k, x FROM t WHERE x > 100 ORDER BY k LIMIT 1") == [HIGH]


def test_d4_each_scan_of_a_table_has_its_own_predicates(lake: Lake, scans: Scans) -> None:
    assert scans("SELECT p.k, q.k FROM t p JOIN t q ON p.k % 2 = q.k % 2 WHERE p.x > 100")[0] == HIGH
    assert scans("SELECT p.k, q.k FROM t p JOIN t q ON p.k = q.k + 5 WHERE p.x > 100 AND q.x < 10") == [HIGH, {"low.parquet"}]
    assert scans("WITH c AS (SELECT * FROM t) SELECT x FROM c WHERE x > 100 UNION ALL SELECT x FROM c WHERE x < 10") == [
        HIGH,
        {"low.parquet"},
    ]
    assert scans("SELECT k FROM t WHERE x > 100 UNION ALL SELECT k FROM t") in ([HIGH], [HIGH, ALL])
    assert scans("SELECT x FROM t EXCEPT ALL SELECT x FROM t WHERE x > 100")[-1] == HIGH
    assert scans("SELECT x FROM t EXCEPT SELECT x FROM t WHERE x > 100") == [ALL - HIGH]  # Spark makes it one filter
    assert {"mid.parquet"} in scans("SELECT x FROM t WHERE x BETWEEN 50 AND 60 INTERSECT SELECT x FROM t")


def test_d5_aliases_that_swap_rename_and_compute(lake: Lake, scans: Scans) -> None:
    assert scans("SELECT * FROM (SELECT y AS x, x AS y FROM t) WHERE x > 250") == [{"low.parquet"}]
    assert scans("SELECT * FROM (SELECT y AS x, x AS y FROM t) WHERE y > 100") == [HIGH]
    for computed in ("x + 145", "-x", "x * -1", "x % 50", "coalesce(x, 500)", "CASE WHEN x < 10 THEN 500 ELSE x END"):
        (read,) = scans(f"SELECT * FROM (SELECT {computed} AS x FROM t) WHERE x > 146")
        assert read >= HIGH or computed in ("-x", "x * -1", "x % 50")
    lake.spark.sql("SELECT k, y AS x, -x AS y FROM t").createOrReplaceTempView("swapped")
    assert scans("SELECT * FROM swapped WHERE x = 300") == [{"low.parquet"}]
    lake.query("SELECT * FROM swapped WHERE y < -100")
    lake.query("SELECT o.k FROM o, t WHERE o.k = t.k AND v > 100")
    # Two steps of aliases still lead to the column.
    assert scans("SELECT * FROM (SELECT u AS w FROM (SELECT x AS u FROM t)) WHERE w > 100") == [HIGH]


def test_d6_exploded_column_with_the_name_of_a_table_column(lake: Lake, scans: Scans) -> None:
    for view in ("LATERAL VIEW", "LATERAL VIEW OUTER"):
        assert scans(f"SELECT t.k, e.x FROM t {view} explode(a) e AS x WHERE e.x > 60") in ([], [ALL])
        assert scans(f"SELECT t.k, e.x FROM t {view} explode(a) e AS x WHERE t.x > 100 AND e.x > 60") == [HIGH]
    assert scans("SELECT * FROM (SELECT explode(a) AS x FROM t) WHERE x > 60") in ([], [ALL])
    lake.query("SELECT k, e.x FROM t, LATERAL (SELECT t.x + 1 AS x) e WHERE e.x > 100")


def test_d7_results_of_subqueries_are_not_known_at_planning(lake: Lake, scans: Scans) -> None:
    for sql in (
        "SELECT * FROM t WHERE x > (SELECT min(v) FROM o)",
        "SELECT * FROM t WHERE x IN (SELECT v FROM o)",
        "SELECT * FROM t WHERE x NOT IN (SELECT v FROM o)",
        "SELECT * FROM t WHERE x = 1 OR x IN (SELECT v FROM o)",
        "SELECT * FROM t WHERE EXISTS (SELECT 1 FROM o WHERE o.k = t.k AND o.v > t.x)",
        "SELECT * FROM t WHERE x > (SELECT max(v) - 140 FROM o WHERE o.k = t.k)",
    ):
        assert all(read >= NOT_NULL for read in scans(sql)), sql
    assert scans("SELECT * FROM t WHERE x > (SELECT min(v) FROM o) AND x > 60") == [HIGH]
    # Inside of subqueries, and beside them, files are skipped.
    assert scans("SELECT k FROM o WHERE v IN (SELECT x FROM t WHERE x > 100)") == [HIGH]
    lake.query("SELECT k FROM o WHERE v < (SELECT max(x) FROM t WHERE x > 100)")
    assert lake.skipping.report().scans[-1].files_read == 1
    # Nothing of one run is kept for the next.
    lake.spark.createDataFrame([(1, 2)], "k long, v long").createOrReplaceTempView("bounds")
    sql = "SELECT * FROM t WHERE x < (SELECT max(v) FROM bounds)"
    lake.query(sql)
    lake.spark.createDataFrame([(1, 1000)], "k long, v long").createOrReplaceTempView("bounds")
    assert len(rows_of(lake.spark.sql(sql))) == 7


def test_d8_values_of_this_execution(lake: Lake, scans: Scans) -> None:
    spark = lake.spark
    spark.sql("DECLARE OR REPLACE VARIABLE lim_v BIGINT DEFAULT 100")
    sql = "SELECT * FROM t WHERE x > lim_v"
    assert scans(sql) == [HIGH]
    spark.sql("SET VARIABLE lim_v = 10")
    assert scans(sql) == [{"mid.parquet", "high.parquet"}]
    with lake.skipping.disabled():
        expected = rows_of(spark.sql("SELECT * FROM t WHERE x > 10"))
    for limit in (100, 10):
        frame = spark.sql("SELECT * FROM t WHERE x > :limit", args={"limit": limit})
        assert len(frame.collect()) == sum(row.count(f"x={x}") for row in expected for x in (50, 60, 150, 200) if x > limit)
        assert lake.skipping.report().scans[-1].files_read == (1 if limit == 100 else 2)
    assert scans(f"SELECT * FROM t WHERE {MOMENT} > now() + INTERVAL 100 YEARS") == [set()]
    assert scans(f"SELECT * FROM t WHERE {MOMENT} < least(current_date(), DATE'2023-12-31')") == [{"low.parquet"}]


@pytest.mark.parametrize(
    ("where", "most"),
    [
        ("_metadata.file_name = 'low.parquet' OR x = 150", ALL),
        ("_metadata.file_name = 'low.parquet' AND x < 60", {"low.parquet", "mid.parquet"}),
        ("input_file_name() LIKE '%low%' OR x = 150", ALL),
        ("_metadata.file_size > 0 AND x = 150", HIGH),
        ("_metadata.file_modification_time > TIMESTAMP'2020-01-01' AND x > 100", HIGH),
    ],
)
def test_d9_names_of_files(lake: Lake, scans: Scans, where: str, most: set[str]) -> None:
    table = f"parquet.`{lake.folder}`"
    assert scans(f"SELECT *, _metadata.file_name, _metadata.file_path FROM {table} WHERE {where}") == [most]
    assert scans(f"SELECT k, input_file_name() FROM {table} WHERE {where}") == [most]


def test_d10_what_depends_on_the_files_that_are_read_skips_none(lake: Lake, scans: Scans) -> None:
    for where in (
        "x = 150 OR rand() + k >= 0",
        "uuid() > '' OR x > 100",
        "monotonically_increasing_id() >= 0",
        "spark_partition_id() >= 0 OR x = 1",
    ):
        assert scans(f"SELECT * FROM t WHERE {where}") in ([], [ALL]), where
    assert scans("SELECT * FROM t WHERE rand() + k >= 0 AND x > 100") == [HIGH]
    assert scans("SELECT * FROM (SELECT *, monotonically_increasing_id() AS id FROM t) WHERE x > 100 AND id >= 0") in ([], [ALL])
    assert scans("SELECT count(*) FROM (SELECT * FROM t TABLESAMPLE (100 PERCENT)) WHERE x > 100") in ([], [ALL], [HIGH])
    # A limit without an order may give any rows, but as many of them.
    with lake.skipping.disabled():
        expected = lake.spark.sql("SELECT * FROM t WHERE x > 2 LIMIT 3").count()
    assert lake.spark.sql("SELECT * FROM t WHERE x > 2 LIMIT 3").count() == expected


def test_d11_names_mean_what_the_analyser_says(lake: Lake, scans: Scans) -> None:
    spark = lake.spark
    spark.sql("DECLARE OR REPLACE VARIABLE v BIGINT DEFAULT 100")  # o has a column of this name, t has none
    assert scans("SELECT * FROM t WHERE x > v") == [HIGH]
    assert scans("SELECT t.k FROM t, o WHERE t.x > v") == [NOT_NULL]
    spark.sql("DECLARE OR REPLACE VARIABLE y BIGINT DEFAULT 100")  # a column hides it
    assert scans("SELECT * FROM t WHERE x > y") == [{"mid.parquet", "high.parquet"}]


def test_d12_cached_frames_and_plans(lake: Lake, scans: Scans) -> None:
    spark = lake.spark
    cached = spark.table("t").cache()
    try:
        cached.createOrReplaceTempView("cached")
        assert spark.sql("SELECT * FROM cached WHERE x > 100").count() == 2  # fills the cache
        assert spark.sql("SELECT * FROM cached WHERE x < 10").count() == 3
        assert spark.sql("SELECT * FROM cached").count() == 8
    finally:
        cached.unpersist()
    filtered = spark.sql("SELECT * FROM t WHERE x > 100").cache()
    try:
        assert filtered.count() == 2
        assert lake.skipping.report().scans[-1].files_read == 1
        assert spark.sql("SELECT * FROM t WHERE x < 10").count() == 3
        assert filtered.where("x < 10").count() == 0
    finally:
        filtered.unpersist()
    frame = spark.sql("SELECT p.k, q.x FROM t p JOIN t q ON p.k = q.k WHERE p.x > 100")
    assert rows_of(frame) == rows_of(frame)


def test_d12_adaptive_plans_and_reused_exchanges(lake: Lake) -> None:
    spark = lake.spark
    sql = """SELECT a.x, b.n FROM (SELECT x, count(*) AS n FROM t WHERE x > 100 GROUP BY x) a
             JOIN (SELECT x, count(*) AS n FROM t WHERE {} GROUP BY x) b ON a.x = b.x OR a.n = b.n"""
    for setting in ("true", "false"):
        spark.conf.set("spark.sql.adaptive.enabled", setting)
        try:
            lake.query(sql.format("x > 100"))
            lake.query(sql.format("x < 10"))
        finally:
            spark.conf.unset("spark.sql.adaptive.enabled")


def test_d13_statistics_inserts_and_explain_commands(lake: Lake, scans: Scans) -> None:
    spark = lake.spark
    assert spark.sql("SELECT count(*) FROM t").collect()[0][0] == 8
    assert scans("SELECT count(*) FROM t WHERE x > 100") == [HIGH]
    spark.sql("DROP TABLE IF EXISTS d13_copy")
    spark.sql("CREATE TABLE d13_copy USING parquet AS SELECT k, x FROM t WHERE x > 100")
    try:
        assert lake.skipping.report().scans[-1].files_read == 1
        spark.sql("INSERT INTO d13_copy SELECT k, x FROM t WHERE x < 10")
        spark.sql("ANALYZE TABLE d13_copy COMPUTE STATISTICS FOR ALL COLUMNS")
        assert spark.sql("SELECT * FROM d13_copy").count() == 5
        spark.sql("INSERT OVERWRITE d13_copy SELECT k, x FROM t WHERE x IS NULL")
        assert spark.sql("SELECT k FROM d13_copy").collect()[0][0] == 8
    finally:
        spark.sql("DROP TABLE d13_copy")


def test_d13_streams_read_every_file(lake: Lake, tmp_path: Path) -> None:
    spark = lake.spark
    stream = spark.readStream.schema("k long, x long, y long").parquet(str(lake.folder)).where("x > 100")
    query = (
        stream.writeStream.format("memory").queryName("d13").option("checkpointLocation", str(tmp_path)).trigger(availableNow=True).start()
    )
    query.awaitTermination()
    assert sorted(row["x"] for row in spark.table("d13").collect()) == [150, 200]
    static = spark.table("t").where("x > 100").select("k")
    joined = spark.readStream.schema("k long, x long, y long").parquet(str(lake.folder)).join(static, "k")
    seen: list[Any] = []
    query = joined.writeStream.foreachBatch(lambda batch, _: seen.extend(batch.collect())).trigger(availableNow=True).start()
    query.awaitTermination()
    assert sorted(row["x"] for row in seen) == [150, 200]


def test_d14_index_expressions_match_in_their_optimised_form(lake: Lake, scans: Scans) -> None:
    assert scans(f"SELECT * FROM t WHERE {MOMENT} = TIMESTAMP'2024-01-02'") == [{"mid.parquet"}]
    assert scans(f"SELECT * FROM t WHERE {MOMENT} BETWEEN DATE'2023-03-01' AND DATE'2023-12-31'") == [{"low.parquet"}]
    assert scans("SELECT * FROM t WHERE try_to_timestamp(s, 'MM/dd/yyyy') = DATE'2024-01-02'") in ([], [ALL])
    assert scans("SELECT * FROM t WHERE nvl(x, 1000) > 999") == [{"void.parquet"}]
    assert scans("SELECT * FROM t WHERE ifnull(x, 1000) > 999") == [{"void.parquet"}]
    assert scans("SELECT * FROM t WHERE nvl(x, 1001) > 999") in ([ALL], [{"void.parquet"}])
    assert scans("SELECT * FROM t WHERE nullif(x, 150) > 150")[0] >= HIGH
    assert scans("SELECT * FROM t WHERE x BETWEEN 55 AND 149") == [{"mid.parquet"}]


def test_d14_index_over_a_cast_that_spark_unwraps_in_comparisons(spark: SparkSession, skipping: Skipping, tmp_path: Path) -> None:
    lake = Lake(spark, skipping, tmp_path / "dates")
    lake.file("2023.parquet", {"s": ["31/01/2023", "01/02/2023"]})
    lake.file("2024.parquet", {"s": ["01/01/2024", "02/01/2024"]})
    lake.index(MinMax("to_date(s, 'dd/MM/yyyy')"))
    lake.view("dates")
    day = "to_date(s, 'dd/MM/yyyy')"
    lake.query(f"SELECT * FROM dates WHERE {day} IN (DATE'2024-01-02', DATE'2024-01-09')", read=["2024.parquet"])
    # Spark turns these into comparisons of the moment below the cast.
    lake.query(f"SELECT * FROM dates WHERE {day} = DATE'2024-01-02'", read=["2024.parquet"])
    lake.query(f"SELECT * FROM dates WHERE {day} <= DATE'2023-12-31'", read=["2023.parquet"])
    lake.index(MinMax("to_timestamp(s, 'dd/MM/yyyy')"))
    below = pyspark.__version__.startswith("4.0.")  # later versions have another tree below the cast, and read both files
    lake.query(f"SELECT * FROM dates WHERE {day} = DATE'2024-01-02'", read=["2024.parquet"] if below else None)
    lake.query(f"SELECT * FROM dates WHERE {day} <= DATE'2023-12-31'", read=["2023.parquet"] if below else None)


def test_d15_reader_options_inside_a_view(spark: SparkSession, skipping: Skipping, tmp_path: Path) -> None:
    lake = Lake(spark, skipping, tmp_path / "csv")
    for name, value in (("a.csv", "NA"), ("b.csv", "x")):
        lake.spark_file(name, spark.createDataFrame([(value,), (value,)], "s string"), "csv")
    lake.index(MinMax("s"), format="csv", schema="s string", options={"nullValue": "NA"})
    lake.view("d15", "csv", "s string", nullValue="NA")
    lake.query("SELECT * FROM d15 WHERE s IS NULL", read=["a.csv"])
    lake.view("d15", "csv", "s string")
    lake.query("SELECT * FROM d15 WHERE s = 'NA'", read=["a.csv", "b.csv"])
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW d15 (s string) USING csv OPTIONS (path '{lake.folder}')")
    lake.query("SELECT * FROM d15 WHERE s = 'NA'", read=["a.csv", "b.csv"])
