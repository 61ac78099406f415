"""The small table that the expressions of this folder are asked of: a few rows a file, in order, so that each file has its own ranges."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from data_skip import BloomFilter, MinMax
from tests.support import Lake, files_read

SCHEMA = pa.schema(
    {
        "x": pa.int32(),
        "y": pa.int32(),
        "small": pa.int8(),
        "l": pa.int64(),
        "d": pa.float64(),
        "p": pa.decimal128(10, 2),
        "s": pa.string(),
        "day": pa.date32(),
        "ts": pa.timestamp("us", "UTC"),
        "n": pa.timestamp("us"),
        "at": pa.timestamp("us", "UTC"),
        "flag": pa.bool_(),
        "k": pa.int32(),
        "m": pa.int32(),
        "r": pa.string(),
        "h": pa.int32(),
        "unindexed": pa.int32(),
    }
)


def scattered(x: int) -> int:
    """A number of which files have no range."""
    return x * 7919 % 1009


def _row(x: int) -> dict[str, Any]:
    """x is -10 to -6 in file `a`, then 0 to 4, 10 to 14, and so on to 50 to 54; every other column follows from it."""
    day = date(2024, 1, 5) + timedelta(days=3 * x)
    noon = datetime(2024, 1, 5, 12) + timedelta(days=3 * x, minutes=7 * x)
    return {
        "x": x,
        "y": 40 - x,
        "small": x,
        "l": 100_000 * x,
        "d": x + 0.25,
        "p": Decimal(f"{x}.25") if x >= 0 else Decimal(f"{x}.75"),
        "s": f"{'?abcdef'[x // 10 + 1] if x >= 0 else '-'}{x % 10}",
        "day": day,
        "ts": noon.replace(tzinfo=timezone.utc),
        "n": noon,
        "at": datetime(2024, 7, 1, 6, 10, tzinfo=timezone.utc)
        + timedelta(days=x // 10, hours=x // 10, minutes=10 * (x % 10), seconds=x % 10),
        "flag": x >= 30,
        "k": x // 10,
        "m": 7 - x // 10,
        "r": f"{'?abcdefgh'[7 - x // 10]}2",
        "h": scattered(x),
        "unindexed": x,
    }


FILES = {name: [_row(x) for x in range(first, first + 5)] for name, first in zip("abcdefg", (-10, 0, 10, 20, 30, 40, 50), strict=True)}
FILES["h"] = [dict.fromkeys(SCHEMA.names)] * 2  # NULL only
INDEXED = [name for name in SCHEMA.names if name not in ("h", "unindexed")]


def write(lake: Lake) -> DataFrame:
    """Writes and indexes the table; it is read as the view `t`."""
    for name, rows in FILES.items():
        lake.file(f"{name}.parquet", pa.Table.from_pylist(rows, SCHEMA))
    lake.index(*map(MinMax, INDEXED), BloomFilter("h", fpp=1e-6))
    return lake.view()


def read(lake: Lake, frame: DataFrame) -> str:
    """The files that the scan of a DataFrame reads, in letters."""
    return _letters(files_read(lake.skipping, frame, lake.folder))


def matching(lake: Lake, predicates: list[str]) -> list[str]:
    """The files that hold a row for which each predicate is true, by plain Spark."""
    rows = lake.spark.read.parquet(str(lake.folder))
    columns = [F.bool_or(F.expr(predicate)).alias(f"p{i}") for i, predicate in enumerate(predicates)]
    with lake.skipping.disabled():
        found = rows.groupBy(F.col("_metadata.file_name").alias("file")).agg(*columns).collect()
    return [_letters({row["file"] for row in found if row[f"p{i}"]}) for i in range(len(predicates))]


def _letters(files: set[str]) -> str:
    return "".join(sorted(Path(file).stem for file in files))
