"""Compaction: records of files that others read, or that come meanwhile, stay; and what takes much is rewritten in little memory."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from deltalake.exceptions import CommitFailedError

from data_skip import DataSkipWarning, MinMax, ValueList, upkeep
from data_skip.building.source import files_below
from data_skip.store import DeltaStore, FileKey, delta, snapshot
from data_skip.store.layout import keys_of
from data_skip.table import Table
from tests.readings.support import rows
from tests.support import Lake
from tests.test_added import append, content, read
from tests.test_store import store

__all__ = ["store"]  # fixtures


def with_dead_rows(table: Table) -> Table:
    snapshot = table._store.snapshot()
    assert snapshot is not None
    field = snapshot.fields["min_max__x"]
    dead = [FileKey(f"gone{i}.parquet", 1, 1) for i in range(1200)]
    table._store._found()[0].append(dead, [1] * len(dead), {field: pa.array([{}] * len(dead), field.type)})
    return table


def test_compaction_keeps_records_of_files_that_this_table_does_not_read(lake: Lake) -> None:
    """Options, as catalogs and partitions, leave out files that others read."""
    for name in ("a", "b", "c"):
        lake.file(f"{name}.parquet", {"x": [1]})
    with_dead_rows(lake.index(MinMax("x")))
    lake.file("d.parquet", {"x": [100]})
    lake.table(options={"pathGlobFilter": "d*"}).refresh()
    snapshot = lake.table()._store.snapshot()
    assert snapshot is not None and {file.path for file in snapshot.files} == {f"{name}.parquet" for name in "abcd"}


def test_every_file_below_a_root(lake: Lake) -> None:
    folder = lake.folder / "a [b]{c}*%20ä"
    files = [Lake(lake.spark, lake.skipping, folder).file(name, {"x": [1]}) for name in ("a.parquet", "p=1/b.parquet", "q/r/c d.parquet")]
    paths = [quote(str(path.relative_to(folder))).replace("%3D", "=") for path in files]
    there = [FileKey(path, file.stat().st_size, file.stat().st_mtime_ns // 1_000_000) for path, file in zip(paths, files, strict=True)]
    asked = keys_of([*there, there[0]._replace(size=1), FileKey("gone", 1, 1)])
    found = files_below(lake.spark, lake.skipping.jvm, f"file:{quote(str(folder))}", asked)
    assert found.tolist() == [True, True, True, False, False]


def test_compaction_keeps_records_of_files_that_came_meanwhile(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    lake.file("a.parquet", {"x": [1]})
    table = with_dead_rows(lake.index(MinMax("x")))
    compact = DeltaStore.compact

    def late(store: DeltaStore, *order: Any) -> None:
        monkeypatch.undo()
        lake.file("b.parquet", {"x": [100]})
        lake.table().refresh()
        compact(store, *order)

    monkeypatch.setattr(DeltaStore, "compact", late)
    table.refresh()
    assert table.describe().files_indexed == 2 and table.metadata().count() == 2


def test_an_index_of_many_small_files_is_put_together(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each refresh that finds a new file adds one to the index: a new session opened them all, a thousand in a third of a second."""
    monkeypatch.setattr(upkeep, "_MOST_PARTS", 3)
    lake.file("0.parquet", {"x": [0]})
    indexed = lake.index(MinMax("x"))
    for i in range(1, 6):
        lake.file(f"{i}.parquet", {"x": [i]})
        indexed.refresh()
        assert len(DeltaTable(indexed.describe().location).file_uris()) <= 3
    lake.view()
    lake.check("x = 1", read=["1.parquet"])


def test_an_index_is_rewritten_without_an_object_a_file(store: DeltaStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of very many, whose paths are mapped from a file, too: a list of them took four times as much memory and time as their columns."""
    append(store, range(300))
    append(store, range(290, 320), "y")
    expected = content(read(store))
    monkeypatch.setattr(snapshot.Snapshot, "files", property(lambda _: pytest.fail("file versions were made objects")))
    for many in (1 << 20, 10):
        with monkeypatch.context() as patched:
            patched.setattr(snapshot, "MANY_ROWS", many)
            DeltaStore(store.uri).compact(("x", "min"))
    append(store, range(320, 330))
    DeltaStore(store.uri).compact()
    monkeypatch.undo()
    found = content(read(DeltaStore(store.uri)))
    assert {key: said for key, said in found.items() if key in expected} == expected
    assert len(found) == 330


def test_an_index_that_takes_many_large_files_is_not_rewritten_for_them(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """deltalake makes several of what takes more than a hundred megabytes: one of ten gigabytes was rewritten by each refresh."""
    monkeypatch.setattr(upkeep, "_MOST_PARTS", 3)
    for i in range(6):
        lake.file(f"{i}.parquet", {"x": [i], "y": [f"{i}"]})
    indexed = lake.index(MinMax("x"), ValueList("y"))
    for number in range(7, 11):
        monkeypatch.setattr(snapshot, "_A_PART", 2)  # each is a large one
        lake.file(f"{number}.parquet", {"x": [number], "y": [f"{number}"]})
        assert indexed.refresh().files_collected
    assert [step.action for step in indexed.history()][-4:] == ["added"] * 4
    monkeypatch.undo()
    monkeypatch.setattr(upkeep, "_MOST_PARTS", 3)
    lake.file("11.parquet", {"x": [11], "y": ["11"]})
    indexed.refresh()
    assert [step.action for step in indexed.history()][-2:] == ["added", "compacted"]


def test_a_compaction_of_an_index_without_indexes_is_told_as_one(lake: Lake) -> None:
    lake.file("a.parquet", {"x": [1]})
    table = lake.index(MinMax("x"))
    table.drop_index(MinMax("x"))
    table.compact()
    assert [step.action for step in table.history()][2:] == ["dropped", "compacted"]


def test_who_asked_for_a_refresh_is_not_told_that_a_compaction_failed(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    lake.file("a.parquet", {"x": [1]})
    table = lake.index(MinMax("x"))
    lake.file("b.parquet", {"x": [2]})

    def refused(*args: Any, **options: Any) -> None:
        raise CommitFailedError("another was faster")

    monkeypatch.setattr(delta, "transact", refused)
    monkeypatch.setattr(upkeep, "_MOST_PARTS", 1)
    with pytest.warns(DataSkipWarning, match="is up to date, but was not compacted"):
        assert table.refresh().files_collected == 1
    assert rows(table) == [1, 2]
    table.refresh()  # tries again, and says so no more: else that would be an error here
