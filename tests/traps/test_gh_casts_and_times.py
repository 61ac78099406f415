"""TRAPS.md, sections G and H, as far as they meet MinMax, ValueList, Prefix, Suffix and the preimages of monotone.py.

MinMax=None: this function is not monotone, or not known to be; ValueList has Spark decide. Most files hold several values,
since of a file that holds just one MinMax has Spark decide as well.
"""

from __future__ import annotations

from decimal import Decimal
from math import inf, nan
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from data_skip import MinMax, Prefix, Suffix, ValueList
from tests.support import Lake, aged
from tests.traps.kinds import check, files, setting

ZONE = "spark.sql.session.timeZone"
ANSI = "spark.sql.ansi.enabled"
UNKNOWN: dict[str, str | None] = {"MinMax": None, "Prefix": None, "Suffix": None}
AROUND: dict[str, str | None] = {"MinMax": None, "ValueList": None}  # read where the cast gives no value, which nobody promises
TS, NTZ = pa.timestamp("us", "UTC"), pa.timestamp("us")


def column(lake: Lake, type_: pa.DataType, rows: dict[str, list[Any]], name: str = "x") -> None:
    """A file for each list; MinMax and ValueList."""
    files(lake, {file: {name: pa.array(values, type_)} for file, values in rows.items()})
    lake.index(MinMax(name), ValueList(name))
    lake.view()


def times(lake: Lake, type_: str, rows: dict[str, list[str]], name: str = "t", **settings: str) -> None:
    """A file for each list of texts that Spark casts to a type: times that Python cannot hold."""
    for file, texts in rows.items():
        values = ", ".join(f"({text})" if text == "NULL" else f"('{text}')" for text in texts)
        frame = lake.spark.sql(f"SELECT CAST(v AS {type_}) AS {name} FROM VALUES {values} AS r(v)")
        lake.spark_file(file, frame)
    lake.index(MinMax(name), ValueList(name))
    lake.view()


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_g1_g3_text_against_a_number_or_date(lake: Lake, ansi: str) -> None:
    rows = {"a": ["07", " 7 "], "b": ["10", "100"], "c": ["2024-1-9"], "d": ["9"], "e": [None], "f": ["7.0", "7e0"], "g": ["2024"]}
    files(lake, {file: {"s": pa.array(values, pa.string())} for file, values in rows.items()})
    with setting(lake, ANSI, ansi):
        lake.index(MinMax("s"), ValueList("s"), Prefix("s", 2), Suffix("s", 2))
        lake.view()
        check(lake, "try_cast(s AS INT) = 7", "a" if ansi == "true" else "af", **UNKNOWN)
        check(lake, "try_cast(s AS INT) > 50", "bg", **UNKNOWN)
        check(lake, "try_cast(s AS DOUBLE) = 7", "af", **UNKNOWN)
        check(lake, "try_cast(s AS DATE) = DATE'2024-01-09'", "c", **UNKNOWN)
        check(lake, "try_cast(s AS DATE) >= DATE'2024-01-01'", "cg", **UNKNOWN)
        check(lake, "try_cast(s AS INT) IS NULL", None)
        if ansi == "false":
            check(lake, "s = 7", "af", **UNKNOWN)
            check(lake, "s > 50", "bg", **UNKNOWN)
            check(lake, "s = DATE'2024-01-09'", "c", **UNKNOWN)
            check(lake, "s IN (7, 9)", "adf", **UNKNOWN)


def test_g2_numbers_as_text(lake: Lake) -> None:
    column(lake, pa.int32(), {"a": [9, 10], "b": [2, 3], "c": [100, 150, 190]})
    check(lake, "string(x) = '9'", "a", MinMax=None)
    check(lake, "CAST(x AS STRING) LIKE '1%'", "ac", MinMax=None)
    check(lake, "CAST(x AS STRING) > '2'", "ab", MinMax=None)
    check(lake, "CAST(x AS STRING) NOT LIKE '1%'", "ab", MinMax=None)


def test_g4_truncation_towards_zero(lake: Lake) -> None:
    column(lake, pa.float64(), {"a": [2.7], "b": [-0.9], "c": [0.9], "d": [-1.0], "e": [3.0], "f": [-2.5, None]})
    check(lake, "CAST(x AS INT) = 2", "a", MinMax=None)
    check(lake, "CAST(x AS INT) = 0", "bc", MinMax="bc")
    check(lake, "CAST(x AS INT) < 0", "df", MinMax="df")
    check(lake, "CAST(x AS INT) <= 0", "bcdf")
    check(lake, "CAST(x AS INT) > 2", "e")
    check(lake, "CAST(x AS INT) >= 2", "ae")
    check(lake, "NOT (CAST(x AS INT) = 0)", "adef")
    check(lake, "CAST(x AS INT) IN (2, -2)", "af")
    check(lake, "CAST(x AS BIGINT) = -1", "d")
    check(lake, "CAST(x AS TINYINT) = 3", "e")
    check(lake, "NOT (CAST(x AS INT) <= 2)", "e")


def test_g4_preimages_end_where_the_cast_fails(lake: Lake) -> None:
    """Where a cast raises or gives NULL nothing is known, so those files are read: they may raise the user's own error."""
    column(lake, pa.float64(), {"a": [2.7], "b": [5.0], "c": [1e300], "d": [nan], "e": [-inf], "f": [None]})
    check(lake, "try_cast(x AS INT) = 2", "a", **AROUND)
    check(lake, "try_cast(x AS INT) > 4", "b", **AROUND)
    check(lake, "try_cast(x AS INT) IS NULL", "cdef", MinMax=None)
    check(lake, "coalesce(try_cast(x AS INT), 2) = 2", "acdef", MinMax=None)
    with pytest.raises(Exception, match="CAST_OVERFLOW"):
        lake.spark.sql("SELECT * FROM t WHERE CAST(x AS INT) = 2").collect()
    check(lake, "CAST(x AS FLOAT) > 100", "cd", MinMax=None)
    check(lake, "CAST(x AS FLOAT) = float('Infinity')", "c")
    check(lake, "CAST(x AS FLOAT) = float('NaN')", "d")


def test_g5_rounding_casts(lake: Lake) -> None:
    rows = {"a": ["2.66"], "b": ["2.64"], "c": ["-2.66"], "d": ["9.96"], "e": ["-0.04"]}
    column(lake, pa.decimal128(4, 2), {file: [Decimal(v) for v in values] for file, values in rows.items()}, "w")
    check(lake, "CAST(w AS DECIMAL(10,1)) = 2.7", "a")
    check(lake, "CAST(w AS DECIMAL(10,1)) = 2.6", "b")
    check(lake, "CAST(w AS DECIMAL(10,1)) < 0", "c")
    check(lake, "CAST(w AS DECIMAL(10,1)) = 0", "e")
    check(lake, "CAST(w AS INT) = 2", "ab")
    check(lake, "CAST(w AS INT) = 0", "e")
    check(lake, "CAST(w AS DOUBLE) > 2.65", "ad")
    check(lake, "try_cast(w AS DECIMAL(2,1)) > 9.5", "", **AROUND)
    check(lake, "round(w, 1) = 2.7", "a", MinMax=None)
    check(lake, "ceil(w) = 3", "ab", MinMax=None)
    check(lake, "floor(w) = -3", "c", MinMax=None)


def test_g5_a_double_as_decimal(lake: Lake) -> None:
    column(lake, pa.float64(), {"a": [2.66, 3.0], "b": [2.1, 2.64], "c": [-3.0, 1e30], "d": [5.0, nan]})
    check(lake, "try_cast(x AS DECIMAL(10,1)) = 2.7", "a", MinMax=None)  # read where the cast gives no value
    check(lake, "try_cast(x AS DECIMAL(10,1)) IS NULL", "cd", MinMax="cd")
    check(lake, "try_cast(x AS DECIMAL(10,1)) = -3.0", "c", MinMax=None)


def test_g6_g7_g8_functions_that_turn(lake: Lake) -> None:
    column(lake, pa.int32(), {"a": [-5, 0, 3], "b": [4, 6], "c": [-100, -98]})
    for where, read in {
        "abs(x) = 0": "a",
        "abs(x) > 50": "c",
        "x * x = 16": "b",
        "x % 2 = 1": "a",
        "pmod(x, 3) = 2": "c",
        "x & 1 = 1": "a",
        "sign(x) = 1": "ab",
        "power(x, 2) = 16": "b",
        "-x > 80": "c",
        "10 - x < 7": "b",
        "x * -1 = 5": "a",
        "x / -10 > 5": "c",
        "try_divide(1000, x) > 300": "a",
        "try_divide(1000, x) = 250": "b",
    }.items():
        check(lake, where, read, MinMax=None)


def test_g9_g13_functions_without_a_value(lake: Lake) -> None:
    files(lake, {"a": {"s": ["12", "x"]}, "b": {"s": ["30"]}, "c": {"s": pa.array([None], pa.string())}})
    lake.index(MinMax("s"), ValueList("s"), Prefix("s", 2), Suffix("s", 2))
    lake.view()
    check(lake, "try_cast(s AS INT) IS NULL", "ac", **UNKNOWN)
    check(lake, "coalesce(try_cast(s AS INT), 30) = 30", "abc", **UNKNOWN)
    numbers = Lake(lake.spark, lake.skipping, lake.folder.parent / "numbers")
    column(numbers, pa.float64(), {"a": [-4.0, 16.0], "b": [9.0], "c": [0.0]})
    check(numbers, "sqrt(x) = 4", "a", MinMax=None)
    check(numbers, "sqrt(x) > 2", "ab", MinMax=None)
    check(numbers, "isnull(log(x))", "ac", MinMax=None)
    check(numbers, "ln(x) < 2.5", "b", MinMax=None)


def test_g10_widening_casts(lake: Lake) -> None:
    column(lake, pa.int32(), {"a": [5], "b": [6], "c": [2**31 - 1], "d": [None]})
    for five in ("5L", "5.0", "5.0D", "5S", "CAST(5 AS DECIMAL(38,10))", "'5'"):
        check(lake, f"x = {five}", "a")
    check(lake, "CAST(x AS BIGINT) = 5", "a")
    check(lake, "CAST(x AS BIGINT) > 2147483646", "c")
    check(lake, "CAST(x AS DOUBLE) < 5.5", "a")
    check(lake, "CAST(x AS DECIMAL(12,2)) >= 5.99", "bc")
    check(lake, "CAST(x AS BIGINT) IN (5, 3000000000)", "a")
    check(lake, "CAST(x AS FLOAT) = 2147483648F", "c")
    check(lake, "NOT (CAST(x AS BIGINT) = 5)", "bc")
    check(lake, "CAST(x AS BIGINT) <=> 5L", "a", MinMax=None)
    check(lake, "CAST(x AS BIGINT) IS NULL", "d", MinMax=None)
    check(lake, "try_cast(x AS TINYINT) = 5", "a", **AROUND)
    check(lake, "CAST(CAST(x AS BIGINT) AS DOUBLE) = 6", "b")


def test_g11_formatted_dates(lake: Lake) -> None:
    files(lake, {"a": {"s": ["31/01/2023"]}, "b": {"s": ["01/02/2024"]}, "c": {"s": ["02/02/2023"]}})
    lake.index(MinMax("s"), ValueList("s"))
    lake.view()
    check(lake, "to_date(s, 'dd/MM/yyyy') >= DATE'2024-01-01'", "b", MinMax=None)
    check(lake, "to_date(s, 'dd/MM/yyyy') < DATE'2023-02-01'", "a", MinMax=None)
    days = Lake(lake.spark, lake.skipping, lake.folder.parent / "days")
    times(days, "DATE", {"a": ["2023-01-31"], "b": ["2024-02-01"], "c": ["12024-05-01"]}, "d")
    check(days, "date_format(d, 'dd/MM/yyyy') = '31/01/2023'", "a", MinMax=None)
    check(days, "CAST(d AS STRING) >= '2024'", "b", MinMax=None)
    check(days, "CAST(d AS STRING) LIKE '2023-%'", "a", MinMax=None)


@pytest.mark.parametrize("policy", ["LEGACY", "CORRECTED", "EXCEPTION"])
def test_g11_local_years_without_four_digits(lake: Lake, policy: str) -> None:
    """West of Greenwich the year 1 begins in a year 0, which old calendars call 1 as well; east of it 9999 ends in +10000."""
    with setting(lake, "spark.sql.legacy.timeParserPolicy", policy), setting(lake, ZONE, "America/New_York"):
        first = ["0000-12-31 20:00:00", "0001-01-01 12:00:00", "0001-02-01"]
        times(lake, "TIMESTAMP", {"a": first, "b": ["2024-01-01", "2024-01-03"], "c": ["2024-02-01", "2024-02-03"]})
        check(lake, "date_format(t, 'yyyy-MM-dd') = '0001-01-01'", "a", MinMax=None)
        check(lake, "date_format(t, 'yyyy-MM-dd') = '2024-01-03'", "b", MinMax="ab")
    last = Lake(lake.spark, lake.skipping, lake.folder.parent / "last")
    with setting(lake, "spark.sql.legacy.timeParserPolicy", policy), setting(lake, ZONE, "Asia/Kolkata"):
        times(last, "TIMESTAMP", {"a": ["2024-01-01", "9999-12-31 12:00:00", "+10000-01-01 03:00:00"]})
        check(last, "CAST(t AS STRING) = '9999-12-31 12:00:00'", "a", MinMax=None)
        check(last, "from_unixtime(unix_seconds(t)) = '9999-12-31 12:00:00'", "a", MinMax=None)


def test_g12_several_days_have_one_image(lake: Lake) -> None:
    times(lake, "DATE", {"a": ["2024-01-29"], "b": ["2024-01-31"], "c": ["2024-02-01"]}, "d")
    check(lake, "add_months(d, 1) = DATE'2024-02-29'", "ab", MinMax=None)
    check(lake, "last_day(d) = DATE'2024-01-31'", "ab", MinMax=None)
    check(lake, "trunc(d, 'MM') = DATE'2024-01-01'", "ab", MinMax=None)
    check(lake, "year(d) = 2024", "abc")
    check(lake, "year(d) < 2024", "")


def test_h1_bounds_keep_microseconds(lake: Lake) -> None:
    times(lake, "TIMESTAMP", {"a": ["2024-01-01 12:00:00.123456"], "b": ["2024-01-01 12:00:00.123"], "c": ["2024-01-01 12:00:00"]})
    check(lake, "t > TIMESTAMP'2024-01-01 12:00:00.123'", "a")
    check(lake, "t = TIMESTAMP'2024-01-01 12:00:00.123456'", "a")
    check(lake, "t >= TIMESTAMP'2024-01-01 12:00:00.123'", "ab")
    check(lake, "t < TIMESTAMP'2024-01-01 12:00:00.000001'", "c")


def test_h2_h7_h16_instants_do_not_depend_on_the_zone(lake: Lake) -> None:
    """Indexed under one session zone, queried under another; neither is that of the JVM."""
    with setting(lake, ZONE, "Asia/Kolkata"):
        times(lake, "TIMESTAMP", {"a": ["2024-01-01 07:30:00"], "b": ["2024-01-01 12:00:00"], "c": ["1850-01-01 00:00:00"]})
        lake.index(MinMax("year(t)"), ValueList("hour(t)"))
        check(lake, "year(t) = 1850", "c")
    for zone in ("UTC", "America/New_York", "Europe/Amsterdam", "Asia/Kolkata"):
        with setting(lake, ZONE, zone):
            check(lake, "t = TIMESTAMP'2024-01-01T02:00:00Z'", "a")
            check(lake, "t < TIMESTAMP'1900-01-01T00:00:00Z'", "c")
            check(lake, "year(t) < 2024", "ac" if zone == "America/New_York" else "c")
            check(lake, "hour(t) = 2", "a" if zone == "UTC" else None, MinMax=None)
            check(lake, "to_date(t) = DATE'2023-12-31'", "a" if zone == "America/New_York" else "")


def test_h3_before_1970(lake: Lake) -> None:
    times(lake, "TIMESTAMP", {"a": ["1969-12-31 23:59:59.5"], "b": ["1970-01-01 00:00:00.5"], "c": ["1969-12-31 23:59:58.5"]})
    check(lake, "CAST(t AS BIGINT) = -1", "a", MinMax=None)
    check(lake, "unix_timestamp(t) = 0", None)
    check(lake, "to_date(t) = DATE'1969-12-31'", "ac")
    check(lake, "to_date(t) >= DATE'1970-01-01'", "b")
    check(lake, "year(t) = 1969", "ac")
    check(lake, "unix_seconds(t) < 0", "ac", MinMax=None)


@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "Pacific/Apia"])
def test_h4_a_date_against_an_instant(lake: Lake, zone: str) -> None:
    with setting(lake, ZONE, zone):
        times(lake, "DATE", {"a": ["2024-01-01"], "b": ["2024-01-02"], "c": ["2011-12-30"], "d": ["0001-01-01"], "e": ["NULL"]}, "d")
        check(lake, "d < TIMESTAMP'2024-01-01 12:00:00'", "acd")
        check(lake, "d >= TIMESTAMP'2024-01-01 12:00:00'", "b")
        check(lake, "d = TIMESTAMP'2024-01-01 00:00:00'", "a")
        check(lake, "d = TIMESTAMP'2024-01-01 12:00:00'", "")
        check(lake, "d BETWEEN TIMESTAMP'2023-12-31 23:00:00' AND TIMESTAMP'2024-01-01 01:00:00'", "a")
        check(lake, "d > TIMESTAMP_NTZ'2024-01-01 12:00:00'", "b")
        check(lake, "d <> TIMESTAMP'2024-01-01 00:00:00'", "bcd")
        check(lake, "d <= TIMESTAMP'2011-12-30 12:00:00'", "cd")


@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "America/St_Johns", "Asia/Kolkata", "Pacific/Apia"])
def test_h5_the_day_of_an_instant(lake: Lake, zone: str) -> None:
    with setting(lake, ZONE, zone):
        rows = {
            "a": ["2024-01-01 10:00:00"],
            "b": ["2024-01-02 00:00:00"],
            "c": ["2023-12-31 23:59:59.999999"],
            "d": ["2006-10-29 00:30:00", "2011-12-31 00:00:00"],
            "e": ["NULL"],
        }
        times(lake, "TIMESTAMP", rows)
        # There, clocks went back at one minute past midnight. (Spark itself makes two bounds of most comparisons.)
        of_functions = None if zone == "America/St_Johns" else "ab"
        check(lake, "to_date(t) = DATE'2024-01-01'", "a")
        check(lake, "CAST(t AS DATE) >= DATE'2024-01-01'", "ab")
        check(lake, "CAST(t AS DATE) < DATE'2024-01-01'", "cd")
        check(lake, "CAST(t AS DATE) IN (DATE'2023-12-31', DATE'2030-01-01')", "c", MinMax=of_functions and "c")
        check(lake, "NOT (to_date(t) = DATE'2024-01-01')", "bcd")
        check(lake, "year(t) = 2024", "ab", MinMax=of_functions)
        check(lake, "to_date(t) = DATE'2011-12-31'", "d")
        check(lake, "CAST(CAST(t AS DATE) AS TIMESTAMP_NTZ) = TIMESTAMP_NTZ'2023-12-31 00:00:00'", "c", MinMax=None)
        check(lake, "t >= DATE'2024-01-02'", "b")


def test_h5_a_local_day_that_comes_twice(lake: Lake) -> None:
    """In St John's clocks went from 00:01 back to 23:01 of the day before: the later instant has the earlier date."""
    lake.file("a", {"t": pa.array([_utc("2006-10-29T02:30:30")], TS)})
    lake.file("b", {"t": pa.array([_utc("2006-10-29T02:32:00")], TS)})
    lake.file("c", {"t": pa.array([_utc("2007-06-01T00:00:00")], TS)})
    lake.index(MinMax("t"), ValueList("t"))
    lake.view()
    with setting(lake, ZONE, "America/St_Johns"):
        check(lake, "CAST(t AS DATE) IN (DATE'2006-10-29', DATE'2030-01-01')", "a", MinMax=None)
        check(lake, "CAST(t AS DATE) NOT IN (DATE'2006-10-29', DATE'2030-01-01')", "bc", MinMax=None)
        check(lake, "CAST(CAST(t AS DATE) AS STRING) = '2006-10-28'", "b", MinMax=None)
        check(lake, "to_date(t) = DATE'2006-10-29'", None)


def _utc(text: str) -> int:
    from datetime import datetime, timezone

    return int(datetime.fromisoformat(text).replace(tzinfo=timezone.utc).timestamp() * 1_000_000)


@pytest.mark.parametrize("format", ["csv", "json"])
def test_h6_times_in_text_depend_on_the_zone(lake: Lake, format: str) -> None:
    lines = {"a": "2024-01-01 00:30:00", "b": "2024-01-01 09:00:00", "c": "2024-02-01 00:00:00"}
    for name, text in lines.items():
        (lake.folder / name).write_text(f'{{"t": "{text}"}}\n' if format == "json" else f"{text}\n")
        aged(lake.folder / name)
    with setting(lake, ZONE, "America/Los_Angeles"):
        lake.index(MinMax("t"), ValueList("t"), format=format, schema="t TIMESTAMP")
        lake.view(format=format, schema="t TIMESTAMP")
        check(lake, "t < TIMESTAMP'2024-01-01T08:45:00Z'", "a")
    for zone, hit in (("UTC", "a"), ("Asia/Tokyo", "ab")):
        with setting(lake, ZONE, zone):
            lake.view(format=format, schema="t TIMESTAMP")
            check(lake, "t < TIMESTAMP'2024-01-01T00:45:00Z'", "abc")
            assert lake.spark.sql("SELECT * FROM t WHERE t < TIMESTAMP'2024-01-01T00:45:00Z'").count() == len(hit)


def test_h8_local_times_at_the_autumn_change(lake: Lake) -> None:
    """05:30Z is 01:30 and 06:10Z is 01:10 in New York."""
    for name, text in {"a": "2024-11-03T05:30:00", "b": "2024-11-03T06:10:00", "c": "2024-11-03T09:00:00"}.items():
        lake.file(name, {"t": pa.array([_utc(text)], TS)})
    lake.index(MinMax("t"), ValueList("t"))
    lake.view()
    with setting(lake, ZONE, "America/New_York"):
        check(lake, "CAST(t AS TIMESTAMP_NTZ) < TIMESTAMP_NTZ'2024-11-03 01:20:00'", None)
        check(
            lake, "CAST(t AS TIMESTAMP_NTZ) IN (TIMESTAMP_NTZ'2024-11-03 01:10:00', TIMESTAMP_NTZ'2000-01-01 00:00:00')", "b", MinMax=None
        )
        check(lake, "minute(t) = 10 AND hour(t) = 1", "b", MinMax=None)
        check(lake, "t < TIMESTAMP_NTZ'2024-11-03 01:20:00'", None)
        check(lake, "CAST(t AS STRING) = '2024-11-03 01:10:00'", "b", MinMax=None)
        check(lake, "date_format(t, 'HH:mm') < '01:20'", "b", MinMax=None)
        check(lake, "date_trunc('HOUR', t) = TIMESTAMP'2024-11-03T05:00:00Z'", None)
        check(lake, "to_date(t) = DATE'2024-11-03'", "abc")


@pytest.mark.parametrize("zone", ["UTC", "America/Los_Angeles", "America/New_York"])
def test_h9_local_times_against_instants(lake: Lake, zone: str) -> None:
    with setting(lake, ZONE, zone):
        rows = {"a": ["2024-01-01 00:00:00"], "b": ["2024-01-01 08:00:00"], "c": ["2024-11-03 01:30:00"], "d": ["2024-03-10 02:30:00"]}
        times(lake, "TIMESTAMP_NTZ", rows, "n")
        check(lake, "n = TIMESTAMP'2024-01-01T08:00:00Z'", {"UTC": "b", "America/Los_Angeles": "a"}.get(zone, ""), MinMax=None)
        check(lake, "n > TIMESTAMP'2024-11-03T05:00:00Z'", None)
        check(lake, "n = TIMESTAMP_NTZ'2024-01-01 08:00:00'", "b")
        check(lake, "n < TIMESTAMP_NTZ'2024-01-01 08:00:00'", "a")
        check(lake, "CAST(n AS DATE) = DATE'2024-01-01'", "ab")
        check(lake, "CAST(n AS DATE) > DATE'2024-01-01'", "cd")
        check(lake, "n >= DATE'2024-03-10'", "cd")
        check(lake, "year(n) = 2023", "")
        check(lake, "CAST(n AS TIMESTAMP) >= TIMESTAMP'2024-11-03T05:30:00Z'", None)


def test_h10_h11_cyclic_parts(lake: Lake) -> None:
    times(lake, "DATE", {"a": ["2023-12-31", "2024-01-02"], "b": ["2023-01-01"], "c": ["2023-06-15"]}, "d")
    for where, read in {
        "month(d) = 1": "ab",
        "month(d) > 6": "a",
        "day(d) = 15": "c",
        "quarter(d) = 2": "c",
        "dayofweek(d) = 1": "ab",
        "weekofyear(d) = 52": "ab",
        "dayofyear(d) = 365": "a",
        "extract(YEAROFWEEK FROM d) = 2022": "b",
        "weekday(d) = 3": "c",
    }.items():
        check(lake, where, read, MinMax=None)
    check(lake, "year(d) = 2023", "abc")
    check(lake, "year(d) > 2023", "a")
    check(lake, "year(d) IN (2022, 2024)", "a")
    check(lake, "NOT (year(d) = 2023)", "a")


def test_h12_truncation_against_a_literal_within_the_unit(lake: Lake) -> None:
    times(lake, "TIMESTAMP", {"a": ["2024-01-31 10:00:00"], "b": ["2024-02-01 00:00:00"], "c": ["2023-12-31 23:00:00"]})
    for where, read in {
        "date_trunc('MONTH', t) <= TIMESTAMP'2024-01-15 00:00:00'": "ac",
        "date_trunc('MONTH', t) = TIMESTAMP'2024-01-15 00:00:00'": "",
        "date_trunc('MONTH', t) > TIMESTAMP'2024-01-15 00:00:00'": "b",
        "date_trunc('YEAR', t) >= TIMESTAMP'2023-06-01 00:00:00'": "ab",
        "trunc(t, 'MM') <= DATE'2024-01-15'": "ac",
    }.items():
        check(lake, where, read, MinMax=None)


@pytest.mark.parametrize("mode", ["LEGACY", "CORRECTED"])
@pytest.mark.parametrize("type_", ["DATE", "TIMESTAMP"])
def test_h13_the_calendar_before_1582(lake: Lake, mode: str, type_: str) -> None:
    rows = {"a": ["1001-01-01"], "b": ["1001-01-07"], "c": ["1582-10-15"], "d": ["0001-01-01"], "e": ["1582-10-04"]}
    with setting(lake, "spark.sql.parquet.datetimeRebaseModeInWrite", mode):
        times(lake, type_, rows)
    check(lake, f"t = {type_}'1001-01-01'", "a")
    check(lake, f"t < {type_}'1001-01-07'", "ad")
    check(lake, f"t >= {type_}'1582-10-15'", "c")
    check(lake, f"t BETWEEN {type_}'1500-01-01' AND {type_}'1582-10-14'", "e")
    check(lake, "year(t) = 1001", "ab")
    with setting(lake, "spark.sql.parquet.datetimeRebaseModeInRead", "LEGACY"):
        lake.view()
        check(lake, f"t = {type_}'1001-01-01'", None)


@pytest.mark.parametrize("mode", ["LEGACY", "CORRECTED"])
def test_h14_int96(lake: Lake, mode: str) -> None:
    with (
        setting(lake, "spark.sql.parquet.outputTimestampType", "INT96"),
        setting(lake, "spark.sql.parquet.int96RebaseModeInWrite", mode),
    ):
        times(lake, "TIMESTAMP", {"a": ["1600-01-01 00:00:00"], "b": ["2024-01-01 00:00:00.000001"], "c": ["1000-01-01 00:00:00"]})
    check(lake, "t < TIMESTAMP'1970-01-01 00:00:00'", "ac")
    check(lake, "t > TIMESTAMP'2024-01-01 00:00:00'", "b")
    check(lake, "t = TIMESTAMP'1000-01-01 00:00:00'", "c")


@pytest.mark.parametrize("zoned", [True, False])
def test_h15_milliseconds_and_microseconds(lake: Lake, zoned: bool) -> None:
    for name, unit, moment in (("a", "ms", 1_704_110_400_123), ("b", "us", 1_704_110_400_123_456), ("c", "ms", 0), ("d", "ms", -1)):
        type_ = pa.timestamp(unit, "UTC" if zoned else None)
        pq.write_table(pa.table({"t": pa.array([moment], type_)}), lake.folder / name, coerce_timestamps=unit)
        aged(lake.folder / name)
    lake.index(MinMax("t"), ValueList("t"))
    lake.view()
    zone = "" if zoned else "_NTZ"
    check(lake, f"t > TIMESTAMP{zone}'2024-01-01 12:00:00.123'", "b")
    check(lake, f"t >= TIMESTAMP{zone}'2024-01-01 12:00:00.123'", "ab")
    check(lake, f"t < TIMESTAMP{zone}'1970-01-01 00:00:00'", "d")
    check(lake, f"t = TIMESTAMP{zone}'1970-01-01 00:00:00'", "c")


def test_h17_times_that_python_cannot_hold(lake: Lake) -> None:
    rows = {"a": ["0001-01-01"], "b": ["-4000-05-05"], "c": ["+290000-12-31"], "d": ["2024-01-01"], "e": ["0000-01-01"]}
    times(lake, "DATE", rows, "d")
    check(lake, "d < DATE'0001-01-01'", "be")
    check(lake, "d > DATE'9999-12-31'", "c")
    check(lake, "year(d) = -4000", None)  # of functions, nothing is claimed beyond the years 1 to 9999
    check(lake, "year(d) > 9999", None)
    check(lake, "d < TIMESTAMP'0001-01-01 12:00:00'", "abe")
    check(lake, "d > TIMESTAMP'2024-01-01 00:00:00'", "c")
    instants = Lake(lake.spark, lake.skipping, lake.folder.parent / "instants")
    largest, smallest = 2**63 - 1, -(2**63)
    for name, moment in {"a": largest, "b": smallest, "c": 0, "d": largest - 86_400_000_000}.items():
        instants.spark_file(
            name,
            lake.spark.sql(
                f"SELECT timestamp_micros({moment}L) AS t" if moment != smallest else f"SELECT timestamp_micros(-{2**63 - 1}L - 1) AS t"
            ),
        )
    instants.index(MinMax("t"), ValueList("t"))
    instants.view()
    check(instants, "t > TIMESTAMP'9999-12-31 00:00:00'", "ad")
    check(instants, f"t = timestamp_micros({largest}L)", "a")
    check(instants, "t < TIMESTAMP'0001-01-01 00:00:00'", "b")
    check(instants, "to_date(t) > DATE'9999-12-31'", None)
    check(instants, "to_date(t) < DATE'1970-01-02'", None)
    check(instants, "year(t) > 9999", None)


def test_h18_h19_a_day_is_not_24_hours(lake: Lake) -> None:
    """In New York, 2024-03-09 12:00 plus a day is 23 hours later."""
    with setting(lake, ZONE, "America/New_York"):
        after = ["2024-03-11 02:30:00", "2024-03-11 03:00:00", "2024-03-11 04:00:00"]  # the clocks left out the first, less a day
        rows = {"a": ["2024-03-09 12:00:00"], "b": ["2024-03-10 12:00:00"], "c": ["2024-03-01 00:00:00"], "d": after}
        times(lake, "TIMESTAMP", rows)
        check(lake, "t + INTERVAL '1' DAY = TIMESTAMP'2024-03-10 12:00:00'", "a", MinMax=None)
        check(lake, "t - INTERVAL '1' DAY = TIMESTAMP'2024-03-10 03:00:00'", "d", MinMax=None)
        check(lake, "t + INTERVAL '23' HOUR = TIMESTAMP'2024-03-10 12:00:00'", "a", MinMax=None)
        check(lake, "t - INTERVAL '1' MONTH < TIMESTAMP'2024-02-05 00:00:00'", "c", MinMax=None)
        check(lake, "t > now() - INTERVAL '7' DAY", "")
        check(lake, "t > TIMESTAMP'2024-03-16 12:00:00' - INTERVAL '7' DAY", "bd")


def test_a_cast_of_a_boolean_or_text_is_not_claimed(lake: Lake) -> None:
    files(lake, {"a": {"b": [True], "s": ["2024-01-01"]}, "b": {"b": [False], "s": ["2023-05-05"]}})
    lake.index(MinMax("b"), ValueList("b"), MinMax("s"), ValueList("s"))
    lake.view()
    check(lake, "CAST(b AS INT) = 1", "a", MinMax=None)
    check(lake, "CAST(s AS DATE) >= DATE'2024-01-01'", "a", MinMax="ab")
    check(lake, "CAST(s AS TIMESTAMP) < TIMESTAMP'2024-01-01 00:00:00'", "b", MinMax="ab")
