"""The decision at query time: which files of a scan need not be read."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from data_skip.clause import ALWAYS_TRUE, Mask, Records, survivors
from data_skip.errors import in_a_sentence
from data_skip.expression import Call, Column, columns_of
from data_skip.files.listing import ListedVersions, Listing, told
from data_skip.filters import Indexes
from data_skip.index import BoundIndex
from data_skip.planning.bound import Bound
from data_skip.planning.catalog import Knowledge
from data_skip.planning.deadline import Deadline
from data_skip.planning.in_tasks import Tasks, Told
from data_skip.planning.merging import Decision, generate_clause
from data_skip.planning.partitions import partition_values
from data_skip.planning.partitions import records as partition_records
from data_skip.spark.bridge import Scan
from data_skip.store import Snapshot
from data_skip.store.definition import Definition
from data_skip.store.reader import cut_matters, ignores_corrupt_files

_CUT_OTHERWISE = (
    "nothing is skipped: a large file that is new, or has lines of which nothing is sure,"
    " or may be corrupt (ignoreCorruptFiles), would be cut into other parts"
)
FEW = 10_000  # listed files, whose records are worth a copy: reports keep a hundred of them


class Find(Protocol):
    """What finds the indexes of some root paths: (table root, snapshot). until: as of DeltaStore.snapshot."""

    def __call__(self, roots: Sequence[str], *, until: float) -> list[tuple[str, Snapshot]]: ...


@dataclass(frozen=True)
class Verdict:
    """What the index of one table says of a scan: of each file version of its snapshot whether it may hold a matching row."""

    snapshot: Snapshot
    decision: Decision
    records: Records | None  # of all file versions, or of those at `places`; None: they were evaluated part by part
    listed: ListedVersions  # those that are listed in exactly the version that the record was collected from
    may_match: Mask
    places: npt.NDArray[np.intp] | None  # of listed ones, where they are few: only those are looked at
    most_bytes: int  # of records that are kept

    @property
    def fresh(self) -> Mask:
        """Which file versions are listed."""
        return self.listed.mask

    @property
    def skippable(self) -> Mask:
        """The file versions that are listed, and proved to hold no matching row."""
        return self.fresh & ~self.may_match


@dataclass
class Judgement:
    """What is known of the files of a listing, before any is taken away."""

    listing: Listing
    start: float
    deadline: Deadline
    verdicts: list[Verdict] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    learnt: bool = False  # whether something was found that holds for other scans as well: Snapshot.valued
    tasks: Tasks = field(default_factory=lambda: Tasks(None, may_run=False))


@dataclass
class Decided:
    """Which files of a listing are left, and what says so: `explain.py` makes the report of it."""

    judgement: Judgement
    skipped: list[Mask]  # by each verdict
    milliseconds: float
    at_once: bool = True  # whether they were taken away; else the JVM does that, by the answer

    def answer(self, number: str) -> str:
        """To the JVM: "decided", by which number that may be told again, and what it is to take away, a line for each snapshot."""
        verdicts = [] if self.at_once else zip(self.judgement.verdicts, self.skipped, strict=True)
        return "\n".join(["decided", number, *(told(verdict.snapshot, skipped) for verdict, skipped in verdicts if skipped.any())])

    @property
    def asks(self) -> bool:
        """Whether Python functions are to be run, and the decision is to be made again."""
        listing = self.judgement.listing
        return listing.scan.asks and sum(map(np.count_nonzero, self.skipped)) < listing.count


def decide(listing: Listing, find: Find, knowledge: Knowledge) -> Decided:
    """Takes away from a listing the files that need not be read.

    Not inside of a callback of the JVM, since Spark may be asked what Python functions give: `judge` and `take_away` are for there.
    """
    listing.scan.forget()
    decided = take_away(judge(listing, find, knowledge))
    while listing.scan.asks:
        listing.scan.run_workers()
        listing.keep_all()
        decided = take_away(judge(listing, find, knowledge))
    return decided


def judge(listing: Listing, find: Find, knowledge: Knowledge, by_tasks: bool = False) -> Judgement:
    """Evaluates the clauses of a scan over the records of its tables, by what is known of Python functions, and what tasks have found.

    What fails is told, not raised. by_tasks: whether tasks may be asked; where they are to be, nothing else is found.
    """
    scan, told = listing.scan, Told.of(listing.found_by_tasks)
    deadline = Deadline(scan.description["decide_seconds"], told.end if told else math.inf)
    found = Judgement(listing, told.start if told else perf_counter(), deadline, notes=list(scan.description["notes"]))
    found.tasks = Tasks(told, by_tasks)
    try:
        indexes = find(scan.roots, until=found.deadline.end)
        if not indexes:
            found.notes.append(f"no index at {scan.roots[0]}: skipping.table({scan.roots[0]!r}).create_index(...) makes one")
        for root, snapshot in indexes:
            found.verdicts.append(_verdict(found, root, snapshot, knowledge))
            if found.tasks.job is not None:
                break
        found.notes += found.tasks.notes
    except Exception as error:  # the law: whatever fails, keeps the files
        found.errors.append(in_a_sentence(error))
    return found


def take_away(judgement: Judgement) -> Decided:
    """Takes away from the listing the files that need not be read, or leaves that to the JVM where nothing more is to be asked then."""
    listing, verdicts = judgement.listing, judgement.verdicts
    of_parts = cut_matters(listing.scan.description, listing.scan.settings)
    at_once = not listing.is_answered or listing.scan.asks or of_parts
    skipped: list[Mask] = []
    try:
        skipped = [verdict.listed.skip(verdict.skippable) if at_once else verdict.skippable for verdict in verdicts]
        if of_parts and any(map(np.any, skipped)) and _cut_otherwise(listing, verdicts):
            listing.keep_all()
            skipped = [np.zeros_like(versions) for versions in skipped]
            judgement.notes.append(_CUT_OTHERWISE)
    except Exception as error:  # as above
        listing.keep_all()
        skipped = [np.zeros_like(verdict.fresh) for verdict in verdicts]
        judgement.errors.append(in_a_sentence(error))
    judgement.errors += [error for verdict in verdicts for error in verdict.decision.errors]
    judgement.notes += filter(None, [judgement.deadline.note])
    return Decided(judgement, skipped, (perf_counter() - judgement.start) * 1000, at_once)


def leave(judgement: Judgement) -> Decided:
    """Takes nothing away from the listing."""
    return Decided(judgement, [np.zeros_like(verdict.fresh) for verdict in judgement.verdicts], 0.0)


def _cut_otherwise(listing: Listing, verdicts: Sequence[Verdict]) -> bool:
    """Whether a file that is left gives other rows than with all files, perhaps: one of which nothing is sure, cut into other parts."""
    may_be_corrupt = ignores_corrupt_files(listing.scan.description, listing.scan.settings)  # in columns that no index reads
    for verdict in verdicts:
        if verdict.decision.same_reader and not may_be_corrupt:
            verdict.listed.steady(~np.isnan(verdict.snapshot.row_counts.astype(float)))
    return listing.cuts_otherwise()


def _verdict(judgement: Judgement, root: str, snapshot: Snapshot, knowledge: Knowledge) -> Verdict:
    """Evaluates the clause of a scan over the records of the table at one root. The judgement's notes are told why indexes are not used."""
    listing, deadline = judgement.listing, judgement.deadline
    decision = represent(listing.scan, snapshot, knowledge, judgement.notes, deadline)
    deadline.next_half()
    clauses = [leaf.clause for leaf in decision.leaves] + [decision.clause]
    used = {field.index for clause in clauses for field in clause.fields()}
    partitions = {name: index for name, index in partition_values(listing.scan.predicate).items() if name in used}
    listed = listing.present(snapshot, root)
    most_bytes = int(listing.scan.description["records_bytes"])
    stored = used - partitions.keys()
    fitting = snapshot.fitting(stored, most_bytes, deadline.end)
    columns = snapshot.records(fitting, most_bytes, deadline.end) | partition_records(listing, listed, partitions)
    places = _places_of_few(listed.mask)
    records: Records | None = None
    if stored - set(fitting):
        may_match = judgement.tasks.survivors(decision.clause, root, snapshot, columns, listed.mask, most_bytes, deadline)
    else:
        if places is not None:
            columns = {name: records.take(pa.array(places)) for name, records in columns.items()}
        records = Records(columns, deadline.is_over)
        if snapshot.keeps(columns.keys() & snapshot.definitions.keys()):
            snapshot.companions.append(records)
        may_match = survivors(decision.clause, records, snapshot.count if places is None else len(places))
        if places is None:
            valued = _valued(decision, records, snapshot)
            if valued and not deadline.note:  # else what was not evaluated any more was taken for unknown
                snapshot.valued |= valued
                judgement.learnt = True
        if places is not None:
            of_listed, may_match = may_match, np.ones(snapshot.count, dtype=bool)
            may_match[places] = of_listed
    if decision.same_reader:
        may_match &= snapshot.row_counts != 0
    return Verdict(snapshot, decision, records, listed, may_match, places, most_bytes)


def _valued(decision: Decision, records: Records, snapshot: Snapshot) -> set[str]:
    """The columns that are asked for values (`c IS NOT NULL`), of which the indexes say, as was not known, that every file may hold one."""
    found = set()
    for leaf in decision.leaves:
        match leaf.node:
            case Call("IsNotNull", [Column((name,))]) if name not in snapshot.valued and leaf.clause is not ALWAYS_TRUE:
                if survivors(leaf.clause, records, snapshot.count).all():
                    found.add(name)
    return found


def _places_of_few(listed: Mask) -> npt.NDArray[np.intp] | None:
    """Where the listed file versions are, if they are few beside all of an index, as those of a partition; else None."""
    count = np.count_nonzero(listed)
    return np.flatnonzero(listed) if count <= FEW and count * 8 <= len(listed) else None


def represent(scan: Scan, snapshot: Snapshot, knowledge: Knowledge, notes: list[str], deadline: Deadline | None = None) -> Decision:
    """The clause for the scan's predicate over the indexes that were collected as the scan reads; `notes` tells why others are not used.

    Indexes of which no column is in the predicate are not looked at.
    """
    bound = Bound.of(snapshot, scan, knowledge)
    paths = {column.path for column in columns_of([scan.predicate])}
    columns = {path[0] for path in paths}
    of_columns = ((column, definition) for column, definition in snapshot.definitions.items() if not columns.isdisjoint(definition.columns))
    asked = {column: definition for column, definition in of_columns if _asked(definition, paths)}
    found = [bound[column] for column in asked]
    unused = [(frozenset(one.columns), why) for one, why in zip(asked.values(), found, strict=True) if isinstance(why, str)]
    notes += [why_not for _, why_not in unused]
    served = [index for index in found if isinstance(index, BoundIndex)]
    partitions = partition_values(scan.predicate).values()
    decision = generate_clause(scan.predicate, Indexes((*served, *partitions), scan), knowledge.filters, deadline)
    decision.unused = unused
    others = (bound[column] for column in snapshot.definitions if column not in asked)
    decision.same_reader = bool(served) or any(isinstance(other, BoundIndex) for other in others)
    return decision


def _asked(definition: Definition, paths: Collection[tuple[str, ...]]) -> bool:
    """Whether one of some columns and fields is in an index, or holds one that is."""
    return any(mine[: len(path)] == path[: len(mine)] for mine in definition.paths for path in paths)
