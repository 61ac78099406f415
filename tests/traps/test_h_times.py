"""TRAPS.md, section H, as far as it meets MinMax, ValueList and the preimages of monotone.py.

MinMax=None: this function is not monotone, or not known to be; ValueList has Spark decide. Most files hold several values,
since of a file that holds just one MinMax has Spark decide as well.
"""

from __future__ import annotations

from datetime import datetime, timezone

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from data_skip import MinMax, ValueList
from tests.support import Lake, aged, settings_of
from tests.traps.kinds import ZONE, check, times

TS = pa.timestamp("us", "UTC")


def test_h1_bounds_keep_microseconds(lake: Lake) -> None:
    times(lake, "TIMESTAMP", {"a": ["2024-01-01 12:00:00.123456"], "b": ["2024-01-01 12:00:00.123"], "c": ["2024-01-01 12:00:00"]})
    check(lake, "t > TIMESTAMP'2024-01-01 12:00:00.123'", "a")
    check(lake, "t = TIMESTAMP'2024-01-01 12:00:00.123456'", "a")
    check(lake, "t >= TIMESTAMP'2024-01-01 12:00:00.123'", "ab")
    check(lake, "t < TIMESTAMP'2024-01-01 12:00:00.000001'", "c")


def test_h2_h7_h16_instants_do_not_depend_on_the_zone(lake: Lake) -> None:
    """Indexed under one session zone, queried under another; neither is that of the JVM."""
    with settings_of(lake.spark, {ZONE: "Asia/Kolkata"}):
        times(lake, "TIMESTAMP", {"a": ["2024-01-01 07:30:00"], "b": ["2024-01-01 12:00:00"], "c": ["1850-01-01 00:00:00"]})
        lake.index(MinMax("year(t)"), ValueList("hour(t)"))
        check(lake, "year(t) = 1850", "c")
    for zone in ("UTC", "America/New_York", "Europe/Amsterdam", "Asia/Kolkata"):
        with settings_of(lake.spark, {ZONE: zone}):
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
    with settings_of(lake.spark, {ZONE: zone}):
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
    with settings_of(lake.spark, {ZONE: zone}):
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
    with settings_of(lake.spark, {ZONE: "America/St_Johns"}):
        check(lake, "CAST(t AS DATE) IN (DATE'2006-10-29', DATE'2030-01-01')", "a", MinMax=None)
        check(lake, "CAST(t AS DATE) NOT IN (DATE'2006-10-29', DATE'2030-01-01')", "bc", MinMax=None)
        check(lake, "CAST(CAST(t AS DATE) AS STRING) = '2006-10-28'", "b", MinMax=None)
        check(lake, "to_date(t) = DATE'2006-10-29'", None)


def _utc(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=timezone.utc).timestamp() * 1_000_000)


@pytest.mark.parametrize("format", ["csv", "json"])
def test_h6_times_in_text_depend_on_the_zone(lake: Lake, format: str) -> None:
    lines = {"a": "2024-01-01 00:30:00", "b": "2024-01-01 09:00:00", "c": "2024-02-01 00:00:00"}
    for name, text in lines.items():
        (lake.folder / name).write_text(f'{{"t": "{text}"}}\n' if format == "json" else f"{text}\n")
        aged(lake.folder / name)
    with settings_of(lake.spark, {ZONE: "America/Los_Angeles"}):
        lake.index(MinMax("t"), ValueList("t"), format=format, schema="t TIMESTAMP")
        lake.view(format=format, schema="t TIMESTAMP")
        check(lake, "t < TIMESTAMP'2024-01-01T08:45:00Z'", "a")
    for zone, hit in (("UTC", "a"), ("Asia/Tokyo", "ab")):
        with settings_of(lake.spark, {ZONE: zone}):
            lake.view(format=format, schema="t TIMESTAMP")
            check(lake, "t < TIMESTAMP'2024-01-01T00:45:00Z'", "abc")
            assert lake.spark.sql("SELECT * FROM t WHERE t < TIMESTAMP'2024-01-01T00:45:00Z'").count() == len(hit)


def test_h8_local_times_at_the_autumn_change(lake: Lake) -> None:
    """05:30Z is 01:30 and 06:10Z is 01:10 in New York."""
    for name, text in {"a": "2024-11-03T05:30:00", "b": "2024-11-03T06:10:00", "c": "2024-11-03T09:00:00"}.items():
        lake.file(name, {"t": pa.array([_utc(text)], TS)})
    lake.index(MinMax("t"), ValueList("t"))
    lake.view()
    with settings_of(lake.spark, {ZONE: "America/New_York"}):
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
    with settings_of(lake.spark, {ZONE: zone}):
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
    with settings_of(lake.spark, {"spark.sql.parquet.datetimeRebaseModeInWrite": mode}):
        times(lake, type_, rows)
    check(lake, f"t = {type_}'1001-01-01'", "a")
    check(lake, f"t < {type_}'1001-01-07'", "ad")
    check(lake, f"t >= {type_}'1582-10-15'", "c")
    check(lake, f"t BETWEEN {type_}'1500-01-01' AND {type_}'1582-10-14'", "e")
    check(lake, "year(t) = 1001", "ab")
    with settings_of(lake.spark, {"spark.sql.parquet.datetimeRebaseModeInRead": "LEGACY"}):
        lake.view()
        check(lake, f"t = {type_}'1001-01-01'", None)


@pytest.mark.parametrize("mode", ["LEGACY", "CORRECTED"])
def test_h14_int96(lake: Lake, mode: str) -> None:
    written = {"spark.sql.parquet.outputTimestampType": "INT96", "spark.sql.parquet.int96RebaseModeInWrite": mode}
    with settings_of(lake.spark, written):
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
    with settings_of(lake.spark, {ZONE: "America/New_York"}):
        after = ["2024-03-11 02:30:00", "2024-03-11 03:00:00", "2024-03-11 04:00:00"]  # the clocks left out the first, less a day
        rows = {"a": ["2024-03-09 12:00:00"], "b": ["2024-03-10 12:00:00"], "c": ["2024-03-01 00:00:00"], "d": after}
        times(lake, "TIMESTAMP", rows)
        check(lake, "t + INTERVAL '1' DAY = TIMESTAMP'2024-03-10 12:00:00'", "a", MinMax=None)
        check(lake, "t - INTERVAL '1' DAY = TIMESTAMP'2024-03-10 03:00:00'", "d", MinMax=None)
        check(lake, "t + INTERVAL '23' HOUR = TIMESTAMP'2024-03-10 12:00:00'", "a", MinMax=None)
        check(lake, "t - INTERVAL '1' MONTH < TIMESTAMP'2024-02-05 00:00:00'", "c", MinMax=None)
        check(lake, "t > now() - INTERVAL '7' DAY", "")
        check(lake, "t > TIMESTAMP'2024-03-16 12:00:00' - INTERVAL '7' DAY", "bd")
