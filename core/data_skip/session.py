"""enable(spark): installs the rule, loads plugins, finds the index of a table."""

from __future__ import annotations

import logging
import re
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from importlib.metadata import entry_points
from posixpath import basename, dirname
from threading import Lock
from types import ModuleType
from typing import Any
from urllib.parse import unquote

from pyspark.sql import SparkSession

from data_skip import casts, elements, tuples
from data_skip.decide import Knowledge, decide, not_worth, represent
from data_skip.errors import DataSkipError, DataSkipWarning
from data_skip.filters import Filters
from data_skip.index import Index
from data_skip.indexes import affix, bloom, gap_list, hybrid, metric_distance, min_max, value_list
from data_skip.report import QueryReport, Reports, ScanReport
from data_skip.spark.bridge import Scan, listing_of
from data_skip.spark.jvm import Jvm, session_id
from data_skip.spark.listing import Listing
from data_skip.store import DeltaStore, Snapshot, StoreError
from data_skip.table import Table

CORE = (min_max, value_list, affix, gap_list, bloom, hybrid, metric_distance, elements, tuples, casts)
FOLDER = "_data_skip"  # beside the data: Spark ignores names that begin with an underscore
SETTING = "spark.data_skip.enabled"
log = logging.getLogger("data_skip")

_sessions: dict[str, Skipping] = {}  # by Spark's own id of the session
_sessions_lock = Lock()


def enable(spark: SparkSession, index_root: str | None = None) -> Skipping:
    """Makes every query of a running session skip files. Once per session; again returns the same Skipping.

    index_root: a folder for the indexes of tables beside whose data nothing may be written; by default each index lies
    in `_data_skip/` under the root of its table.
    """
    key = session_id(spark)
    with _sessions_lock:
        known = _sessions.get(key)
        if known is None or known.spark.sparkContext._jsc is None:
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
        known._uninstall()


class Skipping:
    """data-skip in one Spark session."""

    def __init__(self, spark: SparkSession, index_root: str | None) -> None:
        self.spark = spark
        self.index_root = index_root.rstrip("/") if index_root else None
        self._modules: list[ModuleType] = [*CORE, *_plugins()]
        self._knowledge = _know(self._modules)
        self._stores: dict[str, DeltaStore] = {}
        self._reports = Reports()
        self._logged: set[str] = set()
        self._callback = _Callback(self)
        self.jvm = Jvm(spark, self._callback)
        self.jvm.install()

    def _uninstall(self) -> None:
        self._callback.skipping = None
        self.jvm.uninstall()

    def table(
        self,
        name: str,
        format: str | None = None,
        schema: Any = None,
        options: Mapping[str, str] | None = None,
    ) -> Table:
        """A table by its path, or by its name in the catalog. format, schema and options are those of `spark.read`, for a path.

        Where they are not given and the path has an index, they are those that it was collected with.
        """
        return Table(self, name, format, schema, dict(options or {}))

    def report(self) -> QueryReport:
        """What the last query skipped and read, and why."""
        reports = self._reports.all()
        return reports[-1] if reports else QueryReport("")

    def reports(self) -> list[QueryReport]:
        """The reports of the last hundred queries, the oldest first."""
        return self._reports.all()

    @contextmanager
    def disabled(self) -> Iterator[None]:
        """Within, the session's queries skip nothing."""
        before = self.spark.conf.get(SETTING, "true") or "true"
        self.spark.conf.set(SETTING, "false")
        try:
            yield
        finally:
            self.spark.conf.set(SETTING, before)

    @property
    def knowledge(self) -> Knowledge:
        """The kinds of index and the filters of this session: the core's, and those of installed plugins."""
        return self._knowledge

    def learn(self, index: Index) -> None:
        """Makes the module of an index's class known to the session, if no installed plugin has."""
        if self._knowledge.kinds.get(index.kind) is not type(index):
            self._modules.append(sys.modules[type(index).__module__])
            self._knowledge = _know(self._modules)

    def store(self, root: str) -> DeltaStore:
        """Where the index of the table at a root path is, or would be."""
        uri = f"{self.index_root}/{_folder_name(root)}" if self.index_root else f"{root}/{FOLDER}"
        return self._stores.setdefault(uri, DeltaStore(uri))

    def find(self, roots: Sequence[str]) -> list[tuple[str, Snapshot]]:
        """The indexes of the tables that some paths belong to: a path is a table's root, a partition of it, or one of its files."""
        found: dict[str, Snapshot] = {}
        for root in roots:
            for candidate in _candidates(root):
                snapshot = self.store(candidate).snapshot()
                if snapshot is not None:
                    found[candidate] = snapshot
                    break
        return list(found.items())

    def decide(self, listing: Listing) -> ScanReport:
        """Takes away from a listing the files that need not be read, and says why."""
        return decide(listing, self.find, self._knowledge)

    def _decide_and_report(self, listing: Listing) -> str:
        report = self.decide(listing)
        for error in set(report.errors) - self._logged:
            self._logged.add(error)
            log.warning("data-skip keeps the files of %s that it is unsure of: %s", report.table, error)
        self._reports.add(listing.execution_id or "(outside of a query)", listing.scan.number, report)
        return "decided"

    def _not_worth(self, listing: Listing) -> str:
        return "\n".join(not_worth(listing, self.find, self._knowledge))

    def _explain(self, scan: Scan) -> str:
        found = self.find(scan.roots)
        if not found:
            return "no index"
        return "; ".join(str(represent(scan, snapshot, self._knowledge, []).clause) for _, snapshot in found)


def _folder_name(root: str) -> str:
    """A name for the index of a root path, readable and its own; without escapes, which deltalake takes for what they stand for."""
    return f"{re.sub('[^A-Za-z0-9._-]+', '_', unquote(root))[-80:]}-{sha256(root.encode()).hexdigest()[:16]}"


def _candidates(path: str) -> Iterator[str]:
    """The roots that a table which a path belongs to may have, the nearest first."""
    path = path.rstrip("/")
    yield path
    path = dirname(path)
    yield path
    while "=" in basename(path):
        path = dirname(path)
        yield path


def _plugins() -> list[ModuleType]:
    """The modules of installed plugins, with a warning for each that cannot be loaded."""
    modules = []
    for entry_point in entry_points(group="data_skip.plugins"):
        try:
            modules.append(entry_point.load())
        except Exception as error:
            message = f"plugin {entry_point.name} ({entry_point.value}) cannot be loaded and is left out: {error}"
            warnings.warn(message, DataSkipWarning, stacklevel=4)
    return modules


def _know(modules: Sequence[ModuleType]) -> Knowledge:
    """The kinds of index and the filters that modules define. DataSkipError where two define a kind of the same name."""
    kinds: dict[str, type[Index]] = {}
    for module in modules:
        for name, found in vars(module).items():
            if not (isinstance(found, type) and issubclass(found, Index)) or found is Index or name.startswith("_"):
                continue
            known = kinds.setdefault(found.__name__, found)
            if known is not found:
                places = f"{known.__module__} and {found.__module__}"
                raise DataSkipError(f"two plugins define an index {found.__name__}: {places}; uninstall one")
    return Knowledge(kinds, Filters(modules))


class _Callback:
    """What the JVM calls, on whatever thread plans or runs a query: holds no state of a query."""

    def __init__(self, skipping: Skipping) -> None:
        self.skipping: Skipping | None = skipping

    def apply(self, what: str, java: Any) -> str | None:
        """The answer to a question of the JVM; where there is none, None, and all files are read.

        what = "list", java a Listing: takes away the files that need not be read, and says "decided".
        what = "pending", java a Listing: for each of its pending predicates a line, why it is not worth knowing; "" where it is.
        what = "explain", java a SkippingFileIndex: its clause, for people.
        """
        skipping = self.skipping
        if skipping is None:
            return "disabled" if what == "explain" else None
        try:
            if what == "explain":
                return skipping._explain(Scan(java))
            return (skipping._decide_and_report if what == "list" else skipping._not_worth)(listing_of(java))
        except StoreError as error:
            return str(error) if what == "explain" else None
        except Exception as error:
            log.warning("data-skip skipped nothing: %s: %s", type(error).__name__, error)
            return f"{type(error).__name__}: {error}" if what == "explain" else None

    class Java:
        implements = ("java.util.function.BiFunction",)
