"""What the log of an index says of its commits, for people: what each of them did."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from data_skip.store.definition import Definition
from data_skip.store.snapshot import DEFINITION

_FORGED = (ValueError, LookupError, TypeError, AttributeError, RecursionError, OverflowError, OSError)


@dataclass(frozen=True)
class Step:
    """One commit of an index.

    action: "made" (the Delta table, without an index), "created", "added" (records), "dropped", "compacted", "vacuumed", or "unknown".
    indexes: those that were created or dropped. rows: that were written, one or more a file version. name: by which the commit is known.
    """

    version: int
    time: datetime | None
    action: str
    indexes: list[str]
    rows: int
    name: str


def steps(commits: Mapping[int, bytes]) -> list[Step]:
    """The commits of a log by their texts, the oldest first. Whoever wrote them, they are taken for text and numbers only."""
    found: list[Step] = []
    before: dict[str, str] = {}
    for version in sorted(commits):
        try:
            step, before = _step(version, commits[version], before)
        except _FORGED:
            step = Step(version, None, "unknown", [], 0, "")
        found.append(step)
    return found


def _step(version: int, text: bytes, before: dict[str, str]) -> tuple[Step, dict[str, str]]:
    """A commit, and the indexes from then on, as they are shown, by their columns."""
    said: dict[str, Any] = {}
    now, rows, removes = before, 0, False
    for line in text.splitlines():
        match json.loads(line):
            case {"commitInfo": dict(info)}:
                said = info
            case {"metaData": {"schemaString": str(schema)}}:
                now = dict(_declared(schema))
            case {"add": {"stats": str(stats)}}:
                rows += int(json.loads(stats).get("numRecords", 0))
            case {"remove": dict()}:
                removes = True
    created, dropped = ([*here.values()] for here in (_without(now, before), _without(before, now)))
    operation = str(said.get("operation", ""))
    if operation.startswith("VACUUM"):
        action = "vacuumed"
    elif dropped:
        action = "dropped"
    elif created:
        action = "created"
    elif removes or str(said.get("operationParameters", {}).get("mode")) == "Overwrite":
        action = "compacted"
    else:
        action = "made" if version == 0 else "added" if operation == "WRITE" else "unknown"
    time = datetime.fromtimestamp(int(said["timestamp"]) / 1000, timezone.utc) if "timestamp" in said else None
    return Step(version, time, action, dropped or created, rows, str(said.get("data_skip.commit", ""))), now


def _without(some: Mapping[str, str], others: Mapping[str, str]) -> dict[str, str]:
    return {column: shown for column, shown in some.items() if column not in others}


def _declared(schema: str) -> Iterator[tuple[str, str]]:
    for column in json.loads(schema)["fields"]:
        if definition := column["metadata"].get(DEFINITION.decode()):
            yield str(column["name"]), str(Definition.from_json(definition))
