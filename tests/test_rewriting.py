"""The rows of an index put together: all of them, some at a time where they take much memory, and those of small files alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random, random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from data_skip import MinMax, Suffix, ValueList, upkeep
from data_skip.store import DeltaStore, FileKey, StoreError, new_parts, parts, rewriting, snapshot
from data_skip.store.records import StoredRecords
from tests.support import Lake
from tests.test_parts import TYPE, column, filled, opened, random_record
from tests.test_parts import store as store


def content(store: DeltaStore) -> dict[FileKey, tuple[Any, ...]]:
    """What an index says of each file version."""
    last = opened(store)
    records = last.records(sorted(last.definitions))
    return {
        file: (last.generations[i], last.recorded[i], [(name, str(found[i])) for name, found in records.items()])
        for i, file in enumerate(last.files)
    }


def names(store: DeltaStore) -> set[str]:
    """The files in which its rows lie."""
    return {uri.rpartition("/")[2] for uri in DeltaTable(store.location).file_uris()}


@pytest.fixture
def little_memory(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """All indexes take too much; how many file versions were read at a time."""
    monkeypatch.setattr(rewriting, "_AT_ONCE", 0)
    monkeypatch.setattr(rewriting, "_SOME", 2_000)
    monkeypatch.setattr(parts, "LEAST_PART", 0)
    monkeypatch.setattr(new_parts, "_MOST_IN_GROUP", 4)
    monkeypatch.setattr(new_parts, "_LEAST_IN_GROUP", 1)
    sizes: list[int] = []
    real = StoredRecords.records_by_part

    def counted(self: StoredRecords, *args: Any) -> Any:
        for places, found in real(self, *args):
            sizes.append(len(places))
            yield places, found

    monkeypatch.setattr(StoredRecords, "records_by_part", counted)
    return sizes


@pytest.mark.parametrize("order", [None, ("x", "long"), ("y", "text")])
def test_some_rows_at_a_time(store: DeltaStore, little_memory: list[int], order: tuple[str, str] | None) -> None:
    filled(store, Random(1))
    before, last = content(store), opened(store)
    gone = {file for file, listed in zip(last.files, last.listed.tolist(), strict=True) if not listed}
    store.compact(order)
    assert content(store) == {file: said for file, said in before.items() if file not in gone}
    assert opened(store).rows == len(before) - len(gone) == sum(little_memory)
    assert gone and len(little_memory) > 3
    store.drop("x")
    assert content(store) == {file: (*said[:2], said[2][1:]) for file, said in before.items() if file not in gone}


def test_a_part_that_cannot_be_read_leaves_the_index_as_it_is(
    store: DeltaStore, little_memory: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(store, Random(2))
    before, real = content(store), parts.Rows.records

    def damaged(self: parts.Rows, *args: Any) -> Any:
        if len(little_memory) == 2:
            raise OSError("a disk that fails")
        return real(self, *args)

    with monkeypatch.context() as patched:
        patched.setattr(parts.Rows, "records", damaged)
        with pytest.raises(StoreError, match="a disk that fails"):
            store.compact()
    assert content(store) == before


def test_small_files_are_put_together_and_large_ones_left(store: DeltaStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """What an index of ten gigabytes is added, a little at a time, has nobody read the ten gigabytes again."""
    random = Random(3)
    store.append([FileKey(f"a{i:05}", 1, 1) for i in range(800)], [1] * 800, {column("x"): records(random, 800)})
    (large,) = names(store)
    size = Path(store.location, large).stat().st_size
    for i in range(6):
        index = "xy"[i % 2]
        store.append([FileKey(f"b{i}", 1, 1), FileKey(f"a{i:05}", 1, 1)], [1] * 2, {column(index): records(random, 2)})
    store.append([FileKey("b0", 1, 1)], [None], {column("x"): pa.nulls(1, TYPE)}, True, [1], [False])
    before, read = content(store), opened(store).rows
    monkeypatch.setattr(snapshot, "_A_PART", size // 2)
    store.put_together()
    assert large in names(store) and len(names(store)) == 2
    assert content(store) == before and opened(store).rows == read
    (together,) = names(store) - {large}
    footer = pq.read_metadata(Path(store.location, together))
    assert footer.row_group(0).column(0).compression == "SNAPPY" and "PLAIN_DICTIONARY" not in footer.row_group(0).column(0).encodings
    assert [step.action for step in store.history()][-1] == "compacted"
    version = opened(store).version
    store.put_together()
    assert opened(store).version == version, "there is nothing more to put together"


def records(random: Random, count: int) -> pa.Array:
    return pa.array([random_record(random, i % 6) for i in range(count)], TYPE)


def append_one(store: DeltaStore) -> None:
    store.append([FileKey("late", 1, 1)], [1], {column("x"): records(Random(5), 1)})


@pytest.mark.parametrize("moment", ["_at", "_remove"])
@pytest.mark.parametrize(
    "meanwhile",
    [append_one, DeltaStore.compact, DeltaStore.put_together, lambda store: store.drop("y"), lambda store: store.drop("x", "y")],
    ids=["append", "compact", "put together", "drop one", "drop all"],
)
def test_others_write_while_small_files_are_put_together(
    store: DeltaStore, monkeypatch: pytest.MonkeyPatch, meanwhile: Callable[[DeltaStore], None], moment: str
) -> None:
    """deltalake's `optimize` puts its commit after theirs, as if nothing was: rows that were dropped would be back."""
    filled(store, Random(4))
    expected = DeltaStore(f"{store.uri}-beside")
    filled(expected, Random(4))
    meanwhile(expected)
    real, pending = getattr(DeltaStore, moment), [meanwhile]

    def late(self: DeltaStore, *args: Any) -> Any:
        if moment == "_at":
            found = real(self, *args)  # so that deltalake has to find it out
        if self is store and pending:
            pending.pop()(DeltaStore(store.uri))
        return found if moment == "_at" else real(self, *args)

    monkeypatch.setattr(DeltaStore, moment, late)
    store.put_together()
    assert not pending
    assert content(store) == content(expected)


def test_an_index_with_a_file_of_another_table_is_rewritten(store: DeltaStore) -> None:
    """Which was written for one that was deleted meanwhile: of a file with its rows beside others, nobody could tell whose they are."""
    filled(store, Random(6))
    before = content(store)
    other = DeltaStore(f"{store.uri}-beside")
    filled(other, Random(7))
    for name in names(other):
        Path(other.location, name).rename(Path(store.location, name))
    target = DeltaTable(store.location)
    foreign = [new_parts.NewPart(name, Path(store.location, name).stat().st_size, 1, 1) for name in names(other)]
    target.create_write_transaction([new_parts.added(part) for part in foreign], "append", target.schema(), [])
    assert opened(store).has_rows_of_others and content(store) == before
    listed = {file for file, listed in zip(opened(store).files, opened(store).listed.tolist(), strict=True) if listed}
    store.put_together()
    assert content(store) == {file: said for file, said in before.items() if file in listed}
    assert not opened(store).has_rows_of_others and len(names(store)) == 1


def test_refreshes_put_small_files_together(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upkeep, "_MOST_PARTS", 2)
    for i in range(20):
        lake.file(f"{i}.parquet", {"x": [i] * 500, "s": [f"s{i}", *(f"{random()}" for _ in range(499))]})
    indexed = lake.index(MinMax("x"), ValueList("s"), Suffix("s", 2))
    place = indexed.describe().location
    (first,) = DeltaTable(place).file_uris()
    size = Path(first).stat().st_size
    monkeypatch.setattr(snapshot, "_A_PART", size)
    monkeypatch.setattr(DeltaStore, "compact", lambda *_: pytest.fail("all was rewritten"))
    for i in range(20, 26):
        lake.file(f"{i}.parquet", {"x": [i], "s": [f"s{i}"]})
        indexed.refresh()
    found = DeltaTable(place).file_uris()
    assert first in found and len(found) < 5
    lake.view()
    for i in (3, 21, 25):
        lake.check(f"x = {i}", read=[f"{i}.parquet"])
        lake.check(f"s = 's{i}'", read=[f"{i}.parquet"])
