"""What a Python function's pickle names but does not hold: the code of modules, whose edit changes no byte of the pickle.

A function of a notebook is pickled with its code, one of a module by its name. So to the pickle belongs the source of each module that it
names, and of those that these refer to: as they lie on the driver, where Spark's workers take them from, or a copy. Of an installed
package the version and the source of the module itself count, not what that refers to. Not seen are the standard library, pyspark, modules
that a function imports only as it runs, a folder that was renamed before one of its functions was met, and what a function reads
besides: files, tables, the environment.

Workers are used again, and keep what they have loaded. So of a module whose file has changed since Spark began nobody knows which code
runs: its functions are taken for what is not deterministic.
"""

from __future__ import annotations

import base64
import hashlib
import math
import pickletools
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

from pyspark import SparkContext, SparkFiles
from pyspark.cloudpickle import list_registry_pickle_by_value

from data_skip.source_code import is_installed, is_of_python, parents, referred, source

_NEVER = {"__main__", "__mp_main__", "pyspark", "py4j"}
NAMED, CHANGED = (
    "named",
    "changed",
)  # parameters of a function: a digest of its code, and a module of that which has changed since Spark began
_first: dict[tuple[float, str], str] = {}  # the code of a module as it was first met, by when Spark began, and its name
_VERSIONED = "pickled_with_version"  # True of a class whose instances say by what they are pickled as which code they mean


def with_code(tree: Any) -> Any:
    """A tree as TreeEncoder.java writes it, whose Python functions have, in place of their pickle, a digest of the code that it names."""
    if isinstance(tree, list):
        return [with_code(part) for part in tree]
    if not isinstance(tree, dict):
        return tree
    parameters = tree.get("parameters", {})
    if tree.get("name") == "PythonUDF" and "command" in parameters:
        rest = {name: value for name, value in parameters.items() if name != "command"}
        code = code_of(base64.b64decode(parameters["command"]))
        tree = tree | {"parameters": rest | code, "deterministic": tree["deterministic"] and CHANGED not in code}
    if "children" not in tree:
        return tree
    children = with_code(tree["children"])
    steady = all(child.get("deterministic", True) for child in children)
    return tree | {"children": children} | ({} if steady else {"deterministic": False})


def code_of(command: bytes) -> dict[str, str]:
    """What is told of a pickled function: as NAMED a digest of the code that it names, if it names any, and does not say itself which
    version it means; as CHANGED a module of that which workers may have loaded before it was what it is."""
    seen = _seen(command)
    told = {NAMED: _digest(command, seen), CHANGED: _changed(seen)}
    return {key: text for key, text in told.items() if text}


def _digest(command: bytes, code: dict[str, str] | None) -> str:
    if code is None:
        return ""
    seen = dict(code)
    if any(text.endswith(".broadcast") for text in _texts(command)):  # a number, which means something else in another application
        seen["broadcast"] = str(getattr(SparkContext._active_spark_context, "applicationId", None))
    told = "\n".join(f"{name} {code}" for name, code in sorted(seen.items()))
    return hashlib.sha256(told.encode()).hexdigest() if told else ""


def _changed(code: dict[str, str] | None) -> str:
    """A module of those that a function names whose file has changed since workers may have loaded it; "" where none has."""
    began, shipped = _application(SparkContext._active_spark_context)
    for name, digest in (code or {}).items():
        module = sys.modules.get(name)
        if not isinstance(module, ModuleType) or not list_registry_pickle_by_value().isdisjoint((name, *parents(name))):
            continue
        if _first.setdefault((began, name), digest) != digest:
            return name
        if not _place(module).startswith(shipped) and _written(module) > began:
            return name
    return ""


def _seen(command: bytes) -> dict[str, str] | None:
    """The code that a pickled function names, by its modules; None of one that says itself which version it means."""
    texts = _texts(command)
    if len(texts) > 1 and getattr(getattr(sys.modules.get(texts[0]), texts[1], None), _VERSIONED, False):
        return None
    seen: dict[str, str] = {}
    for name in set(texts):
        if isinstance(module := sys.modules.get(name), ModuleType):
            _add(name, module, seen)
    return seen


@lru_cache(maxsize=1)
def _application(context: SparkContext | None) -> tuple[float, str]:
    """When Spark began, and where it puts files that are shipped to workers, which nobody changes there."""
    if context is None:
        return math.inf, "\0"
    return context.startTime / 1000, f"{SparkFiles.getRootDirectory()}/"


def _place(module: ModuleType) -> str:
    """The file of a module, or the archive that it lies in."""
    return str(getattr(getattr(module, "__loader__", None), "archive", None) or getattr(module, "__file__", None) or "")


def _written(module: ModuleType) -> float:
    """When the file of a module was written where it lies, or a link on the way was made; 0 where that is not known.

    A copy may keep the time of its content, but not that of its inode: which packages that are installed share, so to link them elsewhere
    changes it.
    """
    path = Path(_place(module))
    if not path.is_file():
        return 0.0
    status = path.stat()
    if is_installed(module):
        return status.st_mtime
    return max(status.st_mtime, status.st_ctime, *_links(path))


def _links(path: Path, most: int = 20) -> Iterator[float]:
    """When the links on the way to a file were made, and those to which they lead."""
    for part in (path, *path.parents):
        if most and part.is_symlink():
            yield part.lstat().st_mtime
            yield from _links(part.parent / part.readlink(), most - 1)


@lru_cache(maxsize=1000)
def _texts(command: bytes) -> list[str]:
    """The texts in a pickle, in their order: the names of modules, functions and classes among them."""
    return [text for _, argument, _ in pickletools.genops(command) if isinstance(argument, str) for text in argument.split(" ", 1)]


def _add(name: str, module: ModuleType, seen: dict[str, str]) -> None:
    """Adds the code of a module, and of those that it refers to."""
    package = name.partition(".")[0]
    if name in seen or package in _NEVER or is_of_python(module):
        return
    seen[name] = _hash(source(module))
    if is_installed(module):
        seen[package + " version"] = str(getattr(sys.modules.get(package), "__version__", ""))
        return
    for other in {*referred(module), *parents(name)}:
        if isinstance(found := sys.modules.get(other), ModuleType):
            _add(other, found, seen)


@lru_cache(maxsize=1000)
def _hash(source: bytes) -> str:
    return hashlib.sha256(source).hexdigest()
