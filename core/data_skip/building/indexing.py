"""Indexing: which files to collect, the one pass over them, and the one commit."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame

from data_skip.building.binding import Binding
from data_skip.building.chunks import Chunks
from data_skip.building.collect import Collected
from data_skip.building.generations import Generations
from data_skip.building.index_report import IndexReport
from data_skip.building.one_pass import Target, collect_files
from data_skip.building.progress import progress_bar
from data_skip.building.recent import let_clocks_pass, too_recent
from data_skip.building.rows import bytes_of_records, rows
from data_skip.building.source import TableState
from data_skip.building.task_parts import TaskParts
from data_skip.clause import Mask
from data_skip.errors import DataSkipError
from data_skip.files.listing import Listing
from data_skip.index import Index
from data_skip.sample import Sample, spread
from data_skip.spark.errors import not_understood
from data_skip.spark.jvm import Jvm
from data_skip.store import Snapshot
from data_skip.store.new_parts import NewPart, PartsLostError
from data_skip.store.versions import are_first, places_in, taken

_TRIES = 20


def index_files(
    target: Target,
    state: TableState,
    bindings: Sequence[Binding],
    current: pa.Table,
    files_per_commit: int,
    progress: bool | None = None,
) -> IndexReport:
    """Collects and commits the records of every file that is not `current`, so many at a time as of Chunks. `progress`: as of progress_bar.

    From the first commit on all files are known to be there, so a snapshot is whole. DataSkipError for files that Spark cannot read, and
    where there are none any more.
    """
    start = time.perf_counter()
    report = IndexReport(target.name, [str(binding.index) for binding in bindings])
    now = time.time() * 1000
    listing, keys = state.list()
    below = keys["path"].is_valid().to_numpy()
    if len(keys) and not below.any():
        raise DataSkipError(f"no file of {target.name} lies below {state.root}: an index belongs to a folder; give that of the files")
    is_current = places_in(current, keys) >= 0
    once = below & ~is_current  # two partitions may have the same location
    places = np.flatnonzero(once)
    once[places] = are_first(taken(keys, places))
    recent = once & too_recent(listing.files, now)
    wanted = once & ~recent
    let_clocks_pass(listing.files.filter(pa.array(wanted)), now)
    report.files_current = int(is_current.sum())
    report.files_too_recent = int(recent.sum())
    with progress_bar(state.frame.sparkSession, f"indexing {target.name}", progress):
        before = target = replace(target, listed=state.all_of(keys))
        chunks = Chunks(wanted, files_per_commit, [binding.record_type for binding in bindings])
        try:
            more = True
            while more:
                target = _index_some(target, state, listing, keys, chunks, bindings, report)
                more = chunks.are_more
        finally:  # also of what was committed before it was stopped
            _agree_or_tell(target, state, bindings, report, wrote=target is not before)
    report.seconds = time.perf_counter() - start
    return report


def _index_some(
    target: Target,
    state: TableState,
    listing: Listing,
    keys: pa.Table,
    chunks: Chunks,
    bindings: Sequence[Binding],
    report: IndexReport,
) -> Target:
    """Collects and commits the records of the next files; returns what the index is from then on.

    Nothing is written before some file can be read.
    """
    wanted = np.zeros(len(keys), dtype=bool)
    wanted[chunks.take()] = True
    to_come = chunks.are_more
    unreadable: dict[int, str] = {}
    start = time.perf_counter()
    collect = partial(collect_files, target, state, listing, wanted, bindings, report, unreadable, to_come)
    parts = _task_parts(target, bindings, keys, wanted) if chunks.are_large and chunks.by_tasks else None
    before = report.files_lifted, report.files_direct
    found = collect(parts.write) if parts else collect()
    seen = None if wanted.any() or target.new else target.known.changes(target.listed, target.below)
    if seen is not None and not len(seen) and target.lists:
        return target
    written: list[_Written] = []

    def rows_on(last: Snapshot | None) -> pa.Table | list[NewPart] | None:
        """What to write on a version: by a listing that is younger than what it says, of those collected files that have not changed since.

        All are listed again where others have written meanwhile, where one is seen to have changed, and where what is said anew of files
        stands for long, as more are to come: another refresh may have found since that there was nothing to say, which this would undo.
        """
        written.clear()
        if last is not None:
            target.refuse(last)
        as_read = target.knows(last)
        known = target.known if as_read else Generations.of(last)
        places, after = np.flatnonzero(wanted), target.listed
        same = listing.unchanged(wanted) if as_read else None
        stands = same is not None and bool(same[places].all())
        changes = (known.changes(after, target.below) if seen is None else seen) if stands else None
        if changes is None or (to_come and len(changes)):
            after = state.list_again()
            if wanted.any() and not len(after):
                raise DataSkipError(f"the files of {target.name} were deleted meanwhile; {report.committed}")
            places = places[places_in(after, taken(keys, places)) >= 0]
            changes = known.changes(after, target.below)
        unchanged = len(places)
        chosen = [i for i in places.tolist() if i not in unreadable]
        files = {i: found.get(i) or Collected(records=[None] * len(bindings)) for i in chosen}
        nothing_to_say = not (files or len(changes) or target.new or not (last and last.is_listing))
        if nothing_to_say or (to_come and not chosen and not report.files_collected):
            written.append(_Written([], known, after, unchanged, None))
            return None
        collected = taken(keys, np.array(chosen, dtype=np.int64))
        now_known = known.changed_by(changes)
        of_files, others = Generations(collected, now_known.of_each(collected)), changes.but_of(collected)
        as_of = (1, "") if last is None else (last.version + 1, last.said[1])  # in the first case nobody knows of which table
        new_parts = parts.as_written(files, of_files, last) if parts else []
        here = np.array([file.part is None for file in files.values()], dtype=bool)
        said = of_files.only(here).and_of(others)
        table = rows([file for file in files.values() if file.part is None], said, bindings, report)
        all_known = now_known.changed_by(of_files.and_of(others))
        refused = taken(keys, np.array([i for i, file in files.items() if file.refused], dtype=np.int64))["path"].to_pylist()
        written.append(_Written(list(files.values()), all_known, after, unchanged, as_of, bytes_of_records(table), refused))
        return parts.and_of(table, new_parts, state.frame.sparkSession) if parts and new_parts else table

    try:
        if parts and not parts.are_there(found.values()):  # they write elsewhere than the driver reads
            raise PartsLostError(f"tasks do not write at {parts.location}")
        target.store.append_as_of(rows_on, target.new)
    except PartsLostError:  # all is collected again, by the driver
        report.files_lifted, report.files_direct = before
        chunks.put_back()
        return target
    (done,) = written
    chunks.held(len(done.files), done.bytes, time.perf_counter() - start)
    report.files_unreadable += done.unchanged - len(done.files)
    report.files_too_recent += int(wanted.sum()) - done.unchanged
    report.refuse(done.refused)
    report.files_undated += sum(file.undated for file in done.files)
    report.files_collected += len(done.files)
    report.rows += sum(file.rows for file in done.files)
    if done.as_of is None:
        return target
    return replace(target, new=False, lists=True, as_of=done.as_of, known=done.known, listed=done.listed)


def _task_parts(target: Target, bindings: Sequence[Binding], keys: pa.Table, wanted: Mask) -> TaskParts | None:
    """By which tasks write the records of the wanted files themselves; None where they cannot."""
    places = np.flatnonzero(wanted)
    asked = taken(keys, places)
    known = target.known.changed_by(target.known.changes(target.listed, target.below))  # as it will be told, if nothing comes between
    return TaskParts.on(target.store.snapshot(), bindings, Generations(asked, known.of_each(asked)), places)


@dataclass(frozen=True)
class _Written:
    """What one commit said: what was found of files, what is known from then on of all, and how many of those read have not changed.

    as_of: its own version, as of Target; None where there was nothing to say. bytes: of the records. refused: the paths
    of files that are always read.
    """

    files: Sequence[Collected]
    known: Generations
    listed: pa.Table
    unchanged: int
    as_of: tuple[Any, ...] | None
    bytes: int = 0
    refused: Sequence[str] = ()


def _agree_or_tell(target: Target, state: TableState, bindings: Sequence[Binding], report: IndexReport, wrote: bool) -> None:
    """As `_agree`. DataSkipError where the table cannot be listed any more: what was committed is there."""
    try:
        _agree(target, state, bindings, wrote)
    except DataSkipError as error:
        said = "" if report.committed in str(error) else f"; {report.committed}"
        raise type(error)(f"{error}{said}") from error


def _agree(target: Target, state: TableState, bindings: Sequence[Binding], wrote: bool) -> None:
    """What the index says of files that are gone, or back, is as of a listing that was made after all that it says.

    A commit is made of a listing that is younger than the version before it. But another refresh, which listed later still, may have found
    nothing to write, since the index said already what that listing did.

    Where only files have come since the table was listed, they are the next refresh's; once something is said here, it is looked again
    whether that is so: else who writes to the table all the time would have it listed without end.

    wrote: whether something was written since the table was listed; else what the target knows is older than that listing.
    """

    def rows_on(last: Snapshot | None) -> pa.Table | None:
        said.clear()
        if last and last.definitions:  # if of other indexes, which are not brought up to date by this, it is refused where anything changed
            known = Generations.of(last)
            asked = [known.keys, target.listed] if before is None else [before.keys]
            changes = known.changes(state.list_again(), target.below)
            if changes.are_of(*asked):  # then all of them: what is said is one listing
                said.append(changes)
                return rows([], changes, bindings, IndexReport(target.name, []))
        return None

    before: Generations | None = None  # what was said here last
    said: list[Generations] = []
    for _ in range(_TRIES):
        last = target.store.snapshot()
        if last is None or (not wrote and target.knows(last)):
            return
        target.store.append_as_of(rows_on, declare=False)
        if not said:
            return
        (before,) = said


def sample_of(state: TableState, jvm: Jvm) -> Sample:
    """A sample of a table's files, not read before it is asked."""

    def read() -> tuple[int, DataFrame]:
        listing = Listing.now(state.scan)
        listing.keep_only(spread(listing.count))
        return listing.count, jvm.restricted(state.frame, listing.java)

    return Sample(read, jvm.first_rows, not_understood)


def fitted(index: Index, sample: Sample) -> Index:
    """The index with what it leaves open chosen from a sample of the table. DataSkipError where it cannot choose."""
    try:
        return index.fitted(sample)
    except (DataSkipError, Warning):  # the second where the user has warnings raised
        raise
    except Exception as error:
        why = f"{type(error).__name__}: {error}"
        raise DataSkipError(f"{index} cannot choose its open parameters from a sample of the table: {why}; give them") from error
