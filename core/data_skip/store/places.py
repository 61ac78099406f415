"""The places where the index of one table may lie, taken as one store."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence

import pyarrow as pa

from data_skip.store.delta import DeltaStore, FileKey, Snapshot, StoreError

_DENIED = re.compile(r"(?i)denied|forbidden|\b403\b|not authorized|permission|read-only")


class Places:
    """The index at the first of some places that holds one; where none does, it is made at the first that can be written to."""

    def __init__(self, uris: Sequence[str]) -> None:
        self._stores = [DeltaStore(uri) for uri in uris]

    @property
    def uri(self) -> str:
        """The first place."""
        return self._stores[0].uri

    @property
    def location(self) -> str:
        """The place of the index, or where it would be made, as deltalake wants it. StoreError where none can be read."""
        return self._found()[0].location

    def snapshot(self) -> Snapshot | None:
        """The last committed version; None where there is no index. StoreError where one cannot be read, and none is found elsewhere."""
        return self._found()[1]

    def append(self, files: Sequence[FileKey], row_counts: Sequence[int | None], columns: Mapping[pa.Field, pa.Array]) -> None:
        """As DeltaStore.append."""
        store, snapshot = self._found()
        others = self._stores[self._stores.index(store) + 1 :] if snapshot is None else []
        for other in others:
            try:
                return store.append(files, row_counts, columns)
            except StoreError as error:
                if not _DENIED.search(str(error)):
                    raise
                store = other
        store.append(files, row_counts, columns)

    def compact(self, live: set[FileKey]) -> None:
        """As DeltaStore.compact."""
        self._found()[0].compact(live)

    def drop(self, column: str) -> None:
        """As DeltaStore.drop."""
        self._found()[0].drop(column)

    def _found(self) -> tuple[DeltaStore, Snapshot | None]:
        errors: list[StoreError] = []
        for store in self._stores:
            try:
                snapshot = store.snapshot()
            except StoreError as error:
                errors.append(error)
                continue
            if snapshot is not None:
                return store, snapshot
        if errors:
            raise errors[0]
        return next((store for store in self._stores if _writable(store.location)), self._stores[0]), None


def _writable(location: str) -> bool:
    """Whether a folder may be made, as far as can be seen without trying: elsewhere than in local files, only by trying."""
    if "://" in location:
        return True
    while not os.path.lexists(location) and os.path.dirname(location) != location:
        location = os.path.dirname(location)
    return os.access(location, os.W_OK | os.X_OK)
