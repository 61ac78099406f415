"""The records of the indexes of a table at one version: read index by index, when first asked for, and kept up to a budget."""

from __future__ import annotations

import math
import sys
import threading
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.dataset as ds

from data_skip.store.file_versions import FileVersions
from data_skip.store.gathered import gathered, is_of_fixed_width
from data_skip.store.guard import refuse_parts
from data_skip.store.layout import StoreError, advice
from data_skip.store.memory import MEMORY
from data_skip.store.object_place import Asked, Late
from data_skip.store.parts import MOST_AT_ONCE, Fields, Part, Rows, merged
from data_skip.store.row_groups import RowGroups, refuse_count
from data_skip.store.sizes import likely_bytes, most_bytes, refuse_large
from data_skip.store.versions import Places

MOST_ROWS = 1 << 27  # the JVM takes twice as many file versions
MANY_ROWS = 1 << 17  # which are put where they stay while they are read, and not read into memory before
_MOST_COMPANIONS = 100
_READ_AHEAD, _MOST_AHEAD = 1 << 28, 4  # bytes of row groups that are read before they are asked for, and how many
_FEW_BYTES = 1 << 10  # of a row: of those that take no more, a row group has as many as it may have
Read = TypeVar("Read")


class _Begun(NamedTuple):
    """The records of an index that an earlier version had at hand."""

    records: pa.StructArray
    parts: int  # files of rows in which they were
    rows: int


class StoredRecords:
    """The records of one version, a row a file version."""

    _dataset: ds.FileSystemDataset  # of the index's files; both are set by who makes it
    _versions: FileVersions

    def __init__(self, location: str, fields: Mapping[str, pa.Field], shown: Callable[[Exception], str]) -> None:
        """fields: the columns of indexes. shown: what of an error people may see."""
        self.id = str(uuid.uuid4())
        self.location, self.fields, self._shown = location, fields, shown
        self.companions: deque[object] = deque(maxlen=_MOST_COMPANIONS)  # which are kept no longer than this
        self._lock = threading.Lock()
        self._records: dict[str, pa.StructArray] = {}
        self._begun: dict[str, _Begun] = {}
        self._sizes: dict[str, int] = {}  # of records, in bytes
        self._group_sizes: dict[tuple[str, int, tuple[str, ...]], int] = {}  # of row groups, by file, number and columns
        self._rows_in_groups: Rows | None = None
        self._asking = threading.Lock()
        self._asked: dict[tuple[str, ...], Asked[Any]] = {}  # by columns, what others may wait for as well

    def _declares_as(self, earlier: StoredRecords) -> bool:
        """Whether an index that both have is the same."""
        both = earlier.fields.keys() & self.fields.keys()
        return all(self.fields[column].equals(earlier.fields[column], check_metadata=True) for column in both)

    def _take_over(self, earlier: StoredRecords, rows: int) -> None:
        """Takes over what an earlier version knows of its file versions, which are the first of this one's. rows: how many this one has."""
        before, parts = earlier._versions.rows, len(earlier._dataset.files)
        begun = earlier._begun | {column: _Begun(records, parts, before) for column, records in [*earlier._records.items()]}
        self._begun = {column: of for column, of in begun.items() if column in self.fields}
        self._sizes = {column: of.records.nbytes * rows // max(1, of.rows) for column, of in self._begun.items()}
        MEMORY.shared(self, self._sizes.items())

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
            rows = self._rows_of(others)
            found |= {column: merged(rows[column], None, self._versions.places, len(self._versions.keys)) for column in others}
        return found

    def _rows_of(self, columns: list[str]) -> Mapping[str, pa.ChunkedArray]:
        """Records of all rows."""
        schema, count = pa.schema([self._dataset.schema.field(column) for column in columns]), self._versions.rows
        if count < MANY_ROWS or not all(map(is_of_fixed_width, schema.types)):
            return self._rows(self._dataset, columns)
        found = gathered(self._rows_in_batches(self._dataset, columns), schema, count)
        return {column: pa.chunked_array([records]) for column, records in found.items()}

    def _read_on(self, column: str, begun: _Begun) -> pa.StructArray | None:
        """The records of an index of which those of the first rows are at hand; None where all are to be read."""
        rows = self._rows(of_files(self._dataset, [*self._dataset.get_fragments()][begun.parts :]), [column])[column]
        if begun.records.type != rows.type or begun.records.nbytes + rows.nbytes > MOST_AT_ONCE:
            return None
        places = self._versions.places
        if places is not None:
            places = np.concatenate([np.arange(len(begun.records)), places[begun.rows :]])
        return merged(pa.chunked_array([begun.records, *rows.chunks]), None, places, len(self._versions.keys))

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

    def _reading(self, read: Callable[[], Read]) -> Read:
        try:
            return read()
        except (OSError, ValueError, pa.ArrowException) as error:
            cause = None if "://" in self.location else error
            raise StoreError(f"records of the index at {self.location} cannot be read ({self._shown(error)}); {advice(error)}") from cause

    def _rows(self, dataset: ds.FileSystemDataset, columns: list[str]) -> pa.Table:
        """Some columns of all rows.

        ValueError where these take more memory than there is, are not as many as footers tell, or files are no files (any more).
        """
        count = self._refuse_large(dataset, columns)
        found = dataset.to_table(columns=columns)
        refuse_count(len(found), count)
        return found

    def _rows_in_batches(self, dataset: ds.FileSystemDataset, columns: list[str]) -> Iterator[pa.RecordBatch]:
        """As `_rows`, some rows at a time. Of a local index few are read ahead: to use memory again takes less than more of it."""
        count, read = self._refuse_large(dataset, columns), 0
        ahead = {} if "://" in self.location else {"batch_readahead": 4, "fragment_readahead": 1}
        for batch in dataset.to_batches(columns=columns, **ahead):
            read += len(batch)
            yield batch
        refuse_count(read, count)

    def _rows_by_group(self, files: Iterable[ds.ParquetFileFragment]) -> Iterator[pa.RecordBatch]:
        """As `_rows_in_batches`, all columns of the rows of some files: no more than a row group of these need fit into memory."""
        groups = [group for file in files for group in file.split_by_row_group()]
        largest = max((self._bytes_of_group(group, self._dataset.schema.names) for group in groups), default=0)
        refuse_parts(self.location, [group.path for group in groups])
        at_once = min(max(_READ_AHEAD // max(1, largest), 1), _MOST_AHEAD)
        count, read = sum(group.row_groups[0].num_rows for group in groups), 0
        for batch in of_files(self._dataset, groups).to_batches(batch_readahead=at_once, fragment_readahead=at_once):
            read += len(batch)
            yield batch
        refuse_count(read, count)

    def _bytes_of_group(self, group: ds.ParquetFileFragment, columns: Sequence[str]) -> int:
        """How many bytes some columns of a fragment of one row group take in memory at most; by its footer alone where that is little."""
        (number,) = group.row_groups
        key = group.path, number.id, tuple(columns)
        if key not in self._group_sizes:
            few = number.num_rows * _FEW_BYTES
            try:
                self._group_sizes[key] = refuse_large(group.open, columns, most_bytes(), group.metadata, [number.id], few)
            except ValueError as error:
                raise ValueError(f"{group.path} {error}") from error
        return self._group_sizes[key]

    def _refuse_large(self, dataset: ds.FileSystemDataset, columns: list[str]) -> int:
        """How many rows there are."""
        refuse_parts(self.location, dataset.files)
        left, rows = most_bytes(), 0
        for fragment in dataset.get_fragments():
            rows += fragment.metadata.num_rows
            if rows > MOST_ROWS:
                raise ValueError(f"it has more than {MOST_ROWS:,} rows")
            try:
                left -= refuse_large(fragment.open, columns, left, fragment.metadata)
            except ValueError as error:
                raise ValueError(f"{fragment.path} {error}") from error
        return rows


def of_files(dataset: ds.FileSystemDataset, files: list[ds.ParquetFileFragment]) -> ds.FileSystemDataset:
    """Those files of a dataset, in this order."""
    return ds.FileSystemDataset(files, dataset.schema, dataset.format, dataset.filesystem)
