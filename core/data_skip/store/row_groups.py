"""The row groups of an index's files: what their statistics tell of records that are not read, and the records of some, field by field.

Statistics are believed of files that data-skip has written, by parquet-rs or, in tasks, by parquet-cpp: both put NaN aside, of which
Parquet does not tell whether there is any, so ends of floating-point numbers are told of row groups that were read before. Text may be cut
in them: what is told lies beyond it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import groupby
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from data_skip.store.sizes import least_bytes, most_bytes, refuse_large

_WRITERS = ("parquet-rs ", "parquet-cpp-arrow ")
_PHYSICAL = {"INT32": pa.int32(), "INT64": pa.int64()}
Ends = tuple[pa.Scalar | None, pa.Scalar | None]  # the smallest and the largest value; None for both where nothing is known
_UNKNOWN: Ends = (None, None)


class StoredFile(Protocol):
    """A file of an index: a fragment of a dataset of Arrow, or an OpenedFile."""

    @property
    def path(self) -> str: ...
    @property
    def metadata(self) -> pq.FileMetaData: ...
    def open(self) -> Any: ...


class OpenedFile:
    """A file of an index, as a task opens it."""

    def __init__(self, path: str, opened: Callable[[str], Any]) -> None:
        """opened: what opens a path, for pq.ParquetFile."""
        self.path, self._opened = path, opened

    @cached_property
    def metadata(self) -> pq.FileMetaData:
        """Its footer."""
        return pq.read_metadata(self.open())

    def open(self) -> Any:
        """Its bytes."""
        return self._opened(self.path)


class Group(NamedTuple):
    """A row group."""

    file: int  # the place of its file
    number: int  # in its file


class RowGroups:
    """The row groups of files of an index, in the order of its rows."""

    def __init__(self, files: Sequence[StoredFile], schema: pa.Schema, groups: Sequence[Group] | None = None) -> None:
        """groups: those that count; None: all of the files."""
        self._schema, self._files = schema, files
        every = [Group(i, number) for i, file in enumerate(files) for number in range(file.metadata.num_row_groups)]
        self._groups = every if groups is None else list(groups)
        if groups is None:
            refuse_count(
                sum(files[group.file].metadata.row_group(group.number).num_rows for group in every),
                sum(file.metadata.num_rows for file in files),
            )
        counts = [files[group.file].metadata.row_group(group.number).num_rows for group in self._groups]
        self.starts = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])  # of the rows of each, and where the last ends
        self._ends: dict[tuple[str, str], tuple[pa.Array, pa.Array]] = {}
        self._sizes: dict[tuple[str, int, int], int] = {}
        self.without_nan: dict[tuple[str, str], npt.NDArray[np.bool_]] = {}  # by index and field, which groups were seen to have none

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self._groups)

    def ends(self, column: str, field: str) -> tuple[pa.Array, pa.Array] | None:
        """As clause.Groups has them."""
        type_ = field_type(self._schema, column, field)
        if type_ is None or not has_ends(type_):
            return None
        if (column, field) not in self._ends:
            of_files = [list(_ends_in(file, column, field, type_)) for file in self._files]
            found = [of_files[group.file][group.number] for group in self._groups]
            self._ends[column, field] = (pa.array([low for low, _ in found], type_), pa.array([high for _, high in found], type_))
        low, high = self._ends[column, field]
        if pa.types.is_floating(type_):
            known = pa.array(self.without_nan.get((column, field), np.zeros(self.count, dtype=bool)))
            low, high = (pc.if_else(known, end, None) for end in (low, high))
        return low, high

    def bytes_of(self, group: int, column: str, fields: Collection[str], rough: int) -> int:
        """How many bytes some fields of the records of a row group take at most. rough, ValueError: as of refuse_large."""
        key = f"{column}.{','.join(sorted(fields))}", group, rough
        if key not in self._sizes:
            file, number = self._groups[group]
            fragment, names = self._files[file], [f"{column}.{field}" for field in fields]
            try:
                self._sizes[key] = refuse_large(fragment.open, names, most_bytes(), fragment.metadata, [number], rough)
            except ValueError as error:
                raise ValueError(f"{fragment.path} {error}") from error
        return self._sizes[key]

    def least_bytes_of(self, group: int, column: str, fields: Collection[str]) -> int:
        """How many bytes they take at least, by the footer alone. ValueError: as of refuse_large."""
        file, number = self._groups[group]
        return least_bytes(self._files[file].metadata, [f"{column}.{field}" for field in fields], [number])

    def where(self, groups: Sequence[int]) -> tuple[list[StoredFile], list[Group]]:
        """In which files some row groups lie, and which of them each is there."""
        found = [self._groups[group] for group in groups]
        places = {file: place for place, file in enumerate(dict.fromkeys(group.file for group in found))}
        return [self._files[file] for file in places], [Group(places[group.file], group.number) for group in found]

    def schema_of(self, columns: Collection[str]) -> pa.Schema:
        """The types of the records of some indexes, and nothing else."""
        return pa.schema([self._schema.field(column).remove_metadata() for column in columns])

    def read(self, groups: Sequence[int], column: str, fields: Sequence[str]) -> pa.ChunkedArray:
        """The records of an index in some row groups, in their order, with some of their fields."""
        type_ = pa.struct([self._schema.field(column).type.field(field) for field in fields])
        by_file = groupby((self._groups[group] for group in groups), lambda group: group.file)
        chunks = [chunk for file, those in by_file for chunk in self._read(file, [group.number for group in those], column, type_)]
        found = pa.chunked_array(chunks, type_)
        for field in type_:
            if pa.types.is_floating(field.type) and not _has_nan(found, field.name):
                self.have_no_nan(column, field.name, groups)
        return found

    def with_records(self, group: int, column: str) -> npt.NDArray[np.bool_]:
        """Which rows of a row group have a record of an index: each field that the file has tells, so the one is read that takes least."""
        names = [field.name for field in self._schema.field(column).type]
        least = min(names, key=lambda name: self.least_bytes_of(group, column, [name]) or math.inf)  # no bytes: the file has no such field
        return self.read([group], column, [least]).is_valid().to_numpy()

    def have_no_nan(self, column: str, field: str, groups: Sequence[int]) -> None:
        """Notes that a field has none in some row groups, so that their ends are all that there is."""
        self.without_nan.setdefault((column, field), np.zeros(self.count, dtype=bool))[list(groups)] = True

    def _read(self, file: int, numbers: list[int], column: str, type_: pa.StructType) -> list[pa.StructArray]:
        fragment = self._files[file]
        names = [f"{column}.{field.name}" for field in type_]
        rows = pq.ParquetFile(fragment.open(), metadata=fragment.metadata, pre_buffer=True).read_row_groups(numbers, columns=names)
        count = sum(fragment.metadata.row_group(number).num_rows for number in numbers)
        if column not in rows.column_names:  # an index of later, or none of the fields that are asked for
            return [pa.nulls(count, type_)]
        refuse_count(len(rows), count)
        return [_as(chunk, type_) for chunk in rows[column].chunks]


def refuse_count(read: int, told: int) -> None:
    """ValueError where there are not as many rows as footers tell, as of a damaged one: what follows would be taken for others' records."""
    if read != told:
        raise ValueError(f"it has {read:,} rows where its files tell of {told:,}")


def field_type(schema: pa.Schema, column: str, field: str) -> pa.DataType | None:
    """The type of a field of the records of an index; None where there is none."""
    type_ = schema.field(column).type if column in schema.names else pa.null()
    return type_.field(field).type if pa.types.is_struct(type_) and type_.get_field_index(field) >= 0 else None


def has_ends(type_: pa.DataType) -> bool:
    """Whether values of a type lie in Parquet in the order of Arrow."""
    return not (pa.types.is_nested(type_) or pa.types.is_unsigned_integer(type_) or pa.types.is_null(type_))


def _ends_in(file: StoredFile, column: str, field: str, type_: pa.DataType) -> Iterator[Ends]:
    """The ends of a field in each row group of a file."""
    metadata = file.metadata
    leaves = [i for i in range(metadata.num_columns) if metadata.schema.column(i).path == f"{column}.{field}"]
    known = (
        (metadata.created_by or "").startswith(_WRITERS)
        and len(leaves) == 1
        and metadata.schema.column(leaves[0]).max_repetition_level == 0
    )
    known = known and field_type(metadata.schema.to_arrow_schema(), column, field) == type_
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        yield _ends_of(group.column(leaves[0]), group.num_rows, type_) if known else _UNKNOWN


def _ends_of(chunk: pq.ColumnChunkMetaData, rows: int, type_: pa.DataType) -> Ends:
    """Of a column chunk of which each of so many rows has a value."""
    found = chunk.statistics
    if found is None or not found.has_min_max or not found.has_null_count or found.null_count or chunk.num_values != rows:
        return _UNKNOWN
    with suppress(ValueError, OverflowError, pa.ArrowException):  # as text that was cut within a letter
        if not (pa.types.is_integer(type_) or pa.types.is_temporal(type_)):
            ends = pa.scalar(found.min, type_), pa.scalar(found.max, type_)
            return _UNKNOWN if pa.types.is_floating(type_) and any(math.isnan(end.as_py()) for end in ends) else ends
        if chunk.physical_type in _PHYSICAL:  # Python has no dates beyond the year 9999
            low, high = (pa.scalar(end, _PHYSICAL[chunk.physical_type]).cast(type_) for end in (found.min_raw, found.max_raw))
            return low, high
    return _UNKNOWN


def _has_nan(records: pa.ChunkedArray, field: str) -> bool:
    return any(pc.any(pc.is_nan(pc.struct_field(chunk, field))).as_py() for chunk in records.chunks)


def _as(records: pa.StructArray, type_: pa.StructType) -> pa.StructArray:
    """Records with all fields of a type, of these alone; null in each where the file has no such field."""
    if records.type == type_:
        return records
    have = records.type
    fields = [
        pc.struct_field(records, field.name).cast(field.type)
        if have.get_field_index(field.name) >= 0
        else pa.nulls(len(records), field.type)
        for field in type_
    ]
    return pa.StructArray.from_arrays(fields, fields=list(type_), mask=records.is_null())
