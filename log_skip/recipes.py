"""Recipes: ready-made lists of indexes for common logs."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from data_skip import Hybrid, Index, MinMax, Prefix, Suffix, ValueList
from log_skip.formatted import Formatted
from log_skip.ngram import NGram
from log_skip.reading import ACCESS_LOG

Recipe = Mapping[str, Callable[[str], list[Index]]]  # what to make of each column

_ACCESS_LOG: Recipe = {
    "time": lambda c: [MinMax(c)],
    "ip": lambda c: [Hybrid(c), Formatted(c, "ipv4_16")],
    "status": lambda c: [ValueList(c)],
    "bytes": lambda c: [MinMax(c)],
    "path": lambda c: [Prefix(c), Suffix(c), NGram(c), Formatted(c, "path_prefix", [1]), Formatted(c, "file_extension")],
    "referrer": lambda c: [Formatted(c, "url_host")],
    "user_agent": lambda c: [NGram(c), *(Formatted(c, name) for name in ("get_agent_name", "get_os_name", "is_bot", "is_mobile"))],
}
_JSON_EVENTS: Recipe = {
    "time": lambda c: [MinMax(c)],
    "level": lambda c: [ValueList(c)],
    "service": lambda c: [ValueList(c)],
    "event": lambda c: [ValueList(c)],
    "user_id": lambda c: [Hybrid(c)],
    "message": lambda c: [NGram(c), Formatted(c, "severity")],
}
_RECIPES: dict[str, tuple[Recipe, Mapping[str, str]]] = {
    "access_log": (_ACCESS_LOG, {}),
    "raw_access_log": (_ACCESS_LOG, ACCESS_LOG),
    "json_events": (_JSON_EVENTS, {}),
}


def recipe(name: str, **columns: str | None) -> list[Index]:
    """The indexes for a kind of log, to be given to `create_index`: "access_log", "raw_access_log" (text files) or "json_events".

    columns: the table's own name of a column (or a SQL expression of one), where it is not the recipe's; None leaves it out. As
    recipe("json_events", time="ts", user_id=None). ValueError for a recipe or a column that there is none of.
    """
    if not isinstance(name, str) or name not in _RECIPES:
        raise ValueError(f"no recipe is called {name!r}; there are {', '.join(_RECIPES)}")
    parts, expressions = _RECIPES[name]
    if unknown := sorted(columns.keys() - parts.keys()):
        raise ValueError(f"recipe {name} has no column {', '.join(unknown)}; it has {', '.join(parts)}")
    names = {column: columns.get(column, expressions.get(column, column)) for column in parts}
    return [index for column, make in parts.items() if (sql := names[column]) is not None for index in make(sql)]
