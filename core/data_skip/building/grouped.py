"""Grouped: rows that are equal in all that indexes read of them are counted by Spark, and cross to Python once, with their count.

What an expression costs is mostly that its values cross: of `hour(at)` there are 24. And a Python function is asked once about a value:
rows are grouped by the columns that expressions read, where these have few values, else by what the expressions give. Rows that are
nearly all different take many times as long to group as to cross, so some files are looked at first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from pyspark.errors import AnalysisException
from pyspark.sql import Column as Values
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from data_skip.building.binding import Binding
from data_skip.building.collect import COUNT, HELD, TOLD, expressions_of, named, takes_distinct
from data_skip.data_types import FRACTIONAL, is_ordered
from data_skip.expression import calls_python, columns_of, decode
from data_skip.index import Index
from data_skip.spark.errors import SPARK_ERRORS, is_cancelled
from data_skip.spark.jvm import Jvm

LEAST_BYTES = 1 << 26  # of files that are worth looking at some before: that is two jobs more
MOST_FILES, SMALL_PART = 4, 1 / 16  # that are looked at: so many, of so many of all bytes
SHARE = 0.1  # of their rows
FEW = 0.2  # of rows are different: then they are grouped
LEAST_ROWS = 1_000
BY_COLUMNS = ("parquet", "orc")  # formats of which a reader opens what a query asks for


@dataclass(frozen=True)
class Grouping:
    """What rows are grouped by: columns of the table, by their names; none: by the values of all expressions."""

    columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class Pass:
    """Some indexes, by their places, that are told the same rows: grouped, or as they are."""

    places: tuple[int, ...]
    grouping: Grouping | None = None


def candidates(bindings: Sequence[Binding]) -> list[Grouping]:
    """By what rows may be grouped, so that all indexes are told the same."""
    if not all(takes_distinct(binding.index) or _narrow(binding) for binding in bindings):
        return []
    trees = [tree for binding in bindings for tree in binding.definition.bound_expressions]
    columns, names = columns_of(trees), sorted(_read_by(bindings))
    found = []
    if all(len(column.path) == 1 and _groups_exactly(column.type) for column in columns) and not any(map(_is_ours, names)):
        found.append(Grouping(tuple(names)))
    by_python = calls_python(trees)
    if all(_groups_exactly(tree.type) for tree in trees) and not by_python:
        found.append(Grouping())
    return found


def _read_by(bindings: Sequence[Binding]) -> set[str]:
    """The columns of the table that indexes read."""
    return {column.path[0] for column in columns_of([tree for binding in bindings for tree in binding.definition.bound_expressions])}


def _narrow(binding: Binding) -> bool:
    """Whether the rows of a group can be told one by one: text may be long, and many times as much of it take any memory."""
    return all(is_ordered(tree.type) and tree.type not in ("string", "binary") for tree in binding.definition.bound_expressions)


def _groups_exactly(type_: str) -> bool:
    """Whether values of a type are in one group only if they are the same, bit by bit: not of -0.0 and 0.0, nor by a collation."""
    return is_ordered(type_) and type_ not in FRACTIONAL


def _is_ours(name: str) -> bool:
    return name.lower().startswith("data_skip_")


def passes(
    bindings: Sequence[Binding], sizes: Mapping[int, int], sample: Callable[[Sequence[int]], DataFrame], number: str, jvm: Jvm
) -> list[Pass]:
    """One pass over all indexes where their rows are few together; else one for those of equal columns, or for each, and one for the rest.

    Of files by lines each pass would parse all columns: there it is one pass in any case.

    sizes: the bytes of each file, by its place. sample: reads some of them, and has their places in the column `number`.
    """
    together = tuple(range(len(bindings)))
    chosen = _some_of(sizes)
    of_columns: dict[frozenset[str], list[int]] = {}
    for i, binding in enumerate(bindings):
        of_columns.setdefault(frozenset(_read_by([binding])), []).append(i)
    apart = [*map(tuple, of_columns.values()), *((i,) for i in together)] if bindings[0].definition.reader["format"] in BY_COLUMNS else []
    sets = dict.fromkeys([together, *apart])
    offered = [Pass(places, grouping) for places in sets for grouping in candidates([bindings[i] for i in places])] if chosen else []
    found: list[Pass] = []
    for one in _of_few(offered, bindings, lambda: sample(chosen), number, jvm) if offered else []:
        if not any({*one.places} & {*other.places} for other in found):
            found.append(one)
    grouped_ones = {i for one in found for i in one.places}
    rest = tuple(i for i in together if i not in grouped_ones)
    return [*found, Pass(rest)] if rest else found


def _of_few(offered: Sequence[Pass], bindings: Sequence[Binding], sample: Callable[[], DataFrame], number: str, jvm: Jvm) -> list[Pass]:
    """Those of the passes of which few rows are different."""
    try:
        frame = sample()
        of = {one: [bindings[i] for i in one.places] for one in offered}
        sure = [
            one for one in offered if one.grouping and (not one.grouping.columns or _same_from(one.grouping.columns, frame, of[one], jvm))
        ]
        different = [F.approx_count_distinct(F.xxhash64(named(number), *_keys(one.grouping, of[one]))) for one in sure if one.grouping]
        with_values = frame.sparkSession.conf.get("spark.sql.retainGroupColumns") == "true"  # a setting of old: else groups have none
        if not sure or not with_values:
            return []
        counted = frame.where(F.rand() < SHARE).agg(F.count(F.lit(1)), *different).first()
    except SPARK_ERRORS as error:
        if is_cancelled(error):
            raise
        return []  # the passes themselves will say what is wrong
    assert counted is not None
    rows, *counts = counted
    return [one for one, count in zip(sure, counts, strict=True) if rows >= LEAST_ROWS and count < FEW * rows]


def _same_from(columns: Sequence[str], frame: DataFrame, bindings: Sequence[Binding], jvm: Jvm) -> bool:
    """Whether all expressions mean the same where there are these columns alone: Spark's optimizer may have found others to matter not."""
    narrow = frame.select(*map(named, columns))
    for binding in bindings:
        for sql, bound in zip(binding.index.inputs, binding.definition.bound_expressions, strict=True):
            try:
                tree = jvm.expression(narrow.select(F.expr(sql).alias("expression")))
            except AnalysisException:
                return False
            if tree is None or decode(tree) != bound:
                return False
    return True


def _some_of(sizes: Mapping[int, int]) -> list[int]:
    """A few files, from everywhere in the listing, that are a small part of all; none where there are no such, or too little is to gain."""
    places, total = list(sizes), sum(sizes.values())
    spread = {places[i] for i in np.linspace(0, len(places) - 1, min(len(places), MOST_FILES)).round().astype(int)} if places else set()
    chosen: list[int] = []
    for place in sorted(spread):
        if sum(sizes[i] for i in [*chosen, place]) <= SMALL_PART * total:
            chosen.append(place)
    return chosen if total >= LEAST_BYTES else []


def _keys(grouping: Grouping, bindings: Sequence[Binding]) -> list[Values]:
    if grouping.columns:
        return [named(name) for name in grouping.columns]
    return [F.expr(sql) for binding in bindings for sql in binding.index.inputs]


def grouped(frame: DataFrame, told: Sequence[Values], indexes: list[Index], grouping: Grouping) -> DataFrame:
    """The DataFrame that `collect` takes: equal rows once, with their count, and those of one file together.

    frame: that reads the files; told: `told_of` it, in parts.
    """
    if not grouping.columns:
        return _once(frame.select(*told, *expressions_of(indexes)))
    rows = _once(frame.select(*told, *map(named, grouping.columns)))
    numbers = [named(name) for name in rows.columns if name.startswith((TOLD, HELD, COUNT))]
    return rows.select(*numbers, *expressions_of(indexes))


def _once(rows: DataFrame) -> DataFrame:
    told, *keys = rows.columns
    return rows.groupBy(named(told), *map(named, keys)).agg(F.count(F.lit(1)).alias(COUNT)).sortWithinPartitions(named(TOLD))
