"""IndexReport: what making or refreshing an index did, for people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from data_skip import html
from data_skip.errors import counted

_NAMED = 3  # files of a kind, at most


@dataclass(repr=False)
class IndexReport:
    """What create_index or refresh did."""

    table: str
    indexes: list[str]
    files_collected: int = 0
    files_lifted: int = 0  # of those collected: not read, since their footers hold all that was asked for
    files_direct: int = 0  # of those collected: read by tasks themselves, since pyarrow reads them just as Spark does
    files_current: int = 0  # were up to date
    files_too_recent: int = 0  # have no record until the next refresh: they may be written again and look the same, or changed meanwhile
    files_refused: int = 0  # of those collected: hold malformed records, and are always read
    files_unreadable: int = 0  # have no record until a refresh that can read them
    files_undated: int = 0  # of those collected: hold times of the last day in text, where one without a date is read as one of today
    rows: int = 0  # of the files collected
    seconds: float = 0.0
    unknown: dict[str, str] = field(default_factory=dict)  # by index, why it knows nothing of some files, which are read
    unreadable: str = ""  # Spark's words about the first of them
    refused: list[str] = field(default_factory=list)  # the first of those refused, as `Table.files` writes them below the table's folder
    why_by_spark: str = ""  # why the first file that Spark read was not read by a task itself, where tasks read such files

    def refuse(self, paths: Sequence[str]) -> None:
        """Tells of files that hold what is always read; the first few by their names."""
        self.files_refused += len(paths)
        self.refused += paths[: _NAMED - len(self.refused)]

    @property
    def committed(self) -> str:
        """What is kept where indexing fails."""
        done = counted(self.files_collected, "file is", "files are")
        return f"{done} indexed, refresh() goes on" if self.files_collected else "nothing was written"

    def __repr__(self) -> str:  # as a notebook shows it
        return str(self)

    def __str__(self) -> str:
        collected = f"{counted(self.files_collected, 'file', 'files')} with {counted(self.rows, 'row', 'rows')} collected"
        lines = [
            f"{self.table}: {', '.join(self.indexes)}",
            f"  {collected} in {self.seconds:.1f} s; {counted(self.files_current, 'file was', 'files were')} up to date",
        ]
        return "\n".join(lines + [f"  {note}" for note in self._notes()])

    def _repr_html_(self) -> str:
        return html.shown(self.as_html())

    def as_html(self) -> html.Html:
        """A part of a notebook's page."""
        counts = [(f"{self.files_collected:,}", f"{self.rows:,}", f"{self.seconds:.1f} s", f"{self.files_current:,}")]
        return html.joined(
            [
                html.title(html.joined(["indexes of ", html.code(self.table)])),
                html.listed([html.code(index) for index in self.indexes]),
                html.table(["files collected", "with rows", "in", "files up to date before"], counts),
                html.listed(self._notes()),
            ]
        )

    def _notes(self) -> list[str]:
        """What is not as it was asked for, or not by the shortest way, a line each."""
        notes = []
        if self.files_lifted:
            whose = "its own footer holds" if self.files_lifted == 1 else "their own footers hold"
            notes.append(f"{counted(self.files_lifted, 'of them was', 'of them were')} not read: {whose} what was asked for")
        if self.why_by_spark and self.files_collected:
            notes.append(f"some of them were read by Spark, which takes longer: {self.why_by_spark}")
        if self.files_too_recent:
            why = "written this moment or changed meanwhile: read until the next refresh()"
            notes.append(f"{counted(self.files_too_recent, 'file was', 'files were')} {why}")
        if self.files_refused:
            held, always = counted(self.files_refused, "file holds", "files hold"), "it is" if self.files_refused == 1 else "they are"
            why = f"malformed records, or lines that are read otherwise by another query: {always} always read"
            notes.append(f"{held} {why} ({', '.join(self.refused)}{', ...' if self.files_refused > len(self.refused) else ''})")
        if self.files_unreadable:
            have = "has" if self.files_unreadable == 1 else "have"
            unread = f"{counted(self.files_unreadable, 'file', 'files')} cannot be read, and {have}"
            notes.append(f"{unread} no record until a refresh() that can: {self.unreadable}")
        if self.files_undated:
            why = "by some indexes until a refresh() on another day: text without a date is read as a time of today"
            undated, are = counted(self.files_undated, "file holds", "files hold"), "is" if self.files_undated == 1 else "are"
            notes.append(f"{undated} times of the last day, and {are} unknown {why}")
        return notes + [f"{index} is unknown for some files, which are read: {why}" for index, why in self.unknown.items()]


@dataclass(repr=False)
class Ensured:
    """What ensure_index did: of the indexes that were missing, and of those that were there; None where there are none of these."""

    created: IndexReport | None
    refreshed: IndexReport | None

    def __repr__(self) -> str:  # as a notebook shows it
        return str(self)

    def __str__(self) -> str:
        return "\n".join(f"{done} {report}" for done, report in self._parts)

    def _repr_html_(self) -> str:
        return html.shown(*(html.joined([html.line(done), report.as_html()]) for done, report in self._parts))

    @property
    def _parts(self) -> list[tuple[str, IndexReport]]:
        return [(done, report) for done, report in (("created", self.created), ("refreshed", self.refreshed)) if report is not None]
