"""NULL and NOT: a call may be NULL whatever its column is, a list may hold NULL or nothing, an index over a predicate serves its NOT."""

from __future__ import annotations

import pyarrow as pa
import pyspark.sql.functions as F
import pytest

from data_skip import BloomFilter, DataSkipError, GapList, Hybrid, Index, MinMax, Prefix, Suffix, ValueList
from tests.support import Lake, files_read, settings_of

FORMS = ("({}) IS NULL", "({}) IS DISTINCT FROM true", "coalesce({}, true)", "NOT coalesce({}, false)", "({}) <=> NULL")


def files_with_nulls(lake: Lake) -> None:
    lake.file("a.parquet", {"x": ["abcde", "abc"], "p": ["a", "b"]})
    lake.file("b.parquet", {"x": ["zbcde", None], "p": [None, "b"]})
    lake.file("c.parquet", {"x": ["zz", "za"], "p": ["z", None]})
    lake.file("d.parquet", {"x": pa.nulls(1, pa.string()), "p": ["a"]})


def test_distinct_from_of_a_part(lake: Lake) -> None:
    files_with_nulls(lake)
    lake.index(Prefix("x", 8), Suffix("x", 8))
    assert lake.reads(
        "substr(x, 1, 5) IS DISTINCT FROM 'abc'",
        "NOT (left(x, 4) <=> 'zz')",
        "substr(x, 1, 5) IS NOT DISTINCT FROM 'abc'",
    ) == [
        {"a.parquet", "b.parquet", "c.parquet", "d.parquet"},
        {"a.parquet", "b.parquet", "c.parquet", "d.parquet"},
        {"a.parquet"},
    ]
    lake.reads(*(form.format(call) for form in FORMS for call in ("left(x, 2) = 'ab'", "x LIKE 'a%'", "right(x, 2) IN ('de', 'q')")))


def test_a_prefix_may_be_null(lake: Lake) -> None:
    files_with_nulls(lake)
    lake.index(MinMax("x"), MinMax("p"))
    lake.reads(*(form.format(call) for form in FORMS for call in ("startswith(x, p)", "x LIKE p", "x IN ('abc', p)", "x = p", "x < p")))
    lake.check("startswith(x, 'z')", read=["b.parquet", "c.parquet"])


def test_every_kind(lake: Lake) -> None:
    files_with_nulls(lake)
    lake.index(Prefix("x", 2), ValueList("x"), ValueList("p"), GapList("x"), GapList("p"))
    lake.reads(*(form.format(call) for form in FORMS for call in ("startswith(x, p)", "left(x, 2) = 'ab'", "x NOT LIKE 'a%'")))


PREDICATES = ("x = 5", "x > 5", "x IN (5, 6)", "b", "s LIKE '%c%'", "x > 5 AND b")


def files(lake: Lake) -> None:
    lake.file("a.parquet", {"x": [5, 5], "b": [True, True], "s": ["c", "cx"], "f": [[True], [True]]})
    lake.file("b.parquet", {"x": [6, 7], "b": [False, False], "s": ["a", "b"], "f": [[False], [False]]})
    lake.file("c.parquet", {"x": [None, 7], "b": [None, False], "s": ["a", None], "f": [[False], []]})
    nothing = {"x": pa.nulls(1, pa.int64()), "b": pa.nulls(1, pa.bool_()), "s": pa.nulls(1, pa.string())}
    lake.file("d.parquet", nothing | {"f": [[True]]})


def test_every_predicate_and_its_not(lake: Lake) -> None:
    files(lake)
    indexes: list[Index] = [MinMax("x"), MinMax("b")]
    for i, predicate in enumerate(PREDICATES):
        indexes += [ValueList(predicate), (MinMax, ValueList, GapList)[i % 3](f"NOT ({predicate})")]
    lake.index(*indexes)
    forms = ("{}", "NOT ({})", "coalesce({}, true)", "NOT coalesce({}, false)")
    lake.reads(*(form.format(predicate) for predicate in PREDICATES for form in forms))


def test_an_index_over_a_negation_serves_it(lake: Lake) -> None:
    files(lake)
    lake.index(MinMax("x <> 5"), ValueList("NOT b"), ValueList("s NOT LIKE '%c%'"))
    for where in ("x <> 5", "NOT b", "s NOT LIKE '%c%'", "NOT (x = 5)", "x <> 5 AND NOT b", "coalesce(x <> 5, false)"):
        lake.check(where, read=["b.parquet", "c.parquet"])
    lake.check("coalesce(NOT b, true)", read=["b.parquet", "c.parquet", "d.parquet"])


def test_one_kind_at_a_time(lake: Lake) -> None:
    files(lake)
    for index in (MinMax("x <> 5"), ValueList("x <> 5"), GapList("x <> 5")):
        lake.index(index)
        lake.check("x <> 5", read=["b.parquet", "c.parquet"])
        lake.table().drop_index(index)


def test_an_index_over_negated_elements(lake: Lake) -> None:
    files(lake)
    lake.index(ValueList("transform(f, e -> NOT e)"))
    lake.check("exists(transform(f, e -> NOT e), e -> e)", read=["b.parquet", "c.parquet"])
    lake.check("array_contains(transform(f, e -> NOT e), false)", read=["a.parquet", "d.parquet"])


def test_no_element_satisfies_what_is_null(lake: Lake) -> None:
    """Spark leaves `x > NULL` in a function as NULL: no file holds a match, and no filter fails."""
    lake.file("a.parquet", {"a": [[1, 2], []], "n": [[[1]], []]})
    lake.file("b.parquet", {"a": [[3, None], None], "n": [[[3]], None]})
    lake.index(MinMax("a"), ValueList("n"))
    nothing = "exists(a, x -> x > cast(NULL AS INT))"
    deeper = "exists(n, x -> exists(x, y -> y = cast(NULL AS INT)))"
    assert lake.reads(nothing, deeper, f"{nothing} OR exists(a, x -> x = 3)") == [set(), set(), {"b.parquet"}]
    lake.reads(f"NOT {nothing}", f"NOT {deeper}")


@pytest.mark.parametrize("index", [MinMax("x"), ValueList("x"), GapList("x"), Hybrid("x"), BloomFilter("x")])
def test_not_in_nothing(lake: Lake, index: Index) -> None:
    """Is true of NULL as well, where Spark's optimizer has not made a constant of it."""
    lake.file("null", {"x": pa.array([None], pa.int64())})
    lake.file("one", {"x": [1]})
    lake.index(index)
    lake.spark.conf.set("spark.sql.optimizer.excludedRules", "org.apache.spark.sql.catalyst.optimizer.OptimizeIn")
    try:
        frame = lake.view().where(~F.col("x").isin([]))
        assert "IN ()" in frame._jdf.queryExecution().optimizedPlan().toString()
        assert files_read(lake.skipping, frame, lake.folder) == {"null", "one"}
    finally:
        lake.spark.conf.unset("spark.sql.optimizer.excludedRules")


def test_what_is_null_not_in_nothing(lake: Lake) -> None:
    """As above, where affixes alone tell of a column, and where an operand has several values beside one that is NULL."""
    lake.file("null", {"x": pa.nulls(2, pa.int64()), "y": [1, 2], "s": pa.nulls(2, pa.string())})
    lake.file("some", {"x": [1, 1], "y": [1, 2], "s": ["a", "b"]})
    excluded = {"spark.sql.optimizer.excludedRules": "org.apache.spark.sql.catalyst.optimizer.OptimizeIn"}
    with settings_of(lake.spark, {**excluded, "spark.sql.legacy.nullInEmptyListBehavior": "false"}):
        lake.index(MinMax("x"), MinMax("y"), Prefix("s", 2), Suffix("s", 2))
        for column in (F.col("s"), F.col("x") + F.col("y")):
            frame = lake.view().where(~column.isin([]))
            assert frame.count() == 4
            assert "IN ()" in frame._jdf.queryExecution().optimizedPlan().toString()
            assert files_read(lake.skipping, frame, lake.folder) == {"null", "some"}, column


def test_tuples_in_nothing(lake: Lake) -> None:
    """Are so in no row: a filter failed, and a warning told of it."""
    lake.file("a", {"x": [1], "y": [2]})
    lake.index(MinMax("x"), MinMax("y"))
    with settings_of(lake.spark, {"spark.sql.optimizer.excludedRules": "org.apache.spark.sql.catalyst.optimizer.OptimizeIn"}):
        frame = lake.view().where(F.struct("x", "y").isin([]) | (F.col("x") > 5))
        assert "IN ()" in frame._jdf.queryExecution().optimizedPlan().toString()
        assert files_read(lake.skipping, frame, lake.folder, errors=False) == set()


@pytest.mark.parametrize("kind", [MinMax, ValueList, BloomFilter, GapList, Hybrid])
def test_a_scale_below_zero(lake: Lake, kind: type[Index]) -> None:
    """Delta has none, and said so in words of its own, with a trace."""
    lake.file("a", {"x": [1, 2]})
    allowed = {"spark.sql.legacy.allowNegativeScaleOfDecimal": "true"}
    with settings_of(lake.spark, allowed), pytest.raises(DataSkipError, match=r"decimal\(\d+,-3\)"):
        lake.index(kind("1E3BD * x"))


NAN = float("nan")
LONG = ", ".join([*(f"{number}.0D" for number in range(1, 13)), "NULL"])  # of so many Spark makes an InSet
FLOATS = pa.list_(pa.float64())


@pytest.fixture
def nans(lake: Lake) -> Lake:
    for name, arrays in {"nan": [[NAN], [NAN, NAN]], "listed": [[1.0], [2.0]], "mixed": [[50.0], [NAN, 1.0]]}.items():
        lake.file(name, {"a": pa.array(arrays, FLOATS), "x": [array[0] for array in arrays]})
    return lake


def test_nan_in_a_long_list_with_null_in_a_lambda(nans: Lake) -> None:
    """InSet.eval gives false, not NULL; and so it is evaluated in lambdas."""
    nans.index(ValueList("a"), MinMax("a"))
    read = nans.reads(
        f"exists(a, e -> NOT (e IN ({LONG})))",
        f"NOT exists(a, e -> e IN ({LONG}))",
        f"forall(a, e -> NOT (e IN ({LONG})))",
        f"NOT forall(a, e -> e IN ({LONG}))",
        f"exists(a, e -> e IN ({LONG}))",
    )
    assert read == [*[{"nan", "mixed"}] * 4, {"listed", "mixed"}]


def test_nan_in_a_long_list_with_null_of_a_column(nans: Lake) -> None:
    """There generated code gives NULL."""
    nans.index(ValueList("x"))
    unknown, listed = nans.reads(f"(x IN ({LONG})) IS NULL", f"x IN ({LONG})")
    assert unknown >= {"nan", "mixed"}
    assert listed == {"listed"}
