"""What a writer of a local index leaves behind that was killed, with the machine or alone, or in whose index's place there was another one
when it was done."""

from __future__ import annotations

import json
import os
import re
import stat
import time
from collections.abc import Iterable
from contextlib import suppress
from tempfile import TemporaryFile

import pyarrow as pa
import pyarrow.parquet as pq

from data_skip.store.guard import LOG, MOST_COMMIT, is_part, refuse_links
from data_skip.store.versions import KEYS, Tally, added_up, tally_of

_UNFINISHED = re.compile(r"([^#]+\.(parquet|json)|_last_checkpoint)#[0-9]+")  # what deltalake writes, while it does
_CHECKPOINT = re.compile(r"[0-9]{20}\.checkpoint\.parquet")
_VERSION = re.compile(r"([0-9]{20})\..+")


def leftovers(location: str, hours: int, dry_run: bool) -> list[str]:
    """Deletes, or only tells, the files of a local index that were being written when their writer was killed, so many hours ago."""
    found = []
    before = (time.time() if dry_run else _now(location)) - hours * 3600
    for folder in (location, f"{location}/{LOG}"):
        with os.scandir(folder) as entries:
            for entry in entries:
                with suppress(FileNotFoundError):  # by now its writer is done, or another has deleted it
                    status = entry.stat(follow_symlinks=False)
                    if _UNFINISHED.fullmatch(entry.name) and stat.S_ISREG(status.st_mode) and status.st_mtime < before:
                        if not dry_run:
                            os.unlink(entry.path)
                        found.append(os.path.relpath(entry.path, location))
    return found


def _now(location: str) -> float:
    """The time by the clock of the store."""
    with TemporaryFile(dir=location) as file:
        return os.fstat(file.fileno()).st_mtime


def forget_checkpoint(location: str) -> bool:
    """Deletes what says where the last checkpoint is, which is but a hint, where there is none: as of a machine that lost its power.

    deltalake would read no version at all. Whether there is none any more: another may have been faster.
    """
    hint = f"{location}/{LOG}/_last_checkpoint"
    if not os.path.lexists(hint):
        return True
    try:
        version = json.loads(_content(hint))["version"]
        if not isinstance(version, int) or os.path.getsize(f"{location}/{LOG}/{version:020}.checkpoint.parquet"):
            return False
    except FileNotFoundError:
        pass  # of the one or of the other
    except (OSError, ValueError, KeyError, TypeError):
        return False
    with suppress(OSError):
        os.unlink(hint)
    return not os.path.lexists(hint)


def delete_empty_checkpoints(location: str) -> None:
    """Deletes what is left of checkpoints where the machine lost its power: whoever reads the log passes over them.

    deltalake, when it has written, would delete the commits that are older than one of them and than thirty days (delta-rs,
    protocol/checkpoints.rs, cleanup_expired_logs_for). While a checkpoint is being written, its file has another name.
    """
    with suppress(FileNotFoundError, NotADirectoryError, ValueError), os.scandir(f"{location}/{LOG}") as entries:
        refuse_links(location)
        for entry in entries:
            if _CHECKPOINT.fullmatch(entry.name) and entry.is_file(follow_symlinks=False) and not entry.stat(follow_symlinks=False).st_size:
                os.unlink(entry.path)


def take_back(location: str, commit: str, version: int, new_parts: Iterable[str], tally: Tally) -> None:
    """Deletes what a writer has left at a place where its index is no longer: its commit, unless others have built on it, and its parts.

    commit, version: the name and the number of what was committed, perhaps. new_parts: those that have come since, perhaps by another who
    makes an index there, or puts one back; where no log tells whose they are, they are deleted if they hold what was written and no more.
    tally: of that. Without a log no index would be made there any more: nobody knows whose files lie there.
    """
    log, name = f"{location}/{LOG}", f"{version:020}.json"
    with suppress(FileNotFoundError, NotADirectoryError):
        versions = {file: int(found[1]) for file in _files(log) if (found := _VERSION.fullmatch(file))}
        content = _content(f"{log}/{name}") if name in versions else b""
        if commit.encode() in content:
            if any(other >= version for file, other in versions.items() if file != name):
                return
            os.unlink(f"{log}/{name}")
            parts = [path for path in added_by(content) if is_part(path)]
        else:
            parts = [] if versions else [*new_parts]
            if parts and _tally(location, parts) != tally:
                return
        for part in parts:
            os.unlink(f"{location}/{part}")
    folder = log
    with suppress(OSError):  # until one is not empty
        while os.path.basename(folder)[:1] in ("_", "."):
            if os.path.isdir(folder):
                os.rmdir(folder)
            folder = os.path.dirname(folder)


def added_by(content: bytes) -> list[str]:
    """The files that a commit adds, by its text."""
    actions = [json.loads(line) for line in content.splitlines() if line.strip()]
    return [action["add"]["path"] for action in actions if "add" in action]


def _files(folder: str) -> list[str]:
    return os.listdir(folder) if os.path.isdir(folder) else []


def _content(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read(MOST_COMMIT)


def _tally(location: str, parts: Iterable[str]) -> Tally | None:
    """That of all rows in some files; None where they are none with rows of an index."""
    try:
        return added_up(tally_of(pq.read_table(f"{location}/{part}", columns=[*KEYS], partitioning=None)) for part in parts)
    except (OSError, ValueError, KeyError, pa.ArrowException):
        return None
