"""Same code: functions and classes cross to Spark's workers by their names, and mean what is installed there.

An index of another version would collect records that mean something else than the driver, and queries, take them for. So tasks refuse to
collect where the source of the packages that collect differs. A source that has changed since it was loaded says nothing of what runs.
"""

from __future__ import annotations

import io
import pickle
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from pyspark import cloudpickle
from pyspark.cloudpickle import list_registry_pickle_by_value
from pyspark.cloudpickle.cloudpickle import subimport

from data_skip.errors import DataSkipError
from data_skip.index import Index
from data_skip.source_code import as_loaded, counting, has_changed, homes_of, is_of_python
from data_skip.spark.pickled import names_of

_COLLECTING = ("data_skip", "data_skip.building", "data_skip.proofs", "data_skip.store")
_EVALUATING = (*_COLLECTING, "data_skip.indexes", "data_skip.planning")


class OtherCode(RuntimeError):
    """A worker has another version of a package than the driver."""


for _package in _EVALUATING:
    as_loaded(_package)


@dataclass(frozen=True)
class Code:
    """The source of some packages, or modules in none, as it is where this was made."""

    digests: Mapping[str, str]

    @classmethod
    def of(cls, indexes: Iterable[Index]) -> Code:
        """Of what collects records of these indexes. Classes of a notebook or a script cross as they are, but not what these name."""
        kinds = {kind for index in indexes for kind in type(index).__mro__}
        return cls._of(_COLLECTING, {name for kind in kinds for name in ({kind.__module__} if _crosses_by_name(kind) else _named_by(kind))})

    @classmethod
    def of_pickled(cls, pickled: bytes) -> Code:
        """Of what evaluates clauses, and of all that a pickled one of the driver's own names; but not of Python's library."""
        reading = _Naming(pickled)
        reading.load()
        return cls._of(
            _EVALUATING, {name for name in reading.modules if (found := sys.modules.get(name)) is None or not is_of_python(found)}
        )

    @classmethod
    def _of(cls, packages: Iterable[str], modules: set[str]) -> Code:
        """DataSkipError where one has changed since it was loaded here."""
        homes = sorted({*packages, *homes_of(modules - {"__main__", "builtins", "abc"})})
        if changed := next(filter(has_changed, homes), None):
            raise DataSkipError(f"the code of {changed} has changed since it was loaded; start Python, and Spark, anew")
        return cls({name: as_loaded(name) for name in homes})

    def check(self) -> None:
        """OtherCode where one of them differs here; ModuleNotFoundError where it lacks."""
        for name, digest in self.digests.items():
            if as_loaded(name) != digest:
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


def _named_by(kind: type) -> set[str]:
    """The modules, that are not installed, which a class names that crosses as it is."""
    return counting(names_of(cloudpickle.dumps(kind))) - {kind.__module__}


def _crosses_by_name(kind: type) -> bool:
    """Whether a class is the worker's own there; others cross as they are: of notebooks, of functions, and what is told to."""
    if kind.__module__ in ("__main__", "__mp_main__"):
        return False
    found: object = sys.modules.get(kind.__module__)
    for name in kind.__qualname__.split("."):
        found = getattr(found, name, None)
    above = accumulate(kind.__module__.split("."), "{}.{}".format)
    return found is kind and list_registry_pickle_by_value().isdisjoint(above)
