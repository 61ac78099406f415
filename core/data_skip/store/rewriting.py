"""The rows of an index, one for each file version that is to be kept: all at once, or, of one that takes much memory, some at a time."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from data_skip.store.layout import BASE, KEYS, OF_TABLE
from data_skip.store.parts import joined
from data_skip.store.sizes import most_bytes
from data_skip.store.snapshot import Snapshot
from data_skip.store.versions import Places, taken

_AT_ONCE = min(1 << 31, most_bytes() // 4)  # bytes of records, which are sorted as a whole: with what is made of them three times as many
_SOME = 1 << 28  # and of more: with what is made of them meanwhile; twice, since some are written while the next are read
Order = tuple[str, str]  # an index's column, and a field of its records
Item = TypeVar("Item")


def rewritten(
    snapshot: Snapshot, columns: Sequence[str], live: npt.NDArray[np.bool_], order: Order | None
) -> pa.Table | pa.RecordBatchReader:
    """The rows of some file versions with the records of some indexes, and by which table they were written.

    order: by which rows are sorted, or of an index that takes much memory those that are in memory together; None: as they are. StoreError
    where records cannot be read, of a RecordBatchReader once it is read.
    """
    if len(snapshot.fitting(columns, _AT_ONCE)) == len(columns):
        records = snapshot.records(columns)
        return _rows(snapshot, np.flatnonzero(live), {name: records[name].filter(pa.array(live)) for name in columns}, order)
    some = ahead(snapshot.records_by_part({name: _fields(snapshot, name) for name in columns}, live, _SOME))
    empty = {name: pa.array([], snapshot.fields[name].type) for name in columns}
    schema = _rows(snapshot, np.empty(0, dtype=np.int64), empty, None).schema
    batches = (batch for places, found in some for batch in _rows(snapshot, places, found, order).cast(schema).to_batches())
    return pa.RecordBatchReader.from_batches(schema, batches)


def rows_again(snapshot: Snapshot, parts: Collection[str]) -> pa.RecordBatchReader:
    """The rows of some files as they are. All say of which table they are, as those of earlier versions of data-skip do not."""
    others = [field for field in snapshot.schema if field.name != OF_TABLE.name]
    schema = pa.schema([*(snapshot.fields.get(field.name, field).with_type(field.type) for field in others), OF_TABLE])

    def said(batch: pa.RecordBatch) -> pa.RecordBatch:
        of_table = pa.array(np.full(len(batch), snapshot.number), OF_TABLE.type)
        return pa.RecordBatch.from_arrays([*(batch[field.name] for field in others), of_table], schema.names).cast(schema)

    return pa.RecordBatchReader.from_batches(schema, map(said, ahead(snapshot.rows_of(parts))))


def ahead(items: Iterator[Item]) -> Iterator[Item]:
    """Items that a thread of its own makes, the next one while one is used.

    In the thread that deltalake writes from, it could not read from an object store.
    """
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(next, items, None)
        while (item := coming.result()) is not None:
            coming = pool.submit(next, items, None)
            yield item


def _fields(snapshot: Snapshot, column: str) -> list[str]:
    return [field.name for field in snapshot.fields[column].type]


def _rows(snapshot: Snapshot, places: Places, records: dict[str, pa.StructArray], order: Order | None) -> pa.Table:
    """The rows of file versions, by their places, with their records."""
    further = (snapshot.row_counts, snapshot.generations, snapshot.recorded)
    about = [*BASE][len(KEYS) :] if snapshot.is_listing else [BASE.field("row_count")]  # what was no listing is none by being rewritten
    keys = [joined(column) for column in taken(snapshot.keys, places).columns]
    arrays = [*keys, *(pa.array(values[places], field.type, from_pandas=True) for values, field in zip(further, about, strict=False))]
    arrays += [*records.values(), pa.array(np.full(len(places), snapshot.number), OF_TABLE.type)]
    fields = [field.with_type(array.type) for field, array in zip(KEYS, keys, strict=True)] + about
    fields += [snapshot.fields[name].with_type(array.type) for name, array in records.items()]
    rows = pa.Table.from_arrays(arrays, schema=pa.schema([*fields, OF_TABLE]))
    if order is not None and order[0] in records:
        rows = rows.take(pc.sort_indices(pc.struct_field(records[order[0]], order[1])))
    return rows
