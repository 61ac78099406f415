"""Deciding ends after `spark.data_skip.decideSeconds`: what is known by then decides, and what is not known keeps its files."""

from __future__ import annotations

import time

import pytest

from data_skip import MinMax
from data_skip.planning import deadline
from tests.support import Lake, settings_of


@pytest.fixture
def four_files(lake: Lake) -> Lake:
    for i in range(4):
        lake.file(f"{i}.parquet", {"x": [i], "y": [i % 2]})
    lake.index(MinMax("x"), MinMax("y"))
    lake.view()
    return lake


class Clock:
    """A look at it takes a second. It begins with the true one: the store waits by that."""

    def __init__(self) -> None:
        self.begun, self.seconds = time.perf_counter(), 0

    def __call__(self) -> float:
        self.seconds += 1
        return self.begun + self.seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(deadline, "perf_counter", found)
    return found


def test_without_time_all_files_are_read(four_files: Lake) -> None:
    with settings_of(four_files.spark, {"spark.data_skip.decideSeconds": "0"}):
        report = four_files.check("x = 1 AND y = 1", read={f"{i}.parquet" for i in range(4)})
    assert [note for note in report.notes if "after 0 s, half of spark.data_skip.decideSeconds" in note]
    assert {line.why_not for line in report.predicates} == {"no time was left"}
    assert four_files.check("x = 1 AND y = 1", read={"1.parquet"}).notes == []


def test_what_is_known_by_then_decides(four_files: Lake, clock: Clock) -> None:
    """However early the time is up no row is lost; with some time, one of two predicates is known."""
    where = "y = 1 AND (x = 1 OR x + 1 = 7)"
    before = clock.seconds
    with settings_of(four_files.spark, {"spark.data_skip.decideSeconds": "1d"}):
        assert four_files.check(where, read={"1.parquet"}).notes == []
    most = clock.seconds - before
    read = []
    for seconds in range(1, 2 * most, max(1, most // 30)):
        with settings_of(four_files.spark, {"spark.data_skip.decideSeconds": f"{seconds}s"}):
            read.append(four_files.read_by(f"SELECT * FROM t WHERE {where}"))
    assert all("1.parquet" in files for files in read)
    assert {len(files) for files in read} == {4, 2, 1}
