"""The report of a scan: what each predicate skipped, and why not more. That may cost more than the decision: it is made when looked at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from posixpath import basename
from urllib.parse import unquote
from weakref import ref

import numpy as np
import numpy.typing as npt

from data_skip.clause import ALWAYS_TRUE, Mask, Records, survivors
from data_skip.errors import DataSkipError, in_a_sentence
from data_skip.expression import Literal
from data_skip.pictures.boxes import Boxes
from data_skip.planning.catalog import Knowledge
from data_skip.planning.decide import Decided, Verdict
from data_skip.planning.merging import Decision
from data_skip.planning.pictured import boxes_of_query
from data_skip.planning.reasons import why_no_clause, why_no_file
from data_skip.planning.report import PredicateReport, ScanReport
from data_skip.spark.bridge import Scan
from data_skip.store import Snapshot

_MOST_ADVICE = 10  # leaves of a scan of which a report says which indexes would serve them: all filters are asked of each


@dataclass(frozen=True)
class _Said:
    """What the index of one table said of a scan, small enough to be kept for a hundred queries: two bits a record.

    The records are kept as long as their snapshot.
    """

    decision: Decision
    records: Callable[[], Records | None]
    snapshot: ref[Snapshot]
    few: bool  # whether the records are those of listed file versions alone
    listed: npt.NDArray[np.uint8]
    skipped: npt.NDArray[np.uint8]
    files: int

    def mask(self, bits: npt.NDArray[np.uint8]) -> Mask:
        """Of each file version."""
        return np.unpackbits(bits, count=self.files) == 1

    @property
    def fresh(self) -> Mask:
        """Which of the records are of listed file versions."""
        listed = self.mask(self.listed)
        return listed[listed] if self.few else listed


def _nothing() -> None:
    """In place of records that were evaluated part by part."""


def later(decided: Decided, knowledge: Knowledge, unprofitable: Sequence[str] = ()) -> Callable[[], ScanReport]:
    """What makes the report of a decision: it keeps nothing of the listing. `unprofitable`: of each runtime filter why it was not run."""
    judgement = decided.judgement
    listing, scan = judgement.listing, judgement.listing.scan
    told = ScanReport(scan.roots[0], files_total=listing.count, bytes_total=listing.total_bytes, milliseconds=decided.milliseconds)
    told.contract = listing.contract
    told.notes, told.errors = judgement.notes, judgement.errors
    told.files_unknown = told.files_read = told.files_total
    told.bytes_read = told.bytes_total
    verdicts = []
    for verdict, skipped in zip(judgement.verdicts, decided.skipped, strict=True):
        _count(told, verdict, skipped)
        records = verdict.records
        bits = np.packbits(verdict.fresh), np.packbits(skipped)
        said = verdict.decision, ref(records) if records is not None else _nothing, ref(verdict.snapshot), verdict.places is not None
        verdicts.append(_Said(*said, *bits, len(verdict.fresh)))

    def explained() -> ScanReport:
        report = replace(told, notes=list(told.notes), errors=list(told.errors), predicates=[])
        try:
            for i, why_not in enumerate(unprofitable):
                report.notes.append(f"{scan.java.runtimeFilter(i)} is not used: {why_not}")
            for said in verdicts:
                report.clause = str(said.decision.clause) if said.decision.clause is not ALWAYS_TRUE else ""
            for said in verdicts:
                _explain(report, said, scan, knowledge)
        except Exception as error:  # as where Spark was stopped since: the numbers are right
            report.notes.append(f"nothing more can be said: {in_a_sentence(error)}")
        if verdicts:
            most = max(verdicts, key=lambda said: int(said.mask(said.listed).sum()))
            report.pictured = partial(_pictured, unquote(basename(report.table)), report.files_unknown, most, knowledge)
        return report

    return explained


def _pictured(table: str, unknown: int, said: _Said, knowledge: Knowledge, columns: Sequence[str]) -> Boxes:
    """The boxes of the files of a scan; unknown: how many others there are."""
    snapshot = said.snapshot()
    if snapshot is None:
        raise DataSkipError(f"the index of {table} has changed since this query: run it again, and take its report")
    masks = said.mask(said.listed), said.mask(said.skipped)
    found = boxes_of_query(table, snapshot, knowledge.kinds, said.decision, masks, columns)
    return replace(found, files_without=found.files_without + unknown)


def _count(report: ScanReport, verdict: Verdict, skipped: Mask) -> None:
    """Adds to a report how many files and rows one table's index spared."""
    snapshot, fresh = verdict.snapshot, verdict.fresh
    report.files_unknown -= int(fresh.sum())
    report.files_read -= int(skipped.sum())
    report.bytes_read -= int(snapshot.sizes.sum(where=skipped))
    report.rows_known += int(np.nansum(snapshot.row_counts, where=fresh))
    report.rows_kept += int(np.nansum(snapshot.row_counts, where=fresh & ~skipped))


def _explain(report: ScanReport, said: _Said, scan: Scan, knowledge: Knowledge) -> None:
    """Adds to a report what each leaf of the predicate contributed, as far as there is time."""
    fresh, decision, records = said.fresh, said.decision, said.records()
    if records is None:
        why = "the index has changed since, or its records take more than spark.data_skip.records.maxBytes"
        report.notes.append(f"what each predicate skipped is not known any more: {why}")
        return
    late = bool(decision.deadline.note)
    decision.deadline.next_half()
    for number, leaf in enumerate(decision.leaves):
        if isinstance(leaf.node, Literal) and leaf.node.value is True:
            continue  # of a scan without a predicate
        line = PredicateReport(scan.sql(leaf.node))
        if decision.deadline.is_over() or (late and leaf.clause is ALWAYS_TRUE):
            line.why_not = "no time was left"
        elif leaf.clause is ALWAYS_TRUE:
            line.why_not = why_no_clause(leaf.node, decision, knowledge if number < _MOST_ADVICE else None)
        else:
            line.clause = str(leaf.clause)
            line.files_skipped_alone = int((fresh & ~survivors(leaf.clause, records, len(fresh))).sum())
            if not line.files_skipped_alone:
                line.why_none = why_no_file(leaf.node, leaf.clause, records, fresh, scan)
        report.predicates.append(line)
