"""Tables of which sums, numbers and last rows depend on how Spark cuts files, which is by how much it reads in all; what plans run once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

from data_skip import MinMax, Skipping
from tests.support import Lake, aged, settings_of

SORTED = {"spark.sql.autoBroadcastJoinThreshold": "-1", "spark.data_skip.join.leastBytes": "0", "spark.sql.adaptive.enabled": "false"}
SETTINGS = {"spark.sql.files.openCostInBytes": "1000", "spark.sql.files.minPartitionNum": "2"}
SUMS = "SELECT k, sum(x) AS s FROM ordered GROUP BY k"
NUMBERED = "SELECT k, id, row_number() OVER (PARTITION BY k ORDER BY g) AS n FROM ordered"


def plan_of(frame: DataFrame) -> str:
    """The plan that Spark runs, as text."""
    return str(frame._jdf.queryExecution().executedPlan())


def how_often(lake: Lake, sql: str, part: str) -> tuple[int, int]:
    """How often an operator stands in the plan of a query: without skipping, and with it."""
    with lake.skipping.disabled():
        plain = plan_of(lake.spark.sql(sql)).count(part)
    return plain, plan_of(lake.spark.sql(sql)).count(part)


def write(path: Path, k: int, rows: int, first: int) -> Path:
    """One value of k, and row groups by which Spark may cut the file."""
    ids = range(first, first + rows)
    fractions = [(i * 2654435761 % 1000003) / 1000003 for i in ids]
    columns = {"k": pa.array([k] * rows, pa.int32()), "id": list(ids), "g": [i % 3 for i in ids], "x": fractions}
    pq.write_table(pa.table(columns), path, row_group_size=200, use_dictionary=False)
    return aged(path)


@contextmanager
def cut_by_what_is_read(lake: Lake, view: str) -> Iterator[Lake]:
    """A view of files of one k each, under settings by which Spark cuts the larger ones once others are skipped."""
    lake.index(MinMax("k"))
    lake.view(view)
    with settings_of(lake.spark, SETTINGS):
        yield lake
    lake.spark.catalog.dropTempView(view)


@pytest.fixture(scope="module")
def ordered(spark: SparkSession, skipping: Skipping, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    """A file for each k from 0 to 5, and a smaller one more for 4, which Spark lists first."""
    lake = Lake(spark, skipping, tmp_path_factory.mktemp("order_of_rows") / "ordered")
    for k in range(6):
        write(lake.folder / f"{k}.parquet", k, 2000, 10000 * k)
    write(lake.folder / "00.parquet", 4, 1500, 90000)
    with cut_by_what_is_read(lake, "ordered"):
        yield lake


LAST = "SELECT k, last(id) AS i FROM chosen GROUP BY k"
OTHER = "SELECT k, last(id) AS i, max(g) FROM chosen GROUP BY k"


@pytest.fixture(scope="module")
def chosen(spark: SparkSession, skipping: Skipping, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    """A file for each k from 0 to 5, that for 4 the largest, which is cut once others are skipped, and another one for 4."""
    lake = Lake(spark, skipping, tmp_path_factory.mktemp("rows_chosen_by_order") / "chosen")
    for name, k, rows, first in [*((str(k), k, 5000 if k == 4 else 4000, 10000 * k) for k in range(6)), ("00", 4, 3000, 90000)]:
        ids = range(first, first + rows)
        columns = {"k": pa.array([k] * rows, pa.int32()), "id": list(ids), "g": [i % 3 for i in ids]}
        pq.write_table(pa.table(columns), lake.folder / f"{name}.parquet", row_group_size=200, use_dictionary=False)
        aged(lake.folder / f"{name}.parquet")
    with cut_by_what_is_read(lake, "chosen"):
        yield lake
