"""What a session knows: kinds of index, filters, and where the indexes of tables lie."""

from __future__ import annotations

import os
import re
import sys
import time
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from importlib.metadata import entry_points
from os import PathLike, fspath
from os.path import isdir
from posixpath import basename, dirname
from threading import Lock
from types import ModuleType
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote
from uuid import uuid4
from weakref import WeakValueDictionary

from data_skip.errors import DataSkipError, DataSkipWarning
from data_skip.filters import Filters
from data_skip.index import Index, is_kind
from data_skip.indexes import affix, bloom, gap_list, hybrid, metric_distance, min_max, value_list
from data_skip.proofs import casts, elements, tuples
from data_skip.store import Places, Snapshot, StoreError, Watched
from data_skip.store.places import why_inside
from data_skip.store.storage_options import Hadoop

if TYPE_CHECKING:  # it asks what Spark raises: the command line, which needs no Spark, does not wait for it
    from data_skip.planning.bounded import Bounded

CORE = (min_max, value_list, affix, gap_list, bloom, hybrid, metric_distance, elements, tuples, casts)
FOLDER = ".data_skip/_/_/_"
"""The folder of a table's index, under the table's root.

It has to be invisible to whoever globs the data. What globs see, by trying (Spark 4.0, DuckDB 2.0, polars, fsspec, Python, pyarrow, bash):

    a listing of the table itself (Spark, pyarrow, pandas)  nothing whose name begins with _ or .
    t/*, t/*/*, ... in Spark and Hadoop                     _x and .x alike: what a glob itself meets is not hidden, but what lies in
                                                            the folders at which it ends is
    t/*, t/**/*.parquet in Python's glob and in bash        _x, not .x
    t/**/*.parquet in DuckDB, polars, fsspec, pathlib       _x and .x alike

So a folder with a dot, in which there are only hidden folders, down to a depth that globs over partitioned tables seldom reach: Spark's
t/*/*/* finds no file there, t/*/*/*/* would. `**` of the last line finds the index wherever it lies below the table (as it finds Delta's
log, Iceberg's metadata and Hudi's timeline, which lie there too): `index_root` keeps it elsewhere. It does not lie beside the table by
default: there it would not move and be copied with it, would not be reached through links, and often may not be written.
"""
EARLIER = "_data_skip"  # where it was kept before, and is still found
# For so long what was the last version of an index on object storage will do to choose files: what an older one says of them is true.
BELIEVED_SECONDS = 10.0
MOST_STORES = 1_000  # that are kept though nobody holds them: of one without index 3 kB, of one with an index some hundred at least
PATIENCE_SECONDS = 5.0  # for which an object store is waited for, unless the session says how long
# To Hadoop another file system, and to deltalake a folder; what names none; a machine, of which deltalake takes the name for a folder's.
_NO_PLACE = re.compile(r"(?i)(?!file:/)[a-z][a-z0-9+.-]+:(?!//)|([a-z][a-z0-9+.-]+:)?/*$|file://[^/]")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")
_NO_PATH = re.compile(r"""[\x00-\x20"#%<>?\[\\\]^`{|}\x7f]""")  # what stands in no URI as it is


@dataclass(frozen=True)
class Knowledge:
    """The kinds of index and the filters that a session knows."""

    kinds: Mapping[str, type[Index]]
    filters: Filters
    id: str = field(default_factory=lambda: str(uuid4()), init=False, compare=False)  # of these, and no others


class Catalog:
    """The kinds of index and the filters of a session (the core's, and those of installed plugins), and the stores of its tables."""

    def __init__(self, index_root: str | None, spark: Hadoop | None = None, changed: Callable[[], None] = lambda: None) -> None:
        """spark: by which Spark reaches object stores. changed: is called once what was said of indexes may be told otherwise.

        DataSkipError for an `index_root` of which nobody can tell where it is.
        """
        index_root = as_folder(index_root)
        self.index_root = index_root.rstrip("/") if index_root else None
        relative = self.index_root is not None and not _SCHEME.match(self.index_root)
        self._indexes = (
            os.path.abspath(os.path.expanduser(self.index_root)) if relative and self.index_root else self.index_root
        )  # for good
        self._spark = spark
        self._modules: list[ModuleType] = [*CORE, *_plugins()]
        self.changed = changed
        self._knowledge = _know(self._modules)
        self._stores: WeakValueDictionary[str, Places] = WeakValueDictionary()  # a table that is held knows what others write by it
        self._last_asked: OrderedDict[str, Places] = OrderedDict()
        self._most_asked = MOST_STORES
        self._stores_lock = Lock()
        # By the root of a table, the contract, and what is read, and so refreshed, of the folder: as of SnapshotTable.part in Java.
        self.bounded: dict[tuple[str, str, str], Bounded] = {}
        self.not_compacted: set[str] = set()  # roots of tables of which was told that their indexes cannot be

    @property
    def knowledge(self) -> Knowledge:
        """The kinds of index and the filters that are known by now."""
        return self._knowledge

    @knowledge.setter
    def knowledge(self, known: Knowledge) -> None:
        self._knowledge = known
        self.changed()

    def learn(self, index: Index) -> None:
        """Makes the module of an index's class known, if no installed plugin has. DataSkipError where another kind has its name."""
        if self.knowledge.kinds.get(index.kind) is not type(index):
            self._modules.append(sys.modules[type(index).__module__])
            self.knowledge = _know(self._modules)

    def forget(self) -> None:
        """Lets go of the snapshots of indexes."""
        with self._stores_lock:
            self._stores.clear()
            self._last_asked.clear()
        self.bounded.clear()
        self.changed()

    def store(self, root: str) -> Places:
        """Where the index of the table at a root path is, or would be."""
        with self._stores_lock:
            places = self._stores.get(root) or places_of(root, self._indexes, self._spark)
            self._stores[root] = self._last_asked[root] = places
            self._last_asked.move_to_end(root)
            while len(self._last_asked) > self._most_asked:
                self._last_asked.popitem(last=False)
        return places

    def said(self, root: str) -> tuple[Any, ...] | None:
        """What the last snapshot of the index of the table at a root path says; None where there is none."""
        snapshot = self.store(root).snapshot()
        return None if snapshot is None else snapshot.said

    def find(self, roots: Sequence[str], believed: float = BELIEVED_SECONDS, until: float | None = None) -> list[tuple[str, Snapshot]]:
        """The indexes of the tables that some paths belong to, with the tables' roots. StoreError where one is unreadable, and none found.

        A path is a table's root, a partition of it, or one of its files. believed, until: as of DeltaStore.snapshot.
        """
        until = time.perf_counter() + PATIENCE_SECONDS if until is None else until
        self._most_asked = max(self._most_asked, 4 * len(roots))  # else what is seen of each would be forgotten for the next
        seen: dict[str, Snapshot | None] = {}  # each place is looked at once, however many partitions are below it
        found: dict[str, Snapshot] = {}
        for root in roots:
            wrong: StoreError | None = None
            empty = ""  # where all indexes were dropped
            for candidate, counts in _candidates(root):
                try:
                    if candidate not in seen:
                        seen[candidate] = self.store(candidate).snapshot(believed, until)
                except StoreError as error:
                    wrong = wrong or (error if counts else None)
                    continue
                if (snapshot := seen[candidate]) is None:
                    continue
                if snapshot.definitions:
                    found[candidate] = snapshot
                    break
                empty = empty or candidate
            else:
                if wrong is not None:
                    raise wrong
                if (snapshot := seen.get(empty)) is not None:
                    found[empty] = snapshot
        return list(found.items())

    def watched(self, roots: Sequence[str], found: Mapping[str, Snapshot]) -> Watched | None:
        """The files of this machine that stay as they are as long as `find` gives the same for some paths; None where others matter."""
        result: dict[str, tuple[int, ...] | None] = {}
        for root in roots:
            for candidate, _ in _candidates(root):
                snapshot = found.get(candidate)
                try:
                    part = self.store(candidate).watched(snapshot)
                except StoreError:
                    part = None  # a place that cannot be looked at, before the one that was found
                if part is None:
                    return None
                result.update(part)
                if snapshot is not None and snapshot.definitions:
                    break
        return result


def as_folder(index_root: str | PathLike[str] | None) -> str | None:
    """An `index_root` as text. DataSkipError for one of which nobody can tell where it is."""
    if index_root is None:
        return None
    if not isinstance(index_root, (str, PathLike)) or not fspath(index_root).strip() or _NO_PLACE.match(fspath(index_root)):
        raise DataSkipError(f"index_root={index_root!r} is no folder; give a path of this machine, or a URI as s3a://bucket/indexes")
    return fspath(index_root)


def places_of(root: str, index_root: str | None, spark: Hadoop | None) -> Places:
    """Where the index of the table at a root path, an escaped URI, is or would be. spark: as of Catalog."""
    if not index_root:
        return Places([f"{root}/{FOLDER}", f"{root}/{EARLIER}"], spark)
    place = f"{_as_uri(index_root.rstrip('/'))}/{_folder_name(root)}"
    return Places([place], spark, why_inside(place, root, index_root))


def kinds_of(wanted: Iterable[str] | None = None) -> Mapping[str, type[Index]]:
    """The kinds of index of the core and of installed plugins, by their names.

    wanted: those that matter; None: all. Plugins take half a second to load: they are not, where the core has all that matter.
    """
    core = _know(CORE).kinds
    return core if wanted is not None and core.keys() >= set(wanted) else _know([*CORE, *_plugins()]).kinds


def _folder_name(root: str) -> str:
    """A name for the index of a root path, readable and its own; without escapes, which deltalake takes for what they stand for."""
    return f"{re.sub('[^A-Za-z0-9._-]+', '_', unquote(root))[-80:]}-{sha256(root.encode()).hexdigest()[:16]}"


def _as_uri(folder: str) -> str:
    """A folder on an object store, written as Hadoop's paths are, with no escapes: `#` and `?` would end its path; another, in full."""
    scheme, separator, rest = folder.partition("://")
    if folder.lower().startswith("file:/"):
        return f"file:{folder[5:]}"
    if not separator:
        return os.path.abspath(os.path.expanduser(folder))
    return f"{scheme}://{_NO_PATH.sub(lambda found: quote(found[0]), re.sub('/+', '/', rest))}"


def _candidates(path: str) -> Iterator[tuple[str, bool]]:
    """The roots that a table which a path belongs to may have, the nearest first, and of each whether what cannot be read there counts.

    Above a partition, or a file, it is the table. Above a table it is another's folder, or a bucket, of which its users may see nothing.
    """
    path = path.rstrip("/")
    yield path, True
    is_part = "=" in basename(path) or "." in basename(path)
    if "=" not in basename(path) and path.startswith("file:") and isdir(unquote(path.removeprefix("file:"))):
        return  # no file, and no partition: above it others may write, as in /tmp
    path = dirname(path)
    yield path, is_part
    while "=" in basename(path):
        path = dirname(path)
        yield path, True


def _plugins() -> list[ModuleType]:
    """The modules of installed plugins, with a warning for each that cannot be loaded."""
    modules = []
    for entry_point in entry_points(group="data_skip.plugins"):
        try:
            modules.append(entry_point.load())
        except Exception as error:
            message = f"plugin {entry_point.name} ({entry_point.value}) cannot be loaded and is left out: {error}"
            warnings.warn(message, DataSkipWarning, stacklevel=5)
    return modules


def _know(modules: Sequence[ModuleType]) -> Knowledge:
    """The kinds of index and the filters that modules define. DataSkipError where two define a kind of the same name."""
    kinds: dict[str, type[Index]] = {}
    for module in modules:
        for name, found in vars(module).items():
            if not is_kind(found) or name.startswith("_"):
                continue
            known = kinds.setdefault(found.__name__, found)
            if known is not found:
                places = f"{known.__module__} and {found.__module__}"
                raise DataSkipError(f"two plugins define an index {found.__name__}: {places}; uninstall one")
    return Knowledge(kinds, Filters(modules))
