"""One pass over files, however many indexes: of footers alone, by tasks that read files themselves, and by Spark."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame

from data_skip.building import direct
from data_skip.building.binding import Binding
from data_skip.building.collect import COUNT, FILE, TOLD, Collected, Write, collect, expressions_of, named, told_of
from data_skip.building.direct_values import column_of, values_told
from data_skip.building.doubts import fields_held, forget_lacking, undated
from data_skip.building.file_records import Wanted
from data_skip.building.generations import Below, Generations
from data_skip.building.grouped import Pass, grouped, passes
from data_skip.building.index_report import IndexReport
from data_skip.building.lifting import Part, lift
from data_skip.building.lines import LINE, encoding_of, looked_through, odd_lines
from data_skip.building.source import TableState
from data_skip.clause import Mask
from data_skip.errors import DataSkipError
from data_skip.expression import calls_python
from data_skip.files.listing import Listing
from data_skip.index import Index
from data_skip.spark.errors import SPARK_ERRORS, first_line, is_cancelled, is_of_workers
from data_skip.spark.jvm import Jvm
from data_skip.spark.settings import smallest_part
from data_skip.store import Places, Snapshot
from data_skip.store.reader import WITH_MALFORMED, header_may_move, malformed_column
from data_skip.store.versions import KEYS_SCHEMA, taken

MALFORMED = "data_skip_malformed"
Read = Callable[[Mask], dict[int, Collected]]
_LIFTED_HERE = 64  # so many footers are read by the driver: to start tasks takes longer
_MOST_UNREADABLE = 10  # beyond, no more are looked for


@dataclass(frozen=True)
class Target:
    """The table that is indexed: its name for people, where its records go, and whether its indexes are new, or go on.

    known: the generations of the file versions that the index had `as_of` what a version of it said (Snapshot.said, or of one's own commit
    how that begins), None where there was none; lists: whether it said which files are gone. listed: the files by a listing that is younger
    than all which that version says of others than were collected, empty before there is one. below: as of `changes`. refuse: an error
    where a version has what may not be there when new indexes are made.
    """

    name: str
    store: Places
    jvm: Jvm
    new: bool
    known: Generations
    as_of: tuple[Any, ...] | None
    lists: bool
    below: Below
    refuse: Callable[[Snapshot], None]
    listed: pa.Table = field(default_factory=KEYS_SCHEMA.empty_table)

    def knows(self, last: Snapshot | None) -> bool:
        """Whether the last version is the one that is known. Its number does not tell: an index made anew begins at 0 again."""
        if last is None or self.as_of is None:
            return last is None and self.as_of is None
        return last.said[: len(self.as_of)] == self.as_of


def collect_files(
    target: Target,
    state: TableState,
    listing: Listing,
    wanted: Mask,
    bindings: Sequence[Binding],
    report: IndexReport,
    unreadable: dict[int, str],
    to_come: bool,
    write: Write | None = None,
) -> dict[int, Collected]:
    """What is found of the wanted files, by the place of each in the listing: of footers alone, by tasks that read, and by Spark.

    `to_come`: whether there are more files: then it is no error if none of these can be read. write: as of collect; tasks do so where one
    pass finds all that is kept of a file.
    """
    local = target.jvm.local_files
    found = _lift(listing, wanted, bindings) if local and wanted.sum() <= _LIFTED_HERE else {}
    report.files_lifted += len(found)
    asked, why = direct.wanted(bindings, state.scan.description["options"])
    report.why_by_spark = report.why_by_spark or why
    by_tasks: dict[int, Collected] = {}
    if asked.indexes and (to_read := _without(wanted, found)).any():
        of_all = asked.indexes == [binding.index for binding in bindings]
        by_tasks = _read_directly(state, listing, to_read, asked, local, report, write if of_all else None)

    def read(files: Mask, of: Sequence[Binding], others: bool) -> dict[int, Collected]:
        others = others or to_come
        found = partial(_read, target, state, listing, bindings=of, report=report, write=write if of is bindings else None)
        return _read_all_that_can_be(found, files, listing, unreadable, report, others, go_on=not target.new)

    direct_ones = set(asked.indexes)
    places, others = ([i for i, one in enumerate(bindings) if (one.index in direct_ones) is direct_] for direct_ in (True, False))
    if others and by_tasks:
        by_spark = read(_only(wanted, by_tasks), [bindings[i] for i in others], bool(found))
        by_tasks = _joined([(places, by_tasks), (others, by_spark)])
        by_tasks = {i: file for i, file in by_tasks.items() if i not in unreadable}
    found |= by_tasks
    if (to_read := _without(wanted, {*found, *unreadable})).any():
        found |= read(to_read, bindings, bool(found))
    return found


def _without(files: Mask, places: Iterable[int]) -> Mask:
    others = files.copy()
    others[list(places)] = False
    return others


def _only(files: Mask, places: Iterable[int]) -> Mask:
    chosen: Mask = files & ~_without(files, places)
    return chosen


def _joined(passes_: Sequence[tuple[Sequence[int], Mapping[int, Collected]]]) -> dict[int, Collected]:
    """What is known of each file by passes, each over the indexes at its places. Where they have not as many rows, nothing."""
    if len(passes_) == 1:
        return dict(passes_[0][1])
    joined = {}
    for number in {number for _, found in passes_ for number in found}:
        files = [found.get(number) or Collected(records=[None] * len(places)) for places, found in passes_]
        steady = len({file.rows for file in files}) == 1
        by_place = {
            i: record for (places, _), file in zip(passes_, files, strict=True) for i, record in zip(places, file.records, strict=True)
        }
        records = [by_place[i] if steady else None for i in sorted(by_place)]
        refused, undated, unsteady = (any(getattr(file, flag) for file in files) for flag in ("refused", "undated", "unsteady"))
        joined[number] = Collected(files[0].rows, refused, undated, records=records, unsteady=unsteady or not steady)
    return joined


def _read_directly(
    state: TableState, listing: Listing, wanted: Mask, asked: Wanted, local: bool, report: IndexReport, write: Write | None
) -> dict[int, Collected]:
    """What Spark's tasks find in the wanted files that they can read themselves, by the place of each in the listing."""
    files = _parts(listing, wanted)
    failures: dict[Index, str] = {}
    try:
        found, why = direct.read(state.frame.sparkSession, state.root, files, asked, local, failures, write)
    except SPARK_ERRORS as error:
        raise _cannot_be_read(report, error) from error
    report.why_by_spark = report.why_by_spark or why
    report.unknown |= {str(index): error for index, error in failures.items()}
    report.files_lifted += sum(file.lifted for file in found)
    report.files_direct += sum(not file.lifted for file in found)
    return {file.number: file.file for file in found if file.file is not None}


def _lift(listing: Listing, wanted: Mask, bindings: Sequence[Binding]) -> dict[int, Collected]:
    """What footers alone say of the wanted files, by the place of each in the listing."""
    files = _parts(listing, wanted) if wanted.any() else []
    return lift(files, {binding.index: binding.definition for binding in bindings})


def _read_all_that_can_be(
    read: Read, wanted: Mask, listing: Listing, unreadable: dict[int, str], report: IndexReport, others: bool, go_on: bool
) -> dict[int, Collected]:
    """What a pass over the wanted files finds, without those that cannot be read, as an archive that is being written.

    `others`: whether there are files that were read in another way. go_on: of indexes that other files have records of already: it may be
    the files, whatever happens. Else DataSkipError where none can be read, or too many cannot.
    """
    try:
        found = _read_in_parts(read, wanted, listing, unreadable, go_on)
    except SPARK_ERRORS as error:
        raise _cannot_be_read(report, error) from error
    report.unreadable = report.unreadable or next(iter(unreadable.values()), "")
    if len(unreadable) == wanted.sum() and not (others or go_on or report.files_collected):
        raise DataSkipError(f"the files of {report.table} cannot be read: {report.unreadable}; {report.committed}")
    return found


def _cannot_be_read(report: IndexReport, error: Exception) -> DataSkipError:
    """What is told of an error of Spark."""
    advice = f"let them run the driver's, by PYSPARK_PYTHON={sys.executable}, with what is here (installed, or on PYTHONPATH); "
    hint = f"Spark's workers run another Python, or lack what it has: {advice}" if is_of_workers(error) else ""
    return DataSkipError(f"the files of {report.table} cannot be read: {first_line(error)}; {hint}{report.committed}")


def _read_in_parts(read: Read, wanted: Mask, listing: Listing, unreadable: dict[int, str], go_on: bool) -> dict[int, Collected]:
    """A pass over the wanted files; where it fails, one over each of its parts, and so on down to the files at fault, which are noted.

    go_on: whether, of too many, those that are left are noted as well; else that is an error.
    """
    try:
        return read(wanted)
    except SPARK_ERRORS as error:
        places = np.flatnonzero(wanted)
        too_many = len(unreadable) >= _MOST_UNREADABLE
        if is_cancelled(error) or is_of_workers(error) or (too_many and not go_on):
            raise
        if len(places) == 1 or too_many:
            unreadable.update(dict.fromkeys(places.tolist(), first_line(error)))
            return {}
        parts = _parted(places, listing, first_line(error))
    found: dict[int, Collected] = {}
    for chosen in parts:
        part = np.zeros(len(wanted), dtype=bool)
        part[chosen] = True
        found |= _read_in_parts(read, part, listing, unreadable, go_on)
    return found


def _parted(places: np.ndarray[Any, Any], listing: Listing, message: str) -> list[np.ndarray[Any, Any]]:
    """The files that an error of Spark names, where these are not all, and the others in two halves."""
    paths = (uri.partition(":")[2] for uri in taken(listing.files, places)["path"].to_pylist())  # file:/x is file:///x in errors
    named = np.array([path in message for path in paths])
    parts = np.array_split(places, 2) if named.all() else [places[named], *np.array_split(places[~named], 2)]
    return [part for part in parts if len(part)]


def _read(
    target: Target,
    state: TableState,
    listing: Listing,
    wanted: Mask,
    bindings: Sequence[Binding],
    report: IndexReport,
    write: Write | None = None,
) -> dict[int, Collected]:
    """What Spark finds in the wanted files, by the place of each in the listing."""
    indexes, trees = [one.index for one in bindings], [tree for one in bindings for tree in one.definition.bound_expressions]
    together = state.frame.select(*expressions_of(indexes)) if len(bindings) > 1 else None
    if together and (target.jvm.mistakes(together) or (calls_python(trees) and target.jvm.mixes_environments(together))):
        return _joined([([i], _read(target, state, listing, wanted, [one], report)) for i, one in enumerate(bindings)])
    reader = bindings[0].definition.reader
    malformed = malformed_column(reader)
    if malformed is None and reader["format"] in WITH_MALFORMED:
        malformed = _unused(MALFORMED, state.frame)
    number = _unused(FILE, state.frame)
    places = np.flatnonzero(wanted)
    sizes = dict(zip(places.tolist(), listing.files["size"].to_numpy()[places].tolist(), strict=True))

    def sample(places: Sequence[int]) -> DataFrame:
        listing.keep_only(_only(wanted, places))
        return target.jvm.restricted(state.frame, listing.java, number=number)

    planned = passes(bindings, sizes, sample, number, target.jvm)
    listing.keep_only(wanted)
    # A header that some part size makes a row is collected as one: where it is none, a record says that there may be more than there is.
    least = smallest_part(state.frame.sparkSession)
    part = least if header_may_move(reader) and max(sizes.values()) > least else None
    frame = target.jvm.restricted(state.frame, listing.java, malformed, number, part)

    def told(one: Pass) -> dict[int, Collected]:
        of_values = _of_values(one, target, state, listing, wanted, bindings, report)
        return of_values or _told(one, frame, number, malformed, bindings, listing, report, write if len(planned) == 1 else None)

    found = _joined([(one.places, told(one)) for one in planned])
    if odd_lines(reader) or part:
        text = target.jvm.lines(state.frame, listing.java, _unused(LINE, state.frame), number, encoding_of(reader), part)
        lines = looked_through(text, number, reader, in_parts=part is not None)
        for i in found.keys() & (lines.odd | (found.keys() - lines.headed if part else set())):
            found[i].refused = found[i].unsteady = True
    return found


def _of_values(
    one: Pass, target: Target, state: TableState, listing: Listing, wanted: Mask, all_: Sequence[Binding], report: IndexReport
) -> dict[int, Collected]:
    """What one pass finds, by the place of each file in the listing, where tasks read the column it is grouped by; else {}."""
    bindings = [all_[i] for i in one.places]
    column = column_of(bindings, state.frame.schema, state.scan.description["options"]) if one.grouping else None
    if not (target.jvm.local_files and column and one.grouping and one.grouping.columns == column.path):
        return {}
    spark, indexes, failures = state.frame.sparkSession, [binding.index for binding in bindings], dict[Index, str]()
    try:
        rows = values_told(spark, _parts(listing, wanted), column, state.frame.schema, indexes)
        found = {} if rows is None else collect(rows.select(named(TOLD), named(COUNT), *expressions_of(indexes)), indexes, failures)
    except SPARK_ERRORS as error:
        if is_cancelled(error) or is_of_workers(error):
            raise
        return {}
    if any(file.refused for file in found.values()):
        return {}
    report.unknown |= {str(index): error for index, error in failures.items()}
    return found


def _parts(listing: Listing, wanted: Mask) -> list[Part]:
    """The wanted files, as tasks are told of them."""
    places = np.flatnonzero(wanted)
    chosen = taken(listing.files, places)
    return [Part(*told) for told in zip(places.tolist(), *(column.to_pylist() for column in chosen.columns), strict=True)]


def _told(
    one: Pass,
    frame: DataFrame,
    number: str,
    malformed: str | None,
    all_: Sequence[Binding],
    listing: Listing,
    report: IndexReport,
    write: Write | None,
) -> dict[int, Collected]:
    """What one pass over the files finds, by the place of each in the listing."""
    bindings = [all_[i] for i in one.places]
    indexes = [binding.index for binding in bindings]
    failures: dict[Index, str] = {}
    doubtful = fields_held(frame, bindings)
    told = told_of(frame, number, malformed, undated(frame, bindings), list(doubtful.values()), in_parts=one.grouping is not None)
    rows = frame.select(*told, *expressions_of(indexes)) if one.grouping is None else grouped(frame, told, indexes, one.grouping)
    found = collect(rows, indexes, failures, None if doubtful else write)
    if doubtful:
        forget_lacking(found, {i: bindings[i] for i in doubtful}, lambda i: listing.files["path"][i].as_py(), frame.schema)
    report.unknown |= {str(index): error for index, error in failures.items()}
    return found


def _unused(name: str, frame: DataFrame) -> str:
    """The name, or a longer one, that no column has."""
    taken = {column.lower() for column in frame.columns}
    while name in taken:
        name += "_"
    return name
