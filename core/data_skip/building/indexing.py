"""Indexing: which files to collect, the one pass over them, and the one commit."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from time import sleep
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame

from data_skip.building.binding import Binding
from data_skip.building.chunks import Chunks
from data_skip.building.collect import Collected
from data_skip.building.doubts import times_of_text
from data_skip.building.generations import changes
from data_skip.building.index_report import IndexReport
from data_skip.building.one_pass import Target, collect_files
from data_skip.building.progress import progress_bar
from data_skip.building.source import TableState
from data_skip.clause import Mask
from data_skip.errors import DataSkipError
from data_skip.files.listing import Listing
from data_skip.index import Index, Record
from data_skip.sample import Sample, spread
from data_skip.spark.errors import not_understood
from data_skip.spark.jvm import Jvm
from data_skip.store import FileKey, Snapshot
from data_skip.store.delta import rows_of
from data_skip.store.layout import BASE, definition_field

_HOUR = 3_600_000
_ZONES = 15 * _HOUR  # by which clocks may be apart that mean to be right
_TRIES = 20
_CONVERSION_ERRORS = (pa.ArrowException, TypeError, ValueError, OverflowError)  # what pyarrow raises for values that are not of a type


def index_files(
    target: Target,
    state: TableState,
    bindings: Sequence[Binding],
    current: set[FileKey],
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
    if keys and all(key is None for key in keys):
        raise DataSkipError(f"no file of {target.name} lies below {state.root}: an index belongs to a folder; give that of the files")
    too_recent = _too_recent_files(keys, now)
    wanted = _wanted(keys, current | too_recent)
    _let_clocks_pass([key for key, chosen in zip(keys, wanted, strict=True) if key is not None and chosen], now)
    report.files_current = sum(key in current for key in keys)
    report.files_too_recent = len(too_recent - current)
    with progress_bar(state.frame.sparkSession, f"indexing {target.name}", progress):
        before = target
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
    keys: Sequence[FileKey | None],
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
    found = collect_files(target, state, listing, wanted, bindings, report, unreadable, to_come)
    listed = set() if wanted.any() else {key for key in keys if key is not None} | state.beside()
    if not (wanted.any() or target.new or changes(target.known, listed, target.below)) and target.lists:
        return target
    written: list[_Written] = []

    def rows_on(last: Snapshot | None) -> pa.Table | None:
        """What to write on a version: of the files that are as they were collected by a listing that is younger than it."""
        written.clear()
        if last is not None:
            target.refuse(last)
        as_read = target.knows(last)
        known = target.known if as_read else last.generation_of() if last is not None else {}
        after = listed if as_read and not wanted.any() else state.list_again()
        if wanted.any() and not after:
            raise DataSkipError(f"the files of {target.name} were deleted meanwhile; {report.committed}")
        unchanged = [(key, i) for i, key in enumerate(keys) if wanted[i] and key is not None and key in after]
        chosen = [(key, i) for key, i in unchanged if i not in unreadable]
        if to_come and not chosen and not report.files_collected:
            written.append(_Written({}, known, len(unchanged), None))
            return None
        rows = {key: found.get(i, Collected(records=[None] * len(bindings))) for key, i in chosen}
        generations = {key: known.get(key, 0) for key in rows} | changes(known, after, target.below)
        if not (generations or target.new or not (last and last.is_listing)):
            written.append(_Written({}, known, len(unchanged), None))
            return None
        as_of = (1, "") if last is None else (last.version + 1, last.said[1])  # in the first case nobody knows of which table
        table = _rows(rows, generations, bindings, report)
        written.append(_Written(rows, {**known, **generations}, len(unchanged), as_of, _bytes_of_records(table)))
        return table

    target.store.append_as_of(rows_on, target.new)
    (done,) = written
    chunks.held(len(done.rows), done.bytes)
    report.files_unreadable += done.unchanged - len(done.rows)
    report.files_too_recent += int(wanted.sum()) - done.unchanged
    report.files_refused += sum(file.refused for file in done.rows.values())
    report.files_undated += sum(file.undated for file in done.rows.values())
    report.files_collected += len(done.rows)
    report.rows += sum(file.rows for file in done.rows.values())
    if done.as_of is None:
        return target
    return replace(target, new=False, lists=True, as_of=done.as_of, known=done.known)


@dataclass(frozen=True)
class _Written:
    """What one commit said: its rows, what is known from then on of all files, and how many of those that were read have not changed.

    as_of: its own version, as of Target; None where there was nothing to say. bytes: of the records.
    """

    rows: Mapping[FileKey, Collected]
    known: Mapping[FileKey, int]
    unchanged: int
    as_of: tuple[Any, ...] | None
    bytes: int = 0


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

    wrote: whether something was written since the table was listed; else what the target knows is older than that listing.
    """

    def rows_on(last: Snapshot | None) -> pa.Table | None:
        said.clear()
        if last and last.definitions:  # if of other indexes, which are not brought up to date by this, it is refused where anything changed
            said.update(changes(last.generation_of(), state.list_again(), target.below))
        return _rows({}, said, bindings, IndexReport(target.name, [])) if said else None

    said: dict[FileKey, int] = {}
    for _ in range(_TRIES):
        last = target.store.snapshot()
        if last is None or (not wrote and target.knows(last)):
            return
        target.store.append_as_of(rows_on, declare=False)
        if not said:
            return


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


def _wanted(keys: Sequence[FileKey | None], known: set[FileKey]) -> Mask:
    """Which files of a listing are to be collected: each once, though two partitions may have the same location."""
    seen: set[FileKey | None] = {None, *known}
    wanted = np.zeros(len(keys), dtype=bool)
    for i, key in enumerate(keys):
        wanted[i] = key not in seen
        seen.add(key)
    return wanted


def _let_clocks_pass(keys: Sequence[FileKey], now: float) -> None:
    """Waits until no listed file can be written again within the tick of its modification time, by whatever clock that was taken.

    The clock of a store may be another than the driver's, by a zone even, so `_too_recent_files` may be wrong about files of this day. But
    they were listed, so their time has come: after one tick of any clock, whoever writes them again gives them another. Stores that tell
    no more than seconds and are asked by HTTP refuse clocks that are farther apart than minutes.
    """
    ticks = {_tick(key) for key in keys if abs(now - key.modification_time) <= _ZONES}
    if ticks:
        sleep(max(ticks) / 1000)


def _tick(key: FileKey) -> int:
    """Of the clock that gave a file its modification time, in milliseconds: a second, perhaps, where that is a whole second.

    Of each file by itself: folders of a table may lie on several file systems, as where old ones are mounted from elsewhere.
    """
    return 1000 if key.modification_time % 1000 == 0 else 10


def _too_recent_files(keys: Sequence[FileKey | None], now: float) -> set[FileKey]:
    """Files that may be written again within the same tick of the clock, and then look the same.

    A time far in the future is no sign of youth.
    """
    return {key for key in keys if key is not None and now - _tick(key) <= key.modification_time <= now + _HOUR}


def _rows(
    rows: Mapping[FileKey, Collected],
    generations: Mapping[FileKey, int],
    bindings: Sequence[Binding],
    report: IndexReport,
) -> pa.Table:
    """What one commit holds: all records, and the generation of each file version that changed.

    An unknown record is one whose fields are all null: it says that the file need not be collected again.

    Without a record, it is collected again by the next refresh.
    """
    files = [rows.get(key) for key in generations]
    columns = {}
    for i, binding in enumerate(bindings):
        index, type_ = binding.index, binding.record_type
        dated = bool(times_of_text(binding))
        records = [None if file is None or (dated and file.undated) else _record(file, i) for file in files]
        column, why = as_column(records, type_)
        if why:
            report.unknown.setdefault(str(index), why)
        columns[definition_field(index.column, type_, binding.definition)] = column
    counts = [None if file is None or file.unsteady else file.rows for file in files]
    collected = [file is not None for file in files]
    return rows_of([*generations], counts, columns, [*generations.values()], collected)


def _bytes_of_records(table: pa.Table) -> int:
    """Without those that only fill up the columns, of files that were not collected."""
    return int(table.filter(table["collected"]).select([name for name in table.column_names if name not in BASE.names]).nbytes)


def _record(file: Collected, index: int) -> Record:
    """What is kept of a file that was collected."""
    record = file.records[index]
    return {} if file.refused or record is None else record


def as_column(records: Sequence[Record | None], type_: pa.DataType) -> tuple[pa.Array, str]:
    """The records of an index as one column, those that do not fit their own fields as unknown ones; and why, "" where all fit."""
    try:
        return pa.array(records, type_), _misnamed(records, {field.name for field in type_})
    except _CONVERSION_ERRORS:
        fitting: list[Record | None] = []
        why = ""
        for record in records:
            try:
                fitting.append(pa.array([record], type_)[0].as_py())
            except _CONVERSION_ERRORS as error:
                why = why or f"a record does not fit its fields: {error}"
                fitting.append({})
        return pa.array(fitting, type_), why


def _misnamed(records: Iterable[Record | None], fields: AbstractSet[str]) -> str:
    """What records hold that is no field, where they lack fields; "" where there is none."""
    for record in records:
        if record and not fields >= record.keys() and not record.keys() >= fields:
            return f"a record has {', '.join(map(repr, sorted(record.keys() - fields)))}, and its fields are {', '.join(sorted(fields))}"
    return ""
