"""What is drawn for a cache or a checkpoint, or made by functions of users of many rows: it goes by the files that are read."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd
import pytest
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import udf
from pyspark.sql.pandas.functions import pandas_udf

from data_skip import MinMax, Skipping
from tests.readings.comparing.support import cut_by_what_is_read, write
from tests.support import Lake, rows_of

DRAWN = "SELECT k, id FROM kept WHERE k = 5 AND rand(7) < 0.5"
OTHERS = "SELECT id FROM rows UNION ALL SELECT id FROM kept WHERE k = 5 AND NOT rand(7) < 0.5"


@pytest.fixture(scope="module")
def kept(spark: SparkSession, skipping: Skipping, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    """A file for each k from 0 to 5."""
    lake = Lake(spark, skipping, tmp_path_factory.mktemp("rows_that_are_kept") / "kept")
    for k in range(6):
        write(lake.folder / f"{k}.parquet", k, 2000, 10000 * k)
    with cut_by_what_is_read(lake, "kept"):
        yield lake


def beside(lake: Lake, sql: str, query: str, *, checkpoint: bool = False) -> DataFrame:
    """The query, with what was kept of another one as the view `rows`."""
    frame = lake.spark.sql(sql)
    frame = frame.localCheckpoint() if checkpoint else frame.cache()
    frame.count()
    frame.createOrReplaceTempView("rows")
    return lake.spark.sql(query)


@pytest.mark.parametrize("checkpoint", [False, True])
def test_what_is_drawn_and_kept_is_that_of_all_files(kept: Lake, checkpoint: bool) -> None:
    try:
        with kept.skipping.disabled():
            expected = rows_of(beside(kept, DRAWN, OTHERS, checkpoint=checkpoint))
            kept.spark.catalog.clearCache()
        assert expected and rows_of(beside(kept, DRAWN, OTHERS, checkpoint=checkpoint)) == expected
    finally:
        kept.spark.catalog.clearCache()
        kept.spark.catalog.dropTempView("rows")


@pytest.mark.parametrize("sums", ["count(*), sum(id)", "sum(x)"])
def test_what_is_not_drawn_is_kept_of_some(kept: Lake, sums: str) -> None:
    try:
        beside(kept, f"SELECT k, {sums} FROM kept WHERE k = 5 GROUP BY k", "SELECT 1 AS one")
        assert [scan.files_read for scan in kept.skipping.report().scans] == [1]
    finally:
        kept.spark.catalog.clearCache()
        kept.spark.catalog.dropTempView("rows")


@pytest.mark.parametrize("function", ["centered", "task"])
def test_functions_of_users_that_go_by_others(kept: Lake, function: str) -> None:
    def centered(of: pd.Series) -> pd.Series:
        return of - of.mean()

    def task(of: float) -> float:
        context = TaskContext.get()
        assert context is not None
        return float(context.partitionId())

    made = pandas_udf(centered, "double") if function == "centered" else udf(task, "double").asNondeterministic()
    kept.spark.udf.register("made", made)
    parts = (f"SELECT id, made(x) AS c FROM kept WHERE {where}" for where in ("k = 5", "abs(k) = 5"))
    report = kept.query("SELECT a.id FROM ({}) a JOIN ({}) b ON a.id = b.id AND a.c = b.c".format(*parts))
    assert all(scan.files_read == 6 for scan in report.scans)


@pytest.mark.parametrize("wheres", [("abs(k) = 4", "abs(k) = 5"), ("k IN (1, 2)", "k IN (4, 5, NULL)")])
def test_parts_that_share_no_row_skip(kept: Lake, wheres: tuple[str, str]) -> None:
    a, b = (f"SELECT g, sum(x) AS s FROM kept WHERE {where} GROUP BY g" for where in wheres)
    report = kept.query(f"SELECT a.g FROM ({a}) a JOIN ({b}) b ON a.g = b.g WHERE a.s > b.s")
    assert all(scan.files_read < 6 for scan in report.scans)


def test_by_other_options_it_is_the_same_row(kept: Lake) -> None:
    """Of a text one option makes the second of January, and another the first of February."""
    days = Lake(kept.spark, kept.skipping, kept.folder.parent / "days")
    for day in range(1, 5):
        lines = (f"0{day}/02/2024,{(i * 2654435761 % 1000003) / 1000003}" for i in range(8000 * day, 8000 * day + 8000))
        days.lines(f"{day}.csv", *lines)
    schema, format = "d DATE, x DOUBLE", "dd/MM/yyyy"
    days.index(MinMax("d"), format="csv", schema=schema, options={"dateFormat": format})
    days.view("european", "csv", schema, dateFormat=format)
    days.view("american", "csv", schema, dateFormat="MM/dd/yyyy")
    a = "SELECT 1 AS g, sum(x) AS s FROM european WHERE d = '2024-02-01'"
    b = "SELECT 1 AS g, sum(x) AS s FROM american WHERE d = '2024-01-02'"
    report = days.query(f"SELECT a.g FROM ({a}) a JOIN ({b}) b ON a.s = b.s")
    assert all(scan.files_read == 4 for scan in report.scans)
