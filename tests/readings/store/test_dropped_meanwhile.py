"""Indexes, and tables, that are dropped or deleted while others write them: nothing comes back, and nothing is left."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from data_skip import DataSkipError, MinMax, ValueList
from data_skip.building import indexing, one_pass
from data_skip.store import DeltaStore, StoreError, delta
from tests.readings.store.support import READER_OF_CSV, another, empty_store, store_of_one
from tests.readings.support import before, xs
from tests.support import Lake
from tests.test_store import READER, column, key, known, records

__all__ = ["empty_store", "store_of_one"]  # fixtures
CSV_OF_TEXTS: dict[str, Any] = {"format": "csv", "schema": "x STRING, s STRING"}
HEADER = {**READER_OF_CSV, "options": {"header": "true"}}


def before_writes(monkeypatch: pytest.MonkeyPatch, mode: str, *others: Callable[[], Any]) -> None:
    """What others do as the next writes of a mode are about to begin: the version is chosen on which they are committed."""
    original, turns = delta.write_deltalake, list(others)

    def write(target: Any, *args: Any, **kwargs: Any) -> None:
        if kwargs["mode"] == mode and turns:
            turns.pop(0)()
        original(target, *args, **kwargs)

    monkeypatch.setattr(delta, "write_deltalake", write)


def test_records_that_are_added_while_their_index_is_dropped_are_dropped(empty_store: DeltaStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Delta commits an overwrite beside an append: the row would stay, with a column that the next who declares it finds."""
    empty_store.append([key("a")], [1], {column("x", READER_OF_CSV): records(1)})
    before_writes(
        monkeypatch, "overwrite", lambda: DeltaStore(empty_store.uri).append([key("b")], [0], {column("x", READER_OF_CSV): records(3)})
    )
    empty_store.drop("x")
    assert known(empty_store) == {}
    empty_store.append([key("a")], [2], {column("x", HEADER): records(7)})
    assert known(empty_store) == {"a": {"size": 10, "modification_time": 1, "row_count": 2, "x": {"min": 7}}}


def test_an_index_that_is_dropped_beside_a_refresh_and_made_anew_otherwise(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same, as rows."""
    lake.lines("a.csv", "7,s", "5,t")
    table = lake.index(MinMax("x"), **CSV_OF_TEXTS, options={"header": "true"})
    lake.lines("b.csv", "9,t", "1,t")
    before_writes(monkeypatch, "overwrite", lambda: lake.table(**CSV_OF_TEXTS, options={"header": "true"}).refresh())
    table.drop_index(MinMax("x"))
    lake.table(**CSV_OF_TEXTS, options={"header": "false"}).create_index(MinMax("x"))
    lake.view(**CSV_OF_TEXTS, header="false")
    lake.check("x = '9'", read=["b.csv"])


def test_a_refresh_does_not_bring_back_an_index_that_was_dropped_meanwhile(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    lake.file("a.parquet", {"x": [1], "y": [1]})
    table = lake.index(MinMax("x"), MinMax("y"))
    lake.file("b.parquet", {"x": [2], "y": [2]})
    before_writes(monkeypatch, "append", lambda: lake.table().drop_index(MinMax("x")))
    table.refresh()
    assert [(row["index"], row["files"]) for row in table.describe().rows] == [("MinMax(y)", 2)]
    lake.file("c.parquet", {"x": [3], "y": [3]})
    before_writes(monkeypatch, "append", lambda: lake.table().drop_index(MinMax("y")))
    with pytest.raises(DataSkipError, match="dropped meanwhile"):
        table.refresh()
    assert table.describe().rows == []


def test_a_refresh_does_not_bring_back_an_index_that_was_deleted_meanwhile(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    lake.file("a.parquet", {"x": [1]})
    table = lake.index(MinMax("x"))
    lake.file("b.parquet", {"x": [2]})
    listed = indexing.index_files

    def late(*args: Any) -> Any:
        shutil.rmtree(lake.folder / ".data_skip")
        return listed(*args)

    monkeypatch.setattr("data_skip.table.index_files", late)
    with pytest.raises(DataSkipError, match="deleted meanwhile"):
        table.refresh()
    assert not (lake.folder / ".data_skip").exists()


def test_a_table_that_is_dropped_while_it_is_indexed_stays_dropped(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else there would be a folder again, and Spark creates no managed table where one is."""
    lake.file("a.parquet", {"x": [1]})
    lift = one_pass.lift

    def late(*args: Any) -> Any:
        found = lift(*args)
        shutil.rmtree(lake.folder)
        return found

    monkeypatch.setattr(one_pass, "lift", late)
    with pytest.raises(DataSkipError, match="deleted meanwhile"):
        lake.table().create_index(MinMax("x"))
    assert not lake.folder.exists()


def test_several_indexes_are_dropped_by_one_commit(lake: Lake) -> None:
    lake.file("a.parquet", {"x": [1], "y": [2], "z": [3]})
    table = lake.index(MinMax("x"), MinMax("y"), MinMax("z"))
    table.drop_index(MinMax("x"), MinMax("y"))
    step = table.history()[-1]
    assert step.action == "dropped" and sorted(step.indexes) == ["MinMax(x)", "MinMax(y)"]


OTHER = {**READER, "options": {"header": "true"}}


def make_anew(store: DeltaStore) -> None:
    shutil.rmtree(store.location)
    DeltaStore(store.uri).append([key("n")], [1], {column("x", OTHER): records(9)})


@pytest.mark.parametrize("noticed", [True, False])
def test_rows_that_were_written_for_an_index_in_whose_place_is_another(
    store_of_one: DeltaStore, monkeypatch: pytest.MonkeyPatch, noticed: bool
) -> None:
    """deltalake tells versions by their numbers, and the first records of an index are always version 1. Not noticed: as on S3."""
    before(monkeypatch, delta, "write_deltalake", lambda: make_anew(store_of_one))
    if noticed:
        with pytest.raises(StoreError, match="deleted meanwhile"):
            store_of_one.append([key("b")], [1], {column("x"): records(2)}, False)
    else:
        monkeypatch.setattr(DeltaStore, "_was_replaced", lambda *_: False)
        store_of_one.append([key("b")], [1], {column("x"): records(2)}, False)
    for reader in (store_of_one, DeltaStore(store_of_one.uri)):
        assert known(reader).keys() == {"n"}
    store_of_one.append([key("c")], [1], {column("x", OTHER): records(3)}, False)
    store_of_one.compact()
    assert known(DeltaStore(store_of_one.uri)).keys() == {"n", "c"}


@pytest.mark.parametrize("at", ["before", "after"])
def test_nothing_is_left_of_an_index_that_is_deleted_while_it_is_written(
    store_of_one: DeltaStore, monkeypatch: pytest.MonkeyPatch, at: str, tmp_path: Path
) -> None:
    """A part without a log was no index of data-skip, for good; and Spark creates no managed table where something is."""
    real = delta.write_deltalake

    def write(*args: Any, **options: Any) -> None:
        monkeypatch.undo()
        if at == "before":
            shutil.rmtree(tmp_path / ".data_skip")
            real(*args, **options)
        else:  # between the part and the commit, whose folder is there again
            real(*args, **options)
            for commit in sorted(Path(store_of_one.location, "_delta_log").iterdir())[:-1]:
                commit.unlink()

    monkeypatch.setattr(delta, "write_deltalake", write)
    with pytest.raises(StoreError, match="deleted meanwhile"):
        store_of_one.append([key("b")], [1], {column("x"): records(2)}, False)
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and (at == "before" or "_delta_log" in str(path))]
    if at == "before":
        assert not [*tmp_path.iterdir()]
        store_of_one.append([key("b")], [1], {column("x"): records(2)})
        assert known(store_of_one).keys() == {"b"}


@pytest.mark.parametrize("what", ["create", "drop"])
def test_definitions_for_an_index_in_whose_place_is_another(lake: Lake, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    """They took over its log: what the other session had made was lost, though acknowledged."""
    lake.file("a.parquet", {"x": [1], "y": [1]})
    table = lake.index(MinMax("x"), MinMax("y"))

    def meanwhile() -> None:
        shutil.rmtree(lake.folder / ".data_skip")
        lake.file("b.parquet", {"x": [2], "y": [2]})
        another(lake).create_index(ValueList("x"))

    before(monkeypatch, delta, "write_deltalake", meanwhile)
    with pytest.raises(StoreError, match="deleted meanwhile"):
        table.create_index(ValueList("y")) if what == "create" else table.drop_index(MinMax("y"))
    assert [row["index"] for row in lake.table().describe().rows] == ["ValueList(x, limit=10000)"]
    assert xs(lake.table().read("snapshot")) == [1, 2]
    assert another(lake).refresh().files_collected == 0
