"""Functions of which Spark's generated code gives something else than their interpreted form; what an error leaves of operands."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest

from data_skip import DataSkipError, MinMax, ValueList
from tests.support import Lake, compared, settings_of


@pytest.mark.parametrize(
    ("sql", "where"),
    [
        ("levenshtein(s, 'xyz', k)", "exists(array(-1), y -> {0} = y)"),
        ("array(levenshtein(s, 'xyz', k))", "exists({0}, y -> y = -1)"),
        ("hash(make_interval(0, 0, 0, 1 + length(s)))", "exists(array(1, 2), y -> {0} = y - 1328321722)"),
        ("cast(map_keys(map(d, 1))[0] AS string)", "forall(array(1), y -> {0} = '0.0')"),
    ],
)
def test_an_index_of_what_generated_code_gives(lake: Lake, sql: str, where: str) -> None:
    """Rows were lost: records are of the one form, such queries of the other."""
    for name, text in {"a": "abc", "b": ""}.items():
        lake.file(name, {"s": [text], "k": pa.array([None], pa.int32()), "d": [-0.0]})
    for kind in (ValueList, MinMax):
        with pytest.raises(DataSkipError, match="gives something else in some plans"):
            lake.index(kind(sql))
    lake.index(ValueList("s"), ValueList("k"), ValueList("d"))
    lake.view()
    lake.query(f"SELECT s FROM t WHERE {where.format(sql)}")


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


def test_an_error_of_a_map_that_is_caught(lake: Lake) -> None:
    """By Spark's own fault the pairs before it are in the map of the job's next row, too: 'b:1' has two there."""
    lake.file("a.parquet", {"s": ["z:1,z:2", "b:1"]})
    lake.file("0.parquet", {"s": ["b:1"]})
    lake.index(ValueList("s"))
    wheres = [f"try_add(DATE'2020-01-01', size(str_to_map(s))) = DATE'2020-01-0{day}'" for day in (2, 3)]
    assert lake.reads(*wheres, "s = 'z:1,z:2'")[2] == {"a.parquet"}


def test_constants_that_are_not_folded(lake: Lake) -> None:
    """Each job evaluates them. Rows were lost of what generated code gives otherwise; an error, in a branch, hid what others say."""
    for name, x in {"generated": 1081828689, "interpreted": -1328321721}.items():
        lake.file(name, {"x": [x], "y": [7]})
        lake.file(f"{name} and more", {"x": [x, x], "y": [7, 9]})
    lake.index(MinMax("x"), MinMax("y"))
    hashed = "hash(CAST('1 day' AS INTERVAL))"
    wheres = [f"x = {hashed}", f"x IN (99, {hashed})", f"NOT (x <=> {hashed})"]
    wheres += [f"CASE WHEN {hashed} = 1081828689 THEN y > 6 ELSE y > 100 END"]
    sure = ["x = 1081828688 + 1", "coalesce(y > 50, x = 1 + 1081828688)"]
    error = "CASE WHEN y > 50 THEN x IN (CAST('x' AS INT), 1) ELSE x = 1081828689 END"
    with settings_of(lake.spark, {"spark.sql.optimizer.excludedRules": "org.apache.spark.sql.catalyst.optimizer.ConstantFolding"}):
        found = lake.reads(*wheres, *sure, f"y < 9 AND {error}")
    assert all({"generated", "generated and more"} <= files for files in (*found[:2], found[3]))
    assert "interpreted" not in found[4] | found[5] | found[6]
