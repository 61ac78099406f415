"""Recipes of plugins, as a shell names them: `geo:lat,lng`. Of indexes, see building/index_text.py."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib import import_module
from importlib.metadata import entry_points
from types import ModuleType

from data_skip.building.index_text import arguments_of, named_parameters
from data_skip.errors import DataSkipError
from data_skip.index import Index


def recipe_of(text: str) -> list[Index]:
    """The indexes that a recipe of a plugin makes, as `geo:lat,lng`. DataSkipError for a recipe that there is none of, or that refuses."""
    name, _, rest = text.partition(":")
    recipes = _recipes()
    if name.strip() not in recipes:
        raise DataSkipError(f"no recipe is called {name!r}; there are: {', '.join(sorted(recipes))}, as 'geo:lat,lng'")
    arguments, named = arguments_of(text, rest, form="a recipe as 'geo:lat,lng' or 'log:raw_access_log'")
    recipe = recipes[name.strip()]
    known = named_parameters(recipe)
    takes_any = any(one.kind is one.VAR_KEYWORD for one in inspect.signature(recipe).parameters.values())
    if not takes_any and (unknown := [key for key in named if key not in known]):
        takes = ", ".join(f"{key}=..." for key in known)
        raise DataSkipError(f"{text!r}: the recipe takes no {unknown[0]}=...{takes and f'; it takes {takes}'}")
    try:
        return list(recipe(*arguments, **named))
    except (ValueError, TypeError) as error:
        raise DataSkipError(f"{text!r} is refused: {error}") from error


def _recipes() -> dict[str, Callable[..., list[Index]]]:
    """By the names of plugins' packages, without the end `_skip`."""
    found = {package.__name__.removesuffix("_skip"): getattr(package, "recipe", None) for package in plugin_packages()}
    return {name: recipe for name, recipe in found.items() if callable(recipe)}


def plugin_packages() -> Iterator[ModuleType]:
    """The packages of installed plugins, by their names."""
    for package in sorted({point.module.partition(".")[0] for point in entry_points(group="data_skip.plugins")}):
        with suppress(Exception):  # the catalog warns of it
            yield import_module(package)
