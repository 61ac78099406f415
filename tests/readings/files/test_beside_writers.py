"""A refresh beside those who write to the table all the time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from data_skip import MinMax
from data_skip.building.source import TableState
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
