"""Indexing: which files to collect, and how many in a commit; each with one pass over them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame

from data_skip.building.binding import Binding
from data_skip.building.chunks import Chunks
from data_skip.building.commit import Commit, Written
from data_skip.building.generations import Generations
from data_skip.building.index_report import IndexReport
from data_skip.building.one_pass import Target, collect_files
from data_skip.building.progress import progress_bar
from data_skip.building.recent import let_clocks_pass, too_recent
from data_skip.building.rows import rows
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
from data_skip.store.new_parts import PartsLostError
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
    commit = Commit(target, state, listing, keys, wanted, bindings, report, found, unreadable, to_come, seen, parts)
    try:
        written = commit.write()
    except PartsLostError:  # all is collected again, by the driver
        report.files_lifted, report.files_direct = before
        chunks.put_back()
        return target
    chunks.held(len(written.files), written.bytes, time.perf_counter() - start)
    _tell(report, written, int(wanted.sum()))
    if written.as_of is None:
        return target
    return replace(target, new=False, lists=True, as_of=written.as_of, known=written.known, listed=written.listed)


def _tell(report: IndexReport, written: Written, asked: int) -> None:
    """Adds one commit to the report. asked: how many files were to be collected for it."""
    report.files_unreadable += written.unchanged - len(written.files)
    report.files_too_recent += asked - written.unchanged
    report.refuse(written.refused)
    report.files_undated += sum(file.undated for file in written.files)
    report.files_collected += len(written.files)
    report.rows += sum(file.rows for file in written.files)


def _task_parts(target: Target, bindings: Sequence[Binding], keys: pa.Table, wanted: Mask) -> TaskParts | None:
    """By which tasks write the records of the wanted files themselves; None where they cannot."""
    places = np.flatnonzero(wanted)
    asked = taken(keys, places)
    known = target.known.changed_by(target.known.changes(target.listed, target.below))  # as it will be told, if nothing comes between
    return TaskParts.on(target.store.snapshot(), bindings, Generations(asked, known.of_each(asked)), places)


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
