"""A package of one's own with an index, to begin with: a copy of `example_plugin` under other names."""

from __future__ import annotations

import ast
import re
import sys
from importlib.util import find_spec
from keyword import iskeyword
from pathlib import Path

from data_skip.errors import DataSkipError
from data_skip.planning.catalog import kinds_of

_EXAMPLE = Path(__file__).parent / "example_plugin"
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*([-_][A-Za-z0-9]+)*")


def write_plugin(name: str, parent: Path) -> list[Path]:
    """Writes the package `name`, as `max-length`, into a new folder of that name; its files.

    DataSkipError, before anything is written, for what is no name of a package, is that of another one, of a folder that exists, or
    of something else in the package itself.
    """
    folder = parent / name
    words = [word.lower() for word in re.split("[-_]", name)]
    module, kind = "_".join(words), "".join(word.capitalize() for word in words)
    if not _NAME.fullmatch(name) or iskeyword(module) or iskeyword(kind):
        raise DataSkipError(f"{name!r} is no name of a package: give letters, digits and hyphens, as max-length")
    if used := {module, kind} & _used():
        raise DataSkipError(f"the package that is written calls something else {min(used)}; give it another name than {name!r}")
    if module in sys.stdlib_module_names or find_spec(module) is not None:
        raise DataSkipError(f"there is a module {module} in this Python; give the package another name than {name!r}")
    if kind in kinds_of(None):
        raise DataSkipError(f"there is an index {kind}, and its class would be another; give the package another name than {name!r}")
    if folder.exists():
        raise DataSkipError(f"{folder} exists; remove it, or give another name or --folder")
    names = {"max_length": module, "MaxLength": kind, "max-length": "-".join(words)}
    written = []
    for source in sorted(path for path in _EXAMPLE.rglob("*") if path.suffix in (".py", ".toml", ".md")):
        path = folder / _renamed(source.relative_to(_EXAMPLE).as_posix(), names)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_renamed(source.read_text("utf-8"), names), "utf-8")
        written.append(path)
    return written


def _used() -> set[str]:
    """What the example calls other things than its module and its index."""
    names: set[str] = set()
    for source in _EXAMPLE.rglob("*.py"):
        names.update(source.relative_to(_EXAMPLE).with_suffix("").parts)
        for node in ast.walk(ast.parse(source.read_text("utf-8"))):
            match node:
                case ast.Name(id=name) | ast.arg(arg=name):
                    names.add(name)
                case ast.alias(name=name, asname=other):
                    names.add(other or name)
    return names - {"max_length", "MaxLength"}


def _renamed(text: str, names: dict[str, str]) -> str:
    return re.sub("|".join(names), lambda found: names[found[0]], text)
