"""What the JVM calls while it plans and runs queries, on whatever thread that happens: the answers, and the reports of what was decided."""

from __future__ import annotations

import json
import logging
import math
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from time import perf_counter
from typing import Any
from urllib.parse import unquote

from data_skip.building.index_report import IndexReport
from data_skip.errors import DataSkipError, in_a_sentence
from data_skip.files.listing import Listing
from data_skip.planning.bounded import Bounded, seconds_of
from data_skip.planning.catalog import BELIEVED_SECONDS, Catalog
from data_skip.planning.decide import Find, Judgement, judge, leave, represent, take_away
from data_skip.planning.explain import later
from data_skip.planning.repeated import LONGEST, Repeated
from data_skip.planning.report import Later, Reports, ScanReport
from data_skip.planning.small_sides import worth
from data_skip.spark.bridge import Scan
from data_skip.spark.errors import first_line
from data_skip.spark.kept import Kept, gone
from data_skip.store import Snapshot, StoreError
from data_skip.store.settings import CHOOSE_FILES

log = logging.getLogger("data_skip")
_KEPT_SNAPSHOTS = 4
_KEPT_CLAUSES = 100
_CHOOSE_FILES = {key.lower() for key in CHOOSE_FILES}  # options are kept in any letters
_SETTING = "spark.data_skip."  # with which a note on one that cannot be read begins: see UserSettings.java
_MOST_COLUMNS = 100  # that are told with each query


def nothing(question: str, java: Any) -> str | None:
    """What is answered in a session in which data-skip is disabled: every file is read."""
    return "disabled" if question.startswith("explain\n") else None


class Callback:
    """What the JVM asks (Answering): holds no state of a query."""

    def __init__(
        self, catalog: Catalog, refresh: Callable[[str, str], IndexReport], kept: Callable[[str], Any], again: Callable[[], str]
    ) -> None:
        """refresh: brings the index of a table up to date, by the table's path or its name in the catalog, if its root is still that.

        kept: what the JVM keeps under a number; None where it is nothing. again: as Answers.takeUntold.
        """
        self._catalog: Catalog | None = catalog
        self._refresh, self._kept, self._again = refresh, kept, again
        self.reports = Reports(self._decided_again)
        self._repeated = Repeated()
        self._logged: set[str] = set()
        self._explained: dict[str, tuple[Any, str]] = {}  # clauses, and by which knowledge and snapshots, by what was told of their scans
        # The last of which was told, that reports may tell more: all else that they keep of an older one goes with it.
        self._told_of: deque[Snapshot] = deque(maxlen=_KEPT_SNAPSHOTS)

    def close(self) -> None:
        """From now on nothing is answered, and every file is read."""
        self.reports.take()
        self._catalog = None
        self._told_of.clear()
        self._explained.clear()

    def apply(self, question: str, java: Any) -> str | None:
        """The answer to a question of the JVM; where there is none, None, and all files are read.

        A question is a word, and what is told with it in further lines. To "list" and "indexed" the answer begins with a line:
        which numbers of Kept.java are held no more.

        "list", told by which number a Listing is kept, and of it (AskedScan.told; nothing: that is asked for): "decided", by which
        number that may be told again (Repeated.keep), and which files need not be read, unless they are taken away by now; or "ask", to be
        asked again once Python functions have been run; or "tasks", once the job has that was handed over to it; or "run", how many bytes
        that may save, and of each runtime filter a line, why it is not worth knowing, "" where it is.
        "connect": nothing; what is told next is large.
        "indexed", told of a query's scans, and of those that will stay as they are, as no index may serve them, or nothing is known of
        their rows (LeftScans): JSON, of each scan what is known of its table's indexes (Indexed). It is asked again once that may
        be otherwise (Tables).
        "follow", told a contract and a table in JSON (Contracts.files): why its files cannot be those of its index, "" where they can.
        "snapshot", java a SnapshotFileIndex, told the root of its table, the contract, and what of it is read (SnapshotTable.part), a
        line each: the id and the version of the last snapshot, which the JVM then knows, a line each; "" and why there is none.
        "explain", told by which number an AskedScan is kept, and of it (Told.ofScan, Told.description): its clause, for people.
        """
        catalog = self._catalog
        if catalog is None:
            return nothing(question, java)
        what, _, told = question.partition("\n")
        try:
            if what == "connect":
                return ""
            if what == "explain":
                number, _, told = told.partition("\n")
                return self._explain(number, told, catalog)
            if what == "snapshot":
                return _last_snapshot(told, java, catalog)
            if what == "follow":
                return _why_not_followed(json.loads(told), catalog, self._refresh)
            if what == "list":
                number, _, told = told.partition("\n")
                kept = Kept(number, self._kept)
                said = self._decide(kept, told or str(kept.java.scan().told(kept.java)), catalog)
            else:
                said = self._look(json.loads(told), catalog)
            return f"{gone()}\n{said}"  # where there is nothing to be said, nobody hears of what is gone
        except StoreError as error:
            return str(error) if what == "explain" else None
        except KeyboardInterrupt:  # of the thread that has asked for the query
            raise
        except BaseException as error:  # as a panic of a plugin's Rust, by which this thread would end, and the query wait for ever
            if what in ("snapshot", "follow"):
                why = f"{type(error).__name__}: {first_line(error)}"
                return f"\n{why}" if what == "snapshot" else why
            log.warning("data-skip skipped nothing: %s", in_a_sentence(error))
            return in_a_sentence(error) if what == "explain" else None

    def _decide(self, kept: Kept, told: str, catalog: Catalog) -> str:
        """kept: the Listing of the JVM."""
        listing = Listing.of(kept, told)
        judgement = judge(listing, catalog.find, catalog.knowledge, by_tasks=True)
        if (job := judgement.tasks.job) is not None:
            if listing.scan.asks:
                return "ask"
            try:
                job.hand_over(listing.java, judgement.start, judgement.deadline)
                return "tasks"
            except Exception as unfit:  # what Spark cannot make a job of
                job.snapshot.why_no_tasks = f"{type(unfit).__name__}: {first_line(unfit)}"
                return self._decide(kept, told, catalog)
        not_run: Sequence[str] = []
        if listing.refusals:
            weighed = worth(judgement, catalog.knowledge)
            not_run = weighed.why_not
            if not all(not_run):  # a name of a column may be of several lines
                return "\n".join(["run", str(weighed.saves), *(" ".join(reason.split()) for reason in not_run)])
        return self._decided(judgement, not_run, told.partition("\n")[2], catalog)

    def _decided(self, judgement: Judgement, not_run: Sequence[str], told: str, catalog: Catalog) -> str:
        """told: of the listing, but for what is another for each query."""
        decided = take_away(judgement)
        if decided.asks:
            return "ask"
        listing = judgement.listing
        warnings = {f"data-skip keeps the files of {listing.scan.roots[0]} that it is unsure of: {error}" for error in judgement.errors}
        warnings.update(note for note in listing.scan.description["notes"] if note.startswith(_SETTING))
        for warning in warnings - self._logged:
            self._logged.add(warning)
            log.warning("%s", warning)
        if judgement.learnt:
            catalog.changed()
        report = later(decided, catalog.knowledge, not_run)
        for verdict in judgement.verdicts:
            if verdict.snapshot not in self._told_of:
                self._told_of.append(verdict.snapshot)
        listing.scan.let_go()
        self.reports.add(listing.execution_id, listing.scan.number, lambda: [report()])
        return decided.answer(self._repeated.keep(told, decided, report))

    def _decided_again(self) -> Iterator[tuple[str, int, Later, float]]:
        """What the JVM has decided without asking: the query, the scan's number there, and its report, and when that was.

        Of scans that stayed as they are, those of a query have one number.
        """
        try:
            lines = self._again().splitlines()
        except Exception:  # as where Spark was stopped since
            return
        for line in lines:
            what, execution_id, number, known_as, milliseconds, moment = line.split(" ")
            if what == "again":
                yield execution_id, int(number), partial(self._repeated.report, known_as, float(milliseconds)), float(moment)
            elif (left := Kept(known_as, self._kept)) and self._catalog is not None:
                yield execution_id, int(number), partial(_of_left, left, self._catalog), float(moment)

    def _explain(self, number: str, told: str, catalog: Catalog) -> str:
        """The clause of a scan, which Spark asks for each time that a query is run: found once for each version of its table's index."""
        of_scan, description = told.split("\n", 1)
        known = {**json.loads(of_scan), "description": description}
        found = catalog.find(Scan(told=known).roots, math.inf)  # what files were chosen by, or will be
        by = (catalog.knowledge, [snapshot.id for _, snapshot in found])
        made, text = self._explained.get(told, (None, ""))
        if made != by:
            scan = Scan(self._kept(number), told=known)
            text = "; ".join(str(represent(scan, snapshot, catalog.knowledge, []).clause) for _, snapshot in found) or "no index"
            while len(self._explained) >= _KEPT_CLAUSES:
                self._explained.pop(next(iter(self._explained)), None)
            if len(told) <= LONGEST:
                self._explained[told] = by, text
        return text

    def _look(self, told: Mapping[str, Any], catalog: Catalog) -> str:
        """Which scans of a query have an index. What a report tells of those that stay as they are is found once somebody looks at it."""
        until = perf_counter() + told["decide_seconds"] / 2
        known = {roots: _indexed(roots, catalog, until) for roots in set(map(tuple, told["roots"]))}  # a query reads some tables many times
        if told["kept"]:
            left = Kept(told["kept"], self._kept)
            self.reports.add(told["execution_id"], told["number"], lambda: _of_left(left, catalog))
        return json.dumps([known[tuple(roots)] for roots in told["roots"]])


def _last_snapshot(told: str, java: Any, catalog: Catalog) -> str:
    root, contract, part = told.split("\n", 2)
    try:
        bounded = catalog.bounded.get((root, contract, part))
        if bounded is not None:
            bounded.bring_up_to_date()
        snapshot = catalog.store(root).snapshot()
        if bounded is not None and snapshot is not None and bounded.was_put_back(snapshot.said):
            bounded.bring_up_to_date()
            snapshot = catalog.store(root).snapshot()
    except DataSkipError as error:
        return f"\n{error}"
    if snapshot is None or (why := _why_no_listing(snapshot)):
        return "\nit was deleted" if snapshot is None else f"\n{why}"
    if not java.knows(snapshot.id):
        snapshot.hand_over(lambda file, mapped_as: java.know(snapshot.id, file, mapped_as) or None)
    return f"{snapshot.id}\n{snapshot.version}"


def _why_no_listing(snapshot: Snapshot) -> str:
    """Why an index does not say which files its table has; "" where it does."""
    if not snapshot.definitions:
        return "all indexes of the table were dropped"
    for definition in snapshot.definitions.values():
        for key, value in {**definition.reader["options"], **(definition.reader["session"] or {})}.items():
            if key.lower() in _CHOOSE_FILES:
                return f"it was made where {key}={value} chooses files"
    return "" if snapshot.is_listing else "an earlier data-skip refreshed it last, and does not say which files are gone; refresh() does"


def _why_not_followed(told: Mapping[str, Any], catalog: Catalog, refresh: Callable[[str, str], IndexReport]) -> str:
    root, contract = told["root"], told["contract"]
    until = perf_counter() + told["decide_seconds"]
    try:
        snapshot = catalog.store(root).snapshot(BELIEVED_SECONDS, until)  # whoever lists asks for the last one
        if snapshot is not None and _why_no_listing(snapshot):
            snapshot = catalog.store(root).snapshot(0.0, until)  # which may be a listing by now
        if snapshot is None or (why := _why_no_listing(snapshot)):
            return f"no index at {root}" if snapshot is None else why
        if (seconds := seconds_of(contract)) is not None:
            name = told["table"] or unquote(root)
            bounded = catalog.bounded.setdefault((root, contract, told["part"]), Bounded(seconds, partial(catalog.said, root)))
            for known_as in [name] if told["part"] else [name, unquote(root)]:  # the second once the table has another name
                bounded.refreshed_by(known_as, partial(refresh, known_as, root))  # it is, once the last snapshot is asked for
    except DataSkipError as error:
        return str(error)
    return ""


def _indexed(roots: Sequence[str], catalog: Catalog, until: float) -> dict[str, Any]:
    """Of which columns the indexes of a table may say something, None for any; and of which every file is known to hold a value.

    version: another one where the indexes, or what is known here of their kinds, are others; None where nobody has looked for a later one
    lately. watched: the files by which it would be seen that this is so no more (Catalog.watched). Of a table without an index these alone.
    """
    roots = [root.rstrip("/") for root in roots]
    try:
        found = catalog.find(roots, math.inf, until)  # whoever lists asks for the last version
    except StoreError:
        return {"columns": None, "valued": [], "version": None, "watched": None}  # its report says what is wrong with it
    watched = catalog.watched(roots, dict(found))
    if not found:
        return {"watched": watched}
    over = [(column, snapshot) for _, snapshot in found for definition in snapshot.definitions.values() for column in definition.columns]
    columns = {column for column, _ in over}
    unsure = {column for column, snapshot in over if column not in snapshot.valued}
    any_column = len(columns) > _MOST_COLUMNS or any(snapshot.has_empty for _, snapshot in found)
    version = " ".join([catalog.knowledge.id, *(snapshot.id for _, snapshot in found)])
    last = all(catalog.store(root).is_seen(BELIEVED_SECONDS) for root, _ in found)  # else nobody might ever look for a later one
    return {
        "columns": None if any_column else sorted(columns),
        "valued": sorted(columns - unsure),
        "version": version if last else None,
        "watched": watched,
    }


def _none(roots: Sequence[str], *, until: float) -> list[tuple[str, Snapshot]]:
    return []


def _of_left(kept: Kept, catalog: Catalog) -> list[ScanReport]:
    """The reports of scans that stayed as they are; where that fails, as for a table that was dropped since, that they were there."""
    left = kept.java
    try:
        scans = left.scans()
        if scans is None:
            raise LookupError("its plan is kept no more")
        return [_of_one(Scan(java), json.loads(told), catalog) for java, told in scans]
    except Exception as error:
        note = f"nothing was skipped, and nothing more is known: {first_line(error)}"
        return [ScanReport(roots[0], notes=[note]) for roots in json.loads(left.roots())]


def _of_one(scan: Scan, told: Mapping[str, Any], catalog: Catalog) -> ScanReport:
    find: Find = catalog.find if told["has_index"] else _none
    report = later(leave(judge(Listing.now(scan), find, catalog.knowledge)), catalog.knowledge)()
    report.notes = list(dict.fromkeys([*told["why"], *report.notes]))
    return report
