"""Indexing a few files at a time: every commit is of use, and what ends too soon goes on."""

from __future__ import annotations

from typing import Any

import pytest

from data_skip import DataSkipError, MinMax, ValueList
from data_skip.building import indexing
from data_skip.files.listing import Listing
from tests.support import Lake


@pytest.fixture
def five(lake: Lake) -> Lake:
    for i in range(5):
        lake.file(f"{i}.parquet", {"x": [i, i + 10], "s": [f"s{i}", None]})
    return lake


def ends_after(monkeypatch: pytest.MonkeyPatch, passes: int, error: BaseException) -> None:
    """So many passes run, the next one fails."""
    run, begun = indexing.collect_files, []

    def collect_files(*arguments: Any) -> Any:
        begun.append(1)
        if len(begun) > passes:
            raise error
        return run(*arguments)

    monkeypatch.setattr(indexing, "collect_files", collect_files)


def test_as_many_commits_as_needed(five: Lake) -> None:
    report = five.table().create_index(MinMax("x"), ValueList("upper(s)"), files_per_commit=2)
    assert (report.files_collected, report.rows, report.files_direct) == (5, 10, 5)
    assert five.table().describe().version == 3
    five.check("x = 14", read=["4.parquet"])
    five.check("upper(s) = 'S4'", read=["4.parquet"])


def test_refresh_goes_on_where_an_end_came_too_soon(five: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    table = five.table()
    with monkeypatch.context() as patched:
        ends_after(patched, 1, KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt):
            table.create_index(MinMax("x"), files_per_commit=2)
    five.check("x = 0")
    assert len(table.files("x = 100")) == 3
    assert sorted(row.x for row in table.read("snapshot").collect()) == [0, 1, 2, 3, 4, 10, 11, 12, 13, 14]
    report = table.refresh(files_per_commit=2)
    assert (report.files_collected, report.files_current) == (3, 2)
    five.check("x = 0", read=["0.parquet"])
    assert (table.refresh().files_collected, table.describe().version) == (0, 3)


def test_files_that_come_and_go_meanwhile(five: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """The index's files are those of the listing after the last pass."""
    run = indexing.collect_files

    def collect_files(*arguments: Any) -> Any:
        found = run(*arguments)
        (five.folder / "4.parquet").unlink(missing_ok=True)
        five.file("5.parquet", {"x": [5, 15], "s": ["s5", None]})
        return found

    table = five.table()
    monkeypatch.setattr(indexing, "collect_files", collect_files)
    report = table.create_index(MinMax("x"), files_per_commit=3)
    assert (report.files_collected, report.files_too_recent) == (4, 1)
    assert sorted(row.x for row in table.read("snapshot").where("x > 9").collect()) == [10, 11, 12, 13, 15]
    five.check("x = 15", read=["5.parquet"])


def test_what_cannot_be_read_is_told_of_all_commits(five: Lake) -> None:
    five.bytes("00.parquet", b"PAR1 no more PAR1")
    report = five.table().create_index(MinMax("x + 1"), files_per_commit=1)
    assert (report.files_collected, report.files_unreadable) == (5, 1)
    assert "00.parquet" in report.unreadable


def test_what_is_committed_is_said_where_a_later_pass_fails(five: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    run, asked = indexing.collect_files, []

    def deleted_the_second_time(*arguments: Any) -> Any:
        found = run(*arguments)
        asked.append(found)
        if len(asked) == 2:
            for file in five.folder.glob("*.parquet"):
                file.unlink()
        return found

    monkeypatch.setattr(indexing, "collect_files", deleted_the_second_time)
    with pytest.raises(DataSkipError, match="were deleted meanwhile; 2 files are indexed"):
        five.table().create_index(MinMax("x"), files_per_commit=2)


@pytest.mark.parametrize("number", [0, -1, True, 2.5, "9"])
def test_what_is_no_number_of_files(five: Lake, number: Any) -> None:
    with pytest.raises(DataSkipError, match="files_per_commit"):
        five.table().create_index(MinMax("x"), files_per_commit=number)
    assert five.table().describe().version is None


def test_where_all_is_listed_again(five: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where the files of a commit lie in so many folders of an object store that Spark's tasks list them faster."""
    monkeypatch.setattr(Listing, "unchanged", lambda *_: None)
    report = five.table().create_index(MinMax("x"), files_per_commit=2)
    assert (report.files_collected, report.files_too_recent) == (5, 0)
    five.check("x = 14", read=["4.parquet"])
