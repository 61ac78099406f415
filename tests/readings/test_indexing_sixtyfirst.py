"""The sixty-first reading, of indexing by one listing: what a commit says of files that changed since."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from data_skip import MinMax, Table, ValueList
from data_skip.building import indexing
from tests.support import Lake


def once_collected(monkeypatch: pytest.MonkeyPatch, run: Callable[[], object]) -> None:
    """Runs something once files have been collected for the first time."""
    real = indexing.collect_files

    def collect_files(*arguments: Any) -> Any:
        found = real(*arguments)
        monkeypatch.setattr(indexing, "collect_files", real)
        run()
        return found

    monkeypatch.setattr(indexing, "collect_files", collect_files)


def rows(table: Table) -> list[Any]:
    return sorted(row[0] for row in table.read("snapshot").select("x").collect())


def test_what_was_seen_to_be_gone_is_not_said_to_be_there(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another refresh, which found nothing to say, was undone until this one had listed again, and for good where it was stopped before."""
    lake.file("a.parquet", {"x": [1]})
    table = lake.index(MinMax("x"))
    gone = lake.file("b.parquet", {"x": [2]})
    lake.file("c.parquet", {"x": [3]})
    once_collected(monkeypatch, gone.unlink)
    monkeypatch.setattr(indexing, "_agree", lambda *_, **__: None)
    assert table.refresh().files_collected == 1
    assert rows(lake.table()) == [1, 3]


def test_a_file_that_was_renamed_while_it_was_read(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    lake.file("a.parquet", {"x": [1]})
    table = lake.index(MinMax("x"))
    path = lake.file("b.parquet", {"x": [2]})
    lake.file("c.parquet", {"x": [3]})
    once_collected(monkeypatch, lambda: path.rename(path.with_name("d.parquet")))
    monkeypatch.setattr(indexing, "_agree", lambda *_, **__: None)
    table.refresh()
    assert rows(lake.table()) == [1, 2, 3]


def test_what_stands_until_all_are_collected_is_of_a_young_listing(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """A query by the files of the index failed after a refresh that had found all well, until another session's long run had ended."""
    for i in range(5):  # of which one is collected first: Spark lists them as they come
        lake.file(f"{i}.parquet", {"x": [i]})
    one, two = lake.index(MinMax("x")), lake.table()
    gone = lake.file("b.parquet", {"x": [5]})

    def meanwhile() -> None:
        gone.unlink()
        assert two.refresh().files_collected == 0
        assert rows(two) == [*range(5)]
        once_collected(monkeypatch, lambda: seen.append(rows(two)))  # the next ones

    seen: list[Any] = []
    once_collected(monkeypatch, meanwhile)
    one.create_index(ValueList("x"), files_per_commit=1)
    assert [*seen, rows(two)] == [[*range(5)]] * 2
