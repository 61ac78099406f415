"""What was installed of Python packages: known by its files, for as long as nobody installs it anew."""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import sys
import time
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from importlib.machinery import BuiltinImporter, FrozenImporter, PathFinder, all_suffixes
from importlib.metadata import Distribution, PackageNotFoundError, distribution, distributions, packages_distributions
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

from data_skip.source_code import is_place_of_packages, parents, spec_of
from data_skip.spark.workers import Worker

_SUFFIXES = tuple(all_suffixes())
_OF_SPARK = {"pyspark", "py4j"}  # which workers have of Spark itself
_SECONDS = 60.0


class Installed(NamedTuple):
    """What was installed that has a package, and what that requires."""

    code: dict[str, str]  # of each distribution a digest of what it holds
    places: tuple[Path | None, ...]
    why_unsure: str
    modules: frozenset[str]  # by which all of it is imported
    absent: frozenset[str]  # distributions that are used where they are there, and are not

    def written(self) -> float:
        """When the last of it was installed: its own folder is made anew, where files may be links to others that are older."""
        return max((place.stat().st_mtime if place and place.exists() else math.inf for place in self.places), default=-math.inf)


@cache
def installed(package: str, began: float) -> Installed:
    """As of when it was first asked for in an application: the driver goes on with what it has loaded. began: when that has begun."""
    code: dict[str, str] = {}
    places: list[Path | None] = []
    left = list(_distributions(began).get(package, ()))
    met, why = set(left), "" if lies_installed(package) else "which would be found elsewhere than where packages are installed"
    modules, absent = set[str](), set[str]()
    while left:
        name = left.pop()
        try:
            found = distribution(name)
        except PackageNotFoundError:
            why = why or f"which requires {name}, of which nothing is known"
            continue
        files = [line for line in (found.read_text("RECORD") or "").splitlines() if "sha256=" in line]
        code[f"installed {name}"] = _held(found, files)
        if not files:
            why = why or f"of {name}, which was installed without a list of its files (RECORD)"
        if _is_editable(found):
            why = f"of {name}, which is installed in editable form"
        own = _modules(files)
        if elsewhere := next((module for module in sorted(own - modules) if not lies_installed(module)), ""):
            why = why or f"which requires {elsewhere}, that would be found elsewhere than where packages are installed"
        modules |= own
        places.append(place if isinstance(place := getattr(found, "_path", None), Path) else None)
        new = {needed for text in found.requires or () if (needed := _needed(text)) is not None} - met
        met |= new
        left += new
        absent |= {name for text in found.requires or () if _needed(text) is None and (name := _named(text))}
    return Installed(code, tuple(places), why, frozenset(modules), frozenset(absent))


def _is_editable(found: Distribution) -> bool:
    """Whether a distribution is what a folder holds at any moment: PEP 610 says how that is told."""
    try:
        told = json.loads(found.read_text("direct_url.json") or "{}")
        return bool((told.get("dir_info") or {}).get("editable", False))
    except (ValueError, AttributeError):
        return True


def _modules(files: Iterable[str]) -> set[str]:
    """The uppermost modules and packages that a distribution has by its RECORD; but those of Python's library's names, and Spark's."""
    paths = [line.rpartition(",sha256=")[0].strip('"') for line in files]
    names = {path.split("/")[0].split(".")[0] for path in paths if path.endswith(_SUFFIXES)}
    return {name for name in names if name.isidentifier() and name != "__pycache__"} - sys.stdlib_module_names - _OF_SPARK


def _needed(requirement: str) -> str | None:
    """The name of what a distribution requires; None of what is not installed, and may be needed elsewhere, or for an extra.

    What is there is used, whoever asked for it: `try: import lxml`.
    """
    name = _named(requirement)
    if name and ";" in requirement:
        try:
            distribution(name)
        except PackageNotFoundError:
            return None
    return name or None


def _named(requirement: str) -> str:
    found = re.match(r"\s*([\w.-]+)", requirement)
    return found[1].lower() if found else ""


def why_others(found: Installed, path: tuple[str, ...]) -> str:
    """What of it who looks at some places finds elsewhere, or which distributions are there only; "" for none."""
    return _why_others(found.modules, found.absent, path, _state(path))


@lru_cache(maxsize=256)
def _why_others(modules: frozenset[str], absent: frozenset[str], path: tuple[str, ...], state: object) -> str:
    if elsewhere := next((module for module in sorted(modules) if is_elsewhere(module, path)), ""):
        return f"which requires {elsewhere}, that workers may find elsewhere"
    there, places = {name for place in path for name in _inside(place)}, list(path)
    for name in sorted(absent):
        module = _as_module(name)
        if module not in there:
            continue
        spec = PathFinder.find_spec(module, places)
        if (spec and spec.origin and is_elsewhere(module, path)) or any(True for _ in distributions(name=name, path=places)):
            return f"which uses {name}, that workers alone have"
    return ""


def _state(path: Iterable[str]) -> tuple[object, ...]:
    """What changes with what lies at some places; and each minute, for what lies in folders there."""
    return (*(os.stat(place).st_mtime_ns if os.path.exists(place) else 0 for place in path), int(time.monotonic() / _SECONDS))


def _inside(place: str) -> set[str]:
    """The names of modules, folders and distributions at a place."""
    if os.path.isdir(place):
        names = os.listdir(place)
    elif zipfile.is_zipfile(place):
        names = list(_in_archive(place, os.stat(place).st_mtime_ns))
    else:
        names = []
    return {_as_module(name.partition("-")[0] if name.endswith("-info") else name.partition(".")[0]) for name in names}


@lru_cache(maxsize=64)
def _in_archive(place: str, modified: int) -> frozenset[str]:
    with zipfile.ZipFile(place) as archive:
        return frozenset(name.partition("/")[0] for name in archive.namelist())


def _as_module(name: str) -> str:
    return re.sub(r"[-_.]+", "_", name).lower()


def lies_installed(package: str) -> bool:
    """Whether a package would be found where packages are installed, and nowhere else."""
    spec = spec_of(package)
    if spec is None:
        return False
    places = spec.submodule_search_locations or [spec.origin or ""]
    return all(is_place_of_packages(f"{place}/") for place in places)


@cache
def _distributions(began: float) -> Mapping[str, list[str]]:
    return packages_distributions()


def _held(found: Distribution, files: Iterable[str]) -> str:
    """The version of a distribution, and a digest of those of its files, as RECORD tells them, that are the same on any machine."""
    held = sorted(line for line in files if not line.startswith("..") and ".dist-info/" not in line)
    return f"{found.version} {hashlib.sha256(chr(10).join(held).encode()).hexdigest()}"


def is_elsewhere(name: str, path: Sequence[str]) -> bool:
    """Whether who looks for modules at some places, in this order, finds another one by a name than the driver, or none."""
    places, here = list(path), None
    while spec_of(name) is None and "." in name:  # what its package makes
        name = name.rpartition(".")[0]
    for part in (*parents(name), name):
        found, here = PathFinder.find_spec(part, places), spec_of(part)
        if found is None or here is None:
            return True
        if found.origin is not None:  # no namespace, whose parts are looked for one by one
            return not _is_same(found.origin, here.origin)
        places = list(found.submodule_search_locations or ())
    others = (here.submodule_search_locations if here else None) or ()
    return {*map(os.path.realpath, places)} != {*map(os.path.realpath, others)}


def _is_same(file: str, other: str | None) -> bool:
    return other is not None and (file == other or os.path.realpath(file) == os.path.realpath(other))


def is_of_library_of(package: str, worker: Worker) -> bool:
    """Whether a worker finds a package, or module, in Python's own library."""
    if _is_found_first(package):
        return True
    found = PathFinder.find_spec(package, worker.path)
    origin = None if found is None else found.origin
    return origin is not None and origin.startswith(worker.library) and not is_place_of_packages(origin)


def hidden(worker: Worker) -> str:
    """A module of Python's library in whose place a worker finds another one; "" for none.

    It is imported by other modules of the library, and by whatever is installed: `import statistics` takes the `random` of a folder.
    """
    before = tuple(takewhile(lambda place: place not in worker.library, worker.path))
    return _hidden(before, _state(before))


@lru_cache(maxsize=64)
def _hidden(places: tuple[str, ...], state: object) -> str:
    names = (name for name in sorted(sys.stdlib_module_names) if not _is_found_first(name))
    return next((name for name in names if (found := PathFinder.find_spec(name, [*places])) is not None and found.origin is not None), "")


def _is_found_first(name: str) -> bool:
    """Whether a module is a part of Python itself: these are asked before any place."""
    return BuiltinImporter.find_spec(name) is not None or FrozenImporter.find_spec(name) is not None
