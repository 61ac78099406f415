"""Table: the indexes of one table."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from posixpath import basename, dirname
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from data_skip.building.binding import Binding
from data_skip.building.chunks import FIRST
from data_skip.building.generations import Generations
from data_skip.building.index_report import Ensured, IndexReport
from data_skip.building.indexing import index_files
from data_skip.building.one_pass import Target
from data_skip.building.source import (
    TableSource,
    TableState,
    as_indexed,
    asking,
    files_below,
    frame_of,
    is_in_catalog,
    is_pattern,
    location_of,
    qualified,
    refuse_of_others,
    root_of,
    state_of,
)
from data_skip.building.stored import complete
from data_skip.by_index import ByIndex, last, seen
from data_skip.clause import Mask
from data_skip.description import Description
from data_skip.errors import DataSkipError, DataSkipWarning
from data_skip.existing import Existing, IndexExistsError, SameIndexError
from data_skip.files.listing import Listing
from data_skip.index import Index
from data_skip.pictures import by_matplotlib
from data_skip.planning.bound import Bound
from data_skip.planning.catalog import Catalog
from data_skip.planning.decide import decide
from data_skip.planning.indicators import Measured, matches, measured
from data_skip.planning.pictured import boxes
from data_skip.spark.errors import first_line
from data_skip.spark.jvm import Jvm, refuse_stopped, session_alone
from data_skip.spark.settings import disabled
from data_skip.spark.tasks import jobs_of
from data_skip.store import Places, Snapshot
from data_skip.store.history import Step
from data_skip.store.vacuuming import KEPT_HOURS
from data_skip.store.versions import KEYS_SCHEMA
from data_skip.upkeep import keep_up, order_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FILES_PER_COMMIT = 100_000  # at most: the smaller their records are


class Table:
    """A table of files, and its indexes.

    Every method looks at the table and at its index as they are now: DataSkipError where Spark cannot read the table (any more), or the
    folder of the index is none or cannot be read; of those that write, where it cannot be written. What the session keeps of a table of the
    catalog, as a listing of its files, stays what it is.
    """

    def __init__(self, spark: SparkSession, jvm: Jvm, catalog: Catalog, source: TableSource, root: str) -> None:
        self._spark, self._jvm, self._catalog, self._source = spark, jvm, catalog, source
        self.name, self.root = source.name, root
        self._store: Places = catalog.store(root)

    def __repr__(self) -> str:
        return f"Table({self.name!r} at {self.root!r})"

    @classmethod
    def open(
        cls,
        spark: SparkSession,
        jvm: Jvm,
        catalog: Catalog,
        name: str,
        format: str | None,
        schema: Any,
        options: dict[str, str],
    ) -> Table:
        """The table of a path or a name, as `Skipping.table` says; it is looked at once, so that what is none is refused here."""
        in_catalog = format is None and schema is None and not options and "/" not in name and is_in_catalog(spark, name)
        source = TableSource(name, in_catalog, format, schema, options)
        snapshot = None if in_catalog else seen(catalog.store(qualified(jvm, name)))
        if not in_catalog and format is None:
            refuse_of_others(jvm, source, name)
            source = as_indexed(source, snapshot)
        root = root_of(asking(spark, source), jvm, source, None if options else snapshot)
        if format is None and is_pattern(source):  # of which it is seen now which folder it meets
            refuse_of_others(jvm, source, unquote(root))
        return cls(spark, jvm, catalog, source, root)

    @classmethod
    def by_index(cls, spark: SparkSession, jvm: Jvm, catalog: Catalog, name: str) -> Table:
        """The table of a path or a name, for what only its index tells: of a path nothing is listed, nor looked at."""
        if "/" not in name and is_in_catalog(spark, name):
            return cls.open(spark, jvm, catalog, name, None, None, {})
        return cls(spark, jvm, catalog, TableSource(name, False, None, None, {}), qualified(jvm, name))

    def _state(self, alone: bool = False) -> TableState:
        """alone: as a session of its own reads it, in which nobody sets anything while it is indexed, nor registers functions."""
        spark = session_alone(self._spark) if alone else asking(self._spark, self._source)
        state = state_of(spark, self._jvm, self._source)
        self._refuse_moved(state.root)
        return state

    def _frame(self) -> DataFrame:
        """The table, in the session that is asked of it."""
        return frame_of(asking(self._spark, self._source), self._source)

    def _refuse_moved(self, root: str | None = None) -> None:
        """root: where it lies now, if that is known already. What is no table by now has its index where it was."""
        if root is None and self._source.in_catalog:
            root = location_of(self._spark, self._jvm, self.name)
        if root is not None and root != self.root:
            raise DataSkipError(
                f"{self.name} lies at {root} now, no longer at {self.root}; ask for it again: skipping.table({self.name!r})"
            )

    def read(self, freshness: str = "listing") -> DataFrame:
        """The table as a DataFrame, by one of these contracts, which reports and EXPLAIN name.

        "listing": as `spark.read` does, which lists the files unless a setting or a property of the table asks for another contract; one is
        skipped only in exactly the version that the index knows.
        "snapshot": the files are those of the index's last version, and nothing is listed: a query sees new files after `refresh()`. Of
        those that it reads, one that has changed since is read as it is, and one that is gone is an error, which names it. All scans of a
        query read one version, unless they read other parts of a folder, as by its path and by a table of the catalog that has partitions.
        What was refreshed by the partitions of a catalog alone is of the table in part alone: refresh() of
        the folder lists all. A query fails where the folders of the last version have other partition columns than this DataFrame.
        "bounded(60)": as "snapshot", of an index that is no older than 60 seconds by what this session did: else it is refreshed first;
        from half that age on, meanwhile.

        A table of the catalog has the columns and the partitions that the catalog knows: those that it has when a query asks for the files.

        DataSkipError for another contract; with "snapshot" also where there is no index, or one that an earlier data-skip refreshed last,
        for a partition of a catalog that lies outside of the table's folder, and where columns of a path cannot be told from one file: of
        formats that infer them, with `mergeSchema`, and of Parquet with a `_common_metadata` or `_metadata` in its root. There `schema`
        tells them. With "snapshot" also for `recursiveFileLookup`: by whom the index was refreshed last, it does not say.
        """
        refuse_stopped(self._spark)
        if freshness == "listing":
            return frame_of(self._spark, self._source)
        self._refuse_moved()
        return ByIndex(self._spark, self._jvm, self._catalog, self._source, self.root, self.refresh).read(freshness)

    def create_index(self, *indexes: Index, progress: bool | None = None, files_per_commit: int = FILES_PER_COMMIT) -> IndexReport:
        """Collects records of every file for these indexes, in one pass over the data, and commits them.

        Of more files than `files_per_commit` so many at a time: queries use what is there, and what ends too soon refresh() goes on with.

        DataSkipError, before anything is written, for an index that exists or is asked for twice, an expression that Spark does not
        understand, that is not deterministic, constant, or reads a partition column, for a type that the index refuses, for parameters
        that a sample does not tell, for a table that is read otherwise than its other indexes were collected, and for files that Spark
        cannot read. `progress`: True with a bar on the terminal; in notebooks there is one unless it is False.
        """
        _refuse_no_number(files_per_commit)
        _refuse_none("create_index", indexes)
        self._warn_of_partition()
        start = time.perf_counter()
        with jobs_of(self._spark):
            snapshot, state = self._snapshot(), self._state(alone=True)  # in this order: what it says of files is older than their listing
            existing = self._existing(snapshot)
            fitted_ones = existing.fitted(indexes, state)
            bindings = existing.to_create(fitted_ones, state)
            asked = dict(zip(indexes, fitted_ones, strict=True))
            report = self._index(state, snapshot, bindings, None, files_per_commit, progress, asked)
        report.seconds = time.perf_counter() - start  # with the sample of which parameters were chosen
        if report.files_collected > min(FIRST, files_per_commit):  # by several commits, perhaps
            keep_up(self._store, self._catalog, self.name, self.root)
        return report

    def ensure_index(self, *indexes: Index, progress: bool | None = None, files_per_commit: int = FILES_PER_COMMIT) -> Ensured:
        """Creates those of these indexes that are missing, and refreshes all others of the table: for jobs that run again and again.

        Of several at once, on one table, each index is there once in the end. A parameter that is None stands for whatever was chosen.

        DataSkipError, before anything is written, for an index that exists with other parameters, or was collected by other code, and for
        what `refresh` refuses; for what `create_index` refuses once the others are refreshed, and stay so. `progress`, `files_per_commit`:
        as theirs.
        """
        _refuse_none("ensure_index", indexes)
        created = refreshed = None
        same: set[Index] = set()
        while True:
            existing = self._existing(self._snapshot())
            missing = [index for index in existing.missing(indexes) if index not in same]
            if existing.definitions and refreshed is None:  # first: what cannot be refreshed is an error before another index is made
                refreshed = self.refresh(progress, files_per_commit)
            if not missing:
                break
            try:
                created = self.create_index(*missing, progress=progress, files_per_commit=files_per_commit)
            except SameIndexError as error:
                same.add(error.index)
                continue
            except IndexExistsError:
                continue  # another writer was faster
            break
        return Ensured(created, refreshed)

    def fitted(self, *indexes: Index) -> list[Index]:
        """The indexes as `create_index` would make them: parameters that are None chosen from a sample of the table.

        DataSkipError for an index that exists, and for parameters that a sample does not tell.
        """
        _refuse_none("fitted", indexes)
        existing = self._existing(self._snapshot())
        with jobs_of(self._spark):
            return existing.fitted(indexes, self._state(alone=True))

    def refresh(self, progress: bool | None = None, files_per_commit: int = FILES_PER_COMMIT) -> IndexReport:
        """Collects records of files that are new or changed since, for every index that this session knows, and commits them.

        `files_per_commit`: as of `create_index`.

        DataSkipWarning for an index that this session does not know, as it is without its plugin, or without its function, or whose
        Python function is another one here, or whose expression is understood otherwise than when it was created, as by another time zone:
        that one stays as it is. DataSkipError, before anything is written, where there is no index, where that is so of all of them, as
        where the table is read otherwise, and for files that Spark cannot read. `progress`: as of `create_index`.
        """
        _refuse_no_number(files_per_commit)
        with jobs_of(self._spark):
            snapshot, state = self._snapshot(), self._state(alone=True)  # as above
            if snapshot is None or not snapshot.definitions:
                raise DataSkipError(f"{self.name} has no index to refresh; create_index(...) makes one")
            bindings = self._existing(snapshot).to_refresh(state)
            if not bindings:
                return IndexReport(self.name, [])
            current = complete(snapshot, [binding.index.column for binding in bindings])
            report = self._index(state, snapshot, bindings, current, files_per_commit, progress)
        keep_up(self._store, self._catalog, self.name, self.root)
        return report

    def drop_index(self, *indexes: Index) -> None:
        """Removes indexes and their records. DataSkipError, before anything is removed, for one that the table does not have.

        A parameter may be left out where that leaves no doubt, as one that was chosen from a sample.
        """
        _refuse_none("drop_index", indexes, f"; describe() lists those of {self.name}")
        self._refuse_moved()
        self._store.drop(*self._existing(self._snapshot()).to_drop(indexes))

    def describe(self) -> Description:
        """The indexes of the table: how many of its files they know, how large they are (in bytes), and what is wrong with them.

        `version` is None where the table has no index.
        """
        snapshot = self._snapshot()
        state = self._state()
        listing = Listing.now(state.scan)

        def listed(now: Snapshot) -> Mask:
            return listing.present(now, state.root).mask

        return Description.of(self.name, self._store.location, snapshot, listing.count, listed, self._catalog.knowledge.kinds)

    def compact(self) -> None:
        """Rewrites the index with one row for each file version that is there: refresh() does so by itself once it is worth it."""
        self._refuse_moved()
        if (snapshot := self._snapshot()) is not None:
            self._store.compact(order_of(snapshot, self._catalog.knowledge.kinds))

    def vacuum(self, hours: int = KEPT_HOURS, dry_run: bool = False) -> list[str]:
        """Deletes files of the index that no version of the last hours needs, and what writers that were killed have left; their names.

        refresh() deletes those of old versions by itself, a week later. dry_run: only tells them. DataSkipError for less than an hour: a
        query, or another writer, may need them; and for more than a week: the log may tell no more of older ones.
        """
        self._refuse_moved()
        return self._store.vacuum(hours, dry_run)

    def history(self) -> list[Step]:
        """What each commit to the index did, the oldest first, as far as its log goes back."""
        self._refuse_moved()
        self._store.look_again()
        return self._store.history()

    def metadata(self) -> DataFrame:
        """The records of the files that the index knows, a row a file: path, size, modification_time, row_count, a struct an index.

        Dates are days and timestamps microseconds since 1970, as Spark keeps them; `modification_time` is milliseconds, `size` bytes. A
        field is NULL where it is unknown. DataSkipError where the table has no index.
        """
        return self._spark.createDataFrame(self.records())

    def records(self) -> pa.Table:
        """As `metadata`, as an Arrow table."""
        snapshot = self._snapshot()
        if snapshot is None:
            raise DataSkipError(f"{self.name} has no index; create_index(...) makes one")
        return snapshot.to_arrow()

    def files(self, where: str | None = None) -> list[str]:
        """The files that a query with this WHERE would read, as URIs: a dry run, nothing is read.

        What the WHERE says of `_metadata` is not looked at here: Spark itself leaves out files by it.

        DataSkipError for a WHERE that Spark does not understand.
        """
        return self.dry_run(where)[0]

    def dry_run(self, where: str | None = None) -> tuple[list[str], list[str]]:
        """As `files`; and what a report would note: why indexes are not used, and what failed."""
        frame = self._frame()
        try:
            frame = frame if where is None else frame.where(where)
            scans = self._jvm.scans(frame)
        except PySparkException as error:
            if where is None:
                raise
            raise DataSkipError(f"Spark does not understand {where!r} on {self.name}: {first_line(error)}") from error
        if not scans:
            return ([] if self._jvm.is_empty(frame) else Listing.now(self._state().scan).paths), []
        listing = Listing.now(scans[0])
        found = decide(listing, self._catalog.find, self._catalog.knowledge).judgement
        return listing.kept, [*dict.fromkeys([*found.notes, *found.errors])]

    def unused(self) -> list[str]:
        """Which indexes no query of this session uses that reads the table like this, and why: a sentence each.

        As where an index was collected with another time zone than the session's.
        """
        snapshot, scan = self._snapshot(), self._state().scan
        if snapshot is None:
            return []
        bound = Bound.of(snapshot, scan, self._catalog.knowledge)
        return [why for why in map(bound.__getitem__, snapshot.definitions) if isinstance(why, str)]

    def plot(self, *columns: str) -> Figure:
        """A picture of how well clustered the files are: their boxes over one or two indexed expressions, as `ScanReport.plot` has them.

        Those of the index's last version. DataSkipError without an index, where none keeps ranges of them, and without matplotlib.
        """
        snapshot = self._snapshot()
        if snapshot is None:
            raise DataSkipError(f"{self.name} has no index; create_index(...) makes one")
        name = self.name.rstrip("/").rpartition("/")[2]
        drawn = boxes(name, snapshot, self._catalog.knowledge.kinds, snapshot.listed & snapshot.recorded, columns)
        return by_matplotlib().files(drawn)

    def indicators(self, *wheres: str) -> Measured:
        """How well queries with these WHEREs skip, by the paper's indicators. Reads the whole table once, without skipping.

        sigma, lambda, mu and psi of each query and their geometric means: see indicators.py. DataSkipError without a WHERE, and for one
        that Spark does not understand.
        """
        if not wheres:
            raise DataSkipError("indicators takes the WHEREs of queries, as 'temp > 101'")
        reads = {where: set(self.files(where)) for where in wheres}
        frame = self._frame()
        with jobs_of(self._spark), self._jvm.unnoticed(), disabled(frame.sparkSession):
            found = matches(frame, list(reads))
        return measured(self.name, found, reads)

    def _warn_of_partition(self) -> None:
        root = self.root
        while "=" in basename(root):
            root = dirname(root)
        if root != self.root and (snapshot := seen(self._catalog.store(root))) is not None and snapshot.definitions:
            where = unquote(root)
            message = (
                f"{self.name} is a partition of a table that has an index: queries of {where} use that one alone, which its refresh() keeps"
            )
            warnings.warn(message, DataSkipWarning, stacklevel=3)

    def _index(
        self,
        state: TableState,
        snapshot: Snapshot | None,
        bindings: list[Binding],
        current: pa.Table | None,
        files_per_commit: int,
        progress: bool | None,
        asked: Mapping[Index, Index] | None = None,
    ) -> IndexReport:
        """current: the files that need no records; None for new indexes. asked: of these, for which each was chosen."""
        as_of, lists = (snapshot.said, snapshot.is_listing) if snapshot else (None, False)

        def refuse(now: Snapshot) -> None:
            self._existing(now).refuse_chosen(asked or {})

        known = Generations.of(snapshot)
        target = Target(self.name, self._store, self._jvm, current is None, known, as_of, lists, self._files_below, refuse)
        fresh = KEYS_SCHEMA.empty_table() if current is None else current
        return index_files(target, state, bindings, fresh, files_per_commit, progress)

    def _files_below(self, asked: pa.Table) -> Mask:
        return files_below(self._spark, self._jvm, self.root, asked)

    def _existing(self, snapshot: Snapshot | None) -> Existing:
        return Existing(self.name, snapshot, self._catalog, self._jvm)

    def _snapshot(self) -> Snapshot | None:
        return last(self._store)


def _refuse_none(command: str, indexes: Sequence[object], advice: str = "") -> None:
    if not indexes or not all(isinstance(index, Index) for index in indexes):
        raise DataSkipError(f"{command} takes indexes, as MinMax('temp'), not {indexes!r}{advice}")


def _refuse_no_number(files_per_commit: Any) -> None:
    if isinstance(files_per_commit, bool) or not isinstance(files_per_commit, int) or files_per_commit < 1:
        raise DataSkipError(f"files_per_commit={files_per_commit!r} is no number of files; give 1 or more")
