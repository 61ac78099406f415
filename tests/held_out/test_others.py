"""Cases of DataFusion (pruning.rs), Xskipper (APITests.json) and parquet-mr (TestStatisticsFilter, DictionaryFilterTest)."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

from data_skip import BloomFilter, MinMax, Skipping, ValueList
from tests.held_out.suite import Case, check, write
from tests.support import Lake

DATAFUSION = {
    "-5_5": [{"i": -5, "b": False, "s": "foo"}, {"i": 5, "b": False, "s": "foo"}],
    "1_11": [{"i": 1, "b": False, "s": "bar"}, {"i": 11, "b": True, "s": "bar"}, {"i": None, "s": None}],
    "-11_-1": [{"i": -11, "b": True, "s": "foo"}, {"i": -1, "b": True, "s": "bar"}],
    "null": [{"i": None, "b": None, "s": None}],
    "other": [{"i": 1, "s": "qux"}, {"i": 1, "s": "quy"}],
}
DATAFUSION_CASES: list[Case] = [
    ("i > 0", "-5_5 1_11 other"),
    ("-i < 0", "-5_5 1_11 other"),
    ("i <= 0", "-5_5 -11_-1"),
    ("-i >= 0", "-5_5 -11_-1"),
    ("cast(i AS string) <= '0'", "-5_5 -11_-1", "1_11", "the text of a number has another order; DataFusion reads more"),
    ("cast(i AS string) = '0'", "", "-5_5 1_11 -11_-1", "the text of a number has another order; DataFusion reads more"),
    ("i = 0", "", "-5_5", "it lies in the range of the file"),
    ("cast(i AS bigint) = 5L", "-5_5", "1_11", "it lies in the range of the file"),
    ("try_cast(i AS bigint) = -11", "-11_-1"),
    ("-cast(i AS bigint) < 0L", "-5_5 1_11 other"),
    ("i > -1 AND NOT (i > 0)", "", "-5_5", "0 lies in the range of the file"),
    ("i IS NULL", "1_11 null"),
    ("i < 0", "-5_5 -11_-1"),
    ("b", "1_11 -11_-1"),
    ("NOT b", "-5_5 1_11"),
    ("b = true", "1_11 -11_-1"),
    ("(NOT b) = true", "-5_5 1_11"),
    ("(i > 0) = true", "-5_5 1_11 other"),
    ("s = 'foo' AND s = 'bar'", ""),
    ("s = 'foo' OR s = 'baz'", "-5_5 -11_-1"),
    ("s != 'foo'", "1_11 -11_-1 other"),
    ("s != 'foo' AND s != 'bar'", "other"),
    ("s != 'foo' OR s != 'bar'", "-5_5 1_11 -11_-1 other"),
    ("s = 'foo' AND i != 5", "-5_5 -11_-1"),
    ("s != 'foo' AND (i = 11 OR i = 12)", "1_11"),
    ("NOT (s LIKE 'qu%')", "-5_5 1_11 -11_-1"),
    ("s LIKE '%oo'", "-5_5 -11_-1"),
]

XSKIPPER = {
    "0-3-JTH": [
        {"temp": t, "lat": 12.1, "address": a, "comments": c} for t, a, c in ((0.1, "J", "X3"), (1.1, "T", "Y3"), (2.2, "H", "Z3"))
    ],
    "10-23-JT": [
        {"temp": t, "lat": 13.1, "address": a, "comments": c} for t, a, c in ((10.1, "J", "X1"), (11.1, "T", "Y1"), (22.2, "J", "Z1"))
    ],
    "20-33-HT": [
        {"temp": t, "lat": 13.1, "address": a, "comments": c} for t, a, c in ((20.1, "F", "X"), (21.1, "T", "Y"), (32.2, "T", "Z"))
    ],
    "no_temp": [{"address": None, "temp": None, "comments": None}],
}
XSKIPPER_CASES: list[Case] = [
    ("temp IN (10, 12, 11)", "", "10-23-JT", "they lie in the range of the file"),
    ("temp IN (1.1, 32.2)", "0-3-JTH 20-33-HT"),
    ("temp IN (10, 10.1, 10.2, 10.3, 10.4, 10.15, 10.25, 10.22, 10.5, 11, 12, 10.9)", "10-23-JT"),
    (f"temp IN ({', '.join(map(str, range(100, 400)))})", ""),
    ("address NOT IN ('J', 'T')", "0-3-JTH 20-33-HT"),
    ("temp <> 0.1 AND temp <> 1.1 AND temp <> 2.2", "10-23-JT 20-33-HT", "0-3-JTH", "between its first and last value there is room"),
    ("address > 'J'", "0-3-JTH 10-23-JT 20-33-HT"),
    ("address IN ('H')", "0-3-JTH"),
    ("address IN ('H') AND temp > 10", ""),
    ("address IN ('H') OR temp < 11.1", "0-3-JTH 10-23-JT"),
    ("temp BETWEEN 3 AND 10", ""),
    ("temp < 10.1", "0-3-JTH"),
    ("tEmP <= 10.1", "0-3-JTH 10-23-JT"),
    ("temp = 0.1", "0-3-JTH"),
    ("address = 'J' AND temp BETWEEN 0 AND 15", "0-3-JTH 10-23-JT"),
    ("address = 'F' OR temp < 2", "0-3-JTH 20-33-HT"),
    ("((address = 'F' OR temp < 2) OR temp > 30)", "0-3-JTH 20-33-HT"),
    ("((comments = 'Z1' AND temp < 2) OR temp > 30)", "20-33-HT"),
    ("(NOT (comments = 'J' AND temp < 2) OR temp > 30)", "0-3-JTH 10-23-JT 20-33-HT", "no_temp", "a Bloom filter serves no NOT"),
    ("NOT ((comments = 'J' AND temp < 2) OR temp <= 30)", "20-33-HT"),
    ("comments = 'Z1'", "10-23-JT"),
    ("comments IN ('X3', 'Y', 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l')", "0-3-JTH 20-33-HT"),
]

PARQUET = {
    "10_100": [{"i": 10, "d": 10.0, "w": "a"}, {"i": 100, "d": 100.0, "w": "c"}],
    "nulls": [{"i": None, "d": 10.0, "w": "a"}] * 2,
    "sevens": [{"i": 7, "d": 7.0, "w": "b"}] * 3,
    "sevens_nulls": [{"i": 7, "d": 7.0}, {"i": None}],
    "missing": [{"d": 1.0}],
}
PARQUET_CASES: list[Case] = [
    ("i = 9", ""),
    ("i = 10", "10_100"),
    ("i = 101", ""),
    ("i IS NULL", "nulls sevens_nulls missing"),
    ("i IS NOT NULL", "10_100 sevens sevens_nulls"),
    ("i <> 7", "10_100"),
    ("NOT (i <=> 7)", "10_100 nulls sevens_nulls missing"),
    ("i <> 101", "10_100 sevens sevens_nulls"),
    ("i < 7", ""),
    ("i <= 7", "sevens sevens_nulls"),
    ("i > 100", ""),
    ("i >= 100", "10_100"),
    ("i IN (10, 12, 15, 17, 19)", "10_100"),
    ("i IN (109, 2, 5, 117, 101)", ""),
    ("i NOT IN (7, 8)", "10_100"),
    ("i IN (NULL)", ""),
    ("w = 'b'", "sevens"),
    ("w > 'b'", "10_100"),
    ("w IN ('b', 'z')", "sevens"),
    ("w NOT IN ('a', 'c')", "sevens"),
    ("w IS NULL AND d IS NOT NULL", "sevens_nulls missing"),
    ("i = 50 AND d = 50.0", "", "10_100", "it lies in the range of the file"),
    ("i < 9 OR d > 101", "sevens sevens_nulls"),
    ("NOT (i >= 9 OR d < 9)", ""),
]


def test_datafusion(spark: SparkSession, skipping: Skipping, tmp_path: Path) -> None:
    columns = {"i": pa.int32(), "b": pa.bool_(), "s": pa.string()}
    check(write(Lake(spark, skipping, tmp_path / "t"), DATAFUSION, columns, MinMax("i"), MinMax("b"), ValueList("s")), DATAFUSION_CASES)


def test_xskipper(spark: SparkSession, skipping: Skipping, tmp_path: Path) -> None:
    columns = {"temp": pa.float64(), "lat": pa.float64(), "address": pa.string(), "comments": pa.string()}
    indexes = MinMax("temp"), ValueList("address"), BloomFilter("comments")
    check(write(Lake(spark, skipping, tmp_path / "t"), XSKIPPER, columns, *indexes), XSKIPPER_CASES)


def test_parquet_mr(spark: SparkSession, skipping: Skipping, tmp_path: Path) -> None:
    columns = {"i": pa.int32(), "d": pa.float64(), "w": pa.string()}
    check(write(Lake(spark, skipping, tmp_path / "t"), PARQUET, columns, MinMax("i"), MinMax("d"), ValueList("w")), PARQUET_CASES)
