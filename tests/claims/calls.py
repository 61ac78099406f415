"""Calls of functions with arguments at random: columns, what is never NULL, constants at the edges, and arrays, maps and structs of them.

What an example of Spark's registry shows of a function is its usual case. Where generated code and interpretation come apart is beside it:
an argument that is NULL, NaN, -0.0 or the greatest number, a column where a constant is usual, elements of a type of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from random import Random

_TYPES = (
    "int",
    "bigint",
    "smallint",
    "double",
    "float",
    "string",
    "binary",
    "date",
    "timestamp",
    "timestamp_ntz",
    "boolean",
    "decimal_9_2_",
)
_EDGES = {
    "int": ["0", "1", "-1", "2", "3", "2147483647", "(-2147483647 - 1)", "16"],
    "bigint": ["0L", "1L", "-1L", "9223372036854775807L"],
    "smallint": ["0S", "2S", "-32767S"],
    "double": ["0.0D", "-0.0D", "double('NaN')", "1.5D", "double('Infinity')", "4.9E-324D"],
    "float": ["0.0F", "-0.0F", "float('NaN')", "2.5F"],
    "string": [
        "''",
        "'a'",
        "','",
        "'UTC'",
        "'America/New_York'",
        "'MONTH'",
        "'yyyy-MM-dd'",
        "'[a-z]+'",
        "'$.a'",
        "'hex'",
        "'a%'",
        "'{\"a\":1}'",
    ],
    "binary": ["X''", "X'FF'", "X'6162'"],
    "date": ["date'1582-10-15'", "date'0001-01-01'", "date'9999-12-31'", "date'2020-02-29'"],
    "timestamp": ["timestamp'1970-01-01 00:00:00Z'", "timestamp'2021-11-07 01:30:00'", "timestamp'0001-01-01 00:00:00'"],
    "timestamp_ntz": ["timestamp_ntz'2021-03-14 02:30:00'", "timestamp_ntz'1582-10-10 00:00:00'"],
    "boolean": ["true", "false"],
    "decimal_9_2_": ["0.5", "-0.05", "9999999.99", "2BD"],
}
_INTERVALS = ("interval '1-2' year to month", "interval '1 02:03:04.000005' day to second", "make_interval(0, int0, 1, int1)")
_COLLATIONS = ("UTF8_LCASE", "UNICODE", "UNICODE_CI")
MOST = 5  # arguments


def numbers_of_arguments(name: str, usage: str, examples: str) -> list[int]:
    """With how many arguments a function is shown."""
    found = {
        _arguments(call) for call in re.findall(rf"(?:_FUNC_|\b{re.escape(name)})\(((?:[^()]|\([^()]*\))*)\)", usage + "\n" + examples)
    }
    return sorted(min(number, MOST) for number in found) or [1, 2]


def calls(name: str, numbers: list[int], random: Random) -> Iterator[str]:
    """Calls without end, many of which Spark refuses."""
    while True:
        kind = random.choice(_TYPES) if random.random() < 0.4 else None
        wrap = random.choice((_plain, _plain, _plain, _array, _map, _struct)) if kind is not None else None
        arguments = [
            (wrap or random.choice((_plain, _plain, _plain, _plain, _array)))(kind or random.choice(_TYPES), random)
            for _ in range(random.choice(numbers))
        ]
        yield f"{name}({', '.join(arguments)})"


def _arguments(call: str) -> int:
    flat = re.sub(r"'[^']*'|[(\[][^()\[\]]*[)\]]", "_", call)
    return flat.count(",") + 1 if flat.strip() else 0


def _plain(kind: str, random: Random) -> str:
    column = f"{kind}{random.randrange(3)}"
    chance = random.random()
    if chance < 0.45:
        return column
    if chance < 0.6:
        return f"coalesce({column}, {random.choice(_EDGES[kind])})"
    if chance < 0.64:
        return "NULL"
    if chance < 0.68:
        return random.choice(_INTERVALS)
    if chance < 0.74 and kind == "string":
        return f"({column} COLLATE {random.choice(_COLLATIONS)})"
    return random.choice(_EDGES[kind])


def _array(kind: str, random: Random) -> str:
    if random.random() < 0.1:
        return f"array({_array(kind, random)}, {_array(kind, random)})"
    return f"array({', '.join(_plain(kind, random) for _ in range(random.randrange(1, 4)))})"


def _map(kind: str, random: Random) -> str:
    return f"map({_plain(kind, random)}, {_plain(random.choice(_TYPES), random)})"


def _struct(kind: str, random: Random) -> str:
    return f"named_struct('x', {_plain(kind, random)}, 'y', {_plain(kind, random)})"
