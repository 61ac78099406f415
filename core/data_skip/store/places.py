"""The places where the index of one table may lie, taken as one store."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import pyarrow as pa

from data_skip.store.delta import DeltaStore, Order
from data_skip.store.history import Step
from data_skip.store.layout import FileKey
from data_skip.store.snapshot import Snapshot
from data_skip.store.storage_options import Hadoop


class Places:
    """The index at the first of some places that holds one; where none does, it is made at the first."""

    def __init__(self, uris: Sequence[str], spark: Hadoop | None = None) -> None:
        """spark: as of DeltaStore."""
        self._stores = [DeltaStore(uri, spark) for uri in uris]

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

    def look_again(self) -> None:
        """As DeltaStore.look_again, at each place."""
        for store in self._stores:
            store.look_again()

    def append(
        self,
        files: Sequence[FileKey],
        row_counts: Sequence[int | None],
        columns: Mapping[pa.Field, pa.Array],
        declare: bool = True,
        generations: Sequence[int] = (),
        collected: Sequence[bool] = (),
    ) -> None:
        """As DeltaStore.append."""
        self._found()[0].append(files, row_counts, columns, declare, generations, collected)

    def compact(self, dead: Mapping[FileKey, int], order: Order | None = None) -> None:
        """As DeltaStore.compact."""
        self._found()[0].compact(dead, order)

    def drop(self, column: str) -> None:
        """As DeltaStore.drop."""
        self._found()[0].drop(column)

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
