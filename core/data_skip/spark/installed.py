"""What was installed of Python packages: known by its files, for as long as nobody installs it anew."""

from __future__ import annotations

import hashlib
import math
import os
import re
from collections.abc import Mapping
from functools import cache
from importlib.machinery import PathFinder
from importlib.metadata import Distribution, PackageNotFoundError, distribution, packages_distributions
from pathlib import Path
from typing import NamedTuple

from pyspark import SparkContext, SparkFiles

from data_skip.source_code import is_place_of_packages, spec_of


class Installed(NamedTuple):
    """What was installed that has a package, and what that requires."""

    code: dict[str, str]  # of each distribution a digest of what it holds
    places: tuple[Path | None, ...]
    why_unsure: str

    def written(self) -> float:
        """When the last of it was installed: its own folder is made anew, where files may be links to others that are older."""
        return max((place.stat().st_mtime if place and place.exists() else math.inf for place in self.places), default=-math.inf)


@cache
def installed(package: str, began: float) -> Installed:
    """As of when it was first asked for in an application: the driver goes on with what it has loaded. began: when that has begun."""
    code: dict[str, str] = {}
    places: list[Path | None] = []
    left = [(name, frozenset[str]()) for name in _distributions(began).get(package, ())]
    met, why = set(left), "" if _lies_installed(package) else "which would be found elsewhere than where packages are installed"
    while left:
        name, extras = left.pop()
        try:
            found = distribution(name)
        except PackageNotFoundError:
            why = why or f"which requires {name}, of which nothing is known"
            continue
        code[f"installed {name}"] = _held(found)
        if '"editable": true' in (found.read_text("direct_url.json") or ""):
            why = f"of {name}, which is installed in editable form"
        places.append(place if isinstance(place := getattr(found, "_path", None), Path) else None)
        new = {needed for text in found.requires or () if (needed := _needed(text, extras)) is not None} - met
        met |= new
        left += new
    return Installed(code, tuple(places), why)


def _needed(requirement: str, extras: frozenset[str]) -> tuple[str, frozenset[str]] | None:
    """The name of what a distribution with some extras requires, and its extras; None of what it does without them, or elsewhere."""
    required, _, marker = requirement.partition(";")
    found = re.match(r"\s*([\w.-]+)\s*(?:\[([^\]]*)\])?", required)
    only = re.findall(r"extra\s*==\s*['\"]([^'\"]+)", marker)
    if found is None or (only and extras.isdisjoint(only)):
        return None
    name = found[1].lower()
    if marker:
        try:
            distribution(name)
        except PackageNotFoundError:  # another platform, or version of Python, would need it
            return None
    return name, frozenset(extra.strip() for extra in (found[2] or "").split(",") if extra.strip())


def _lies_installed(package: str) -> bool:
    """Whether a package would be found where packages are installed, and nowhere else."""
    spec = spec_of(package)
    if spec is None:
        return False
    places = spec.submodule_search_locations or [spec.origin or ""]
    return all(is_place_of_packages(f"{place}/") for place in places)


@cache
def _distributions(began: float) -> Mapping[str, list[str]]:
    return packages_distributions()


def _held(found: Distribution) -> str:
    """The version of a distribution, and a digest of those of its files that it tells, and that are the same on any machine."""
    files = (found.read_text("RECORD") or "").splitlines()
    held = sorted(line for line in files if "sha256=" in line and not line.startswith("..") and ".dist-info/" not in line)
    return f"{found.version} {hashlib.sha256(chr(10).join(held).encode()).hexdigest()}"


def is_shadowed(package: str, context: SparkContext) -> bool:
    """Whether workers may find a package elsewhere, before they look where the driver has it: in what was shipped, or where they run."""
    if context.getConf().get("spark.executorEnv.PYTHONPATH", ""):
        return True
    root = SparkFiles.getRootDirectory()
    shipped = [root, *(f"{root}/{name}" for name in context._python_includes or ())]
    found = PathFinder.find_spec(package, [*shipped, os.getcwd()])
    return found is not None and found.loader is not None  # not a mere folder of that name, before which any package goes
