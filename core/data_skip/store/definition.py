"""What the store keeps of an index besides its records: what it is, and how the rows were read that it was collected from."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from data_skip.expression import Expression, columns_of, decode
from data_skip.index import shown
from data_skip.store.reader import difference, is_of_writers
from data_skip.store.settings import FIRST_PART, relevant


def another_reader(stored: Definition, now: Definition) -> str:
    """How the rows of one index were read otherwise than those of another; "" where they were not. Indexes may read different columns."""
    return difference(_of_rows(stored.reader), _of_rows(now.reader))


def _of_rows(reader: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a reader that says which rows a file has, whatever columns and expressions are read."""
    session = reader["session"]
    if session:
        session = relevant(session, reader["format"], False, True) | {key: session[key] for key in FIRST_PART if key in session}
    return {**reader, "columns": [], "session": session}


_LONGEST_SQL = 1 << 16  # characters
_DEEPEST_TREE = 400  # of JSON: Python goes through expressions that are half as deep
_SHOWN = 300  # characters of what is wrong
_OLD_DEFAULTS = {
    "spark.sql.caseSensitive": "false",
    "spark.sql.legacy.charVarcharAsString": "false",
    "spark.sql.readSideCharPadding": "true",
    "spark.sql.parquet.binaryAsString": "false",
    "spark.sql.parquet.int96AsTimestamp": "true",
    "spark.sql.parquet.int96TimestampConversion": "false",
    "spark.sql.parquet.inferTimestampNTZ.enabled": "true",
    "spark.sql.parquet.datetimeRebaseModeInRead": "corrected",
    "spark.sql.parquet.int96RebaseModeInRead": "corrected",
    "spark.sql.parquet.fieldId.read.enabled": "false",
}


def _upgraded(reader: dict[str, Any]) -> dict[str, Any]:
    """A reader in today's form. Earlier ones noted ten settings by value: all that matter to columns of Parquet and to plain text.

    Of others, and of expressions, it is not known how the session was set: `session` is None. Later ones noted options of writers.
    """
    reader = {**reader, "options": {key: value for key, value in reader["options"].items() if not is_of_writers(key)}}
    if "settings" not in reader:
        return reader
    old = reader["settings"]
    sure = reader["format"] in ("parquet", "text") and "spark.sql.ansi.enabled" not in old
    session = {key: value for key, value in old.items() if value.lower() not in ("", _OLD_DEFAULTS.get(key))} if sure else None
    return {**{part: reader[part] for part in ("format", "options", "columns")}, "session": session}


def _why_no_reader(reader: Mapping[str, Any]) -> str:
    """What of a reader is not as Reading.reader makes it."""
    if not isinstance(reader["format"], str):
        return f"format={reader['format']!r}"
    if not all(isinstance(part, str) for option in reader["options"].items() for part in option):
        return f"options={reader['options']!r}"
    if not all(isinstance(column, list) and len(column) > 1 for column in reader["columns"]):
        return f"columns={reader['columns']!r}"
    session = reader["session"]
    if session is not None and not all(isinstance(part, str) for setting in session.items() for part in setting):
        return f"session={session!r}"
    return ""


def _depth(tree: Any) -> int:
    """How far an expression, as JSON, is nested."""
    depth, level = 0, [tree]
    while level:
        level = [part for node in level if isinstance(node, dict | list) for part in (node.values() if isinstance(node, dict) else node)]
        depth += 1
    return depth


@dataclass(frozen=True)
class Definition:
    """An index as the store keeps it: in the metadata of its column, as JSON."""

    kind: str
    expressions: tuple[str, ...]
    parameters: dict[str, Any]
    version: int
    trees: tuple[Any, ...]
    reader: dict[str, Any]

    def to_json(self) -> str:
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Definition:
        """ValueError for a text that is no definition. Whoever wrote it, nothing in it is taken for more than text and numbers."""
        try:
            d = json.loads(text)
            if not all(isinstance(d[part], list) for part in ("expressions", "trees")):
                raise ValueError(f"expressions={d['expressions']!r}, trees={d['trees']!r}")
            made = cls(d["kind"], tuple(d["expressions"]), d["parameters"], d["version"], tuple(d["trees"]), _upgraded(d["reader"]))
            if why := made.why_none():
                raise ValueError(why)
            return made
        except (RecursionError, LookupError, TypeError, AttributeError, ValueError, OverflowError, ArithmeticError) as error:
            raise ValueError(f"a definition of an index is none: {type(error).__name__}: {str(error)[:_SHOWN]}") from error

    def why_none(self) -> str:
        """What is not as `from_json` takes it; "" where nothing is. An error of any kind for a tree that is none."""
        if not isinstance(self.kind, str) or not self.kind.isidentifier():
            return f"kind={self.kind!r}"
        if not self.expressions or not all(isinstance(sql, str) and len(sql) <= _LONGEST_SQL for sql in self.expressions):
            return f"expressions={self.expressions!r}"
        if not isinstance(self.parameters, dict) or not isinstance(self.version, int):
            return f"parameters={self.parameters!r}, version={self.version!r}"
        if why := _why_no_reader(self.reader):
            return why
        if any(_depth(tree) > _DEEPEST_TREE for tree in self.trees):
            return f"expressions are nested more than {_DEEPEST_TREE} deep"
        return (
            ""
            if all(isinstance(node.type, str) for tree in self.bound_expressions for node in tree.walk())
            else "an expression has no type"
        )

    @cached_property
    def bound_expressions(self) -> tuple[Expression, ...]:
        """The trees of the expressions, as Spark optimised them when the index was created."""
        return tuple(decode(tree) for tree in self.trees)

    @cached_property
    def columns(self) -> frozenset[str]:
        """The table's columns that the expressions read, or read a field of."""
        return frozenset(path[0] for path in self.paths)

    @cached_property
    def paths(self) -> frozenset[tuple[str, ...]]:
        """The columns, and fields of columns, that the expressions read."""
        return frozenset(column.path for column in columns_of(self.bound_expressions))

    def same_as(self, other: Definition) -> bool:
        """Whether records of one are records of the other."""
        return (self.kind, self.version, self.parameters, self.reader, self.bound_expressions) == (
            *(other.kind, other.version, other.parameters, other.reader),
            other.bound_expressions,
        )

    def __str__(self) -> str:
        return shown(self.kind, self.expressions, self.parameters)
