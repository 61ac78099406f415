"""The source of packages and modules: whose it is, and a digest of it, as it was when it was loaded.

A process goes on with what it has loaded, whatever lies in the files by now. So what an index's class is, and the modules to which that one
refers, is noted as it is defined.
"""

from __future__ import annotations

import ast
import hashlib
import re
import sys
import sysconfig
from collections.abc import Iterable
from contextlib import suppress
from functools import cache, lru_cache
from importlib.resources import files
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

_INSTALLED = tuple({sysconfig.get_path(name) for name in ("purelib", "platlib")})
_FOR_PACKAGES = re.compile(r"[\\/](site|dist)-packages[\\/]")  # also those of a user, or of a cluster
_OF_PYTHON = tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib")})
_OTHERS = ("data_skip", "pyspark", "__main__")  # the first names its own packages itself
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
            left |= {other for other in _referred(module) if other not in met and _counts(other, name)}
    return {home for name in met if (home := home_of(name))}


@cache
def home_of(module: str) -> str:
    """The package of a module; of one that stands alone, itself; "" of one that can be found nowhere, as of a notebook."""
    try:
        spec = find_spec(module)
    except Exception:  # a finder may do anything
        spec = None
    return "" if spec is None else spec.parent or module


def _is_installed(module: ModuleType) -> bool:
    """Whether a module is of a package that was installed."""
    if file := _file(module):
        return _is_place_of_packages(file)
    if places := list(_attribute(module, "__path__") or ()):  # of a namespace, whose parts may lie anywhere
        return all(_is_place_of_packages(f"{place}/") for place in places)
    above = sys.modules.get(str(_attribute(module, "__name__")).rpartition(".")[0])  # which has made it
    return isinstance(above, ModuleType) and _is_installed(above)


def _is_place_of_packages(path: str) -> bool:
    """Whether a path is of something that was installed as packages are."""
    return path.startswith(_INSTALLED) or _FOR_PACKAGES.search(path) is not None


def is_of_python(module: ModuleType) -> bool:
    """Whether a module is of Python's library. Its name does not tell: others may have it as well."""
    origin = getattr(_attribute(module, "__spec__"), "origin", None)
    return origin in ("built-in", "frozen") or _lies_in_library(_file(module))


def _lies_in_library(file: str) -> bool:
    return file.startswith(_OF_PYTHON) and not _is_place_of_packages(file)


def _module_of(value: object) -> str:
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


def _referred(module: ModuleType) -> set[str]:
    """The modules that a module has or imports, and those whose functions and classes it has."""
    has = list(object.__getattribute__(module, "__dict__").values())
    imported = _imported(_source(module), _attribute(module, "__package__") or "")
    return {*map(_module_of, has), *map(_module_of, _inside(has)), *imported}


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


def _source(module: ModuleType) -> bytes:
    """That of a module; of one in an archive, as long as that is the same."""
    path = Path(_file(module))
    if path.is_file():
        return _of_file(str(path), *_state_of(path))
    loader, archive = _attribute(module, "__loader__"), _archive(module)
    return _of_archive(loader, str(_attribute(module, "__name__")), *(_state_of(archive) if archive.is_file() else (0, 0)))


def _archive(module: ModuleType) -> Path:
    """That which a module was loaded of; a folder of any other."""
    return Path(str(getattr(_attribute(module, "__loader__"), "archive", "")))


def _state_of(path: Path) -> tuple[int, int]:
    """When a file was written, in nanoseconds since 1970, and its bytes: other ones of what has changed."""
    status = path.stat()
    return status.st_mtime_ns, status.st_size


@lru_cache(maxsize=_MOST_SOURCES)
def _of_file(path: str, modified: int, size: int) -> bytes:
    return Path(path).read_bytes()


@lru_cache(maxsize=_MOST_SOURCES)
def _of_archive(loader: Any, name: str, modified: int, size: int) -> bytes:
    try:
        return (loader.get_source(name) or "").encode()
    except Exception:
        return b""


def _attribute(module: ModuleType, name: str) -> Any:
    return object.__getattribute__(module, "__dict__").get(name)  # a lazy one is not woken


def _file(module: ModuleType) -> str:
    return str(_attribute(module, "__file__") or "")


def _counts(name: str, by: str) -> bool:
    """Whether what a module refers to counts: what is of its own package, or is not installed."""
    module, package = sys.modules.get(name), name.partition(".")[0]
    if not isinstance(module, ModuleType) or package in _OTHERS or is_of_python(module):
        return False
    return package == by.partition(".")[0] or not _is_installed(module)


def _parents(name: str) -> list[str]:
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
    return frozenset(name for found in names for name in (found, *_parents(found)))


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
