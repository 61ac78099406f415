"""Refreshes beside those who write to the table all the time, beside other refreshes, and beside a compaction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from data_skip import DataSkipError, MinMax
from data_skip import table as table_module
from data_skip.building import indexing
from data_skip.building.source import TableState
from data_skip.store import DeltaStore, delta
from tests.readings.files.support import add_generation
from tests.readings.support import before, rows
from tests.support import Lake


def each_time_it_is_listed_again(monkeypatch: pytest.MonkeyPatch, then: Callable[[int], object]) -> list[int]:
    list_again, times = TableState.list_again, list[int]()

    def first(state: TableState) -> Any:
        times.append(len(times))
        then(times[-1])
        return list_again(state)

    monkeypatch.setattr(TableState, "list_again", first)
    return times


def snapshot(lake: Lake) -> list[int]:
    return sorted(row.x for row in lake.table().read("snapshot").select("x").collect())


def test_files_that_come_all_the_time_are_the_next_ones(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each was told of by a commit, and the table listed again after that, twenty times."""
    lake.file("a.parquet", {"x": [1]})
    table = lake.index(MinMax("x"))
    lake.file("b.parquet", {"x": [2]})
    before = len(table.history())
    times = each_time_it_is_listed_again(monkeypatch, lambda time: lake.file(f"c{time}.parquet", {"x": [10 + time]}))
    assert table.refresh().files_collected == 1
    assert len(times) == 1 and len(table.history()) == before + 1
    assert snapshot(lake) == [1, 2]
    monkeypatch.undo()
    assert table.refresh().files_collected == 1
    assert snapshot(lake) == [1, 2, 10]


def test_files_that_are_written_together_all_the_time(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is gone is not said to be so without the one that has its rows now."""
    last = lake.file("a.parquet", {"x": [1]})
    table = lake.index(MinMax("x"))
    lake.file("b.parquet", {"x": [2]})

    def renamed(time: int) -> None:
        nonlocal last
        if time != 1:  # the files that this said are there still
            last = last.rename(last.with_name(f"a{time}.parquet"))
        lake.file(f"c{time}.parquet", {"x": [10 + time]})

    times = each_time_it_is_listed_again(monkeypatch, renamed)
    table.refresh()
    assert len(times) == 2
    assert snapshot(lake) == [1, 2, 10]


def test_what_was_said_last_is_looked_at_again(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another refresh that found it gone had nothing to say."""
    last = lake.file("a.parquet", {"x": [1]})
    table = lake.index(MinMax("x"))
    lake.file("b.parquet", {"x": [2]})

    def renamed(time: int) -> None:
        nonlocal last
        if time < 3:
            last = last.rename(last.with_name(f"a{time}.parquet"))

    times = each_time_it_is_listed_again(monkeypatch, renamed)
    table.refresh()
    assert len(times) == 4
    assert snapshot(lake) == [1, 2]


def test_a_slow_compaction_leaves_a_file_that_is_back(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once another compaction has dropped its row, its generation begins anew."""
    path = lake.file("a.parquet", {"x": [1]})
    lake.file("b.parquet", {"x": [2]})
    one, two = lake.index(MinMax("x")), lake.table()
    away = path.rename(lake.folder.parent / "away")
    one.refresh()

    def meanwhile() -> None:
        two.compact()
        away.rename(path)
        two.refresh()

    before(monkeypatch, DeltaStore, "compact", meanwhile)
    one.compact()
    assert rows(two) == [1, 2]


def test_what_a_refresh_says_is_younger_than_what_it_is_written_on(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another one, which listed the table later, was undone until this one looked again, and for good where it was stopped before."""
    path = lake.file("a.parquet", {"x": [1]})
    lake.file("b.parquet", {"x": [2]})
    one, two = lake.index(MinMax("x")), lake.table()
    away = path.rename(lake.folder.parent / "away")

    def meanwhile() -> None:
        away.rename(path)
        lake.file("c.parquet", {"x": [3]})
        two.refresh()

    before(monkeypatch, delta, "write_deltalake", meanwhile)
    monkeypatch.setattr(indexing, "_agree", lambda *_, **__: None)
    one.refresh()
    assert rows(two) == [1, 2, 3]


def test_what_was_committed_before_it_was_stopped_is_looked_at_again(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another refresh, which listed the table later, found nothing to write: the index said already that the file is there."""
    path = lake.file("a.parquet", {"x": [1]})
    lake.file("b.parquet", {"x": [2]})
    table, other = lake.index(MinMax("x")), lake.table()
    away = path.rename(lake.folder.parent / "away")

    def meanwhile() -> None:
        away.rename(path)
        other.refresh()

    real = indexing._index_some

    def stopped(*args: Any, **options: Any) -> None:
        monkeypatch.setattr(indexing, "_index_some", real)
        real(*args, **options)
        raise KeyboardInterrupt

    before(monkeypatch, delta, "write_deltalake", meanwhile)
    monkeypatch.setattr(indexing, "_index_some", stopped)
    with pytest.raises(KeyboardInterrupt):
        table.refresh()
    assert rows(table) == [1, 2]


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
    add_generation(table, 0, 2)
    table.compact()
    assert table.read("snapshot").count() == 1
    add_generation(table, 0, 3)
    table.compact()
    with pytest.raises(DataSkipError, match="no files"):
        table.read("snapshot")
