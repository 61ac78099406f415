"""The places where the index of one table may lie, taken as one store."""

from __future__ import annotations

import math
import os
import posixpath
import re
from collections.abc import Sequence
from urllib.parse import unquote

from data_skip.store.delta import DeltaStore, RowsOn
from data_skip.store.history import Step
from data_skip.store.layout import StoreError
from data_skip.store.opened import Watched
from data_skip.store.paths import HIDDEN
from data_skip.store.rewriting import Order
from data_skip.store.snapshot import Snapshot
from data_skip.store.storage_options import Hadoop

_SCHEMES = {"s3a": "s3", "s3n": "s3", "abfss": "abfs"}  # of one store


class Places:
    """The index at the first of some places that holds one; where none does, it is made at the first."""

    def __init__(self, uris: Sequence[str], spark: Hadoop | None = None, why_none: str = "") -> None:
        """spark: as of DeltaStore. why_none: why no index is made there; "" where one may be."""
        self._stores = [DeltaStore(uri, spark) for uri in uris]
        self._why_none = why_none

    @property
    def uri(self) -> str:
        """The first place."""
        return self._stores[0].uri

    @property
    def location(self) -> str:
        """The place of the index, or where it would be made, as deltalake wants it. StoreError where that cannot be read."""
        return self._found()[0].location

    def snapshot(self, believed: float = 0.0, until: float = math.inf) -> Snapshot | None:
        """The last committed version; None where there is no index. StoreError where one cannot be read.

        believed, until: as of DeltaStore.snapshot.
        """
        return self._found(believed, until)[1]

    def is_seen(self, believed: float) -> bool:
        """As DeltaStore.is_seen, of the one that holds an index."""
        return any(store.is_seen(believed) for store in self._stores)

    def watched(self, snapshot: Snapshot | None) -> Watched | None:
        """As DeltaStore.watched, of the places up to the one that holds the snapshot."""
        found: dict[str, tuple[int, ...] | None] = {}
        for store in self._stores:
            last = snapshot is not None and store.location == snapshot.location
            part = store.watched(snapshot if last else None)
            if part is None:
                return None
            found.update(part)
            if last:
                return found
        return found if snapshot is None else None

    def look_again(self) -> None:
        """As DeltaStore.look_again, at each place."""
        for store in self._stores:
            store.look_again()

    def append_as_of(self, rows_on: RowsOn, declare: bool = True) -> None:
        """As DeltaStore.append_as_of."""
        store, snapshot = self._found()
        if snapshot is None and declare and self._why_none:
            raise StoreError(self._why_none)
        store.append_as_of(rows_on, declare)

    def compact(self, order: Order | None = None) -> None:
        """As DeltaStore.compact."""
        self._found()[0].compact(order)

    def put_together(self) -> None:
        """As DeltaStore.put_together."""
        self._found()[0].put_together()

    def drop(self, *columns: str) -> None:
        """As DeltaStore.drop."""
        self._found()[0].drop(*columns)

    def vacuum(self, hours: int, dry_run: bool = False) -> list[str]:
        """As DeltaStore.vacuum."""
        return self._found()[0].vacuum(hours, dry_run)

    def history(self) -> list[Step]:
        """As DeltaStore.history."""
        return self._found()[0].history()

    def try_rights(self) -> None:
        """As DeltaStore.try_rights."""
        self._found()[0].try_rights()

    def _found(self, believed: float = 0.0, until: float = math.inf) -> tuple[DeltaStore, Snapshot | None]:
        """What cannot be read is the table's all the same: another one, of an earlier time, is not taken for it, nor written to."""
        for store in self._stores:
            if (snapshot := store.snapshot(believed, until)) is not None:
                return store, snapshot
        return self._stores[0], None


def why_inside(place: str, root: str, index_root: str) -> str:
    """Why no index is made at a place: it would be taken for files of the table; "" where it would not."""
    for lies, table in zip(_ways_to(place), _ways_to(root), strict=True):
        below = lies.removeprefix(f"{table}/")
        if below != lies and not HIDDEN.search(f"{below}/"):
            where = f"index_root={index_root!r} lies in the table {unquote(root)}"
            return f"{where}, by whose readers its files would be taken for data; name a folder outside"
    return ""


def _ways_to(place: str) -> tuple[str, str]:
    """A place as it is written, and where it lies, without what differs between the ways to write it: a path of this machine, or a URI."""
    scheme, separator, rest = place.partition("://")
    if separator and scheme.lower() != "file":
        host, _, path = unquote(rest).partition("/")
        kind = _SCHEMES.get(scheme.lower(), scheme.lower())
        whole = f"{kind}://{re.sub(':[0-9]+$', '', host)}{posixpath.normpath(f'/{path}')}".rstrip("/")
        return whole, whole
    path = unquote(rest if separator else place[5:]) if place.lower().startswith("file:") else place
    written = os.path.normpath(path)
    return re.sub("^/+", "/", written), os.path.realpath(written)
