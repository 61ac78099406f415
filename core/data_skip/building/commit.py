"""Commit: what is written of some files once they are collected, and what the index knows from then on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from data_skip.building.binding import Binding
from data_skip.building.collect import Collected
from data_skip.building.generations import Generations
from data_skip.building.index_report import IndexReport
from data_skip.building.one_pass import Target
from data_skip.building.rows import bytes_of_records, rows
from data_skip.building.source import TableState
from data_skip.building.task_parts import TaskParts
from data_skip.clause import Mask
from data_skip.errors import DataSkipError
from data_skip.files.listing import Listing
from data_skip.store import Snapshot
from data_skip.store.new_parts import NewPart, PartsLostError
from data_skip.store.versions import Places, places_in, taken


class Written(NamedTuple):
    """What one commit said: what was found of files, what is known from then on of all, and how many of those read have not changed.

    as_of: its own version, as of Target; None where there was nothing to say. bytes: of the records. refused: the paths
    of files that are always read.
    """

    files: Sequence[Collected]
    known: Generations
    listed: pa.Table
    unchanged: int
    as_of: tuple[Any, ...] | None = None
    bytes: int = 0
    refused: Sequence[str] = ()


class _Standing(NamedTuple):
    """What a commit goes by: what a version of the index knows, which of the collected files have not changed, and what has in the table.

    places: of those files in the listing by which they were collected. listed: the files of a listing that is younger than that version.
    """

    known: Generations
    places: Places
    listed: pa.Table
    changes: Generations


@dataclass
class Commit:
    """The records of some files, and what has changed in their table: made anew for each version of the index on which it is tried.

    keys: the files of `listing`; wanted: which of them were to be collected; found: what was, by their places; unreadable: why others
    cannot be read. to_come: whether more files are collected after these. seen: what has changed where nothing was to be collected, else
    None. parts: of tasks that have written records themselves.
    """

    target: Target
    state: TableState
    listing: Listing
    keys: pa.Table
    wanted: Mask
    bindings: Sequence[Binding]
    report: IndexReport
    found: Mapping[int, Collected]
    unreadable: Mapping[int, str]
    to_come: bool
    seen: Generations | None
    parts: TaskParts | None
    _written: Written | None = None

    def write(self) -> Written:
        """Commits. PartsLostError, and nothing was written, where what tasks have written is not there."""
        if self.parts and not self.parts.are_there(self.found.values()):  # they write elsewhere than the driver reads
            raise PartsLostError(f"tasks do not write at {self.parts.location}")
        self.target.store.append_as_of(self._rows_on, self.target.new)
        assert self._written is not None
        return self._written

    def _rows_on(self, last: Snapshot | None) -> pa.Table | list[NewPart] | None:
        """What to write on a version, of those collected files that have not changed since; None where there is nothing to say."""
        if last is not None:
            self.target.refuse(last)
        standing = self._standing(last)
        chosen = [i for i in standing.places.tolist() if i not in self.unreadable]
        files = {i: self.found.get(i) or Collected(records=[None] * len(self.bindings)) for i in chosen}
        nothing_to_say = not (files or len(standing.changes) or self.target.new or not (last and last.is_listing))
        if nothing_to_say or (self.to_come and not files and not self.report.files_collected):
            self._written = Written([], standing.known, standing.listed, len(standing.places))
            return None
        return self._rows(last, standing, files)

    def _standing(self, last: Snapshot | None) -> _Standing:
        """All are listed again where others have written meanwhile, where a collected file is seen to have changed, and where what is said
        anew of files stands for long, as more are to come: another refresh may have found since that there was nothing to say, which this
        would undo.
        """
        as_read = self.target.knows(last)
        known = self.target.known if as_read else Generations.of(last)
        places, listed = np.flatnonzero(self.wanted), self.target.listed
        same = self.listing.unchanged(self.wanted) if as_read else None
        stands = same is not None and bool(same[places].all())
        changes = (known.changes(listed, self.target.below) if self.seen is None else self.seen) if stands else None
        if changes is None or (self.to_come and len(changes)):
            listed = self.state.list_again()
            if len(places) and not len(listed):
                raise DataSkipError(f"the files of {self.target.name} were deleted meanwhile; {self.report.committed}")
            places = places[places_in(listed, taken(self.keys, places)) >= 0]
            changes = known.changes(listed, self.target.below)
        return _Standing(known, places, listed, changes)

    def _rows(self, last: Snapshot | None, standing: _Standing, files: Mapping[int, Collected]) -> pa.Table | list[NewPart]:
        """The rows of these files, and of all others that have changed; and of them as parts, where tasks have written some."""
        collected = self._keys_of(list(files))
        now_known = standing.known.changed_by(standing.changes)
        of_files, others = Generations(collected, now_known.of_each(collected)), standing.changes.but_of(collected)
        new_parts = self.parts.as_written(files, of_files, last) if self.parts else []
        here = np.array([file.part is None for file in files.values()], dtype=bool)
        said = of_files.only(here).and_of(others)
        table = rows([file for file in files.values() if file.part is None], said, self.bindings, self.report)
        self._written = Written(
            list(files.values()),
            now_known.changed_by(of_files.and_of(others)),
            standing.listed,
            len(standing.places),
            (1, "") if last is None else (last.version + 1, last.said[1]),  # in the first case nobody knows of which table
            bytes_of_records(table),
            self._keys_of([i for i, file in files.items() if file.refused])["path"].to_pylist(),
        )
        return self.parts.and_of(table, new_parts, self.state.frame.sparkSession) if self.parts and new_parts else table

    def _keys_of(self, places: Sequence[int]) -> pa.Table:
        return taken(self.keys, np.array(places, dtype=np.int64))
