"""One committed version of the index of a table: its rows, as arrays. See delta.py for what they are."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, partial
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
from data_skip.store.keys_file import KeysFile
from data_skip.store.layout import BASE, DEFINITION, FileKey, StoreError, declared, defined, is_of, number_of, refuse_types, said
from data_skip.store.paths import SUMMARY, any_has, has_summary, without_hidden
from data_skip.store.records import MANY_ROWS, MOST_ROWS, Read, StoredRecords, of_files
from data_skip.store.sizes import has_bytes
from data_skip.store.storage_options import StorageOptions
from data_skip.store.versions import KEYS as KEY_NAMES

_NO_TASKS_SECONDS = 300.0  # for which tasks that failed or were late, perhaps since the cluster was busy, are not asked again
_LEAST_SHARE = 8  # of an index; where more is added to it, all is read anew
_FEW_ROWS = 1000
_READ_WHOLE = 1 << 28  # bytes of records: to tell which there are, of others one field is read
_A_PART = 100 << 20  # bytes of a file at which deltalake begins the next one
_TOGETHER = 1 << 28  # bytes of rows that are put together at a time: while it writes them, deltalake takes some three times as many


class Snapshot(StoredRecords):
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
        super().__init__(location, declared(pa.schema(table.schema().to_arrow())), shown)
        self.version, self.said = table.version(), said(table)
        self.options = options or StorageOptions({})
        self._no_tasks = "", -math.inf
        self.number = number_of(table)  # see layout.is_of
        # deltalake's own files are Python objects, which threads of Arrow give back after a read: that aborts a process about to end.
        local = None if "://" in location else fs.SubTreeFileSystem(location, fs.LocalFileSystem())
        files = table.to_pyarrow_dataset(filesystem=local)
        refuse_types(files.schema)
        self.schema: pa.Schema = files.schema
        refuse_parts(location, files.files)
        self.parts = frozenset(files.files)  # all files that its log names
        self.definitions = {name: defined(field) for name, field in self.fields.items()}
        self.valued: set[str] = set()  # columns of which every file is known to hold a value: queries find that out
        self.bound: tuple[object, object] = None, None  # how a scan read, and the indexes that were bound for it: see planning/bound.py
        self._mapped = "", 0  # by which name the JVM has how many of the file versions, the first ones
        self._file: KeysFile | None = None  # of the keys, until they are handed over
        self._dataset, self._versions = self._versions_of(files, earlier)
        self.count, self.rows = len(self._versions.keys), self._versions.rows  # of file versions, and of what says something of them
        self.row_counts = self._versions.row_counts
        self.generations, self.recorded = self._versions.generations, self._versions.recorded

    def _versions_of(self, files: ds.FileSystemDataset, earlier: Snapshot | None) -> tuple[ds.FileSystemDataset, FileVersions]:
        """The files of the index that are its own, and the file versions in them: of an earlier version it takes over what that knows."""
        names = [name for name in BASE.names if name in files.schema.names]
        if earlier is not None and earlier.number == self.number:
            at = {file.path: file for file in files.get_fragments()}
            before = earlier._dataset.files
            if at.keys() >= set(before) and self._declares_as(earlier):
                added = _own(files, [file for path, file in at.items() if path not in set(before)], self.number)
                _refuse_others(added.get_fragments(), self.fields)
                count = sum(file.metadata.num_rows for file in added.get_fragments())
                if count <= earlier.rows // _LEAST_SHARE + _FEW_ROWS and earlier.rows + count <= MOST_ROWS:
                    versions = earlier._versions.and_of(self._rows(added, names))
                    self._follow(earlier, len(versions.keys), versions.rows)
                    return of_files(files, [*(at[path] for path in before), *added.get_fragments()]), versions
        own = _own(files, [*files.get_fragments()], self.number)
        _refuse_others(own.get_fragments(), self.fields)
        return own, self._versions_in(own, names)

    def _versions_in(self, own: ds.FileSystemDataset, names: list[str]) -> FileVersions:
        """Those of all rows of some files; the keys of very many go to the file that the JVM will map."""
        count = sum(file.metadata.num_rows for file in own.get_fragments())
        if count >= MANY_ROWS:
            with suppress(OSError):  # as where no file of that size can be made
                file = KeysFile(count)
                versions = FileVersions.of(self._rows_in_batches(own, names), count, file)
                self._file = None if versions.places is not None else file
                return versions
        rows = self._rows(own, names)
        return FileVersions.of(rows.to_batches(), count)

    def _follow(self, earlier: Snapshot, count: int, rows: int) -> None:
        """Takes over what an earlier version knows of its file versions, which are the first of this one's."""
        self._take_over(earlier, rows)
        _, first = mapped = earlier._mapped
        if first and count - first <= first // _LEAST_SHARE + _FEW_ROWS:
            self._mapped = mapped

    @property
    def why_no_tasks(self) -> str:
        """Why its records are not given to Spark's tasks, since that went wrong some minutes ago; "" where they may be."""
        why, until = self._no_tasks
        return why if now() < until else ""

    @why_no_tasks.setter
    def why_no_tasks(self, why: str) -> None:
        self._no_tasks = why, now() + _NO_TASKS_SECONDS

    def has_small_parts(self, most: int) -> bool:
        """Whether its rows lie in more than so many small files. No file is looked into where all are no more than that."""
        return len(self._dataset.files) > most and len(self._small_parts()) > most

    def _small_parts(self) -> list[ds.ParquetFileFragment]:
        """The files that take less than half of what deltalake puts into one: where there is more, others stay as many."""
        return [file for file in self._dataset.get_fragments() if not has_bytes(file.metadata, _A_PART // 2)]

    def parts_to_join(self) -> list[str]:
        """Small files, the smallest first: of very many rows, which are there twice for a while, and of large records, some of them.

        StoreError where they cannot be read any more.
        """
        most = min(max(self.rows // 2, MANY_ROWS), MOST_ROWS - self.rows)
        chosen: list[str] = []
        rows = size = 0
        for file in sorted(self._small_parts(), key=lambda file: file.metadata.num_rows):
            rows += file.metadata.num_rows
            size += self._bytes_of(file, self.schema.names)
            if rows > most or (len(chosen) > 1 and size > _TOGETHER):
                break
            chosen.append(file.path)
        return chosen

    def rows_of(self, parts: Collection[str]) -> Iterator[pa.RecordBatch]:
        """All that some files say, some rows at a time. An error of Arrow where they cannot be read any more."""
        yield from self._rows_by_group(file for file in self._dataset.get_fragments() if file.path in parts)

    @property
    def has_rows_of_others(self) -> bool:
        """Whether its log names files that were written for another table: see _own."""
        return len(self._dataset.files) < len(self.parts)

    def rows_and_bytes(self, parts: Collection[str] | None, columns: Collection[str]) -> tuple[int, int]:
        """How many rows some files have, and how many bytes some columns of these take in memory at most, as text that Parquet has once.

        None: all files. StoreError where they cannot be read any more.
        """
        files = [file for file in self._dataset.get_fragments() if parts is None or file.path in parts]
        names = [name for name in self.schema.names if name in columns]
        return sum(file.metadata.num_rows for file in files), sum(self._bytes_of(file, names) for file in files)

    def _bytes_of(self, file: ds.ParquetFileFragment, columns: Sequence[str]) -> int:
        return self._reading(lambda: sum(self._bytes_of_group(group, columns) for group in file.split_by_row_group()))

    @property
    def files(self) -> list[FileKey]:
        """The file versions that have a row; made anew each time, since most queries need none of them."""
        return [FileKey(*key) for key in zip(*(column.to_pylist() for column in self.keys.columns), strict=True)]

    @property
    def listed(self) -> npt.NDArray[np.bool_]:
        """Which file versions are of the table, as it was listed last; the others are gone, and may be back."""
        return self.generations % 2 == 0 if self.generations.any() else np.ones(self.count, dtype=bool)

    @property
    def is_listing(self) -> bool:
        """Whether it says which files are gone: earlier versions of data-skip did not."""
        return "generation" in self._dataset.schema.names

    def first(self, recursive: bool) -> str | None:
        """The listed file of which Spark takes the columns of Parquet: the first by its path. None where there is none.

        recursive: whether files in folders are read that are no partitions.
        """
        paths, there, letters = self.keys["path"], self.listed & (self.sizes > 0), self._versions.letters
        if not there.all():
            paths = paths.filter(pa.array(there))
        paths = without_hidden(paths, letters)
        if self.has_summary:
            paths = paths.filter(pc.invert(pc.match_substring_regex(paths, SUMMARY)))
        if not recursive and letters.slash and any_has(paths, b"/"):
            partitioned = any(any_has(part, b"=") and pc.any(pc.match_substring_regex(part, "=.*/")).as_py() for part in paths.chunks)
            paths = paths if partitioned else paths.filter(pc.invert(pc.match_substring(paths, "/")))
        if not (letters.percent or letters.beyond_ascii):
            return pc.min(paths).as_py()
        return min(paths.to_pylist(), key=lambda path: unquote(path).encode("utf-16-be"), default=None)  # as Java compares names

    @cached_property
    def has_empty(self) -> bool:
        """Whether a file is known to hold no row, so that any query is better off without it."""
        return bool((self.row_counts == 0).any())

    @cached_property
    def has_summary(self) -> bool:
        """Whether one of the listed files, in whatever folder, is a summary of the columns of all."""
        return self._versions.letters.metadata and has_summary(self.keys["path"].filter(pa.array(self.listed)))

    @property
    def keys(self) -> pa.Table:
        """The path, size and modification time of each file version."""
        return self._versions.keys

    @property
    def sizes(self) -> npt.NDArray[np.int64]:
        """The size of each file version."""
        return self._versions.sizes

    def hand_over(self, take: Callable[[str, str], Read | None]) -> Read:
        """Has the JVM map the keys, which are no more in memory then. StoreError where they are more than it can.

        take: is given a KeysFile's name, and by which snapshot's name the JVM has mapped the others, "" where these are all;
        None where it has that no more.
        """
        mapped_as, first = self._mapped
        found = self._handed_over(take, mapped_as, first) if first else None
        if found is None:
            first = 0
            found = self._handed_over(take, "", 0)
            if found is None:
                raise StoreError(f"the files of the index at {self.location} cannot be handed over to Spark; run the query again")
        self._mapped = self.id, first or self.count
        return found

    def _handed_over(self, take: Callable[[str, str], Read | None], mapped_as: str, first: int) -> Read | None:
        file, self._file = self._file, None
        if file is None or first or not file.is_there:
            file = self._reading(lambda: KeysFile.of(self.keys, first))
        try:
            self._reading(lambda: file.tell(self.listed, self._versions.letters.flat))
            found = take(file.name, mapped_as)
            if found is not None and not first:
                keys = file.mapped()  # anew: what has been looked at counts as memory
                self._versions = replace(self._versions, keys=keys, sizes=keys["size"].to_numpy())
            return found
        finally:
            file.delete()

    def collected(self, columns: Iterable[str]) -> npt.NDArray[np.bool_]:
        """Which file versions have been collected for all of these indexes (perhaps with nothing known as the result)."""
        wanted, have = list(columns), np.ones(self.count, dtype=bool)
        small = self.fitting(wanted, _READ_WHOLE)
        for records in self.records(small).values():
            have &= records.is_valid().to_numpy(zero_copy_only=False)
        for column in set(wanted) - set(small):
            have &= self._reading(partial(self.rows_in_groups().with_records, column, self.count))
        return have

    def to_arrow(self) -> pa.Table:
        """Everything, a row a file version that was collected."""
        records = self.records(self.definitions)
        counts = pa.array(self.row_counts, pa.int64(), from_pandas=True)
        rows = pa.table(dict(zip(KEY_NAMES, self.keys.columns, strict=True)) | {"row_count": counts} | records)
        return rows.filter(pa.array(self.recorded))


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
    return dataset if len(own) == len(dataset.files) else of_files(dataset, own)
