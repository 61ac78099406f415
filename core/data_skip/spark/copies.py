"""The copies of a module that workers may load, compared with the driver's by what is in them."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Sequence
from functools import lru_cache
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path

from data_skip.source_code import LOADABLE, below, digest_of, parents, spec_of, state_of


def has_another(name: str, path: Sequence[str], shipped: Sequence[str]) -> bool:
    """Whether who looks for a module, or package, at some places finds one that is not what the driver has; who finds none has no other.

    shipped: those of the places of which the order is not known: Spark hands them over as a set, and a worker keeps those of before; nor is
    known which of them it has been told of: a function has those that were shipped before it was made, and those of others beside it.
    """
    here = spec_of(name)
    if here is None or here.origin in ("built-in", "frozen"):  # these are found before any place
        return False
    alone = [found for place in shipped if (found := _found(name, [place])) is not None and found.origin is not None]
    first = [_found(name, path), _found(name, [place for place in path if place not in shipped])]
    copies = [*alone, *(found for found in first if found is not None)]
    return any(_is_another(copy, here) for copy in copies if copy.origin is None or copy.origin != here.origin)


def _is_another(copy: ModuleSpec, here: ModuleSpec) -> bool:
    """By all files; of a namespace, whose other parts may lie anywhere, by those that both have."""
    held, own = _held(copy), _held(here)
    return held != own if copy.origin is not None else any(own.get(file, code) != code for file, code in held.items())


def _found(name: str, path: Sequence[str]) -> ModuleSpec | None:
    """Of a namespace, whose parts may lie at several places, that which has no origin."""
    places, found = list(path), None
    for part in (*parents(name), name):
        if (found := PathFinder.find_spec(part, places)) is None:
            return None
        places = list(found.submodule_search_locations or ())
    return found


def _held(spec: ModuleSpec) -> dict[str, str]:
    """A digest of each file that Python can load of a module, or below a package, by its place there; the first of a name counts."""
    archive = Path(str(getattr(spec.loader, "archive", "")))
    places = [Path(place) for place in spec.submodule_search_locations or ()]
    if archive.is_file():
        above = places[0] if places else Path(str(spec.origin)).parent
        held = _in_archive(str(archive), above.relative_to(archive).as_posix(), *state_of(archive))
        return held if places else {name: code for name, code in held.items() if name == Path(str(spec.origin)).name}
    if spec.submodule_search_locations is None:
        file = Path(str(spec.origin))
        return {file.name: digest_of(str(file), *state_of(file))} if file.is_file() else {}
    files = [(file.relative_to(place).as_posix(), file) for place in reversed(places) for file in below(str(place)) if file.is_file()]
    return {name: digest_of(str(file), *state_of(file)) for name, file in files}


@lru_cache(maxsize=256)
def _in_archive(archive: str, folder: str, modified: int, size: int) -> dict[str, str]:
    above = "" if folder == "." else f"{folder}/"
    with zipfile.ZipFile(archive) as opened:
        names = [name for name in opened.namelist() if name.startswith(above) and name.endswith(LOADABLE) and "__pycache__/" not in name]
        return {name.removeprefix(above): hashlib.sha256(opened.read(name)).hexdigest() for name in names}
