"""What no version of an index needs any more, and how it is deleted."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timezone

from deltalake import DeltaTable

from data_skip.store.ages import committed_at, hours_behind, written_before
from data_skip.store.commit import Commit
from data_skip.store.guard import is_part, refuse_parts
from data_skip.store.layout import ADVICE, StoreError
from data_skip.store.left_behind import leftovers
from data_skip.store.writing import UNDELETED, UNWRITTEN, DeltaWriter, transact

_SWEPT_HOURS = KEPT_HOURS = 168  # for which files of old versions stay, unless less is asked for; a checkpoint forgets them after as long


class DeltaVacuum(DeltaWriter):
    """The index at one place, and what is deleted of it."""

    def vacuum(self, hours: int, dry_run: bool = False) -> list[str]:
        """Deletes what no version of the last hours needs, and what writers that were killed have left for so long; or only tells it.

        The names of these files, below the place of the index. Parquet files in its folder count, whoever wrote them.

        StoreError, before any is deleted, for anything else that lies there and is as old.
        """
        if isinstance(hours, bool) or not isinstance(hours, int) or not 1 <= hours <= KEPT_HOURS:
            why = "a query that runs, or another writer, may need younger files, and of older ones the log may tell no more"
            raise StoreError(f"hours={hours!r}: give 1 to {KEPT_HOURS}, since {why}")
        found: dict[str, None] = {}  # in order

        def once(_: Commit) -> None:
            if (table := self._vacuumable()) is None:
                return
            if dry_run:
                names = self._aged(table, hours)
            else:  # what was told to be old is none without a mark: it has come of age since
                moment = committed_at(self._files, table.version())
                names = self._old(table, hours + hours_behind(moment))
                names = written_before(self._files, names, moment, hours) if marked else []
                self._delete(names)
            found.update(dict.fromkeys(names))
            if self._is_local:
                found.update(dict.fromkeys(leftovers(self.location, hours, dry_run)))

        marked: list[Commit] = []
        if not dry_run:
            self._retried(lambda commit: self._mark(hours, commit, marked))
        self._retried(once, only_told=dry_run, refused=UNDELETED if marked else UNWRITTEN)
        return [*found]

    def _vacuum(self) -> None:
        if (table := self._vacuumable()) is not None:
            behind = hours_behind(committed_at(self._files, table.version()))
            self._delete(self._old(table, _SWEPT_HOURS + behind, full=False))

    def _vacuumable(self) -> DeltaTable | None:
        """The table, if the files that its log calls old are files of the index; None where there is no index."""
        if self.snapshot() is None:
            return None
        try:
            table = self._opened()
        except ValueError as error:
            raise self._unreadable(error) from (error if self._is_local else None)
        try:
            refuse_parts(self.location, (path.removeprefix(f"{self.location}/") for path in table.vacuum()))
        except ValueError as error:
            raise StoreError(f"files of old versions of the index at {self.location} are not deleted: {error}; {ADVICE}") from error
        return table

    def _mark(self, hours: int, commit: Commit, marked: list[Commit]) -> None:
        """Commits a version that says nothing, if there are old files; that is noted.

        A writer who slept since it wrote a file that looks old by now commits it no more: it was to be the version after an earlier one.
        """
        table = self._vacuumable()
        if table is None or not self._aged(table, hours):
            return
        marked.append(commit)  # now: its answer may be lost
        if not commit.is_done_before(table.version()):
            transact(table, [], commit)

    def _delete(self, names: Sequence[str]) -> None:
        if self._is_local:
            for name in names:
                with suppress(FileNotFoundError):  # by now another has deleted it
                    os.unlink(f"{self.location}/{name}")
        elif names:
            self._place.delete(names, self.location)

    def _old(self, table: DeltaTable, hours: int, full: bool = True) -> list[str]:
        """The names of old files, without the marker that some tools make of a folder on an object store, whose name is none.

        By this machine's clock. full: also those that no version has ever named.
        """
        paths = table.vacuum(hours, enforce_retention_duration=False, full=full)
        names = [name for path in paths if (name := path.removeprefix(f"{self.location}/"))]
        if other := next((name for name in names if not is_part(name)), None):  # perhaps by a link, which deltalake follows
            raise StoreError(f"the folder of the index at {self.location} holds {other}, which is none of its files; move it away")
        return names

    def _aged(self, table: DeltaTable, hours: int) -> list[str]:
        """Those of them that were written long ago as well, as those of a copy were not. By this machine's clock."""
        return written_before(self._files, self._old(table, hours), datetime.now(timezone.utc), hours)
