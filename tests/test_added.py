"""A version of an index of which an earlier one was read: what was added is read, and nothing else; it says what all its rows say."""

from __future__ import annotations

import gc
import os
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from data_skip import MinMax
from data_skip.store import DeltaStore, FileKey, Snapshot, StoreError
from data_skip.store import snapshot as snapshots
from data_skip.store.keys_file import KeysFile
from data_skip.store.memory import MEMORY
from tests.support import Lake
from tests.test_store import READER, column, key, records, store

__all__ = ["store"]

MOST = 1 << 20


def files(*numbers: int) -> list[FileKey]:
    return [key(f"d={i % 3}/{i}") for i in numbers]


def append(store: DeltaStore, numbers: range, of: str = "x", **more: Any) -> None:
    store.append(files(*numbers), [i % 5 or None for i in numbers], {column(of): records(*numbers)}, **more)


def read(store: DeltaStore) -> Snapshot:
    found = store.snapshot()
    assert found is not None
    return found


def content(snapshot: Snapshot) -> dict[FileKey, tuple[Any, ...]]:
    """What it says of each file version."""
    base = (snapshot.row_counts.astype(float), snapshot.generations, snapshot.recorded, snapshot.sizes)
    columns = [array.to_pylist() for array in snapshot.records(sorted(snapshot.fields), MOST).values()]
    said = zip(*(array.astype(str).tolist() for array in base), *columns, strict=True)
    return dict(zip(snapshot.files, said, strict=True))


@pytest.mark.parametrize("seed", range(6))
def test_each_version_says_what_it_says_to_whoever_reads_it_first(store: DeltaStore, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshots, "_FEW_ROWS", 5)
    draw, other = random.Random(seed), DeltaStore(store.uri)
    append(store, range(40))
    taken = set()
    for _ in range(25):
        writer = draw.choice([store, other])
        start, count, step = draw.randrange(80), draw.randrange(1, 6), draw.random()
        some = range(start, start + count)
        if step < 0.6:
            append(writer, some, draw.choice("xy"))
        elif step < 0.8:  # files that are gone, or there and not collected
            writer.append(
                files(*some), [None] * count, {column("x"): pa.nulls(count, records().type)}, generations=[draw.randrange(4)] * count
            )
        elif step < 0.87:
            writer.append(
                files(*some),
                [None] * count,
                {column("x"): pa.nulls(count, records().type)},
                generations=[2] * count,
                collected=[False] * count,
            )
        elif step < 0.93:
            writer.compact()
        elif {"x", "y"} <= read(writer).fields.keys():
            writer.drop("y")
        if draw.random() < 0.7:
            before = store._snapshot
            found = read(store)
            taken.add(found is not before and bool(found._begun))
            fresh = read(DeltaStore(store.uri))
            assert content(found) == content(fresh)
            asked = pa.array([draw.random() < 0.5 for _ in range(found.count)]).to_numpy(zero_copy_only=False)
            parts = found.records_by_part({"x": ["min"]}, asked, 1)
            by_part = {int(place): row for places, of in parts for place, row in zip(places, of["x"].to_pylist(), strict=True)}
            whole = found.records(["x"])["x"].to_pylist()
            assert by_part == {place: whole[place] for place in asked.nonzero()[0].tolist()}
    assert taken == {True, False}


def test_rows_that_were_read_are_not_read_again(store: DeltaStore) -> None:
    """Not even where their files are damaged by now."""
    append(store, range(500))
    before = read(store).records(["x"], MOST)["x"]
    parts = sorted(Path(store.location).glob("*.parquet"))
    append(DeltaStore(store.uri), range(500, 510))
    for part in parts:
        part.write_bytes(b"")
    after = read(store)
    assert after.count == 510
    assert after.records(["x"], MOST)["x"].to_pylist() == [
        *before.to_pylist(),
        *({"min": i} for i in range(500, 510)),
    ]
    with pytest.raises(StoreError, match="cannot be read"):
        read(DeltaStore(store.uri))


def test_where_much_was_added_all_is_read_anew(store: DeltaStore) -> None:
    append(store, range(10))
    read(store).records(["x"], MOST)
    append(DeltaStore(store.uri), range(10, 2000))
    assert not read(store)._begun and read(store).count == 2000


def test_records_that_are_taken_over_count_for_both(store: DeltaStore) -> None:
    """A report of the version of before may ask for its own; the older are let go first."""
    append(store, range(500))
    before = read(store)
    before.records(["x"], MOST)
    append(DeltaStore(store.uri), range(500, 510))
    append(DeltaStore(store.uri), range(510, 520))
    between = read(store)
    assert before.keeps(["x"]) and between.keeps(["x"])
    append(DeltaStore(store.uri), range(520, 1530))
    after = read(store)  # no query asked the one between
    held = [owner for owner, of in MEMORY._held if of == "x" and owner in (before.id, between.id, after.id)]
    assert held == [before.id, between.id, after.id] and after.keeps(["x"])
    size = before.records(["x"])["x"].nbytes
    assert after.fitting(["x"], 3 * size) == [] and after.fitting(["x"], 4 * size) == ["x"]
    assert len(after.records(["x"], 5 * size)["x"]) == 1530
    assert after.keeps(["x"]) and not before.keeps(["x"])
    for snapshot, count in ((after, 1530), (before, 500)):  # the second reads them again
        assert sorted(row["min"] for row in snapshot.records(["x"], MOST)["x"].to_pylist()) == [*range(count)]


def test_an_index_that_is_declared_otherwise_is_read_anew(store: DeltaStore) -> None:
    """What was read before was held against other definitions."""
    append(store, range(500))
    before = read(store)
    before.records(["x"], MOST)
    before.fields = {"x": column("x", READER | {"format": "orc"})}
    append(DeltaStore(store.uri), range(500, 510))
    assert not read(store)._begun and read(store).count == 510


def test_the_jvm_is_handed_what_it_has_not(store: DeltaStore) -> None:
    append(store, range(500))
    given: list[tuple[int, str]] = []

    def take(file: str, mapped_as: str) -> bool | None:
        given.append((int.from_bytes(Path(file).read_bytes()[:8], "little"), mapped_as))
        return None if mapped_as in forgotten else True

    forgotten: set[str] = set()
    first = read(store)
    first.hand_over(take)
    assert first.files == files(*range(500))  # by what is mapped
    append(store, range(500, 510))
    second = read(store)
    second.hand_over(take)
    append(store, range(510, 520))
    third = read(store)
    third.hand_over(take)
    assert given == [(500, ""), (10, first.id), (20, second.id)]
    assert sorted(third.files) == sorted(files(*range(520)))
    append(store, range(520, 521))
    forgotten.add(third.id)
    read(store).hand_over(take)
    assert given[3:] == [(21, third.id), (521, "")]
    with pytest.raises(StoreError, match="run the query again"):
        read(store).hand_over(lambda *_: None)


@pytest.mark.parametrize("twice", [False, True])
@pytest.mark.parametrize("trouble", ["", "no room", "tidied"])
def test_the_keys_of_very_many_are_in_the_file_that_is_handed_over(
    store: DeltaStore, twice: bool, trouble: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unless there is no room for it, or it is deleted meanwhile, or rows are of one version: then it is made when it is handed over."""
    append(store, range(500))
    if twice:
        append(store, range(5), "y")
    monkeypatch.setattr(snapshots, "MANY_ROWS", 500)
    with monkeypatch.context() as patched:
        if trouble == "no room":
            patched.setattr(KeysFile, "_put", lambda *_: os.open("/nowhere/at/all", os.O_RDONLY))
        snapshot = read(DeltaStore(store.uri))
    assert sorted(snapshot.files) == sorted(files(*range(500))) and snapshot.count == 500
    written = snapshot._file
    assert (written is None) == (twice or trouble == "no room")
    if written is not None and trouble == "tidied":
        Path(written.name).unlink()
    given: list[str] = []

    def take(file: str, mapped_as: str) -> bool | None:
        if mapped_as:  # what it has forgotten
            return None
        given.append(file)
        assert Path(file).read_bytes()[-12:].decode() == "".join(key.path for key in snapshot.files)[-12:]
        return True

    for _ in range(2):
        snapshot.hand_over(take)
    assert len(given) == 2
    assert (given[0] == (written and written.name)) == (not twice and not trouble)
    assert not any(map(os.path.exists, given))
    assert sorted(snapshot.files) == sorted(files(*range(500)))
    assert snapshot.sizes.tolist() == [file.size for file in snapshot.files]


def test_a_file_of_keys_goes_with_its_snapshot(store: DeltaStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshots, "MANY_ROWS", 5)
    append(DeltaStore(store.uri), range(5))
    snapshot = read(DeltaStore(store.uri))
    assert snapshot._file is not None
    name = snapshot._file.name
    assert Path(name).exists()
    del snapshot
    gc.collect()
    assert not Path(name).exists()


def test_a_name_by_which_the_jvm_has_others_now(lake: Lake) -> None:
    """It was handed over anew by a query under way, whole, while the next version began with what it had by that name."""
    for i in range(3):
        lake.file(f"{i}.parquet", {"x": [i]})
    lake.index(MinMax("x"))
    frame = lake.table().read("snapshot")
    assert frame.where("x = 1").count() == 1
    store = lake.table()._store
    lake.file("3.parquet", {"x": [1]})
    lake.table().refresh()
    assert frame.where("x = 1").count() == 2
    lake.file("4.parquet", {"x": [1]})
    lake.table().refresh()
    last = store.snapshot()
    assert last is not None and last._mapped[1] == 3
    last._mapped = last._mapped[0], 2
    assert frame.where("x = 1").count() == 3
