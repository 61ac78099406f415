"""What the log of an index says of its commits, for people: what each of them did."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from data_skip.store.definition import Definition
from data_skip.store.guard import refuse_content
from data_skip.store.layout import DEFINITION

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


@dataclass(frozen=True)
class _Said:
    """What one commit says.

    declared: the indexes from then on, as they are shown, by their columns; None where it says nothing of them.
    """

    operation: str = ""
    rewrites: bool = False
    rows: int = 0
    declared: Mapping[str, str] | None = None
    time: datetime | None = None
    name: str = ""


def steps(commits: Iterable[tuple[int, bytes]]) -> list[Step]:
    """The commits of a log by their versions and texts, the last one first; the oldest first.

    Whoever wrote them, they are taken for text and numbers only.
    """
    said = [(version, _said(text)) for version, text in commits][::-1]
    found: list[Step] = []
    known: Mapping[str, str] | None = {} if said and said[0][0] == 0 else None  # of a log without its beginning nobody knows
    for version, one in said:
        found.append(_step(version, one, known) if one else Step(version, None, "unknown", [], 0, ""))
        known = one.declared if one and one.declared is not None else known
    return found


def _said(text: bytes) -> _Said | None:
    try:
        refuse_content(".json", text)  # those before a checkpoint have not been looked at
        return _read(text)
    except _FORGED:
        return None


def _read(text: bytes) -> _Said:
    info: dict[str, Any] = {}
    declared, rows, removes, adds = None, 0, False, False
    for line in text.splitlines():
        match json.loads(line):
            case {"commitInfo": dict(told)}:
                info = told
            case {"metaData": {"schemaString": str(schema)}}:
                declared = dict(_declared(schema))
            case {"add": {"stats": str(stats)}}:
                adds = True
                rows += int(json.loads(stats).get("numRecords", 0))
            case {"remove": dict()}:
                removes = True
    time = datetime.fromtimestamp(int(info["timestamp"]) / 1000, timezone.utc) if "timestamp" in info else None
    if time is not None:
        time.astimezone()  # as people are shown it: it may be beyond the last year there
    rewrites = removes or str(info.get("operationParameters", {}).get("mode")) == "Overwrite"
    operation = str(info.get("operation", ""))
    if operation == "WRITE" and declared is None and not (adds or rewrites):
        operation = "VACUUM"  # DeltaStore.vacuum begins so
    return _Said(operation, rewrites, rows, declared, time, str(info.get("data_skip.commit", "")))


def _step(version: int, said: _Said, before: Mapping[str, str] | None) -> Step:
    """before: the indexes until then; None where nobody knows."""
    now = before if said.declared is None else said.declared
    created = [] if before is None or now is None else _without(now, before)
    dropped = [] if before is None or now is None else _without(before, now)
    if said.operation.startswith("VACUUM"):
        action = "vacuumed"
    elif before is None and now is not None:
        action = "unknown"
    elif dropped:
        action = "dropped"
    elif created:
        action = "created"
    elif said.rewrites:
        action = "compacted"
    else:
        action = "made" if version == 0 else "added" if said.operation == "WRITE" else "unknown"
    return Step(version, said.time, action, dropped or created, said.rows, said.name)


def _without(some: Mapping[str, str], others: Mapping[str, str]) -> list[str]:
    return [shown for column, shown in some.items() if column not in others]


def _declared(schema: str) -> Iterator[tuple[str, str]]:
    for column in json.loads(schema)["fields"]:
        if definition := column["metadata"].get(DEFINITION.decode()):
            yield str(column["name"]), str(Definition.from_json(definition))
