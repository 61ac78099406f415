"""An index as text, as SQL and the command line name it: `MinMax(temp)`, `Suffix(city, 4)`, `ValueList(year(time), limit=100)`.

It is written as `describe()` prints it, and as Python would: SQL expressions bare, or quoted as a Python string; parameters by their place
or their name, as literals of Python. Nothing of it is evaluated: a class is one of those that the session knows, a parameter a literal.
"""

from __future__ import annotations

import ast
import inspect
import re
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from data_skip.errors import DataSkipError
from data_skip.index import Index

_INDEX = re.compile(r"\s*([^\W\d]\w*)\s*\((.*)\)\s*", re.DOTALL)
_NAMED = re.compile(r"([^\W\d]\w*)\s*=(?!=)(.*)", re.DOTALL)
_OPEN, _CLOSE = "([{", ")]}"
_EXAMPLE = "as 'MinMax(temp)' or 'Suffix(city, length=4)'"


def parse_index(text: str, kinds: Mapping[str, type[Index]]) -> Index:
    """The index of a text. DataSkipError for a text that names none, and for a class that is not among `kinds`.

    What has the form `name=...` is a parameter where the class has one of that name, else an SQL expression: quote one that would be taken
    for a parameter, as `ValueList('limit = 5')`.
    """
    if not isinstance(text, str) or not (found := _INDEX.fullmatch(text)):
        raise DataSkipError(f"{text!r} is no index; write it {_EXAMPLE}")
    name, inside = found[1], found[2]
    kind = kinds.get(name)
    if kind is None:
        near = get_close_matches(name, kinds, 1)
        hint = f"did you mean {near[0]}? " if near else ""
        raise DataSkipError(f"{text!r} names no kind of index that this session knows; {hint}these are: {', '.join(sorted(kinds))}")
    known = named_parameters(kind)
    positional, named = arguments_of(text, inside, known)
    try:
        return kind(*positional, **named)
    except (ValueError, TypeError) as error:  # the second: what the class takes no such number of, or of another type
        raise DataSkipError(f"{text!r} is no index: {error}{_mistyped(positional, known)}") from error


def named_parameters(function: Callable[..., Any]) -> list[str]:
    """Which parameters of a class or a function may be given by their names."""
    return [p.name for p in inspect.signature(function).parameters.values() if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD)]


def _mistyped(positional: Iterable[Any], known: Collection[str]) -> str:
    """A hint for what was taken for an SQL expression, and would be a parameter if it were spelled as one."""
    names = [found[1] for one in positional if isinstance(one, str) and (found := _NAMED.fullmatch(one))]
    near = [parameter for name in names for parameter in get_close_matches(name, known, 1)]
    return f"; did you mean {near[0]}=...?" if near else ""


def arguments_of(
    text: str, inside: str, known: Collection[str] | None = None, form: str = f"an index {_EXAMPLE}"
) -> tuple[list[Any], dict[str, Any]]:
    """What stands between the brackets of a text, by place and by name: literals of Python, and SQL for what is none.

    known: the names that there are, whose values have to be literals; None: any. form: what such a text looks like, as an error tells it.
    DataSkipError for what is written otherwise.
    """
    positional: list[Any] = []
    named: dict[str, Any] = {}
    try:
        parts = list(_parts(inside))
    except ValueError as error:
        raise DataSkipError(f"{text!r}: {error}; write {form}") from None
    for part in parts:
        parameter = _NAMED.fullmatch(part)
        if parameter and (known is None or parameter[1] in known):
            name, written = parameter[1], parameter[2].strip()
            if name in named:
                raise DataSkipError(f"{text!r} says {name} twice")
            named[name] = _literal(written, written) if known is None else _value(text, name, written)
        elif named:
            raise DataSkipError(f"{text!r}: {part!r} stands behind {next(iter(named))}=...; SQL expressions come first")
        else:
            positional.append(_literal(part, part))
    return positional, named


def _parts(inside: str) -> Iterator[str]:
    """What stands between the commas that are in no brackets and no quotes. ValueError for what is not closed, or nothing."""
    start, closing, i = 0, list[str](), 0
    while i < len(inside):
        letter = inside[i]
        if letter in "'\"`":
            i = _end_of_quote(inside, i)
        elif letter in _OPEN:
            closing.append(_CLOSE[_OPEN.index(letter)])
        elif letter in _CLOSE and (not closing or closing.pop() != letter):
            raise ValueError(f"a {letter!r} closes what was not opened")
        elif letter == "," and not closing:
            yield _part(inside[start:i])
            start = i + 1
        i += 1
    if closing:
        raise ValueError(f"a {closing[-1]!r} is missing")
    yield _part(inside[start:])


def _end_of_quote(inside: str, start: int) -> int:
    """The place of the quote that ends what begins with one. Between backticks a backslash is itself."""
    quote, i = inside[start], start + 1
    while i < len(inside):
        if inside[i] == quote:
            return i
        i += 2 if inside[i] == "\\" and quote != "`" else 1
    raise ValueError(f"a {quote} is missing")


def _part(part: str) -> str:
    if not part.strip():
        raise ValueError("an SQL expression is missing")
    return part.strip()


def _value(text: str, name: str, written: str) -> Any:
    value = _literal(written, ...)
    if value is ...:
        raise DataSkipError(f"{text!r}: {name}={written} is no literal, as 4, 0.01, None, ['a', 'b'] or 'text'")
    return value


def _literal(written: str, other: Any) -> Any:
    """The value of a literal of Python; `other` for what is none."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of escapes in strings of SQL, which may be others than Python's
            return ast.literal_eval(written)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return other
