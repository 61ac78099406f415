"""One committed version of the index of a table: its rows, as arrays. See delta.py for what they are."""

from __future__ import annotations

import math
import os
import sys
import threading
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, partial
from tempfile import NamedTemporaryFile
from typing import Any, NamedTuple, TypeVar
from urllib.parse import unquote

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from deltalake import DeltaTable
from pyarrow import fs

from data_skip.store.clock import now
from data_skip.store.file_versions import FileVersions
from data_skip.store.guard import refuse_parts
from data_skip.store.layout import BASE, DEFINITION, FileKey, StoreError, advice, declared, defined, is_of, number_of, refuse_types, said
from data_skip.store.memory import MEMORY
from data_skip.store.object_place import Asked, Late
from data_skip.store.parts import MOST_AT_ONCE, Fields, Part, Rows, merged
from data_skip.store.paths import SUMMARY, any_has, has_summary, texts, without_hidden
from data_skip.store.row_groups import RowGroups
from data_skip.store.sizes import likely_bytes, most_bytes, refuse_large
from data_skip.store.storage_options import StorageOptions
from data_skip.store.versions import KEYS as KEY_NAMES
from data_skip.store.versions import Places, mapped, packed

_MOST_COMPANIONS = 100
_NO_TASKS_SECONDS = 300.0  # for which tasks that failed or were late, perhaps since the cluster was busy, are not asked again
_MOST_ROWS = 1 << 27  # the JVM takes twice as many file versions
_LEAST_SHARE = 8  # of an index; where more is added to it, all is read anew
_FEW_ROWS = 1000
Read = TypeVar("Read")


class _Begun(NamedTuple):
    """The records of an index that an earlier version had at hand."""

    records: pa.StructArray
    parts: int  # files of rows in which they were
    rows: int


class Snapshot:
    """One committed version of the index. Records are read index by index, when first asked for."""

    def __init__(
        self,
        table: DeltaTable,
        location: str,
        shown: Callable[[Exception], str] = str,
        options: StorageOptions | None = None,
        earlier: Snapshot | None = None,
    ) -> None:
        """shown: what of an error people may see. options: by which deltalake reaches an object store.

        earlier: of the same table, perhaps: what it has read is not read again, if this version has all its files.
        """
        self.id = str(uuid.uuid4())
        self.version, self.said = table.version(), said(table)
        self.location, self.options, self._shown = location, options or StorageOptions({}), shown
        self._no_tasks = "", -math.inf
        self._number = number_of(table)
        # deltalake's own files are Python objects, which threads of Arrow give back after a read: that aborts a process about to end.
        local = None if "://" in location else fs.SubTreeFileSystem(location, fs.LocalFileSystem())
        files = table.to_pyarrow_dataset(filesystem=local)
        refuse_types(files.schema)
        refuse_parts(location, files.files)
        self.fields = declared(pa.schema(table.schema().to_arrow()))
        self.definitions = {name: defined(field) for name, field in self.fields.items()}
        self.companions: deque[object] = deque(maxlen=_MOST_COMPANIONS)  # which are kept no longer than this
        self.valued: set[str] = set()  # columns of which every file is known to hold a value: queries find that out
        self._lock = threading.Lock()
        self._records: dict[str, pa.StructArray] = {}
        self._sizes: dict[str, int] = {}  # of records, in bytes
        self._rows_in_groups: Rows | None = None
        self._asking = threading.Lock()
        self._asked: dict[tuple[str, ...], Asked[Any]] = {}  # by columns, what others may wait for as well
        self._mapped_as, self._mapped = "", 0  # by which name the JVM has how many of the file versions, the first ones
        self._begun: dict[str, _Begun] = {}
        self._dataset, self._versions = self._versions_of(files, earlier)
        self.count, self.rows = len(self._versions.keys), self._versions.rows  # of file versions, and of what says something of them
        self.sizes, self.row_counts = self._versions.sizes, self._versions.row_counts
        self.generations, self.recorded = self._versions.generations, self._versions.recorded
        self.parts = len(self._dataset.files)  # files of the index in which its rows lie

    def _versions_of(self, files: ds.FileSystemDataset, earlier: Snapshot | None) -> tuple[ds.FileSystemDataset, FileVersions]:
        """The files of the index that are its own, and the file versions in them: of an earlier version it takes over what that knows."""
        names = [name for name in BASE.names if name in files.schema.names]
        if earlier is not None and earlier._number == self._number:
            at = {file.path: file for file in files.get_fragments()}
            before = earlier._dataset.files
            if at.keys() >= set(before):
                added = _own(files, [file for path, file in at.items() if path not in set(before)], self._number)
                _refuse_others(added.get_fragments(), self.fields)
                count = sum(file.metadata.num_rows for file in added.get_fragments())
                if count <= earlier.rows // _LEAST_SHARE + _FEW_ROWS and earlier.rows + count <= _MOST_ROWS:
                    versions = earlier._versions.and_of(self._rows(added, names))
                    self._follow(earlier, len(versions.keys))
                    return _of_files(files, [*(at[path] for path in before), *added.get_fragments()]), versions
        own = _own(files, [*files.get_fragments()], self._number)
        _refuse_others(own.get_fragments(), self.fields)
        return own, FileVersions.of(self._rows(own, names))

    def _follow(self, earlier: Snapshot, count: int) -> None:
        """Takes over what an earlier version knows of its file versions, which are the first of this one's."""
        begun = earlier._begun | {column: _Begun(records, earlier.parts, earlier.rows) for column, records in [*earlier._records.items()]}
        same = earlier.fields.keys() & self.fields.keys()
        kept = {column for column in same if self.fields[column].equals(earlier.fields[column], check_metadata=True)}
        self._begun = {column: of for column, of in begun.items() if column in kept}
        self._sizes = {column: size for column, size in [*earlier._sizes.items()] if column in kept}
        MEMORY.moved(earlier, self)
        mapped_as, mapped = earlier._mapped_as, earlier._mapped
        if mapped and count - mapped <= mapped // _LEAST_SHARE + _FEW_ROWS:
            self._mapped_as, self._mapped = mapped_as, mapped

    @property
    def why_no_tasks(self) -> str:
        """Why its records are not given to Spark's tasks, since that went wrong some minutes ago; "" where they may be."""
        why, until = self._no_tasks
        return why if now() < until else ""

    @why_no_tasks.setter
    def why_no_tasks(self, why: str) -> None:
        self._no_tasks = why, now() + _NO_TASKS_SECONDS

    @property
    def files(self) -> list[FileKey]:
        """The file versions that have a row; made anew each time, since most queries need none of them."""
        return [FileKey(*key) for key in zip(*(column.to_pylist() for column in self.keys.columns), strict=True)]

    def generation_of(self) -> dict[FileKey, int]:
        """By file version its generation; made anew each time, as `files`."""
        return dict(zip(self.files, self.generations.tolist(), strict=True))

    @property
    def listed(self) -> npt.NDArray[np.bool_]:
        """Which file versions are of the table, as it was listed last; the others are gone, and may be back."""
        return self.generations % 2 == 0

    @property
    def is_listing(self) -> bool:
        """Whether it says which files are gone: earlier versions of data-skip did not."""
        return "generation" in self._dataset.schema.names

    def first(self, recursive: bool) -> str | None:
        """The listed file of which Spark takes the columns of Parquet: the first by its path. None where there is none.

        recursive: whether files in folders are read that are no partitions.
        """
        paths, there = self.keys["path"], self.listed & (self.sizes > 0)
        if not there.all():
            paths = paths.filter(pa.array(there))
        paths = without_hidden(paths)
        if self.has_summary:
            paths = paths.filter(pc.invert(pc.match_substring_regex(paths, SUMMARY)))
        partitioned = any(any_has(part, b"=") and pc.any(pc.match_substring_regex(part, "=.*/")).as_py() for part in paths.chunks)
        if not recursive and not partitioned and any_has(paths, b"/"):
            paths = paths.filter(pc.invert(pc.match_substring(paths, "/")))
        if not any_has(paths, b"%") and all(part.isascii() for part in texts(paths)):
            return pc.min(paths).as_py()
        return min(paths.to_pylist(), key=lambda path: unquote(path).encode("utf-16-be"), default=None)  # as Java compares names

    @cached_property
    def has_empty(self) -> bool:
        """Whether a file is known to hold no row, so that any query is better off without it."""
        return bool((self.row_counts == 0).any())

    @cached_property
    def has_summary(self) -> bool:
        """Whether one of the listed files, in whatever folder, is a summary of the columns of all."""
        return self._versions.may_have_summary and has_summary(self.keys["path"].filter(pa.array(self.listed)))

    @property
    def keys(self) -> pa.Table:
        """The path, size and modification time of each file version."""
        return self._versions.keys

    def hand_over(self, take: Callable[[str, str], Read | None]) -> Read:
        """Has the JVM map the keys, which are no more in memory then. StoreError where they are more than it can.

        take: is given a file of the keys (versions.py), and by which snapshot's name the JVM has mapped the others, "" where these are all;
        None where it has that no more.
        """
        mapped_as, first = self._mapped_as, self._mapped
        found = self._handed_over(take, mapped_as, first) if first else None
        if found is None:
            first = 0
            found = self._handed_over(take, "", 0)
            if found is None:
                raise StoreError(f"the files of the index at {self.location} cannot be handed over to Spark; run the query again")
        self._mapped_as, self._mapped = self.id, first or self.count
        return found

    def _handed_over(self, take: Callable[[str, str], Read | None], mapped_as: str, first: int) -> Read | None:
        keys = self.keys
        with NamedTemporaryFile(prefix="data-skip-", delete=False) as file:
            try:
                file.writelines(self._reading(lambda: packed(keys, self.listed, first)))
                file.flush()
                found = take(file.name, mapped_as)
                if found is not None and not first:
                    self._versions = replace(self._versions, keys=mapped(file.name))
                return found
            finally:
                with suppress(OSError):  # as where the name of what is mapped cannot be removed
                    os.unlink(file.name)

    def records(self, columns: Iterable[str], most: int = 0, until: float = math.inf) -> dict[str, pa.StructArray]:
        """The records of some indexes, one a file version, null where there is none. StoreError where they cannot be read any more.

        They are kept for the next time, if those of all indexes that are kept take no more than `most` bytes. until: as of
        DeltaStore.snapshot.
        """
        wanted = list(columns)
        found = self._kept(wanted)
        if len(found) < len(wanted):
            found = self._read_in_time(wanted, most, until)
        self._keep(found, most)
        return {column: found[column] for column in wanted}

    def _keep(self, found: Mapping[str, pa.StructArray], most: int) -> None:
        self._sizes |= {column: records.nbytes for column, records in found.items() if column not in self._records}
        if most:
            self._records |= found
            for column in found:
                self._begun.pop(column, None)
            MEMORY.used(self, [(column, self._sizes[column]) for column in found], most)

    def fitting(self, columns: Iterable[str], most: int, until: float = math.inf) -> list[str]:
        """Those of some indexes whose records take no more than `most` bytes together, the smallest first. until: as of `records`."""
        wanted, left, found = list(columns), most, []
        if not self._sizes.keys() >= set(wanted):
            self._alone(lambda: self._estimate(wanted, most), until)
        for column in sorted(wanted, key=lambda column: self._sizes[column]):
            if self._sizes[column] <= left:
                left -= self._sizes[column]
                found.append(column)
        return found

    def _estimate(self, columns: Iterable[str], most: int) -> None:
        for column in columns:
            if column not in self._sizes:
                files = self._dataset.get_fragments()
                try:
                    self._sizes[column] = sum(likely_bytes(file.open, column, most, file.metadata) for file in files)
                except ValueError:
                    self._sizes[column] = sys.maxsize

    def rows_in_groups(self, until: float = math.inf) -> Rows:
        """Where the rows lie. StoreError where that cannot be read any more, or not by then."""

        def read() -> Rows:
            return Rows(RowGroups(list(self._dataset.get_fragments()), self._dataset.schema), self._versions.places, self._versions.holds)

        if self._rows_in_groups is None:
            self._rows_in_groups = self._alone(read, until)
        return self._rows_in_groups

    def records_by_part(
        self, fields: Fields, asked: npt.NDArray[np.bool_], most: int, until: float = math.inf
    ) -> Iterator[tuple[Places, dict[str, pa.StructArray]]]:
        """Some fields of the records of file versions that are asked for, some of these at a time: their places, and their records.

        No more is in memory at once than `most` bytes, but some megabytes, and a row group of each index. StoreError where they cannot be
        read any more, or not by then.
        """
        rows = self.rows_in_groups(until)

        def laid_out() -> list[Part]:
            refuse_parts(self.location, self._dataset.files)
            return list(rows.parts(fields, asked, most // 2))  # the other half while they are merged

        for part in self._alone(laid_out, until):
            yield part.versions, self._alone(partial(rows.records, part, fields, asked), until)

    def _kept(self, wanted: Iterable[str]) -> dict[str, pa.StructArray]:
        return {column: kept for column in wanted if (kept := self._records.get(column)) is not None}  # others may be let go meanwhile

    def _read_in_time(self, wanted: Sequence[str], most: int, until: float) -> dict[str, pa.StructArray]:
        def read() -> dict[str, pa.StructArray]:
            with self._lock:
                found = self._kept(wanted)
                missing = [column for column in wanted if column not in found]
                if missing:
                    found |= self._reading(lambda: self._read_records(missing))
                self._keep(found, most)  # also of those for whom it comes too late
            return found

        return self._in_time(wanted, read, until)

    def _read_records(self, columns: Iterable[str]) -> dict[str, pa.StructArray]:
        """Records that are read, but for those that an earlier version had at hand."""
        found, others = {}, []
        for column in columns:
            begun = self._begun.get(column)
            records = None if begun is None else self._read_on(column, begun)
            if records is None:
                others.append(column)
            else:
                found[column] = records
        if others:
            rows = self._rows(self._dataset, others)
            found |= {column: merged(rows[column], None, self._versions.places, self.count) for column in others}
        return found

    def _read_on(self, column: str, begun: _Begun) -> pa.StructArray | None:
        """The records of an index of which those of the first rows are at hand; None where all are to be read."""
        rows = self._rows(_of_files(self._dataset, [*self._dataset.get_fragments()][begun.parts :]), [column])[column]
        if begun.records.type != rows.type or begun.records.nbytes + rows.nbytes > MOST_AT_ONCE:
            return None
        places = self._versions.places
        if places is not None:
            places = np.concatenate([np.arange(len(begun.records)), places[begun.rows :]])
        return merged(pa.chunked_array([begun.records, *rows.chunks]), None, places, self.count)

    def _in_time(self, columns: Iterable[str], read: Callable[[], Read], until: float) -> Read:
        """What reading some columns gives. StoreError where that takes longer."""
        if until == math.inf:
            return read()
        key = tuple(sorted(columns))
        with self._asking:
            asked = self._asked.get(key)
            if asked is None:
                asked = self._asked[key] = Asked(partial(self._answered, key, read))
        return self._answer(asked, until)

    def _answered(self, key: tuple[str, ...], read: Callable[[], Read]) -> Read:
        try:
            return read()
        finally:  # whoever waits has it at hand
            with self._asking:
                del self._asked[key]

    def _alone(self, read: Callable[[], Read], until: float) -> Read:
        """As `_in_time`, of what nobody else waits for."""
        return self._reading(read) if until == math.inf else self._answer(Asked(partial(self._reading, read)), until)

    def _answer(self, asked: Asked[Read], until: float) -> Read:
        try:
            return asked.answer(until)
        except Late:
            raise StoreError(f"records of the index at {self.location} have not come in the time in which files are chosen") from None

    def let_go(self, column: str) -> None:
        """Does not keep the records of an index any longer, nor what was made of them."""
        self._records.pop(column, None)
        self._begun.pop(column, None)
        self.companions.clear()

    def keeps(self, columns: Iterable[str]) -> bool:
        """Whether the records of all these indexes are kept."""
        return {*self._records, *self._begun} >= set(columns)

    def collected(self, columns: Iterable[str]) -> npt.NDArray[np.bool_]:
        """Which file versions have been collected for all of these indexes (perhaps with nothing known as the result)."""
        have = np.ones(self.count, dtype=bool)
        for records in self.records(columns).values():
            have &= records.is_valid().to_numpy(zero_copy_only=False)
        return have

    def to_arrow(self) -> pa.Table:
        """Everything, a row a file version that was collected."""
        records = self.records(self.definitions)
        counts = pa.array(self.row_counts, pa.int64(), from_pandas=True)
        rows = pa.table(dict(zip(KEY_NAMES, self.keys.columns, strict=True)) | {"row_count": counts} | records)
        return rows.filter(pa.array(self.recorded))

    def _reading(self, read: Callable[[], Read]) -> Read:
        try:
            return read()
        except (OSError, ValueError, pa.ArrowException) as error:
            cause = None if "://" in self.location else error
            raise StoreError(f"records of the index at {self.location} cannot be read ({self._shown(error)}); {advice(error)}") from cause

    def _rows(self, dataset: ds.FileSystemDataset, columns: list[str]) -> pa.Table:
        """Some columns of all rows. ValueError where these take more memory than there is, or files are no files (any more)."""
        refuse_parts(self.location, dataset.files)
        left, rows = most_bytes(), 0
        for fragment in dataset.get_fragments():
            rows += fragment.metadata.num_rows
            if rows > _MOST_ROWS:
                raise ValueError(f"it has more than {_MOST_ROWS:,} rows")
            try:
                left -= refuse_large(fragment.open, columns, left, fragment.metadata)
            except ValueError as error:
                raise ValueError(f"{fragment.path} {error}") from error
        return dataset.to_table(columns=columns)


def _refuse_others(files: Iterable[ds.ParquetFileFragment], fields: Mapping[str, pa.Field]) -> None:
    """ValueError for records that were collected by another definition than is declared now: no index is dropped without its own.

    A log that was copied onto another one of the same table, without deleting what only that had, has commits of both.
    """
    met: set[bytes] = set()
    for file in files:
        written = (file.metadata.metadata or {}).get(b"ARROW:schema", b"")
        if written in met:
            continue
        met.add(written)
        for field in file.metadata.schema.to_arrow_schema():
            said, declared = (field.metadata or {}).get(DEFINITION), fields.get(field.name)
            if said is None or declared is None or said == declared.metadata[DEFINITION]:
                continue
            if not defined(field).same_as(defined(declared)):
                raise ValueError(f"{file.path} has records of {field.name} by another definition, as in a log that was copied onto another")


def _own(dataset: ds.FileSystemDataset, files: Sequence[ds.ParquetFileFragment], number: int) -> ds.FileSystemDataset:
    """Some files, without those that were written for another table, which was deleted while they were, and this one made in its place."""
    own = [file for file in files if is_of(file.metadata, number)]
    return dataset if len(own) == len(dataset.files) else _of_files(dataset, own)


def _of_files(dataset: ds.FileSystemDataset, files: list[ds.ParquetFileFragment]) -> ds.FileSystemDataset:
    return ds.FileSystemDataset(files, dataset.schema, dataset.format, dataset.filesystem)
