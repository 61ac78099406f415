"""Table: the indexes of one table."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from data_skip.binding import Binding, another_reader, bind, changed, first_line
from data_skip.decide import usable
from data_skip.definition import BY_POSITION, SUPPORTED_FORMATS, Definition
from data_skip.errors import DataSkipError, DataSkipWarning
from data_skip.index import Index
from data_skip.indexing import IndexReport, TableState, Target, index_files, sample_of
from data_skip.indicators import Measured, matches, measured
from data_skip.report import human
from data_skip.store import DeltaStore, FileKey, Snapshot, StoreError

if TYPE_CHECKING:
    from data_skip.session import Skipping


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


class Table:
    """A table of files, and its indexes."""

    def __init__(self, skipping: Skipping, name: str, format: str | None, schema: Any, options: dict[str, str]) -> None:
        self._skipping, self._spark, self.name = skipping, skipping.spark, name
        self._in_catalog = format is None and schema is None and not options and "/" not in name and self._spark.catalog.tableExists(name)
        self._format, self._schema, self._options = format, schema, options
        if not self._in_catalog and format is None:
            self._read_as_indexed()
        self.root = self._state().root
        self._store: DeltaStore = skipping.store(self.root)

    def _read_as_indexed(self) -> None:
        """Without a format: the reader that an existing index was collected with."""
        try:
            snapshot = self._skipping.store(self._skipping.jvm.qualified(self.name)).snapshot()
        except StoreError:
            return
        for definition in (snapshot.definitions if snapshot else {}).values():
            reader = definition.reader
            self._format, self._options = reader["format"], {**reader["options"], **self._options}
            if self._schema is None and reader["format"] in BY_POSITION:
                fields = [{"name": n, "type": t, "nullable": True, "metadata": {}} for n, t, *_ in reader["columns"]]
                self._schema = StructType.fromJson({"type": "struct", "fields": fields})
            return

    def _frame(self) -> DataFrame:
        """The table as it is now: with a listing of its own."""
        try:
            if self._in_catalog:
                self._spark.catalog.refreshTable(self.name)
                return self._spark.table(self.name)
            reader = self._spark.read.options(**self._options)
            if self._format:
                reader = reader.format(self._format)
            if self._schema is not None:
                reader = reader.schema(self._schema)
            return reader.load(self.name)
        except (PySparkException, Py4JJavaError) as error:
            hint = "" if self._format else "; give format=... if its files are not Parquet"
            raise DataSkipError(f"table {self.name!r} cannot be read: {first_line(error)}{hint}") from error

    def _state(self) -> TableState:
        frame = self._frame()
        scan = self._skipping.jvm.scan(frame)
        if scan is None:
            raise DataSkipError(
                f"{self.name!r} is no table of files that Spark reads by itself (but a view, a stream, or another system's)"
            )
        roots = set(scan.roots[:1] if self._in_catalog else scan.roots)
        if len(roots) != 1:
            raise DataSkipError(f"{self.name!r} stands for {len(roots)} paths; an index belongs to one root folder: give that")
        if scan.description["format"] not in SUPPORTED_FORMATS:
            raise DataSkipError(f"format {scan.description['format']!r} is not supported; these are: {', '.join(SUPPORTED_FORMATS)}")
        return TableState(frame, roots.pop(), scan)

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
            self._skipping.learn(index)
            bindings.append(bind(index, state.frame, state.scan, self._skipping.jvm))
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
        sample = sample_of(state, self._skipping.jvm)
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
            index = usable(stored, self._skipping.knowledge.kinds)
            if isinstance(index, str):
                warnings.warn(index, DataSkipWarning, stacklevel=2)
                continue
            bindings.append(bind(index, state.frame, state.scan, self._skipping.jvm))
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
            known = usable(definition, self._skipping.knowledge.kinds)
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
        frame = self._frame()
        if where is not None:
            try:
                frame = frame.where(where)
            except PySparkException as error:
                raise DataSkipError(f"Spark does not understand {where!r} on {self.name}: {first_line(error)}") from error
        scans = self._skipping.jvm.scans(frame)
        if not scans:
            return self._state().scan.listing().paths
        listing = scans[0].listing()
        self._skipping.decide(listing)
        return listing.kept

    def indicators(self, *wheres: str) -> Measured:
        """How well queries with these WHEREs skip, by the paper's indicators. Reads the whole table once, without skipping.

        sigma, lambda, mu and psi of each query and their geometric means: see indicators.py.
        """
        if not wheres:
            raise DataSkipError("indicators takes the WHEREs of queries, as 'temp > 101'")
        reads = {where: set(self.files(where)) for where in wheres}
        with self._skipping.disabled():
            found = matches(self._frame(), list(reads))
        return measured(self.name, found, reads)

    def _index(self, state: TableState, bindings: list[Binding], current: set[FileKey], progress: bool) -> IndexReport:
        target = Target(self.name, self._store, self._skipping.jvm, self._state)
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
