"""Cases of Iceberg: TestInclusiveMetricsEvaluator (and its WithTransforms), TestBloomRowGroupFilter, TestFilterPushDown."""

from __future__ import annotations

import math
from datetime import datetime, timedelta, timezone

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from data_skip import BloomFilter, MinMax, Skipping
from tests.held_out.suite import Case, Suite, check, write
from tests.support import Lake

DAY_0 = datetime(1970, 1, 1, tzinfo=timezone.utc)
ABOVE_ALL = "イロハニホヘト"

FILES = {
    "numbers": [
        {
            "id": i,
            "all_nulls": None,
            "some_nulls": None if i < 40 else "some",
            "no_nulls": "",
            "all_nans": math.nan,
            "some_nans": math.nan if i % 5 == 0 else 2.0,
            "no_nans": 3.0,
            "nan_and_null_only": None if i == 30 else math.nan,
            "some_empty": "" if i == 30 else "房东整租霍营小区二层两居室",
            "ts": DAY_0 + timedelta(days=i),
        }
        for i in range(30, 80)
    ],
    "aa_dC": [{"required": text} for text in ("aa", "bb", "dC")],
    "1str1_3str3": [{"required": text} for text in ("1str1", "3str3")],
    "abc_kana": [{"required": text} for text in ("abc", ABOVE_ALL)],
    "abc_abcd": [{"required": text} for text in ("abc", "abcd")],
    "single": [{"required": "abc", "no_nans": 5.0}] * 3,
    "single_and_null": [{"required": "abc"}, {"required": None}],
    "single_and_nan": [{"no_nans": 5.0}, {"no_nans": math.nan}],
    "structs": [{"required": "x", "address": {"street1": None, "street2": "s"}}],
    "no_address": [{"required": "x", "address": None}],
    "empty": [],
}
COLUMNS = {
    "id": pa.int32(),
    "all_nulls": pa.string(),
    "some_nulls": pa.string(),
    "no_nulls": pa.string(),
    "required": pa.string(),
    "all_nans": pa.float64(),
    "some_nans": pa.float32(),
    "no_nans": pa.float32(),
    "nan_and_null_only": pa.float64(),
    "some_empty": pa.string(),
    "ts": pa.timestamp("us", "UTC"),
    "address": pa.struct({"street1": pa.string(), "street2": pa.string()}),
}
INDEXED = [name for name in COLUMNS if name != "address"] + ["address.street1", "address.street2"]
ID = "id IS NOT NULL AND "
REQUIRED = "required IS NOT NULL AND "

CASES: dict[str, list[Case]] = {
    "nulls": [
        (ID + "all_nulls IS NOT NULL", ""),
        (ID + "all_nulls < 'a'", ""),
        (ID + "all_nulls >= 'a'", ""),
        (ID + "startswith(all_nulls, 'a')", ""),
        (ID + "NOT startswith(all_nulls, 'a')", ""),
        (ID + "NOT coalesce(startswith(all_nulls, 'a'), false)", "numbers"),
        (ID + "all_nulls NOT IN ('abc', 'def')", ""),
        (ID + "some_nulls IS NOT NULL", "numbers"),
        (ID + "some_nulls IS NULL", "numbers"),
        (ID + "no_nulls IS NULL", ""),
        (ID + "no_nulls IS NOT NULL", "numbers"),
        (REQUIRED + "address.street1 IS NULL AND address.street2 IS NOT NULL", "structs"),
        ("address.street1 IS NOT NULL", ""),
        ("address.street2 IS NOT NULL", "structs"),
    ],
    "NaN": [
        (ID + "isnan(all_nans)", "numbers"),
        (ID + "isnan(some_nans)", "numbers"),
        ("isnan(no_nans)", "single_and_nan"),
        ("isnan(nan_and_null_only)", "numbers"),
        (ID + "NOT isnan(all_nans)", ""),
        (ID + "NOT isnan(some_nans)", "numbers"),
        (ID + "NOT isnan(no_nans)", "numbers"),
        (ID + "NOT isnan(nan_and_null_only)", "numbers"),
        ("no_nans > 100", "single_and_nan"),
        ("no_nans <> 5", "numbers single_and_nan"),
        ("no_nans NOT IN (5, 10)", "numbers single_and_nan"),
        ("no_nans < 3", ""),
    ],
    "integers": [
        ("id < 5", ""),
        ("id < 30", ""),
        ("id < 31", "numbers"),
        ("id <= 29", ""),
        ("id <= 30", "numbers"),
        ("id > 85", ""),
        ("id > 79", ""),
        ("id > 78", "numbers"),
        ("id >= 80", ""),
        ("id >= 79", "numbers"),
        ("id = 5", ""),
        ("id = 29", ""),
        ("id = 30", "numbers"),
        ("id = 75", "numbers"),
        ("id = 80", ""),
        ("id <> 5", "numbers"),
        ("NOT (id = 30)", "numbers"),
        ("NOT (ID < 5)", "numbers"),
        ("NOT (id > 5)", ""),
        ("id < 5 AND id >= 0", ""),
        ("id > 5 AND id <= 30", "numbers"),
        ("id < 5 OR id >= 80", ""),
        ("id < 5 OR id >= 60", "numbers"),
        ("id IN (5, 6)", ""),
        ("id IN (28, 29)", ""),
        ("id IN (29, 30)", "numbers"),
        ("id IN (79, 80)", "numbers"),
        ("id IN (80, 81)", ""),
        (f"id IN ({', '.join(map(str, range(-370, 30)))})", ""),
        (f"id IN ({', '.join(map(str, range(-370, 31)))})", "numbers"),
        ("id NOT IN (79, 80)", "numbers"),
    ],
    "strings": [
        ("startswith(required, 'a')", "aa_dC abc_kana abc_abcd single single_and_null"),
        ("startswith(required, 'aaa')", "", "aa_dC", "between its first and last value there is room for it"),
        ("startswith(required, '1str1x')", "", "1str1_3str3", "between its first and last value there is room for it"),
        ("startswith(required, 'aB')", ""),
        ("startswith(required, 'dWX')", "", "abc_kana", "between its first and last value there is room for it"),
        ("startswith(required, '5')", ""),
        ("startswith(required, '3str3x')", ""),
        (f"startswith(required, '{ABOVE_ALL}x')", ""),
        ("startswith(some_empty, '房东整租霍')", "numbers"),
        (REQUIRED + "NOT startswith(required, 'abc')", "aa_dC 1str1_3str3 abc_kana structs no_address"),
        ("required NOT LIKE 'abcd%'", "aa_dC 1str1_3str3 abc_kana abc_abcd single single_and_null structs no_address"),
        ("required <> 'abc'", "aa_dC 1str1_3str3 abc_kana abc_abcd structs no_address"),
        ("required NOT IN ('abc', 'def')", "aa_dC 1str1_3str3 abc_kana abc_abcd structs no_address"),
        ("required NOT IN ('x', 'abc')", "aa_dC 1str1_3str3 abc_kana abc_abcd"),
        ("required NOT IN ('def', NULL)", ""),
    ],
    "functions of a moment": [
        ("to_date(ts) < DATE'1970-01-06'", ""),
        ("to_date(ts) < DATE'1970-01-31'", ""),
        ("to_date(ts) < DATE'1970-02-01'", "numbers"),
        ("unix_date(to_date(ts)) <= 29", ""),
        ("unix_date(to_date(ts)) = 30", "numbers"),
        ("unix_date(to_date(ts)) IN (80, 81)", ""),
        ("NOT (unix_date(to_date(ts)) > 5)", ""),
        ("to_date(ts) = DATE'1970-03-22'", ""),
        ("to_date(ts) = DATE'1970-03-20'", "numbers"),
        ("date_trunc('month', ts) > TIMESTAMP'1970-03-01'", ""),
        ("year(ts) <> 1970", ""),
        ("hour(ts) = 0", "numbers"),
        ("pmod(hash(ts), 100) = 1000", "", "numbers", "a hash has no order; Iceberg reads it as well"),
        ("pmod(hash(ts), 100) IS NULL AND id > 0", "", "numbers", "a hash has no order"),
        ("id - pmod(id, 10) > 70", "", "numbers", "the remainder turns in the range of the file"),
        ("floor(id / 10) > 7", ""),
    ],
    "filters that Spark pushes down": [
        ("required IN (null, '3str3')", "1str1_3str3"),
        ("required = 'aa' OR required = '1str1' OR required = 'no'", "aa_dC 1str1_3str3", "abc_kana", "'no' lies in its range"),
        ("required = 'aa' AND id = 30", ""),
        ("required LIKE '%tr3' AND id IN (1, 5)", ""),
        ("required <=> '3str3'", "1str1_3str3"),
    ],
}


@pytest.fixture(scope="module")
def metrics(spark: SparkSession, skipping: Skipping, tmp_path_factory: pytest.TempPathFactory) -> Suite:
    return write(Lake(spark, skipping, tmp_path_factory.mktemp("iceberg") / "metrics"), FILES, COLUMNS, *map(MinMax, INDEXED))


@pytest.mark.parametrize("title", CASES)
def test_metrics(metrics: Suite, title: str) -> None:
    check(metrics, CASES[title])


BLOOM_FILES = {
    "even": [{"id": i, "text": f"BINARY测试_{i}", "price": i / 4, "f": float(i), "s": {"i": i}} for i in range(30, 80, 2)],
    "odd": [{"id": i, "text": f"BINARY测试_{i}", "price": i / 4, "f": float(i), "s": {"i": i}} for i in range(31, 80, 2)],
    "nulls": [{"id": None, "text": None, "price": None, "f": None, "s": None}],
}
BLOOM_COLUMNS = {"id": pa.int32(), "text": pa.string(), "price": pa.float64(), "f": pa.float32(), "s": pa.struct({"i": pa.int32()})}
BLOOM_CASES: list[Case] = [
    ("id = 36", "even"),
    ("id = 37", "odd"),
    ("id = 5", ""),
    ("id IN (5, 37, 200)", "odd"),
    (f"id IN ({', '.join(map(str, range(0, 29)))})", ""),
    ("id IS NULL", "nulls"),
    ("id IS NOT NULL", "even odd"),
    ("text = 'BINARY测试_40'", "even"),
    ("text = 'BINARY测试_400'", ""),
    ("price = 9.25", "odd"),
    ("f = 38", "even"),
    ("s.i = 38", "even"),
    ("id = 36 AND text = 'BINARY测试_37'", ""),
    ("id = 5 OR text = 'BINARY测试_37'", "odd"),
    ("id = 5 OR id = 1000", ""),
    ("id < 29", "", "even odd", "a Bloom filter knows no order"),
    ("startswith(text, 'xxx')", "", "even odd", "a Bloom filter knows no order"),
    ("NOT (id = 5)", "even odd"),
]


def test_bloom_filters(spark: SparkSession, skipping: Skipping, tmp_path_factory: pytest.TempPathFactory) -> None:
    lake = Lake(spark, skipping, tmp_path_factory.mktemp("iceberg") / "bloom")
    check(write(lake, BLOOM_FILES, BLOOM_COLUMNS, *map(BloomFilter, ("id", "text", "price", "f", "s.i"))), BLOOM_CASES)
