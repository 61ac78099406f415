"""Columns of a table whose files are listed by its index: they are those that Spark would infer, or are refused."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from data_skip import DataSkipError, MinMax
from data_skip import table as table_module
from data_skip.table import Table
from tests.readings.files.support import SNAPSHOT, same
from tests.readings.support import xs
from tests.support import Lake, settings_of
from tests.test_snapshots import values


def lines(lake: Lake, name: str, *text: str) -> Path:
    (lake.folder / name).parent.mkdir(parents=True, exist_ok=True)
    return lake.lines(name, *text)


@pytest.mark.parametrize("other", ["abc", "12345678901", "1.5"])
def test_types_of_partitions_that_a_users_schema_leaves_out_are_those_of_all_folders(lake: Lake, other: str) -> None:
    """Of the one file that tells columns, p is an int."""
    lines(lake, "p=1/a.csv", "1")
    lines(lake, f"p={other}/a.csv", "2")
    lake.index(MinMax("x"), format="csv", schema="x INT")
    same(lake, "p > '1'", "csv", "x INT")
    same(lake, "p > '1'", "csv", "x INT, P STRING")


def test_a_partition_that_the_first_file_lies_above_is_no_column_of_files(lake: Lake) -> None:
    lines(lake, "a.csv", "1")
    lake.index(MinMax("x"), format="csv", schema="x INT")
    lines(lake, "p=5/a.csv", "2")
    lake.table(format="csv", schema="x INT, p STRING").refresh()
    same(lake, "p = '5'", "csv", "x INT, p STRING")


def test_columns_that_one_file_does_not_tell_are_refused(lake: Lake) -> None:
    lake.file("a.parquet", {"x": [1]})
    lake.file("b.parquet", {"x": [2], "y": [3]})
    table = lake.index(MinMax("x"))
    with pytest.raises(DataSkipError, match="mergeSchema"):
        lake.table(format="parquet", options={"MergeSchema": "true"}).read("snapshot")
    same(lake, schema="x LONG, y LONG", mergeSchema="true")
    for setting, value, refused in (("parquet.mergeSchema", "true", "mergeSchema"), ("sources.default", "json", "columns of json")):
        lake.spark.conf.set(f"spark.sql.{setting}", value)
        try:
            with pytest.raises(DataSkipError, match=refused):
                table.read("snapshot") if refused == "mergeSchema" else Table.read(_without_format(table), "snapshot")
        finally:
            lake.spark.conf.unset(f"spark.sql.{setting}")
    pq.write_metadata(pa.schema([("x", pa.int64()), ("y", pa.int64())]), lake.folder / "_common_metadata")  # Spark takes columns of it
    with pytest.raises(DataSkipError, match="summary"):
        table.read("snapshot")


def _without_format(table: Table) -> Table:
    source = table_module.TableSource(table.name, False, None, None, {})
    return Table(table._spark, table._jvm, table._catalog, source, table.root)


@pytest.mark.parametrize("names", [("a b.parquet", "a!b.parquet"), ("\U0001f600.parquet", "\uff5e.parquet")])
def test_columns_are_those_of_the_file_that_spark_takes_for_the_first(lake: Lake, names: tuple[str, str]) -> None:
    """By the path as it is, not as it is escaped, and in the order of UTF-16."""
    for i, name in enumerate(names):
        lake.file(name, {"x": [1], f"y{i}": [1]})
    lake.index(MinMax("x"))
    same(lake)


def test_text_needs_no_schema(lake: Lake) -> None:
    lake.lines("a.txt", "b")
    lake.index(MinMax("value"), format="text")
    same(lake, format="text")


def test_folders_whose_columns_change_are_refused(lake: Lake) -> None:
    """Values of partitions are told by place: q=2/p=1 gave p = 2."""
    lake.file("p=1/q=2/a.parquet", {"x": [1]})
    table = lake.index(MinMax("x"))
    frame = table.read("snapshot")
    for name in ("q=2/p=1/a.parquet", "a.parquet"):
        shutil.rmtree(lake.folder / "p=1", ignore_errors=True)
        shutil.rmtree(lake.folder / "q=2", ignore_errors=True)
        lake.file(name, {"x": [5]})
        table.refresh()
        with pytest.raises((PySparkException, Py4JJavaError), match="read it anew"):
            frame.where("x > 0").collect()
        same(lake)


def test_times_of_folders_are_by_the_zone_in_which_the_table_was_read(lake: Lake) -> None:
    lake.file("p=2020-01-01 00%3A00%3A00/a.parquet", {"x": [1]})
    table = lake.index(MinMax("x"))
    frame = table.read("snapshot").selectExpr("cast(p AS LONG)").distinct()
    before, zone = frame.collect(), lake.spark.conf.get("spark.sql.session.timeZone")
    assert zone is not None
    lake.file("p=2020-01-01 00%3A00%3A00/b.parquet", {"x": [1]})
    table.refresh()
    try:
        lake.spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
        assert frame.distinct().collect() == before
    finally:
        lake.spark.conf.set("spark.sql.session.timeZone", zone)


def empty_file_of_another_type(lake: Lake) -> None:
    lines(lake, "p=1/a.csv", "1")
    lines(lake, "p=abc/nothing.csv")


def empty_file_beside(lake: Lake) -> None:
    lines(lake, "p=1/a.csv", "1")
    lines(lake, "p=1/nothing.csv")
    lines(lake, "p=2.5/nothing.csv")
    lines(lake, "nothing.csv")


@pytest.mark.parametrize("make", [empty_file_of_another_type, empty_file_beside])
def test_folders_of_empty_files_tell_types_of_partitions(lake: Lake, make: Callable[[Lake], None]) -> None:
    """Spark reads none of them, and infers the type of p from all folders."""
    make(lake)
    table = lake.index(MinMax("x"), format="csv", schema="x INT")
    same(lake, "p > '0'", "csv", "x INT")
    lake.skipping.table(table.root, format="csv", schema="x INT", options={"pathGlobFilter": "a*"}).refresh()
    same(lake, "x = 1", "csv", "x INT")
    for path in lake.folder.rglob("nothing.csv"):
        path.unlink()
    table.refresh()
    same(lake, "p > 0", "csv", "x INT")


def test_a_file_outside_of_all_partitions_tells_columns(lake: Lake) -> None:
    """Spark takes the columns of it, and does not read it."""
    for i in range(2):
        lake.file(f"p={i}/a.parquet", {"x": [i]})
    table = lake.index(MinMax("x"))
    lake.file("0.parquet", {"x": [7], "y": [8]})
    table.refresh()
    assert sorted(row.x for row in same(lake, "x < 9").collect()) == [0, 1]


def test_a_file_that_is_named_like_a_summary_tells_columns(lake: Lake) -> None:
    lake.file("a.parquet", {"x": [1]})
    lake.file("_metadata_of_old.parquet", {"x": [2], "y": [3]})
    lake.index(MinMax("x"))
    assert [row.x for row in same(lake, "x < 9").collect()] == [1]


def test_a_summary_in_whatever_folder_is_refused(lake: Lake) -> None:
    lake.file("p=1/a.parquet", {"x": [1]})
    pq.write_metadata(pa.schema([("x", pa.int64()), ("y", pa.int64())]), lake.folder / "p=1/_common_metadata")
    lake.index(MinMax("x"))
    with pytest.raises(DataSkipError, match="summary"):
        same(lake)
    same(lake, "x = 1", schema="x LONG, y LONG")


def test_the_file_that_tells_columns_is_gone(lake: Lake) -> None:
    path = lake.file("a.parquet", {"x": [1]})
    lake.file("b.parquet", {"x": [2]})
    table = lake.index(MinMax("x"))
    path.unlink()
    with pytest.raises(DataSkipError, match=r"refresh\(\)"):
        table.read("snapshot")
    table.refresh()
    assert table.read("snapshot").count() == 1


def test_times_of_folders_by_the_zone_in_which_they_were_listed(lake: Lake) -> None:
    """By a contract that a setting asks for they were read again, in the zone of the query."""
    for day in (1, 2):
        lake.file(f"t=2024-01-0{day} 00%3A00%3A00/a.parquet", {"x": [day]})
    lake.index(MinMax("x"))
    reader = lake.spark.read.option("timeZone", "UTC")
    frames = [lake.spark.read.parquet(str(lake.folder)), reader.parquet(str(lake.folder))]
    with settings_of(lake.spark, SNAPSHOT | {"spark.sql.session.timeZone": "Asia/Tokyo"}):
        for frame, is_followed in zip(frames, (False, True), strict=True):
            assert xs(frame.where("t = timestamp'2024-01-02 00:00:00Z' AND x > 0").select("x")) == [2]
            assert ("option timeZone says it" in str(lake.skipping.report())) != is_followed


def test_folders_whose_values_are_of_another_type_since(lake: Lake) -> None:
    """Spark's own error about a cast said nothing of what to do."""
    lake.file("p=1/0.parquet", {"x": [1]})
    table = lake.index(MinMax("x"))
    held = table.read("snapshot")
    lake.file("p=z/1.parquet", {"x": [2]})
    table.refresh()
    with pytest.raises(Py4JJavaError, match=r"have the partition columns others .*; read it anew"):
        held.where("x > 0").collect()
    assert values(table.read("snapshot").where("x > 0")) == [1, 2]
