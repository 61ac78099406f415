"""`%%skipping` of IPython and Jupyter: the SQL of a cell, its rows, and what was skipped for it. `%load_ext data_skip` makes it known."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from IPython.core.error import UsageError
from pyspark.sql import SparkSession

from data_skip import html
from data_skip.planning.report import QueryReport, shorten
from data_skip.session import enable

_WIDEST = 200  # characters of a value


@dataclass(repr=False)
class Shown:
    """What a cell shows."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    more: bool  # whether there are further rows
    report: QueryReport | None  # None where the query chose no files by a WHERE

    def __repr__(self) -> str:  # as IPython shows it in a terminal
        return str(self)

    def __str__(self) -> str:
        cells = [[*self.columns], *self._cells()]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in cells if self.columns]
        return "\n".join([*lines, self._how_many(), *([""] if self.report else []), str(self.report or self._no_report())])

    def _repr_html_(self) -> str:
        rows = html.table(self.columns, self._cells()) if self.columns else ""
        report = self.report.as_html() if self.report else html.line(self._no_report())
        return html.shown(rows, html.line(self._how_many()), report)

    def _cells(self) -> list[list[str]]:
        return [["NULL" if value is None else shorten(str(value), _WIDEST) for value in row] for row in self.rows]

    def _how_many(self) -> str:
        count = f"{len(self.rows):,} {'row' if len(self.rows) == 1 else 'rows'}"
        return f"the first {count}; %%skipping -n {max(20, 2 * len(self.rows))} shows more" if self.more else count

    def _no_report(self) -> str:
        return "nothing was skipped: the query has no WHERE or join over files, or takes them from a cache"


class _Line(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"%%skipping: {message}\n{self.format_usage()}")


_LINE = _Line(prog="%%skipping", add_help=False, allow_abbrev=False)
_LINE.add_argument("-n", "--rows", type=int, default=20, metavar="ROWS", help="how many rows are shown")
_LINE.add_argument("-o", "--output", metavar="NAME", help="a variable for the query's DataFrame")


def register(shell: Any) -> None:
    """Makes `%%skipping` known to a shell of IPython."""

    def skipping(line: str, cell: str) -> Shown:
        """Runs the SQL of a cell, and shows its rows and what was skipped: `%%skipping [-n ROWS] [-o NAME]`."""
        return _run(shell.user_ns, line, cell)

    shell.register_magic_function(skipping, "cell", "skipping")


def _run(variables: dict[str, Any], line: str, cell: str) -> Shown:
    try:
        asked = _LINE.parse_args(shlex.split(line))
    except ValueError as error:  # of quotes that do not end
        _LINE.error(str(error))
    if asked.rows < 0:
        _LINE.error(f"-n {asked.rows} is no number of rows")
    if asked.output is not None and not asked.output.isidentifier():
        _LINE.error(f"-o {asked.output} is no name of a variable")
    query = cell.strip().rstrip(";")
    if not query:
        _LINE.error("write a query below it")
    skipping = enable(_session(variables))
    before = skipping.report().execution_id
    frame = skipping.spark.sql(query)
    rows = frame.limit(asked.rows + 1).collect()
    report = skipping.report()
    if asked.output:
        variables[asked.output] = frame
    return Shown(frame.columns, rows[: asked.rows], len(rows) > asked.rows, report if report.execution_id != before else None)


def _session(variables: dict[str, Any]) -> SparkSession:
    """The variable `spark`, else the active session."""
    found = variables.get("spark")
    session = found if isinstance(found, SparkSession) else SparkSession.getActiveSession()
    if session is None:
        raise UsageError("%%skipping needs a running session: spark = SparkSession.builder.getOrCreate()")
    return session
