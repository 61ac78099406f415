"""The real access log as Parquet: one file per hour, no line lost.

A line is in the combined log format or it is not. The first kind is parsed whole; the second (the log's last entry is
cut off in the middle) is kept whole in the column `malformed`, with every other column null, in the file of the line
before it. Identity and user, always `-` in this log, are checked and left out.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa

from sample_data.files import ACCESS_LOG, Written, write_tables

SCHEMA = pa.schema(
    [
        ("ip", pa.string()),
        ("time", pa.timestamp("us", tz="UTC")),
        ("method", pa.string()),
        ("path", pa.string()),
        ("protocol", pa.string()),
        ("status", pa.int32()),
        ("bytes", pa.int64()),
        ("referrer", pa.string()),
        ("user_agent", pa.string()),
        ("malformed", pa.string()),
    ]
)

# A quoted field holds anything but a bare quote: Apache writes one as \".
_QUOTED = r'(?:[^"\\]|\\.)*'
COMBINED = re.compile(
    r"(?P<ip>[0-9A-Fa-f.:]+) - - "
    r"\[(?P<day>\d\d)/(?P<month>[A-Z][a-z]{2})/(?P<year>\d{4}):(?P<clock>\d\d:\d\d:\d\d) (?P<offset>[+-]\d{4})\] "
    r'"(?P<method>[A-Z]+) (?P<path>[^\s"]+) (?P<protocol>HTTP/\d\.\d)" '
    r"(?P<status>[1-5]\d\d) (?P<bytes>\d+|-) "
    rf'"(?P<referrer>{_QUOTED})" "(?P<user_agent>{_QUOTED})"'
)

# Not strptime's %b, which reads the month in the language of the machine.
_MONTH_NAMES = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MONTHS = {name: number for number, name in enumerate(_MONTH_NAMES, start=1)}


def parse_line(line: str) -> dict[str, Any] | None:
    """The columns of one line, or None if it is not in the combined format. `-` becomes None."""
    match = COMBINED.fullmatch(line)
    if match is None:
        return None
    try:
        time = _time(match)
    except (KeyError, ValueError):  # no such month, day or hour
        return None
    texts = {name: match[name] for name in ("ip", "method", "path", "protocol")}
    return texts | {
        "time": time,
        "status": int(match["status"]),
        "bytes": _unless_dash(match["bytes"], int),
        "referrer": _unless_dash(match["referrer"], str),
        "user_agent": _unless_dash(match["user_agent"], str),
        "malformed": None,
    }


def _time(match: re.Match[str]) -> datetime:
    hours, minutes, seconds = map(int, match["clock"].split(":"))
    offset = timedelta(hours=int(match["offset"][1:3]), minutes=int(match["offset"][3:]))
    zone = timezone(-offset if match["offset"][0] == "-" else offset)
    local = datetime(int(match["year"]), _MONTHS[match["month"]], int(match["day"]), hours, minutes, seconds, tzinfo=zone)
    return local.astimezone(timezone.utc)


def _unless_dash(text: str, convert: type) -> Any:
    return None if text == "-" else convert(text)


def by_hour(lines: Iterable[str]) -> dict[str, pa.Table]:
    """Every line, as one table per hour (UTC) in the order of the hours, under names like `2015-05-17T10`."""
    hours: dict[str, list[dict[str, Any]]] = {}
    waiting: list[dict[str, Any]] = []  # malformed lines before the first good one
    current: list[dict[str, Any]] = waiting
    for line in lines:
        row = parse_line(line)
        if row is None:
            current.append(dict.fromkeys(SCHEMA.names) | {"malformed": line})
            continue
        current = hours.setdefault(row["time"].strftime("%Y-%m-%dT%H"), [])
        current.extend(waiting)
        waiting.clear()
        current.append(row)
    if waiting:
        hours["unknown"] = waiting
    return {hour: pa.Table.from_pylist(rows, SCHEMA) for hour, rows in sorted(hours.items())}


def read_lines(path: Path = ACCESS_LOG) -> Iterator[str]:
    """The lines of a gzipped log. A byte that is not UTF-8 is kept as `\\xhh`."""
    with gzip.open(path, "rt", encoding="utf-8", errors="backslashreplace", newline="\n") as log:
        for line in log:
            yield line.rstrip("\n")


def write_access_log(folder: Path) -> Written:
    """Write the real access log into `folder`, a Parquet file per hour."""
    return write_tables(by_hour(read_lines()), folder)
