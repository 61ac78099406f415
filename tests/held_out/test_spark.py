"""Cases of Spark itself: UnwrapCastInBinaryComparisonSuite, ParquetFilterSuite."""

from __future__ import annotations

import math
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

from data_skip import MinMax, Skipping
from tests.held_out.suite import Case, check, write
from tests.support import Lake

INF = math.inf
FILES = {
    "low": [{"f": -32768, "b": -INF, "c": Decimal("-200.50"), "d": False, "day": date(2022, 1, 1)}],
    "mid": [
        {"f": 300, "b": 3.14, "c": Decimal("100.20"), "d": True, "day": date(2022, 6, 15)},
        {"f": 500, "b": 20.0, "c": Decimal("400.56")},
    ],
    "high": [{"f": 32767, "b": math.nan, "c": Decimal("999.99"), "d": True, "day": date(2023, 1, 1)}],
    "null": [{"f": None, "b": None, "c": None, "d": None, "day": None}],
}
for rows in FILES.values():
    for row in rows:
        day = row.get("day")
        if isinstance(day, date):
            row["ts"] = datetime(day.year, day.month, day.day, 10, 20, 30, 500, tzinfo=timezone.utc)
            row["ntz"] = datetime(day.year, day.month, day.day, 10, 20, 30, 500)
COLUMNS = {
    "f": pa.int16(),
    "b": pa.float32(),
    "c": pa.decimal128(5, 2),
    "d": pa.bool_(),
    "day": pa.date32(),
    "ts": pa.timestamp("us", "UTC"),
    "ntz": pa.timestamp("us"),
}
UNWRAPPED: list[Case] = [
    ("cast(f AS int) > 32767", ""),
    ("cast(f AS int) >= 32767", "high"),
    ("cast(f AS int) <=> 32767", "high"),
    ("cast(f AS int) <= 32767", "low mid high"),
    ("cast(f AS int) < 32767", "low mid"),
    ("cast(f AS int) > 40000", ""),
    ("cast(f AS int) <=> 40000", ""),
    ("cast(f AS int) < 40000", "low mid high"),
    ("cast(f AS int) <= -32768", "low"),
    ("cast(f AS int) < -32768", ""),
    ("cast(f AS int) > -32768", "mid high"),
    ("cast(f AS int) = 300", "mid"),
    ("30 <= cast(f AS int)", "mid high"),
    ("cast(f AS double) > 400.6", "mid high"),
    ("cast(f AS double) = 300.6", ""),
    ("cast(f AS bigint) IN (300, 2147483647, 9223372036854775807)", "mid"),
    ("cast(f AS bigint) IN (2147483647, 9223372036854775807)", ""),
    ("cast(f AS bigint) IN (NULL, 32767)", "high"),
    ("cast(b AS double) > double('NaN')", ""),
    ("cast(b AS double) >= double('NaN')", "high"),
    ("cast(b AS double) < double('NaN')", "low mid"),
    ("cast(b AS double) <= double('-Infinity')", "low"),
    ("cast(b AS double) > double('-Infinity')", "mid high"),
    ("cast(b AS double) = 3.14D", ""),
    ("cast(b AS double) > 3.14D AND cast(b AS double) < 4", "mid"),
    ("cast(b AS double) IN (3.14D, 20.0D)", "mid"),
    ("cast(c AS decimal(10, 4)) = 100.2000", "mid"),
    ("cast(c AS decimal(10, 4)) > 400.5678", "high"),
    ("cast(c AS decimal(10, 4)) = 400.5678", ""),
    ("cast(c AS decimal(10, 4)) = 123456.1234", ""),
    ("cast(d AS int) > 0", "mid high"),
    ("cast(d AS int) = 0", "low"),
    ("cast(d AS int) = 2", ""),
    ("cast(d AS int) <= -1", ""),
    ("cast(ts AS date) = DATE'2022-06-15'", "mid"),
    ("cast(ts AS date) > DATE'2022-06-15'", "high"),
    ("cast(ntz AS date) <= DATE'2022-01-01'", "low"),
    ("cast(day AS timestamp) >= TIMESTAMP'2022-06-15 00:00:01Z'", "high"),
    ("cast(ts AS timestamp_ntz) = TIMESTAMP_NTZ'2022-06-15 10:20:30.0005'", "mid"),
    ("ts = ntz", "low mid high"),
    ("try_cast(cast(f AS int) AS tinyint) = 100", ""),
]

VALUES = {
    str(i): [
        {
            "_1": i,
            "s": "same" if i < 3 else f"{i}str",
            "time": datetime(2000 + i, 8, 12, 9, 1, 45, 120000, tzinfo=timezone.utc),
            "day": date(2018, 3, 17) + timedelta(days=i),
            "dec": Decimal(i) / 10,
            "bin": bytes([i]),
            "n": {"f": i, "g": {"h": f"{i}h"}},
            "arr": [f"2#{i}", f"3#{i}"],
            "a b.c": i,
            "bool": i > 2,
        }
    ]
    for i in range(1, 5)
}
VALUES["none"] = [{"_1": None}]
VALUE_COLUMNS = {
    "_1": pa.int32(),
    "s": pa.string(),
    "time": pa.timestamp("us", "UTC"),
    "day": pa.date32(),
    "dec": pa.decimal128(12, 2),
    "bin": pa.binary(),
    "n": pa.struct({"f": pa.int32(), "g": pa.struct({"h": pa.string()})}),
    "arr": pa.list_(pa.string()),
    "a b.c": pa.int32(),
    "bool": pa.bool_(),
}
VALUE_INDEXES = ("_1", "s", "time", "day", "dec", "bin", "n.f", "n.g.h", "arr", "`a b.c`", "bool")
VALUE_CASES: list[Case] = [
    ("_1 IS NULL", "none"),
    ("_1 IS NOT NULL", "1 2 3 4"),
    ("_1 = 1", "1"),
    ("_1 <=> 1", "1"),
    ("_1 <> 1", "2 3 4"),
    ("NOT (_1 <=> 1)", "2 3 4 none"),
    ("_1 < 2", "1"),
    ("4 <= _1", "4"),
    ("NOT (_1 < 4)", "4"),
    ("_1 < 2 OR _1 > 3", "1 4"),
    ("NOT (_1 = 2 OR _1 = 3)", "1 4"),
    ("bool", "3 4"),
    ("bool = false", "1 2"),
    ("dec >= 0.4", "4"),
    ("dec = 0.25", ""),
    ("bin > X'03'", "4"),
    ("bin <=> X'01'", "1"),
    ("day < DATE'2018-03-19'", "1"),
    ("day = '2018-03-19'", "2"),
    ("time >= TIMESTAMP'2004-08-12 09:01:45.12Z'", "4"),
    ("n.f < 2", "1"),
    ("n.g.h = '4h'", "4"),
    ("n IS NULL", "none", "1 2 3 4", "a struct has no index"),
    ("`a b.c` = 3", "3"),
    ("s LIKE '3s%'", "3"),
    ("startswith(s, 'same')", "1 2"),
    ("NOT startswith(s, 'same')", "3 4"),
    ("s LIKE '3%r'", "3"),
    ("startswith(s, '')", "1 2 3 4"),
    ("startswith(s, null)", ""),
    ("endswith(s, 'tr')", "3 4"),
    ("contains(s, 'am')", "1 2"),
    ("s IN ('3str', 'same', NULL)", "1 2 3"),
    ("_1 IN (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)", "1 2 3 4"),
    ("_1 IN (10, 20, 30)", ""),
    ("array_contains(arr, '2#3')", "3", "1 2", "it lies between 2#1 and 3#1, and 2#2 and 3#2"),
    ("arr[1] = '3#4'", "4"),
    ("_1 + 1 = 3", "2"),
    ("_1 = 2147483648", ""),
    ("_1 < 9223372036854775807", "1 2 3 4"),
    ("_1 = '2'", "2"),
]


def test_unwrapped_casts(spark: SparkSession, skipping: Skipping, tmp_path: Path) -> None:
    check(write(Lake(spark, skipping, tmp_path / "table"), FILES, COLUMNS, *map(MinMax, COLUMNS)), UNWRAPPED)


def test_filters(spark: SparkSession, skipping: Skipping, tmp_path: Path) -> None:
    check(write(Lake(spark, skipping, tmp_path / "table"), VALUES, VALUE_COLUMNS, *map(MinMax, VALUE_INDEXES)), VALUE_CASES)
