"""How a version of an index is written: on the version that was read and no other, and at the place where that was read."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable
from deltalake.exceptions import CommitFailedError, DeltaError
from deltalake.fs import DeltaStorageHandler
from pyarrow import fs

from data_skip.store.commit import Commit, retried
from data_skip.store.guard import MOST_COMMIT, is_part
from data_skip.store.layout import NotDeletedError, StoreError, said
from data_skip.store.left_behind import added_by, delete_empty_checkpoints, take_back
from data_skip.store.object_place import ELSEWHERE
from data_skip.store.opened import DeltaReader
from data_skip.store.snapshot import Snapshot
from data_skip.store.versions import NO_TALLY, added_up, tally_of

UNWRITTEN, UNDELETED = "cannot be written", "keeps files of old versions, which cannot all be deleted"


class Written:
    """Rows, while they are written, and the tally of those that have been asked for."""

    def __init__(self, rows: pa.Table | pa.RecordBatchReader) -> None:
        self.tally = tally_of(rows) if isinstance(rows, pa.Table) else NO_TALLY
        self.rows = rows if isinstance(rows, pa.Table) else pa.RecordBatchReader.from_batches(rows.schema, self._tallied(rows))

    def _tallied(self, rows: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
        for batch in rows:
            self.tally = added_up([self.tally, tally_of(batch)])
            yield batch


def transact(target: DeltaTable, actions: Sequence[Any], commit: Commit) -> None:
    """Commits what deltalake calls actions."""
    target.create_write_transaction([*actions], "append", target.schema(), [], commit_properties=commit.properties)


class DeltaWriter(DeltaReader):
    """The index at one place, and commits to it."""

    def _write_version(
        self, snapshot: Snapshot, commit: Commit, write: Callable[[DeltaTable], None], written: Written | None = None
    ) -> None:
        """Has a version written after a snapshot. written: in files that this makes; None: it makes none.

        deltalake tells versions by their numbers. So where the table was deleted meanwhile, and perhaps made anew, the rows say of which
        table they are, and whoever reads them in another one leaves them out (Snapshot).
        """
        before, lying, folder = self._commit_here(snapshot.version), self._parts_here(), self._folder
        target = self._at(snapshot)
        try:
            write(target)
        finally:
            if self._folder != folder:  # deltalake has followed the link before
                raise StoreError(f"{self.location} was turned to another folder meanwhile; what was written, if anything, is in {folder}")
            if self._is_local and (self._was_replaced(snapshot.version, before, target) or self._lacks_parts(snapshot.version + 1, commit)):
                tally = written.tally if written else NO_TALLY
                take_back(self.location, commit.name, snapshot.version + 1, self._parts_here() - lying - snapshot.parts, tally)
                raise StoreError(f"the index at {self.location} was deleted meanwhile, or put back from a copy; nothing was written")

    def _at(self, snapshot: Snapshot) -> DeltaTable:
        """The table as the snapshot saw it: a commit on top fails where another writer declared or dropped an index since.

        CommitFailedError where there is a newer version, or another table.
        """
        try:
            table = self._opened()
            if said(table) == snapshot.said:
                return table
        except DeltaError:
            pass  # it is gone
        except ValueError as error:
            raise self._unreadable(error) from (error if self._is_local else None)
        with self._lock:
            self._snapshot = None
        raise CommitFailedError(f"the index at {self.location} was written meanwhile, or deleted, and perhaps made anew")

    def _retried(self, write: Callable[[Commit], None], only_told: bool = False, refused: str = UNWRITTEN) -> None:
        """Writes, on the state of then, and again where another writer was faster. StoreError where the place cannot be written to.

        only_told: whether nothing is written, but told what would be. refused: what the error says then.
        """
        commit = Commit(self._log)

        def once() -> None:
            self._place.written()
            try:
                if self._is_local and not only_told:
                    delete_empty_checkpoints(self.location)
                write(commit)
            finally:
                self._place.written()

        if failed := retried(once, commit):
            error, is_known = failed
            what = refused if is_known else "may have been written or not"
            cause = error if self._is_local else None  # else it may hold secrets
            kind = NotDeletedError if what == UNDELETED else StoreError
            raise kind(f"the index at {self.location} {what} ({self._shown(error)}); {ELSEWHERE}") from cause

    @property
    def _files(self) -> fs.FileSystem:
        """Those below the place."""
        if self._is_local:
            return fs.SubTreeFileSystem(self.location, fs.LocalFileSystem())
        return fs.PyFileSystem(DeltaStorageHandler(self.location, self._options))

    def _commit_here(self, version: int) -> tuple[int, ...] | None:
        return self._commit_of(version) if self._is_local else None

    def _parts_here(self) -> set[str]:
        try:
            return {name for name in os.listdir(self.location) if is_part(name)} if self._is_local else set()
        except OSError:
            return set()

    def _was_replaced(self, version: int, before: tuple[int, ...] | None, target: DeltaTable) -> bool:
        """Whether what lies there has another version of a number than before; one that is gone may have been cleaned up since."""
        now = self._commit_of(version)
        # Not by the last time, of a change of the file or of its links: who commits a version links it, and then deletes the other link.
        if now is not None and before is not None and now[:-1] == before[:-1]:
            return False
        return os.path.exists(f"{self.location}/_delta_log/{version:020}.json") or not self._is_still(target)

    def _lacks_parts(self, version: int, commit: Commit) -> bool:
        """Whether files of rows that a commit adds are gone: they were written before a copy was put back.

        Its files may look as those of before: file systems give the numbers of deleted files to new ones, and `cp -a` keeps their times.
        """
        try:
            content = self._log(version, MOST_COMMIT)
        except FileNotFoundError:
            return False
        return commit.name.encode() in content and not all(os.path.exists(f"{self.location}/{part}") for part in added_by(content))

    def _is_still(self, target: DeltaTable) -> bool:
        """Whether the table at its place has the identity of one that was there before."""
        try:
            return bool(self._opened().metadata().id == target.metadata().id)
        except (DeltaError, ValueError):
            return False
