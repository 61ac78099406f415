"""Times in files that are others tomorrow, or on another machine: without a date, of two digits of a year, of the old calendar."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark.sql.functions as F
import pytest

from data_skip import DataSkipError, MinMax, ValueList
from data_skip.building import binding
from tests.readings.support import printed_by
from tests.support import Lake, aged, settings_of


@pytest.fixture
def zones(lake: Lake) -> Iterator[Any]:
    """Java's TimeZone, whose default is put back."""
    gateway: Any = lake.spark.sparkContext._gateway
    zones = gateway.jvm.java.util.TimeZone
    before = zones.getDefault()
    zones.setDefault(zones.getTimeZone("UTC"))
    yield zones
    zones.setDefault(before)


@pytest.mark.parametrize("old", [False, True])
def test_moments_of_the_old_calendar_depend_on_the_zone_of_the_machine(lake: Lake, zones: Any, old: bool) -> None:
    """Files of Spark 2, or whatever is read with datetimeRebaseMode=LEGACY: where a file names no zone, that of the JVM counts."""
    for year in (1500, 1850):
        rows = pa.table({"t": pa.array([dt.datetime(year, 1, 1)], pa.timestamp("us", "UTC")), "n": [year]})
        with pq.ParquetWriter(lake.folder / f"{year}", rows.schema, store_schema=False) as writer:
            writer.write_table(rows)
            if old:
                writer.add_key_value_metadata({"org.apache.spark.version": "2.4.8"})
        aged(lake.folder / f"{year}")
    options = {} if old else {"datetimeRebaseMode": "LEGACY"}
    lake.index(MinMax("t"), MinMax("n"), options=options)
    lake.view(**options)
    lake.check("year(t) = 1850", read=["1850"])
    zones.setDefault(zones.getTimeZone("Asia/Tokyo"))
    lake.view(**options)
    moments = [row[0] for row in lake.spark.table("t").select(F.unix_micros("t")).collect()]
    for moment in moments:
        lake.query(f"SELECT * FROM t WHERE t = timestamp_micros({moment})")
    lake.query("SELECT n FROM t WHERE n = 1850", read=["1850"])


def test_moments_of_orc_are_of_the_zone_of_the_executors(tmp_path: Path) -> None:
    """Which are JVMs of their own: of that in which the driver is, all are UTC."""
    alike, elsewhere, untold = printed_by("building.on_executors", tmp_path / "t")
    assert alike[:3] == [4, 1, 3]
    assert elsewhere[:3] == [4, 1, 0], "rows were lost, which executors of another zone find"
    assert "collected with user.timezone='UTC', the query reads with 'UTC (driver), America/Los_Angeles (tasks)'" in elsewhere[3]
    assert untold[:3] == [4, 1, 0]
    assert "the query reads with 'UTC (driver), that of their machines (tasks)'" in untold[3]


TIMES = {"csv": ("{},1", "t timestamp, n int"), "json": ('{{"t": "{}", "n": 1}}', "t timestamp, n int")}


@pytest.mark.parametrize("format_", TIMES)
def test_a_time_without_a_date_is_another_one_tomorrow(lake: Lake, format_: str) -> None:
    line, schema = TIMES[format_]
    lake.lines("undated", line.format("12:34:56"))
    lake.lines("dated", line.format("2020-01-01 12:34:56"))
    table = lake.table(format=format_, schema=schema)
    report = table.create_index(MinMax("t"), MinMax("n"))
    assert (report.files_undated, report.files_collected) == (1, 2)
    assert "another day" in str(report)
    lake.view(format=format_, schema=schema)
    lake.check("t > TIMESTAMP'2090-01-01'", read=["undated"])
    lake.check("t < TIMESTAMP'2020-06-01'", read=["dated", "undated"])
    lake.check("n = 2", read=[])
    assert table.refresh().files_collected == 1, "on another day it may be known to have dates"


def test_times_without_a_date_inside_of_other_values(lake: Lake) -> None:
    schema = "s struct<x: array<timestamp>, n: int>, m map<string, timestamp>, u timestamp_ntz"
    lake.lines("list", '{"s": {"x": [null, "12:34"], "n": 1}}')
    lake.lines("map", '{"m": {"k": "12:34"}, "s": {"n": 1}}')
    lake.lines("dated", '{"m": {"k": "2020-01-01"}, "s": {"x": ["2020-01-01"], "n": 1}, "u": "2020-01-01"}')
    report = lake.table(format="json", schema=schema).create_index(MinMax("s.x"), MinMax("m['k']"), MinMax("u"))
    assert report.files_undated == 2
    lake.view(format="json", schema=schema)
    lake.check("exists(s.x, e -> e > TIMESTAMP'2090-01-01')", read=["list", "map"])
    lake.check("m['k'] > TIMESTAMP'2090-01-01'", read=["list", "map"])
    lake.check("u > TIMESTAMP_NTZ'2090-01-01'", read=[])


def test_text_as_timestamps_is_not_indexed(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    lake.file("undated", {"s": ["12:34:56"]})
    lake.file("dated", {"s": ["2020-01-01 12:34:56"]})
    for expression in ("cast(s AS timestamp)", "to_timestamp(s)", "from_json(s, 't timestamp').t", "hour(s)"):
        with pytest.raises(DataSkipError, match="of the current day"):
            lake.index(MinMax(expression))
    lake.index(MinMax("try_to_timestamp(s, 'yyyy-MM-dd HH:mm:ss')"), ValueList("try_cast(s AS timestamp_ntz)"))
    lake.check("try_to_timestamp(s, 'yyyy-MM-dd HH:mm:ss') > TIMESTAMP'2090-01-01'", read=[])
    monkeypatch.setattr(binding, "why_unsteady", lambda trees: "")
    lake.index(MinMax("cast(s AS timestamp)"))  # as an earlier data-skip made it
    lake.check("cast(s AS timestamp) > TIMESTAMP'2090-01-01'", read=["dated", "undated"])


POLICY = "spark.sql.legacy.timeParserPolicy"


@pytest.mark.parametrize(
    "call", ["to_date(s, 'dd/MM/yy')", "unix_timestamp(s, 'd/M/y')", "to_timestamp(s, f)", "from_csv(s, 'd date', {}).d"]
)
def test_years_with_two_digits_are_of_another_century_tomorrow(lake: Lake, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    """Under LEGACY they are of the hundred years that end twenty years after the moment of parsing."""
    call = call.format("map('dateFormat', 'dd/MM/yy')")
    lake.file("a", {"s": ["01/01/46"], "f": ["dd/MM/yy"]})
    lake.file("b", {"s": ["01/01/05"], "f": ["dd/MM/yy"]})
    never = f"cast({call} AS string) = 'never'"
    with settings_of(lake.spark, {POLICY: "LEGACY"}):
        with pytest.raises(DataSkipError, match="their century depends on the day"):
            lake.index(ValueList(call))
        lake.index(ValueList("to_date(s, 'dd/MM/yyyy')"))
        lake.check("to_date(s, 'dd/MM/yyyy') = DATE'2020-01-01'", read=[])
        with monkeypatch.context() as patch:  # as data-skip collected before
            patch.setattr(binding, "why_unsteady_as_read", lambda trees, reader: "")
            lake.index(ValueList(call))
        lake.check(never, read=["a", "b"])


def test_years_with_two_digits_are_steady_in_java_time(lake: Lake) -> None:
    lake.file("a", {"s": ["01/01/46"]})
    lake.file("b", {"s": ["01/01/05"]})
    with settings_of(lake.spark, {POLICY: "CORRECTED"}):
        lake.index(ValueList("to_date(s, 'dd/MM/yy')"))
        lake.check("to_date(s, 'dd/MM/yy') = DATE'2046-01-01'", read=["a"])


def test_a_reader_of_years_with_two_digits(lake: Lake) -> None:
    lake.text("a.csv", "01/01/46\n")
    reader: dict[str, Any] = {"format": "csv", "schema": "d date"}
    with settings_of(lake.spark, {POLICY: "LEGACY"}):
        with pytest.raises(DataSkipError, match="their century depends on the day"):
            lake.index(ValueList("d"), options={"dateFormat": "dd/MM/yy"}, **reader)
        lake.index(ValueList("d"), options={"dateFormat": "dd/MM/yyyy"}, **reader)
        lake.view(**reader, dateFormat="dd/MM/yyyy")
        lake.check("d = DATE'2046-01-01'", read=[])


@pytest.mark.parametrize("format", ["csv", "json"])
def test_a_time_without_a_date_in_a_zone_of_its_own(lake: Lake, format: str) -> None:
    """It is of today in that zone, which is another day here: yesterday's, or tomorrow's."""
    for hours in (-18, -12, 12, 18):
        for hour in (1, 23):
            text = f"{hour:02}:00:00{hours:+03}:00"
            lake.lines(f"undated {hours} {hour}", text if format == "csv" else f'{{"t": "{text}"}}')
    lake.lines("dated", "2020-01-01 01:00:00-18:00" if format == "csv" else '{"t": "2020-01-01 01:00:00-18:00"}')
    assert lake.table(format=format, schema="t timestamp").create_index(MinMax("t")).files_undated == 8
