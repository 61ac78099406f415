"""What a Python function's pickle names but does not hold: the code of modules, whose edit changes no byte of the pickle.

A function of a notebook is pickled with its code, one of a module by its name. So to the pickle belongs the source of each module that it
names, and of those that these refer to: as they lie on the driver, where Spark's workers take them from, or a copy. Of an installed
package the version and the source of the module itself count. Not seen are the standard library, pyspark, modules that a function
imports only as it runs, and what it reads besides: files, tables, the environment.
"""

from __future__ import annotations

import ast
import base64
import hashlib
import pickletools
import sys
import sysconfig
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

from pyspark import SparkContext

_NEVER = {*sys.stdlib_module_names, "__main__", "__mp_main__", "pyspark", "py4j"}
_INSTALLED = tuple({sysconfig.get_path(name) for name in ("purelib", "platlib")})
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
        named = named_code(base64.b64decode(parameters["command"]))
        parameters = rest | ({"named": named} if named else {})
        tree = tree | {"parameters": parameters}
    return tree | {"children": with_code(tree["children"])} if "children" in tree else tree


def named_code(command: bytes) -> str:
    """A digest of the code that a pickled function names; "" where it names none, or says itself which version it means."""
    texts = _texts(command)
    if len(texts) > 1 and getattr(getattr(sys.modules.get(texts[0]), texts[1], None), _VERSIONED, False):
        return ""
    known = {name: module for name in set(texts) if isinstance(module := sys.modules.get(name), ModuleType)}
    seen: dict[str, str] = {}
    for name, module in known.items():
        _add(name, module, seen)
    if any(text.endswith(".broadcast") for text in texts):  # a number, which means something else in another application
        seen["broadcast"] = str(getattr(SparkContext._active_spark_context, "applicationId", None))
    told = "\n".join(f"{name} {code}" for name, code in sorted(seen.items()))
    return hashlib.sha256(told.encode()).hexdigest() if told else ""


@lru_cache(maxsize=1000)
def _texts(command: bytes) -> list[str]:
    """The texts in a pickle, in their order: the names of modules, functions and classes among them."""
    return [text for _, argument, _ in pickletools.genops(command) if isinstance(argument, str) for text in argument.split(" ", 1)]


def _add(name: str, module: ModuleType, seen: dict[str, str]) -> None:
    """Adds the code of a module, and of those that it refers to."""
    package = name.partition(".")[0]
    if name in seen or package in _NEVER:
        return
    path = getattr(module, "__file__", None) or ""
    seen[name] = hashlib.sha256(_source(module, path)).hexdigest()
    if path.startswith(_INSTALLED):
        seen[package + " version"] = str(getattr(sys.modules.get(package), "__version__", ""))
        return
    for value in list(vars(module).values()):
        other = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
        if isinstance(other, str):
            _add_own(other, seen)
    for other in {*_imported(_source(module, path), getattr(module, "__package__", None) or ""), *_parents(name)}:
        _add_own(other, seen)


def _add_own(name: str, seen: dict[str, str]) -> None:
    """Adds the code of a module that is loaded, unless it is of an installed package."""
    found = sys.modules.get(name)
    if isinstance(found, ModuleType) and not (getattr(found, "__file__", None) or "").startswith(_INSTALLED):
        _add(name, found, seen)


def _parents(name: str) -> list[str]:
    """The packages that are run before a module: `a` and `a.b` of `a.b.c`."""
    parts = name.split(".")
    return [".".join(parts[:i]) for i in range(1, len(parts))]


@lru_cache(maxsize=1000)
def _imported(source: bytes, package: str) -> frozenset[str]:
    """The names of modules that the source of a module may import as it is loaded: of `from a import B`, a and a.B."""
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
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            open_.extend(ast.iter_child_nodes(node))
    return frozenset(name for imported in names for name in (imported, *_parents(imported)))


def _source(module: ModuleType, path: str) -> bytes:
    if Path(path).is_file():
        status = Path(path).stat()
        return _read(path, status.st_mtime_ns, status.st_size)
    try:
        source = module.__loader__.get_source(module.__name__)  # type: ignore[union-attr]  # as that of a zip archive
    except Exception:
        source = None
    return (source or "").encode()


@lru_cache(maxsize=1000)
def _read(path: str, modified: int, size: int) -> bytes:
    return Path(path).read_bytes()
