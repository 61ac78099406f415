"""Every line of seed 003's tables 1 to 6, and every function that monotone.py knows: which files of the small table each predicate reads.

A row: the predicate, the files that hold a row for which it is true, and those that are read besides (mostly none). All others must be
skipped, whether the user writes SQL or DataFrames.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from data_skip import Skipping
from tests.falsifiable.table import matching, read, scattered, write
from tests.support import Lake

ROWS: dict[str, list[tuple[str, ...]]] = {
    "Table 1: a variable and a constant": [
        ("x > 42", "fg"),
        ("x >= 54", "g"),
        ("x < -7", "a"),
        ("x <= -10", "a"),
        ("x = 12", "c"),
        ("x <> 12", "abcdefg"),
        ("42 < x", "fg"),
        ("x <=> 12", "c"),
        ("x IS NULL", "h"),
        ("x IS NOT NULL", "abcdefg"),
        ("flag", "efg"),
        ("NOT flag", "abcd"),
        ("s > 'e'", "fg"),
        ("p = 12.25", "c"),
        ("day < DATE'2023-12-12'", "a"),
        ("ts >= TIMESTAMP'2024-05-20'", "g"),
    ],
    "Table 2: several variables": [
        ("x > y", "defg"),
        ("x = y", "d"),
        ("x < y + 3", "abcd"),
        ("x <=> y", "dh"),
        ("x - y > 20", "efg"),
        ("x + y > 50", ""),
        ("k * m = 12", "ef"),
        ("k + m = 7 AND k = 3", "e"),
        ("d * d > 2000", "g"),
        ("greatest(x, y) < 25", "d"),
        ("least(x, y) > 15", "d"),
        ("NOT (x < y)", "defg"),
        ("x BETWEEN y AND y + 8", "d"),
        ("(x > 42) = (y > 42)", "bcdef"),
        ("ts - n > INTERVAL 1 DAY", "", "abcdefg"),
        ("l > x * 100000", "", "abcdefg"),
        ("x = l", "b"),
        ("cast(day AS timestamp) + INTERVAL 13 HOUR < ts", "cdefg", "ab"),
        ("s > r", "efg"),
        ("s <= r AND s >= r", "e"),
        ("p > y", "defg"),
        ("d >= y", "defg"),
        ("date_add(DATE'2024-01-05', 3 * y) < day", "defg"),
        ("abs(x) - abs(y) > 30", "fg"),
        ("x BETWEEN 12 AND y", "cd"),
    ],
    "Table 3: BETWEEN and IN": [
        ("x BETWEEN 12 AND 15", "c"),
        ("x IN (1, 12, 77)", "bc"),
        ("x NOT IN (0, 1, 2, 3, 4)", "acdefg"),
        ("k NOT IN (3)", "abcdfg"),
        ("x + 1 IN (11, 32)", "ce"),
        ("NOT (x + 1 IN (11, 32))", "abcdefg"),
        ("abs(x) IN (10, 51)", "acg"),
        ("x IN (1000, 1001, 1002, 1003, 1004, 1005, 1006, 1007, 1008, 1009, 1010, 1011, 54)", "g"),
        ("-x IN (1000, 1001, 1002, 1003, 1004, 1005, 1006, 1007, 1008, 1009, 1010, 1011, -54)", "g"),
        ("x IN (12, NULL)", "c"),
        ("x NOT BETWEEN -20 AND 49", "g"),
        ("x BETWEEN 12 AND 15 OR x BETWEEN 41 AND 43", "cf"),
        ("s IN ('b2', 'e4', 'zz')", "cf"),
        ("day IN (DATE'2024-01-08', DATE'2024-04-04')", "be"),
        (f"h = {scattered(12)}", "c"),
        (f"h IN ({scattered(12)}, {scattered(31)}, 1009)", "ce"),
        (f"h IN ({', '.join(map(str, range(1009, 6009)))}, {scattered(12)})", "c"),
        (f"x IN ({', '.join(map(str, range(1000, 6000)))}, 12)", "c"),
    ],
    "Table 4: NOT": [
        ("NOT (x = 12 OR x < 42)", "fg"),
        ("NOT (x > 5 AND y < 100)", "ab"),
        ("NOT (x >= 0)", "a"),
        ("NOT (x IS NULL)", "abcdefg"),
        ("NOT (x + 1 > 5)", "ab"),
        ("NOT (abs(x) < 50)", "g"),
        ("NOT (k = 3)", "abcdfg"),
        ("NOT (k + m = 7)", ""),
        ("(x > 42) IS NOT TRUE", "abcdefh"),
        ("x IS DISTINCT FROM 12", "abcdefgh"),
        ("NOT (left(s, 1) = 'c')", "abcefg"),
        ("NOT (NOT (x > 42))", "fg"),
    ],
    "Table 5: arithmetic": [
        ("x + 1 > 42", "fg"),
        ("5 - x < -40", "g"),
        ("x * 2 > 85", "fg"),
        ("x * -2 > 15", "a"),
        ("x / 2 > 22.0", "g"),
        ("x div 10 = 3", "e"),
        ("-x > 3", "a"),
        ("~x > 3", "a"),
        ("shiftright(x, 1) = 6", "c"),
        ("try_add(x, 1) > 42", "fg"),
        ("date_sub(day, 3) < DATE'2023-12-20'", "a"),
        ("date_add(day, 3) = DATE'2024-01-08'", "b"),
        ("day + 3 > DATE'2024-05-20'", "g"),
        ("ts + INTERVAL 1 DAY > TIMESTAMP'2024-05-20'", "g"),
        ("ts - INTERVAL 3 HOURS < TIMESTAMP'2023-12-20'", "a"),
        ("n + INTERVAL 1 DAY > TIMESTAMP_NTZ'2024-05-20'", "g"),
        ("add_months(day, 1) > DATE'2024-06-20'", "g"),
        ("day + INTERVAL 1 MONTH < DATE'2024-01-20'", "a"),
        ("datediff(day, DATE'2024-01-05') = 36", "c"),
        ("datediff(DATE'2024-01-05', day) > 3", "a"),
        ("day - DATE'2024-01-05' > INTERVAL 130 DAYS", "fg"),
        ("ts - TIMESTAMP'2024-01-05' > INTERVAL 130 DAYS", "fg"),
        ("timestampadd(HOUR, 3, ts) > TIMESTAMP'2024-05-20'", "g"),
        ("timestampdiff(DAY, ts, TIMESTAMP'2024-01-05') > 3", "a"),
        ("try_subtract(x, 1) > 42", "fg"),
        ("try_multiply(x, 2) > 85", "fg"),
        ("day - INTERVAL 1 MONTH < DATE'2023-11-20'", "a"),
        ("dateadd(DAY, 3, day) = DATE'2024-01-08'", "b"),
        ("date_diff(day, DATE'2024-01-05') = 36", "c"),
    ],
    "Table 6: the beginning of text": [
        ("s LIKE 'b%'", "c"),
        ("s RLIKE '^b'", "c"),
        ("s RLIKE '^b[0-9]$'", "c"),
        ("s RLIKE '^b1?2'", "c"),
        ("startswith(s, 'b')", "c"),
        ("left(s, 1) = 'c'", "d"),
        ("left(s, 5) = 'c1'", "d"),
        ("left(s, 1) = 'cc'", ""),
        ("substr(s, 1, 1) >= 'e'", "fg"),
        ("substring(s, 1, 1) IN ('a', 'd')", "be"),
        ("regexp_like(s, '^b')", "c"),
        ("s LIKE 'b_'", "c"),
        ("s LIKE 'b%2'", "c"),
        ("split_part(s, '3', 1) = 'b'", "c"),
    ],
    "Monotone functions": [
        ("date_trunc('month', ts) = TIMESTAMP'2024-02-01'", "c"),
        ("date_trunc('hour', ts) > TIMESTAMP'2024-05-20'", "g"),
        ("trunc(day, 'month') = DATE'2024-02-01'", "c"),
        ("to_date(ts) = DATE'2024-01-08'", "b"),
        ("to_date(ts) IN (DATE'2024-01-08', DATE'2024-04-04')", "be"),
        ("year(ts) = 2023", "a"),
        ("year(day) < 2024", "a"),
        ("unix_timestamp(ts) > 1716000000", "g"),
        ("unix_timestamp(day) > 1716000000", "g"),
        ("timestamp_seconds(l) > TIMESTAMP'1970-01-30'", "efg"),
        ("cast(l AS timestamp) < TIMESTAMP'1970-01-01'", "a"),
        ("unix_seconds(ts) > 1716000000", "g"),
        ("unix_date(day) < 19700", "a"),
        ("date_from_unix_date(x) > DATE'1970-02-15'", "g"),
        ("last_day(day) = DATE'2024-02-29'", "c"),
        ("next_day(day, 'MON') > DATE'2024-05-20'", "g"),
        ("cast(ts AS date) > DATE'2024-05-20'", "g"),
        ("cast(d AS int) = 12", "c"),
        ("cast(l AS int) > 4200000", "fg"),
        ("cast(x AS tinyint) = 12", "c"),
        ("cast(ts AS long) > 1716000000", "g"),
        ("cast(flag AS int) = 1", "efg"),
        ("floor(d) = 12", "c"),
        ("ceil(d) = 13", "c"),
        ("round(d) = 12", "c"),
        ("round(p, 1) = 12.3", "c"),
        ("rint(d) = 12", "c"),
        ("exp(d) < 0.01", "a"),
        ("sign(x) = -1", "a"),
        ("cbrt(d) > 3.5", "fg"),
        ("floor(abs(d) / 10) * 2 = 10", "g"),
        ("date_trunc('year', date_sub(day, 5)) < DATE'2024-01-01'", "ab"),
        ("log1p(d) < 0.5", "b"),
        ("expm1(d) < -0.9", "a"),
        ("degrees(d) > 2900", "g"),
        ("radians(d) < -0.1", "a"),
        ("bround(d, 0) = 12", "c"),
        ("ceil(p, 1) > 54.2", "g"),
        ("floor(p, 1) < -9.7", "a"),
        ("unix_millis(ts) > 1716000000000", "g"),
        ("unix_micros(ts) > 1716000000000000", "g"),
        ("timestamp_millis(l) > TIMESTAMP'1970-01-01 00:01:00'", "bcdefg"),
        ("timestamp_micros(l) > TIMESTAMP'1970-01-01 00:00:05'", "g"),
        ("extract(YEAROFWEEK FROM day) = 2023", "a"),
        ("date_trunc('quarter', ts) = TIMESTAMP'2024-04-01'", "efg"),
        ("date_trunc('week', day) = DATE'2024-02-05'", "c"),
        ("to_unix_timestamp(ts) > 1716000000", "g"),
        ("unix_timestamp(n) > 1716000000", "g"),
        ("cast(day AS timestamp) > TIMESTAMP'2024-05-20'", "g"),
        ("cast(n AS date) > DATE'2024-05-20'", "g"),
        ("cast(n AS timestamp) > TIMESTAMP'2024-05-20'", "g"),
        ("cast(ts AS timestamp_ntz) > TIMESTAMP_NTZ'2024-05-20'", "g"),
        ("cast(p AS int) = 12", "c"),
        ("cast(p AS double) > 53.5D", "g"),
        ("cast(x AS decimal(12,2)) > 42.50", "fg"),
        ("cast(d AS float) > 42.5", "fg"),
    ],
    "Piecewise monotone functions": [
        ("abs(x) > 45", "g"),
        ("abs(x) = 10", "ac"),
        ("abs(x - 25) > 30", "a"),
        ("sqrt(d) > 6.5", "afg"),
        ("sqrt(x) < 2", "b"),
        ("ln(d) > 3.8", "g"),
        ("log10(d) > 1.6", "fg"),
        ("pow(x, 2) > 2000", "g"),
        ("power(x, 2) < 90 AND x > 0", "b"),
        ("coalesce(x, 0) > 42", "fg"),
        ("coalesce(x, 100) > 90", "h"),
        ("nvl(x, 12) = 12", "ch"),
        ("nullif(x, 12) > 42", "fg"),
        ("nanvl(d, 0) > 42", "fg"),
        ("if(x > 30, y, 0) > 3", "e"),
        ("if(unindexed > 3, x, 0) > 42", "fg"),
        ("nvl2(x, y, 3) > 42", "a"),
        ("CASE WHEN x > 40 THEN 1 WHEN x > 20 THEN 2 ELSE 0 END = 2", "def"),
        ("CASE WHEN x > 40 THEN y WHEN x > 20 THEN x END > 30", "ef"),
        ("least(x, 5) > 4", "cdefgh"),
        ("greatest(x, 5, y) > 51", "g"),
        ("isnan(d)", ""),
        ("log2(d) > 5.4", "fg"),
        ("log(2, d) > 5.4", "fg"),
        ("-abs(x) < -50", "g"),
        ("ifnull(x, 12) = 12", "ch"),
        ("CASE WHEN x > 40 THEN 'hi' ELSE 'lo' END = 'hi'", "fg"),
        ("least(s, 'c') < 'a'", "a"),
    ],
    "Conditionally monotone functions": [
        ("month(day) = 2", "c"),
        ("month(ts) = 2", "c"),
        ("quarter(day) = 2", "efg"),
        ("dayofyear(day) < 20", "b"),
        ("weekofyear(day) = 2", "b"),
        ("date_format(ts, 'yyyy-MM-dd') = '2024-01-08'", "b"),
        ("date_format(ts, 'yyyyMM') = '202402'", "c"),
        ("date_format(day, 'yyyy') < '2024'", "a"),
        ("cast(ts AS string) >= '2024-05-20'", "g"),
        ("cast(ts AS string) LIKE '2024-02%'", "c"),
        ("cast(day AS string) = '2024-01-08'", "b"),
        ("cast(n AS string) < '2023-12-20'", "a"),
        ("from_unixtime(l) > '1970-01-30'", "efg"),
        ("hour(at) = 8", "d"),
        ("hour(at) BETWEEN 7 AND 8", "cd"),
        ("date_trunc('day', at) = TIMESTAMP'2024-07-03' AND hour(at) = 8 AND minute(at) > 45", "d"),
        ("day(at) = 4", "e"),
        ("dayofweek(at) = 6", "f"),
        ("weekday(at) = 4", "f"),
        ("date_format(ts, 'yyyy-MM') IN ('2024-02', '2024-04')", "ce"),
        ("date_format(n, 'yyyy-MM-dd') = '2024-01-08'", "b"),
        ("left(cast(day AS string), 7) = '2024-02'", "c"),
        ("from_unixtime(l, 'yyyy-MM-dd') = '1970-01-13'", "c"),
    ],
    "One value in a file": [
        ("concat(k, m) = '34'", "e"),
        ("k % 3 = 1 AND m % 2 = 0", "c"),
        ("k LIKE '%4'", "f"),
        ("hash(k) = hash(3)", "e"),
        ("k + m = 8", ""),
        ("(k & 1) = 0 AND k > 3", "f"),
    ],
}


@pytest.fixture(scope="module")
def small(spark: SparkSession, skipping: Skipping, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    lake = Lake(spark, skipping, tmp_path_factory.mktemp("expressions") / "table")
    write(lake)
    yield lake
    spark.catalog.dropTempView("t")


@pytest.mark.parametrize("title", ROWS)
def test_each_predicate_reads_the_files_that_hold_a_match(small: Lake, title: str) -> None:
    frame = small.view()
    predicates = [row[0] for row in ROWS[title]]
    wrong = []
    for row, truth in zip(ROWS[title], matching(small, predicates), strict=True):
        predicate, holding, *besides = row
        assert truth == holding, f"the table of this test says that {predicate} is true in {holding}; Spark says {truth}"
        expected = "".join(sorted([*holding, *"".join(besides)]))
        by_sql = read(small, small.spark.sql(f"SELECT * FROM t WHERE {predicate}"))
        by_frame = read(small, frame.where(F.expr(predicate)).select("k"))
        if not expected == by_sql == by_frame:
            wrong.append(f"{predicate}: SQL reads {by_sql}, a DataFrame {by_frame}, expected {expected}")
    assert not wrong, "\n".join(wrong)


def test_columns_of_the_dataframe_api(small: Lake) -> None:
    x, y, s, ts, day = (F.col(name) for name in ("x", "y", "s", "ts", "day"))
    frame = small.view()
    for column, expected in (
        (x + 1 > 42, "fg"),
        (x > y, "defg"),
        (F.abs(x) == 10, "ac"),
        (s.substr(1, 1) == "c", "d"),
        (s.startswith("b"), "c"),
        (F.date_trunc("month", ts) == F.lit("2024-02-01").cast("timestamp"), "c"),
        (F.year(ts) == 2023, "a"),
        (F.when(x > 40, 1).otherwise(0) == 1, "fg"),
        (F.coalesce(x, F.lit(12)) == 12, "ch"),
        (F.date_add(day, 3) == F.lit("2024-01-08").cast("date"), "b"),
        (x.isin(1, 12, 77), "bc"),
        (~x.isin(0, 1, 2, 3, 4), "acdefg"),
        (x.between(12, 15) & F.greatest(x, y).between(20, 30), "c"),
        (F.date_format(ts, "yyyy-MM-dd") == "2024-01-08", "b"),
    ):
        assert read(small, frame.where(column)) == expected, column


def test_rows_are_equal_end_to_end(small: Lake) -> None:
    for predicates in ROWS.values():
        small.check(predicates[-1][0])
