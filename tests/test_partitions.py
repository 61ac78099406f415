"""Partition columns in predicates that Spark's own partition pruning leaves: ORs, comparisons with other columns, functions."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import datetime
from random import Random

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from data_skip import MinMax, Skipping, ValueList
from tests.support import Lake, compared

NULL = "__HIVE_DEFAULT_PARTITION__"
COLUMNS = {"i": "int", "d": "date", "at": "timestamp", "f": "double", "n": "decimal(10,2)", "b": "boolean", "s": "string"}
DIRECTORIES = {
    "a": ("1", "2023-12-31", "2024-03-10 02%3A30%3A00", "NaN", "1.10", "true", "a b"),
    "b": ("2", "2024-02-29", "2024-03-11 00%3A00%3A00", "0.0", "-2.00", "false", "x%2Fy"),
    "c": ("-3", NULL, "2024-03-10 02%3A30%3A00", "-0.0", NULL, NULL, "ü"),
    "d": (NULL, "2024-02-29", NULL, "1.5", "1.10", "true", "l" * 130),
    "e": ("1", "2024-02-29", "2020-01-01 00%3A00%3A00", NULL, "7.00", "false", NULL),
}
SCHEMA = "x long, z long, ts timestamp, " + ", ".join(f"{name} {type_}" for name, type_ in COLUMNS.items())


@pytest.fixture(scope="module")
def lake(spark: SparkSession, skipping: Skipping, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    """In each directory two files, a0 and a1, b0 and b1, ...: x is 0 and 1 in a0, 5 and 6 in a1, 10 and 11 in b0; z = -x and NULL."""
    lake = Lake(spark, skipping, tmp_path_factory.mktemp("partitions") / "table")
    for k, (name, values) in enumerate(DIRECTORIES.items()):
        folder = "/".join(f"{column}={value}" for column, value in zip(COLUMNS, values, strict=True))
        for half in (0, 1):
            x, day = 10 * k + 5 * half, datetime(2022 + k % 3, 1 + k, 1 + half)
            rows = {"x": [x, x + 1], "z": [-x, None], "ts": pa.array([day, day], pa.timestamp("us", "UTC"))}
            lake.file(f"{folder}/{name}{half}.parquet", rows)
    lake.index(MinMax("x"), MinMax("z"), ValueList("ts"), MinMax("ts"), schema=SCHEMA)
    yield lake
    spark.catalog.dropTempView("t")


@pytest.mark.parametrize(
    ("where", "read"),
    [
        ("i = 1 OR x = 25", "a0 a1 c1 e0 e1"),
        ("i = 2 AND x > 0 OR x >= 45", "b0 b1 e1"),
        ("i >= 1 AND (i = 2 OR x > 40)", "b0 b1 e0 e1"),
        ("i > 70 AND (i < 2 OR x > 40)", ""),  # Spark leaves no directory
        ("x < 6 * i", "a0 a1 b0"),
        ("abs(i) = 3 OR x = 0", "a0 c0 c1"),
        ("i IS NULL OR x < 2", "a0 d0 d1"),
        ("coalesce(i, x) = 30", "d0"),
        ("i IN (2, -3) OR x = 0", "a0 b0 b1 c0 c1"),
        ("datediff(d, ts) > 400", "a0 a1 d0 d1"),
        ("d = DATE'2023-12-31' OR x = 10", "a0 a1 b0"),
        ("hour(at) = 2 OR x = 16", "a0 a1 b1 c0 c1"),
        ("isnan(f) OR x = 10", "a0 a1 b0"),
        ("f > 1 AND x >= 0 OR x = 10", "a0 a1 b0 d0 d1"),
        ("f = 0 AND x > 1 OR x = 0", "a0 b0 b1 c0 c1"),
        ("x * n < -19", "b0 b1"),
        ("b OR x = 11", "a0 a1 b0 d0 d1"),
        ("IF(b, x, z) = -15", "b1"),
        ("s LIKE '%/%' OR x = 0", "a0 b0 b1"),
        ("length(s) > 100 OR x = 0", "a0 d0 d1"),
        ("concat(s, 'z') = 'üz' OR x = 0", "a0 c0 c1"),
    ],
)
def test_skips(lake: Lake, where: str, read: str) -> None:
    lake.view(schema=SCHEMA)
    scan = lake.check(where)
    found = {path.rpartition("/")[2].removesuffix(".parquet") for path in lake.read_by(f"SELECT * FROM t WHERE {where}")}
    assert found == set(read.split()), str(scan)
    assert "PartitionValue(" in scan.clause


def test_what_spark_prunes_is_told_so(lake: Lake) -> None:
    lake.view(schema=SCHEMA)
    scan = lake.check("i = 1 AND x < 2")
    assert (scan.files_total, scan.files_read) == (4, 1)
    assert "PartitionValue" not in scan.clause
    assert "Spark has pruned the partitions itself" in {p.why_not for p in scan.predicates}
    scan = lake.check("i >= 1 AND (i = 2 OR x < 2)")
    assert "skips 0 alone: Spark has pruned the partitions itself" in str(scan)


ATOMS = (
    *("i = 1", "i > 0", "i IN (2, -3)", "i IS NULL", "abs(i) = 3", "i < x", "i + z > 0", "i <=> NULL", "x % i = 0"),
    *("d > DATE'2024-01-01'", "to_date(ts) < d", "year(d) = year(ts)", "month(d) = 12", "datediff(d, ts) > 20"),
    *("hour(at) = 2", "at < ts", "date_trunc('year', ts) = date_trunc('year', at)", "at IS NULL", "at >= '2024-03-11'"),
    *("isnan(f)", "f = 0", "f > 1", "f < x", "NOT (f <= x)", "f IS NULL", "-f = 0", "f * x > 3", "f <=> double('NaN')"),
    *("n > 0", "n = 1.1", "n * x < 0", "n IS NULL", "n <= z", "round(n) = -2", "b", "b IS NULL", "IF(b, x, z) < 5", "b = (x > 12)"),
    *("s = 'ü'", "s LIKE 'a%'", "s LIKE '%/y'", "s IS NULL", "length(s) < x", "s > 'b'", "concat(s, x) LIKE '%0'"),
)
OTHERS = ("x = 0", "x < 12", "x >= 26", "x = 45", "z IS NULL", "z > -9")


def test_random_predicates(lake: Lake, skipping: Skipping) -> None:
    random, count = Random(17), max(50, int(os.environ.get("DATA_SKIP_EXAMPLES", "0")) // 10)
    lake.view(schema=SCHEMA)

    def predicate(depth: int) -> str:
        if depth == 0:
            atom = random.choice(random.choice([ATOMS, OTHERS]))
            return random.choice([atom, atom, f"NOT ({atom})"])
        return f"({predicate(depth - 1)} {random.choice(['AND', 'OR', 'OR'])} {predicate(depth - 1)})"

    predicates = [predicate(random.choice([1, 2])) for _ in range(count)]
    assert sum(lake.check(where).files_skipped for where in predicates) > 2 * count
    compared(lake.spark, skipping, [f"SELECT * FROM t WHERE {where}" for where in predicates[::7]])
