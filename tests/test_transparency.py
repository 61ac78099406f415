"""Skipping happens by itself: in SQL, DataFrames, views, catalog tables, joins, UDFs, streams, cached plans; and can be turned off."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import data_skip
from data_skip import MinMax, Prefix, QueryReport, ScanReport, Skipping, Suffix, ValueList, versioned
from data_skip.planning import callback
from data_skip.planning.callback import Callback
from data_skip.planning.decide import represent
from tests.support import Lake, aged, files_read, rows_of, settings_of

HIGH = {"high.parquet"}


@pytest.fixture(scope="module")
def lake(spark: SparkSession, skipping: Skipping, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    lake = Lake(spark, skipping, tmp_path_factory.mktemp("transparency") / "table")
    lake.file("low.parquet", {"k": [1, 2], "x": [1, 2], "s": ["Oslo", "Turku"]})
    lake.file("mid.parquet", {"k": [3, 4], "x": [50, 60], "s": ["Raipur", None]})
    lake.file("high.parquet", {"k": [5, 6], "x": [150, 200], "s": ["Jaipur", "Nagpur"]})
    lake.index(MinMax("x"), Suffix("s", 3), MinMax("k"))
    lake.view("trans")
    yield lake
    spark.catalog.dropTempView("trans")


def same(lake: Lake, frame: DataFrame, read: set[str] | None = None) -> QueryReport:
    """Compares a DataFrame's rows with and without skipping."""
    with lake.skipping.disabled():
        expected = rows_of(again(frame))
    assert rows_of(again(frame)) == expected
    report = lake.skipping.report()
    if read is not None:
        assert files_read(lake.skipping, again(frame), lake.folder) == read
    return report


def again(frame: DataFrame) -> DataFrame:
    """The same DataFrame, to be planned anew."""
    return frame.select("*")


def explained(frame: DataFrame, mode: str = "formatted") -> str:
    text = io.StringIO()
    with redirect_stdout(text):
        frame.explain(mode)
    return text.getvalue()


def test_sql_dataframes_views_ctes_subqueries_and_unions(lake: Lake) -> None:
    spark, folder = lake.spark, lake.folder
    frame = spark.read.parquet(str(folder))
    for other in (
        frame.where("x > 100"),
        frame.filter(F.col("x") > 100),
        frame.where(frame.x > 100).where(F.col("s").endswith("pur")).select("k"),
        frame.withColumn("z", F.col("x") * 2).withColumnRenamed("x", "w").where("w > 100"),
        frame.alias("a").where("a.x > 100").groupBy("k").count(),
        frame.where("x > 100").sort("k").limit(1),
        frame.selectExpr("x AS y").distinct().where("y BETWEEN 100 AND 1000"),
        spark.read.load(str(folder)).where("x = 150"),
        spark.read.format("parquet").option("path", str(folder)).load().where("x IN (150, 151)"),
    ):
        same(lake, other, HIGH)
    for sql in (
        f"SELECT * FROM parquet.`{folder}` WHERE x > 100",
        "SELECT k FROM (SELECT * FROM trans) a WHERE a.x > 100",
        "WITH c AS (SELECT k, x FROM trans), d AS (SELECT * FROM c WHERE x > 100) SELECT * FROM d",
        "SELECT count(*) FROM trans WHERE x > 100",
        "SELECT s, max(x) FROM trans WHERE x > 100 GROUP BY s HAVING max(x) > 10 ORDER BY 1",
        "SELECT * FROM trans WHERE s LIKE 'J%pur' AND x > 100",
        "SELECT CASE WHEN x > 100 THEN 'hot' END FROM trans WHERE NOT (x <= 100)",
        "SELECT * FROM trans WHERE k IN (SELECT max(k) FROM trans) AND x > 100",
        "SELECT 1 WHERE EXISTS (SELECT * FROM trans WHERE x > 100)",
    ):
        lake.query(sql)
        assert "EXISTS" in sql or "IN (SELECT" in sql or lake.read_by(sql) == HIGH, sql
        assert lake.skipping.report().scans[-1].files_read == 1, sql
    spark.sql("CREATE OR REPLACE TEMPORARY VIEW hot AS SELECT k, x AS temp FROM trans WHERE x > 55")
    lake.query("SELECT * FROM hot WHERE temp < 100", read=["mid.parquet"])
    spark.sql("CREATE OR REPLACE GLOBAL TEMPORARY VIEW hot AS SELECT * FROM hot")
    lake.query("SELECT * FROM global_temp.hot WHERE temp > 100", read=HIGH)
    both = lake.query("SELECT * FROM trans WHERE x > 100 UNION ALL SELECT * FROM trans WHERE x < 10 UNION SELECT * FROM trans WHERE k = 3")
    assert [scan.files_read for scan in both.scans] == [1, 1, 1]


def test_both_sides_of_joins(lake: Lake) -> None:
    for hint in ("BROADCAST(b)", "MERGE(b)", "SHUFFLE_HASH(b)"):
        report = lake.query(f"SELECT /*+ {hint} */ a.x, b.s FROM trans a JOIN trans b ON a.k = b.k + 4 WHERE a.x > 100 AND b.x < 10")
        assert [scan.files_read for scan in report.scans] == [1, 1], hint
    semi = lake.query("SELECT * FROM trans a LEFT SEMI JOIN trans b ON a.k = b.k AND b.x > 100 WHERE a.s LIKE '%pur'")
    assert sorted(scan.files_read for scan in semi.scans) == [1, 2]
    key = lake.query("SELECT * FROM trans a JOIN trans b ON a.x = b.x WHERE a.x > 100")
    assert [scan.files_read for scan in key.scans] == [1, 1]  # Spark infers it for the other side


def test_catalog_tables(lake: Lake) -> None:
    spark, skipping = lake.spark, lake.skipping
    spark.sql("CREATE DATABASE IF NOT EXISTS trans_db")
    try:
        spark.range(0, 100, 1, 4).selectExpr("id AS x", "id % 2 AS p", "concat('s', id) AS s").write.saveAsTable("trans_db.managed")
        skipping.table("trans_db.managed").create_index(MinMax("x"), Prefix("s", 2))
        scan = lake.query("SELECT * FROM trans_db.managed WHERE x = 99").scans[0]
        assert (scan.files_total, scan.files_read) == (4, 1)
        spark.sql("USE trans_db")
        assert lake.query("SELECT * FROM managed WHERE s = 's42'").scans[0].files_read <= 2
        spark.sql("USE default")
        spark.sql("INSERT INTO trans_db.managed VALUES (1000, 0, 'new')")
        scan = lake.query("SELECT * FROM trans_db.managed WHERE x >= 99").scans[0]
        assert (scan.files_total, scan.files_read, scan.files_unknown) == (5, 2, 1)
        assert skipping.table("trans_db.managed").refresh().files_collected == 1
        assert lake.query("SELECT * FROM trans_db.managed WHERE x = 99").scans[0].files_read == 1
        assert "1 file," not in str(skipping.table("trans_db.managed").describe())
        spark.sql("CREATE VIEW trans_db.v AS SELECT x + 0 AS y, x FROM trans_db.managed")
        assert lake.query("SELECT * FROM trans_db.v WHERE x = 1000").scans[0].files_read == 1
        spark.sql("TRUNCATE TABLE trans_db.managed")
        spark.sql("INSERT INTO trans_db.managed VALUES (5, 0, 'again')")
        lake.query("SELECT * FROM trans_db.managed WHERE x < 10")
        spark.sql("CREATE TABLE trans_db.external (x BIGINT, k BIGINT, s STRING) USING parquet LOCATION '" + str(lake.folder) + "'")
        lake.query("SELECT * FROM trans_db.external WHERE x > 100", read=HIGH)  # the index of the folder
    finally:
        spark.sql("USE default")
        spark.sql("DROP DATABASE trans_db CASCADE")


@pytest.mark.parametrize("in_catalog", [True, False])
def test_partitioned_tables(lake: Lake, tmp_path: Path, in_catalog: bool) -> None:
    spark, skipping = lake.spark, lake.skipping
    rows = spark.range(0, 90, 1, 1).selectExpr("id AS x", "id % 3 AS p", "CAST(id % 2 AS STRING) AS q", "concat('s', id) AS s")
    rows = rows.repartitionByRange(3, "x").sortWithinPartitions("p", "q")
    path = str(tmp_path / "parts")
    try:
        if in_catalog:
            rows.write.partitionBy("p", "q").saveAsTable("trans_parts")
        else:
            rows.write.partitionBy("p", "q").parquet(path)
        table = skipping.table("trans_parts" if in_catalog else path)
        for file in Path(table.root.removeprefix("file:")).rglob("*.parquet"):
            aged(file)  # one in a thousand is of a whole second, and counts as too new
        if not in_catalog:
            spark.read.parquet(path).createOrReplaceTempView("trans_parts")
        table.create_index(MinMax("x"), ValueList("s"))
        for where, total, read in (
            ("x < 30", 18, 6),
            ("p = 1 AND x < 30", 6, 2),
            ("p = 1 AND q = '0' AND x < 30", 3, 1),
            ("p IN (0, 2) AND s = 's30'", 12, 1),
            ("p = 1", 6, 6),
            ("p = 1 OR x = 5", 18, 18),
            ("q = '1' AND (p = 0 OR x > 80)", 9, 9),
            ("p = 7 AND x < 30", 0, 0),
            ("x + p > 1000 AND x < 30", 18, 6),
        ):
            scan = lake.query(f"SELECT * FROM trans_parts WHERE {where}").scans[0]
            assert scan.files_total == total, where
            assert scan.files_read <= read, where
        small = spark.createDataFrame([(1, "1")], "p long, q string")
        small.createOrReplaceTempView("trans_dim")
        lake.query("SELECT t.* FROM trans_parts t JOIN trans_dim d ON t.p = d.p WHERE d.q = '1' AND t.x < 30")  # dynamic partition pruning
        lake.query("SELECT p, q, count(*) FROM trans_parts WHERE x < 30 GROUP BY p, q")
        lake.query("SELECT DISTINCT p FROM trans_parts WHERE s = 's30'")
        if in_catalog:
            spark.sql("ALTER TABLE trans_parts DROP PARTITION (p = 0, q = '0')")
            spark.sql("INSERT INTO trans_parts VALUES (5, 's5', 9, '9')")
            scan = lake.query("SELECT * FROM trans_parts WHERE x = 5").scans[0]
            assert (scan.files_total, scan.files_unknown) == (16, 1)
            table.refresh()
            assert lake.query("SELECT * FROM trans_parts WHERE s = 's5'").scans[0].files_read <= 2
    finally:
        spark.sql("DROP TABLE IF EXISTS trans_parts") if in_catalog else spark.catalog.dropTempView("trans_parts")


@pytest.mark.long
def test_bucketed_tables(lake: Lake) -> None:
    spark = lake.spark
    try:
        for name in ("trans_b1", "trans_b2"):
            spark.range(0, 100, 1, 1).selectExpr("id", "id * 10 AS x").write.bucketBy(4, "id").sortBy("id").saveAsTable(name)
            lake.skipping.table(name).create_index(ValueList("x"), MinMax("id"))
        for setting in ("-1", "10MB"):
            spark.conf.set("spark.sql.autoBroadcastJoinThreshold", setting)
            report = lake.query("SELECT * FROM trans_b1 a JOIN trans_b2 b ON a.id = b.id WHERE a.x IN (100, 110)")
            assert min(scan.files_read for scan in report.scans) <= 2
        lake.query("SELECT * FROM trans_b1 WHERE id = 5 AND x = 50")
        lake.query("SELECT id, count(*) FROM trans_b1 WHERE x < 35 GROUP BY id")
        assert lake.query("SELECT * FROM trans_b1 WHERE x = 55").scans[0].files_read == 0
    finally:
        spark.conf.unset("spark.sql.autoBroadcastJoinThreshold")
        spark.sql("DROP TABLE IF EXISTS trans_b1")
        spark.sql("DROP TABLE IF EXISTS trans_b2")


@pytest.mark.long
def test_python_udfs_are_seen_through(lake: Lake) -> None:
    def plain(s):  # type: ignore[no-untyped-def]  # with hints, later versions of pyspark guess at an eval type and warn
        return None if s is None else s[::-1]

    def pandas(s: pd.Series) -> pd.Series:
        return s.str[::-1]

    functions: dict[str, Any] = {
        "plain": F.udf(versioned(plain, 1), "string"),
        "arrow": F.udf(versioned(plain, 1), "string", useArrow=True),
        "pandas": F.pandas_udf(versioned(pandas, 1), "string"),
    }
    spark, table = lake.spark, lake.table()
    for name, function in functions.items():
        spark.udf.register(f"rev_{name}", function)
        where = f"rev_{name}(s) LIKE 'rup%' AND x > 100 AND rev_{name}(concat(s, 'x')) LIKE 'x%'"
        lake.query(f"SELECT *, rev_{name}(s) r FROM trans WHERE {where}", read=HIGH)
        lake.query(
            f"SELECT * FROM (SELECT x, rev_{name}(s) AS r FROM trans) WHERE r LIKE 'rup%' AND x < 100", read=["low.parquet", "mid.parquet"]
        )
    # An index over a registered function.
    indexes = [index for name in functions for index in (ValueList(f"rev_{name}(s)"), MinMax(f"rev_{name}(s)"))]
    table.create_index(*indexes)
    try:
        for name in functions:
            lake.query(f"SELECT * FROM trans WHERE rev_{name}(s) = 'olsO'", read=["low.parquet"])
            lake.query(f"SELECT * FROM trans WHERE rev_{name}(s) IS NULL", read=["mid.parquet"])
            lake.query(f"SELECT r FROM (SELECT rev_{name}(s) AS r FROM trans) WHERE r LIKE 'rupg%'", read=HIGH)
        lake.query("SELECT r FROM (SELECT rev_plain(s) AS r FROM trans) WHERE coalesce(r, 'none') = 'none'", read=["mid.parquet"])
        lake.query("SELECT * FROM trans WHERE rev_plain(upper(s)) = 'OLSO'")
        lake.query("SELECT * FROM trans WHERE upper(rev_plain(s)) = 'OLSO'", read=["low.parquet"])
        same(lake, spark.table("trans").where(functions["plain"]("s") == "olsO"))  # not the registered one: perhaps the same
        # The function registered again is another one.
        spark.udf.register("rev_plain", F.udf(lambda s: "olsO", "string"))
        lake.query("SELECT * FROM trans WHERE rev_plain(s) = 'olsO'", read=["low.parquet", "mid.parquet", "high.parquet"])
        spark.udf.register("rev_plain", F.udf(plain, "string").asNondeterministic())
        lake.query("SELECT * FROM trans WHERE rev_plain(s) = 'olsO'")
        spark.sql("CREATE OR REPLACE TEMPORARY FUNCTION above(v BIGINT, n BIGINT) RETURNS BOOLEAN RETURN v > n")
        lake.query("SELECT * FROM trans WHERE above(x, 100)", read=HIGH)
    finally:
        table.drop_index(*indexes)


@pytest.mark.long
def test_streaming_reads(lake: Lake, tmp_path: Path) -> None:
    spark = lake.spark
    folder = Lake(spark, lake.skipping, tmp_path / "stream")
    folder.file("a.parquet", {"x": [1, 200]})
    folder.file("b.parquet", {"x": [2, 3]})
    folder.index(MinMax("x"))
    source = spark.readStream.schema("x long").parquet(str(folder.folder)).where("x > 100")
    seen: list[int] = []
    for value in (None, 300):
        if value:
            folder.file("c.parquet", {"x": [value]})
        writer = source.writeStream.foreachBatch(lambda batch, _: seen.extend(row.x for row in batch.collect()))
        writer.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True).start().awaitTermination()
    assert sorted(seen) == [200, 300]
    # What a stream wrote is a table with a log of its own.
    sink = str(tmp_path / "sink")
    source.writeStream.format("parquet").option("checkpointLocation", str(tmp_path / "cp2")).trigger(availableNow=True).start(
        sink
    ).awaitTermination()
    lake.skipping.table(sink).create_index(MinMax("x"))
    spark.read.parquet(sink).createOrReplaceTempView("sink")
    assert lake.query("SELECT * FROM sink WHERE x > 250").scans[0].files_read <= 2
    assert lake.query("SELECT * FROM sink WHERE x > 999").scans[0].files_read == 0


def test_cached_plans_and_frames_that_run_again(lake: Lake, tmp_path: Path) -> None:
    spark = lake.spark
    other = Lake(spark, lake.skipping, tmp_path / "cached")
    other.file("a.parquet", {"x": [1, 2]})
    other.file("b.parquet", {"x": [100, 200]})
    table = other.index(MinMax("x"))
    frame = spark.read.parquet(str(other.folder))
    hot = frame.where("x > 50").cache()
    assert hot.count() == 2
    other.file("c.parquet", {"x": [300]})
    spark.catalog.refreshByPath(str(other.folder))
    assert spark.read.parquet(str(other.folder)).where("x > 50").count() == 3
    assert frame.where("x > 250").count() in (0, 1)  # as Spark refreshes its listing, or not
    hot.unpersist()
    table.refresh()
    frame.createOrReplaceTempView("cached")
    spark.sql("CACHE TABLE trans_cached AS SELECT * FROM cached WHERE x > 50")
    assert spark.sql("SELECT * FROM trans_cached WHERE x > 1").count() == spark.sql("SELECT * FROM cached WHERE x > 50").count()
    spark.sql("UNCACHE TABLE trans_cached")
    spark.catalog.dropTempView("trans_cached")
    again_and_again = spark.read.parquet(str(other.folder)).where("x < 50")
    assert [again_and_again.count(), len(again_and_again.collect()), again_and_again.rdd.count(), len(again_and_again.toPandas())] == [
        2
    ] * 4


def test_input_files_and_metadata(lake: Lake) -> None:
    table = f"parquet.`{lake.folder}`"
    lake.query(f"SELECT input_file_name(), x FROM {table} WHERE x > 100", read=HIGH)
    columns = "_metadata.file_path, _metadata.file_name, _metadata.file_size, _metadata.file_modification_time, _metadata.row_index"
    lake.query(f"SELECT {columns}, x FROM {table} WHERE x > 100", read=HIGH)
    lake.query(f"SELECT * FROM {table} WHERE _metadata.file_name = 'low.parquet' AND x > 100", read=HIGH)
    lake.query(f"SELECT * FROM {table} WHERE _metadata.row_index = 0 AND x < 10", read=["low.parquet"])
    assert len(lake.spark.read.parquet(str(lake.folder)).where("x > 100").inputFiles()) == 3


def test_explain_shows_the_clause(lake: Lake) -> None:
    frame = lake.spark.sql("SELECT * FROM trans WHERE x > 100 AND s LIKE '%pur'")
    for mode in ("formatted", "simple", "extended", "cost"):
        text = explained(frame, mode)
        assert "SkippingFileIndex" in text, mode
    text = explained(frame, "formatted")
    assert "skipping: MinMax(x) admits (trans.x > 100L) AND Suffix(s, 3" in text or "skipping: MinMax(x) admits" in text
    assert str(lake.folder) in text
    sql = lake.spark.sql("EXPLAIN FORMATTED SELECT * FROM trans WHERE x > 100").collect()[0][0]
    assert "skipping: MinMax(x) admits (trans.x > 100L)" in sql
    with lake.skipping.disabled():
        assert "skipping" not in explained(lake.spark.sql("SELECT * FROM trans WHERE x > 100"))


def test_who_asks_what_a_query_reads_is_given_paths(lake: Lake) -> None:
    """Listeners of lineage and authorisation take the root paths as text, or read `Location` in the plan that a query's start tells."""
    frame = lake.spark.sql("SELECT * FROM trans WHERE x > 100")
    assert f"[file:{lake.folder} skipping: MinMax(x) admits" in explained(frame)
    execution = frame._jdf.queryExecution()
    for mode in ("simple", "extended"):
        assert f"SkippingFileIndex(1 paths)[file:{lake.folder}]"[:90] in explained(frame, mode), mode
    paths = only_leaf(execution.optimizedPlan()).relation().location().rootPaths()
    assert [paths.mkString(","), paths.head().toString()] == [f"file:{lake.folder}"] * 2
    scan = only_leaf(execution.sparkPlan())
    assert scan.metadata().apply("Location") == f"SkippingFileIndex(1 paths)[file:{lake.folder}]"
    assert "skipping: MinMax(x)" in explained(frame)


def test_options_are_found_in_any_letters(lake: Lake) -> None:
    frame = lake.spark.read.option("ofMine", "7").parquet(str(lake.folder)).where("x > 100")
    relation = only_leaf(frame._jdf.queryExecution().optimizedPlan()).relation()
    assert relation.location().getClass().getSimpleName() == "SkippingFileIndex"
    for letters in ("ofMine", "ofmine", "OFMINE"):
        assert relation.options().get(letters).isDefined(), letters


def only_leaf(plan: Any) -> Any:
    while not plan.children().isEmpty():
        plan = plan.children().head()
    return plan


def test_a_query_is_explained_once(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def explain(skipping: Callback, number: str, told: str, catalog: object) -> str:
        asked.append("what it skips")
        return f"explained {len(asked)} times"

    monkeypatch.setattr(Callback, "_explain", explain)
    frame = lake.spark.sql("SELECT s, count(*) FROM trans WHERE x > 100 GROUP BY s")  # in steps, of which each prints the plan
    with settings_of(lake.spark, {"spark.sql.ui.explainMode": "formatted"}):  # Spark's default
        frame.collect()
        assert len(asked) == 1
        frame.collect()
    assert len(asked) == 2
    assert "explained 3 times" in explained(frame), "outside of a query it is asked anew"


def test_a_clause_is_found_once_for_each_version_of_an_index(lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = Lake(lake.spark, lake.skipping, tmp_path / "own")
    own.file("some.parquet", {"x": [1, 200], "s": ["Oslo", "Turku"]})
    own.index(MinMax("x"))
    found: list[str] = []

    def found_anew(*given: Any) -> Any:
        found.append("a clause")
        return represent(*given)

    monkeypatch.setattr(callback, "represent", found_anew)

    def clause_of(where: str) -> str:
        text = explained(lake.spark.read.parquet(str(own.folder)).where(where))
        return text[text.index("skipping: ") :].split("\n")[0]

    first = clause_of("x > 100")
    assert "100" in first and len(found) == 1
    assert clause_of("x > 100") == first and len(found) == 1
    assert "101" in clause_of("x > 101") and len(found) == 2
    own.index(ValueList("s"))
    assert "100" in clause_of("x > 100") and len(found) == 3
    with settings_of(lake.spark, {"spark.sql.session.timeZone": "Asia/Tokyo"}):
        assert "100" in clause_of("x > 100") and len(found) == 4


def test_disabled_disable_and_enable(lake: Lake, tmp_path: Path) -> None:
    spark, skipping = lake.spark, lake.skipping
    sql = "SELECT * FROM trans WHERE x > 100"
    planned = spark.sql(sql)
    planned._jdf.queryExecution().executedPlan()
    count = len(skipping.reports())
    with skipping.disabled():
        with skipping.disabled():
            assert len(spark.sql(sql).collect()) == 2
        assert len(spark.sql(sql).collect()) == 2
        assert len(planned.collect()) == 2  # planned before, listed now
    assert len(skipping.reports()) == count or skipping.report().execution_id
    lake.query(sql, read=HIGH)
    with pytest.raises(ZeroDivisionError), skipping.disabled():
        raise ZeroDivisionError
    lake.query(sql, read=HIGH)

    # Another session of the same Spark knows nothing of it, until it is enabled; then it finds the index by itself.
    session = spark.newSession()
    session.conf.set("spark.sql.session.timeZone", "UTC")
    frame = session.read.parquet(str(lake.folder)).where("x > 100")
    assert frame.count() == 2
    assert "skipping" not in explained(frame)
    other = data_skip.enable(session)
    assert other is not skipping and data_skip.enable(session) is other
    frame = session.read.parquet(str(lake.folder)).where("x > 100")
    assert frame.count() == 2 and other.report().scans[0].files_read == 1
    before = skipping.report()
    data_skip.disable(session)
    late = again(frame)
    assert late.count() == 2 and frame.count() == 2 and "skipping" not in explained(again(frame))
    again_enabled = data_skip.enable(session)
    assert again_enabled is not other
    assert session.read.parquet(str(lake.folder)).where("x > 100").count() == 2
    assert again_enabled.report().scans[0].files_read == 1
    data_skip.disable(session)
    assert skipping.report().execution_id == before.execution_id
    lake.query(sql, read=HIGH)


def test_adaptive_execution_and_writes(lake: Lake, tmp_path: Path) -> None:
    spark = lake.spark
    for adaptive in ("true", "false"):
        spark.conf.set("spark.sql.adaptive.enabled", adaptive)
        try:
            report = lake.query(
                "SELECT a.s, count(*) FROM trans a JOIN trans b ON a.k % 2 = b.k % 2 WHERE a.x > 100 AND b.x < 10 GROUP BY a.s ORDER BY 1"
            )
            assert sorted(scan.files_read for scan in report.scans) == [1, 1]
        finally:
            spark.conf.unset("spark.sql.adaptive.enabled")
    target = str(tmp_path / "out")
    spark.sql("SELECT * FROM trans WHERE x > 100").write.parquet(target)
    scans: list[ScanReport] = lake.skipping.report().scans
    assert scans[0].files_read == 1
    assert rows_of(spark.read.parquet(target).select("x")) == rows_of(spark.createDataFrame(pa.table({"x": [150, 200]}).to_pandas()))
