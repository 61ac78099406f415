"""The decision at query time: which files of a scan need not be read, and the report that says why."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from data_skip.clause import ALWAYS_TRUE, Mask, Records, survivors
from data_skip.expression import columns_of
from data_skip.files.listing import ListedVersions, Listing
from data_skip.filters import Indexes
from data_skip.index import BoundIndex, Index
from data_skip.planning.catalog import Knowledge
from data_skip.planning.deadline import Deadline
from data_skip.planning.merging import Decision, generate_clause
from data_skip.planning.partitions import partition_values
from data_skip.planning.partitions import records as partition_records
from data_skip.planning.reasons import why_no_clause, why_no_file
from data_skip.planning.report import PredicateReport, ScanReport, human
from data_skip.proofs.elements import indexed
from data_skip.proofs.steady import why_unsteady, why_unsteady_as_read
from data_skip.spark.bridge import Scan
from data_skip.store import Snapshot
from data_skip.store.definition import Definition
from data_skip.store.reader import CUT_MATTERS, Reading, difference

_CUT_OTHERWISE = "nothing is skipped: a large file that is new, or has lines of which nothing is sure, would be cut into other parts"
_MOST_ADVICE = 10  # leaves of a scan of which a report says which indexes would serve them: all filters are asked of each
Find = Callable[[Sequence[str]], list[tuple[str, Snapshot]]]


@dataclass(frozen=True)
class Verdict:
    """What the index of one table says of a scan: of each file version of its snapshot whether it may hold a matching row."""

    snapshot: Snapshot
    decision: Decision
    records: Records
    listed: ListedVersions  # those that are listed in exactly the version that the record was collected from
    may_match: Mask

    @property
    def fresh(self) -> Mask:
        """Which file versions are listed."""
        return self.listed.mask

    @property
    def skippable(self) -> Mask:
        """The file versions that are listed, and proved to hold no matching row."""
        return self.fresh & ~self.may_match


def decide(listing: Listing, find: Find, knowledge: Knowledge) -> ScanReport:
    """Takes away from a listing the files that need not be read. `find` gives the indexes of some root paths: (table root, snapshot).

    Not inside of a callback of the JVM, since Spark may be asked what Python functions give: `decide_once` is for there.
    """
    listing.scan.forget()
    report = decide_once(listing, find, knowledge)
    while listing.scan.asks:
        listing.scan.run_workers()
        listing.keep_all()
        report = decide_once(listing, find, knowledge)
    return report


def decide_once(listing: Listing, find: Find, knowledge: Knowledge) -> ScanReport:
    """As `decide`, by what is known of Python functions; `listing.scan.asks`: do it again once they have been run."""
    start = perf_counter()
    scan = listing.scan
    report = ScanReport(scan.roots[0], files_total=listing.count, bytes_total=listing.total_bytes)
    report.files_unknown = report.files_read = report.files_total
    report.bytes_read = report.bytes_total
    report.notes += scan.description["notes"]
    deadline = Deadline(scan.description["decide_seconds"])
    try:
        found = find(scan.roots)
        if not found:
            report.notes.append(f"no index at {scan.roots[0]}: skipping.table({scan.roots[0]!r}).create_index(...) makes one")
        verdicts = [_judge(listing, root, snapshot, knowledge, report.notes, deadline) for root, snapshot in found]
        skipped = [verdict.listed.skip(verdict.skippable) for verdict in verdicts]
        if scan.description["format"] in CUT_MATTERS and any(map(np.any, skipped)) and _cut_otherwise(listing, verdicts):
            listing.keep_all()
            skipped = [np.zeros_like(versions) for versions in skipped]
            report.notes.append(_CUT_OTHERWISE)
        for verdict, versions in zip(verdicts, skipped, strict=True):
            _explain(report, verdict, versions, scan, knowledge)
        report.notes += filter(None, [deadline.note])
    except Exception as error:  # the law: whatever fails, keeps the files
        listing.keep_all()
        report.files_read, report.bytes_read = report.files_total, report.bytes_total
        report.errors.append(f"{type(error).__name__}: {error}")
    report.milliseconds = (perf_counter() - start) * 1000
    return report


def _cut_otherwise(listing: Listing, verdicts: Sequence[Verdict]) -> bool:
    """Whether a file that is left gives other rows than with all files, perhaps: one of which nothing is sure, cut into other parts."""
    for verdict in verdicts:
        if verdict.decision.same_reader:
            verdict.listed.steady(~np.isnan(verdict.snapshot.row_counts.astype(float)))
    return listing.cuts_otherwise()


def unprofitable(listing: Listing, find: Find, knowledge: Knowledge) -> list[str]:
    """For each runtime filter of a scan (of a join, or a sub-query) why it is not worth running what it needs; "" where it is.

    That reads `bytes`. It may save a part of what all that is known already leaves, which should be `least_scan_bytes` or more, and nothing
    where no index is about its columns.
    """
    found = find(listing.scan.roots)
    trees = [tree for _, snapshot in found for d in snapshot.definitions.values() for tree in d.bound_expressions]
    columns = {column.path[0] for column in columns_of(trees)}
    runtime_filters = listing.scan.description["runtime_filters"]
    reasons = [f"no index on {', '.join(sorted(p['columns']))}" if not columns & set(p["columns"]) else "" for p in runtime_filters]
    if all(reasons):
        return reasons
    files, size = listing.count, listing.total_bytes
    deadline = Deadline(listing.scan.description["decide_seconds"])
    for root, snapshot in found:
        skippable = _judge(listing, root, snapshot, knowledge, [], deadline).skippable
        files, size = files - int(skippable.sum()), size - int(snapshot.sizes[skippable].sum())
    for i, runtime_filter in enumerate(runtime_filters):
        if not reasons[i] and (files < 2 or size < runtime_filter["least_scan_bytes"]):
            left = f"{files:,} files with {human(size)}"
            reasons[i] = f"that may read {human(runtime_filter['bytes'])}, and other predicates leave {left}"
    return reasons


def _judge(listing: Listing, root: str, snapshot: Snapshot, knowledge: Knowledge, notes: list[str], deadline: Deadline) -> Verdict:
    """Evaluates the clause of a scan over the records of the table at one root. `notes` is told why indexes are not used."""
    decision = represent(listing.scan, snapshot, knowledge, notes, deadline)
    deadline.next_half()
    clauses = [leaf.clause for leaf in decision.leaves] + [decision.clause]
    used = {field.index for clause in clauses for field in clause.fields()}
    partitions = {name: index for name, index in partition_values(listing.scan.predicate).items() if name in used}
    files = len(snapshot.files)
    listed = listing.present(snapshot, root)
    records = Records(
        snapshot.records(used - partitions.keys()) | partition_records(listing, listed, partitions), decision.deadline.is_over
    )
    may_match = survivors(decision.clause, records, files)
    if decision.same_reader:
        may_match &= snapshot.row_counts != 0
    return Verdict(snapshot, decision, records, listed, may_match)


def _explain(report: ScanReport, verdict: Verdict, skipped: Mask, scan: Scan, knowledge: Knowledge) -> None:
    """Adds to a report what one table's index says, and which file versions were skipped."""
    snapshot, decision, fresh = verdict.snapshot, verdict.decision, verdict.fresh
    report.clause = str(decision.clause) if decision.clause is not ALWAYS_TRUE else ""
    report.errors += decision.errors
    report.files_unknown -= int(fresh.sum())
    report.files_read -= int(skipped.sum())
    report.bytes_read -= int(snapshot.sizes[skipped].sum())
    report.rows_known += int(np.nansum(snapshot.row_counts[fresh]))
    report.rows_kept += int(np.nansum(snapshot.row_counts[fresh & ~skipped]))
    for number, leaf in enumerate(decision.leaves):
        line = PredicateReport(scan.sql(leaf.node))
        if decision.deadline.is_over() or (decision.deadline.note and leaf.clause is ALWAYS_TRUE):
            line.why_not = "no time was left"
        elif leaf.clause is ALWAYS_TRUE:
            line.why_not = why_no_clause(leaf.node, decision.indexes, knowledge if number < _MOST_ADVICE else None)
        else:
            line.clause = str(leaf.clause)
            line.files_skipped_alone = int((fresh & ~survivors(leaf.clause, verdict.records, len(fresh))).sum())
            if not line.files_skipped_alone:
                line.why_none = why_no_file(leaf.node, leaf.clause, verdict.records, fresh, scan)
        report.predicates.append(line)


def represent(scan: Scan, snapshot: Snapshot, knowledge: Knowledge, notes: list[str], deadline: Deadline | None = None) -> Decision:
    """The clause for the scan's predicate over the indexes that were collected as the scan reads; `notes` tells why others are not used.

    Indexes of which no column is in the predicate are not looked at.
    """
    reading = Reading(scan.description, scan.settings)
    columns = {column.path[0] for column in columns_of([scan.predicate])}
    asked = {column: definition for column, definition in snapshot.definitions.items() if not columns.isdisjoint(definition.columns)}
    found = [_bound(column, definition, reading, knowledge) for column, definition in asked.items()]
    notes += [why_not for why_not in found if isinstance(why_not, str)]
    bound = [index for index in found if isinstance(index, BoundIndex)]
    partitions = partition_values(scan.predicate).values()
    decision = generate_clause(scan.predicate, Indexes((*bound, *partitions), scan), knowledge.filters, deadline)
    others = (_bound(column, definition, reading, knowledge) for column, definition in snapshot.definitions.items() if column not in asked)
    decision.same_reader = bool(bound) or any(isinstance(other, BoundIndex) for other in others)
    return decision


def _bound(column: str, definition: Definition, reading: Reading, knowledge: Knowledge) -> BoundIndex | str:
    """The index of a column of the store, for a scan; or why it is not used."""
    index = usable(definition, knowledge.kinds)
    if isinstance(index, str):
        return index
    trees = definition.bound_expressions
    if index.column != column:
        return f"{definition} is not used: its column is {column}, not {index.column}"
    if why_not := why_unsteady(trees) or why_unsteady_as_read(trees, definition.reader):
        return f"{definition} is not used: it {why_not}"
    if why_not := difference(definition.reader, reading.reader(trees)):
        return f"{definition} is not used: {why_not}"
    return BoundIndex(index, indexed(trees))


def usable(definition: Definition, kinds: Mapping[str, type[Index]]) -> Index | str:
    """The index of a definition, or why this session cannot use it."""
    kind = kinds.get(definition.kind)
    if kind is None:
        return f"{definition} is not used: no loaded plugin knows {definition.kind}; install the one that does"
    if kind.version != definition.version:
        return (
            f"{definition} is not used: collected by version {definition.version} of {definition.kind}, this is {kind.version};"
            " drop the index and create it again"
        )
    try:
        return kind(*definition.expressions, **definition.parameters)
    except Exception as error:
        return f"{definition} is not used: {error}"
