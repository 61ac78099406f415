"""Columns and fields of files: with defaults, missing in some, hidden by folders, very many, or of the names of our own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import ParseException
from pyspark.sql import functions as F

from data_skip import DataSkipError, MinMax, ValueList
from data_skip.building import binding
from data_skip.building.collect import collect, expressions_of, told_of
from data_skip.table import Table
from tests.support import Lake, aged, settings_of

ZONE = "spark.sql.session.timeZone"


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


def test_how_json_is_written_is_what_to_json_gives(lake: Lake) -> None:
    """Of a NULL in a column that has a default."""
    sql, key, written = lake.spark.sql, "spark.sql.jsonGenerator.writeNullIfWithDefaultValue", "to_json(struct(a, b))"
    sql(f"CREATE TABLE defaults (a int, b int DEFAULT 5) USING parquet LOCATION '{lake.folder}'")
    try:
        sql("INSERT INTO defaults VALUES (1, NULL)")
        for path in lake.folder.glob("part-*"):
            aged(path)
        lake.skipping.table("defaults").create_index(ValueList(written), MinMax("a"))
        without = f"SELECT * FROM defaults WHERE {written} = '{{\"a\":1}}'"
        assert lake.query(without).scans[-1].files_read == 0
        with settings_of(lake.spark, {key: "false"}):
            assert lake.query(without).scans[-1].files_read == 1
            assert lake.query("SELECT * FROM defaults WHERE a = 2").scans[-1].files_read == 0
    finally:
        sql("DROP TABLE defaults")


@pytest.mark.parametrize("format", ["json", "csv"])
def test_a_column_that_has_the_name_of_our_own(lake: Lake, format: str) -> None:
    """Which we gave to the column of malformed records: Spark fills that itself, and takes it for no column of the files."""
    lake.text("a", "x,5\n" if format == "csv" else '{"data_skip_malformed": "x", "v": 5}\n')
    lake.text("b", "7\n" if format == "csv" else '{"v": 7}\n')
    reader: dict[str, Any] = {"format": format, "schema": "data_skip_malformed string, v int"}
    lake.index(ValueList("data_skip_malformed"), ValueList("v"), **reader)
    lake.view(**reader)
    of_b = ["b"] if format == "csv" else []  # malformed, since it lacks a column
    lake.query("SELECT * FROM t WHERE data_skip_malformed = 'x'", read=["a", *of_b])
    lake.query("SELECT * FROM t WHERE v IS NULL", read=of_b)
    lake.query("SELECT * FROM t WHERE v = 5", read=["a", *of_b])


ODD = '",",x",y'  # behind text that ends with an escape: univocity goes on, where the column is left out, and gives x" to the next one


def test_a_column_of_the_files_that_the_folders_hide(lake: Lake) -> None:
    """Of a partition column that lies in the files as well, no query reads the text."""
    for p, line in (("1", f'1,"a\\\\{ODD}'), ("2", "2,,v,w")):
        (lake.folder / f"p={p}").mkdir()
        lake.lines(f"p={p}/a.csv", "id,p,b,c", "0,,v,w", line)
    options = {"header": "true"}
    lake.index(ValueList("b"), format="csv", options=options)
    lake.view(format="csv", **options)
    lake.query("SELECT b FROM t WHERE b = 'x\"'", read=["p=1/a.csv"])


@pytest.mark.parametrize("format", ["csv", "json"])
def test_a_column_with_a_backtick(lake: Lake, format: str) -> None:
    lake.lines("a", "1,x" if format == "csv" else '{"id": 1, "a`b": "x"}')
    lake.lines("b", "2,y" if format == "csv" else '{"id": 2, "a`b": "y"}')
    reader: dict[str, Any] = {"format": format, "schema": "id int, `a``b` string"}
    lake.index(MinMax("id"), ValueList("`a``b`"), **reader)
    lake.view(**reader)
    lake.query("SELECT * FROM t WHERE id = 2", read=["b"])
    lake.query("SELECT * FROM t WHERE `a``b` = 'x'", read=["a"])


@pytest.mark.parametrize("format", ["parquet", "csv"])
def test_columns_that_have_the_names_of_those_by_which_files_are_told_apart(lake: Lake, format: str) -> None:
    for i in (1, 2):
        folder = f"data_skip_line={i}"
        if format == "parquet":
            lake.file(f"{folder}/a", {"data_skip_file": [str(i)]})
        else:
            (lake.folder / folder).mkdir()
            lake.lines(f"{folder}/a", str(i))
    reader = {"format": format, "schema": "data_skip_file STRING, data_skip_line INT"}
    lake.index(ValueList("data_skip_file"), **reader)
    lake.view(**reader)
    lake.query("SELECT * FROM t WHERE data_skip_file = '1'", read=["data_skip_line=1/a"])


def test_a_table_of_text_with_very_many_columns(lake: Lake) -> None:
    """All of them are read, to see what cannot be: as a chain of a thousand calls that ended the stack of Spark's thread."""
    names = [f"c{i}" for i in range(1500)]
    for i in range(2):
        lake.text(f"{i}.csv", ",".join([str(i)] * len(names)) + "\n")
    schema = ", ".join(f"{name} INT" for name in names)
    lake.table(format="csv", schema=schema).create_index(MinMax("c7"))
    frame = lake.spark.read.schema(schema).csv(str(lake.folder)).select("c7").where("c7 = 1")
    assert frame.count() == 1
    assert lake.skipping.report().scans[-1].files_read == 1


def test_more_conditions_than_one_number_holds(lake: Lake) -> None:
    lake.file("0.parquet", {"x": list(range(0, 130, 7))})
    frame = lake.spark.read.parquet(str(lake.folder)).withColumn("number", F.lit(3))
    held = [F.col("x") == i for i in range(130)]
    rows = frame.select(*told_of(frame, "number", None, None, held), *expressions_of([MinMax("x")]))
    found = collect(rows, [MinMax("x")], {})
    assert {number: file.held for number, file in found.items()} == {3: sum(1 << i for i in range(0, 130, 7))}


@pytest.mark.spark_version
def test_a_type_that_pyspark_does_not_know(lake: Lake) -> None:
    """It reads no table of such a column itself; indexes over others serve."""
    folder = lake.folder / "nanos"
    try:
        with settings_of(lake.spark, {"spark.sql.timestampNanosTypes.enabled": "true"}):
            written = lake.spark.sql("SELECT id, CAST('2020-01-01 00:00:00.123456789' AS TIMESTAMP_NTZ(9)) AS n FROM range(10)")
            written.repartitionByRange(2, "id").write.parquet(str(folder))
            table = lake.skipping.table(str(folder))
            with pytest.raises(DataSkipError, match="PySpark knows no type of 'n'"):
                table.create_index(MinMax("n"))
            table.create_index(MinMax("id"))
            lake.spark.read.parquet(str(folder)).where("id = 3").count()
            assert lake.skipping.report().scans[0].files_read == 1
    except ParseException:
        pytest.skip("this Spark has no timestamps by the nanosecond")
