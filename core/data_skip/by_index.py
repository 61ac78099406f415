"""DataFrames of a table whose files are those of its index: the contracts "snapshot" and "bounded(seconds)" of `Table.read`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from pyspark.sql import DataFrame, SparkSession

from data_skip.building.index_report import IndexReport
from data_skip.building.source import TableSource, frame_of_one, is_recursive, refuse_columns_of_one
from data_skip.errors import DataSkipError
from data_skip.planning.bounded import Bounded, seconds_of
from data_skip.planning.catalog import BELIEVED_SECONDS, Catalog
from data_skip.spark.errors import SPARK_ERRORS, first_line
from data_skip.spark.jvm import Jvm
from data_skip.store import Places, Snapshot, StoreError


@dataclass(frozen=True)
class ByIndex:
    """A table that is read by the files of its index. refresh: of the table."""

    spark: SparkSession
    jvm: Jvm
    catalog: Catalog
    source: TableSource
    root: str
    refresh: Callable[[], IndexReport]

    def read(self, freshness: str) -> DataFrame:
        """The DataFrame, by another contract than "listing"; DataSkipError as `Table.read` says."""
        seconds = seconds_of(freshness) if isinstance(freshness, str) else None
        if freshness != "snapshot" and seconds is None:
            raise DataSkipError(
                f"freshness={freshness!r} is no contract; there are 'listing', 'snapshot', and as 'bounded(60)', of 60 seconds"
            )
        if not self.source.in_catalog:
            refuse_columns_of_one(self.spark, self.source)
            if seconds is None and is_recursive(self.source.options):
                raise DataSkipError(
                    "recursiveFileLookup=true reads files that the last refresh() has not listed, unless it was made so; 'bounded(60)' is"
                )
        snapshot = self._listed(freshness, seconds)
        try:
            if self.source.in_catalog:
                return self.jvm.of_catalog(self.spark.table(self.source.name), freshness)
            frame = frame_of_one(self.spark, self.jvm, self.source, self.root, snapshot)
            return self.jvm.of_snapshot(frame, self.root, freshness, self.source.schema)
        except SPARK_ERRORS as error:
            raise DataSkipError(f"{self.source.name} cannot be read by the files of its index: {first_line(error)}") from error

    def _listed(self, freshness: str, seconds: float | None) -> Snapshot:
        """The last version of the index, which says what files there are."""
        store = self.catalog.store(self.root)
        snapshot = seen(store, BELIEVED_SECONDS)  # each query asks for the last one
        if snapshot is None or not snapshot.definitions or not snapshot.is_listing:
            snapshot = last(store)  # which may be so no more
        asked_later = self.source.in_catalog  # by Contracts.java
        if seconds is not None and snapshot is not None and snapshot.definitions and not asked_later:
            self._bring_up_to_date(freshness, seconds)
            snapshot = last(store)
        if snapshot is None or not snapshot.definitions or not snapshot.is_listing:
            advice = "refresh()" if snapshot and snapshot.definitions else "create_index(...)"
            raise DataSkipError(f"no index of {self.source.name} says which files it has; {advice} makes one that does")
        return snapshot

    def _bring_up_to_date(self, freshness: str, seconds: float) -> None:
        """Those who read as much of the table share one age."""
        part = "recursive" if is_recursive(self.source.options) else ""
        kept = Bounded(seconds, partial(self.catalog.said, self.root))
        bounded = self.catalog.bounded.setdefault((self.root, freshness, part), kept)
        bounded.refreshed_by(repr(self.source), self.refresh)
        bounded.bring_up_to_date()


def last(store: Places) -> Snapshot | None:
    """The last version of an index, looked for wherever it may lie; None where there is none."""
    store.look_again()
    return store.snapshot()


def seen(store: Places, believed: float = 0.0) -> Snapshot | None:
    """The last version of an index, where there is one that can be read. believed: as of Places.snapshot."""
    try:
        return store.snapshot(believed)
    except StoreError:
        return None
