"""The decision at query time: from one listing of a scan to the files that have to be read, and the report that says why."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from data_skip.clause import KEEP, Mask, Records, survivors
from data_skip.definition import Definition, difference, reader_of
from data_skip.filters import Filters, Indexes
from data_skip.index import BoundIndex, Index
from data_skip.merging import Decision, generate_clause
from data_skip.report import PredicateReport, ScanReport
from data_skip.spark.bridge import Listing, Scan
from data_skip.store import Snapshot


@dataclass(frozen=True)
class Knowledge:
    """The kinds of index and the filters that a session knows."""

    kinds: Mapping[str, type[Index]]
    filters: Filters


Find = Callable[[Sequence[str]], list[tuple[str, Snapshot]]]


def decide(listing: Listing, find: Find, knowledge: Knowledge) -> tuple[Mask, ScanReport]:
    """Which files of a listing to read. `find` gives the indexes of some root paths: (table root, snapshot)."""
    start = perf_counter()
    scan = listing.scan
    report = ScanReport(scan.roots[0], files_total=len(listing.paths), bytes_total=int(listing.sizes.sum()))
    keep = np.ones(len(listing.paths), dtype=bool)
    try:
        found = find(scan.roots)
        if not found:
            report.notes.append(f"no index at {scan.roots[0]}: skipping.table({scan.roots[0]!r}).create_index(...) makes one")
        for root, snapshot in found:
            _decide_one(listing, root, snapshot, knowledge, keep, report)
    except Exception as error:  # the law: whatever fails, keeps the files
        keep[:] = True
        report.errors.append(f"{type(error).__name__}: {error}")
    report.files_read, report.bytes_read = int(keep.sum()), int(listing.sizes[keep].sum())
    report.milliseconds = (perf_counter() - start) * 1000
    return keep, report


def _decide_one(listing: Listing, root: str, snapshot: Snapshot, knowledge: Knowledge, keep: Mask, report: ScanReport) -> None:
    """Takes away from `keep` the files below `root` that its index proves to hold no matching row."""
    scan = listing.scan
    below = np.flatnonzero([path.startswith(f"{root}/") for path in listing.paths])
    relative = [listing.paths[i][len(root) + 1 :] for i in below]
    slots = snapshot.slots(relative, listing.sizes[below].tolist(), listing.modification_times[below].tolist())
    fresh = slots >= 0
    files = below[fresh]
    decision = represent(scan, snapshot, knowledge, report.notes)
    clauses = [leaf.clause for leaf in decision.leaves] + [decision.clause]
    records = Records(snapshot.records({field.index for clause in clauses for field in clause.fields()}))
    rows = snapshot.row_counts[slots[fresh]]
    may_match = survivors(decision.clause, records, len(snapshot.files))[slots[fresh]] & (rows != 0)
    keep[files[~may_match]] = False

    report.clause = str(decision.clause) if decision.clause is not KEEP else ""
    report.errors += decision.errors
    report.files_unknown += int((~fresh).sum())
    report.rows_known, report.rows_kept = report.rows_known + int(np.nansum(rows)), report.rows_kept + int(np.nansum(rows[may_match]))
    for leaf in decision.leaves:
        alone = int((~survivors(leaf.clause, records, len(snapshot.files))[slots[fresh]]).sum())
        clause = "" if leaf.clause is KEEP else str(leaf.clause)
        report.predicates.append(PredicateReport(scan.sql(leaf.node), clause, alone, leaf.why_not))


def represent(scan: Scan, snapshot: Snapshot, knowledge: Knowledge, notes: list[str]) -> Decision:
    """The clause for the scan's predicate over those indexes of a snapshot that were collected as the scan reads; says in `notes` what others lack."""
    bound = []
    for column, definition in snapshot.definitions.items():
        index = usable(definition, knowledge.kinds)
        if isinstance(index, str):
            notes.append(index)
            continue
        trees = definition.bound_expressions()
        if index.column != column:
            notes.append(f"{definition} is not used: its column is {column}, not {index.column}")
        elif why_not := difference(definition.reader, reader_of(scan.description, scan.settings, trees)):
            notes.append(f"{definition} is not used: {why_not}")
        else:
            bound.append(BoundIndex(index, trees))
    return generate_clause(scan.predicate, Indexes(tuple(bound), scan), knowledge.filters)


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
