"""The records of one plain file, read by pyarrow: what a task does that reads files itself (see direct.py)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from io import RawIOBase
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from data_skip.building.collect import Collected, finish_records, merge_records, record_of, takes_distinct
from data_skip.building.distinct_values import DistinctValues
from data_skip.building.lifting import Part, is_local, lifted, unchanged
from data_skip.building.plain import NotPlain, decoded, values, why_not_in
from data_skip.building.remote_files import NOWHERE, RemoteFiles
from data_skip.expression import Column, Expression
from data_skip.footer import Footer
from data_skip.index import Index, Record

_ROWS, _BYTES = 1 << 18, 1 << 26  # of a batch of all columns, at most
_ROWS_OF_TEXT = 1 << 14  # of one with text that is read from a shorter form, and may take any multiple of its bytes there
_TEXTS = ("string", "binary")
Batches = Iterator[dict[tuple[str, ...], pa.Array]]  # of values of columns, by their paths


@dataclass(frozen=True)
class Wanted:
    """What tasks make of files: the records of some indexes, over columns; None of one over more than columns, which can be lifted only."""

    indexes: list[Index]
    columns: list[tuple[Column, ...] | None]
    trees: Mapping[Index, tuple[Expression, ...]]  # for lifting; empty where not all indexes can be
    batches: Callable[[Path | RawIOBase, Part, list[Column]], Batches] | None = None  # of another format than Parquet

    @property
    def all_columns(self) -> list[Column]:
        """Each column that is read, once. NotPlain where an index is over more than columns."""
        found: dict[tuple[str, ...], Column] = {}
        for index, columns in zip(self.indexes, self.columns, strict=True):
            if columns is None:
                raise NotPlain(f"{index} is not over plain columns")
            found |= {column.path: column for column in columns}
        return list(found.values())


@dataclass
class Found:
    """What came of a part: what is known of it, or why Spark has to read the file; and the first error of each index, by its place."""

    number: int
    file: Collected | None = None
    why: str = ""
    lifted: bool = False
    errors: dict[int, str] = field(default_factory=dict)


def records_of(part: Part, wanted: Wanted, remote: RemoteFiles = NOWHERE) -> Found:
    """What is known of a part; of a whole file its finished records. An error of whatever library where it cannot be read."""
    if not is_local(part.uri):
        with remote.opened(part.uri) as file:
            return _records_of(part, wanted, file)
    return _records_of(part, wanted, unchanged(part))


def batches_of(part: Part, columns: list[Column]) -> Iterator[dict[tuple[str, ...], pa.Array]]:
    """The values of columns of a part of a local file, as `_batches` has them. An error where it cannot be read, or not as Spark does."""
    path = unchanged(part)
    footer = Footer(path, pq.read_metadata(path))
    if why := why_not_in(footer, columns):
        raise NotPlain(why)
    yield from _batches(footer, part, columns)


def _records_of(part: Part, wanted: Wanted, file: Path | RawIOBase) -> Found:
    known = _Known(wanted)
    if wanted.batches:
        for batch in wanted.batches(file, part, wanted.all_columns):
            known.add(batch)
        return known.found(part)
    footer = Footer(file, pq.read_metadata(file))
    if part.parts == 1 and wanted.trees and (collected := lifted(footer, wanted.trees)) is not None:
        return Found(part.number, collected, lifted=True)
    columns = wanted.all_columns
    if why := why_not_in(footer, columns):
        raise NotPlain(why)
    for batch in _batches(footer, part, columns):
        known.add(batch)
    return known.found(part)


def _batches(footer: Footer, part: Part, columns: list[Column]) -> Iterator[dict[tuple[str, ...], pa.Array]]:
    """The values of columns by their paths, some rows at a time; text and bytes as they are encoded, where that is by a dictionary."""
    metadata = footer.metadata
    groups = range(*(metadata.num_row_groups * end // part.parts for end in (part.place, part.place + 1)))
    chunks = {column: footer.chunks_at(place) for column in columns if (place := footer.place(column)) is not None}
    encoded = [
        ".".join(column.path)
        for column, of_groups in chunks.items()
        if column.type in _TEXTS and of_groups and all(chunk.has_dictionary_page for chunk in of_groups)
    ]
    names = [".".join(column.path) for column in columns]
    remote = not isinstance(footer.file, Path)  # of which columns that lie side by side are one request
    with pq.ParquetFile(footer.file, metadata=metadata, read_dictionary=encoded, pre_buffer=remote) as file:
        for group in groups:
            rows = metadata.row_group(group).num_rows
            size = sum(of_groups[group].total_uncompressed_size for of_groups in chunks.values())
            short = any(_lies_shorter(of_groups[group], column, encoded) for column, of_groups in chunks.items())
            at_once = max(1, min(_ROWS_OF_TEXT if short else _ROWS, rows * _BYTES // max(size, 1)))
            read = 0
            for batch in file.iter_batches(at_once, row_groups=[group], columns=names, use_threads=False):
                read += len(batch)
                if len(batch):
                    yield {column.path: _values(batch, column, footer.of_modern_spark) for column in columns}
            if read != rows:
                raise NotPlain(f"a row group of {rows} rows has {read}")


def _lies_shorter(chunk: pq.ColumnChunkMetaData, column: Column, encoded: Collection[str]) -> bool:
    """Whether text may take more bytes as it is read than where it lies; encoded: columns that are read as they are, by dictionaries."""
    shorter = "DELTA_BYTE_ARRAY" in chunk.encodings or (chunk.has_dictionary_page and ".".join(column.path) not in encoded)
    return column.type in _TEXTS and shorter


def _values(batch: pa.RecordBatch, column: Column, modern: bool) -> pa.Array:
    name, *fields = column.path
    if len(batch.schema.get_all_field_indices(name)) != 1:
        raise NotPlain(f"column {column} is there more than once")
    array = batch.column(name)
    return values(pc.struct_field(array, fields) if fields else array, column.type, modern)


class _Known:
    """What is known so far of a file."""

    def __init__(self, wanted: Wanted) -> None:
        self._indexes = wanted.indexes
        self._paths = [tuple(column.path for column in columns or ()) for columns in wanted.columns]
        once = [i for i, index in enumerate(self._indexes) if takes_distinct(index) and len(self._paths[i]) == 1]
        self._once = {path: [i for i in once if self._paths[i] == (path,)] for i in once for path in self._paths[i]}
        self._often = [i for i in range(len(self._indexes)) if i not in once]
        self._distinct = {path: DistinctValues() for path in self._once}
        self._records: dict[int, Record | None] = {}
        self._rows = 0
        self._errors: dict[int, str] = {}
        self._failures: dict[Index, str] = {}

    def add(self, batch: Mapping[tuple[str, ...], pa.Array]) -> None:
        """Some rows."""
        self._rows += len(next(iter(batch.values())))
        for path, distinct in self._distinct.items():
            distinct.add(batch[path])
            if distinct.full:
                self._take(path)
        often = {path: batch[path] for i in self._often for path in self._paths[i]}
        for start, end in pairwise(_cuts(often.values())):
            plain = {path: decoded(array.slice(start, end - start)) for path, array in often.items()}
            for i in self._often:
                self._collect(i, [plain[path] for path in self._paths[i]])

    def _take(self, path: tuple[str, ...]) -> None:
        if (found := self._distinct[path].take()) is not None:
            for i in self._once[path]:
                self._collect(i, [found])

    def _collect(self, i: int, arrays: list[pa.Array]) -> None:
        index = self._indexes[i]
        record, why = record_of(index, arrays)
        if why:
            self._errors.setdefault(i, why)
        if i in self._records:
            (record,) = merge_records([index], [self._records[i]], [record], self._failures)
        self._records[i] = record

    def found(self, part: Part) -> Found:
        """All of it."""
        for path in self._distinct:
            self._take(path)
        records = [self._records.get(i) for i in range(len(self._indexes))]
        if part.parts == 1:
            records = finish_records(self._indexes, records, self._failures)
        failed = {i: self._failures[index] for i, index in enumerate(self._indexes) if index in self._failures}
        return Found(part.number, Collected(self._rows, records=records), errors=failed | self._errors)


def _cuts(arrays: Collection[pa.Array]) -> list[int]:
    """Where to cut arrays of equal length, so that no part takes much more than `_BYTES` once it is without dictionaries."""
    rows = len(next(iter(arrays), ()))
    encoded = [array for array in arrays if pa.types.is_dictionary(array.type)]
    if not encoded:
        return sorted({0, rows})
    sizes = np.zeros(rows, dtype=np.int64)
    for array in encoded:
        sizes += pc.binary_length(array.dictionary).take(array.indices).fill_null(0).to_numpy()
    ends = sizes.cumsum()
    whole = int(ends[-1]) if rows else 0
    return sorted({0, rows, *np.searchsorted(ends, np.arange(_BYTES, whole, _BYTES)).tolist()})
