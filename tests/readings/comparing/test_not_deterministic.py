"""What is not deterministic, or counts its rows, sees those that plain Spark gives it: predicates from above stop there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from data_skip import MinMax, Skipping
from data_skip.files.listing import Listing
from tests.hive_functions import hive_function
from tests.support import Lake, settings_of

FILES = 6


@pytest.fixture(scope="module")
def numbers(spark: SparkSession, skipping: Skipping, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    """Ten numbers a file: x from 0 to 59. One task reads them all, so that counting and averaging give the same each time."""
    lake = Lake(spark, skipping, tmp_path_factory.mktemp("not_deterministic") / "numbers")
    for i in range(FILES):
        lake.file(f"{i}.parquet", {"x": list(range(10 * i, 10 * i + 10)), "k": [i] * 10})
    lake.index(MinMax("x"), MinMax("k"))
    lake.view("numbers")
    spark.sql("SELECT 57 AS id").createOrReplaceTempView("one")
    seen = []

    def count(x: int) -> int:
        seen.append(x)
        return len(seen)

    def demean(x: pd.Series) -> pd.Series:
        return x - x.mean()

    spark.udf.register("counted", F.udf(count, "int", useArrow=False).asNondeterministic())
    spark.udf.register("demeaned", F.pandas_udf(demean, "double").asNondeterministic())  # type: ignore[call-overload]
    spark.udf.register("twice", F.udf(lambda x: x * 2, "bigint"))
    yield lake
    for view in ("numbers", "one"):
        spark.catalog.dropTempView(view)
    for name in ("counted", "demeaned", "twice"):
        spark.sql(f"DROP TEMPORARY FUNCTION IF EXISTS {name}")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT x, d FROM (SELECT x, k, demeaned(x) AS d FROM numbers) WHERE k > 4",
        "SELECT x, c FROM (SELECT x, counted(x) AS c FROM numbers) WHERE x > 52",
        "SELECT x FROM (SELECT x FROM numbers WHERE demeaned(x) > 1) WHERE x > 52",
        "SELECT x, d FROM (SELECT x, demeaned(x) AS d FROM numbers) JOIN one ON x = id",
        "SELECT k, max(d) FROM (SELECT k, demeaned(x) AS d FROM numbers) GROUP BY k HAVING k = 5",
        "SELECT x FROM (SELECT x FROM numbers WHERE rand(7) < 0.5) WHERE x > 32",
        "SELECT x FROM (SELECT x FROM numbers WHERE monotonically_increasing_id() % 7 < 3) WHERE x > 32",
        "SELECT x, r FROM numbers LATERAL VIEW explode(array(rand(3))) AS r WHERE x > 52",
        "SELECT x FROM (SELECT x, rand(7) AS r FROM numbers GROUP BY x) WHERE x > 32 AND r < 0.5",
        "SELECT x, n FROM (SELECT x, count(*) AS n, monotonically_increasing_id() AS i FROM numbers GROUP BY x) WHERE x > 32 AND i = 40",
        "SELECT x FROM (SELECT x, first(k) + rand(7) AS r FROM numbers GROUP BY x) JOIN one ON x = id WHERE r < 5",
    ],
)
def test_predicates_stop_at_what_is_not_deterministic(numbers: Lake, sql: str) -> None:
    """A mean of the rows of skipped files, or a number that was drawn for one of them, was another."""
    numbers.query(sql)
    for scan in numbers.skipping.jvm.scans(numbers.spark.sql(sql)):
        assert numbers.skipping.decide(Listing.now(scan)).files_read == FILES


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT x, d FROM (SELECT x, k, demeaned(x) AS d FROM numbers WHERE k > 4) WHERE x > 52",
        "SELECT x, t FROM (SELECT x, twice(x) AS t FROM numbers) WHERE x > 52",
        "SELECT x, r FROM numbers LATERAL VIEW explode(array(x, 1)) AS r WHERE x > 52",
        "SELECT k, first(k) FROM numbers GROUP BY k HAVING k = 5",
        "SELECT * FROM (SELECT k, first_value(x) OVER (PARTITION BY k ORDER BY x) FROM numbers) WHERE k = 5",
    ],
)
def test_others_let_them_pass(numbers: Lake, sql: str) -> None:
    """The filter below it, and functions that are deterministic; of groups, all rows or none are read."""
    assert numbers.query(sql).scans[-1].files_read == 1


def test_parts_of_a_split_fit_each_other(numbers: Lake) -> None:
    """No row is in both of them or in none, though the one was planned before the table had an index, or without skipping."""
    with settings_of(numbers.spark, {"spark.sql.files.maxPartitionBytes": "4096"}):  # a file a task
        train, test = numbers.spark.table("numbers").where("x < 38").select("x").randomSplit([0.5, 0.5], seed=3)
        with numbers.skipping.disabled():
            found = [row.x for row in train.collect()]
        found += [row.x for row in test.collect()]
        assert sorted(found) == list(range(38))
        assert ["a sample takes" in str(scan.notes) for scan in numbers.skipping.report().scans] == [True]
        sample = "SELECT x FROM (SELECT x FROM numbers WHERE x < 38) TABLESAMPLE (50 PERCENT) REPEATABLE (3)"
        numbers.query(sample)
        numbers.query(f"SELECT x FROM ({sample}) JOIN one ON x = id UNION ALL SELECT x FROM numbers WHERE x = 33", {"3.parquet"})


def test_a_generator_of_hive(lake: Lake, tmp_path: Path) -> None:
    """Rows were lost, and others were there, where a join asks for the columns beside: Spark calls each such generator deterministic."""
    for i in range(4):
        lake.file(f"{i}", {"k": [i], "pad": [list(range(5000))]})
    lake.index(MinMax("k"))
    lake.view()
    side = Lake(lake.spark, lake.skipping, tmp_path / "side")
    side.file("0", {"n": [2]})
    side.view("side")
    try:
        with hive_function(lake.spark, "hive_explode", "HiveGenericUDTF", "GenericUDTFExplode"):
            for generator, skipped in (("explode", 3), ("hive_explode", 0)):
                exploded = f"SELECT k, e FROM t LATERAL VIEW {generator}(array(k, 7)) x AS e"
                report = lake.query(f"SELECT k, e FROM ({exploded}) JOIN side ON k = n")
                assert max(scan.files_skipped for scan in report.scans) == skipped
                numbered = f"SELECT a.k FROM ({exploded} WHERE k = 2) a JOIN ({exploded}) b ON a.e = b.e"  # perhaps, by their rows
                twice = lake.query(numbered)
                assert max(scan.files_skipped for scan in twice.scans) == skipped
    finally:
        lake.spark.catalog.dropTempView("side")
