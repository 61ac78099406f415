"""How old files of an index are, by the clock of its store: this machine's may be hours ahead, or have slept."""

from __future__ import annotations

import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from math import ceil

from pyarrow import fs

from data_skip.store.guard import LOG

_CLOCKS_APART = 60.0  # seconds: less is what asking takes
_AT_ONCE = 16  # files that are asked for


def committed_at(files: fs.FileSystem, version: int) -> datetime | None:
    """When a version was committed; None in a log that was cleaned up."""
    moment: datetime | None = files.get_file_info(f"{LOG}/{version:020}.json").mtime
    return moment


def hours_behind(committed: datetime | None) -> int:
    """By how many hours, rounded up, the clock of the store is behind this one's, by which deltalake tells when files were removed.

    By a version that was committed a moment ago, if one was; 0 for less than a minute.
    """
    behind = time.time() - committed.timestamp() if committed is not None else 0.0
    return ceil(behind / 3600) if behind > _CLOCKS_APART else 0


def looked_at(files: fs.FileSystem, names: Iterable[str]) -> list[fs.FileInfo]:
    """What is to be told of each file of some names, in their order; not by one list: deltalake would stop all threads for that."""
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        return list(threads.map(files.get_file_info, names))


def written_before(files: fs.FileSystem, names: Iterable[str], committed: datetime | None, hours: int) -> list[str]:
    """Those files of an index, that no version of it names, which were written so many hours before a version that was read since.

    That version was committed after these were written: so by no writer can they be committed any more, be it that it sleeps, or this
    process did: each commit is the version after the one that was read before its files were written, or, of files that tasks wrote, after
    one that was committed less than an hour after that one (building/task_parts.py).
    """
    if committed is None:
        return []
    limit = committed - timedelta(hours=hours)
    return [file.path for file in looked_at(files, names) if file.mtime is not None and file.mtime < limit]
