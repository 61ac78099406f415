"""Files as the index lists them, read a fourteenth time: each test is a recipe that gave other rows, columns or errors than Spark's."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from data_skip import DataSkipError, MinMax
from data_skip import table as table_module
from data_skip.planning import callback
from data_skip.store import FileKey
from data_skip.table import Table
from tests.support import Lake, rows_of


def lines(lake: Lake, name: str, *text: str) -> Path:
    (lake.folder / name).parent.mkdir(parents=True, exist_ok=True)
    return lake.lines(name, *text)


def same(lake: Lake, where: str = "true", format: str = "parquet", schema: str | None = None, **options: str) -> DataFrame:
    """Columns and rows by the index's files are those that Spark's own reader gives."""
    frame = lake.table(format=format, schema=schema, options=options).read("snapshot")
    reader = lake.spark.read.format(format).options(**options)
    plain = (reader.schema(schema) if schema else reader).load(str(lake.folder))
    assert frame.schema == plain.schema
    assert rows_of(frame.where(where)) == rows_of(plain.where(where))
    return frame


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


def test_of_csv_too_a_file_that_is_skipped_may_be_gone(lake: Lake) -> None:
    """Of all files the sizes are asked, to tell whether files would be cut otherwise."""
    gone = lake.lines("a.csv", "1")
    lake.lines("b.csv", "9")
    frame = lake.index(MinMax("x"), format="csv", schema="x INT").read("snapshot").where("x = 9")
    gone.unlink()
    assert frame.count() == 1


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


def test_a_predicate_on_the_names_of_files_reads_no_others(lake: Lake) -> None:
    for i in range(4):
        lake.file(f"p=1/{i} ü.parquet", {"x": [i]})
    lake.index(MinMax("x"))
    wheres = {"_metadata.file_name = '2%20ü.parquet'": 1, "_metadata.file_path LIKE '%/2%' AND x = 2": 1, "_metadata.file_size > 0": 4}
    for where, read in wheres.items():
        frame = same(lake, where).where(where)
        frame.collect()
        scan = frame._jdf.queryExecution().executedPlan().collectLeaves().head()
        assert scan.metrics().apply("numFiles").value() == read
    plain = lake.spark.read.parquet(str(lake.folder))
    assert sorted(frame.inputFiles()) == sorted(plain.inputFiles())
    told = "_metadata.*", "input_file_name()"
    assert rows_of(lake.table().read("snapshot").selectExpr(*told)) == rows_of(plain.selectExpr(*told))


def refreshed_after_the_first_scan(lake: Lake, table: Table, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """From now on the first scan that asks for the last version is told one, and another file is added right after; who asked first."""
    last = callback._last_snapshot
    asked: list[str] = []

    def refreshed(root: str, java: Any, catalog: Any) -> str:
        told = last(root, java, catalog)
        if not asked:
            asked.append(root)
            lake.file("b.parquet", {"x": [2]})
            beside = threading.Thread(target=table.refresh)
            beside.start()
            beside.join()
        return told

    monkeypatch.setattr(callback, "_last_snapshot", refreshed)
    return asked


def test_all_scans_of_a_query_read_one_version(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    lake.file("a.parquet", {"x": [1]})
    table = lake.index(MinMax("x"))
    one, other = table.read("snapshot"), table.read("snapshot")
    pairs = one.selectExpr("x AS a").crossJoin(other.selectExpr("x + 0 AS b"))
    asked = refreshed_after_the_first_scan(lake, table, monkeypatch)
    assert len(pairs.collect()) == 1 and asked
    assert pairs.count() == 4


def test_what_fails_is_told(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    lake.file("a.parquet", {"x": [1]})
    table = lake.index(MinMax("x"))
    frame = table.read("snapshot")

    def full(*_: Any) -> str:
        raise OSError("no space left")

    monkeypatch.setattr(callback, "_last_snapshot", full)
    with pytest.raises((PySparkException, Py4JJavaError), match="no space left"):
        frame.collect()
    with pytest.raises(DataSkipError, match="no space left"):
        table.read("snapshot")


def test_two_versions_of_a_file_are_read_once(lake: Lake) -> None:
    """As refreshes at one time may leave it, of which one listed the file before it was written again, the other after."""
    lake.file("a.parquet", {"x": [1]})
    table = lake.index(MinMax("x"))
    _add(table, -5000, 0)
    assert table.read("snapshot").count() == 1 and table.read("snapshot").where("x = 1").count() == 1


def _add(table: Table, later: int, generation: int) -> None:
    """A row that says only of which generation a version of the table's file is."""
    snapshot = table._snapshot()
    assert snapshot is not None
    file = snapshot.files[0]
    key = FileKey(file.path, file.size, file.modification_time + later)
    nothing = {field: pa.nulls(1, field.type) for field in snapshot.fields.values()}
    table._store._found()[0].append([key], [None], nothing, False, [generation], [False])


def earlier(table: Table) -> None:
    """As a data-skip wrote it that did not say which files are gone."""
    location = table.describe().location
    store = deltalake.DeltaTable(location)
    kept = [field for field in pa.schema(store.schema().to_arrow()) if field.name not in ("generation", "collected")]
    rows = store.to_pyarrow_table()
    columns = pa.Table.from_arrays([rows[field.name] for field in kept], schema=pa.schema(kept))
    deltalake.write_deltalake(location, columns, mode="overwrite", schema_mode="overwrite")


def test_an_index_of_an_earlier_data_skip_is_a_listing_once_it_was_refreshed(lake: Lake) -> None:
    lake.file("a.parquet", {"x": [1], "y": [1]})
    table = lake.index(MinMax("x"), MinMax("y"))
    lake.file("b.parquet", {"x": [2], "y": [1]})
    earlier(table)
    table.drop_index(MinMax("y"))  # which rewrites all rows, and knows no more of files than they did
    with pytest.raises(DataSkipError, match="refresh"):
        table.read("snapshot")
    table.refresh()
    assert table.read("snapshot").count() == 2
    earlier(table)
    table.refresh()  # which has nothing else to say
    assert table.read("snapshot").count() == 2


@pytest.mark.parametrize("new", [True, False])
def test_a_file_that_is_back_while_another_refresh_says_that_it_is_gone(lake: Lake, monkeypatch: pytest.MonkeyPatch, new: bool) -> None:
    path = lake.file("a.parquet", {"x": [1]})
    lake.file("b.parquet", {"x": [2]})
    table, other = lake.index(MinMax("x")), lake.table()
    if new:
        lake.file("c.parquet", {"x": [3]})
    index_files = table_module.index_files

    def meanwhile(*args: Any) -> Any:
        monkeypatch.undo()
        away = path.rename(lake.folder.parent / "away")
        other.refresh()
        away.rename(path)
        return index_files(*args)

    monkeypatch.setattr(table_module, "index_files", meanwhile)
    table.refresh()
    assert table.read("snapshot").count() == 2 + new


def test_a_file_that_is_back_when_rows_of_files_that_are_gone_are_dropped(lake: Lake) -> None:
    lake.file("a.parquet", {"x": [1]})
    table = lake.index(MinMax("x"))
    _add(table, 0, 2)
    table.compact()
    assert table.read("snapshot").count() == 1
    _add(table, 0, 3)
    table.compact()
    with pytest.raises(DataSkipError, match="no files"):
        table.read("snapshot")
