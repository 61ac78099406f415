"""The index of a table as a Delta table of its own: one row a data file, one struct column an index.

    path               string   relative to the table's root, escaped as in a URI
    size               long     bytes
    modification_time  long     milliseconds since 1970
    row_count          long     null where it may change with how the file is cut into parts
    min_max__temp      struct<min: double, ...>     the definition of the index, as JSON, in the column's metadata
    ...

Append-only. A record belongs to one version of a file (path, size, modification time): a file that changed has no record
until it is collected again, and the old row is dead. So two writers never overwrite each other; where rows for the same
version meet, each index takes any row that holds a record of it: all are true. `compact` drops dead rows. Rows are rewritten only in the
version in which they were read: what Delta would allow beside, an append, would leave records of a column that is no longer declared,
and whoever declares it again, perhaps in another way, would find them.
"""

from __future__ import annotations

import os
import re
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple
from urllib.parse import unquote

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, write_deltalake
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError
from pyarrow import fs

from data_skip.store.definition import Definition, another_reader

LAYOUT = 1  # of the store; a store of a later layout is left alone
_LAYOUT_KEY = b"data_skip.layout"  # in the metadata of the column `path`
_DEFINITION = b"data_skip.index"
_KEYS = [
    pa.field("path", pa.string(), metadata={_LAYOUT_KEY: str(LAYOUT).encode()}),
    pa.field("size", pa.int64()),
    pa.field("modification_time", pa.int64()),
]
_BASE = pa.schema([*_KEYS, pa.field("row_count", pa.int64())])
_CONFIGURATION = {"delta.dataSkippingNumIndexedCols": "0"}  # Delta's own bounds of our bounds would serve nobody
_MISREAD = re.compile(r"%[0-9A-Fa-f]{2}|[\[\]^|\\\x00-\x1f]")  # what deltalake 1.6 misreads in a local path
_MOST_BYTES = 1 << 30  # of an index's records: Arrow's usual lists, text and bytes end at 2 GB an array
_TRIES = 20
_AS_READ = CommitProperties(max_commit_retries=0)  # a commit that fails where there is any newer version
_ADVICE = "delete the folder and create the index again"
_ABSENT_SECONDS = 30.0  # for which a place on object storage, seen to hold no index, is not asked again


class StoreError(Exception):
    """The folder holds no readable index: says why, and what to do."""


class FileKey(NamedTuple):
    """One version of a data file; its path is relative to the table's root."""

    path: str
    size: int
    modification_time: int


class Snapshot:
    """One committed version of the index. Records are read index by index, when first asked for."""

    def __init__(self, table: DeltaTable, location: str) -> None:
        self.id = str(uuid.uuid4())
        self.version, self.table_id = table.version(), table.metadata().id
        self._location = location
        # deltalake's own files are Python objects, which threads of Arrow give back after a read: that aborts a process about to end.
        local = None if "://" in location else fs.SubTreeFileSystem(location, fs.LocalFileSystem())
        self._dataset = table.to_pyarrow_dataset(filesystem=local)
        self._lock = threading.Lock()
        self._records: dict[str, pa.StructArray] = {}
        rows = self._dataset.to_table(columns=_BASE.names).combine_chunks()
        keys = zip(*(rows[name].to_pylist() for name in ("path", "size", "modification_time")), strict=True)
        self._slots: dict[tuple[str, int, int], int] = {}
        self._slot_of_row = np.array([self._slots.setdefault(key, len(self._slots)) for key in keys], dtype=np.int64)
        self.row_counts = self._latest(rows["row_count"]).to_numpy(zero_copy_only=False)
        self.sizes = np.array([size for _, size, _ in self._slots], dtype=np.int64)
        self.rows = len(rows)
        schema = pa.schema(table.schema().to_arrow())
        self.fields = {field.name: field for field in schema if _DEFINITION in (field.metadata or {})}  # as they were declared
        self.definitions = {name: _defined(field) for name, field in self.fields.items()}

    @cached_property
    def files(self) -> list[FileKey]:
        """The file versions that have a row."""
        return [FileKey(*key) for key in self._slots]

    def versions_text(self) -> bytes:
        """The file versions, a line each: path, size and modification time, with tabs between."""
        return "\n".join(f"{path}\t{size}\t{modified}" for path, size, modified in self._slots).encode()

    def records(self, columns: Iterable[str]) -> dict[str, pa.StructArray]:
        """The records of some indexes, one a file version, null where there is none. StoreError where they cannot be read any more."""
        with self._lock:
            missing = [column for column in columns if column not in self._records]
            if missing:
                try:
                    rows = self._dataset.to_table(columns=missing)
                except (OSError, pa.ArrowException) as error:
                    raise StoreError(f"records of the index at {self._location} cannot be read ({error}); {_ADVICE}") from error
                for column in missing:
                    self._records[column] = self._latest(rows[column])
            return {column: self._records[column] for column in columns}

    def collected(self, columns: Iterable[str]) -> npt.NDArray[np.bool_]:
        """Which file versions have been collected for all of these indexes (perhaps with nothing known as the result)."""
        have = np.ones(len(self._slots), dtype=bool)
        for records in self.records(columns).values():
            have &= records.is_valid().to_numpy(zero_copy_only=False)
        return have

    def to_arrow(self) -> pa.Table:
        """Everything, a row a file version."""
        keys = [pa.array(values, field.type) for values, field in zip(self._key_columns(), _KEYS, strict=True)]
        records = self.records(self.definitions)
        counts = pa.array(self.row_counts, pa.int64(), from_pandas=True)
        return pa.table([*keys, counts, *records.values()], names=[*_BASE.names, *records])

    def _key_columns(self) -> list[list[object]]:
        return [*map(list, zip(*self._slots, strict=True))] if self._slots else [[] for _ in _KEYS]

    def _latest(self, rows: pa.ChunkedArray) -> pa.Array:
        """From one value a row to one a file version: any that is not null."""
        if rows.nbytes > _MOST_BYTES:
            rows = rows.cast(_with_long_offsets(rows.type))
        values = pa.concat_arrays(rows.chunks) if rows.num_chunks else pa.array([], rows.type)
        if len(self._slots) == len(values):
            return values
        valid = np.flatnonzero(values.is_valid().to_numpy(zero_copy_only=False))
        winner = np.full(len(self._slots), -1, dtype=np.int64)
        winner[self._slot_of_row[valid]] = valid
        return values.take(pa.array(winner, mask=winner < 0))


class DeltaStore:
    """The index at one place; thread-safe."""

    def __init__(self, uri: str) -> None:
        self.uri = uri
        self._lock = threading.Lock()
        self._table: DeltaTable | None = None
        self._snapshot: Snapshot | None = None
        self._commit: tuple[int, ...] = ()  # the file of the snapshot's version, as it was found
        self._absent_until = 0.0

    @property
    def location(self) -> str:
        """The place as deltalake wants it: a plain path for local files."""
        if self.uri.startswith("file:/"):
            return unquote(self.uri.removeprefix("file:"))
        return re.sub(r"^s3[an]://", "s3://", self.uri)  # Hadoop's names of S3

    def snapshot(self) -> Snapshot | None:
        """The last committed version; None where there is no index. StoreError where there is something else."""
        with self._lock:
            return self._current()

    def look_again(self) -> None:
        """What was seen at a place on object storage is not believed any more: it may have been made, or made anew, since."""
        if "://" in self.location:
            with self._lock:
                self._table = self._snapshot = None
                self._absent_until = 0.0

    def _current(self) -> Snapshot | None:
        local = "://" not in self.location
        if not os.path.isdir(self.location) if local else time.monotonic() < self._absent_until:
            self._table = self._snapshot = None
            return None
        if local and self._snapshot is not None and self._commit != self._commit_of(self._snapshot.version):
            self._table = self._snapshot = None  # it was deleted, and perhaps made anew up to the same version
        try:
            try:
                if self._table is not None:
                    self._table.update_incremental()
            except DeltaError:
                self._table = None  # on object storage: it was deleted, and made anew with fewer versions
            if self._table is None or self._snapshot is None or self._snapshot.version != self._table.version():
                self._table = DeltaTable(self.location)  # an increment may be that of another table, made anew at the same place
                self._check(self._table)
                self._commit = self._commit_of(self._table.version())
                self._snapshot = Snapshot(self._table, self.location)
        except TableNotFoundError as error:
            self._table = self._snapshot = None
            if "://" in self.location:
                self._absent_until = time.monotonic() + _ABSENT_SECONDS
                return None
            if not self._holds_something():
                return None
            raise StoreError(f"{self.location} is no index of data-skip; move it away, or keep the index elsewhere") from error
        except (DeltaError, OSError, ValueError, KeyError, pa.ArrowException) as error:
            self._table = self._snapshot = None
            raise StoreError(f"the index at {self.location} cannot be read ({error}); {_ADVICE}") from error
        return self._snapshot

    def _commit_of(self, version: int) -> tuple[int, ...]:
        """What tells a version's file in a local folder from another one of that name; nothing where there is none."""
        try:
            found = os.stat(f"{self.location}/_delta_log/{version:020}.json")
        except OSError:
            return ()
        return found.st_ino, found.st_size, found.st_mtime_ns

    def _holds_something(self) -> bool:
        """Whether a local folder that is no Delta table holds anything but what a writer leaves there who is about to make one."""
        try:
            return not set(os.listdir(self.location)) <= {"_delta_log"}
        except FileNotFoundError:
            return False

    def _check(self, table: DeltaTable) -> None:
        schema = pa.schema(table.schema().to_arrow())
        metadata = schema.field("path").metadata if "path" in schema.names else None
        layout = (metadata or {}).get(_LAYOUT_KEY, b"").decode()
        if not layout:
            raise StoreError(f"the Delta table at {self.location} is no index of data-skip; move it away, or keep the index elsewhere")
        if not layout.isdecimal() or int(layout) > LAYOUT:
            raise StoreError(f"the index at {self.location} has layout {layout}, this data-skip knows up to {LAYOUT}; upgrade data-skip")

    def append(
        self, files: Sequence[FileKey], row_counts: Sequence[int | None], columns: Mapping[pa.Field, pa.Array], declare: bool = True
    ) -> None:
        """Commits records, one a file for each index; declares indexes that are new. All or nothing.

        declare=False: an index that is not there (any more) is left out. StoreError where none is.
        """
        base = [*map(list, zip(*files, strict=True))] if files else [[], [], []]
        arrays = [pa.array(values, field.type) for values, field in zip([*base, list(row_counts)], _BASE, strict=True)]
        table = pa.Table.from_arrays([*arrays, *columns.values()], schema=pa.schema([*_BASE, *columns]))
        self._retried(lambda: self._append(table, declare))

    def _append(self, table: pa.Table, declare: bool) -> None:
        snapshot = self.snapshot()
        if snapshot is None and declare:
            if "://" not in self.location and _MISREAD.search(self.location):
                advice = "rename it, or keep indexes elsewhere with data_skip.enable(spark, index_root=...)"
                raise StoreError(
                    f"deltalake cannot write to {self.location!r}, a path with an escape like %20 or one of [ ] ^ | \\; {advice}"
                )
            # First an empty table, which all creators make alike: the columns of two that both began with theirs would not add up.
            DeltaTable.create(self.location, schema=_BASE, mode="error", configuration=_CONFIGURATION)
            self._absent_until = 0.0  # what was seen before it was created
            snapshot = self.snapshot()
        if snapshot is None:
            raise StoreError(f"the index at {self.location} was deleted meanwhile; nothing was written")
        indexes = [field for field in table.schema if _DEFINITION in (field.metadata or {}) and (declare or field.name in snapshot.fields)]
        if not indexes:
            raise StoreError(f"the indexes at {self.location} were dropped meanwhile; nothing was written")
        for field in indexes:
            self._refuse_another(_defined(field), field.name, snapshot)
        fields = [snapshot.fields.get(field.name, field) for field in indexes]  # in the words in which they were declared
        arrays = [table[field.name] for field in (*_BASE, *indexes)]
        schema = pa.schema([*_BASE, *(field.with_type(array.type) for field, array in zip(fields, arrays[len(_BASE) :], strict=True))])
        write_deltalake(self._at(snapshot), pa.Table.from_arrays(arrays, schema=schema), mode="append", schema_mode="merge")

    def _refuse_another(self, definition: Definition, column: str, snapshot: Snapshot) -> None:
        """StoreError where records would lie under another's definition, or beside those of an index that counts rows otherwise."""
        stored = snapshot.definitions.get(column)
        if stored is not None and not stored.same_as(definition):
            raise StoreError(f"{stored} at {self.location} was created anew meanwhile, in another way; nothing was written")
        for other in snapshot.definitions.values():
            if why := another_reader(other, definition):
                raise StoreError(f"{other} at {self.location} was created meanwhile, {why}; nothing was written")

    def _at(self, snapshot: Snapshot) -> DeltaTable:
        """The table as the snapshot saw it: a commit on top fails where another writer declared or dropped an index since.

        CommitFailedError where another table lies there by now, of which nothing is known.
        """
        try:
            table = DeltaTable(self.location, version=snapshot.version)
            if table.metadata().id == snapshot.table_id:
                return table
        except DeltaError:
            pass  # it has no such version
        with self._lock:
            self._table = self._snapshot = None
        raise CommitFailedError(f"the index at {self.location} was deleted meanwhile, and perhaps made anew")

    def compact(self, dead: set[FileKey]) -> None:
        """Rewrites the index with one row for each file version that is not dead, and removes files of versions a week old."""
        self._rewrite(set(), dead)
        self._retried(self._vacuum)

    def _vacuum(self) -> None:
        if self.snapshot() is not None:
            DeltaTable(self.location).vacuum(dry_run=False)

    def drop(self, column: str) -> None:
        """Removes an index."""
        self._rewrite({column}, set())

    def _rewrite(self, dropped: set[str], dead: set[FileKey]) -> None:
        self._retried(lambda: self._rewrite_once(dropped, dead))

    def _rewrite_once(self, dropped: set[str], dead: set[FileKey]) -> None:
        snapshot = self.snapshot()
        if snapshot is None:
            return
        kept = [name for name in snapshot.definitions if name not in dropped]
        files = snapshot.files
        # Without an index, nobody knows how the rows were read that `row_count` counts.
        chosen = pa.array([i for i, file in enumerate(files) if kept and file not in dead], pa.int64())
        records = snapshot.records(kept)
        fields = [snapshot.fields[name].with_type(records[name].type) for name in kept]
        base = [*map(list, zip(*files, strict=True))] if files else [[], [], []]
        arrays = [pa.array(values, field.type) for values, field in zip(base, _KEYS, strict=True)]
        arrays.append(pa.array(snapshot.row_counts, pa.int64(), from_pandas=True))
        arrays += records.values()
        table = pa.Table.from_arrays([array.take(chosen) for array in arrays], schema=pa.schema([*_BASE, *fields]))
        write_deltalake(self._at(snapshot), table, mode="overwrite", schema_mode="overwrite", commit_properties=_AS_READ)

    def _retried(self, write: Callable[[], None]) -> None:
        """Writes again, on the state of then, where another writer was faster. StoreError where the place cannot be written to."""
        for attempt in range(_TRIES):
            try:
                self._absent_until = 0.0
                return write()
            except (DeltaError, OSError) as error:
                if attempt == _TRIES - 1 or not (isinstance(error, CommitFailedError) or "already exists" in str(error)):
                    advice = "indexes can be kept elsewhere with data_skip.enable(spark, index_root=...)"
                    raise StoreError(f"the index at {self.location} cannot be written ({error}); {advice}") from error


def _with_long_offsets(type_: pa.DataType) -> pa.DataType:
    """The type with room for more than 2 GB of values in an array."""
    if pa.types.is_struct(type_):
        return pa.struct([field.with_type(_with_long_offsets(field.type)) for field in type_])
    if pa.types.is_list(type_):
        return pa.large_list(type_.value_field.with_type(_with_long_offsets(type_.value_type)))
    return {pa.string(): pa.large_string(), pa.binary(): pa.large_binary()}.get(type_, type_)


def _defined(field: pa.Field) -> Definition:
    """The definition of the index of a column."""
    return Definition.from_json(field.metadata[_DEFINITION].decode())


def definition_field(column: str, type_: pa.DataType, definition: Definition) -> pa.Field:
    """The store's column of an index."""
    return pa.field(column, type_, metadata={_DEFINITION: definition.to_json().encode()})
