"""Decisions that are taken again: whoever plans the same scan of the same files, by the same version of an index, is told the same.

The JVM does that (Answers.java), and tells Python when somebody looks at a report. Only such as follow from what the JVM told, from records
of few files, and from what Spark's own functions give: where others were asked, as Python's or a plugin's, which may give something else
by now, they are asked again.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from itertools import count
from threading import Lock

from data_skip.expression import calls_others
from data_skip.files.listing import Listing
from data_skip.planning.decide import FEW, Decided, Judgement, Verdict
from data_skip.planning.report import ScanReport

LONGEST = 50_000  # letters of what is told of a scan, as with a list of values, that are kept
_MOST = 512  # as of Answers.java


class Repeated:
    """The reports of decisions that the JVM takes again, by the numbers that it is given."""

    def __init__(self) -> None:
        self._reports: OrderedDict[str, Callable[[], ScanReport]] = OrderedDict()
        self._numbers = count(1)
        self._lock = Lock()

    def keep(self, told: str, decided: Decided, report: Callable[[], ScanReport]) -> str:
        """The number of a decision that may be taken again where the same is told; "" of one that follows from more than that."""
        if len(told) > LONGEST or decided.at_once or not _follows(decided.judgement):
            return ""
        with self._lock:
            number = str(next(self._numbers))
            self._reports[number] = report
            if len(self._reports) > _MOST:
                self._reports.popitem(last=False)
        return number

    def report(self, number: str, milliseconds: float) -> list[ScanReport]:
        """The report of a decision that was taken again in so many; none where that is kept no more."""
        with self._lock:
            explained = self._reports.get(number)
        if explained is None:
            return []
        report = explained()
        report.milliseconds = milliseconds
        return [report]


def _follows(judgement: Judgement) -> bool:
    """Whether a judgement follows from what was told of a listing, and from records."""
    scan = judgement.listing.scan
    if judgement.errors or judgement.deadline.note or scan.asks or judgement.listing.found_by_tasks is not None:
        return False
    if any(verdict.decision.errors for verdict in judgement.verdicts) or calls_others([scan.predicate]):  # whose code may change on disk
        return False
    return all(_of_few(verdict, judgement.listing) for verdict in judgement.verdicts)


def _of_few(verdict: Verdict, listing: Listing) -> bool:
    """Whether a verdict is of few files that are told, and of no partitions: the values of these are asked for."""
    snapshot, records = verdict.snapshot, verdict.records
    if records is None or snapshot.count > FEW or not listing.tells(snapshot):
        return False
    return records.columns.keys() <= snapshot.definitions.keys()
