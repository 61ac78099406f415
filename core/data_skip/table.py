"""Table: the indexes of one table."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from data_skip.building.binding import Binding, another_reader, bind, changed
from data_skip.building.indexing import IndexReport, TableState, Target, index_files, sample_of
from data_skip.errors import DataSkipError, DataSkipWarning
from data_skip.files.listing import Listing
from data_skip.index import Index
from data_skip.planning.catalog import Catalog
from data_skip.planning.decide import decide, usable
from data_skip.planning.indicators import Measured, matches, measured
from data_skip.planning.report import human
from data_skip.spark.errors import SPARK_ERRORS, first_line
from data_skip.spark.jvm import Jvm
from data_skip.spark.settings import disabled
from data_skip.store import FileKey, Places, Snapshot, StoreError
from data_skip.store.definition import BY_POSITION, SUPPORTED_FORMATS, Definition


@dataclass
class Description:
    """The indexes of a table: a line each."""

    table: str
    location: str
    version: int | None
    files: int
    files_indexed: int
    rows: list[dict[str, Any]]

    def __str__(self) -> str:
        if self.version is None:
            return f"{self.table} has no index; {self.files:,} files"
        lines = [
            f"{self.table}: {self.files_indexed:,} of {self.files:,} files have a fresh record",
            f"  version {self.version} at {self.location}",
        ]
        for row in self.rows:
            problem = f" - {row['problem']}" if row["problem"] else ""
            lines.append(f"  {row['index']}: {row['files']:,} files, {human(row['bytes'])}{problem}")
        return "\n".join(lines)


@dataclass(frozen=True)
class _Source:
    """How Spark is asked for a table: by its name in the catalog, or by a path with what `spark.read` takes."""

    name: str
    in_catalog: bool
    format: str | None
    schema: Any
    options: dict[str, str]


def _as_indexed(source: _Source, store: Places) -> _Source:
    """Without a format: the reader that an existing index was collected with."""
    try:
        snapshot = store.snapshot()
    except StoreError:
        return source
    for definition in (snapshot.definitions if snapshot else {}).values():
        reader, schema = definition.reader, source.schema
        if schema is None and reader["format"] in BY_POSITION:
            fields = [{"name": n, "type": t, "nullable": True, "metadata": {}} for n, t, *_ in reader["columns"]]
            schema = StructType.fromJson({"type": "struct", "fields": fields})
        return replace(source, format=reader["format"], options={**reader["options"], **source.options}, schema=schema)
    return source


def _frame(spark: SparkSession, source: _Source) -> DataFrame:
    """The table as it is now: with a listing of its own."""
    try:
        if source.in_catalog:
            spark.catalog.refreshTable(source.name)
            return spark.table(source.name)
        reader = spark.read.options(**source.options)
        if source.format:
            reader = reader.format(source.format)
        if source.schema is not None:
            reader = reader.schema(source.schema)
        return reader.load(source.name)
    except SPARK_ERRORS as error:
        hint = "" if source.format else "; give format=... if its files are not Parquet"
        raise DataSkipError(f"table {source.name!r} cannot be read: {first_line(error)}{hint}") from error


def _state(spark: SparkSession, jvm: Jvm, source: _Source) -> TableState:
    frame = _frame(spark, source)
    scan = jvm.scan(frame)
    if scan is None:
        raise DataSkipError(f"{source.name!r} is no table of files that Spark reads by itself (but a view, a stream, or another system's)")
    roots = set(scan.roots[:1] if source.in_catalog else scan.roots)
    if len(roots) != 1:
        raise DataSkipError(f"{source.name!r} stands for {len(roots)} paths; an index belongs to one root folder: give that")
    if scan.description["format"] not in SUPPORTED_FORMATS:
        raise DataSkipError(f"format {scan.description['format']!r} is not supported; these are: {', '.join(SUPPORTED_FORMATS)}")
    return TableState(frame, roots.pop(), scan)


class Table:
    """A table of files, and its indexes."""

    def __init__(self, spark: SparkSession, jvm: Jvm, catalog: Catalog, source: _Source, root: str) -> None:
        self._spark, self._jvm, self._catalog, self._source = spark, jvm, catalog, source
        self.name, self.root = source.name, root
        self._store: Places = catalog.store(root)

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
        in_catalog = format is None and schema is None and not options and "/" not in name and spark.catalog.tableExists(name)
        source = _Source(name, in_catalog, format, schema, options)
        if not in_catalog and format is None:
            source = _as_indexed(source, catalog.store(jvm.qualified(name)))
        return cls(spark, jvm, catalog, source, _state(spark, jvm, source).root)

    def _state(self) -> TableState:
        return _state(self._spark, self._jvm, self._source)

    def create_index(self, *indexes: Index, progress: bool = False) -> IndexReport:
        """Collects records of every file for these indexes, in one pass over the data, and commits them.

        DataSkipError, before anything is written, for an index that exists, an expression that Spark does not understand, that is
        not deterministic, constant, or reads a partition column, and for a type that the index refuses.
        """
        if not indexes or not all(isinstance(index, Index) for index in indexes):
            raise DataSkipError(f"create_index takes indexes, as MinMax('temp'), not {indexes!r}")
        state, snapshot = self._state(), self._snapshot()
        existing = snapshot.definitions if snapshot else {}
        bindings: list[Binding] = []
        for index in self._fitted(indexes, state, existing):
            self._refuse_twice(index, existing)
            if index in (binding.index for binding in bindings):
                raise DataSkipError(f"{index} is asked for twice; once is enough")
            self._catalog.learn(index)
            bindings.append(bind(index, state.frame, state.scan, self._jvm))
            for other in existing.values():
                if why := another_reader(other, bindings[-1].definition):
                    advice = "all indexes of a table are collected alike: drop those, or read as they did"
                    raise DataSkipError(f"{self.name} has {other}, {why}; {advice}")
        return self._index(state, bindings, set(), progress)

    def fitted(self, *indexes: Index) -> list[Index]:
        """The indexes as `create_index` would make them: parameters that are None chosen from a sample of the table."""
        snapshot = self._snapshot()
        return self._fitted(indexes, self._state(), snapshot.definitions if snapshot else {})

    def _fitted(self, indexes: Sequence[Index], state: TableState, existing: Mapping[str, Definition]) -> list[Index]:
        for index in indexes:
            self._refuse_twice(index, existing)
        sample = sample_of(state, self._jvm)
        return [index.fitted(sample) for index in indexes]

    def _refuse_twice(self, index: Index, existing: Mapping[str, Definition]) -> None:
        if _stored(index, existing) is not None:
            raise DataSkipError(f"{index} exists already on {self.name}; refresh() brings it up to date, drop_index() removes it")

    def refresh(self, progress: bool = False) -> IndexReport:
        """Collects records of files that are new or changed since, for every index that this session knows."""
        state, snapshot = self._state(), self._snapshot()
        if snapshot is None or not snapshot.definitions:
            raise DataSkipError(f"{self.name} has no index to refresh; create_index(...) makes one")
        bindings: list[Binding] = []
        for stored in snapshot.definitions.values():
            index = usable(stored, self._catalog.knowledge.kinds)
            if isinstance(index, str):
                warnings.warn(index, DataSkipWarning, stacklevel=2)
                continue
            bindings.append(bind(index, state.frame, state.scan, self._jvm))
            if why := changed(stored, bindings[-1].definition):
                raise DataSkipError(f"{index} was {why}; drop_index() and create_index() it, or read the table as then")
        current = _complete(snapshot, [binding.index.column for binding in bindings])
        report = self._index(state, bindings, current, progress)
        self._tidy()
        return report

    def drop_index(self, *indexes: Index) -> None:
        """Removes indexes and their records."""
        snapshot = self._snapshot()
        columns = [_stored(index, snapshot.definitions if snapshot else {}) for index in indexes]
        for index, column in zip(indexes, columns, strict=True):
            if column is None:
                raise DataSkipError(f"{self.name} has no {index}; describe() lists what it has")
        try:
            for column in filter(None, columns):
                self._store.drop(column)
        except StoreError as error:
            raise DataSkipError(str(error)) from error

    def describe(self) -> Description:
        """The indexes of the table: how many of its files they know, how large they are, and what is wrong with them."""
        snapshot = self._snapshot()
        _, keys = self._state().list()
        if snapshot is None:
            return Description(self.name, self._store.location, None, len(keys), 0, [])
        records = snapshot.records(snapshot.definitions)
        live = {i for i, file in enumerate(snapshot.files) if file in set(keys)}
        rows = []
        for column, definition in snapshot.definitions.items():
            known = usable(definition, self._catalog.knowledge.kinds)
            valid = records[column].is_valid().to_pylist()
            files = sum(valid[i] for i in live)
            problem = known if isinstance(known, str) else ""
            rows.append({"index": str(definition), "files": files, "bytes": records[column].nbytes, "problem": problem})
        return Description(self.name, self._store.location, snapshot.version, len(keys), len(live), rows)

    def metadata(self) -> DataFrame:
        """The records of the files that the index knows, a row a file: path, size, modification_time, row_count, a struct an index.

        Dates are days and timestamps microseconds since 1970, as Spark keeps them.
        """
        snapshot = self._snapshot()
        if snapshot is None:
            raise DataSkipError(f"{self.name} has no index; create_index(...) makes one")
        return self._spark.createDataFrame(snapshot.to_arrow())

    def files(self, where: str | None = None) -> list[str]:
        """The files that a query with this WHERE would read, as URIs: a dry run, nothing is read."""
        frame = _frame(self._spark, self._source)
        if where is not None:
            try:
                frame = frame.where(where)
            except PySparkException as error:
                raise DataSkipError(f"Spark does not understand {where!r} on {self.name}: {first_line(error)}") from error
        scans = self._jvm.scans(frame)
        if not scans:
            return Listing.now(self._state().scan).paths
        listing = Listing.now(scans[0])
        decide(listing, self._catalog.find, self._catalog.knowledge)
        return listing.kept

    def indicators(self, *wheres: str) -> Measured:
        """How well queries with these WHEREs skip, by the paper's indicators. Reads the whole table once, without skipping.

        sigma, lambda, mu and psi of each query and their geometric means: see indicators.py.
        """
        if not wheres:
            raise DataSkipError("indicators takes the WHEREs of queries, as 'temp > 101'")
        reads = {where: set(self.files(where)) for where in wheres}
        with disabled(self._spark):
            found = matches(_frame(self._spark, self._source), list(reads))
        return measured(self.name, found, reads)

    def _index(self, state: TableState, bindings: list[Binding], current: set[FileKey], progress: bool) -> IndexReport:
        target = Target(self.name, self._store, self._jvm, self._state)
        try:
            return index_files(target, state, bindings, current, progress)
        except StoreError as error:
            raise DataSkipError(str(error)) from error

    def _snapshot(self) -> Snapshot | None:
        try:
            return self._store.snapshot()
        except StoreError as error:
            raise DataSkipError(str(error)) from error

    def _tidy(self) -> None:
        """Drops the rows of files that are gone or changed, once they outnumber the others."""
        snapshot = self._snapshot()
        _, keys = self._state().list()
        live = set(keys) & set(snapshot.files) if snapshot else set()
        if snapshot and snapshot.rows > 2 * len(live) + 1000:
            self._store.compact({key for key in live if key is not None})


def _stored(index: Index, definitions: Mapping[str, Definition]) -> str | None:
    """The column of an index in the store; a parameter that is None stands for whatever was chosen."""
    if index.column in definitions:
        return index.column
    for column, known in definitions.items():
        alike = all(value is None or known.parameters.get(name) == value for name, value in index.parameters.items())
        if None in index.parameters.values() and (known.kind, known.expressions) == (index.kind, index.expressions) and alike:
            return column
    return None


def _complete(snapshot: Snapshot, columns: list[str]) -> set[FileKey]:
    """The file versions that have been collected for all of these indexes, whether or not something is known of them."""
    collected = snapshot.collected(columns)
    return {file for file, complete in zip(snapshot.files, collected, strict=True) if complete}
