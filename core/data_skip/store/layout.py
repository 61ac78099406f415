"""How an index is laid out as a Delta table: the columns that each has, and what is declared of the others. Their use: see delta.py."""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import sha256
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable

from data_skip.errors import DataSkipError, printable
from data_skip.store.definition import Definition
from data_skip.store.versions import KEYS_SCHEMA

LAYOUT = 1  # of the store; a store of a later layout is left alone
LAYOUT_KEY = b"data_skip.layout"  # in the metadata of the column `path`
DEFINITION = b"data_skip.index"
KEYS = [
    pa.field("path", pa.string(), metadata={LAYOUT_KEY: str(LAYOUT).encode()}),
    pa.field("size", pa.int64()),
    pa.field("modification_time", pa.int64()),
]
BASE = pa.schema([*KEYS, pa.field("row_count", pa.int64()), pa.field("generation", pa.int64()), pa.field("collected", pa.bool_())])
OF_TABLE = pa.field("_of_table", pa.int64())  # by which the rows of another table are told, if they got into the log of this one
ADVICE = "if it stays so, delete the folder and create the index again"
_DENIED = re.compile(r"permission denied|access ?denied|forbidden", re.IGNORECASE)


class StoreError(DataSkipError):
    """The folder holds no readable index: says why, and what to do."""

    def __str__(self) -> str:  # it may quote what others have written
        return printable(super().__str__())


def advice(error: BaseException) -> str:
    """What to do where an index cannot be read, by what was said."""
    if isinstance(error, PermissionError) or _DENIED.search(str(error)):
        return "ask for the right to read it, or keep an index of your own elsewhere with data_skip.enable(spark, index_root=...)"
    return ADVICE


class NotDeletedError(StoreError):
    """Files that nothing refers to are still there; all else was done."""


class FileKey(NamedTuple):
    """One version of a data file; its path is relative to the table's root."""

    path: str
    size: int
    modification_time: int


def keys_of(files: Iterable[FileKey]) -> pa.Table:
    """File versions as columns."""
    columns = [*map(list, zip(*files, strict=True))] or [[], [], []]
    return pa.table(columns, KEYS_SCHEMA)


def said(table: DeltaTable) -> tuple[Any, ...]:
    """What a table says at its version: of a log that was put back, and written since, the same version has other files, of new names."""
    return table.version(), table.metadata().id, frozenset(table.file_uris()), table.schema().to_json()


def number_of(table: DeltaTable) -> int:
    """By which a table is told apart from another one that was made in its place, perhaps up to the same version."""
    return int.from_bytes(sha256(str(table.metadata().id).encode()).digest()[:8], "big") >> 1


def is_of(metadata: pq.FileMetaData, number: int) -> bool:
    """Whether a file of rows, by its footer, was written for the table of a number; those of earlier versions of data-skip do not say."""
    names = metadata.schema.names
    if OF_TABLE.name not in names or not metadata.num_row_groups:
        return True
    statistics = metadata.row_group(0).column(names.index(OF_TABLE.name)).statistics
    return statistics is None or not statistics.has_min_max or statistics.min == number


def refuse_types(schema: pa.Schema) -> None:
    """ValueError where columns that every index has are of other types."""
    for field in BASE:
        if field.name in schema.names and schema.field(field.name).type != field.type:
            raise ValueError(f"its column {field.name} is of type {schema.field(field.name).type}, not {field.type}")


def declared(schema: pa.Schema) -> dict[str, pa.Field]:
    """The columns of indexes, by their names, as they were declared."""
    return {field.name: field for field in schema if DEFINITION in (field.metadata or {})}


def defined(field: pa.Field) -> Definition:
    """The definition of the index of a column."""
    return Definition.from_json(field.metadata[DEFINITION].decode())


def definition_field(column: str, type_: pa.DataType, definition: Definition) -> pa.Field:
    """The store's column of an index."""
    return pa.field(column, type_, metadata={DEFINITION: definition.to_json().encode()})
