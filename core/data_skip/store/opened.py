"""The last version of an index: found, opened, and believed only as long as it is the last."""

from __future__ import annotations

import math
import os
import re
import threading
from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from stat import S_ISREG
from urllib.parse import unquote

import pyarrow as pa
from deltalake import DeltaTable
from deltalake.exceptions import TableNotFoundError
from deltalake.fs import DeltaStorageHandler

from data_skip.store.guard import Guard, is_folder, refuse_table, stamp
from data_skip.store.layout import LAYOUT, LAYOUT_KEY, StoreError, advice, said
from data_skip.store.left_behind import forget_checkpoint
from data_skip.store.object_place import ELSEWHERE, Asked, Late, ObjectPlace
from data_skip.store.snapshot import Snapshot
from data_skip.store.storage_options import Hadoop

_BEGINNING = 1 << 16  # bytes
_MISREAD = re.compile(r"%[0-9A-Fa-f]{2}|[\[\]^|\\\x00-\x1f\x7f]")  # what deltalake 1.6 misreads in a local path
_ESCAPE = re.compile(r"%[0-9A-Fa-f]{2}")  # and in one on an object store
_PANIC = "PanicException"  # of deltalake's Rust, and no Exception
_FORKED = "Forked process"  # which deltalake says of a process that was forked from one that has used it


Watched = Mapping[str, tuple[int, ...] | None]
"""Paths of local files, and what tells each from another one of its name, as of guard.stamp; None where there is none."""


def _commits(version: int) -> tuple[str, str]:
    """The names that the file of a version may have: of a log that was cleaned up, that of the checkpoint."""
    return f"{version:020}.json", f"{version:020}.checkpoint.parquet"


class DeltaReader:
    """The index at one place, as others have written it; thread-safe."""

    def __init__(self, uri: str, spark: Hadoop | None = None) -> None:
        """spark: by which Spark reaches object stores; None where that need not be known."""
        self.uri = uri
        self._place = ObjectPlace(uri, spark)  # where it is on an object store
        self._guard = Guard(self.location, uri, spark)
        self._lock = threading.Lock()
        self._snapshot: Snapshot | None = None
        self._asking = threading.Lock()
        self._asked: Asked[Snapshot | None] | None = None  # what others may wait for as well
        self._commit: object | None = None  # what tells the file of the snapshot's version from another one, as of before it was read

    @cached_property
    def location(self) -> str:
        """The place as deltalake wants it: a plain path for local files."""
        if self.uri.startswith("file:/"):
            return unquote(self.uri.removeprefix("file:"))
        return re.sub(r"^s3[an]://", "s3://", self.uri)  # Hadoop's names of S3

    @cached_property
    def _is_local(self) -> bool:
        return "://" not in self.location

    @property
    def _folder(self) -> str:
        """The place that deltalake opens: it follows links first."""
        return os.path.realpath(self.location) if self._is_local else self.location

    @property
    def _is_misread(self) -> bool:
        """Whether deltalake 1.6 takes the path for another one: it takes escapes for what they stand for once too often."""
        return (_MISREAD.search(self._folder) if self._is_local else _ESCAPE.search(unquote(self._folder))) is not None

    @property
    def _why_misread(self) -> str:
        advice = "rename it, or keep indexes elsewhere with data_skip.enable(spark, index_root=...)"
        return f"deltalake cannot read nor write {self._folder!r}, a path with an escape like %20 or one of [ ] ^ | \\; {advice}"

    def _opened(self) -> DeltaTable:
        """The last version. ValueError for what is not to be read: it is looked at each time, since others may have written it."""
        return self._looked_at()[0]

    def _looked_at(self) -> tuple[DeltaTable, Mapping[str, object]]:
        """As `_opened`, and what tells each file of the log from another one of its name, as of before that."""
        # Where the user says where the store is, Hadoop would look elsewhere.
        files = {} if self._place.options.say_where else self._guard.look(self._place.options.of_hadoop)
        try:
            return DeltaTable(self.location, storage_options=self._options), files
        except Exception:
            if not (self._is_local and forget_checkpoint(self.location)):
                raise
            return DeltaTable(self.location, storage_options=self._options), files

    @property
    def _options(self) -> dict[str, str] | None:
        return dict(self._place.options) or None

    def snapshot(self, believed: float = 0.0, until: float = math.inf) -> Snapshot | None:
        """The last committed version; None where there is no index. StoreError where there is something else.

        believed: of an index on object storage, the one that was the last some seconds ago will do. until: the moment of
        time.perf_counter() up to which the store is waited for: then that is a StoreError; who asks later is given what it answers.
        """
        if until == math.inf:
            with self._lock:
                return self._current(believed)
        with self._asking:
            asked = self._asked
            if asked is None or not asked.answers(believed):
                if self._lock.acquire(blocking=False):
                    try:
                        if self._is_local and self._is_last_here():  # what every query asks, of every scan
                            return self._snapshot
                        if self._is_known(believed):
                            return self._current(believed)
                    finally:
                        self._lock.release()
                asked = self._asked = Asked(lambda: self.snapshot(believed), believed)
        try:
            return asked.answer(until)
        except Late:
            raise StoreError(f"the index at {self.uri} has not been found in the time in which files are chosen; {ELSEWHERE}") from None
        finally:
            with self._asking:
                if self._asked is asked and not asked.is_running:
                    self._asked = None  # which would keep what it answered

    def is_seen(self, believed: float) -> bool:
        """Whether the last version was looked for here no longer than so many seconds ago, and found. Of a local index it always is."""
        return self._snapshot is not None and (self._is_local or self._place.asks_nothing(True, believed))

    def watched(self, snapshot: Snapshot | None) -> Watched | None:
        """The files of this machine that stay as they are as long as a snapshot is the last; None where that cannot be seen by a few files.

        snapshot: None for that there is no index.
        """
        if not self._is_local or not self.location.isascii():  # else the JVM may write its path in other bytes
            return None
        if snapshot is None:
            return None if self._is_there() else {self.location: None}
        with self._lock:
            commit = self._commit if self._snapshot is snapshot else None
        if not isinstance(commit, tuple):
            return None
        file, _ = _commits(snapshot.version)
        later = _commits(snapshot.version + 1)
        return {f"{self.location}/_delta_log/{name}": commit if name == file else None for name in (file, *later)}

    def look_again(self) -> None:
        """What was seen at a place on object storage is not believed any more: it may have been made, or made anew, since."""
        if not self._is_local:
            with self._lock:
                self._snapshot = None
                self._place.forget()
            with self._asking:
                self._asked = None

    def _is_known(self, believed: float) -> bool:
        """Whether it is known without a look at the log that there is no index, or, on object storage, what was the last version."""
        if self._is_local:
            return not self._is_there()
        return self._is_misread or self._place.asks_nothing(self._snapshot is not None, believed)

    def _is_last_here(self) -> bool:
        """Whether the last snapshot is so still, of a local index: versions are numbered without gaps."""
        last = self._snapshot
        try:
            if last is None or self._commit is None or self._commit != self._commit_of(last.version):
                return False  # it was deleted, and perhaps made anew up to the same version, or nobody knows
            return self._commit_of(last.version + 1) is None
        except OSError:  # who looks at all of it says so
            return False

    def _is_there(self) -> bool:
        """Whether a local folder is. StoreError where that cannot be seen: it may be."""
        try:
            return is_folder(self.location)
        except OSError as error:
            raise self._unreadable(error) from error

    def _current(self, believed: float = 0.0) -> Snapshot | None:
        local, place = self._is_local, self._place
        if not local:
            if self._is_misread:  # it would be another place that is read
                return None
            if place.is_reached_otherwise():
                self._snapshot = None
            if self._snapshot is not None and place.is_last(self._snapshot.version, believed):
                return self._snapshot
            if place.why_unreadable:
                raise StoreError(place.why_unreadable)
        if not self._is_there() if local else place.is_empty:
            self._snapshot = None
            return None
        if local and self._is_last_here():
            return self._snapshot
        if local and self._is_misread:  # as that of a table that was moved, or copied: it would be another place that is written to
            raise StoreError(self._why_misread)
        last, self._snapshot = self._snapshot, None  # whatever stops this, that is not believed any more
        try:
            table, files = self._looked_at()  # no increment of what was open: it may be that of another table, made anew at the same place
            self._check(table)
            found = last if last is not None and last.said == said(table) else None
            found = found or Snapshot(table, self.location, self._shown, place.options, last)
        except TableNotFoundError as error:
            if not local:
                place.seen_empty()
                return None
            if not self._holds_something():
                return None
            raise StoreError(f"{self.location} is no index of data-skip; move it away, or keep the index elsewhere") from error
        except StoreError:
            raise
        except BaseException as error:  # who forged it may have found what others raise
            if not isinstance(error, Exception) and type(error).__name__ != _PANIC:
                raise
            raise self._unreadable(error) from (error if local else None)  # which may hold secrets
        commits = (files[name] for name in _commits(found.version) if name in files)  # as of before it was opened
        if local:
            self._commit = next(commits, None)
        else:
            place.looked_at(next(commits, None))
        self._snapshot = found
        return found

    def _unreadable(self, error: BaseException) -> StoreError:
        """What is told of an index that is there and cannot be read."""
        if _FORKED in str(error):
            return StoreError(f"the index at {self.location} cannot be read in a forked process; let multiprocessing start it by 'spawn'")
        if self._is_local:
            return StoreError(f"the index at {self.location} cannot be read ({self._shown(error)}); {advice(error)}")
        self._place.seen_unreadable(error)
        return StoreError(self._place.why_unreadable)

    def _shown(self, error: BaseException) -> str:
        return self._place.shown(error)

    def _commit_of(self, version: int) -> tuple[int, ...] | None:
        """What tells a version's file in a local folder from another one of that name; None where there is none."""
        for name in _commits(version):
            with suppress(FileNotFoundError, NotADirectoryError):
                return stamp(os.stat(f"{self.location}/_delta_log/{name}"))
        return None

    def _holds_something(self) -> bool:
        """Whether a local folder that is no Delta table holds anything but what a writer leaves there who is about to make one."""
        try:
            return not set(os.listdir(self.location)) <= {"_delta_log"}
        except FileNotFoundError:
            return False

    def _check(self, table: DeltaTable) -> None:
        refuse_table(table)
        schema = pa.schema(table.schema().to_arrow())
        metadata = schema.field("path").metadata if "path" in schema.names else None
        layout = (metadata or {}).get(LAYOUT_KEY, b"").decode()
        if not layout:
            raise StoreError(f"the Delta table at {self.location} is no index of data-skip; move it away, or keep the index elsewhere")
        if not layout.isdecimal() or int(layout) > LAYOUT:
            raise StoreError(f"the index at {self.location} has layout {layout}, this data-skip knows up to {LAYOUT}; upgrade data-skip")

    def _log(self, version: int, most: int = _BEGINNING) -> bytes:
        """How a commit begins: with what it says of itself. FileNotFoundError where there is none."""
        name = f"_delta_log/{version:020}.json"
        if self._is_local:
            if not S_ISREG(os.lstat(f"{self.location}/{name}").st_mode):
                return b""  # a pipe would be waited for, a link may lead anywhere
            with open(f"{self.location}/{name}", "rb") as file:
                return file.read(most)
        # Told a size, deltalake does not ask for it, while which it would hold Python's lock; a request for more than is there gives all.
        with DeltaStorageHandler(self.location, self._options, {name: most}).open_input_file(name) as file:
            return file.read()
