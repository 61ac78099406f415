"""Task parts: large records stay where tasks have made them, in files of the index, which the driver commits by their names.

So the driver holds no record, and tasks write as many at once as there are. A file of the index is committed as it was written, or not
at all: where the driver knows better of one data file in it, as that it has changed meanwhile, it reads the records of the others back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime
from io import SEEK_END
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs
from pyspark.sql import SparkSession

from data_skip.building.binding import Binding
from data_skip.building.collect import Collected
from data_skip.building.generations import Generations
from data_skip.building.remote_files import RemoteFiles
from data_skip.building.rows import as_column, kept
from data_skip.spark.errors import SPARK_ERRORS, is_cancelled
from data_skip.store import Snapshot
from data_skip.store.ages import committed_at
from data_skip.store.delta import rows_of
from data_skip.store.layout import BASE, OF_TABLE, defined
from data_skip.store.new_parts import NewPart, PartsLostError, write_part
from data_skip.store.versions import taken

_THREADS = 8
_READ_BACK = 1 << 27  # bytes of records, at most; the driver holds them ten times as large
# Of the store's clock, since neither that of this machine nor what it counts as elapsed tells how long it slept. What was written after one
# version is committed on no other one that is so much younger: a vacuum, which commits a version first, may take it for what a killed
# writer has left an hour before.
_SECONDS = 1800.0


@dataclass(frozen=True)
class TaskParts:
    """What tasks have to know to write rows of an index, and the driver to commit them.

    location: of the index; remote: how that is reached, None of a local one. of_table, fields: of the version that was there before, its
    number, and when it was committed; types: in which tasks make records of these, before they are written as those of the table.
    said: the file versions that are collected, and their generations; numbers: by which these are called, ascending.
    """

    location: str
    remote: RemoteFiles | None
    of_table: int
    fields: Sequence[pa.Field]
    types: Sequence[pa.DataType]
    said: Generations
    numbers: npt.NDArray[np.int64]
    version: int
    committed: datetime | None

    @classmethod
    def on(cls, last: Snapshot | None, bindings: Sequence[Binding], said: Generations, numbers: npt.NDArray[np.int64]) -> TaskParts | None:
        """None where tasks may find another place there than the driver, or indexes are not declared yet, or otherwise."""
        if last is None:
            return None
        remote = RemoteFiles(last.location, last.options) if "://" in last.location else None
        known = [(last.fields.get(binding.index.column), binding.definition) for binding in bindings]
        fields = [one for one, definition in known if one is not None and defined(one).same_as(definition)]
        reached = remote is None or (remote.options.of_hadoop and remote.has(f"{remote.root}/part.parquet"))
        if not reached or len(fields) != len(bindings):
            return None
        types = [binding.record_type for binding in bindings]
        parts = cls(last.location, remote, last.number, fields, types, said, numbers, last.version, _committed(last, remote))
        return parts if parts.fit(last) else None

    @property
    def files(self) -> fs.FileSystem:
        """Those at the place of the index."""
        return _files(self.location, self.remote)

    def write(self, files: Mapping[int, Collected]) -> dict[int, str]:
        """In a task: writes the records of whole files, by their numbers; these have none any more, but say where they are.

        Why records are unknown, by the places of their indexes. Where they cannot be written, the files keep them.
        """
        if not files:
            return {}
        columns, errors = dict[pa.Field, pa.Array](), {}
        for i, (one, type_) in enumerate(zip(self.fields, self.types, strict=True)):
            columns[one.with_type(type_)], why = as_column([kept(file, i) for file in files.values()], type_)
            if why:
                errors[i] = why
        places = np.searchsorted(self.numbers, np.fromiter(files, np.int64))
        counts = pa.array([file.rows for file in files.values()], pa.int64())
        try:
            rows = rows_of(taken(self.said.keys, places), counts, columns, self.said.numbers[places], np.ones(len(files), dtype=bool))
            part = self._written(rows)
        except Exception:  # whatever it is: the driver is sent the records, as where there are no such parts
            return {}
        for file in files.values():
            file.records, file.part = [], part
        return errors

    def are_there(self, found: Iterable[Collected]) -> bool:
        """Whether the driver finds what tasks have written, at the place that both call by one name."""
        parts = {file.part for file in found if file.part}
        with ThreadPoolExecutor(_THREADS) as pool:
            return all(pool.map(self._is_there, parts))

    def _is_there(self, part: NewPart) -> bool:
        try:
            with self._opened(part) as file:
                return bool(file.seek(0, SEEK_END) == part.size and pq.read_metadata(file).num_rows == part.rows)
        except Exception:  # whatever it is: the driver collects what they hold
            return False

    def _opened(self, part: NewPart) -> Any:
        if self.remote is None:
            return self.files.open_input_file(part.name)
        uri = f"{self.location}/{part.name}"  # of a known size: to ask for it, deltalake would hold Python's lock
        return replace(self.remote, sizes={uri: part.size}).opened(uri)

    def and_of(self, table: pa.Table, parts: list[NewPart], spark: SparkSession) -> list[NewPart]:
        """Parts, and a further one of other rows, if there are any: a commit is either of rows or of parts.

        On an object store a task writes it: deltalake would hold Python's lock. PartsLostError where that fails.
        """
        if not len(table):
            return parts
        try:
            if self.remote is None:
                return [*parts, self._written(table)]
            return [*parts, *spark.sparkContext.parallelize([table], 1).map(self._written).collect()]
        except Exception as error:
            if isinstance(error, SPARK_ERRORS) and is_cancelled(error):
                raise
            raise PartsLostError(f"the other rows cannot be written at {self.location}") from error

    def _written(self, rows: pa.Table) -> NewPart:
        schema = pa.schema([*BASE, *self.fields])
        of_table = pa.array(np.full(len(rows), self.of_table), OF_TABLE.type)
        return write_part(self.files, rows.select(schema.names).cast(schema).append_column(OF_TABLE, of_table))

    def fit(self, last: Snapshot | None) -> bool:
        """Whether what was written can be committed on a version, as it is."""
        if last is None or last.number != self.of_table:
            return False
        if last.version != self.version:
            committed = _committed(last, self.remote)
            if self.committed is None or committed is None or (committed - self.committed).total_seconds() > _SECONDS:
                return False
        as_declared = all(one.name in last.fields and one.metadata == last.fields[one.name].metadata for one in self.fields)
        return as_declared and {*last.schema.names} >= {*BASE.names, OF_TABLE.name}

    def as_written(self, files: Mapping[int, Collected], said: Generations, last: Snapshot | None) -> list[NewPart]:
        """The parts to commit on a version; what files have in others is read back.

        files: what is known of those that are committed, by their numbers; said: of each of them, in this order. PartsLostError where
        that is more than the driver can hold.
        """
        of_parts: dict[NewPart, list[tuple[int, Collected]]] = {}
        same = self.said.numbers[np.searchsorted(self.numbers, np.fromiter(files, np.int64, len(files)))] == said.numbers
        for (number, file), is_same in zip(files.items(), same.tolist(), strict=True):
            if file.part:
                files_there = of_parts.setdefault(file.part, [])
                if is_same and not (file.refused or file.undated or file.unsteady):
                    files_there.append((number, file))
        fits = self.fit(last)
        kept_parts = [part for part, there in of_parts.items() if fits and len(there) == part.rows]
        others = of_parts.keys() - set(kept_parts)
        if sum(part.held for part in others) > _READ_BACK:
            raise PartsLostError(f"too many of {len(of_parts):,} parts hold what is not to be committed")
        for part in others:
            self._read_back(part, [(number, file) for number, file in files.items() if file.part == part])
        return kept_parts

    def _read_back(self, part: NewPart, files: Sequence[tuple[int, Collected]]) -> None:
        try:
            self._records_read_back(part, files)
        except Exception as error:  # whatever it is: as where the index was deleted and made anew
            raise PartsLostError(f"{part.name} cannot be read: {error}") from error

    def _records_read_back(self, part: NewPart, files: Sequence[tuple[int, Collected]]) -> None:
        with self._opened(part) as file:
            table = pq.read_table(file, columns=["path", *(one.name for one in self.fields)])
        at = {path: place for place, path in enumerate(table["path"].to_pylist())}
        places = np.searchsorted(self.numbers, np.array([number for number, _ in files], dtype=np.int64))
        rows = [at[path] for path in taken(self.said.keys, places)["path"].to_pylist()]
        columns = [table[one.name].take(pa.array(rows, pa.int64())).to_pylist() for one in self.fields]
        for (_, one), *records in zip(files, *columns, strict=True):
            one.records, one.part = records, None


def _files(location: str, remote: RemoteFiles | None) -> fs.FileSystem:
    return fs.SubTreeFileSystem(location, fs.LocalFileSystem()) if remote is None else remote.file_system


def _committed(version: Snapshot, remote: RemoteFiles | None) -> datetime | None:
    """When a version was committed; None where nobody knows."""
    try:
        return committed_at(_files(version.location, remote and replace(remote)), version.version)  # tasks are not sent what this opens
    except OSError:
        return None
