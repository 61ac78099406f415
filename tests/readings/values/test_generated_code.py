"""What the fifty-sixth reading found false, of values in the JVM."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest

from data_skip import DataSkipError, MinMax, ValueList
from tests.support import Lake, compared

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


@pytest.mark.parametrize("sql", ["concat(current_database(), s)", "datediff(current_date(), t)", "concat(current_user(), s)"])
def test_an_expression_that_asks_when_or_where_it_is_run(lake: Lake, sql: str) -> None:
    """An index of it served no query, and stopped each refresh of the table in another database, or on another day."""
    lake.file("a.parquet", {"s": ["a"], "t": pa.array([1], pa.date32())})
    with pytest.raises(DataSkipError, match="when, by whom or where it is run"):
        lake.table().create_index(ValueList(sql))


def test_what_generated_code_gives_otherwise(lake: Lake) -> None:
    """ArrayJoin of NULL by NULL, Levenshtein up to NULL, keys of maps that are -0.0, seconds and lengths that wrap round."""
    numbers = [[-0.0], [0.0], [1.0, 2.0], [None]]
    for i, xs in enumerate(numbers):
        texts, whole = [None if x is None else str(x) for x in xs], [None if x is None else int(x) for x in xs]
        columns = {"x": pa.array(xs, pa.float64()), "s": pa.array(texts, pa.string()), "k": pa.array(whole, pa.int32())}
        seconds = pa.array([None if x is None else Decimal(4294 * i) for x in xs], pa.decimal128(16, 6))
        lake.file(f"{i}.parquet", {**columns, "sec": seconds})
    lake.index(ValueList("x"), ValueList("s"), ValueList("k"), MinMax("k"), ValueList("sec"))
    wheres = [
        "array_join(array(s, 'b'), ',', s) IS NULL",
        "levenshtein('abc', 'abd', k) IS NULL",
        "NOT (levenshtein('abc', 'abd', k) <=> -1)",
        "coalesce(levenshtein('abc', 'abc', k), 7) = 7",
        "cast(map(coalesce(x, 9D), 1) AS string) = '{-0.0 -> 1}'",
        "NOT (cast(map(coalesce(x, 9D), 1) AS string) = '{0.0 -> 1}')",
        "try_make_timestamp(2024, 1, 1, 0, 0, sec) IS NULL",
        "size(slice(split(s, '[.]'), 2, 2147483647)) > 0",
        "NOT (size(slice(array(1, 2, 3), 2, k)) = 0)",
        "size(slice(split(s, '[.]'), 2, 7)) = 1",
        "array_join(array(s, 'b'), ',', 'z') = '1.0,b'",
        "levenshtein(s, '1.1', 5) = 1",
    ]
    *_, joined, near = lake.reads(*wheres)
    assert joined == {"2.parquet"}
    assert near == {"2.parquet"}


def test_what_an_error_leaves_of_its_operands(lake: Lake) -> None:
    """The builder of a map that raised one for two equal keys had them in the map of the next value as well."""
    for name, texts in {"twice": ["a:1,a:2"], "b": ["b:1"], "c": ["c:5"], "d": ["d:4", "d:5"]}.items():
        lake.file(name, {"s": texts})
    lake.index(ValueList("s"))
    lake.view()
    wheres = [
        "s <> 'a:1,a:2' AND str_to_map(s)['a'] IS NULL",
        "s <> 'a:1,a:2' AND NOT map_contains_key(str_to_map(s), 'a')",
        "NOT contains(s, ',') AND size(str_to_map(s)) = 1",
        "NOT contains(s, ',') AND map_keys(str_to_map(s))[0] = 'b'",
        "NOT contains(s, ',') AND size(map_from_entries(transform(split(s, ','), e -> struct(substr(e, 1, 1), e)))) = 1",
    ]
    assert compared(lake.spark, lake.skipping, [f"SELECT s FROM t WHERE {where}" for where in wheres]) > 0
