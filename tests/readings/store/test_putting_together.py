"""The rows of small files of an index, put together: in little memory, beside the rows of all others, and where the index is deleted."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

from data_skip.store import DeltaStore, FileKey, StoreError, delta, new_parts, records, rewriting, snapshot
from data_skip.store.definition import Definition
from data_skip.store.delta import rows_of
from data_skip.store.layout import BASE, OF_TABLE, definition_field, keys_of
from tests.test_parts import READER, column, filled, opened
from tests.test_parts import store as store
from tests.test_rewriting import append_one, content, names
from tests.test_rewriting import records as some_records

_TEXTS = pa.struct([("texts", pa.list_(pa.string()))])
_TREE = {"id": 0, "name": "AttributeReference", "type": "bigint", "column": "x", "partition": False}


def append(store: DeltaStore, name: str, rows: int, texts: list[str], column: str = "x") -> None:
    field = definition_field(column, _TEXTS, Definition("Test", (column,), {}, 1, (_TREE,), READER))
    records = pa.array([{"texts": texts}] * rows, _TEXTS)
    store.append([FileKey(f"{name}{i}", 1, 1) for i in range(rows)], [1] * rows, {field: records})


def test_small_files_take_no_more_memory_than_a_row_group(store: DeltaStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Since each is small, there may be very many: an index of large records was never put together, as if it were read at once."""
    for i in range(10):
        append(store, f"{i}-", 10, [f"{i} {j}" for j in range(1000)])
    before = content(store)
    (one, *_) = names(store)
    least = pq.read_metadata(Path(store.location, one)).row_group(0).total_byte_size
    with monkeypatch.context() as patched:
        patched.setattr(records, "most_bytes", lambda: 20 * least)
        patched.setattr(records, "_READ_AHEAD", least)
        store.put_together()
    assert len(names(store)) == 1 and content(store) == before


def test_large_records_are_put_together_some_at_a_time(store: DeltaStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Writing them takes some times their memory, whatever is read at a time."""
    for i in range(6):
        append(store, f"{i}-", 10, [f"{i} {j}" for j in range(100)])
    before = content(store)
    of_one, *_ = (opened(store).rows_and_bytes([part], opened(store).schema.names)[1] for part in opened(store).parts)
    monkeypatch.setattr(snapshot, "_TOGETHER", 3 * of_one + of_one // 2)
    for left in (4, 2):
        store.put_together()
        assert len(names(store)) == left and content(store) == before
    monkeypatch.setattr(snapshot, "_TOGETHER", 1)
    for left in (1, 1):
        store.put_together()
        assert len(names(store)) == left and content(store) == before


def test_row_groups_are_as_small_as_what_they_take_in_memory(store: DeltaStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of lists that are the same in many files, Parquet has each text once: row groups of these took gigabytes, which nobody could read."""
    monkeypatch.setattr(new_parts, "_BYTES_OF_GROUP", 1 << 20)
    monkeypatch.setattr(new_parts, "_MOST_IN_GROUP", 1 << 16)
    texts = [f"a text of some length {i:05}" for i in range(200)]
    append(store, "large", 1, [""])
    for i in range(4):
        append(store, f"{i}-", 100, texts)
    store.put_together()
    (together,) = names(store)
    footer = pq.read_metadata(Path(store.location, together))
    largest = max(footer.row_group(i).num_rows for i in range(footer.num_row_groups))
    assert footer.row_group(0).total_byte_size < 1 << 18 < largest * 200 * len(texts[0]) < 1 << 20


def test_an_index_can_be_read_while_rows_are_there_twice(store: DeltaStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """It could not, of more than half as many rows as are read at most: then not even those that were there twice could be removed."""
    for i in range(6):
        store.append([FileKey(f"{i}-{j}", 1, 1) for j in range(10)], [1] * 10, {column("x"): some_records(Random(i), 10)})
    before = content(store)
    monkeypatch.setattr(snapshot, "MANY_ROWS", 0)
    seen: list[int] = []
    remove = DeltaStore._remove

    def counted(self: DeltaStore, *args: Any) -> None:
        seen.append(opened(self).rows)
        remove(self, *args)

    monkeypatch.setattr(DeltaStore, "_remove", counted)
    for most in (80, 120):
        for module in (records, snapshot, delta):
            monkeypatch.setattr(module, "MOST_ROWS", most)
        store.put_together()
        assert content(store) == before
    assert seen == [80, 90] and len(names(store)) == 3, "at most half of all"
    version = opened(store).version
    for module in (records, snapshot, delta):
        monkeypatch.setattr(module, "MOST_ROWS", 60)
    with pytest.raises(StoreError, match="would have 61 rows, at most 60 are read; nothing was written"):
        append_one(store)
    assert opened(store).version == version


def test_rows_that_say_of_no_table_are_put_together_as_rows_of_this_one(store: DeltaStore) -> None:
    """As all that is written: they may get into the log of another one, made in the place of this."""
    DeltaTable.create(store.location, BASE)
    for i in range(2):
        rows = rows_of(keys_of([FileKey(f"{i}", 1, 1)]), [1], {column("x"): some_records(Random(i), 1)})
        write_deltalake(store.location, rows, mode="append", schema_mode="merge")
    before = content(store)
    store.put_together()
    (together,) = names(store)
    assert pq.read_table(Path(store.location, together))[OF_TABLE.name].to_pylist() == [opened(store).number] * 2
    assert content(store) == before


@pytest.mark.parametrize("how", [DeltaStore.put_together, DeltaStore.compact, "in parts"])
def test_an_index_that_is_deleted_meanwhile_leaves_no_file_behind(
    store: DeltaStore, monkeypatch: pytest.MonkeyPatch, how: Callable[[DeltaStore], None] | str
) -> None:
    """None could be made there any more. Records of a NaN are equal to none; of rows that are read in parts, none are at hand."""
    filled(store, Random(1))
    monkeypatch.setattr(rewriting, "_AT_ONCE", 0 if how == "in parts" else 1 << 30)
    write = delta.write_deltalake

    def deleting(target: DeltaTable, rows: Any, **how: Any) -> None:
        def read() -> Any:
            yield from rows if isinstance(rows, pa.RecordBatchReader) else rows.to_batches()
            shutil.rmtree(store.location)

        write(target, pa.RecordBatchReader.from_batches(rows.schema, read()), **how)

    monkeypatch.setattr(delta, "write_deltalake", deleting)
    with pytest.raises(StoreError, match="deleted meanwhile"):
        (DeltaStore.compact if isinstance(how, str) else how)(store)
    assert not Path(store.location).exists()
    monkeypatch.undo()
    append_one(store)
    assert opened(store).count == 1


def test_an_index_that_takes_too_much_memory_is_dropped(store: DeltaStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """How large row groups of the others may be does not depend on it."""
    filled(store, Random(2))
    append(store, "large", 5, [f"{i}" for i in range(10_000)], "z")
    before = content(store)
    with monkeypatch.context() as patched:
        patched.setattr(rewriting, "_AT_ONCE", 0)
        patched.setattr(records, "most_bytes", lambda: 1 << 18)
        store.drop("z")
    assert content(store) == {file: (*said[:2], [of for of in said[2] if of[0] != "z"]) for file, said in before.items()}
