"""What a Python function's pickle names but does not hold: the code of modules, whose edit changes no byte of the pickle.

A function of a notebook is pickled with its code, one of a module by its name, and means there what Spark's workers have loaded by that
name: which may be older or newer than what the driver has, and nobody asks them. So records that an index keeps of a function are believed
where all code that it names is known to be the same everywhere, and for as long:

- of Python's library, and of pyspark;
- of packages that were installed before Spark began: by their versions and files, and those of the packages which they require;
- of modules for which the user vouches (VOUCHED): by their source on the driver, and that of all to which they refer, unless workers may
  find another copy here, or they are seen to be edited.

So is what its code imports as it runs, or a module that is vouched for; what may load code otherwise is not believed. Not seen is what a
module's own functions load by a name as they run, and what is read besides: files, tables, the environment of the driver.
"""

from __future__ import annotations

import base64
import hashlib
import re
import sys
import time
from collections.abc import Iterable, Mapping
from functools import lru_cache
from platform import python_version_tuple
from types import ModuleType
from typing import Any, NamedTuple

from pyspark import SparkContext

from data_skip.source_code import imported_by, is_installed, is_of_library, is_of_python, parents, referred, spec_of, whole
from data_skip.spark.copies import has_another
from data_skip.spark.installed import hidden, installed, is_elsewhere, is_of_library_of, why_others
from data_skip.spark.pickled import Names, names_of
from data_skip.spark.workers import Worker, started_by, worker_of

PYTHON_FUNCTION = "PythonUDF"  # in trees
VOUCHED = "spark.data_skip.python.modules"
_ROW_AT_A_TIME = 100  # Spark's PythonEvalType
_VECTORS = {"pandas", "pyarrow"}  # which PySpark hands to others
_OWN = "data_skip"  # which tasks compare with the driver's
_OF_CYTHON = "_cython_"  # whose functions have their class in a module of no file
_NEVER = {"__main__", "__mp_main__", "pyspark", "py4j"}
# Parameters of a function: a digest of the code that it names; and what it names of which nobody knows what it is in workers, and why.
NAMED, UNSURE = "named", "unsure"
_UNKNOWN = "which workers have of a Python that cannot be started here (PYSPARK_PYTHON)"
_TIMES = re.compile(r"\btimestamp\b")  # with a zone; PySpark has those without one in none
_SECONDS = 2.0  # for which what was seen of code is believed that is not edited while Spark runs
_OWN_TYPES = re.compile(r"\budt\b")
_BROADCAST = ".broadcast"  # with which the name of the module ends that a variable of this kind is of; a large pickle is one itself
_VERSIONED = "pickled_with_version"  # True of a class whose instances say by what they are pickled as which code they mean
# The digests that a vouched module had in an application, by that one's beginning.
_MET: dict[tuple[str, float], set[str]] = {}


def with_code(tree: Any, vouched: str) -> Any:
    """A tree as TreeEncoder.java writes it, whose Python functions have, in place of their pickle, what is told of the code that it names.

    vouched: what VOUCHED is set to: names of modules, and packages, separated by commas.
    """
    if isinstance(tree, list):
        return [with_code(part, vouched) for part in tree]
    if not isinstance(tree, dict):
        return tree
    parameters = tree.get("parameters", {})
    if tree.get("name") == PYTHON_FUNCTION and "command" in parameters:
        rest = {name: value for name, value in parameters.items() if name not in ("command", "executable", "variables")}
        types = " ".join([str(tree.get("type")), *_types(tree)])
        vectors, times, own = parameters["evalType"] != _ROW_AT_A_TIME, _TIMES.search(types), _OWN_TYPES.search(types)
        given = Given(vectors, times is not None, own is not None, parameters.get("variables"))
        told = code_of(base64.b64decode(parameters["command"]), vouched, parameters["executable"], given)
        tree = tree | {"parameters": rest | told}
    return tree | {"children": with_code(tree["children"], vouched)} if "children" in tree else tree


def _types(tree: Any) -> list[str]:
    return [str(child.get("type")) for child in tree.get("children", ()) if isinstance(child, dict)]


class Given(NamedTuple):
    """What a function is given that it need not name."""

    vectors: bool = False  # objects of other packages
    times: bool = False  # in the local time of the process
    own_types: bool = False  # values of types that a user, or a library, has defined
    variables: Mapping[str, str] | None = None  # of its environment; None: those that functions are given now


NOTHING = Given()


def code_of(command: bytes, vouched: str = "", executable: str = sys.executable, given: Given = NOTHING) -> dict[str, str]:
    """What is told of a pickled function: NAMED and UNSURE, as far as there is anything; of one that has a version of its own, nothing.

    vouched: as of `with_code`. executable: the Python that workers run, as Spark would start it.
    """
    vouched_for = {_OWN, *(name for each in vouched.split(",") if (name := each.strip()))}
    try:
        names = names_of(command)
        names = names._replace(modules=names.modules | _VECTORS) if given.vectors else names
        context = SparkContext._active_spark_context
        return _told(names, _Named(vouched_for, worker_of(executable, context, given.variables), context), given)
    except Exception as error:  # of a pickle that only a worker can read, of modules that do anything where they are asked
        return {UNSURE: f"what cannot be read ({type(error).__name__})"}


def _told(names: Names, named: _Named, given: Given = NOTHING) -> dict[str, str]:
    if getattr(_attribute(*names.first), _VERSIONED, False):
        return {}
    if any(name.endswith(_BROADCAST) for name in names.modules):
        named.unsure.append("a broadcast variable, or code beyond a megabyte, of which its pickle holds a number only")
    if names.has_classes:
        named.unsure.append("a class of the notebook, which workers keep by a number that is another one in each application")
    if names.loaders:
        named.unsure.append(f"what it loads by {min(names.loaders)}")
    if module := named.module_of_workers():
        named.unsure.append(f"workers of {module}")
    if named.hashes_differ(given.variables or {}):
        named.unsure.append("hashes of text, which are others in each process of workers (PYTHONHASHSEED)")
    if given.own_types:
        named.unsure.append("values of a user-defined type, which code makes that its pickle does not name")
    if given.times and named.worker is None:
        named.unsure.append(f"times in the zone of workers, {_UNKNOWN}")
    taken = {f"{module}.{name}" for module, name in names.taken if name and not _is_in(module, name)}
    named.add(names.modules | names.imported | taken)
    told = "\n".join(f"{name} {code}" for name, code in sorted(named.seen.items()))
    digest = hashlib.sha256(told.encode()).hexdigest()
    return {key: text for key, text in {NAMED: digest, UNSURE: next(iter(named.unsure), "")}.items() if text}


def _is_in(module: str, name: str) -> bool:
    """Whether something of a module is none itself; what is lazy is not woken by it."""
    return f"{module}.{name}" not in sys.modules and name in getattr(sys.modules.get(module), "__dict__", ())


def _attribute(module: str, name: str) -> Any:
    return getattr(sys.modules.get(module), name, None)


@lru_cache(maxsize=256)
def _all_of(vouched: str, moment: int) -> tuple[str, set[str]]:
    """A digest of a module, or a package, and what it imports; for some seconds, since a query names it again and again."""
    return whole(vouched), imported_by(vouched)


@lru_cache(maxsize=256)
def _is_another(vouched: str, path: tuple[str, ...], shipped: tuple[str, ...], moment: int) -> bool:
    """As of `has_another`; as long as `_all_of`."""
    return has_another(vouched, path, shipped)


class _Named:
    """What a function names, by module and distribution: the code, and of what nobody knows which code it is in workers."""

    def __init__(self, vouched: set[str], worker: Worker | None, context: SparkContext | None) -> None:
        self.worker, self._vouched, self._context = worker, vouched, context
        self._began = 0.0 if context is None else started_by(context).began
        path = () if worker is None else worker.path
        self._shipped = () if context is None else tuple(place for place in path if place.startswith(started_by(context).files))
        self._met: set[str] = set()
        version = ".".join(python_version_tuple()[:2])  # which Spark compares
        self.seen = {"python": version} if worker is None else {"python": worker.version, "zone": worker.zone}
        self.unsure: list[str] = []

    def module_of_workers(self) -> str:
        """The setting, and what it is, where workers run another module than PySpark's, which may look for modules anywhere."""
        modules = {} if self._context is None else started_by(self._context).modules
        return next((f"{key}={module}" for key, module in modules.items() if not self._vouched_for(module)), "")

    def hashes_differ(self, variables: Mapping[str, str]) -> bool:
        """Whether a text has another hash, and a set another order, in each process."""
        seed = variables.get("PYTHONHASHSEED", "0")
        return not seed.isdecimal() or (self.worker is not None and not self.worker.hashes)

    def add(self, names: Iterable[str]) -> None:
        """Adds the code of some modules, and of those that they refer to."""
        left = sorted(names, reverse=True)
        while left:
            name = left.pop()
            if name not in self._met and name.partition(".")[0] not in _NEVER and not name.startswith(_OF_CYTHON):
                self._met.add(name)
                left += sorted(self._add(name, name.partition(".")[0]), reverse=True)

    def _add(self, name: str, package: str) -> Iterable[str]:
        """Adds the code of a module; gives the others that it refers to, as far as these count."""
        module = sys.modules.get(name)
        vouched = self._vouched_for(name)
        if module is None:
            self._add_unknown(name, package, vouched)
        elif not isinstance(module, ModuleType):  # what a module has put in its own place
            self.unsure.append(f"{name}, which is no module")
        elif is_of_python(module):
            self._add_library(package)
        elif vouched is not None:
            self._add_vouched(vouched)
            return () if is_installed(module) else {*referred(module), *parents(name)} & sys.modules.keys()
        elif is_installed(module):
            self._add_installed(name, package)
        else:
            self.unsure.append(f"module {name}")
        return ()

    def _vouched_for(self, name: str) -> str | None:
        """The module, or the package of it, for which the user vouches."""
        return next((known for known in (name, *parents(name)) if known in self._vouched), None)

    def _add_vouched(self, vouched: str) -> None:
        """All of it, and all that it may import: which of its modules the driver has loaded is by chance."""
        left = [vouched]
        while left:
            name = left.pop()
            if (all_of := f"all of {name}") in self.seen:
                continue
            moment = int(time.monotonic() / _SECONDS)
            self.seen[all_of], others = _all_of(name, moment)
            if not self.seen[all_of]:
                self.unsure.append(f"module {name}, of which there is no file")
            _MET.setdefault((name, self._began), set()).add(self.seen[all_of])
            if len(_MET[name, self._began]) > 1:
                self.unsure.append(f"module {name}, which was edited since Spark began: workers may have loaded it before")
            if self.worker is not None and _is_another(name, self.worker.path, self._shipped, moment):
                self.unsure.append(f"module {name}, of which workers may find another copy than the driver's")
            left += sorted({known for other in others if (known := self._vouched_for(other)) and spec_of(known) is not None})
            self.seen |= installed(name.partition(".")[0], self._began).code
            for package in sorted({other.partition(".")[0] for other in others}):
                self._add_imported(package)

    def _add_imported(self, package: str) -> None:
        """What a module imports for which the user vouches, perhaps in a function, which the driver need not have run."""
        found = installed(package, self._began)
        self.seen |= found.code
        if not package or package in _NEVER or self._vouched_for(package) or is_of_library(package):
            return
        if found.code and (self.worker is not None or found.why_unsure):
            self._add_installed(package, package)
        elif not found.code and spec_of(package) is not None:
            self.unsure.append(f"module {package}")

    def _add_unknown(self, name: str, package: str, vouched: str | None) -> None:
        """What the driver has not loaded."""
        if is_of_library(package):
            self._add_library(package)
        elif not package:
            self.unsure.append("what it imports from its own package")
        elif vouched is not None:
            self.unsure.append(f"module {name}, which the driver has not loaded: import it there as well")
        elif installed(package, self._began).code:
            self._add_installed(name, package)
        else:
            self.unsure.append(f"module {name}, which is imported as it runs")

    def _add_library(self, package: str) -> None:
        if self.worker is None:
            if package not in self._vouched:
                self.unsure.append(f"module {package} of Python's library, {_UNKNOWN}")
        elif other := hidden(self.worker) if is_of_library_of(package, self.worker) else package:
            self.unsure.append(f"module {other}, which workers may find elsewhere than in Python's library")

    def _add_installed(self, name: str, package: str) -> None:
        found = installed(package, self._began)
        self.seen |= found.code
        if found.why_unsure or not found.code:
            self.unsure.append(f"module {name}, {found.why_unsure or 'of a package without a version'}")
        elif self.worker is None:
            self.unsure.append(f"package {package}, {_UNKNOWN}")
        elif found.written() > self._began > 0 or is_elsewhere(name if name in sys.modules else package, self.worker.path):
            self.unsure.append(f"package {package}, which was installed since Spark began, or workers may find elsewhere")
        elif why := why_others(found, self.worker.path):
            self.unsure.append(f"package {package}, {why}")
        elif other := hidden(self.worker):
            self.unsure.append(f"module {other}, which workers may find elsewhere than in Python's library")
