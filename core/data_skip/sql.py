"""What SQL asks of data-skip: table functions read, as `data_skip_report()`, and procedures act, as `CALL data_skip.refresh(...)`.

docs/sql.md describes them. Each gives what a method of Skipping or Table gives.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

import pyarrow as pa

from data_skip.building.index_report import IndexReport
from data_skip.building.index_text import parse_index
from data_skip.errors import DataSkipError
from data_skip.index import Index
from data_skip.planning.report import QueryReport
from data_skip.spark.statements import Statement
from data_skip.store.history import Step
from data_skip.store.vacuuming import KEPT_HOURS
from data_skip.table import FILES_PER_COMMIT, Table

Given = Mapping[str, Any]  # arguments by their names; None where they are left out

_READER = [("format", pa.string()), ("schema", pa.string()), ("options", pa.map_(pa.string(), pa.string()))]
_TABLE = pa.field("table", pa.string(), nullable=False)
_INDEXES = pa.field("indexes", pa.list_(pa.string()), nullable=False)
_PREDICATE = pa.struct(
    [
        ("predicate", pa.string()),
        ("clause", pa.string()),
        ("files_skipped_alone", pa.int64()),
        ("why_not", pa.string()),
        ("why_none", pa.string()),
    ]
)
_REPORT = pa.schema(
    [
        ("query", pa.string()),
        ("table", pa.string()),
        ("contract", pa.string()),
        *((name, pa.int64()) for name in ("files_total", "files_read", "files_skipped", "files_unknown")),
        *((name, pa.int64()) for name in ("bytes_total", "bytes_read", "bytes_skipped", "rows_known", "rows_kept")),
        ("scanning_factor", pa.float64()),
        ("clause", pa.string()),
        ("predicates", pa.list_(_PREDICATE)),
        ("notes", pa.list_(pa.string())),
        ("errors", pa.list_(pa.string())),
        ("milliseconds", pa.float64()),
    ]
)
_DESCRIPTION = pa.schema(
    [
        ("table", pa.string()),
        ("location", pa.string()),
        ("version", pa.int64()),
        ("files", pa.int64()),
        ("files_indexed", pa.int64()),
        ("index", pa.string()),
        ("index_files", pa.int64()),
        ("index_bytes", pa.int64()),
        ("problem", pa.string()),
    ]
)
_INDEXED = pa.schema(
    [
        ("table", pa.string()),
        ("indexes", pa.list_(pa.string())),
        *((f"files_{name}", pa.int64()) for name in ("collected", "current", "too_recent", "refused", "unreadable", "undated")),
        ("rows", pa.int64()),
        ("seconds", pa.float64()),
        ("report", pa.string()),
    ]
)
_ENSURED = pa.schema([("done", pa.string()), *_INDEXED])
_FILES = pa.schema([("file", pa.string())])
_DROPPED = pa.schema([("table", pa.string()), ("dropped", pa.string())])
_COMPACTED = pa.schema([("table", pa.string()), ("version", pa.int64())])
_VACUUMED = pa.schema([("table", pa.string()), ("file", pa.string())])
_HISTORY = pa.schema(
    [
        ("version", pa.int64()),
        ("time", pa.timestamp("us", "UTC")),
        ("action", pa.string()),
        ("indexes", pa.list_(pa.string())),
        ("rows", pa.int64()),
        ("name", pa.string()),
    ]
)


class Sql:
    """The answers, for one session."""

    def __init__(
        self,
        table: Callable[..., Table],
        by_index: Callable[[str], Table],
        report: Callable[[str], QueryReport],
        kinds: Callable[[], Mapping[str, type[Index]]],
    ) -> None:
        """table: as Skipping.table. by_index: as Table.by_index. report: of the last query but one. kinds: of index, by name."""
        self._table, self._by_index, self._report, self._kinds = table, by_index, report, kinds

    def statements(self) -> list[Statement]:
        """What a session is to know."""
        where, files = ("where", pa.string()), ("files_per_commit", pa.int32())
        one, some = [_TABLE], [_TABLE, _INDEXES]
        create, drop = "Collects records of every file for new indexes", "Removes indexes and their records"
        refresh = "Collects records of files that are new or changed since"
        ensure = "Creates those indexes that are missing, and refreshes all others of the table"
        compact = "Rewrites an index with a row for each file version that is there"
        vacuum = "Deletes files of an index that are out of date"
        kept = [("hours", pa.int32()), ("dry_run", pa.bool_())]
        return [
            _statement("data_skip_report", [], _REPORT, self.report, "What the last query skipped and read, and why"),
            _statement("data_skip_describe", [*one, *_READER], _DESCRIPTION, self.describe, "The indexes of a table"),
            _statement("data_skip_metadata", one, None, self.metadata, "The records of the files that an index knows"),
            _statement("data_skip_history", one, _HISTORY, self.history, "What each commit to an index did"),
            _statement("data_skip_files", [*one, where, *_READER], _FILES, self.files, "The files that a query would read"),
            _statement("data_skip.create_index", [*some, *_READER, files], _INDEXED, self.create_index, create),
            _statement("data_skip.ensure_index", [*some, *_READER, files], _ENSURED, self.ensure_index, ensure),
            _statement("data_skip.refresh", [*one, *_READER, files], _INDEXED, self.refresh, refresh),
            _statement("data_skip.drop_index", [*some, *_READER], _DROPPED, self.drop_index, drop),
            _statement("data_skip.compact", one, _COMPACTED, self.compact, compact),
            _statement("data_skip.vacuum", [*one, *kept], _VACUUMED, self.vacuum, vacuum),
        ]

    def report(self, given: Given, query: str) -> pa.Table:
        """A row a scan of the last query but this; one that says so where skipping was off for that."""
        report = self._report(query)
        rows = []
        for scan in report.scans:
            more = {name: getattr(scan, name) for name in ("files_skipped", "bytes_skipped", "scanning_factor")}
            rows.append({"query": report.execution_id, **asdict(scan), **more})
        if not rows and report.execution_id:
            rows.append({"query": report.execution_id, "notes": [str(report)]})
        return pa.Table.from_pylist(rows, _REPORT)

    def describe(self, given: Given, query: str) -> pa.Table:
        """A row an index; one without an index where there is none."""
        found = self._open(given).describe()
        of_table = {name: getattr(found, name) for name in ("table", "location", "version", "files", "files_indexed")}
        names = {"index": "index", "index_files": "files", "index_bytes": "bytes", "problem": "problem"}
        rows = [{name: row[key] for name, key in names.items()} for row in found.rows] or [{}]
        return pa.Table.from_pylist([{**of_table, **row} for row in rows], _DESCRIPTION)

    def metadata(self, given: Given, query: str) -> pa.Table:
        """A row a file that the index knows."""
        return self._by_index(given["table"]).records()

    def history(self, given: Given, query: str) -> pa.Table:
        """A row a commit, the oldest first; none where there is no index."""
        return pa.Table.from_pylist([asdict(step) for step in self._by_index(given["table"]).history()], _HISTORY)

    def files(self, given: Given, query: str) -> pa.Table:
        """A row a file that a query would read."""
        return pa.table([self._open(given).files(given["where"])], _FILES)

    def create_index(self, given: Given, query: str) -> pa.Table:
        """A row: what was done."""
        indexes = self._indexes(given)
        return _indexed(self._open(given).create_index(*indexes, files_per_commit=_files_per_commit(given)))

    def ensure_index(self, given: Given, query: str) -> pa.Table:
        """A row for what was created, and one for what was refreshed."""
        indexes = self._indexes(given)
        ensured = self._open(given).ensure_index(*indexes, files_per_commit=_files_per_commit(given))
        done = [("created", ensured.created), ("refreshed", ensured.refreshed)]
        return pa.Table.from_pylist([{"done": what, **_row(report)} for what, report in done if report is not None], _ENSURED)

    def refresh(self, given: Given, query: str) -> pa.Table:
        """A row: what was done."""
        return _indexed(self._open(given).refresh(files_per_commit=_files_per_commit(given)))

    def drop_index(self, given: Given, query: str) -> pa.Table:
        """A row an index that is gone."""
        indexes, table = self._indexes(given), self._open(given)
        table.drop_index(*indexes)
        return pa.Table.from_pylist([{"table": table.name, "dropped": str(index)} for index in indexes], _DROPPED)

    def compact(self, given: Given, query: str) -> pa.Table:
        """A row: which version of the index that is then."""
        table = self._by_index(given["table"])
        table.compact()
        return pa.Table.from_pylist([{"table": table.name, "version": _steps(table)[-1].version}], _COMPACTED)

    def vacuum(self, given: Given, query: str) -> pa.Table:
        """A row a file that is gone, or would be."""
        table = self._by_index(given["table"])
        _steps(table)
        deleted = table.vacuum(KEPT_HOURS if given["hours"] is None else int(given["hours"]), bool(given["dry_run"]))
        return pa.Table.from_pylist([{"table": table.name, "file": file} for file in deleted], _VACUUMED)

    def _open(self, given: Given) -> Table:
        options = {key: value for key, value in (given["options"] or {}).items() if value is not None}
        return self._table(given["table"], given["format"], given["schema"], options)

    def _indexes(self, given: Given) -> list[Index]:
        if not given["indexes"]:
            raise DataSkipError("indexes is empty; name one or more, as array('MinMax(temp)', 'Suffix(city, 4)')")
        return [parse_index(text, self._kinds()) for text in given["indexes"]]


def _statement(
    name: str,
    parameters: list[Any],
    columns: pa.Schema | None,
    answer: Callable[[Given, str], pa.Table],
    description: str,
) -> Statement:
    return Statement(name, pa.schema(parameters), columns, answer, description)


def _files_per_commit(given: Given) -> int:
    asked = given["files_per_commit"]
    return FILES_PER_COMMIT if asked is None else int(asked)


def _steps(table: Table) -> list[Step]:
    """Those of its history; DataSkipError where there is no index."""
    if steps := table.history():
        return steps
    raise DataSkipError(f"{table.name} has no index; create_index(...) makes one")


def _indexed(report: IndexReport) -> pa.Table:
    return pa.Table.from_pylist([_row(report)], _INDEXED)


def _row(report: IndexReport) -> dict[str, Any]:
    return {**asdict(report), "report": str(report)}
