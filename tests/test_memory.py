"""Records in memory: those asked for last are kept up to a budget, and of an index only those of listed files are looked at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from data_skip import MinMax, ValueList
from data_skip.clause import Records
from data_skip.planning import decide
from data_skip.store.memory import Memory
from data_skip.store.row_groups import RowGroups
from data_skip.store.snapshot import Snapshot
from tests.support import Lake, settings_of

BUDGET = "spark.data_skip.records.maxBytes"


class Holder:
    def __init__(self, name: str) -> None:
        self.id, self.gone = name, [""][:0]

    def let_go(self, column: str) -> None:
        self.gone.append(column)


def test_what_was_asked_for_last_is_kept() -> None:
    memory, one, other = Memory(), Holder("one"), Holder("other")
    memory.used(one, [("a", 40), ("b", 40)], 100)
    memory.used(one, [("a", 40)], 100)
    memory.used(other, [("a", 20)], 100)
    assert one.gone == []
    memory.used(other, [("c", 1)], 100)
    assert (one.gone, other.gone) == (["b"], [])
    memory.used(other, [("d", 200)], 100)  # more than there is room for
    assert (one.gone, other.gone) == (["b", "a"], ["a", "c", "d"])


def test_who_is_gone_holds_nothing() -> None:
    memory, one, other = Memory(), Holder("one"), Holder("other")
    memory.used(other, [("a", 60)], 100)
    memory.used(one, [("a", 60)], 200)
    del one
    memory.used(other, [("b", 30)], 100)
    assert other.gone == []


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[list[str]]]:
    """Which columns of an index were read."""
    found: list[list[str]] = []
    read, read_groups = Snapshot._read_records, RowGroups.read

    def noted(self: Snapshot, columns: list[str]) -> Any:
        found.append(columns)
        return read(self, columns)

    def noted_in_groups(self: RowGroups, groups: Sequence[int], column: str, fields: Sequence[str]) -> Any:
        found.append([column])
        return read_groups(self, groups, column, fields)

    monkeypatch.setattr(Snapshot, "_read_records", noted)
    monkeypatch.setattr(RowGroups, "read", noted_in_groups)
    yield found


def test_records_are_read_again_where_there_is_no_room(lake: Lake, reads: list[list[str]]) -> None:
    for i in range(4):
        lake.file(f"{i}.parquet", {"x": [i], "s": [f"s{i}"]})
    lake.index(MinMax("x"), ValueList("s"))
    for budget in ("1g", "0", "1"):
        reads.clear()
        lake.skipping.table(str(lake.folder)).drop_index(ValueList("s"))
        lake.index(ValueList("s"))  # a new version, of which nothing is read yet
        reads.clear()
        lake.view()
        with settings_of(lake.spark, {BUDGET: budget}):
            for _ in range(2):
                lake.query("SELECT * FROM t WHERE s = 's1'", ["1.parquet"])
                told = str(lake.skipping.report())
                assert ("skips 3 alone" in told) == (budget == "1g")
                assert (BUDGET in told) == (budget != "1g")
        assert {*map(tuple, reads)} == {(ValueList("s").column,)}
        assert len(reads) == 1 if budget == "1g" else len(reads) >= 2


def test_records_that_are_kept_stay_those_of_their_index(lake: Lake) -> None:
    """Where an index is rewritten, some of its records are at hand, others are read: as of one type, so that none would be missed."""
    for i in range(4):
        lake.file(f"{i}.parquet", {"x": [i], "y": [100 + i], "z": [i]})
    table = lake.index(MinMax("x"), MinMax("y"), MinMax("z"))
    lake.check("y = 102", read=["2.parquet"])
    before = [row.asDict(recursive=True) for row in table.metadata().drop(MinMax("z").column).sort("path").collect()]
    lake.check("y = 103", read=["3.parquet"])
    table.drop_index(MinMax("z"))
    assert [row.asDict(recursive=True) for row in table.metadata().sort("path").collect()] == before
    lake.check("x = 1", read=["1.parquet"])
    lake.check("y = 101", read=["1.parquet"])


def test_a_budget_that_is_no_size(lake: Lake) -> None:
    lake.file("0.parquet", {"x": [1]})
    lake.index(MinMax("x"))
    with settings_of(lake.spark, {BUDGET: "much"}):
        assert f"{BUDGET}=much is no size" in str(lake.check("x = 2", read=[]))


def test_records_of_a_few_listed_files_are_evaluated_alone(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at: list[int] = []
    run = decide.survivors

    def survivors(clause: Any, records: Records, files: int) -> Any:
        looked_at.append(files)
        return run(clause, records, files)

    for p in range(10):
        for i in range(2):
            lake.file(f"p={p}/{i}.parquet", {"x": [10 * i, 10 * i + p]})
    lake.index(MinMax("x"))
    monkeypatch.setattr(decide, "survivors", survivors)
    lake.view()
    report = lake.query("SELECT * FROM t WHERE p = 3 AND x = 13", ["p=3/1.parquet"]).scans[0]
    assert set(looked_at) == {2}
    assert "skips 1 alone" in str(report)
    looked_at.clear()
    lake.query("SELECT * FROM t WHERE p >= 3 AND (p = 4 OR x = 13) AND x > 2")
    assert set(looked_at) == {20}
    looked_at.clear()
    lake.query("SELECT * FROM t WHERE p = 3 AND x = 99", [])
    assert set(looked_at) == {2}
