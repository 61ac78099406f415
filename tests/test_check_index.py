"""check_index passes the core's own indexes, and catches broken ones."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import SparkSession

from data_skip import DataSkipError, Index, MinMax, Prefix, Suffix, ValueList, filters
from data_skip.clause import Clause, Computed
from data_skip.expression import Call, Expression, Literal
from data_skip.filters import Indexes
from data_skip.index import Record
from data_skip.testing import check_index

NAN = float("nan")
NUMBERS = [{"v": v} for v in (-1.0, 0.0, -0.0, 1.5, 7.0, 99.0, None, NAN, float("inf"), None, 3.0, -50.0)]
WORDS = [{"city": c} for c in ("", "Rome", "Roma", "Jaipur", "Nagpur", "😀 smile", "50%", "a_b", None, "ro", None, "x" * 300, "\uffee")]
COMPARISONS = [
    "v > 100",
    "v >= 7",
    "v < 0",
    "v = 0",
    "v = double('NaN')",
    "NOT (v = 7)",
    "v <=> NULL",
    "NOT (v <=> 7)",
    "v IS NULL OR v > 98",
    "v IS NOT NULL",
    "v IN (1.5D, 99D, NULL)",
    "v NOT IN (1.5D, 99D)",
    "v BETWEEN 2 AND 8",
    "NOT (v BETWEEN 2 AND 8)",
    "cast(v AS decimal(20, 1)) > 50 AND v < 1000",
]
TEXTS = [
    "city = 'Rome'",
    "city <> 'Rome'",
    "city LIKE 'Ro%'",
    "NOT (city LIKE 'Ro%')",
    "city LIKE '%pur'",
    "NOT (city LIKE '%pur')",
    "city LIKE '50#%' ESCAPE '#'",
    "city LIKE 'R%a'",
    "city IN ('Rome', 'Nagpur', NULL)",
    "city NOT IN ('Rome', 'Nagpur')",
    "city IS NULL",
    "city <=> NULL OR city = ''",
    "city > 'Ｚ'",
    "NOT (city <=> 'ro')",
]


@pytest.mark.parametrize("index", [MinMax("v"), ValueList("v"), ValueList("v", limit=3)], ids=str)
def test_indexes_of_numbers_are_sound_and_skip(index: Index, spark: SparkSession) -> None:
    checked = check_index(index, NUMBERS, COMPARISONS, spark)
    never = {predicate for predicate, files in checked.skipped.items() if not files}
    assert not never, checked


@pytest.mark.parametrize(
    ("index", "predicates"),
    [(MinMax("v * 2"), ["v * 2 > 100", "NOT (v * 2 <= 100)"]), (ValueList("abs(v)"), ["abs(v) > 50", "NOT (abs(v) = 7)"])],
    ids=str,
)
def test_indexes_of_expressions_are_sound_and_skip(index: Index, predicates: list[str], spark: SparkSession) -> None:
    checked = check_index(index, NUMBERS, predicates, spark)
    assert all(checked.skipped.values()), checked


@pytest.mark.long
@pytest.mark.parametrize(
    "index",
    [
        MinMax("city"),
        ValueList("city"),
        Prefix("city", 2),
        Prefix("city", 40),
        Suffix("city", 3),
        Suffix("city", 1),
        ValueList("upper(city)"),
    ],
    ids=str,
)
def test_indexes_of_strings_are_sound_and_skip(index: Index, spark: SparkSession) -> None:
    predicates = [*TEXTS, "upper(city) = 'ROME'"]
    checked = check_index(index, WORDS, predicates, spark)
    assert sum(map(bool, checked.skipped.values())) >= (1 if "upper" in str(index) else 4), checked


def test_takes_an_arrow_table_or_a_dataframe_and_prints_what_was_skipped(spark: SparkSession) -> None:
    moments = [datetime(2024, 1, d, tzinfo=timezone.utc) for d in range(1, 20)]
    rows = pa.table({"at": moments, "place": [{"name": f"p{i}"} for i in range(19)]})
    predicates = ["at > TIMESTAMP'2024-01-15 00:00:00Z'", "place.name = 'p1'"]
    for given in (rows, spark.createDataFrame(rows)):
        checked = check_index(MinMax("at"), given, predicates, spark)
        assert "sorted-0" in checked.skipped[predicates[0]]
        assert not checked.skipped[predicates[1]]
        assert "MinMax(at) is sound on" in str(checked)
        assert "one-row-0, one-row-1" in str(checked)
    assert check_index(ValueList("place.name"), rows, predicates, spark).skipped[predicates[1]]


class NullMeansSkip(MinMax):
    """A file whose record is unknown is taken for one without the value."""


@filters.on("EqualTo")
def known_and_equal(node: Any, indexes: Indexes) -> Iterator[Clause]:
    match node:
        case column, Literal(n):
            for index in indexes.over(column, NullMeansSkip):
                yield Computed("null means skip", (index["max"],), lambda high: pc.fill_null(pc.greater_equal(high, pa.scalar(n)), False))


class ForgetsOnMerge(ValueList):
    def merge(self, a: Record, b: Record) -> Record:
        return {**a, "has_null": a["has_null"] or b["has_null"]}


class Negates(Index):
    fields = {"values": pa.list_(pa.float64())}

    def collect(self, *values: pa.Array) -> Record:
        return {"values": values[0].drop_null().unique().to_pylist()}

    def merge(self, a: Record, b: Record) -> Record:
        return {"values": a["values"] + b["values"]}


def _holds(index: Any, n: float, wanted: bool) -> Clause:
    return Computed(
        f"{index} holds {n}: {wanted}",
        (index["values"],),
        lambda lists: pa.array([None if v is None else (n in v) == wanted for v in lists.to_pylist()]),
    )


@filters.on("EqualTo", "Not")
def negated_clause(node: Expression, indexes: Indexes) -> Iterator[Clause]:
    """The clause of NOT (v = 7) taken for the opposite of that of v = 7."""
    match node:
        case Call("EqualTo", [column, Literal(n)]):
            yield from (_holds(index, n, True) for index in indexes.over(column, Negates))
        case Call("Not", [Call("EqualTo", [column, Literal(n)])]):
            yield from (_holds(index, n, False) for index in indexes.over(column, Negates))


class MaxWithoutNaN(Index):
    fields = {"top": pa.float64()}

    def collect(self, *values: pa.Array) -> Record:
        return {"top": pc.max(values[0].filter(pc.invert(pc.is_nan(values[0])))).as_py()}

    def merge(self, a: Record, b: Record) -> Record:
        return {"top": max((t for t in (a["top"], b["top"]) if t is not None), default=None)}


@filters.on("GreaterThan")
def above(node: Any, indexes: Indexes) -> Iterator[Clause]:
    match node:
        case column, Literal(n):
            yield from (index["top"] > n for index in indexes.over(column, MaxWithoutNaN))


class FilterRaises(Index):
    fields = {"rows": pa.int64()}

    def collect(self, *values: pa.Array) -> Record:
        return {"rows": len(values[0])}

    def merge(self, a: Record, b: Record) -> Record:
        return {"rows": a["rows"] + b["rows"]}


@filters.on("GreaterThan")
def raises(node: Any, indexes: Indexes) -> Iterator[Clause]:
    for _ in indexes.of(FilterRaises):
        raise KeyError("no such thing")
    yield from ()


class Unmergeable(FilterRaises):
    def merge(self, a: Record, b: Record) -> Record:
        raise TypeError("cannot be merged")


@filters.on("LessThan")
def nothing_below(node: Any, indexes: Indexes) -> Iterator[Clause]:
    for index in indexes.of(Unmergeable):
        yield index["rows"] > 0


@pytest.mark.parametrize(
    ("index", "predicate", "said"),
    [
        (NullMeansSkip("v"), "v = 7", "if part of its record were unknown"),
        (ForgetsOnMerge("v"), "v = 7", "with a record merged from batches"),
        (Negates("v"), "NOT (v = 7)", "though it holds a matching row"),
        (MaxWithoutNaN("v"), "v > 100", "though it holds a matching row"),
        (FilterRaises("v"), "v > 100", "KeyError: 'no such thing'"),
    ],
    ids=lambda value: str(value).split("(")[0],
)
def test_catches_a_broken_index(index: Index, predicate: str, said: str, spark: SparkSession) -> None:
    rows = [{"v": 1.0}, {"v": 2.0}, {"v": 7.0}, {"v": 9.0}, {"v": NAN}, {"v": 7.0}, {"v": None}, {"v": 3.0}]
    with pytest.raises(AssertionError) as caught:
        check_index(index, rows, [predicate], spark)
    message = str(caught.value)
    assert said in message
    assert str(index) in message
    assert f"`{predicate}`" in message


def test_rows_with_a_field_that_is_never_null(spark: SparkSession) -> None:
    rows = spark.sql("SELECT named_struct('a', id) s FROM range(8)")
    assert not rows.schema["s"].dataType["a"].nullable  # type: ignore[index]
    assert check_index(MinMax("s.a"), rows, ["s.a > 5"], spark).skipped["s.a > 5"]


def test_says_which_records_are_unknown(spark: SparkSession) -> None:
    checked = check_index(Unmergeable("v"), NUMBERS, ["v < 0"], spark)
    assert "merge: TypeError: cannot be merged" in str(checked)


@pytest.mark.parametrize(
    ("rows", "predicates", "said"),
    [
        ([], ["v > 1"], "there is none"),
        (NUMBERS, "v > 1", "list of SQL texts"),
        (NUMBERS, [], "list of SQL texts"),
        (NUMBERS, ["w > 1"], "Spark does not understand 'w > 1'"),
        (NUMBERS, ["1 / (v - v) > 1"], "cannot be evaluated"),
    ],
)
def test_refuses_what_it_cannot_check(rows: Any, predicates: Any, said: str, spark: SparkSession) -> None:
    with pytest.raises(DataSkipError, match=said.replace("(", r"\(")):
        check_index(MinMax("v"), rows, predicates, spark)
