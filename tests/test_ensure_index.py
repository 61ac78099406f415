"""ensure_index: creates what is missing, refreshes the rest, and says what cannot be both; also of several at once."""

from __future__ import annotations

from threading import Barrier, Thread
from typing import Any

import pytest

import data_skip
from data_skip import DataSkipError, IndexReport, MinMax, Prefix, Suffix, ValueList
from data_skip.table import Table
from log_skip import Formatted
from tests.support import Lake


@pytest.fixture
def two(lake: Lake) -> Lake:
    for i in range(2):
        lake.file(f"{i}.parquet", {"x": [i], "s": [f"s{i}"]})
    return lake


def collected(report: IndexReport | None) -> int:
    assert report is not None
    return report.files_collected


def test_what_is_missing_and_what_is_there(two: Lake) -> None:
    table = two.table()
    first = table.ensure_index(MinMax("x"), Prefix("s"))
    assert (collected(first.created), first.refreshed) == (2, None)
    assert str(first).startswith(f"created {table.name}: MinMax(x), Prefix(s, length=")
    two.file("2.parquet", {"x": [2], "s": ["s2"]})
    second = table.ensure_index(Prefix("s"), MinMax("x"))
    assert second.created is None and collected(second.refreshed) == 1
    two.file("3.parquet", {"x": [3], "s": ["s3"]})
    third = table.ensure_index(ValueList("x"))
    assert (collected(third.created), collected(third.refreshed)) == (4, 1)
    assert third.created is not None and third.created.indexes == ["ValueList(x)"]
    assert repr(third) == str(third) and "\nrefreshed " in str(third)
    assert [row["files"] for row in table.describe().rows] == [4, 4, 4]
    two.check("x = 3", read=["3.parquet"])


def test_what_is_refused_before_anything_is_written(two: Lake) -> None:
    table = two.index(Suffix("s", 1), MinMax("x"))
    version = table.describe().version
    with pytest.raises(
        DataSkipError, match=r"has Suffix\(s, length=1, .*\), which is Suffix\(s, length=2\) with other parameters: drop_index"
    ):
        table.ensure_index(ValueList("x"), Suffix("s", 2))
    for wrong in ((), ("x",)):
        with pytest.raises(DataSkipError, match="takes indexes"):
            table.ensure_index(*wrong)  # type: ignore[arg-type]
    with pytest.raises(DataSkipError, match="nothing"):
        table.ensure_index(MinMax("nothing"))
    with pytest.raises(DataSkipError, match="is no number of files"):
        table.ensure_index(MinMax("x"), files_per_commit=0)
    assert table.describe().version == version
    # Both, where both are asked for; and other parameters that say what an index is.
    table.create_index(Suffix("s", 2))
    table.ensure_index(Suffix("s", 1), Suffix("s", 2), Suffix("s", 1))


def test_the_same_index_in_other_words_is_there(two: Lake) -> None:
    table = two.index(MinMax("x"))
    ensured = table.ensure_index(MinMax("X"), MinMax("`x`"), ValueList("s"), ValueList("S"))
    assert ensured.created is not None and ensured.created.indexes == ["ValueList(s)"]
    assert table.ensure_index(MinMax("X")).created is None
    with pytest.raises(DataSkipError, match=r"has no MinMax\(`X`\); it has MinMax\(x\); write it as that is"):
        table.drop_index(MinMax("`X`"))


def test_what_cannot_be_created_leaves_the_others_refreshed(two: Lake) -> None:
    table = two.index(MinMax("x"))
    two.file("2.parquet", {"x": [2], "s": ["s2"]})
    with pytest.raises(DataSkipError, match="nothing"):
        table.ensure_index(MinMax("nothing"))
    assert [row["files"] for row in table.describe().rows] == [3]


@pytest.mark.long
def test_of_extractors_there_may_be_several(two: Lake) -> None:
    import log_skip

    log_skip.register(two.spark)
    table = two.index(Formatted("s", "is_bot"))
    assert collected(table.ensure_index(Formatted("s", "is_mobile")).created) == 2
    assert table.ensure_index(Formatted("s", "is_bot"), Formatted("s", "is_mobile")).created is None


def test_an_index_of_other_code_is_an_error(two: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    table = two.index(MinMax("x"))
    monkeypatch.setattr(MinMax, "version", MinMax.version + 1)
    with pytest.raises(DataSkipError, match="drop the index and create it again"):
        table.ensure_index(MinMax("x"))


def test_another_writer_was_faster(two: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """It creates the same index after it was seen to be missing."""
    table, create = two.table(), Table.create_index
    faster = iter([MinMax("x"), None])

    def create_index(self: Table, *indexes: Any, **how: Any) -> IndexReport:
        if (other := next(faster)) is not None:
            create(two.table(), other)
        return create(self, *indexes, **how)

    monkeypatch.setattr(Table, "create_index", create_index)
    done = table.ensure_index(MinMax("x"), ValueList("s"))
    assert done.created is not None and done.created.indexes == ["ValueList(s)"]
    assert done.refreshed is not None and done.refreshed.files_current == 2
    assert [row["files"] for row in table.describe().rows] == [2, 2]


@pytest.mark.long
def test_several_at_once(two: Lake) -> None:
    session = two.spark.newSession()
    for setting in ("spark.sql.parquet.filterPushdown", "spark.sql.session.timeZone"):
        session.conf.set(setting, two.spark.conf.get(setting))
    other = data_skip.enable(session)
    wanted = [MinMax("x"), ValueList("s"), Prefix("s", 1)]
    try:
        for turn in range(5):
            two.file(f"turn{turn}.parquet", {"x": [turn], "s": [f"t{turn}"]})
            errors: list[BaseException] = []
            start = Barrier(4)

            def ensure(table: Table, turn: int = turn, errors: list[BaseException] = errors, start: Barrier = start) -> None:
                try:
                    start.wait()
                    table.ensure_index(*wanted[: 1 + turn % 3])
                except BaseException as error:
                    errors.append(error)

            tables = [skipping.table(str(two.folder)) for skipping in (two.skipping, other) for _ in range(2)]
            threads = [Thread(target=ensure, args=(table,)) for table in tables]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert errors == []
            described = two.table().describe()
            assert [row["files"] for row in described.rows] == [3 + turn] * min(3, 1 + turn)
            two.skipping.catalog.forget()
            two.view()
            two.check(f"x = {turn} AND s LIKE 't%'", read={f"turn{turn}.parquet", *([f"{turn}.parquet"] if turn == 0 else [])})
    finally:
        data_skip.disable(session)


def test_an_open_parameter_beside_a_given_one_in_several_commits(lake: Lake) -> None:
    """The first commit of a command is its own, not another session's."""
    for i in range(3):
        lake.file(f"{i}.parquet", {"s": [f"{letter}{i}" for letter in "abc"]})
    report = lake.table().create_index(Prefix("s"), Prefix("s", 1), files_per_commit=1)
    assert report.files_collected == 3
    records = lake.table().records()
    assert len(records) == 3 and sum(name.startswith("prefix__") for name in records.column_names) == 2
