"""Same code: functions and classes cross to Spark's workers by their names, and mean what is installed there.

An index of another version would collect records that mean something else than the driver, and queries, take them for. So tasks refuse to
collect where the source of the packages that collect differs. A source that has changed since it was loaded says nothing of what runs.
"""

from __future__ import annotations

import hashlib
import io
import pickle
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from itertools import accumulate
from pathlib import Path
from typing import Any

from pyspark.cloudpickle import list_registry_pickle_by_value
from pyspark.cloudpickle.cloudpickle import subimport

from data_skip.errors import DataSkipError
from data_skip.index import LOADED, Index

_COLLECTING = ("data_skip", "data_skip.building", "data_skip.proofs")
_LOADED = time.time()  # about when this process loaded data_skip
_EVALUATING = (*_COLLECTING, "data_skip.indexes", "data_skip.planning", "data_skip.store")


class OtherCode(RuntimeError):
    """A worker has another version of a package than the driver."""


@dataclass(frozen=True)
class Code:
    """The source of some packages, or modules in none, as it is where this was made."""

    digests: Mapping[str, str]

    @classmethod
    def of(cls, indexes: Iterable[Index]) -> Code:
        """Of what collects records of these indexes. Classes of a notebook or a script cross as they are."""
        return cls._of(_COLLECTING, {kind.__module__ for index in indexes for kind in type(index).__mro__ if _crosses_by_name(kind)})

    @classmethod
    def of_pickled(cls, pickled: bytes) -> Code:
        """Of what evaluates clauses, and of all that a pickled one of the driver's own names; but not of Python's library."""
        reading = _Naming(pickled)
        reading.load()
        return cls._of(_EVALUATING, {name for name in reading.modules if name.partition(".")[0] not in sys.stdlib_module_names})

    @classmethod
    def _of(cls, packages: Iterable[str], modules: set[str]) -> Code:
        """DataSkipError where one has changed since it was loaded here."""
        homes = {name: _LOADED for name in packages}
        for module in modules - {"__main__", "builtins", "abc"}:
            if home := _home(module):
                loaded = LOADED.get(module, _LOADED)
                homes[home] = min(loaded, homes.get(home, loaded))
        for name, loaded in homes.items():
            if _written(name) > loaded:
                raise DataSkipError(f"the code of {name} has changed since it was loaded; start Python, and Spark, anew")
        return cls({name: _digest(name) for name in sorted(homes)})

    def check(self) -> None:
        """OtherCode where one of them differs here; ModuleNotFoundError where it lacks."""
        for name, digest in self.digests.items():
            if _digest(name) != digest:
                raise OtherCode(f"{name} is not the same on this worker as on the driver")


class _Naming(pickle.Unpickler):
    """Reads what was pickled here, and notes the modules that it names: whose functions, classes and variables are the reader's own."""

    def __init__(self, pickled: bytes) -> None:
        super().__init__(io.BytesIO(pickled))
        self.modules: set[str] = set()

    def find_class(self, module: str, name: str) -> Any:
        self.modules.add(module)
        return self._imported if name == subimport.__name__ and module == subimport.__module__ else super().find_class(module, name)

    def _imported(self, module: str) -> Any:
        self.modules.add(module)
        return subimport(module)


def _crosses_by_name(kind: type) -> bool:
    """Whether a class is the worker's own there; others cross as they are: those of functions, and of what cloudpickle is told to send."""
    found: object = sys.modules.get(kind.__module__)
    for name in kind.__qualname__.split("."):
        found = getattr(found, name, None)
    above = accumulate(kind.__module__.split("."), "{}.{}".format)
    return found is kind and list_registry_pickle_by_value().isdisjoint(above)


@cache
def _home(module: str) -> str:
    """The package of a module; of one that stands alone, itself; "" of one that can be found nowhere, as of a notebook."""
    try:
        spec = find_spec(module)
    except (ImportError, ValueError):
        return ""
    return "" if spec is None else spec.parent or module


def _written(name: str) -> float:
    """When the last file of a package was written, without those below it; 0 where it has none, as in an archive."""
    spec = find_spec(name)
    folders = [Path(folder) for folder in (spec and spec.submodule_search_locations) or ()]
    sources = [file for folder in folders for file in folder.glob("*.py")] or [Path((spec and spec.origin) or "")]
    states = [file.stat() for file in sources if file.is_file()]
    return max((max(state.st_mtime, state.st_ctime) for state in states), default=0.0)


@cache
def _digest(name: str) -> str:
    """Of all Python source of a package, without those below it; "" of what has none, as modules that are compiled."""
    spec = find_spec(name)
    if spec is None:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    if spec.submodule_search_locations is None:
        loader = spec.loader
        sources = {name: (loader.get_source(name) or "").encode()} if loader is not None and hasattr(loader, "get_source") else {}
    else:
        sources = {file.name: file.read_bytes() for file in files(name).iterdir() if file.name.endswith(".py")}
    digest = hashlib.sha256()
    for file in sorted(sources):
        digest.update(file.encode() + b"\n" + sources[file].replace(b"\r\n", b"\n"))
    return digest.hexdigest() if any(sources.values()) else ""
