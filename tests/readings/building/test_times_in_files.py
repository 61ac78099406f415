"""Building, again: what a record of a file may be used for. Each test is a recipe that once lost rows, or shows what keeps the file."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Iterator
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pyspark.sql.functions as F
import pytest

from data_skip import DataSkipError, MinMax, ValueList, versioned
from data_skip.building import binding
from tests.support import Lake, aged, rows_of


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


def series_as_text(numbers: pd.Series) -> pd.Series:
    return numbers.astype(str)


@pytest.mark.parametrize("kind", ["pandas", "rows by Arrow"])
def test_an_index_over_numbers_that_a_null_changes(lake: Lake, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Collected beside a NULL, pandas had fractions; in the query the NULL is left out before."""
    lake.file("null", {"n": [1, None], "s": ["a", None]})
    lake.file("two", {"n": [2], "s": ["b"]})
    pandas = F.pandas_udf(versioned(series_as_text, 1), "string")  # type: ignore[call-overload]
    lake.spark.udf.register("again_as_text", pandas if kind == "pandas" else F.udf(versioned(str, 1), "string", useArrow=True))
    for argument in ("n", "n > 1", "array(n)", "struct(n)"):
        with pytest.raises(DataSkipError, match="batch with a NULL"):
            lake.index(ValueList(f"again_as_text({argument})"))
    lake.index(ValueList("again_as_text(s)"))
    lake.check("again_as_text(s) = 'b'", read=["two"])
    monkeypatch.setattr(binding, "why_unsteady", lambda trees: "")
    lake.index(ValueList("again_as_text(n)"))  # as an earlier data-skip made it
    lake.query("SELECT * FROM t WHERE n IS NOT NULL AND again_as_text(n) = '1'", read=["null", "two"])


def test_a_null_inside_of_an_argument(lake: Lake) -> None:
    """A struct is not NULL where its field is; pandas makes other numbers of the field all the same."""
    lake.file("null", {"n": [1, None]})
    lake.file("two", {"n": [2]})
    lake.index(ValueList("n"))

    def field_as_text(structs: pd.DataFrame) -> pd.Series:
        return structs["n"].astype(str)

    lake.spark.udf.register("again_field", F.pandas_udf(versioned(field_as_text, 1), "string"))  # type: ignore[call-overload]
    lake.view()
    for value in ("2", "2.0", "1", "1.0"):
        lake.query(f"SELECT * FROM t WHERE again_field(struct(n)) = '{value}'")
        lake.query(f"SELECT * FROM t WHERE n IS NOT NULL AND again_field(struct(n)) = '{value}'")


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


def test_a_table_that_was_moved_is_another_place(lake: Lake) -> None:
    """The files of the new location must not get records in the index of the old one."""
    places = [lake.folder / "here", lake.folder / "there"]
    for place, x in zip(places, (1, 2), strict=True):
        place.mkdir()
        pq.write_table(pa.table({"x": [x]}), place / "file")
        os.utime(place / "file", (1_700_000_000.123,) * 2)
    spark = lake.spark
    spark.sql(f"CREATE TABLE again_moved (x BIGINT) USING parquet LOCATION '{places[0]}'")
    try:
        table = lake.skipping.table("again_moved")
        spark.sql(f"ALTER TABLE again_moved SET LOCATION '{places[1]}'")
        with pytest.raises(DataSkipError, match="no longer at"):
            table.create_index(MinMax("x"))
        lake.skipping.table("again_moved").create_index(MinMax("x"))
        assert rows_of(spark.table("again_moved").where("x = 1")) == {}
        assert rows_of(spark.read.parquet(str(places[0])).where("x = 1")) == {"Row(x=1)": 1}
    finally:
        spark.sql("DROP TABLE again_moved")


def test_fields_that_a_file_lacks(lake: Lake) -> None:
    """Spark takes arrays for NULL of whose structs it finds no field that is asked for: collected beside another index, they were not."""
    old, new = (pa.list_(pa.struct([(name, pa.int64()) for name in names])) for names in ("a", "ax"))
    lake.file("old", pa.table({"k": [1], "r": pa.array([[{"a": 1}]], old)}))
    lake.file("new", pa.table({"k": [2], "r": pa.array([[{"a": 2, "x": 2}, {"a": 2, "x": 2}]], new)}))
    schema = "k bigint, r array<struct<a: bigint, x: bigint>>"
    lake.index(ValueList("r.a"), ValueList("r.x"), ValueList("size(r.x)"), schema=schema, format="parquet")
    lake.view(schema=schema)
    for where in ("r.x IS NULL", "size(r.x) IS NULL", "size(r.x) = 1", "coalesce(size(r.x), -1) = -1", "r.x IS NOT NULL"):
        lake.query(f"SELECT k FROM t WHERE {where}")
        lake.query(f"SELECT r.a FROM t WHERE {where}")
    lake.query("SELECT k FROM t WHERE array_contains(r.a, 1)", read=["old"])
    lake.query("SELECT k FROM t WHERE size(r.x) = 5", read=["old"])
