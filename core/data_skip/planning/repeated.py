"""Decisions that are made again: whoever plans the same scan of the same files, by the same version of an index, is told the same.

Only such as follow from what the JVM told, from records of few files, and from what Spark's own functions give: where others were asked, as
Python's or a plugin's, which may give something else by now, they are asked again. They are kept no longer than the records, and than a
report of a query that was decided so is known and has not been looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from weakref import WeakValueDictionary, ref

from data_skip.expression import calls_others
from data_skip.files.listing import ListedVersions, Listing
from data_skip.planning.catalog import Knowledge
from data_skip.planning.deadline import Deadline
from data_skip.planning.decide import FEW, Find, Judgement, Verdict
from data_skip.store import Snapshot, StoreError

LONGEST = 100_000  # letters that are kept, as of a list of values


class Made:
    """A decision that can be made again."""

    def __init__(self, judgement: Judgement, knowledge: Knowledge, not_run: Sequence[str]) -> None:
        """not_run: of each runtime filter of the scan why what it needs is not run."""
        self.not_run, self._knowledge = not_run, knowledge
        self._roots = judgement.listing.scan.roots
        self._seconds = judgement.deadline.seconds
        self._notes = list(judgement.notes)
        self._verdicts = [_Said(verdict) for verdict in judgement.verdicts]

    def again(self, listing: Listing, find: Find, knowledge: Knowledge) -> Judgement | None:
        """The same judgement of another listing; None where the index is another one now, or its records are kept no more."""
        found = Judgement(listing, perf_counter(), Deadline(self._seconds), notes=list(self._notes))
        try:
            snapshots = [snapshot for _, snapshot in find(self._roots, until=found.deadline.end)]
        except StoreError:
            return None
        if knowledge is not self._knowledge or len(snapshots) != len(self._verdicts):
            return None
        for said, snapshot in zip(self._verdicts, snapshots, strict=True):
            verdict = said.of(listing, snapshot)
            if verdict is None:
                return None
            found.verdicts.append(verdict)
        return found


class _Said:
    """A verdict without what others keep: its snapshot, and the records of that."""

    def __init__(self, verdict: Verdict) -> None:
        assert verdict.records is not None
        self._snapshot, self._records = ref(verdict.snapshot), ref(verdict.records)
        self._without_columns = None if verdict.records.columns else verdict.records  # which nobody else keeps
        self._decision, self._listed, self._may_match = verdict.decision, verdict.fresh, verdict.may_match
        self._places, self._most_bytes = verdict.places, verdict.most_bytes

    def of(self, listing: Listing, snapshot: Snapshot) -> Verdict | None:
        """The verdict; None where the snapshot is another one, or the records are kept no more."""
        records = self._records()
        if self._snapshot() is not snapshot or records is None:
            return None
        listed = ListedVersions(listing, snapshot.id, self._listed)
        return Verdict(snapshot, self._decision, records, listed, self._may_match, self._places, self._most_bytes)


class Repeated:
    """The decisions that can be made again, by what the JVM told."""

    def __init__(self) -> None:
        self._made: WeakValueDictionary[str, Made] = WeakValueDictionary()

    def of(self, told: str) -> Made | None:
        """The decision of what was told so before."""
        return self._made.get(told)

    def keep(self, told: str, judgement: Judgement, knowledge: Knowledge, not_run: Sequence[str]) -> Made | None:
        """The decision, to be made again as long as whoever asks holds it; None where it follows from more than what was told."""
        if len(told) > LONGEST or not _follows(judgement):
            return None
        made = self._made[told] = Made(judgement, knowledge, not_run)
        return made


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
