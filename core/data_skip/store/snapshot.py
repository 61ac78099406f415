"""One committed version of the index of a table: its rows, as arrays. See delta.py for what they are."""

from __future__ import annotations

import math
import sys
import threading
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, TypeVar
from urllib.parse import unquote

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from deltalake import DeltaTable
from pyarrow import fs

from data_skip.store.clock import now
from data_skip.store.guard import refuse_parts
from data_skip.store.layout import ADVICE, BASE, FileKey, StoreError, declared, defined, is_of, number_of, refuse_types, said
from data_skip.store.memory import MEMORY
from data_skip.store.object_place import Asked, Late
from data_skip.store.parts import Fields, Part, Rows, merged
from data_skip.store.paths import SUMMARY, any_has, has_summary, refuse_values, texts, without_hidden
from data_skip.store.row_groups import RowGroups
from data_skip.store.sizes import likely_bytes, most_bytes, refuse_large
from data_skip.store.storage_options import StorageOptions
from data_skip.store.versions import KEYS as KEY_NAMES
from data_skip.store.versions import Places, distinct, packed

_MOST_COMPANIONS = 100
_NO_TASKS_SECONDS = 300.0  # for which tasks that failed or were late, perhaps since the cluster was busy, are not asked again
_MOST_ROWS = 1 << 27  # the JVM takes twice as many file versions
Read = TypeVar("Read")


class Snapshot:
    """One committed version of the index. Records are read index by index, when first asked for."""

    def __init__(
        self, table: DeltaTable, location: str, shown: Callable[[Exception], str] = str, options: StorageOptions | None = None
    ) -> None:
        """shown: what of an error people may see. options: by which deltalake reaches an object store."""
        self.id = str(uuid.uuid4())
        self.version, self.said = table.version(), said(table)
        self.location, self.options, self._shown = location, options or StorageOptions({}), shown
        self._no_tasks = "", -math.inf
        # deltalake's own files are Python objects, which threads of Arrow give back after a read: that aborts a process about to end.
        local = None if "://" in location else fs.SubTreeFileSystem(location, fs.LocalFileSystem())
        self._dataset = table.to_pyarrow_dataset(filesystem=local)
        refuse_types(self._dataset.schema)
        refuse_parts(location, self._dataset.files)
        self._dataset = _own(self._dataset, number_of(table))
        self.companions: deque[object] = deque(maxlen=_MOST_COMPANIONS)  # which are kept no longer than this
        self.valued: set[str] = set()  # columns of which every file is known to hold a value: queries find that out
        self._lock = threading.Lock()
        self._records: dict[str, pa.StructArray] = {}
        self._sizes: dict[str, int] = {}  # of records, in bytes
        self._rows_in_groups: Rows | None = None
        self._asking = threading.Lock()
        self._asked: dict[tuple[str, ...], Asked[Any]] = {}  # by columns, what others may wait for as well
        rows = self._rows([name for name in BASE.names if name in self._dataset.schema.names])
        keys, self._place_of_row = distinct(rows)
        self._keys: pa.Table | None = keys  # until they are handed over
        self.count = len(keys)  # of file versions
        self.sizes = keys["size"].to_numpy()
        self.row_counts = self._of_versions(rows["row_count"]).to_numpy(zero_copy_only=False)
        self.generations = self._largest(rows, "generation", 0)
        refuse_values(keys, self.generations)
        holds = pc.fill_null(rows["collected"], True) if self._place_of_row is not None and "collected" in rows.schema.names else None
        self._holds = None if holds is None else holds.to_numpy()
        self.recorded = self._largest(rows, "collected", True)  # whether a file version was collected, or is but known to be there
        self.rows, self.parts = len(rows), len(self._dataset.files)  # and in how many files of the index they lie
        schema = pa.schema(table.schema().to_arrow())
        self.fields = declared(schema)
        self.definitions = {name: defined(field) for name, field in self.fields.items()}

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
        return [FileKey(*key) for key in zip(*(column.to_pylist() for column in self.keys().columns), strict=True)]

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
        paths, there = self.keys()["path"], self.listed & (self.sizes > 0)
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
        paths = self.keys()["path"]
        return has_summary(paths) and has_summary(paths.filter(pa.array(self.listed)))

    def keys(self, until: float = math.inf) -> pa.Table:
        """The path, size and modification time of each file version. StoreError where they cannot be read (any more), or not by then."""
        keys = self._keys  # which another thread may hand over meanwhile
        if keys is not None:
            return keys
        return self._in_time(KEY_NAMES, lambda: distinct(self._read([*KEY_NAMES]))[0], until)

    def packed(self, until: float = math.inf) -> list[Any]:
        """The keys as the JVM maps them (versions.py), which keeps them from now on: this side lets go of them. As `keys`."""
        keys = self.keys(until)
        found = self._reading(lambda: packed(keys, self.listed))
        self._keys = None
        return found

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
            return Rows(RowGroups(list(self._dataset.get_fragments()), self._dataset.schema), self._place_of_row, self._holds)

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
                    rows = self._read(missing)
                    found |= {column: self._of_versions(rows[column]) for column in missing}
                self._keep(found, most)  # also of those for whom it comes too late
            return found

        return self._in_time(wanted, read, until)

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
        self.companions.clear()

    def keeps(self, columns: Iterable[str]) -> bool:
        """Whether the records of all these indexes are kept."""
        return self._records.keys() >= set(columns)

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
        rows = pa.table(dict(zip(KEY_NAMES, self.keys().columns, strict=True)) | {"row_count": counts} | records)
        return rows.filter(pa.array(self.recorded))

    def _read(self, columns: list[str]) -> pa.Table:
        return self._reading(lambda: self._rows(columns))

    def _reading(self, read: Callable[[], Read]) -> Read:
        try:
            return read()
        except (OSError, ValueError, pa.ArrowException) as error:
            cause = None if "://" in self.location else error
            raise StoreError(f"records of the index at {self.location} cannot be read ({self._shown(error)}); {ADVICE}") from cause

    def _rows(self, columns: list[str]) -> pa.Table:
        """Some columns of all rows. ValueError where these take more memory than there is, or files are no files (any more)."""
        refuse_parts(self.location, self._dataset.files)
        left, rows = most_bytes(), 0
        for fragment in self._dataset.get_fragments():
            rows += fragment.metadata.num_rows
            if rows > _MOST_ROWS:
                raise ValueError(f"it has more than {_MOST_ROWS:,} rows")
            try:
                left -= refuse_large(fragment.open, columns, left, fragment.metadata)
            except ValueError as error:
                raise ValueError(f"{fragment.path} {error}") from error
        return self._dataset.to_table(columns=columns)

    def _largest(self, rows: pa.Table, column: str, default: int) -> npt.NDArray[Any]:
        """Of each file version the largest value that a row says; `default` where one says none, as in rows of earlier versions."""
        said = pc.fill_null(rows[column], default).to_numpy() if column in rows.schema.names else np.full(len(rows), default)
        if self._place_of_row is None:
            return said
        largest = np.zeros(self.count, dtype=said.dtype)
        np.maximum.at(largest, self._place_of_row, said)
        return largest

    def _of_versions(self, rows: pa.ChunkedArray) -> pa.Array:
        """From one value a row to one a file version: any that is not null."""
        return merged(rows, None, self._place_of_row, self.count)


def _own(dataset: ds.FileSystemDataset, number: int) -> ds.FileSystemDataset:
    """Without files that were written for another table, which was deleted while they were, and this one made in its place."""
    files = list(dataset.get_fragments())
    own = [file for file in files if is_of(file.metadata, number)]
    return dataset if len(own) == len(files) else ds.FileSystemDataset(own, dataset.schema, dataset.format, dataset.filesystem)
