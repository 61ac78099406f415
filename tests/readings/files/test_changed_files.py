"""Files as the index lists them, read again: each test is a recipe by which they gave other rows, columns or errors than a listing."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from data_skip import DataSkipError, MinMax, ValueList
from data_skip.building.generations import Generations
from data_skip.building.index_report import IndexReport
from data_skip.planning import bounded
from data_skip.spark.janino import load
from data_skip.spark.jvm import SOURCES
from data_skip.store import FileKey, delta
from data_skip.store.layout import keys_of
from tests.readings.files.test_columns_of_snapshots import lines, refreshed_after_the_first_scan, same
from tests.support import Lake, settings_of


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


@pytest.mark.parametrize("back", [True, False])
def test_a_refresh_with_nothing_to_write_is_not_undone(lake: Lake, monkeypatch: pytest.MonkeyPatch, back: bool) -> None:
    """It leaves no version of the index by which another refresh, which listed the table before, would know of it."""
    path, away = lake.file("a.parquet", {"x": [1]}), lake.folder.parent / "away"
    lake.file("b.parquet", {"x": [2]})
    table, other = lake.index(MinMax("x")), lake.table()
    path.rename(away)
    if not back:
        table.refresh()
        away.rename(path)
    write = delta.write_deltalake

    def meanwhile(*args: Any, **options: Any) -> None:
        monkeypatch.undo()
        away.rename(path) if back else path.rename(away)
        other.refresh()
        write(*args, **options)

    monkeypatch.setattr(delta, "write_deltalake", meanwhile)
    table.refresh()
    assert table.read("snapshot").count() == 1 + back


def test_what_is_read_of_a_bounded_age_is_brought_up_to_date_first(lake: Lake) -> None:
    """The file that told the columns, which may be gone, was of an index of any age."""
    first = lake.file("b.parquet", {"x": [1]})
    table = lake.index(MinMax("x"))
    first.unlink()
    lake.file("a.parquet", {"x": [2], "y": [3]})
    frame = table.read("bounded(60)")
    assert frame.schema == lake.view().schema
    assert [row.x for row in frame.collect()] == [2]
    with pytest.raises(DataSkipError, match="chooses files"):
        lake.table(format="parquet", options={"pathGlobFilter": "b*"}).read("bounded(61)")
    assert not any(contract == "bounded(61)" for _, contract, _ in lake.skipping.catalog.bounded)


def test_a_query_that_waits_for_a_refresh_that_began_too_long_ago(monkeypatch: pytest.MonkeyPatch) -> None:
    now, started, go = 0.0, threading.Event(), threading.Event()
    refreshes: list[float] = []

    def refresh() -> IndexReport:
        refreshes.append(now)
        if len(refreshes) == 1:
            started.set()
            go.wait(20)
        return IndexReport("t", ["MinMax(x)"])

    index = bounded.Bounded(10)
    index.refreshed_by("t", refresh)
    monkeypatch.setattr(bounded, "now", lambda: now)
    first = threading.Thread(target=index.bring_up_to_date)
    first.start()
    started.wait(20)
    now = 100.0
    second = threading.Thread(target=index.bring_up_to_date)
    second.start()
    second.join(0.1)
    go.set()
    for thread in (first, second):
        thread.join(20)
    assert refreshes == [0, 100]


def test_a_folder_in_place_of_a_file_is_no_file(lake: Lake) -> None:
    path = lake.file("b.parquet", {"x": [1]})
    lake.file("a.parquet", {"x": [2]})
    table = lake.index(MinMax("x"))
    frame = table.read("snapshot")
    replace_by_folder(path)
    with pytest.raises((PySparkException, Py4JJavaError), match=r"b\.parquet is gone, .* Table\.refresh\(\)"):
        frame.collect()


def replace_by_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def test_the_file_that_tells_columns_is_gone(lake: Lake) -> None:
    path = lake.file("a.parquet", {"x": [1]})
    lake.file("b.parquet", {"x": [2]})
    table = lake.index(MinMax("x"))
    path.unlink()
    with pytest.raises(DataSkipError, match=r"refresh\(\)"):
        table.read("snapshot")
    table.refresh()
    assert table.read("snapshot").count() == 1


def test_tables_of_one_query_have_a_version_each(lake: Lake) -> None:
    for name, x in (("a", 1), ("b", 2)):
        lake.file(f"{name}/1.parquet", {"x": [x]})
        lake.skipping.table(str(lake.folder / name)).create_index(MinMax("x"))
    one, other = (lake.skipping.read(lake.folder / name) for name in "ab")
    assert [row.x for row in one.union(other).orderBy("x").collect()] == [1, 2]


def test_what_is_asked_of_a_changed_file_is_as_it_is_now(lake: Lake) -> None:
    path = lake.file("a.parquet", {"x": [1]})
    lake.file("b.parquet", {"x": [2]})
    frame = lake.index(MinMax("x")).read("snapshot")
    lake.file("a.parquet", {"x": [1, 5, 6]})
    state = path.stat()
    for where in (
        f"_metadata.file_size = {state.st_size}",
        f"_metadata.file_modification_time = TIMESTAMP_MILLIS({state.st_mtime_ns // 1_000_000})",
        f"_metadata.file_name = 'a.parquet' AND _metadata.file_size = {state.st_size}",
    ):
        assert frame.where(where).count() == 3, where


def test_a_missing_file_is_ignored_by_an_option(lake: Lake) -> None:
    path = lake.file("b.parquet", {"x": [1]})
    lake.file("a.parquet", {"x": [2]})
    lake.index(MinMax("x"))
    frame = lake.table(format="parquet", options={"IGNOREmissingFiles": "TRUE"}).read("snapshot")
    path.unlink()
    assert [row.x for row in frame.collect()] == [2]


def test_a_changed_file_may_be_cut_otherwise(lake: Lake) -> None:
    """Of the version in the index it is known that it gives the same rows, however it is cut."""
    lake.text("a.csv", "x,1\n" * 1_250)
    lake.text("b.csv", "y,2\n" * 3_750)
    schema = "a string, s string"
    frame = lake.index(ValueList("a"), format="csv", schema=schema).read("snapshot").where("a = 'x'")
    with settings_of(lake.spark, {"spark.sql.files.minPartitionNum": "2", "spark.sql.files.openCostInBytes": str(1 << 10)}):
        assert frame.where("true").count() == 1_250
        assert [scan.files_read for scan in lake.skipping.report().scans] == [1]
        marked = "\ufeffx,1\n" * 1_250  # in the first line of a part the mark is none
        lake.text("a.csv", marked)
        plain = lake.spark.read.csv(str(lake.folder), schema).where("a = 'x'")
        with lake.skipping.disabled():
            expected = plain.count()
        assert frame.where("true").count() == expected
        assert [scan.files_read for scan in lake.skipping.report().scans] == [2]


def test_files_that_are_asked_for_at_once(lake: Lake) -> None:
    """As those of an object store are; a path without a scheme is of whatever file system is the default."""
    paths = [lake.file(f"{i}.parquet", {"x": list(range(10**i))}) for i in range(4)]
    gateway: Any = lake.spark.sparkContext._gateway
    java = gateway.jvm
    files_now = load(gateway, "data_skip", SOURCES).getClassLoader().loadClass("data_skip.FilesNow")
    (of,) = (method for method in files_now.getMethods() if method.getName() == "of")
    asked = java.java.util.ArrayList()
    for path in (*paths, lake.folder / "gone", lake.folder):
        asked.add(java.org.apache.hadoop.fs.Path(str(path)))
    values = gateway.new_array(java.Object, 2)
    values[0], values[1] = asked, java.org.apache.hadoop.conf.Configuration()
    found = of.invoke(None, values)
    assert [None if file is None else file.getLen() for file in found] == [*(path.stat().st_size for path in paths), None, None]


def test_a_file_that_is_back_again_and_again() -> None:
    file = FileKey("a", 1, 1)
    known = Generations.of(None)
    for generation in range(6):
        listed = keys_of([file] if generation % 2 == 0 else [])
        changes = known.changes(listed, lambda gone: np.zeros(len(gone), dtype=bool))
        assert (changes.keys.to_pylist(), changes.numbers.tolist()) == ([file._asdict()], [generation])
        known = known.changed_by(changes)
        assert len(known.changes(listed, lambda gone: np.zeros(len(gone), dtype=bool))) == 0


@pytest.mark.parametrize("run", [lambda frame: frame.rdd.count(), lambda frame: len(frame.collect())])
def test_all_scans_of_a_query_that_is_no_execution_read_one_version(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, run: Callable[[DataFrame], int]
) -> None:
    """As of `rdd`, `foreach` and `foreachPartition`, which Spark runs without a number of their own."""
    lake.file("a.parquet", {"x": [1]})
    table = lake.index(MinMax("x"))
    one, other = table.read("snapshot"), table.read("snapshot")
    pairs = one.selectExpr("x AS a").crossJoin(other.where("x > (SELECT -1)").selectExpr("x + 0 AS b"))
    asked = refreshed_after_the_first_scan(lake, table, monkeypatch)
    assert run(pairs) == 1 and asked
    assert run(pairs.where("true")) == 4
    with lake.skipping.disabled():
        assert run(pairs.where("a > 0")) == 4


def test_what_a_query_was_given_is_forgotten_when_it_ends(lake: Lake) -> None:
    """Each version that is kept is one of all files of a table."""
    lake.file("a.parquet", {"x": [1]})
    frame = lake.index(MinMax("x")).read("snapshot")
    gateway: Any = lake.spark.sparkContext._gateway
    known = load(gateway, "data_skip", SOURCES).getClassLoader().loadClass("data_skip.KnownFiles")
    queries = known.getMethod("queries", gateway.new_array(gateway.jvm.Class, 0))
    for _ in range(3):
        assert frame.where("x = 1").count() == 1
    lake.spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    assert queries.invoke(None, gateway.new_array(gateway.jvm.Object, 0)) == 0
