"""How old an index may be that is read: `snapshot` and `bounded`, and who brings it up to date for whom."""

from __future__ import annotations

import os
import shutil
import threading
import warnings
from contextlib import nullcontext
from typing import Any
from unittest.mock import Mock

import pytest
from pyspark.errors import PySparkException

import data_skip.table
from data_skip import DataSkipError, DataSkipWarning, Index, MinMax, ValueList
from data_skip.building.index_report import IndexReport
from data_skip.planning import bounded
from data_skip.planning.callback import _last_snapshot
from tests.readings.files.support import earlier, passing
from tests.readings.support import xs
from tests.support import Lake


def test_an_index_of_a_bounded_age_is_never_older(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is refreshed meanwhile, what is waited for is as young as was asked for."""
    now, refreshed = 0.0, 0.0
    monkeypatch.setattr(bounded, "now", lambda: now)

    def refresh() -> IndexReport:
        nonlocal refreshed
        refreshed = now
        return IndexReport("t", ["MinMax(x)"])

    index = bounded.Bounded(60)
    index.refreshed_by("t", refresh)
    for seconds in (0, 61, 100, 119, 59, 31, 3600):
        now += seconds
        index.bring_up_to_date()
        assert now - refreshed <= 60


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


def test_who_knows_no_index_of_a_table_cannot_say_how_old_it_is(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    lake.file("a.parquet", {"x": [1]})
    table = lake.index(ValueList("x"))
    monkeypatch.delitem(lake.skipping.catalog.knowledge.kinds, "ValueList")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataSkipWarning)
        with pytest.raises(DataSkipError, match="knows none of its indexes"):
            table.read("bounded(77)")


def test_an_index_that_was_put_back_is_of_no_known_age(lake: Lake) -> None:
    lake.file("a.parquet", {"x": [1]})
    table = lake.index(MinMax("x"))
    shutil.copytree(lake.folder / ".data_skip", lake.folder.parent / "copy")
    lake.file("b.parquet", {"x": [2]})
    frame = table.read("bounded(1000)")
    assert frame.count() == 2
    shutil.rmtree(lake.folder / ".data_skip")
    shutil.move(lake.folder.parent / "copy", lake.folder / ".data_skip")
    assert frame.count() == 2


def test_the_partitions_that_a_catalog_knows_are_of_another_age_than_their_folder(lake: Lake) -> None:
    lake.file("p=1/a.parquet", {"x": [1]})
    lake.file("p=2/b.parquet", {"x": [2]})
    lake.spark.sql(f"CREATE TABLE part_of_it (x BIGINT, p INT) USING parquet PARTITIONED BY (p) LOCATION '{lake.folder}'")
    try:
        lake.spark.sql("ALTER TABLE part_of_it ADD PARTITION (p=1)")
        table = lake.index(MinMax("x"))
        assert lake.skipping.table("part_of_it").read("bounded(1000)").count() == 1
        lake.file("p=2/c.parquet", {"x": [3]})
        assert table.read("bounded(1000)").count() == 3
    finally:
        lake.spark.sql("DROP TABLE part_of_it")


def test_who_reads_folders_that_are_no_partitions_has_an_age_of_his_own(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was refreshed by who does not read them was taken for all of it."""
    passes = passing(monkeypatch)
    lake.file("a.parquet", {"x": [1]})
    lake.file("sub/b.parquet", {"x": [2]})
    deep = lake.table(format="parquet", options={"recursiveFileLookup": "true"})
    deep.create_index(MinMax("x"))
    flat, whole = lake.table(format="parquet").read("bounded(5)"), deep.read("bounded(5)")
    assert (xs(flat), xs(whole)) == ([1], [1, 2])
    lake.file("sub/c.parquet", {"x": [3]})
    for _ in range(2):
        passes()
        assert (xs(flat.select("x")), xs(whole.select("x"))) == ([1], [1, 2, 3])


@pytest.mark.parametrize("broken", [1, 12])
def test_files_that_cannot_be_read_keep_no_refresh_from_what_else_is_new(lake: Lake, monkeypatch: pytest.MonkeyPatch, broken: int) -> None:
    """A killed writer left it, and nobody reads it: each refresh failed, and what is read by the files of the index with it."""
    passes = passing(monkeypatch)
    for i in (1, 2):
        lake.file(f"p=1/{i}.parquet", {"x": [i]})
    table = lake.index(MinMax("x"))
    snapshot, bounded = (table.read(contract).where("p = 1").select("x") for contract in ("snapshot", "bounded(5)"))
    (lake.folder / "p=9").mkdir()
    for i in range(broken):
        lake.bytes(f"p=9/half{i}.parquet", b"PAR1half")
    for report in (table.refresh(), table.refresh()):
        assert (report.files_collected, report.files_unreadable) == (0, broken)
    (lake.folder / "p=1/1.parquet").unlink()
    lake.file("p=1/3.parquet", {"x": [3]})
    table.refresh()
    assert xs(snapshot) == [2, 3]
    lake.file("p=1/4.parquet", {"x": [4]})
    passes()
    assert xs(bounded) == [2, 3, 4]
    for path in (lake.folder / "p=1").iterdir():
        path.unlink()
    lake.file("p=1/5.parquet", {"x": [5]})
    assert table.refresh().files_collected == 1
    refreshed = table.ensure_index(MinMax("x")).refreshed
    assert refreshed is not None and refreshed.files_unreadable == broken


@pytest.mark.parametrize("other", [MinMax("x"), ValueList("x")])
def test_an_index_made_anew_up_to_the_same_version_during_a_refresh(lake: Lake, monkeypatch: pytest.MonkeyPatch, other: Index) -> None:
    """A refresh that found nothing to write took it for the version that it had read, and knew of files that the new one does not."""
    lake.file("a.parquet", {"x": [1]})
    last = lake.file("b.parquet", {"x": [2]})
    table = lake.index(MinMax("x"))
    index_files, elsewhere = data_skip.table.index_files, lake.folder.parent / "b"

    def meanwhile(*given: Any, **named: Any) -> Any:
        monkeypatch.undo()
        shutil.rmtree(lake.folder / ".data_skip")
        os.rename(last, elsewhere)
        lake.skipping.table(str(lake.folder)).create_index(other)
        os.rename(elsewhere, last)
        return index_files(*given, **named)

    monkeypatch.setattr("data_skip.table.index_files", meanwhile)
    with nullcontext() if other == MinMax("x") else pytest.raises(DataSkipError, match="dropped meanwhile"):
        table.refresh()
    lake.table().refresh()
    assert xs(table.read("snapshot")) == [1, 2]


def test_an_index_of_an_earlier_data_skip_is_no_listing_for_a_query_either() -> None:
    """Which was refused when the table was read, and not when such an index had come into its place since."""
    catalog, java = Mock(bounded={}), Mock()
    catalog.store.return_value.snapshot.return_value = Mock(
        is_listing=False, definitions={"x": Mock(reader={"options": {}, "session": {}})}, id="id", version=1
    )
    said = _last_snapshot("file:/t\nsnapshot\n", java, catalog)
    assert said is not None
    assert said.startswith("\nan earlier data-skip")
    java.know.assert_not_called()


def test_who_cannot_refresh_an_index_keeps_nobody_else_from_it(lake: Lake) -> None:
    """The first who asked for a contract refreshed the index for all, also where it was read in a way in which it was not collected."""
    (lake.folder / "a.csv").write_text("1,2\n3,4\n")
    table = lake.table(format="csv", schema="x INT, y INT")
    table.create_index(MinMax("x"))
    with pytest.raises((DataSkipError, PySparkException), match="cannot be refreshed"):
        lake.table(format="csv", schema="x STRING, y INT").read("bounded(60)")
    (lake.folder / "b.csv").write_text("5,6\n")
    assert sorted(row.x for row in table.read("bounded(60)").collect()) == [1, 3, 5]


def test_a_refresh_that_takes_long_to_fail_is_not_tried_by_each_query(monkeypatch: pytest.MonkeyPatch) -> None:
    """As of one who may not write, who collects all new files first."""
    moment, tried = [1000.0], [0]
    monkeypatch.setattr(bounded, "now", lambda: moment[0])

    def refresh() -> IndexReport:
        tried[0] += 1
        moment[0] += 7
        raise DataSkipError("cannot be written")

    kept = bounded.Bounded(3600)
    kept.refreshed_by("t", refresh)
    for _ in range(3):
        with pytest.raises(DataSkipError, match=r"older than 3600 s and cannot be refreshed: cannot be written"):
            kept.bring_up_to_date()
    assert tried == [1]
    moment[0] += 61
    with pytest.raises(DataSkipError):
        kept.bring_up_to_date()
    assert tried == [2]
    kept.refreshed_by("another way", lambda: IndexReport("t", ["MinMax(x)"]))  # which is tried at once
    kept.bring_up_to_date()
    assert tried == [3]


def test_an_index_that_is_put_back_after_a_refresh_in_the_background(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the query had seen that began the refresh was there again: that counted as what the refresh left."""
    moment = [1000.0]
    monkeypatch.setattr(bounded, "now", lambda: moment[0])
    first, second = (1, "table", frozenset({"a"}), ""), (2, "table", frozenset({"a", "b"}), "")
    last = [first]
    kept = bounded.Bounded(20, lambda: last[0])
    kept.refreshed_by("t", lambda: IndexReport("t", ["MinMax(x)"]))
    kept.bring_up_to_date()
    assert not kept.was_put_back(first)
    moment[0] += 15
    last[0] = second
    kept.bring_up_to_date()
    running = kept._running
    if running is not None:
        running.join()
    assert kept.was_put_back(first), "by a copy"
    assert not kept.was_put_back(first)
