"""Checkpoints of an index's log, and logs of which commits are gone: none may hide what deltalake reads."""

from __future__ import annotations

import os
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from data_skip.store import DeltaStore, FileKey, StoreError
from data_skip.store.definition import Definition
from data_skip.store.layout import BASE, definition_field, said
from tests.readings.support import log_folder, old, store_of_two_indexes
from tests.test_security import Forged, forged
from tests.test_store import column, key, records

__all__ = ["forged", "store_of_two_indexes"]  # fixtures


@pytest.mark.parametrize("name", ["99999999999999999999", "٩" * 20, "00000000000000000001", "09999999999999999999"])
def test_a_checkpoint_that_deltalake_takes_for_none_hides_no_commits(forged: Forged, name: str) -> None:
    """Commits before it were not looked at, and deltalake read them: the process ended."""
    DeltaTable(forged.store.location).create_checkpoint()
    checkpoint = (forged.log / f"{1:020}.checkpoint.parquet").rename(forged.log / f"{name}.checkpoint.parquet")
    if name.startswith("0000"):
        checkpoint.write_bytes(b"")
    (forged.log / "_last_checkpoint").unlink()
    log, deep = forged.log / f"{1:020}.json", "[" * 200 + "]" * 200
    log.write_text(f'{log.read_text()}\n{{"add":{{"path":"a","stats":{deep}}}}}')
    forged.refused("nested more than")


def test_an_empty_checkpoint_does_no_harm(forged: Forged) -> None:
    """As of a machine that lost its power."""
    (forged.log / f"{1:020}.checkpoint.parquet").touch()
    assert forged.read() is not None


def test_an_empty_checkpoint_has_no_commits_cleaned_up(forged: Forged) -> None:
    """deltalake deletes old commits before any checkpoint, whatever is in it: then nothing tells what is in the index."""
    for name in "bcd":
        forged.add(FileKey(name, 10, 1))
    (forged.log / f"{3:020}.checkpoint.parquet").touch()
    for file in forged.log.iterdir():
        os.utime(file, (time.time() - 40 * 86400,) * 2)
    forged.add(FileKey("e", 10, 1))
    assert DeltaStore(forged.store.uri).snapshot().count == 5
    assert (forged.log / f"{0:020}.json").exists()


@pytest.mark.parametrize("is_there", [True, False])
def test_a_hint_of_a_checkpoint_that_was_lost(forged: Forged, is_there: bool) -> None:
    """The hint is written over one that is there, and so it outlives a loss of power that empties the checkpoint, which has a new name."""
    for name in "bcd":
        forged.add(FileKey(name, 10, 1))
    DeltaTable(forged.store.location).create_checkpoint()
    checkpoint = next(forged.log.glob("*.checkpoint.parquet"))
    if is_there:
        checkpoint.write_bytes(b"")
    else:
        checkpoint.unlink()
    with ThreadPoolExecutor(4) as threads:  # whoever comes second to delete it
        found = threads.map(lambda _: DeltaStore(forged.store.uri).snapshot().count, range(4))
        assert [*found] == [4] * 4
    forged.add(FileKey("e", 10, 1))
    assert DeltaStore(forged.store.uri).snapshot().count == 5


def test_what_is_only_told_deletes_no_empty_checkpoint(forged: Forged) -> None:
    checkpoint = forged.log / f"{1:020}.checkpoint.parquet"
    checkpoint.touch()
    forged.store.vacuum(168, dry_run=True)
    assert checkpoint.exists()
    forged.store.vacuum(168)
    assert not checkpoint.exists()


@pytest.mark.parametrize("where", ["elsewhere", "up", "file:", "inside"])
def test_checkpoints_that_name_further_files(forged: Forged, where: str) -> None:
    """deltalake reads what a checkpoint calls its sidecars, wherever they lie, and however large they are."""
    forged.add(FileKey("b", 10, 1))
    DeltaTable(forged.store.location).create_checkpoint()
    assert forged.read() is not None
    path = next(forged.log.glob("*.checkpoint.parquet"))
    rows = pq.read_table(path)
    actions = rows.to_pylist()
    elsewhere = forged.place.parents[4] / "elsewhere.parquet"
    adds = [{"add": action["add"]} for action in actions if action["add"]]
    pq.write_table(pa.Table.from_pylist(adds, pa.schema([rows.schema.field("add")])), elsewhere)
    sidecars = forged.log / "_sidecars"
    sidecars.mkdir()
    shutil.copy(elsewhere, sidecars / "a.parquet")
    up = os.path.relpath(elsewhere, sidecars)
    named = {"elsewhere": str(elsewhere), "up": up, "file:": f"file://{elsewhere}", "inside": "a.parquet"}
    sidecar = {"path": named[where], "sizeInBytes": elsewhere.stat().st_size, "modificationTime": 0, "tags": None}
    others = [action for action in actions if not action["add"]]
    pq.write_table(pa.Table.from_pylist([*others, {"sidecar": sidecar}], rows.schema), path)
    for commit in forged.log.glob("*.json"):
        commit.unlink()
    assert len(DeltaTable(forged.store.location).file_uris()) == 2
    forged.refused("names further files")


@pytest.mark.parametrize("name", [f"{3:020}.checkpoint.parquet#1", f"{4:020}.json#12", "_last_checkpoint#1"])
def test_a_checkpoint_that_is_being_written(store_of_two_indexes: DeltaStore, name: str) -> None:
    """Meanwhile, and for ever where its writer was killed, it was taken for a kind of checkpoint that is refused."""
    left = old(log_folder(store_of_two_indexes) / name)
    for _ in range(2):
        fresh = DeltaStore(store_of_two_indexes.uri)
        snapshot = fresh.snapshot()
        assert snapshot is not None and snapshot.version == 3
    fresh.append([key("c")], [5], {column("x"): records(1)}, False)
    assert fresh.vacuum(168) == [f"_delta_log/{name}"] and not left.exists()


@pytest.mark.parametrize("name", ["checkpoint.0000000001.0000000001.parquet", "checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.json"])
def test_other_kinds_of_checkpoints_are_refused_as_before(store_of_two_indexes: DeltaStore, name: str) -> None:
    (log_folder(store_of_two_indexes) / f"{3:020}.{name}").write_bytes(b"x")
    with pytest.raises(StoreError, match="a kind of checkpoint"):
        DeltaStore(store_of_two_indexes.uri).snapshot()


def test_a_log_whose_beginning_is_gone(store_of_two_indexes: DeltaStore) -> None:
    """What was there before was told as created by the first commit that says which indexes there are."""
    DeltaTable(store_of_two_indexes.location).create_checkpoint()
    store_of_two_indexes.append([key("c")], [5], {column("z"): records(1)})
    store_of_two_indexes.drop("z")
    assert [(step.action, step.indexes) for step in store_of_two_indexes.history()][1:] == [
        ("created", ["MinMax(x)"]),
        ("created", ["MinMax(y)"]),
        ("added", []),
        ("created", ["MinMax(z)"]),
        ("dropped", ["MinMax(z)"]),
    ]
    for version in range(3):
        (log_folder(store_of_two_indexes) / f"{version:020}.json").unlink()
    told = DeltaStore(store_of_two_indexes.uri).history()
    assert [(step.version, step.action, step.indexes) for step in told] == [
        (3, "added", []),
        (4, "unknown", []),
        (5, "dropped", ["MinMax(z)"]),
    ]


RECORD = pa.struct({"min": pa.int64()})


def test_an_index_whose_log_was_cleaned_up_is_known_by_its_checkpoint(tmp_path: Path) -> None:
    """Its last commit may be in a checkpoint alone. Deleted and made anew with fewer versions, it was taken for what it was before."""
    place = str(tmp_path / "index")
    definition = Definition("MinMax", ("x",), {}, 1, (), {"format": "parquet", "options": {}, "columns": [], "session": {}})

    def add(name: str) -> None:
        column = definition_field("min_max__x", RECORD, definition)
        DeltaStore(place).append([FileKey(name, 1, 1)], [1], {column: pa.array([{"min": 1}], RECORD)})

    for name in ("a", "b", "c"):
        add(name)
    DeltaTable(place).create_checkpoint()
    for commit in (tmp_path / "index" / "_delta_log").glob("*.json"):
        commit.unlink()
    store = DeltaStore(place)
    known = store.snapshot()
    assert known is not None and len(known.files) == 3
    assert store.snapshot() is known  # nothing changed: it is not read again
    shutil.rmtree(place)
    add("d")
    again = store.snapshot()
    assert again is not None and [file.path for file in again.files] == ["d"]


def test_an_index_of_which_no_commit_is_found_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = str(tmp_path / "index")
    DeltaTable.create(place, schema=BASE)
    store = DeltaStore(place)
    monkeypatch.setattr(DeltaStore, "_commit_of", lambda *_: ())
    known = store.snapshot()
    shutil.rmtree(place)
    made = DeltaTable.create(place, schema=BASE)
    again = store.snapshot()
    assert known is not None and again is not None and known.said != again.said == said(made)
