"""enable(spark): makes the queries of a session skip files."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from os import PathLike, fspath
from threading import Lock
from types import NoneType
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from data_skip.building.index_report import IndexReport
from data_skip.building.source import is_in_catalog
from data_skip.errors import DataSkipError, DataSkipWarning
from data_skip.files.listing import Listing
from data_skip.planning.callback import Callback, nothing
from data_skip.planning.catalog import Catalog, as_folder
from data_skip.planning.decide import decide
from data_skip.planning.explain import later
from data_skip.planning.report import QueryReport, ScanReport
from data_skip.spark.jvm import Jvm, refuse_stopped, session_id, stopped
from data_skip.spark.object_stores import ObjectStores
from data_skip.spark.settings import disabled
from data_skip.spark.statements import Statements
from data_skip.spark.workers import python_without_data_skip
from data_skip.sql import Sql
from data_skip.store.settings import HADOOP
from data_skip.table import Table

_sessions: dict[str, Skipping] = {}  # by Spark's own id of the session
_sessions_lock = Lock()


def enable(spark: SparkSession, index_root: str | PathLike[str] | None = None) -> Skipping:
    """Makes every query of a running session skip files. Once per session; again returns the same Skipping.

    index_root: a folder for the indexes of tables under whose root nothing may be written, or that are read by globs which would meet
    it (catalog.py lists them); by default each index lies in `.data_skip/` under the root of its table.
    DataSkipError for an index_root that is no folder, a session that was stopped, one whose JVM cannot be reached, and for another
    index_root than the session was enabled with. DataSkipWarning where Spark's workers run a Python that lacks this package.
    """
    index_root = as_folder(index_root)
    key = session_id(spark)
    refuse_stopped(spark)
    with _sessions_lock:
        for other in [other for other, known in _sessions.items() if stopped(known.spark)]:
            _sessions.pop(other).forget()
        known = _sessions.get(key)
        if known is None:
            if python := python_without_data_skip(spark):
                advice = f"set PYSPARK_PYTHON={sys.executable} before Spark starts, or here by os.environ after spark.stop()"
                message = f"Spark's workers run {python}, which lacks data_skip: no index of what has to be read can be made; {advice}"
                warnings.warn(message, DataSkipWarning, stacklevel=2)
            known = _sessions[key] = Skipping(spark, index_root)
        elif index_root is not None and known.index_root != index_root.rstrip("/"):
            raise DataSkipError(
                f"data-skip is enabled with index_root={known.index_root!r}; data_skip.disable(spark) before {index_root!r}"
            )
        return known


def disable(spark: SparkSession) -> None:
    """Takes data-skip out of a session; indexes stay where they are."""
    with _sessions_lock:
        known = _sessions.pop(session_id(spark), None)
    if known is not None:
        known.close()


class Skipping:
    """data-skip in one Spark session."""

    def __init__(self, spark: SparkSession, index_root: str | None) -> None:
        self.spark = spark
        self.catalog = Catalog(index_root, ObjectStores(spark), lambda: self.jvm.look_again())
        self._callback = Callback(self.catalog, self._refresh, lambda number: self.jvm.kept(number), lambda: self.jvm.decided_again())
        self.jvm = Jvm(spark, self._callback, HADOOP)
        self.jvm.install()
        by_index = partial(Table.by_index, spark, self.jvm, self.catalog)
        self._statements = Statements(spark, Sql(self.table, by_index, self._before, lambda: self.catalog.knowledge.kinds).statements())
        self._statements.install()

    def close(self) -> None:
        """The session's queries skip no more; `data_skip.disable` calls it."""
        self.forget()
        self.jvm.uninstall()
        self._statements.uninstall()

    def _refresh(self, name: str, root: str) -> IndexReport:
        if "/" not in name and not is_in_catalog(self.spark, name):
            raise DataSkipError(f"there is no table {name} any more")
        table = self.table(name)
        if table.root != root:
            raise DataSkipError(f"{name} lies at {table.root} now, no longer at {root}")
        return table.refresh()

    def forget(self) -> None:
        """Lets go of what is known of indexes; of a session whose Spark was stopped that is all there is to do."""
        self._callback.close()
        self.jvm.answer(nothing)
        self._statements.forget()
        self.catalog.forget()

    @property
    def index_root(self) -> str | None:
        """The folder of all indexes; None where each lies beside its table's data."""
        return self.catalog.index_root

    def table(
        self,
        name: str | PathLike[str],
        format: str | None = None,
        schema: Any = None,
        options: Mapping[str, str] | None = None,
    ) -> Table:
        """A table by its path, or by its name in the catalog. format, schema and options are those of `spark.read`, for a path.

        Where they are not given and the path has an index, they are those that it was collected with.
        DataSkipError for what Spark cannot read, for what is no table of files (a view, a stream, another system's table), for several
        paths, for a format that is not supported, and, where no format is given, for the folder of a table of Delta, Iceberg or Hudi, or of
        one of its partitions.
        """
        refuse_stopped(self.spark)
        if not isinstance(name, (str, PathLike)) or not fspath(name):
            raise DataSkipError(f"a table is named by its path, or by its name in the catalog, not by {name!r}")
        if format is not None and (not isinstance(format, str) or not format.strip()):
            raise DataSkipError(f"format={format!r} is no name of a format, as 'parquet' or 'csv'")
        _refuse_options(options)
        path = fspath(name)
        if isinstance(name, PathLike) and "/" not in path:
            path = f"./{path}"  # of text, a table or view of the catalog may have that name
        return Table.open(self.spark, self.jvm, self.catalog, path, format, schema, dict(options or {}))

    def read(self, path: str | PathLike[str], freshness: str = "snapshot", **reader: Any) -> DataFrame:
        """A table as a DataFrame: `table(path, **reader).read(freshness)`, by default of the files of its index, with nothing listed."""
        return self.table(path, **reader).read(freshness)

    def report(self) -> QueryReport:
        """What the last query with a WHERE over files skipped and read, and why; or that skipping has been off for a later one."""
        return self._before("")

    def _before(self, query: str) -> QueryReport:
        """The report of the last query but one that runs; "": of the last."""
        last, off = self._callback.reports.last(query), self.jvm.last_left_alone(query)
        return QueryReport(off) if _number(off) > _number(last.execution_id) else last

    def reports(self) -> list[QueryReport]:
        """The reports of the last hundred queries, the oldest first."""
        return self._callback.reports.all()

    @contextmanager
    def disabled(self) -> Iterator[None]:
        """Within, the session's queries skip nothing."""
        with disabled(self.spark):
            yield

    def decide(self, listing: Listing) -> ScanReport:
        """Takes away from a listing the files that need not be read, and says why."""
        return later(decide(listing, self.catalog.find, self.catalog.knowledge), self.catalog.knowledge)()


def _refuse_options(options: Any) -> None:
    """DataSkipError for what spark.read takes for no options, or would take the text of. No value is quoted: it may hold a secret."""
    if options is not None and not isinstance(options, Mapping):
        raise DataSkipError(f"options are a dictionary, as {{'header': 'true'}}, not a {type(options).__name__}")
    for key, value in (options or {}).items():
        if not isinstance(key, str) or not isinstance(value, (str, int, float, NoneType)):
            raise DataSkipError(
                f"options are texts, numbers and booleans by their names, as {{'header': 'true'}}, not a {type(value).__name__} by {key!r}"
            )


def _number(execution_id: str) -> int:
    """By which queries are told apart: -1 for what is none."""
    return int(execution_id) if execution_id.isdecimal() else -1
