"""Cases of ClickHouse: 00837_minmax_index, 00945_bloom_filter_index, 00926_adaptive_index_granularity_pk, 00990_hasToken, text indexes."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

import log_skip
from data_skip import BloomFilter, MinMax, Skipping
from tests.held_out.suite import Case, check, write
from tests.support import Lake

_TABLE = [
    (0, 5, 4.7, "6.5", "cba", date(2014, 1, 4)),
    (1, 5, 4.7, "6.5", "cba", date(2014, 3, 11)),
    (2, 2, 4.5, "2.5", "abc", date(2014, 1, 1)),
    (4, 2, 4.5, "2.5", "abc", date(2016, 1, 1)),
    (5, 5, 6.9, "1.57", "bac", date(2014, 11, 11)),
    (9, 5, 6.9, "1.57", "bac", date(2014, 7, 11)),
    (11, 5, 4.7, "6.5", "cba", date(2014, 6, 11)),
    (12, 5, 4.7, "6.5", "cba", date(2015, 1, 1)),
]
GRANULES = {
    f"g{i // 2}": [{"u64": u64, "i32": i32, "f64": f64, "d": Decimal(d), "s": s, "dt": dt} for u64, i32, f64, d, s, dt in _TABLE[i : i + 2]]
    for i in range(0, 8, 2)
}
GRANULE_COLUMNS = {
    "u64": pa.int64(),
    "i32": pa.int32(),
    "f64": pa.float64(),
    "d": pa.decimal128(10, 2),
    "s": pa.string(),
    "dt": pa.date32(),
}
GRANULE_INDEXES = ("i32", "i32 + f64", "d", "s", "dt", "u64", "u64 + year(dt)", "substring(s, 2, 4)")
GRANULE_CASES: list[Case] = [
    ("i32 = 5 AND i32 + f64 < 10 AND 3 < d AND d < 7 AND (s = 'bac' OR s = 'cba')", "g0 g3"),
    ("(u64 < 2 OR u64 > 10) AND s != 'cba'", ""),
    ("u64 + year(dt) > 2025", "g3"),
    ("substring(s, 2, 4) = 'bc'", "g1"),
    ("i32 + f64 > 11.5", "g2"),
]

BLOOM = {
    f"n{first}": [
        {
            "i32": i,
            "i64": i,
            "f64": float(i),
            "date": date(1970, 1, 1) + timedelta(days=i),
            "at": datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(seconds=i),
            "str": str(i),
            "list": [i, i + 1],
            "strs": [str(i)],
            "lc": None if i == 3 else str(i),
        }
        for i in range(first, first + 6)
    ]
    for first in (0, 6, 12, 18)
}
BLOOM_COLUMNS = {
    "i32": pa.int32(),
    "i64": pa.int64(),
    "f64": pa.float64(),
    "date": pa.date32(),
    "at": pa.timestamp("us", "UTC"),
    "str": pa.string(),
    "list": pa.list_(pa.int32()),
    "strs": pa.list_(pa.string()),
    "lc": pa.string(),
}
BLOOM_CASES: list[Case] = [
    ("i32 = 1", "n0"),
    ("(i32, i32) = (1, 2)", "", "n0", "each value lies in the file; they are told column by column"),
    ("(i32, i32) = (1, 7)", ""),
    ("(i32, i64) = (7, 7L)", "n6"),
    ("(i64, (i64, i32)) = (13L, (13L, 13))", "n12"),
    ("i32 IN (1, 20)", "n0 n18"),
    ("(i32, i64) IN ((1, 1L), (8, 8L))", "n0 n6"),
    ("(i32, i32) IN ((1, 2), (2, 3))", "", "n0", "each value lies in the file; they are told column by column"),
    ("(i64, (i64, i32)) IN ((1L, (1L, 1)), (20L, (20L, 20)))", "n0 n18"),
    ("(i32, i64) NOT IN ((1, 1L), (8, 8L))", "n0 n6 n12 n18"),
    ("(i32 = 200) = (i32 = 200)", "n0 n6 n12 n18"),
    ("array_position(array(1, 8, 30), i32) != 0", "n0 n6", "n12 n18", "of a constant array only array_contains is taken for IN"),
    ("array_contains(array(1, 8, 30), i32)", "n0 n6"),
    ("f64 = 7", "n6"),
    ("date = '1970-01-02'", "n0"),
    ("at = TIMESTAMP'1970-01-01 02:00:20+02:00'", "n18"),
    ("str = '7'", "n6"),
    ("array_contains(list, 7)", "n6"),
    ("array_contains(list, 6)", "n0 n6"),
    ("array_contains(strs, '20')", "n18"),
    ("arrays_overlap(list, array(100, 20))", "n18"),
    ("NOT array_contains(list, 7)", "n0 n6 n12 n18"),
    ("list[1] = 7", "n6"),
    ("lc IS NULL", "n0"),
    ("lc = '3'", ""),
]

MINUTES = {
    "m0": [{"x": x, "y": y} for x, y in ((1, 11), (2, 11), (3, 22), (5, 33))],
    "m1": [{"x": x, "y": y} for x, y in ((61, 11), (62, 11), (64, 22), (67, 22))],
    "m2": [{"x": x, "y": y} for x, y in ((121, 33), (124, 44), (126, 55), (128, 55))],
}
MINUTES = {
    name: [{"x": datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(seconds=r["x"]), "y": r["y"]} for r in rows]
    for name, rows in MINUTES.items()
}
OF_A_FUNCTION = "an index over a function serves what is asked of the function; index x, which serves both"
MINUTE_CASES: list[Case] = [
    ("date_trunc('MINUTE', x) = timestamp_seconds(60)", "m1"),
    ("date_trunc('MINUTE', x) BETWEEN timestamp_seconds(0) AND timestamp_seconds(59)", "m0"),
    ("date_trunc('MINUTE', x) > timestamp_seconds(59) AND y = 11", "m1"),
    ("x BETWEEN timestamp_seconds(120) AND timestamp_seconds(240)", "m2", "m0 m1", OF_A_FUNCTION),
    ("x = timestamp_seconds(1)", "m0", "m1 m2", OF_A_FUNCTION),
    ("x BETWEEN timestamp_seconds(60) AND timestamp_seconds(119) AND y = 11", "m1", "m0", OF_A_FUNCTION),
]

TOKENS = {
    "yyy": [{"s": "yyy,uuu", "lc": "K1"}],
    "abc": [{"s": "abc,def,zzz", "lc": "K2"}],
    "abcdefzzz": [{"s": "abcdefzzz", "lc": "abCD3ef"}],
    "hello": [{"s": "Hello ClickHouse", "lc": "abCD4ef"}, {"s": "Say Hello", "lc": "K3"}],
    "good": [{"s": "Good Weather", "lc": "OLAP Database"}],
}
TOKEN_CASES: list[Case] = [
    ("s LIKE '%def,%'", "abc"),
    ("s LIKE '%abcdef%'", "abcdefzzz"),
    ("s LIKE 'Hel_o%'", "hello"),
    ("s LIKE '%Weather'", "good"),
    ("NOT (s LIKE '%Weather')", "yyy abc abcdefzzz hello", "good", "n-grams are not the value"),
    ("startswith(s, 'Hello')", "hello"),
    ("endswith(s, 'Hello')", "hello"),
    ("endswith(s, 'House')", "hello"),
    ("s LIKE '%abc%' OR s LIKE '%uuu%'", "yyy abc abcdefzzz"),
    ("s LIKE '%abc%' AND s LIKE '%ClickHouse%'", ""),
    ("s RLIKE 'Click(House|Bench)'", "hello"),
    ("array_contains(split(s, '[^a-z]'), 'zzz')", "abc", "yyy abcdefzzz hello good", "the parts have no index"),
    ("lc = 'abCD3ef'", "abcdefzzz"),
    ("lc LIKE '%CD_ef'", "abcdefzzz hello", "yyy abc good", "no literal part of three characters"),
    ("lc LIKE 'abCD%f'", "abcdefzzz hello"),
]


def test_minmax(spark: SparkSession, skipping: Skipping, tmp_path: Path) -> None:
    check(write(Lake(spark, skipping, tmp_path / "table"), GRANULES, GRANULE_COLUMNS, *map(MinMax, GRANULE_INDEXES)), GRANULE_CASES)


def test_bloom_filter(spark: SparkSession, skipping: Skipping, tmp_path: Path) -> None:
    check(write(Lake(spark, skipping, tmp_path / "table"), BLOOM, BLOOM_COLUMNS, *map(BloomFilter, BLOOM_COLUMNS)), BLOOM_CASES)


def test_key_of_minutes(spark: SparkSession, skipping: Skipping, tmp_path: Path) -> None:
    columns = {"x": pa.timestamp("us", "UTC"), "y": pa.int64()}
    check(write(Lake(spark, skipping, tmp_path / "table"), MINUTES, columns, MinMax("date_trunc('MINUTE', x)"), MinMax("y")), MINUTE_CASES)


def test_tokens(spark: SparkSession, skipping: Skipping, tmp_path: Path) -> None:
    log_skip.register(spark)
    columns = {"s": pa.string(), "lc": pa.string()}
    check(write(Lake(spark, skipping, tmp_path / "table"), TOKENS, columns, log_skip.NGram("s"), log_skip.NGram("lc")), TOKEN_CASES)
