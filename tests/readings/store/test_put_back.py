"""Indexes that are put back from a copy, or deleted and made anew: what was read of the one before is not taken for them."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path
from threading import Event, Timer
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from data_skip import MinMax
from data_skip.building.index_report import IndexReport
from data_skip.planning import bounded
from data_skip.planning.catalog import places_of
from data_skip.store import DeltaStore, FileKey, StoreError, delta, opened
from data_skip.store.definition import Definition
from data_skip.store.delta import rows_of
from data_skip.store.layout import definition_field, keys_of
from tests.faults.commands import COMMANDS, add, state
from tests.object_store.test_object_place import Spark, append, clock, files
from tests.object_store.test_object_place import spark as hadoop
from tests.readings.store.support import READER_OF_CSV, another, empty_store, store_of_three
from tests.readings.support import before, xs
from tests.support import Lake
from tests.test_store import column, key, known, records, store

__all__ = ["clock", "empty_store", "hadoop", "store", "store_of_three"]  # fixtures


def test_a_copy_that_was_put_back_and_written_beyond_what_was_seen(lake: Lake) -> None:
    lake.file("a.parquet", {"x": [1], "y": [1], "z": [1]})
    table = lake.index(MinMax("x"), MinMax("y"), MinMax("z"))
    shutil.copytree(lake.folder / ".data_skip", lake.folder.parent / "copy")
    lake.file("b.parquet", {"x": [2], "y": [2], "z": [2]})
    frame = table.read("bounded(1000)")
    assert xs(frame.select("x")) == [1, 2]
    put_back(lake)
    other = another(lake)
    for name in "yz":
        other.drop_index(MinMax(name))
    assert xs(frame.select("x")) == [1, 2]


def put_back(lake: Lake) -> None:
    shutil.rmtree(lake.folder / ".data_skip")
    shutil.copytree(lake.folder.parent / "copy", lake.folder / ".data_skip")


def test_a_drop_on_a_copy_that_was_put_back(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """And was refreshed up to the same version: its rows stayed, without a column being declared, for the next who declares it."""
    read = {"format": "csv", "schema": "x int", "options": {"header": "true"}}
    lake.lines("a.csv", "5", "6")
    table = lake.table(**read)
    table.create_index(MinMax("x"))
    shutil.copytree(lake.folder / ".data_skip", lake.folder.parent / "copy")
    lake.lines("b.csv", "1", "7", "8")
    table.refresh()

    def meanwhile() -> None:
        put_back(lake)
        another(lake, **read).refresh()

    before(monkeypatch, delta, "write_deltalake", meanwhile)
    with pytest.raises(StoreError, match="put back from a copy"):
        table.drop_index(MinMax("x"))
    assert len(table.describe().rows) == 1
    table.drop_index(MinMax("x"))
    lake.table(format="csv", schema="x int", options={"header": "false"}).create_index(MinMax("x"))
    lake.view(format="csv", schema="x int", header="false")
    lake.check("x = 1", read=["b.csv"])


def test_a_copy_that_is_being_put_back_is_left_alone(store_of_three: DeltaStore, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Its records come before its log."""
    shutil.copytree(tmp_path / ".data_skip", tmp_path / "copy")

    def begin() -> None:
        shutil.rmtree(tmp_path / ".data_skip")
        os.makedirs(store_of_three.location)
        for part in (tmp_path / "copy/_/_/_").glob("*.parquet"):
            shutil.copy2(part, store_of_three.location)

    before(monkeypatch, delta, "write_deltalake", begin)
    with pytest.raises(StoreError, match="put back from a copy"):
        store_of_three.append([key("d")], [1], {column("x"): records(2)}, False)
    shutil.copytree(tmp_path / "copy/_/_/_/_delta_log", Path(store_of_three.location, "_delta_log"))
    assert known(DeltaStore(store_of_three.uri)).keys() == {"a", "b", "c"}
    assert len([*Path(store_of_three.location).glob("*.parquet")]) == 3


@pytest.mark.parametrize("believed", [0.0, 2.0])
def test_an_index_that_was_put_back_and_written_since(hadoop: Spark, clock: list[float], tmp_path: Path, believed: float) -> None:
    """It has the version that was read, of the same table: what was read before was taken for it, and `snapshot` left out its files."""
    store = DeltaStore("s3://elsewhere", hadoop)  # type: ignore[arg-type]
    append(store, "a")
    shutil.copytree(hadoop.folder, tmp_path / "copy")
    append(store, "b")
    assert files(store, believed) == {"a", "b"}
    hadoop.folder.rename(tmp_path / "before")  # so that no number of a file is used again
    shutil.copytree(tmp_path / "copy", hadoop.folder)
    append(DeltaStore("s3://elsewhere", hadoop), "c")  # type: ignore[arg-type]
    clock[0] += 61
    assert files(store, believed) == {"a", "c"}


def test_a_writer_does_not_write_on_what_was_put_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the moment that a rewrite read the index and its commit: it put its rows in the place of those that were acknowledged."""
    store = DeltaStore(f"file:{tmp_path}/.data_skip/_/_/_")
    store.append([key("a")], [1], {column("x"): records(1)})
    shutil.copytree(store.location, tmp_path / "copy")
    store.append([key("b")], [1], {column("x"): records(1)})
    known = store.snapshot()
    assert known is not None and known.records(["x"], 1 << 20)
    opened, turns = store._opened, [1]

    def put_back(*asked: Any) -> DeltaTable:
        if turns:
            turns.clear()
            shutil.rmtree(store.location)
            shutil.copytree(tmp_path / "copy", store.location)
            DeltaStore(store.uri).append([key("c")], [1], {column("x"): records(1)})
        return opened(*asked)

    monkeypatch.setattr(store, "_opened", put_back)
    store.compact()
    found = DeltaStore(store.uri).snapshot()
    assert not turns and found is not None and {file.path for file in found.files} == {"a", "c"}


def files_of(store: Any) -> set[str]:
    snapshot = store.snapshot()
    return {file.path for file in snapshot.files} if snapshot else set()


def test_an_index_of_an_earlier_time_is_not_taken_for_one_that_cannot_be_read(tmp_path: Path) -> None:
    """`snapshot` left out the files that it lacks; what was committed to it was there no more, once the other one could be read again."""
    root = f"file:{tmp_path}"
    now, earlier = places_of(root, None, None)._stores
    earlier.append([key("a")], [1], {column("x"): records(1)})
    for name in "ab":
        now.append([key(name)], [1], {column("x"): records(1)})
    damage = Path(now.location) / "_delta_log" / f"{9:020}.checkpoint.{1:010}.{2:010}.parquet"
    damage.write_text("another's")
    found = places_of(root, None, None)
    with pytest.raises(StoreError, match="cannot be read"):
        found.snapshot()
    with pytest.raises(StoreError, match="cannot be read"):
        found.append_as_of(lambda _: rows_of(keys_of([key("c")]), [1], {column("x"): records(1)}))
    assert files_of(earlier) == {"a"}
    damage.unlink()
    assert files_of(found) == {"a", "b"}


def test_an_index_that_is_put_back_while_it_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Up to the same version, with other files: what had been opened was taken for it, until the next commit."""
    store = DeltaStore(f"file:{tmp_path}/.data_skip/_/_/_")
    store.append([key("a")], [1], {column("x"): records(1)})
    log, turns = Path(store.location) / "_delta_log", [1]
    shutil.copytree(log, tmp_path / "copy")
    store.append([key("b")], [1], {column("x"): records(1)})

    def replaced(*asked: Any, **options: Any) -> DeltaTable:
        table = DeltaTable(*asked, **options)
        if turns:
            turns.clear()
            shutil.rmtree(log)
            shutil.copytree(tmp_path / "copy", log)
            DeltaStore(store.uri).append([key("c")], [1], {column("x"): records(1)})
        return table

    monkeypatch.setattr(opened, "DeltaTable", replaced)
    reader = DeltaStore(store.uri)
    assert files_of(reader) == {"a", "b"}
    assert files_of(reader) == {"a", "c"}


def test_an_index_that_was_put_back_while_it_was_compacted() -> None:
    """What the refresh had committed is gone, though it has not returned yet."""
    index, begun, go_on = {"version": 5}, Event(), Event()

    def refresh() -> IndexReport:
        index["version"] += 1
        if index["version"] == 7:
            begun.set()
            go_on.wait(10)
        return IndexReport("t", ["MinMax(x)"])

    kept = bounded.Bounded(1e9)
    kept.refreshed_by("t", refresh)
    kept.bring_up_to_date()
    assert index["version"] == 6 and not kept.was_put_back((6, "id", 0))
    kept._as_of -= 0.6e9  # old enough to be refreshed in the background
    kept.bring_up_to_date()
    begun.wait(10)
    index["version"] = 3
    assert kept.was_put_back((3, "id", 0))
    Timer(0.2, go_on.set).start()
    kept.bring_up_to_date()
    assert index["version"] == 4, "refreshed since"


@pytest.mark.parametrize("command", ["refresh", "drop", "compact"])
def test_a_copy_that_was_put_back_and_looks_as_what_was_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    """`rm -r` and `cp -a` give files the inodes and times of before: the commit named a file that was deleted, and nobody could read it."""
    store = DeltaStore(f"file:{tmp_path}/index")
    add(store, "a b", "xy", declare=True)
    add(store, "c", "xy", declare=False, gone="a")
    before = state(store)
    real = delta.write_deltalake

    def write(*args: Any, **options: Any) -> None:
        there = {*Path(store.location).glob("*.parquet")}
        real(*args, **options)
        for part in {*Path(store.location).glob("*.parquet")} - there:
            part.unlink()

    with monkeypatch.context() as patch, pytest.raises(StoreError, match="put back from a copy"):
        patch.setattr(delta, "write_deltalake", write)
        COMMANDS[command].run(store)
    assert state(DeltaStore(store.uri)) == before
    COMMANDS[command].run(store)
    assert state(DeltaStore(store.uri)) != before


def test_a_copy_is_not_swept_again_and_again(store: DeltaStore, tmp_path: Path) -> None:
    """Its files are younger than what its log says of them."""
    old = time.time() - 20 * 86_400
    for version in (1, 2):
        store.append([key("a", version)], [1], {column("x"): records(1)})
    store.compact()
    log = Path(store.location) / "_delta_log"
    for commit in log.glob("*.json"):
        commit.write_text(commit.read_text().replace('"deletionTimestamp":', f'"deletionTimestamp":{int(old * 1000)},"was":'))
    for file in Path(store.location).rglob("*"):
        os.utime(file, (old, old))
    shutil.copytree(store.location, tmp_path / "copy", copy_function=shutil.copy)
    copy = DeltaStore(f"file:{tmp_path}/copy")
    before = copy.snapshot()
    assert copy.vacuum(24, dry_run=True) == copy.vacuum(24) == []
    assert before is not None and copy.snapshot() is before
    told = store.vacuum(24, dry_run=True)
    assert len(told) == 2 and sorted(store.vacuum(24)) == sorted(told)


RECORD = pa.struct([("min", pa.int64())])


def collected(separator: str, *bounds: int) -> dict[pa.Field, pa.Array]:
    """Records of one index, by a reader of its own."""
    reader = {"format": "csv", "options": {"sep": separator}, "session": {}, "columns": []}
    field = definition_field("min_max__x", RECORD, Definition("MinMax", ("x",), {}, 1, (), reader))
    return {field: pa.array([{"min": bound} for bound in bounds], RECORD)}


@pytest.mark.parametrize("before", [[], [FileKey("a", 1, 1)]], ids=["empty", "filled"])
def test_an_index_that_was_deleted_and_made_anew_is_another(tmp_path: Path, before: list[FileKey]) -> None:
    """A session that knows the old one took the new one's commits for later ones of the old: records under another's definition."""
    place = tmp_path / "store"
    ours, theirs = DeltaStore(f"file:{place}"), DeltaStore(f"file:{place}")

    def separators() -> list[str]:
        snapshot = ours.snapshot()
        assert snapshot is not None
        return [definition.reader["options"]["sep"] for definition in snapshot.definitions.values()]

    ours.append(before, [1] * len(before), collected(",", *[5] * len(before)))
    assert separators() == [","]
    shutil.rmtree(place)
    theirs.append(before, [1] * len(before), collected(";", *[9] * len(before)))
    assert separators() == [";"], "of the same version"
    with pytest.raises(StoreError, match="created anew meanwhile, in another way"):
        ours.append([FileKey("c", 3, 3)], [1], collected(",", 3))
    assert separators() == [";"]
    shutil.rmtree(place)
    theirs = DeltaStore(f"file:{place}")
    theirs.append(before, [1] * len(before), collected("|", *[9] * len(before)))
    theirs.append([FileKey("b", 2, 2)], [1], collected("|", 7))
    assert separators() == ["|"]
    ours.append([FileKey("c", 3, 3)], [1], collected("|", 3))
    snapshot = theirs.snapshot()
    assert snapshot is not None
    assert {file.path for file in snapshot.files} == {*(file.path for file in before), "b", "c"}


def test_an_index_with_fewer_versions_at_the_same_place(empty_store: DeltaStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Deleted and made anew after a writer has looked, and before it takes up the version that it saw."""
    for i in range(3):
        empty_store.append([key(f"a{i}")], [1], {column("x", READER_OF_CSV): records(1)})
    refuse = DeltaStore._refuse_another

    def late(self: DeltaStore, *args: Any) -> None:
        refuse(self, *args)
        monkeypatch.undo()
        shutil.rmtree(empty_store.location)
        DeltaStore(empty_store.uri).append([key("b")], [1], {column("x", READER_OF_CSV): records(2)})

    monkeypatch.setattr(DeltaStore, "_refuse_another", late)
    empty_store.append([key("c")], [1], {column("x", READER_OF_CSV): records(3)})
    assert set(known(empty_store)) == {"b", "c"}


def test_an_index_with_fewer_versions_on_object_storage(empty_store: DeltaStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DeltaStore, "location", property(lambda self: "file://" + self.uri.removeprefix("file:")))
    for i in range(3):
        empty_store.append([key(f"a{i}")], [1], {column("x", READER_OF_CSV): records(1)})
    shutil.rmtree(empty_store.uri.removeprefix("file:"))
    DeltaStore(empty_store.uri).append([key("b")], [1], {column("x", READER_OF_CSV): records(2)})
    assert set(known(empty_store)) == {"b"}
