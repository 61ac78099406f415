"""What a query skipped, read, and why."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from data_skip import html
from data_skip.errors import DataSkipError
from data_skip.pictures import by_matplotlib
from data_skip.pictures.boxes import Pictured

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KEPT_REPORTS = 100
OUTSIDE = "(outside of a query)"
_CLAUSE = 1_000  # characters of a clause that are shown as text: of a raw log's it is some thousand


@dataclass
class PredicateReport:
    """One leaf of the WHERE."""

    predicate: str
    clause: str = ""  # that represents it; "" where none does
    files_skipped_alone: int = 0
    why_not: str = ""  # why it has no clause
    why_none: str = ""  # why its clause skips no file


@dataclass
class ScanReport:
    """One scan of one query."""

    table: str
    files_total: int = 0
    files_read: int = 0
    bytes_total: int = 0
    bytes_read: int = 0
    rows_known: int = 0  # in files with a fresh record
    rows_kept: int = 0  # of those, in files read
    files_unknown: int = 0  # without a fresh record: always read
    clause: str = ""  # "": every file is read
    predicates: list[PredicateReport] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)  # which indexes and joins were not used, and why
    errors: list[str] = field(default_factory=list)  # of plugins, mostly; their files are read
    milliseconds: float = 0.0  # that deciding took
    contract: str = "listing"  # or "snapshot 7", "bounded(60) 7": the files are those of version 7 of the index, whatever is there now

    def __post_init__(self) -> None:
        self.pictured: Pictured | None = None  # no part of what a report says

    @property
    def files_skipped(self) -> int:
        """Files that Spark does not open."""
        return self.files_total - self.files_read

    @property
    def bytes_skipped(self) -> int:
        """Their size."""
        return self.bytes_total - self.bytes_read

    @property
    def scanning_factor(self) -> float:
        """psi of indicators.py: the share of rows that lie in files read. `Table.indicators` tells what of it is due to what."""
        return self.rows_kept / self.rows_known if self.rows_known else 1.0

    def __str__(self) -> str:
        lines = [
            f"scan of {self.table}"
            + ("" if self.contract == "listing" else f", contract {self.contract}: files as of that version of its index"),
            f"  files    {self.files_read:,} read of {self.files_total:,}, {self.files_skipped:,} skipped"
            + (f" ({self.files_unknown:,} without a fresh record, always read)" if self.files_unknown else ""),
            f"  bytes    {human(self.bytes_read)} read of {human(self.bytes_total)}, {human(self.bytes_skipped)} skipped",
            f"  rows     {self.rows_kept:,} in files read of {self.rows_known:,} in files with a record"
            + (f"; scanning factor psi = {self.scanning_factor:.2g}" if self.rows_known else ""),
            f"  clause   {shorten(self.clause, _CLAUSE) or '(none: every file is read)'}",
        ]
        if self.predicates:
            width = max(len(shorten(p.predicate)) for p in self.predicates)
            for predicate in self.predicates:
                said = f"skips {predicate.files_skipped_alone:,} alone" if predicate.clause else f"not used: {predicate.why_not}"
                said += f": {predicate.why_none}" if predicate.why_none else ""
                lines.append(f"    {shorten(predicate.predicate):<{width}}  {said}")
        lines += [f"  note     {one_line(note)}" for note in self.notes]
        lines += [f"  error    {one_line(error)} (its files are read)" for error in self.errors]
        lines.append(f"  decided in {self.milliseconds:.1f} ms")
        return "\n".join(lines)

    def plot(self, *columns: str) -> Figure:
        """A picture of the files as boxes, those that are read and those that are skipped, and where a match can be.

        Over two indexed expressions, the first upright, as in plot("lat", "lng"); of one, lines from the smallest to the largest value.
        With none, over those that served the predicate. Where a match can be is what the indexes let pass, with a few hundred steps a side.
        DataSkipError where no index keeps ranges of them, where the index has changed since the query, and without matplotlib.
        """
        if self.pictured is None:
            raise DataSkipError(f"no index of {self.table} was used: nothing is known of its files that could be drawn")
        return by_matplotlib().files(self.pictured(columns))

    def plot_predicates(self) -> Figure:
        """A picture of how many files each predicate skips alone, and all together. DataSkipError without matplotlib."""
        skipped = [(p.predicate, p.files_skipped_alone if p.clause else None) for p in self.predicates]
        return by_matplotlib().predicates(skipped, self.files_skipped, self.files_total)

    def save(self, path: str | PathLike[str]) -> Path:
        """As `QueryReport.save`."""
        return _save(path, [self])

    def _repr_html_(self) -> str:
        return html.shown(self.as_html())

    def with_pictures(self) -> html.Html:
        """As `as_html`, and the pictures that can be drawn."""
        parts: list[object] = [self.as_html()]
        for draw in (self.plot_predicates, self.plot) if self.predicates else ():
            try:
                picture: Any = draw()
                parts.append(picture.as_html())
            except DataSkipError as error:
                parts.append(html.line(f"no picture: {error}"))
        return html.joined(dict.fromkeys(parts))  # of one reason for both, one line

    def as_html(self) -> html.Html:
        """A part of a notebook's page."""
        contract = "" if self.contract == "listing" else f", contract {self.contract}: files as of that version of its index"
        amounts = [
            (what, shown(read), shown(total), shown(total - read), html.bar(total - read, total))
            for what, read, total, shown in (
                ("files", self.files_read, self.files_total, "{:,}".format),
                ("bytes", self.bytes_read, self.bytes_total, human),
            )
        ]
        told = [f"{self.rows_kept:,} rows in files read, of {self.rows_known:,} in files with a record"] if self.rows_known else []
        told += [f"scanning factor psi = {self.scanning_factor:.2g}"] if self.rows_known else []
        told += [f"{self.files_unknown:,} files without a fresh record, always read"] if self.files_unknown else []
        clause = html.folded(one_line(self.clause), "clause: ") if self.clause else html.line("clause: none: every file is read")
        parts = [
            html.title(html.joined(["scan of ", html.code(self.table), contract])),
            html.table(["", "read", "of", "skipped", ""], amounts),
            html.line("; ".join([*told, f"decided in {self.milliseconds:.1f} ms"])),
            clause,
        ]
        if self.predicates:
            rows = [(html.folded(one_line(p.predicate)), p.files_skipped_alone, one_line(p.why_not or p.why_none)) for p in self.predicates]
            parts.append(html.table(["predicate", "skips alone", "why not more"], rows))
        parts.append(html.listed([f"note: {one_line(note)}" for note in self.notes]))
        parts.append(html.listed([f"error: {one_line(error)} (its files are read)" for error in self.errors]))
        return html.joined(parts)


@dataclass(repr=False)
class QueryReport:
    """All scans with a predicate of one query: none where skipping was off. `execution_id` is Spark's, as in its UI."""

    execution_id: str
    scans: list[ScanReport] = field(default_factory=list)

    def __repr__(self) -> str:  # as a notebook shows it
        return str(self)

    def __str__(self) -> str:
        if not self.scans and self.execution_id:
            return f"query {self.execution_id} ran while skipping was off: in disabled(), or by spark.data_skip.enabled"
        if not self.scans:
            return "no query with a WHERE over files has run since data_skip.enable"
        return "\n".join([f"query {self.execution_id}", *map(str, self.scans)])

    def plot(self, *columns: str) -> Figure:
        """As `ScanReport.plot`, of the scan with the most files of which an index was used."""
        known = [scan for scan in self.scans if scan.pictured is not None] or self.scans
        if not known:
            raise DataSkipError(str(self))
        return max(known, key=lambda scan: scan.files_total).plot(*columns)

    def save(self, path: str | PathLike[str]) -> Path:
        """Writes the report with its pictures as a page of HTML, which needs nothing else, and returns its path.

        Of a scan that cannot be drawn (and without matplotlib), the page says why. DataSkipError where the file cannot be written.
        """
        return _save(path, self.scans, f"query {self.execution_id}" if self.scans else str(self))

    def _repr_html_(self) -> str:
        return html.shown(self.as_html())

    def as_html(self) -> html.Html:
        """A part of a notebook's page."""
        if not self.scans:
            return html.line(str(self))
        return html.joined([html.line(f"query {self.execution_id}"), *(scan.as_html() for scan in self.scans)])


def _save(path: str | PathLike[str], scans: Sequence[ScanReport], about: str = "") -> Path:
    target = Path(path)
    if target.suffix.lower() not in ("", ".html", ".htm"):
        raise DataSkipError(f"the report cannot be written to {str(target)!r}: it is a page; give the path of a file as 'report.html'")
    page = html.page("What data-skip skipped", *([html.line(about)] if about else []), *[scan.with_pictures() for scan in scans])
    try:
        target.write_text(page, "utf-8", "replace")  # as of a plugin's error, with the name of a file that is no text
    except OSError as error:
        why = f"{error.strerror or error}; give the path of a file"
        raise DataSkipError(f"the report cannot be written to {str(target)!r}: {why}") from error
    return target


def one_line(text: str) -> str:
    """The text without the ends of lines that a name of a column may have."""
    return " ".join(text.split())


def shorten(text: str, width: int = 72) -> str:
    """The text in one line of at most `width` characters."""
    text = one_line(text)
    return text if len(text) <= width else text[: width - 3] + "..."


def human(size: float) -> str:
    """Bytes for people: 1536 as 1.5 KiB."""
    if size < 1024:
        return f"{size:.0f} B"
    for unit in ("KiB", "MiB", "GiB"):
        size /= 1024
        if size < 1024:
            return f"{size:.1f} {unit}"
    return f"{size / 1024:.1f} TiB"


Later = Callable[[], list[ScanReport]]


@dataclass
class _Query:
    """When a query was first told of, or, of what is in no query, last; and of its scans the reports, by their numbers."""

    moment: float
    scans: dict[int, list[ScanReport] | Later]


class Reports:
    """The reports of the last hundred queries; right with queries running at once, which Spark tells apart by execution id.

    They are made when they are first looked at. A query of which there is nothing to tell has none.
    """

    def __init__(self, decided_again: Callable[[], Iterable[tuple[str, int, Later, float]]] = tuple) -> None:
        """decided_again: what `add` has not been told of, since this was asked last."""
        self._decided_again = decided_again
        self._lock = Lock()
        self._queries: dict[str, _Query] = {}

    def add(self, execution_id: str, number: int, scans: Later, moment: float | None = None) -> None:
        """Keeps how to make the reports of some scans of a running query; "" stands for what is in no query.

        What is planned again under the same number replaces its first reports. moment: when that was, as of time.time(); now.
        """
        moment = time.time() if moment is None else moment
        with self._lock:
            query = self._queries.setdefault(execution_id or OUTSIDE, _Query(moment, {}))
            query.moment = min(query.moment, moment) if execution_id else max(query.moment, moment)
            query.scans[number] = scans
            while not execution_id and len(query.scans) > KEPT_REPORTS:
                query.scans.pop(next(iter(query.scans)))
            while len(self._queries) > KEPT_REPORTS:
                self._queries.pop(min(self._queries, key=lambda query: self._queries[query].moment))

    def take(self) -> None:
        """Keeps as well what was decided without a word to `add`."""
        for late in self._decided_again():
            self.add(*late)

    def all(self) -> list[QueryReport]:
        """The oldest first."""
        return list(self._newest_first())[::-1]

    def last(self, but: str = "") -> QueryReport:
        """The newest, of another query than one that runs; one without scans where there is none."""
        return next(self._newest_first(but), QueryReport(""))

    def _newest_first(self, but: str = "") -> Iterator[QueryReport]:
        self.take()
        with self._lock:
            newest = sorted(self._queries.items(), key=lambda query: -query[1].moment)
            queries = [(execution_id, sorted(query.scans.items())) for execution_id, query in newest if execution_id != but]
        for execution_id, known in queries:
            made = [self._made(execution_id, number, scans) for number, scans in known]
            if any(made):
                yield QueryReport(execution_id, [scan for scans in made for scan in scans])

    def _made(self, execution_id: str, number: int, scans: list[ScanReport] | Later) -> list[ScanReport]:
        if isinstance(scans, list):
            return scans
        made = scans()
        with self._lock:
            query = self._queries.get(execution_id)
            if query is not None and query.scans.get(number) is scans:
                query.scans[number] = made
        return made
