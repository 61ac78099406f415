"""The source of packages and modules: whose it is, and a digest of it, as it was when it was loaded.

A process goes on with what it has loaded, whatever lies in the files by now. So what an index's class is, and the modules to which that one
refers, is noted as it is defined.
"""

from __future__ import annotations

import ast
import hashlib
import os
import re
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.machinery import ModuleSpec, all_suffixes
from importlib.resources import files
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any
from zipfile import ZipFile

_INSTALLED = tuple({sysconfig.get_path(name) for name in ("purelib", "platlib")})
_FOR_PACKAGES = re.compile(r"[\\/](site|dist)-packages[\\/]")  # also those of a user, or of a cluster
_OF_PYTHON = tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib")})
_OTHERS = ("data_skip", "pyspark", "__main__")  # the first names its own packages itself
LOADABLE = tuple(all_suffixes())
_CONTAINERS = (dict, list, tuple, set, frozenset)
_MOST_INSIDE = 10_000
_MOST_SOURCES = 10_000  # that are kept
_loaded: dict[str, str] = {}  # by the package, or a module in none


def as_loaded(name: str) -> str:
    """A digest of a package's source, without those below it, as of when the process first met it. ModuleNotFoundError: there is none."""
    return _loaded[name] if name in _loaded else _loaded.setdefault(name, _digest(name))


def has_changed(name: str) -> bool:
    """Whether the source of a package is another one by now."""
    return as_loaded(name) != _digest(name)


def note(module: str) -> None:
    """What a module is, and what it refers to, as it is loaded. Whatever cannot be read then is met later; nothing is imported for it."""
    with suppress(Exception):
        for package in homes_of({module} & sys.modules.keys()):
            with suppress(Exception):
                as_loaded(package)


def homes_of(modules: set[str]) -> set[str]:
    """The packages of some modules, and of all of their own, or nobody's, to which these refer. What can be found nowhere has none."""
    met: set[str] = set()
    left = set(modules)
    while left:
        met.add(name := left.pop())
        module = sys.modules.get(name)
        if isinstance(module, ModuleType) and name.partition(".")[0] not in _OTHERS:
            left |= {other for other in referred(module) if other not in met and _counts(other, name)}
    return {home for name in met if (home := home_of(name))}


@cache
def home_of(module: str) -> str:
    """The package of a module; of one that stands alone, itself; "" of one that can be found nowhere, as of a notebook."""
    spec = spec_of(module)
    return "" if spec is None else spec.parent or module


def spec_of(name: str) -> ModuleSpec | None:
    """Where a module would be found; None where it is not, or whoever looks raises an error."""
    try:
        return find_spec(name)
    except Exception:  # a finder may do anything
        return None


def is_installed(module: ModuleType) -> bool:
    """Whether a module is of a package that was installed."""
    if file := _file(module):
        return is_place_of_packages(file)
    if places := list(_attribute(module, "__path__") or ()):  # of a namespace, whose parts may lie anywhere
        return all(is_place_of_packages(f"{place}/") for place in places)
    above = sys.modules.get(str(_attribute(module, "__name__")).rpartition(".")[0])  # which has made it
    return isinstance(above, ModuleType) and is_installed(above)


def is_place_of_packages(path: str) -> bool:
    """Whether a path is of something that was installed as packages are."""
    return path.startswith(_INSTALLED) or _FOR_PACKAGES.search(path) is not None


def is_of_python(module: ModuleType) -> bool:
    """Whether a module is of Python's library. Its name does not tell: others may have it as well."""
    origin = getattr(_attribute(module, "__spec__"), "origin", None)
    return origin in ("built-in", "frozen") or _lies_in_library(_file(module))


def is_of_library(name: str) -> bool:
    """Whether a module, or a package, that was not loaded yet would be found in Python's library."""
    spec = spec_of(name) if name in sys.stdlib_module_names else None
    return spec is not None and (spec.origin in ("built-in", "frozen") or _lies_in_library(str(spec.origin)))


def _lies_in_library(file: str) -> bool:
    return file.startswith(_OF_PYTHON) and not is_place_of_packages(file)


def module_of(value: object) -> str:
    """The name of a module, or of that of a function, a class, or the class of an object; what is lazy is not woken by it."""
    kind = type(value)
    if issubclass(kind, ModuleType):
        name = object.__getattribute__(value, "__dict__").get("__name__")
    elif issubclass(kind, type | FunctionType | BuiltinFunctionType):
        name = getattr(value, "__module__", None)
    else:
        name = kind.__module__
    return name if isinstance(name, str) else ""


def counting(names: Iterable[str]) -> set[str]:
    """Those of some modules that are neither installed, nor of Python's library, nor the core's own."""
    return {name for name in names if _counts(name, "")}


def referred(module: ModuleType) -> set[str]:
    """The modules that a module has or imports, and those whose functions and classes it has."""
    has = list(object.__getattribute__(module, "__dict__").values())
    imported = _source(module).imported_by(_attribute(module, "__package__") or "")
    return {*map(module_of, has), *map(module_of, _inside(has)), *imported}


def _inside(values: Iterable[object]) -> list[object]:
    """What lies in dicts, lists, tuples and sets, and in such that lie in them, as far as that is not too much to look at."""
    found: list[object] = []
    left = [value for value in values if type(value) in _CONTAINERS]
    met: set[int] = set()
    while left and len(found) < _MOST_INSIDE:
        container = left.pop()
        if id(container) in met:
            continue
        met.add(id(container))
        inside = list(islice(container.values() if isinstance(container, dict) else container, _MOST_INSIDE))  # type: ignore[call-overload]
        found += inside
        left += [value for value in inside if type(value) in _CONTAINERS]
    return found


def whole(name: str) -> str:
    """A digest of all source of a module, or of a package and what is below it; of one in an archive, of that. It need not be loaded.

    "" of what has no file, as a module that a program makes as it runs.
    """
    digest, files = hashlib.sha256(), _files(name)
    for file in files:
        digest.update(f"{_package_of(file, name)} {file.name} {digest_of(str(file), *state_of(file))}".encode())
    return digest.hexdigest() if files else ""


def imported_by(name: str) -> set[str]:
    """The names of modules that a module, or one of a package, may import, also where its functions do so; it need not be loaded."""
    found = {other for path, text in _texts(name) for other in _imported(text, _package_of(path, name))}
    return {other for other in found if other != name and not other.startswith(f"{name}.")}


def _texts(name: str) -> Iterator[tuple[Path, bytes]]:
    """The source of a module, or of a package and what is below it, by its place."""
    for file in _files(name):
        if file.suffix == ".py":
            yield file, _of_file(str(file), *state_of(file)).text
        elif not file.name.endswith(LOADABLE) and (spec := spec_of(name)) is not None:  # an archive
            yield from _texts_in(file, str(spec.origin), tuple(spec.submodule_search_locations or ()), *state_of(file))


@lru_cache(maxsize=256)
def _texts_in(archive: Path, origin: str, places: tuple[str, ...], modified: int, size: int) -> list[tuple[Path, bytes]]:
    """Of an archive the source that lies at one place, or below others."""
    with ZipFile(archive) as opened:
        paths = {archive / name: name for name in opened.namelist() if name.endswith(".py")}
        own = [path for path in paths if str(path) == origin or any(map(path.is_relative_to, places))]
        return [(path, opened.read(paths[path])) for path in own]


def _package_of(file: Path, name: str) -> str:
    """That of a file of a module, or below a package of this name."""
    spec = spec_of(name)
    for place in (spec.submodule_search_locations or ()) if spec else ():
        if file.is_relative_to(place):
            return ".".join((name, *file.parent.relative_to(place).parts))
    return name.rpartition(".")[0]


def _files(name: str) -> list[Path]:
    """Those of the source of a module, or of a package and what is below it; the archive, where they lie in one."""
    spec = spec_of(name)
    if spec is None:
        return []
    archive = Path(str(getattr(spec.loader, "archive", "")))
    if archive.is_file():
        return [archive]
    own = [] if spec.origin is None or spec.submodule_search_locations is not None else [Path(spec.origin)]
    loaded = _attribute(sys.modules[name], "__path__") if name in sys.modules else None
    places = dict.fromkeys([*(spec.submodule_search_locations or ()), *(loaded or ())])
    return [*own, *sorted(file for place in places for file in below(place) if file.is_file())]


def below(place: str) -> Iterator[Path]:
    """What Python can load below a folder, by links as well; a hundred thousand files of data cost a look at their names."""
    met: set[str] = set()
    for folder, folders, names in os.walk(place, followlinks=True):
        if (here := os.path.realpath(folder)) in met:
            folders.clear()
            continue
        met.add(here)
        caches = os.path.basename(folder) == "__pycache__"  # of what lies beside them
        yield from (Path(folder, name) for name in names if name.endswith(LOADABLE) and not caches)


@dataclass(frozen=True)
class _Source:
    digest: str
    text: bytes

    @classmethod
    def of(cls, text: bytes) -> _Source:
        return cls(hashlib.sha256(text).hexdigest(), text)

    def imported_by(self, package: str) -> frozenset[str]:
        """The names of modules that it may import, as a module of a package."""
        return _imported(self.text, package)


def _source(module: ModuleType) -> _Source:
    """That of a module; of one in an archive, as long as that is the same."""
    path = Path(_file(module))
    if path.is_file():
        return _of_file(str(path), *state_of(path))
    loader, archive = _attribute(module, "__loader__"), _archive(module)
    return _of_archive(loader, str(_attribute(module, "__name__")), *(state_of(archive) if archive.is_file() else (0, 0)))


def _archive(module: ModuleType) -> Path:
    """That which a module was loaded of; a folder of any other."""
    return Path(str(getattr(_attribute(module, "__loader__"), "archive", "")))


def state_of(path: Path) -> tuple[int, int]:
    """When a file was written, in nanoseconds since 1970, and its bytes: other ones of what has changed."""
    status = path.stat()
    return status.st_mtime_ns, status.st_size


@lru_cache(maxsize=10 * _MOST_SOURCES)
def digest_of(path: str, modified: int, size: int) -> str:
    """As of `_of_file`, of more files than have their text kept."""
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


@lru_cache(maxsize=_MOST_SOURCES)
def _of_file(path: str, modified: int, size: int) -> _Source:
    return _Source.of(Path(path).read_bytes())


@lru_cache(maxsize=_MOST_SOURCES)
def _of_archive(loader: Any, name: str, modified: int, size: int) -> _Source:
    try:
        return _Source.of((loader.get_source(name) or "").encode())
    except Exception:
        return _Source.of(b"")


def _attribute(module: ModuleType, name: str) -> Any:
    return object.__getattribute__(module, "__dict__").get(name)  # a lazy one is not woken


def _file(module: ModuleType) -> str:
    return str(_attribute(module, "__file__") or "")


def _counts(name: str, by: str) -> bool:
    """Whether what a module refers to counts: what is of its own package, or is not installed."""
    module, package = sys.modules.get(name), name.partition(".")[0]
    if not isinstance(module, ModuleType) or package in _OTHERS or is_of_python(module):
        return False
    return package == by.partition(".")[0] or not is_installed(module)


def parents(name: str) -> list[str]:
    """The packages that are run before a module: `a` and `a.b` of `a.b.c`."""
    parts = name.split(".")
    return [".".join(parts[:i]) for i in range(1, len(parts))]


@lru_cache(maxsize=_MOST_SOURCES)
def _imported(source: bytes, package: str) -> frozenset[str]:
    """The names of modules that the source of a module may import, as it is loaded or later: of `from a import B`, a and a.B."""
    try:
        open_: list[ast.AST] = [ast.parse(source)]
    except (SyntaxError, ValueError):
        return frozenset()
    names: set[str] = set()
    while open_:
        node = open_.pop()
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            names |= {base, *(f"{base}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):  # which are false as it runs
            open_.extend(node.orelse)
        else:
            open_.extend(ast.iter_child_nodes(node))
    return frozenset(name for found in names for name in (found, *parents(found)))


def _digest(name: str) -> str:
    """Of all Python source of a package, without those below it; "" of what has none, as modules that are compiled."""
    spec = find_spec(name)
    if spec is None:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    if spec.submodule_search_locations is None:
        loader = spec.loader
        sources = {name: (loader.get_source(name) or "").encode()} if loader is not None and hasattr(loader, "get_source") else {}
    else:
        sources = {file.name: file.read_bytes() for file in files(name).iterdir() if file.name.endswith(".py") and file.is_file()}
    digest = hashlib.sha256()
    for file in sorted(sources):
        digest.update(file.encode() + b"\n" + sources[file].replace(b"\r\n", b"\n"))
    return digest.hexdigest() if any(sources.values()) else ""
