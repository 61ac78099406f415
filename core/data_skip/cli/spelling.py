"""How a shell spells indexes: `MinMax(temp)`, `Suffix(city, 4)`, `Suffix(city, length=4)`: as in Python, and as `describe` prints them.

What is no literal of Python is SQL, as it stands: `ValueList(year(time))`, `MinMax(coalesce(a, 'none'))`. Nothing is evaluated.
"""

from __future__ import annotations

import ast
import difflib
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from importlib import import_module
from importlib.metadata import entry_points
from inspect import signature
from types import ModuleType
from typing import Any

from data_skip.index import Index

_CALL = re.compile(r"\s*([A-Za-z_]\w*)\s*\((.*)\)\s*", re.DOTALL)
_NAMED = re.compile(r"([A-Za-z_]\w*)\s*=(?!=)\s*(.*)", re.DOTALL)
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_NO_LITERALS = (ValueError, SyntaxError, TypeError, RecursionError, MemoryError)
_NOTHING = object()


def index_of(text: str, kinds: Mapping[str, type[Index]]) -> Index:
    """The index that a text spells. ValueError for a text that is none, a kind that is not installed, and what the kind refuses."""
    found = _CALL.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is no index: write it as 'MinMax(temp)' or 'Suffix(city, length=4)'")
    kind = kinds.get(found[1])
    if kind is None:
        raise ValueError(f"no index is called {found[1]!r}{_nearest(found[1], kinds)}; there are: {', '.join(sorted(kinds))}")
    arguments, named = _arguments(found[2], text, signature(kind).parameters)
    return _made(kind, arguments, named, text)


def recipe_of(text: str) -> list[Index]:
    """The indexes that a recipe of a plugin makes, as `geo:lat,lng`. ValueError for a recipe that there is none of, or that refuses."""
    name, _, rest = text.partition(":")
    recipes = _recipes()
    if name.strip() not in recipes:
        raise ValueError(f"no recipe is called {name!r}; there are: {', '.join(sorted(recipes))}, as 'geo:lat,lng'")
    recipe = recipes[name.strip()]
    arguments, named = _arguments(rest, text, None)
    return list(_made(recipe, arguments, named, text))


def _recipes() -> dict[str, Callable[..., list[Index]]]:
    """By the names of plugins' packages, without the end `_skip`."""
    found = {package.__name__.removesuffix("_skip"): getattr(package, "recipe", None) for package in plugin_packages()}
    return {name: recipe for name, recipe in found.items() if callable(recipe)}


def plugin_packages() -> Iterator[ModuleType]:
    """The packages of installed plugins, by their names."""
    for package in sorted({point.module.partition(".")[0] for point in entry_points(group="data_skip.plugins")}):
        with suppress(Exception):  # the catalog warns of it
            yield import_module(package)


def _nearest(name: str, kinds: Iterable[str]) -> str:
    by_lower = {kind.lower(): kind for kind in kinds}
    near = difflib.get_close_matches(name.lower().replace("_", "").replace("-", ""), by_lower, n=1)
    return f" (perhaps {by_lower[near[0]]!r})" if near else ""


def _made(make: Callable[..., Any], arguments: list[Any], named: dict[str, Any], text: str) -> Any:
    try:
        return make(*arguments, **named)
    except Exception as error:  # of a plugin's code
        raise ValueError(f"{text!r} is refused: {error}") from error


def _arguments(text: str, whole: str, names: Iterable[str] | None) -> tuple[list[Any], dict[str, Any]]:
    """What stands between the parentheses: by position, and by name. `names`: those that there are; None: any."""
    arguments: list[Any] = []
    named: dict[str, Any] = {}
    for part in _parts(text, whole):
        found = _NAMED.fullmatch(part)
        if found and (names is None or found[1] in names):
            value = _literal(found[2])
            if value is _NOTHING and names is not None:
                raise ValueError(f"in {whole!r}, {found[1]}={found[2]} is no number, text in quotes, or list of them")
            named[found[1]] = found[2] if value is _NOTHING else value
        else:
            value = _literal(part)
            arguments.append(part if value is _NOTHING else value)
    return arguments, named


def _literal(text: str) -> Any:
    """The number, text or list that a text spells; _NOTHING where it is none of them."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of escapes that Python does not know
            value = ast.literal_eval(text)
    except _NO_LITERALS:
        return _NOTHING
    return value if value is None or isinstance(value, str | int | float | list | tuple) else _NOTHING


def _parts(text: str, whole: str) -> list[str]:
    """The text cut at its commas, but for those in quotes and in brackets."""
    parts, start, closing, quote, i = [], 0, [], "", 0
    while i < len(text):
        letter = text[i]
        if quote:
            if letter == "\\" and quote != "`":
                i += 1
            elif letter == quote:
                quote = ""
        elif letter in "'\"`":
            quote = letter
        elif letter in _CLOSING:
            closing.append(_CLOSING[letter])
        elif letter in _CLOSING.values():
            if not closing or closing.pop() != letter:
                raise ValueError(f"{whole!r} is no index: its {letter} closes nothing")
        elif letter == "," and not closing:
            parts.append(text[start:i])
            start = i + 1
        i += 1
    if quote or closing:
        raise ValueError(f"{whole!r} is no index: it lacks a {quote or closing[-1]}")
    parts = [part.strip() for part in [*parts, text[start:]]]
    if not all(parts):
        raise ValueError(f"{whole!r} is no index: it needs a column or a SQL expression, and none is empty")
    return parts
