"""Description: the indexes of a table, for people."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from data_skip import html
from data_skip.clause import Mask
from data_skip.errors import counted
from data_skip.index import Index
from data_skip.planning.bound import usable
from data_skip.planning.report import human
from data_skip.store import Snapshot


@dataclass(repr=False)
class Description:
    """The indexes of a table: a line each."""

    table: str
    location: str
    version: int | None
    files: int
    files_indexed: int
    rows: list[dict[str, Any]]

    @classmethod
    def of(
        cls,
        table: str,
        location: str,
        snapshot: Snapshot | None,
        files: int,
        listed: Callable[[Snapshot], Mask],
        kinds: Mapping[str, type[Index]],
    ) -> Description:
        """Of the index at a place. StoreError where its records cannot be read.

        files: how many the table has now. listed: which of the file versions of a snapshot are among these.
        """
        if snapshot is None:
            return cls(table, location, None, files, 0, [])
        records = snapshot.records(snapshot.definitions)
        live = listed(snapshot) & snapshot.recorded
        rows = []
        for column, definition in snapshot.definitions.items():
            known = usable(definition, kinds)
            valid = records[column].is_valid().to_numpy(zero_copy_only=False)
            problem = known if isinstance(known, str) else ""
            rows.append({"index": str(definition), "files": int((valid & live).sum()), "bytes": records[column].nbytes, "problem": problem})
        return cls(table, location, snapshot.version, files, int(live.sum()), rows)

    def __repr__(self) -> str:  # as a notebook shows it
        return str(self)

    def __str__(self) -> str:
        if self.version is None:
            return f"{self.table} has no index; {counted(self.files, 'file', 'files')}"
        lines = [
            f"{self.table}: {self.files_indexed:,} of {counted(self.files, 'file has', 'files have')} a fresh record",
            f"  version {self.version} at {self.location}",
        ]
        for row in self.rows:
            problem = f" - {row['problem']}" if row["problem"] else ""
            lines.append(f"  {row['index']}: {counted(row['files'], 'file', 'files')}, {human(row['bytes'])}{problem}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        if self.version is None:
            return html.shown(html.line(html.code(self.table), f" has no index; {counted(self.files, 'file', 'files')}"))
        rows = [(html.code(row["index"]), row["files"], human(row["bytes"]), row["problem"]) for row in self.rows]
        return html.shown(
            html.title(html.code(self.table)),
            html.line(
                f"{self.files_indexed:,} of {counted(self.files, 'file has', 'files have')} a fresh record ",
                html.bar(self.files_indexed, self.files),
            ),
            html.line(f"version {self.version} at ", html.code(self.location)),
            html.table(["index", "files", "size", "problem"], rows),
        )
