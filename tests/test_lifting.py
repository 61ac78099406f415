"""MinMax from footers of Parquet files: what reading the rows gives, and only where footers can be trusted (TRAPS A4, A5, J18)."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from data_skip import Index, MinMax, Prefix, Skipping
from data_skip.indexes.min_max import bounds
from tests.support import Lake, aged, settings_of

BY_SPARK = {
    "byte": "CAST(id % 200 - 100 AS tinyint)",
    "short": "CAST(id * 30 - 15000 AS smallint)",
    "number": "CAST(if(id % 7 = 0, NULL, id - 500) AS int)",
    "large": "9007199254740993 - id",
    "price": "CAST(id / 100 - 3 AS decimal(9,2))",
    "amount": "CAST(-id * 10000000000 / 3 AS decimal(18,4))",
    "day": "date_add(DATE'1969-12-01', CAST(id AS int))",
    "wall": "TIMESTAMP_NTZ'1969-12-31 23:59:59.5' + make_interval(0, 0, 0, 0, 0, 0, id)",
    "moment": "TIMESTAMP'1969-12-31 23:59:59.5' + make_interval(0, 0, 0, 0, 0, 0, id)",
    "nothing": "CAST(NULL AS int)",
}


@dataclass(frozen=True)
class Written:
    """A table of files of 1000 rows, one, and none; the records of each column from footers, and those from rows."""

    lake: Lake
    lifted: list[dict[str, Any]]
    collected: list[dict[str, Any]]


def records_of(lake: Lake, *others: Index) -> tuple[int, list[dict[str, Any]]]:
    """How many files were lifted, and the records of all columns; nothing of it stays."""
    indexes, table = [MinMax(name) for name in BY_SPARK], lake.table()
    report = table.create_index(*indexes, *others)
    rows = table.metadata().select("path", "row_count", *(index.column for index in indexes)).orderBy("path").collect()
    table.drop_index(*indexes, *others)
    return report.files_lifted, [row.asDict(recursive=True) for row in rows]


@pytest.fixture(scope="module")
def written(spark: SparkSession, skipping: Skipping, tmp_path_factory: pytest.TempPathFactory) -> Written:
    lake = Lake(spark, skipping, tmp_path_factory.mktemp("lifting") / "table")
    with settings_of(spark, {"spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS"}):
        for i, count in enumerate((1000, 1, 0)):
            rows = spark.range(0, count, 1, 1).selectExpr(*(f"{sql} AS {name}" for name, sql in BY_SPARK.items()), "'x' AS text")
            lake.spark_file(f"{i}.parquet", rows, **{"parquet.block.size": "2000", "parquet.page.size.row.check.min": "100"})
    files, lifted = records_of(lake)
    assert files == 3
    files, collected = records_of(lake, Prefix("text", 1))
    assert files == 0
    return Written(lake, lifted, collected)


@pytest.mark.parametrize("name", BY_SPARK)
def test_footers_say_what_the_rows_do(written: Written, name: str) -> None:
    column = MinMax(name).column
    lifted, collected = ([(row["path"], row["row_count"], row[column]) for row in rows] for rows in (written.lifted, written.collected))
    assert len(lifted) == 3
    assert lifted[:2] == collected[:2]  # of the third, without rows, a row count of 0 says all
    assert lifted[2][:2] == ("2.parquet", 0)
    if name == "number":
        lake = written.lake
        assert pq.read_metadata(lake.folder / "0.parquet").num_row_groups > 2
        table = lake.table()
        assert table.create_index(MinMax(name)).files_lifted == 3
        lake.view()
        lake.check("number = 499", read=["0.parquet"])
        lake.check("number IS NULL", read=["0.parquet", "1.parquet"])
        lake.spark.catalog.dropTempView("t")


def test_what_pyarrow_writes(lake: Lake) -> None:
    numbers = pa.array([5, None, -3], pa.int32())
    columns = {"n": numbers, "d": numbers.cast(pa.decimal128(12, 2))}
    lake.file("a.parquet", columns)
    pq.write_table(pa.table(columns), lake.folder / "b.parquet", store_decimal_as_integer=True)
    aged(lake.folder / "b.parquet")
    table = lake.table()
    assert table.create_index(MinMax("n")).files_lifted == 2
    assert table.create_index(MinMax("d")).files_lifted == 1  # for bytes, the order of bytes would have to be trusted
    bounds = {(row["min"], row["max"]) for row in table.metadata().select("min_max__d.*").collect()}
    assert bounds == {(Decimal("-3.00"), Decimal("5.00"))}


@pytest.mark.parametrize(
    ("values", "options"),
    [
        (pa.array([1, 2]), {"write_statistics": False}),
        (pa.array([1.5, float("nan")]), {}),
        (pa.array(["a", "b"]), {}),
        (pa.array([True, False]), {}),
        (pa.array([1, 3_000_000_000], pa.uint32()), {}),
        (pa.array([0, 1], pa.date32()), {}),  # of which calendar?
        (pa.array([[1], [2]]), {}),
    ],
)
def test_what_is_read_instead(lake: Lake, values: pa.Array, options: dict[str, Any]) -> None:
    path = lake.folder / "a.parquet"
    pq.write_table(pa.table({"v": values}), path, **options)
    aged(path)
    expression = "v[0]" if pa.types.is_list(values.type) else "v"
    assert lake.table().create_index(MinMax(expression)).files_lifted == 0
    assert lake.table().describe().files_indexed == 1


@pytest.mark.parametrize("stranger", [b"parquet-mR version 1.15.2", b"impala-cpp version 1.15.2", b"parquet-mr version 1.8.3 ."])
def test_unknown_writers_are_not_believed(lake: Lake, stranger: bytes) -> None:
    """Nor those of which files were merged with counts that they did not have: PARQUET-1217."""
    lake.file("a.parquet", {"n": [1, 2]})
    path = lake.folder / "a.parquet"
    path.write_bytes(path.read_bytes().replace(b"parquet-cpp-arrow version", stranger[:25]))
    aged(path)
    assert lake.table().create_index(MinMax("n")).files_lifted == 0


def test_a_row_group_without_statistics_has_the_file_read(tmp_path: Path) -> None:
    """TRAPS A4: the bounds of the others say nothing of it."""
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"n": [1, 2, 3, 4]}), path, row_group_size=2)
    chunks = [pq.read_metadata(path).row_group(i).column(0) for i in range(2)]
    assert [bounds(chunk, "bigint") for chunk in chunks] == [
        {"min": low, "max": low + 1, "value_count": 2, "null_count": 0, "nan_count": 0} for low in (1, 3)
    ]
    pq.write_table(pa.table({"n": [1, 2, 3, 4]}), path, write_statistics=False)
    assert bounds(pq.read_metadata(path).row_group(0).column(0), "bigint") is None
