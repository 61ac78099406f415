"""What was installed of Python packages: known by its files, for as long as nobody installs it anew."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping
from functools import cache
from importlib.machinery import PathFinder
from importlib.metadata import Distribution, PackageNotFoundError, distribution, packages_distributions
from pathlib import Path
from typing import NamedTuple

from pyspark import SparkContext, SparkFiles


class Installed(NamedTuple):
    """What was installed that has a package, and what that requires."""

    code: dict[str, str]  # of each distribution a digest of what it holds
    places: tuple[Path | None, ...]
    why_unsure: str

    def written(self) -> float:
        """When the last of it was installed: its own folder is made anew, where files may be links to others that are older."""
        return max((place.stat().st_mtime if place and place.exists() else math.inf for place in self.places), default=-math.inf)


@cache
def installed(package: str) -> Installed:
    """As of when it was first asked for: a process goes on with what it has loaded."""
    code: dict[str, str] = {}
    places: list[Path | None] = []
    left, why = list(_distributions().get(package, ())), ""
    while left:
        name = left.pop().lower()
        if f"installed {name}" in code:
            continue
        try:
            found = distribution(name)
        except PackageNotFoundError:  # as where another platform would need it
            continue
        code[f"installed {name}"] = _held(found)
        if '"editable": true' in (found.read_text("direct_url.json") or ""):
            why = f"of {name}, which is installed in editable form"
        places.append(place if isinstance(place := getattr(found, "_path", None), Path) else None)
        needed = [text for text in found.requires or () if "extra ==" not in text.replace("'", "")]
        left += [required.group() for text in needed if (required := re.match(r"[\w.-]+", text))]
    return Installed(code, tuple(places), why)


@cache
def _distributions() -> Mapping[str, list[str]]:
    return packages_distributions()


def _held(found: Distribution) -> str:
    """The version of a distribution, and a digest of those of its files that it tells, and that are the same on any machine."""
    files = (found.read_text("RECORD") or "").splitlines()
    held = sorted(line for line in files if "sha256=" in line and not line.startswith("..") and ".dist-info/" not in line)
    return f"{found.version} {hashlib.sha256(chr(10).join(held).encode()).hexdigest()}"


def is_shipped(package: str, context: SparkContext) -> bool:
    """Whether workers find a package in what was shipped to them, before they look where it was installed."""
    root = SparkFiles.getRootDirectory()
    return PathFinder.find_spec(package, [root, *(f"{root}/{name}" for name in context._python_includes or ())]) is not None
