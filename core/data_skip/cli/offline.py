"""A table of local files without Spark: what its index says, and which of its files are as the index knows them."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from data_skip.clause import Mask
from data_skip.planning.catalog import as_folder, kinds_of, places_of
from data_skip.store import FileKey, Places, Snapshot
from data_skip.store.history import Step
from data_skip.store.vacuuming import KEPT_HOURS

if TYPE_CHECKING:
    from data_skip.description import Description

_PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.!~*'():@&=+$,;/")  # in the path of a Java URI


class LocalTable:
    """The table in a folder of this machine: as `data_skip.Table`, of what takes no Spark."""

    def __init__(self, name: str, index_root: str | None = None) -> None:
        self.name = name
        self._folder = folder_of(name)
        self.root = "file:" + escaped(str(self._folder))
        self._store: Places = places_of(self.root, as_folder(index_root), None)

    def describe(self) -> Description:
        """As Table.describe of a table that is read without options which choose files."""
        from data_skip.description import Description  # which knows Spark, and takes long to import

        there = set(_listed(self._folder, ""))
        snapshot = self._store.snapshot()
        kinds = kinds_of(definition.kind for definition in snapshot.definitions.values()) if snapshot else {}

        def listed(last: Snapshot) -> Mask:
            return np.array([file in there for file in last.files], dtype=bool)

        return Description.of(self.name, self._store.location, snapshot, len(there), listed, kinds)

    def compact(self) -> None:
        """As Table.compact."""
        self._store.compact()

    def vacuum(self, hours: int = KEPT_HOURS, dry_run: bool = False) -> list[str]:
        """As Table.vacuum."""
        return self._store.vacuum(hours, dry_run)

    def history(self) -> list[Step]:
        """As Table.history."""
        return self._store.history()


def is_local(name: str) -> bool:
    """Whether a name is that of a folder of this machine. An empty one is none, as of a variable of the shell that is not set."""
    return bool(name) and not is_elsewhere(name) and folder_of(name).is_dir()


def is_elsewhere(name: str) -> bool:
    """Whether a name says that it is of a store which Spark alone has the credentials of."""
    return not name.startswith("file:") and re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", name) is not None


def folder_of(name: str) -> Path:
    """The folder that Spark would read for a name."""
    return Path(os.path.abspath(re.sub("^file:(//[^/]*)?(?=/)", "", name)))


def escaped(path: str) -> str:
    """A path as it stands in the URI that Hadoop makes of it."""
    return "".join(letter if _stays(letter) else "".join(f"%{byte:02X}" for byte in letter.encode()) for letter in path)


def _stays(letter: str) -> bool:
    return letter in _PLAIN if letter.isascii() else unicodedata.category(letter) not in ("Zs", "Zl", "Zp", "Cc")


def _listed(folder: Path, prefix: str) -> Iterator[FileKey]:
    """The files that Spark lists: those of the folder and of its partitions."""
    with os.scandir(folder) as entries:
        for entry in entries:
            name = entry.name
            if name.startswith(".") or (name.startswith("_") and "=" not in name) or name.endswith("._COPYING_"):
                continue
            if entry.is_dir():
                if "=" in name:
                    yield from _listed(Path(entry.path), f"{prefix}{escaped(name)}/")
                continue
            with suppress(FileNotFoundError):  # of a link that leads nowhere, which Hadoop passes over; or it is gone by now
                if (status := entry.stat()).st_size:
                    yield FileKey(prefix + escaped(name), status.st_size, status.st_mtime_ns // 1_000_000)
