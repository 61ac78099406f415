"""Cases of Delta Lake: DataSkippingDeltaTests, PartitionLikeDataSkippingSuite, TimestampStatsAndDataSkippingSuite."""

from __future__ import annotations

from datetime import date, datetime, timezone
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from data_skip import MinMax, Skipping
from tests.held_out.suite import Case, Suite, check, write
from tests.support import Lake

MOMENT = datetime(2019, 9, 9, 1, 2, 3, 456789)

FILES = {
    "one": [{"u": 20, "a": 1, "n": {"b": 1, "c": {"d": 1}, "s": None}}],
    "long_low": [{"s": "A" * 1000}, {"s": "B"}, {"s": "C"}],
    "long_high": [{"s": "A"}, {"s": "B"}, {"s": "C" * 1000}],
    "words": [{"s": word, "n": {"s": word}} for word in ("apple", "microsoft")],
    "days": [{"x": 1, "t": "2017-09-01"}, {"x": 2, "t": "2017-08-31"}],
    "tens": [{"x": 10, "y": 10}, {"x": 20, "y": 20}],
    "both": [{"a": None}, {"a": 1}],
    "false": [{"f": False}],
    "moment": [{"ts": MOMENT.replace(tzinfo=timezone.utc), "n": {"ts": MOMENT}}],
    "array": [{"l": [3, 4]}],
    "dotted": [{"d.e": 2, "d": {"e": 3}}],
}
COLUMNS = {
    "a": pa.int32(),
    "n": pa.struct(
        {"b": pa.int32(), "c": pa.struct({"d": pa.int32()}), "s": pa.string(), "ts": pa.timestamp("us")},
    ),
    "s": pa.string(),
    "t": pa.string(),
    "x": pa.int32(),
    "y": pa.int32(),
    "f": pa.bool_(),
    "ts": pa.timestamp("us", "UTC"),
    "l": pa.list_(pa.int32()),
    "d.e": pa.int32(),
    "d": pa.struct({"e": pa.int32()}),
    "u": pa.int32(),
}
INDEXED = ("a", "n.b", "n.c.d", "n.s", "n.ts", "s", "t", "x", "y", "f", "ts", "l", "`d.e`", "d.e")

CASES: dict[str, list[Case]] = {
    "one value": [
        ("True", " ".join(FILES)),
        ("a = 1", "one both"),
        ("a <=> 1", "one both"),
        ("1 <= a", "one both"),
        ("2 >= a", "one both"),
        ("NOT a <=> 2", " ".join(FILES)),
        ("NOT a = 1", ""),
        ("a <=> 2", ""),
        ("2 = a", ""),
        ("1 != a", ""),
        ("a > 1", ""),
        ("1 > a", ""),
        ("0 >= a", ""),
    ],
    "fields of structs": [
        ("n.b = 1", "one"),
        ("n.b <= 2", "one"),
        ("n.b > 1", ""),
        ("n.c.d >= 0", "one"),
        ("n.c.d = 2", ""),
        ("n.s LIKE 'mic%'", "words"),
        ("n.s LIKE 'xyz%'", ""),
        ("n.ts >= TIMESTAMP_NTZ'2019-09-09 01:02:03.456789'", "moment"),
        ("N.tS IS NULL", " ".join(f for f in FILES if f != "moment")),
        ("N.tS > TIMESTAMP_NTZ'2019-09-09 01:02:03.456789'", ""),
        ("d.e < 3", ""),
        ("`d.e` < 3", "dotted"),
        ("`d.e` < 0", ""),
    ],
    "long strings": [
        (f"s = '{'A' * 1000}'", "long_low", "long_high", "it lies in the range of the file"),
        (f"s = '{'C' * 1000}'", "long_high"),
        ("s LIKE 'A%'", "long_low long_high"),
        ("s > 'CC'", "long_high words"),
        ("s < 'AA'", "long_high"),
        ("s > 'CD'", "words"),
        ("s >= 'D' AND s < 'a'", ""),
        ("s LIKE '%'", "long_low long_high words"),
        ("s LIKE 'ap%'", "words"),
        ("s LIKE 'xyz%'", ""),
    ],
    "and, or, not": [
        ("x <= 1 AND x > -1", "days"),
        ("x < 0 AND x > -2", ""),
        ("x > 0 AND t = '2017-09-01'", "days"),
        ("x >= 2 AND t LIKE '2017-08-%'", "days"),
        ("x > 0 AND t LIKE '2016-%'", ""),
        ("x % 100 < 10 AND y % 100 > 20", ""),
        ("x < 10 AND y % 100 > 20", ""),
        ("x % 100 < 10 AND y > 20", ""),
        ("x > 5 OR x < -2", "tens"),
        ("x < 0 OR t = '2017-09-01'", "days"),
        ("x >= 20 OR t LIKE '2016-08-%'", "tens"),
        ("x < 0 OR t LIKE '2016-%'", ""),
        ("x % 100 < 10 OR y > 20", "days"),
        ("x < 1 OR y > 20", ""),
        ("NOT x < 0", "days tens"),
        ("NOT x > 0", ""),
        ("NOT (x >= 10 AND y <= 20)", "days"),
        ("NOT (x >= 10 AND y % 100 <= 20)", "days"),
        ("NOT (x < 1 OR y > 20)", "tens"),
        ("NOT (x % 100 >= 1 OR y <= 20)", ""),
    ],
    "columns without an index": [
        ("u < 10", "", " ".join(FILES), "u has no index"),
        ("x < 1 OR u < 10", "", " ".join(FILES), "u has no index"),
        ("x < 1 AND u < 10", ""),
        ("x < 1 OR (x > 30 AND u < 10)", ""),
        ("x < 1 OR (x >= 20 AND u < 10)", "", "tens", "u has no index, x >= 20 is true there"),
    ],
    "booleans": [
        ("f", ""),
        ("NOT f", "false"),
        ("f = false", "false"),
        ("NOT f = false", ""),
        ("f > true", ""),
        ("true < f", ""),
        ("false = f OR f", "false"),
    ],
    "nulls": [
        ("a = NULL", ""),
        ("NULL AND a = 1", ""),
        ("FALSE", ""),
        ("a IS NOT NULL", "one both"),
        ("NOT a <=> NULL", "one both"),
        ("a IS NULL", " ".join(f for f in FILES if f != "one")),
        ("a <=> NULL AND x = 1", "days"),
        ("(a > 1) IS NULL AND x IS NULL", " ".join(f for f in FILES if f not in ("one", "days", "tens"))),
        ("(a > 1 AND a > 0) IS NULL", " ".join(f for f in FILES if f != "one")),
        ("(a > 1 OR a < 0) IS NULL", " ".join(f for f in FILES if f != "one")),
        ("NOT ((a > 0) IS NULL)", "one both"),
        ("(x > 0 AND y > 1) IS NULL AND x > 5", ""),
        ("(x > 0 OR y > 1) IS NULL AND x > 5", ""),
        ("(x > 100 OR y > 1) IS NULL AND x > 0", "days"),
        ("try_element_at(l, 3) IS NULL AND array_contains(l, 3)", "array"),
        ("NOT (try_element_at(l, 3) IS NULL)", "", "array", "the place of an element is not known"),
        ("l IS NULL", " ".join(f for f in FILES if f != "array")),
        ("isnotnull(l)", "array", " ".join(f for f in FILES if f != "array"), "an empty array looks like NULL"),
        ("l = array(50, 50)", ""),
        ("l = array(3, 4)", "array"),
        ("l = array(4, 3, 5)", ""),
    ],
    "moments": [
        ("ts >= TIMESTAMP'2019-09-09 01:02:03.456789Z'", "moment"),
        ("ts >= TIMESTAMP'2019-09-09 01:02:03.456790Z'", ""),
        ("ts < TIMESTAMP'2019-09-09 01:02:03.456789Z'", ""),
        ("ts <= TIMESTAMP'2019-09-08 17:02:03.456789-08:00'", "moment"),
        ("ts > TIMESTAMP'2019-09-08 17:02:03.456789 America/Los_Angeles'", "moment"),
        ("TS BETWEEN TIMESTAMP'2019-09-01' AND TIMESTAMP'2019-09-30'", "moment"),
        ("ts = '2019-09-09 01:02:03.456789'", "moment"),
    ],
}

_VALUES = [  # of one row: a number, the same as text of a moment, a date, and a column without an index
    {"s": {"a": i, "b": f"197{i}-0{i + 1}-0{i + 2} 0{i}:1{i}:2{i}.00{i}"}, "c": date(1970 + i, i + 1, i + 2), "e": i} for i in range(5)
]
_NULLS = {"s": {"a": None, "b": None}, "c": None, "e": None}
PARTITION_LIKE = {
    **{f"v{i}": [row, row] for i, row in enumerate(_VALUES)},
    **{f"n{i}": [_VALUES[i], _NULLS] for i in (1, 3)},
    "nulls": [_NULLS],
    "mixed": _VALUES,
}
PARTITION_LIKE_COLUMNS = {"s": pa.struct({"a": pa.int32(), "b": pa.string()}), "c": pa.date32(), "e": pa.int32()}
PARTITION_LIKE_CASES: list[Case] = [
    ("COALESCE(null, s.a, 1) = 1", "v1 n1 n3 nulls mixed"),
    ("COALESCE(null, s.a, 1) > 3", "v4 mixed"),
    ("COALESCE(s.A, 1) != 1", "v0 v2 v3 v4 n3 mixed"),
    ("COALESCE(TO_DATE(S.b), c) = '1973-04-05'", "v3 n3 mixed"),
    ("CAST(s.A AS STRING) = '1'", "v1 n1 mixed"),
    ("CAST(s.A AS STRING) < '3'", "v0 v1 v2 n1 mixed"),
    ("TO_DATE(s.b) = '1973-04-05'", "v3 n3 mixed"),
    ("CAST(s.a AS TIMESTAMP) = TIMESTAMP_SECONDS(1)", "v1 n1 mixed"),
    ("YEAR(TIMESTAMP(s.b)) = 1972", "v2 mixed"),
    ("MONTH(TIMESTAMP(s.b)) = 1", "v0 mixed"),
    ("DAYOFYEAR(TIMESTAMP(s.b)) = 34", "v1 n1 mixed"),
    ("DAYOFMONTH(TIMESTAMP(s.b)) = 2", "v0 mixed"),
    ("MINUTE(TIMESTAMP(s.b)) = 14", "v4 mixed"),
    ("SECOND(TIMESTAMP(s.b)) = 21", "v1 n1 mixed"),
    ("s.b LIKE '%3.003'", "v3 n3 mixed"),
    ("DATE_FORMAT(c, 'yyyy-MM') = '1973-04'", "v3 n3 mixed"),
    ("ENDSWITH(s.b, '3.003')", "v3 n3 mixed"),
    ("LENGTH(s.b) = 21", "", "mixed", "of many values only an order is known"),
    ("TRIM(CONCAT('      ', s.b, '   ')) = '1971-02-03 01:11:21.001'", "v1 n1 mixed"),
    ("LOWER(CONCAT('AAA', s.b)) = 'aaa1971-02-03 01:11:21.001'", "v1 n1 mixed"),
    ("CONCAT(s.b, CAST(s.a AS STRING)) = '1971-02-03 01:11:21.0011'", "v1 n1 mixed"),
    ("FROM_UNIXTIME(s.a) = '1970-01-01 00:00:02'", "v2 mixed"),
    ("TO_UNIX_TIMESTAMP(CAST(s.b AS TIMESTAMP)) = 0", "", "mixed", "text of times orders as they do only where it is well-formed"),
    ("DATE_TRUNC('MONTH', CAST(s.b AS DATE)) = '1973-04-01'", "v3 n3 mixed"),
    ("TRUNC(CAST(s.b AS DATE), 'MONTH') = '1973-04-01'", "v3 n3 mixed"),
    ("DATE_FROM_UNIX_DATE(s.a) = '1970-01-05'", "v4 mixed"),
    ("CAST(s.a AS STRING) IS NULL", "n1 n3 nulls", "mixed", "of many values nothing is claimed of a cast to text"),
    ("CAST(s.a AS STRING) IS NOT NULL", "v0 v1 v2 v3 v4 n1 n3 mixed"),
    ("NOT CONTAINS(s.b, '3.003')", "v0 v1 v2 v4 n1 mixed"),
    ("(CONTAINS(s.b, '-03') AND CONTAINS(s.b, '04')) OR ENDSWITH(s.b, '004')", "v2 v4 mixed"),
    ("ENDSWITH(s.b, '3.003') OR ENDSWITH(s.b, '4.004')", "v3 v4 n3 mixed"),
    ("DATE_FROM_UNIX_DATE(e) = '1977-01-05' OR ENDSWITH(s.b, '3.003')", "v3 n3 mixed", "v0 v1 v2 v4 n1 nulls", "e has no index"),
    (
        "STRING((ENDSWITH(s.b, '3.003') OR ENDSWITH(s.b, '001')) AND e > 5) = 'false'",
        "v0 v1 v2 v3 v4 n1 n3 mixed",
        "nulls",
        "e has no index",
    ),
    ("CAST(e AS STRING) = '1'", "v1 n1 mixed", "v0 v2 v3 v4 n3 nulls", "e has no index"),
    ("RAND(0) * s.a > 5", "", "v0 v1 v2 v3 v4 n1 n3 mixed", "not deterministic; but s.a is not NULL"),
    ("REGEXP_EXTRACT(s.b, '([0-9][0-9][0-9][0-9]).*') = '1971'", "v1 n1 mixed"),
    ("FROM_JSON(CONCAT('{\"date\":\"', STRING(c), '\"}'), 'date STRING')['date'] = '1972-03-04'", "v2 mixed"),
    ("SPLIT(s.b, '-')[1] = 3", "v2 mixed"),
    ("GET(ARRAY(1, 2, 3), INT(SUBSTR(s.b, 4, 1))) IN (1, 2)", "v0 v1 n1 mixed"),
    ("s.a > 2 AND COALESCE(null, s.a, 1) < 4", "v3 n3 mixed"),
    ("c < '1972-01-01' AND DATE(s.b) > '1971-01-01'", "v1 n1 mixed"),
    ("STRING(e) = '1' AND s.a < 2", "v1 n1 mixed", "v0", "e has no index"),
]


@pytest.mark.parametrize("title", CASES)
def test_stats(stats: Suite, title: str) -> None:
    check(stats, CASES[title])


def test_partition_like(spark: SparkSession, skipping: Skipping, tmp_path: Path) -> None:
    lake = Lake(spark, skipping, tmp_path / "partition_like")
    check(write(lake, PARTITION_LIKE, PARTITION_LIKE_COLUMNS, MinMax("s.a"), MinMax("s.b"), MinMax("c")), PARTITION_LIKE_CASES)


@pytest.fixture(scope="module")
def stats(spark: SparkSession, skipping: Skipping, tmp_path_factory: pytest.TempPathFactory) -> Suite:
    return write(Lake(spark, skipping, tmp_path_factory.mktemp("delta") / "stats"), FILES, COLUMNS, *map(MinMax, INDEXED))
