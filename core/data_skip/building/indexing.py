"""Indexing: which files to collect, the one pass over them, and the one commit."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import sleep

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame

from data_skip.building.binding import Binding
from data_skip.building.collect import FILE, Collected, collect, with_expressions
from data_skip.building.doubts import fields_held, forget_lacking, times_of_text, undated
from data_skip.building.generations import changes
from data_skip.building.lifting import lift
from data_skip.building.lines import LINE, encoding_of, files_with, files_with_header, odd_lines
from data_skip.building.progress import progress_bar
from data_skip.building.source import TableState
from data_skip.clause import Mask
from data_skip.errors import DataSkipError
from data_skip.files.listing import Listing
from data_skip.index import Index, Record
from data_skip.sample import Sample, spread
from data_skip.spark.errors import SPARK_ERRORS, first_line, is_cancelled, is_of_workers
from data_skip.spark.jvm import Jvm
from data_skip.spark.settings import smallest_part
from data_skip.store import FileKey, Places
from data_skip.store.reader import WITH_MALFORMED, header_may_move, malformed_column
from data_skip.store.snapshot import definition_field

MALFORMED = "data_skip_malformed"
Read = Callable[[Mask], dict[int, Collected]]
_MOST_UNREADABLE = 10  # beyond, a pass fails
_HOUR = 3_600_000
_TRIES = 20
_CONVERSION_ERRORS = (pa.ArrowException, TypeError, ValueError, OverflowError)  # what pyarrow raises for values that are not of a type


@dataclass(repr=False)
class IndexReport:
    """What create_index or refresh did."""

    table: str
    indexes: list[str]
    files_collected: int = 0
    files_lifted: int = 0  # of those collected: not read, since their footers hold all that was asked for
    files_current: int = 0  # were up to date
    files_too_recent: int = 0  # have no record until the next refresh: they may be written again and look the same, or changed meanwhile
    files_refused: int = 0  # of those collected: hold malformed records, and are always read
    files_unreadable: int = 0  # have no record until a refresh that can read them
    files_undated: int = 0  # of those collected: hold times of the last day in text, where one without a date is read as one of today
    rows: int = 0  # of the files collected
    seconds: float = 0.0
    unknown: dict[str, str] = field(default_factory=dict)  # by index, why it knows nothing of some files, which are read
    unreadable: str = ""  # Spark's words about the first of them

    def __repr__(self) -> str:  # as a notebook shows it
        return str(self)

    def __str__(self) -> str:
        lines = [
            f"{self.table}: {', '.join(self.indexes)}",
            f"  {self.files_collected:,} files with {self.rows:,} rows collected in {self.seconds:.1f} s; "
            f"{self.files_current:,} files were up to date",
        ]
        if self.files_lifted:
            lines.append(f"  {self.files_lifted:,} of them were not read: their own footers hold what was asked for")
        if self.files_too_recent:
            lines.append(f"  {self.files_too_recent:,} files were written this moment or changed meanwhile: read until the next refresh()")
        if self.files_refused:
            why = "hold malformed records, or lines that are read otherwise by another query: they are always read"
            lines.append(f"  {self.files_refused:,} files {why}")
        if self.files_unreadable:
            lines.append(
                f"  {self.files_unreadable:,} files cannot be read, and have no record until a refresh() that can: {self.unreadable}"
            )
        if self.files_undated:
            why = "by some indexes until a refresh() on another day: text without a date is read as a time of today"
            lines.append(f"  {self.files_undated:,} files hold times of the last day, and are unknown {why}")
        lines += [f"  {index} is unknown for some files, which are read: {why}" for index, why in self.unknown.items()]
        return "\n".join(lines)


@dataclass(frozen=True)
class Target:
    """The table that is indexed: its name for people, where its records go, and whether its indexes are new, or go on.

    known: the generation of each file version that the index had in its `version`, None where there was none; lists: whether it said which
    files are gone. below: all files below the table's root, whoever reads them.
    """

    name: str
    store: Places
    jvm: Jvm
    new: bool
    known: Mapping[FileKey, int]
    version: int | None
    lists: bool
    below: Callable[[], set[FileKey | None]]


def index_files(
    target: Target, state: TableState, bindings: Sequence[Binding], current: set[FileKey], progress: bool = False
) -> IndexReport:
    """Collects and commits the records of every file that is not `current`. `progress`: with a bar on the terminal.

    DataSkipError for files that Spark cannot read, and where there are none any more.
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
    found = _lift(listing, wanted, bindings)
    report.files_lifted = len(found)
    to_read = wanted.copy()
    to_read[list(found)] = False
    unreadable: dict[int, str] = {}
    if to_read.any():
        with progress_bar(state.frame.sparkSession, f"indexing {target.name}", progress):
            found |= _read_all_that_can_be(
                lambda files: _read(target, state, listing, files, bindings, report), to_read, unreadable, report
            )
    after = state.list_again() if wanted.any() else set()
    if wanted.any() and not after:
        raise DataSkipError(f"the files of {target.name} were deleted meanwhile; nothing was written")
    unchanged = [(key, i) for i, key in enumerate(keys) if wanted[i] and key is not None and key in after]
    chosen = [(key, i) for key, i in unchanged if i not in unreadable]
    report.files_unreadable = len(unchanged) - len(chosen)
    report.files_too_recent = len(too_recent - current) + int(wanted.sum()) - len(unchanged)
    rows = {key: found.get(i, Collected(records=[None] * len(bindings))) for key, i in chosen}
    report.files_collected, report.rows = len(rows), sum(file.rows for file in rows.values())
    listed = {key for key in (after if wanted.any() else keys) if key is not None}
    generations = {key: target.known.get(key, 0) for key in rows} | changes(target.known, listed, target.below)
    written = bool(generations) or target.new or not target.lists
    if written:
        _commit(target, rows, generations, bindings, report)
    _agree(target, state, bindings, (target.version or 0) + written)
    report.seconds = time.perf_counter() - start
    return report


def _agree(target: Target, state: TableState, bindings: Sequence[Binding], expected: int) -> None:
    """What the index says of files that are gone, or back, is as of a listing that was made after all that it says.

    Whoever else has written meanwhile, so that its last version is not `expected`, may have listed the table before or after.
    """
    for _ in range(_TRIES):
        last = target.store.snapshot()
        if last is None or last.version == expected or not any(binding.index.column in last.definitions for binding in bindings):
            return
        known = dict(zip(last.files, last.generations.tolist(), strict=True))
        said = changes(known, {key for key in state.list_again() if key is not None}, target.below)
        if not said:
            return
        _commit(replace(target, new=False), {}, said, bindings, IndexReport(target.name, []))
        expected = last.version + 1


def sample_of(state: TableState, jvm: Jvm) -> Sample:
    """A sample of a table's files, not read before it is asked."""

    def read() -> tuple[int, DataFrame]:
        listing = Listing.now(state.scan)
        listing.keep_only(spread(listing.count))
        return listing.count, jvm.restricted(state.frame, listing.java)

    return Sample(read)


def fitted(index: Index, sample: Sample) -> Index:
    """The index with what it leaves open chosen from a sample of the table. DataSkipError where it cannot choose."""
    try:
        return index.fitted(sample)
    except DataSkipError:
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

    The clock of a store may be another than the driver's, so `_too_recent_files` may be wrong about files of this hour. But they were
    listed, so their time has come: after one tick of any clock, whoever writes them again gives them another.
    """
    if any(abs(now - key.modification_time) <= _HOUR for key in keys):
        sleep(_resolution(keys) / 1000)


def _resolution(keys: Iterable[FileKey]) -> int:
    """Of the clock that gave files their modification times, in milliseconds: a second where all are whole seconds."""
    return 1000 if all(key.modification_time % 1000 == 0 for key in keys) else 10


def _too_recent_files(keys: Sequence[FileKey | None], now: float) -> set[FileKey]:
    """Files that may be written again within the same tick of the clock, and then look the same.

    A time far in the future is no sign of youth.
    """
    files = {key for key in keys if key is not None}
    resolution = _resolution(files)
    return {key for key in files if now - resolution <= key.modification_time <= now + _HOUR}


def _lift(listing: Listing, wanted: Mask, bindings: Sequence[Binding]) -> dict[int, Collected]:
    """What footers alone say of the wanted files, by the place of each in the listing."""
    paths = listing.paths if wanted.any() else []
    uris = {i: path for i, path in enumerate(paths) if wanted[i]}
    return lift(uris, {binding.index: binding.definition for binding in bindings})


def _read_all_that_can_be(read: Read, wanted: Mask, unreadable: dict[int, str], report: IndexReport) -> dict[int, Collected]:
    """What a pass over the wanted files finds, without those that cannot be read, as an archive that is being written.

    DataSkipError where none can be read, or too many cannot: then it is not the files.
    """
    try:
        found = _read_in_parts(read, wanted, unreadable)
    except SPARK_ERRORS as error:
        advice = f"let them run the driver's, by PYSPARK_PYTHON={sys.executable} before Spark starts, or install there what is here; "
        hint = f"Spark's workers run another Python, or lack what it has: {advice}" if is_of_workers(error) else ""
        raise DataSkipError(f"the files of {report.table} cannot be read: {first_line(error)}; {hint}nothing was written") from error
    report.unreadable = next(iter(unreadable.values()), "")
    if len(unreadable) == wanted.sum():
        raise DataSkipError(f"the files of {report.table} cannot be read: {report.unreadable}; nothing was written")
    return found


def _read_in_parts(read: Read, wanted: Mask, unreadable: dict[int, str]) -> dict[int, Collected]:
    """A pass over the wanted files; where it fails, one over each half, and so on down to the files at fault, which are noted."""
    try:
        return read(wanted)
    except SPARK_ERRORS as error:
        places = np.flatnonzero(wanted)
        if is_cancelled(error) or is_of_workers(error) or len(unreadable) >= _MOST_UNREADABLE:
            raise
        if len(places) == 1:
            unreadable[int(places[0])] = first_line(error)
            return {}
    found: dict[int, Collected] = {}
    for half in np.array_split(places, 2):
        part = np.zeros(len(wanted), dtype=bool)
        part[half] = True
        found |= _read_in_parts(read, part, unreadable)
    return found


def _read(
    target: Target, state: TableState, listing: Listing, wanted: Mask, bindings: Sequence[Binding], report: IndexReport
) -> dict[int, Collected]:
    """What one pass over the wanted files finds, by the place of each in the listing."""
    indexes, reader = [binding.index for binding in bindings], bindings[0].definition.reader
    malformed = (malformed_column(reader) or _unused(MALFORMED, state.frame)) if reader["format"] in WITH_MALFORMED else None
    listing.keep_only(wanted)
    number = _unused(FILE, state.frame)
    largest = max(size for (size, _), chosen in zip(listing.identities, wanted, strict=True) if chosen)
    # A header that some part size makes a row is collected as one: where it is none, a record says that there may be more than there is.
    least = smallest_part(state.frame.sparkSession)
    part = least if header_may_move(reader) and largest > least else None
    frame = target.jvm.restricted(state.frame, listing.java, malformed, number, part)
    failures: dict[Index, str] = {}
    doubtful = fields_held(frame, bindings)
    rows = with_expressions(frame, number, indexes, malformed, undated(frame, bindings), list(doubtful.values()))
    odd = odd_lines(reader)
    found = collect(rows, indexes, failures)
    if odd or part:
        lines = target.jvm.lines(state.frame, listing.java, _unused(LINE, state.frame), number, encoding_of(reader), part)
        doubted, unsteady = files_with(lines, number, odd, odd_lines(reader, of_parts=True)) if odd else (set(), set())
        unsteady |= found.keys() - files_with_header(lines, number, reader) if part else set()
        for i in found.keys() & (doubted | unsteady):
            found[i].refused, found[i].unsteady = True, i in unsteady
    if doubtful:
        forget_lacking(found, {i: bindings[i] for i in doubtful}, listing.paths)
    report.unknown |= {str(index): error for index, error in failures.items()}
    return found


def _unused(name: str, frame: DataFrame) -> str:
    """The name, or a longer one, that no column has."""
    taken = {column.lower() for column in frame.columns}
    while name in taken:
        name += "_"
    return name


def _commit(
    target: Target,
    rows: Mapping[FileKey, Collected],
    generations: Mapping[FileKey, int],
    bindings: Sequence[Binding],
    report: IndexReport,
) -> None:
    """One commit of all records, and of the generation of each file version that changed.

    An unknown record is one whose fields are all null: it says that the file need not be collected again.

    Without a record, it is collected again by the next refresh.
    """
    report.files_refused = sum(file.refused for file in rows.values())
    report.files_undated = sum(file.undated for file in rows.values())
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
    target.store.append([*generations], counts, columns, target.new, [*generations.values()], collected)


def _record(file: Collected, index: int) -> Record:
    """What is kept of a file that was collected."""
    record = file.records[index]
    return {} if file.refused or record is None else record


def as_column(records: Sequence[Record | None], type_: pa.DataType) -> tuple[pa.Array, str]:
    """The records of an index as one column, those that do not fit their own fields as unknown ones; and why, "" where all fit."""
    try:
        return pa.array(records, type_), ""
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
