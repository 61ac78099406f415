"""Files of an index that are written before a commit names them, as by Spark's tasks."""

from __future__ import annotations

import io
import json
import time
import uuid
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake.fs import DeltaStorageHandler
from deltalake.transaction import AddAction
from pyarrow import fs

from data_skip.store.ages import looked_at
from data_skip.store.layout import KEYS, StoreError

_MOST_IN_GROUP, _BYTES_OF_GROUP, _LEAST_IN_GROUP = 1 << 16, 1 << 26, 1 << 10  # rows and bytes of a row group, and rows whatever they take
_LIST = "list.element"  # as Parquet names it
_MAP = "key_value"


class NewPart(NamedTuple):
    """A file of rows at the place of an index."""

    name: str
    size: int  # bytes
    rows: int
    held: int  # bytes, where they are in memory


class PartsLostError(StoreError):
    """Files of rows cannot be committed, nor read back: what they hold is to be collected again."""


class WritingHandler(DeltaStorageHandler):
    """That of deltalake, by which pyarrow writes as well: the stream of deltalake takes bytes alone, and pyarrow gives it buffers."""

    def open_output_stream(self, path: str, metadata: dict[str, str] | None = None) -> pa.PythonFile:
        return pa.PythonFile(_TakesBuffers(self._handler.open_output_stream(path, metadata)))


class _TakesBuffers(io.RawIOBase):
    def __init__(self, stream: Any) -> None:
        """stream: takes bytes; what it was given is there once it is closed."""
        super().__init__()
        self._stream = stream

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._stream.write(bytes(data))
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._stream.close()
        super().close()


def rows_in_group(rows: int, bytes_: int) -> int:
    """How many of rows that take so many bytes a row group has: so many that statistics tell them apart, and that one fits into memory."""
    return int(min(max(_BYTES_OF_GROUP * rows // max(1, bytes_), _LEAST_IN_GROUP), _MOST_IN_GROUP))


def write_part(files: fs.FileSystem, table: pa.Table) -> NewPart:
    """Writes rows as a new file; files: those at the place of the index. An error of whatever kind where it cannot be written."""
    keys = {field.name for field in KEYS}  # a dictionary of these makes reading them take three times as long
    repeated = [leaf for field in table.schema if field.name not in keys for leaf in _leaves(field.name, field.type)]
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, row_group_size=rows_in_group(len(table), table.nbytes), compression="SNAPPY", use_dictionary=repeated)
    content = sink.getvalue()
    part = NewPart(f"part-{uuid.uuid4()}.parquet", content.size, len(table), table.nbytes)
    with files.open_output_stream(part.name) as stream:
        stream.write(content)
    return part


def refuse_lost(files: fs.FileSystem, parts: Sequence[NewPart]) -> None:
    """PartsLostError where one is not there, as in an index that was deleted and put back from a copy since."""
    found = looked_at(files, [part.name for part in parts])
    lost = [part.name for part, file in zip(parts, found, strict=True) if file.size != part.size]
    if lost:
        raise PartsLostError(f"{lost[0]} is there no more")


def added(part: NewPart) -> Any:
    """What a log says of it: an AddAction of deltalake, which takes a list of these and, in later versions, of others."""
    return AddAction(part.name, part.size, {}, int(time.time() * 1000), True, json.dumps({"numRecords": part.rows}))


def _leaves(name: str, type_: pa.DataType) -> Iterator[str]:
    """The columns that Parquet makes of one."""
    if pa.types.is_struct(type_):
        for field in type_:
            yield from _leaves(f"{name}.{field.name}", field.type)
    elif pa.types.is_map(type_):
        yield from _leaves(f"{name}.{_MAP}.key", type_.key_type)
        yield from _leaves(f"{name}.{_MAP}.value", type_.item_type)
    elif pa.types.is_list(type_) or pa.types.is_large_list(type_) or pa.types.is_fixed_size_list(type_):
        yield from _leaves(f"{name}.{_LIST}", type_.value_type)
    else:
        yield name
