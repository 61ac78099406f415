"""Building, read a fourth time: each test is a recipe that once lost rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from data_skip import DataSkipError, MinMax, ValueList
from data_skip.building import binding
from data_skip.table import Table
from tests.support import Lake, aged, settings_of

POLICY = "spark.sql.legacy.timeParserPolicy"
ZONE = "spark.sql.session.timeZone"


def test_options_that_are_text_are_told_apart_by_their_letters(lake: Lake) -> None:
    """Of flags, true and TRUE are one; of texts that stand for NULL they are two."""
    lake.text("a.csv", "s,v\nTRUE,1\n")
    lake.text("b.csv", "s,v\nx,2\n")
    reader: dict[str, Any] = {"format": "csv", "schema": "s string, v int"}
    lake.index(ValueList("s"), options={"header": "TRUE", "nullValue": "TRUE"}, **reader)
    lake.view(**reader, header="true", nullValue="true")
    lake.query("SELECT * FROM t WHERE s = 'TRUE'", read=["a.csv", "b.csv"])
    lake.view(**reader, header="true", nullValue="TRUE")
    lake.query("SELECT * FROM t WHERE s = 'TRUE'", read=[])
    lake.text("c.csv", "s,v\ntrue,3\n")
    lake.skipping.table(str(lake.folder)).refresh()  # reads as the index was collected
    lake.view(**reader, header="true", nullValue="TRUE")
    lake.query("SELECT * FROM t WHERE s = 'true'", read=["c.csv"])


@contextmanager
def defaults(lake: Lake, format: str, column: str) -> Iterator[Table]:
    """The table `defaults`, of one file that lacks a column with a default, while it is in the catalog."""
    sql = lake.spark.sql
    sql(f"CREATE TABLE defaults (id int) USING {format} LOCATION '{lake.folder}'")
    try:
        sql("INSERT INTO defaults VALUES (1)")
        sql(f"ALTER TABLE defaults ADD COLUMN {column}")
        for path in lake.folder.glob("part-*"):
            aged(path)
        yield lake.skipping.table("defaults")
    finally:
        sql("DROP TABLE defaults")


def test_a_default_is_evaluated_in_the_zone_of_the_query(lake: Lake) -> None:
    with defaults(lake, "parquet", "ts timestamp DEFAULT TIMESTAMP'2020-01-01 00:00:00'") as table:
        table.create_index(MinMax("ts"), MinMax("id"))
        midnight = "SELECT * FROM defaults WHERE ts = TIMESTAMP'2020-01-01 00:00:00'"
        assert lake.query(midnight).scans[-1].files_read == 1
        assert lake.query("SELECT * FROM defaults WHERE ts = TIMESTAMP'2020-01-01 08:00:00'").scans[-1].files_read == 0
        with settings_of(lake.spark, {ZONE: "America/Los_Angeles"}):
            assert lake.query(midnight).scans[-1].files_read == 1
            assert lake.query("SELECT * FROM defaults WHERE id = 2").scans[-1].files_read == 0  # which has no default


@pytest.mark.parametrize("format", ["parquet", "orc"])
def test_fields_of_a_struct_with_a_default_depend_on_which_are_read(lake: Lake, monkeypatch: pytest.MonkeyPatch, format: str) -> None:
    """A file that lacks the struct: Spark gives a field another value where it reads that field alone than where it reads the struct."""
    with defaults(lake, format, "st struct<a: int, b: int> DEFAULT named_struct('a', 1, 'b', 2)") as table:
        with pytest.raises(DataSkipError, match="a struct with a DEFAULT"):
            table.create_index(MinMax("st.b"))
        table.create_index(MinMax("id"))
        with monkeypatch.context() as patch:  # as data-skip collected before
            patch.setattr(binding, "unsure", lambda reader: "")
            table.create_index(MinMax("st.b"))
        lake.query("SELECT * FROM defaults WHERE st.b = 2")
        assert lake.query("SELECT * FROM defaults WHERE id = 2").scans[-1].files_read == 0


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


def test_the_parts_of_a_file_depend_on_how_many_there_are(lake: Lake) -> None:
    """Few files are cut into smaller parts: then the first of them may lack the header, which is a row. Here with no setting changed."""
    lake.text("a.csv", f"#{'c' * 60_000}\nname,v\nx,1\n")
    lake.text("b.csv", "name,v\n" + f"{'q' * 60},5\n" * 1_000)
    reader: dict[str, Any] = {"schema": "name string, v string", "format": "csv"}
    options = {"header": "true", "comment": "#"}
    cost = "spark.sql.files.openCostInBytes"
    with settings_of(lake.spark, {cost: "16384", "spark.sql.files.minPartitionNum": "2"}):
        lake.index(ValueList("name"), options=options, **reader)
        (lake.folder / "b.csv").unlink()
        lake.text("c.csv", "name,v\nr,5\n")
        lake.skipping.table(str(lake.folder)).refresh()
        lake.view(**reader, **options)
        for where in ("name = 'name'", "name = 'other'"):  # without c.csv, a.csv would be cut otherwise: see test_building_eighth.py
            lake.query(f"SELECT * FROM t WHERE {where}", read=["a.csv", "c.csv"])
    with settings_of(lake.spark, {cost: "0"}), pytest.raises(DataSkipError, match="may cut a CSV file before its header"):
        lake.index(ValueList("v"), options=options, **reader)
