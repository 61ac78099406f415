"""Indexing: which files to collect, the one pass over them, and the one commit."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from data_skip.binding import Types, first_line, physical_fields
from data_skip.collect import Collected, collect, with_expressions
from data_skip.definition import Definition
from data_skip.errors import DataSkipError
from data_skip.footer import lift
from data_skip.index import Index, Record
from data_skip.progress import progress_bar
from data_skip.sampling import Sample, spread
from data_skip.spark.bridge import Listing, Scan
from data_skip.store import DeltaStore, FileKey
from data_skip.store.delta import definition_field

MALFORMED = "data_skip_malformed"
_WITH_MALFORMED = ("csv", "json")
_HOUR = 3_600_000


@dataclass
class IndexReport:
    """What create_index or refresh did."""

    table: str
    indexes: list[str]
    files_collected: int = 0
    files_lifted: int = 0  # of those collected: from their footers alone
    files_current: int = 0
    files_young: int = 0
    files_refused: int = 0
    rows: int = 0
    seconds: float = 0.0
    unknown: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        lines = [
            f"{self.table}: {', '.join(self.indexes)}",
            f"  {self.files_collected:,} files with {self.rows:,} rows collected in {self.seconds:.1f} s; "
            f"{self.files_current:,} files were up to date",
        ]
        if self.files_lifted:
            lines.append(f"  {self.files_lifted:,} of them were not read: their own footers hold what was asked for")
        if self.files_young:
            lines.append(f"  {self.files_young:,} files were written this moment or changed meanwhile: read until the next refresh()")
        if self.files_refused:
            lines.append(f"  {self.files_refused:,} files hold malformed records, whose values depend on the query: they are always read")
        lines += [f"  {index} is unknown for some files, which are read: {why}" for index, why in self.unknown.items()]
        return "\n".join(lines)


@dataclass
class TableState:
    """A table at one moment: how Spark reads it, and its files."""

    frame: DataFrame
    root: str
    scan: Scan

    def list(self) -> tuple[Any, list[FileKey | None]]:
        """The JVM's listing and the identity of each file, by its path relative to the root; None for one that lies elsewhere."""
        java = self.scan.java.listing()
        listing = Listing(java)
        start = f"{self.root}/"
        pairs = zip(listing.paths, listing.identities, strict=True)
        keys = [FileKey(path[len(start) :], *identity) if path.startswith(start) else None for path, identity in pairs]
        return java, keys


def index_files(
    state: TableState,
    again: Callable[[], TableState],
    store: DeltaStore,
    shim: Any,
    definitions: Mapping[Index, tuple[Definition, Types]],
    current: set[FileKey],
    progress: bool,
    name: str,
) -> IndexReport:
    """Collects and commits the records of every file that is not `current`. `again` gives the table's state after the pass."""
    start = time.perf_counter()
    report = IndexReport(name, [str(index) for index in definitions])
    now = time.time() * 1000
    java, keys = state.list()
    young = _young(keys, now)
    wanted = np.array([key is not None and key not in current and key not in young for key in keys], dtype=bool)
    report.files_current = sum(key in current for key in keys)
    found = _lift(java, wanted, definitions)
    report.files_lifted = len(found)
    to_read = wanted.copy()
    to_read[list(found)] = False
    found |= _read(state, java, to_read, list(definitions), shim, report, progress) if to_read.any() else {}
    after = set(again().list()[1]) if wanted.any() else set()
    chosen = [(key, i) for i, key in enumerate(keys) if wanted[i] and key is not None and key in after]
    report.files_young = len(young - current) + int(wanted.sum()) - len(chosen)
    rows = [(key, found.get(i, Collected(records=[None] * len(definitions)))) for key, i in chosen]
    _commit(store, rows, definitions, report)
    report.seconds = time.perf_counter() - start
    return report


def sample_of(state: TableState, shim: Any) -> Sample:
    """A sample of a table's files, not read before it is asked."""

    def read() -> tuple[int, DataFrame]:
        java, keys = state.list()
        java.keepOnly(bytes(spread(len(keys)).astype("uint8")))
        restricted = shim.restricted(state.frame._jdf.queryExecution().analyzed(), java, None)
        return len(keys), DataFrame(restricted, state.frame.sparkSession)

    return Sample(read)


def _young(keys: Sequence[FileKey | None], now: float) -> set[FileKey]:
    """Files that may be written again within the same tick of the clock, and then look the same.

    The resolution is a second where all modification times are whole seconds. A time far in the future is no sign of youth.
    """
    files = {key for key in keys if key is not None}
    resolution = 1000 if all(key.modification_time % 1000 == 0 for key in files) else 10
    return {key for key in files if now - resolution <= key.modification_time <= now + _HOUR}


def _lift(java: Any, wanted: Any, definitions: Mapping[Index, tuple[Definition, Types]]) -> dict[int, Collected]:
    """What footers alone say of the wanted files, by the place of each in the listing."""
    paths = Listing(java).paths if wanted.any() else []
    uris = {i: path for i, path in enumerate(paths) if wanted[i]}
    return lift(uris, {index: definition for index, (definition, _) in definitions.items()})


def _read(
    state: TableState, java: Any, wanted: Any, indexes: list[Index], shim: Any, report: IndexReport, progress: bool
) -> dict[int, Collected]:
    """What one pass over the wanted files finds, by the place of each in the listing."""
    spark = state.frame.sparkSession
    hashes = np.frombuffer(bytes(java.hashes()), dtype=">i8").astype(np.int64).tolist()
    if len(set(hashes)) != len(hashes):
        raise DataSkipError(f"two files of {report.table} have paths with the same hash, by which they are told apart; rename one")
    malformed = MALFORMED if state.scan.description["format"] in _WITH_MALFORMED else None
    plan = state.frame._jdf.queryExecution().analyzed()
    java.keepOnly(bytes(wanted.astype("uint8")))
    frame = DataFrame(shim.restricted(plan, java, malformed), spark)
    failures: dict[Index, str] = {}
    try:
        with progress_bar(spark, f"indexing {report.table}", progress):
            found = collect(with_expressions(frame, indexes, malformed), indexes, failures)
    except (PySparkException, Py4JJavaError) as error:  # pyspark leaves some errors of tasks as they come
        raise DataSkipError(f"the files of {report.table} cannot be read: {first_line(error)}; nothing was written") from error
    report.unknown = {str(index): error for index, error in failures.items()}
    place = {hash_: i for i, hash_ in enumerate(hashes)}
    return {place[hash_]: file for hash_, file in found.items()}


def _commit(
    store: DeltaStore,
    rows: list[tuple[FileKey, Collected]],
    definitions: Mapping[Index, tuple[Definition, Types]],
    report: IndexReport,
) -> None:
    """One commit of all records. An unknown record is one whose fields are all null: it says that the file need not be collected again."""
    report.files_collected, report.rows = len(rows), sum(file.rows for _, file in rows)
    report.files_refused = sum(file.refused for _, file in rows)
    columns = {}
    for i, (index, (definition, types)) in enumerate(definitions.items()):
        type_ = physical_fields(index, types)
        records = [{} if file.refused or file.records[i] is None else file.records[i] for _, file in rows]
        columns[definition_field(index.column, type_, definition)] = as_column(records, type_, index, report)
    store.append([key for key, _ in rows], [file.rows for _, file in rows], columns)


def as_column(records: list[Record | None], type_: pa.DataType, index: Index, report: IndexReport) -> pa.Array:
    """The records of an index as one column; a record that does not fit its own fields is unknown."""
    try:
        return pa.array(records, type_)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        fitting: list[Record | None] = []
        for record in records:
            try:
                fitting.append(pa.array([record], type_)[0].as_py())
            except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
                report.unknown.setdefault(str(index), f"a record does not fit its fields: {error}")
                fitting.append({})
        return pa.array(fitting, type_)
