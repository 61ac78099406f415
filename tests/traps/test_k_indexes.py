"""TRAPS, section K: value lists, prefixes and suffixes, several indexes on one column, merged records."""

from __future__ import annotations

import random
from functools import reduce
from itertools import permutations
from typing import Any

import pyarrow as pa
import pytest

from data_skip import Index, MinMax, Prefix, Suffix, ValueList
from tests.support import Lake


def test_k3_value_list_that_overflowed_is_unknown(lake: Lake) -> None:
    lake.file("many.parquet", {"x": list(range(0, 40, 2)), "s": [f"v{i}" for i in range(20)]})
    lake.file("few.parquet", {"x": [1, 3, 5] * 6 + [1, 1], "s": ["v1"] * 20})
    lake.index(ValueList("x", limit=5), ValueList("s", limit=5), Prefix("s", 3, limit=5), Suffix("s", 3, limit=5))
    lake.view()
    lake.check("x = 38", read=["many.parquet"])
    lake.check("x = 999", read=["many.parquet"])
    lake.check("x = 3", read=["many.parquet", "few.parquet"])
    lake.check("x NOT IN (1, 3, 5)", read=["many.parquet"])
    lake.check("s = 'v17'", read=["many.parquet"])
    lake.check("s LIKE 'v9%'", read=["many.parquet"])
    lake.check("s LIKE '%9'", read=["many.parquet"])
    lake.check("x IS NULL", read=["many.parquet"])


def test_k4_overflow_stays_when_batches_are_merged() -> None:
    index = ValueList("x", limit=3)
    batches = [pa.array(values, pa.int64()) for values in ([1, 2], [3, 4], [1], [None, 2])]
    for order in permutations([index.collect(batch) for batch in batches]):
        assert reduce(index.merge, order) == {"values": None, "has_null": True}
    whole = index.collect(pa.array([1, 2, 3, 3], pa.int64()))
    assert sorted(whole["values"]) == [1, 2, 3]
    assert index.merge(whole, index.collect(pa.array([4], pa.int64())))["values"] is None


def test_k8_null_in_a_list_of_constants(lake: Lake) -> None:
    lake.file("a.parquet", {"x": [1, 2], "s": ["a", "b"]})
    lake.file("b.parquet", {"x": [3, None], "s": ["c", None]})
    lake.file("void.parquet", {"x": pa.array([None], pa.int64()), "s": pa.array([None], pa.string())})
    lake.index(ValueList("x"), ValueList("s"), Prefix("s", 1))
    lake.view()
    lake.check("x IN (1, NULL)", read=["a.parquet"])
    lake.check("x NOT IN (1, NULL) OR x = 3", read=["b.parquet"])
    lake.check("(x IN (1, NULL)) IS NULL", read=["a.parquet", "b.parquet", "void.parquet"])
    lake.check("s IN ('c', NULL)", read=["b.parquet"])
    lake.check("NOT (s IN ('c', NULL)) OR s = 'b'", read=["a.parquet"])
    lake.check("x <=> NULL", read=["b.parquet", "void.parquet"])
    lake.check("NOT (x <=> 3)", read=["a.parquet", "b.parquet", "void.parquet"])
    lake.check("arrays_overlap(array(x), array(1, NULL)) IS NULL")
    lake.check("coalesce(x, 1) = 1", read=["a.parquet", "b.parquet", "void.parquet"])


def test_k9_k10_short_empty_and_wide_values(lake: Lake) -> None:
    files = {
        "short": ["ab", "b"],
        "empty": ["", ""],
        "exact": ["abc", "xyz"],
        "long": ["abcdef", "abczzz"],
        "emoji": ["😀😀😀😀", "é\u0301x"],
        "newline": ["a\nb", "\n"],
    }
    for name, values in files.items():
        lake.file(f"{name}.parquet", {"s": values})
    lake.index(Prefix("s", 3), Suffix("s", 3))
    lake.view()
    for where, read in {
        "s = 'ab'": ["short"],
        "s LIKE 'ab%'": ["short", "exact", "long"],
        "s LIKE 'abc%'": ["exact", "long"],
        "s LIKE 'abcd%'": ["exact", "long"],
        "s LIKE 'a%b'": ["short", "newline"],
        "s LIKE 'ab%b'": ["short"],  # the length is not known
        "s LIKE 'a_b'": ["short", "newline"],
        "s = ''": ["empty"],
        "s LIKE ''": ["empty"],
        "s NOT IN ('', 'ab')": ["short", "exact", "long", "emoji", "newline"],
        "NOT (s LIKE 'abc%')": ["short", "empty", "exact", "emoji", "newline"],
        "s LIKE '😀%'": ["emoji"],
        "s LIKE '%😀😀'": ["emoji"],
        "s LIKE '😀😀😀😀'": ["emoji"],
        "s = '😀😀😀'": ["emoji"],
        "s LIKE '%yz'": ["exact"],
        "endswith(s, 'zzz')": ["long"],
        "s >= 'xyz'": None,
        "length(s) = 2": None,
        "s LIKE '___'": None,
        "s LIKE '%b%'": None,
    }.items():
        lake.check(where, read=None if read is None else [f"{name}.parquet" for name in read])


def test_k11_values_are_kept_exactly(lake: Lake) -> None:
    for name, values in {"a": ["Foo "], "b": ["foo "], "c": ["foo"], "d": ["FOO"], "e": ["ﬁ"], "f": ["é"], "g": ["e\u0301"]}.items():
        lake.file(f"{name}.parquet", {"s": values * 2})
    lake.index(ValueList("s"), Prefix("s", 20), ValueList("upper(s)"))
    lake.view()
    for where, read in {
        "s = 'foo '": "b",
        "s = 'foo'": "c",
        "s LIKE 'foo%'": "bc",
        "s = 'é'": "f",
        "lower(s) = 'foo'": "cd",
        "upper(s) = 'FOO '": "ab",
        "rtrim(s) = 'foo'": "bc",
        "upper(s) = 'FI'": "e",
        "s IN ('Foo ', 'FOO')": "ad",
    }.items():
        lake.check(where, read=[f"{name}.parquet" for name in read])


def test_k12_several_indexes_on_one_column(lake: Lake) -> None:
    lake.file("a.parquet", {"x": [1, 100], "s": ["apple", "pear"]})
    lake.file("b.parquet", {"x": [40, 60], "s": ["quince", "plum"]})
    lake.index(MinMax("x"), Prefix("s", 1))
    lake.file("new.parquet", {"x": [50, 50], "s": ["plum", "plum"]})
    lake.index(ValueList("x"), Suffix("s", 2), MinMax("s"))
    lake.view()
    lake.check("x = 40", read=["b.parquet"])
    lake.check("x = 41", read=[])
    lake.check("x = 50", read=["new.parquet"])
    # new.parquet has no record of the first indexes: the others still decide, and nothing else is taken for false.
    lake.check("x = 50 OR x = 1", read=["a.parquet", "new.parquet"])
    lake.check("s LIKE 'p%m'", read=["b.parquet", "new.parquet"])
    lake.check("s LIKE 'p%r' AND x < 50", read=["a.parquet"])
    lake.table().drop_index(ValueList("x"))
    lake.check("x = 50", read=["a.parquet", "b.parquet", "new.parquet"])
    lake.table().refresh()
    lake.check("x = 101", read=[])


@pytest.mark.parametrize("index", [MinMax("x"), ValueList("x"), ValueList("x", limit=4)], ids=str)
@pytest.mark.parametrize("type_", [pa.float64(), pa.int64(), pa.string(), pa.binary(), pa.bool_()], ids=str)
def test_k13_records_merge_in_any_order(index: Index, type_: pa.DataType) -> None:
    values: list[Any] = [None, 0, 1, 5, 2, None, 7]
    if pa.types.is_floating(type_):
        values = [None, float("nan"), 0.0, -0.0, float("inf"), float("-inf"), 1.5]
    elif pa.types.is_string(type_):
        values = [None, "", "a", "😀", "a" * 300, "\U0010ffff" * 200, "b"]
    elif pa.types.is_binary(type_):
        values = [None, b"", b"a", b"\xff" * 200, b"\x80", b"\x7f", b"b" * 200]
    elif pa.types.is_boolean(type_):
        values = [None, True, False, True, None, False, True]
    whole = index.collect(pa.array(values, type_))
    random.seed(7)
    for _ in range(30):
        random.shuffle(values)
        cut = sorted(random.sample(range(1, len(values)), 3))
        pieces = [values[a:b] for a, b in zip([0, *cut], [*cut, len(values)], strict=True)]
        merged = reduce(index.merge, (index.collect(pa.array(piece, type_)) for piece in pieces))
        assert comparable(merged) == comparable(whole)


def comparable(record: dict[str, Any]) -> dict[str, Any]:
    return {name: sorted(map(repr, value)) if isinstance(value, list) else repr(value) for name, value in record.items()}


def test_k13_files_read_in_many_batches_and_splits(lake: Lake) -> None:
    spark = lake.spark
    rows = [None, float("nan"), -0.0, 5.0, 7.0, None]
    lake.file("a.parquet", pa.table({"x": rows * 20, "s": ["a", None, "b", "c", "", "zz"] * 20}))
    lake.file("b.parquet", {"x": [1.0] * 50, "s": ["m"] * 50})
    lake.spark_file("c.parquet", spark.range(0, 500, 1, 1).selectExpr("id / 2 AS x", "repeat('k', int(id % 9)) AS s"))
    settings = {"spark.sql.execution.arrow.maxRecordsPerBatch": "7", "spark.sql.files.maxPartitionBytes": "1500"}
    for key, value in settings.items():
        spark.conf.set(key, value)
    try:
        report = lake.table().create_index(MinMax("x"), ValueList("x"), ValueList("s"), Prefix("s", 1), MinMax("s"))
    finally:
        for key in settings:
            spark.conf.unset(key)
    assert report.rows == 120 + 50 + 500
    counts = {row["path"]: row for row in lake.table().metadata().collect()}
    assert counts["a.parquet"]["row_count"] == 120
    assert (counts["a.parquet"]["min_max__x"]["nan_count"], counts["a.parquet"]["min_max__x"]["null_count"]) == (20, 40)
    assert counts["c.parquet"]["min_max__x"]["max"] == 249.5
    lake.view()
    lake.check("x > 300", read=["a.parquet"])
    lake.check("x = 0", read=["a.parquet", "c.parquet"])
    lake.check("x IS NULL", read=["a.parquet"])
    lake.check("s LIKE 'k%' AND x > 249", read=["c.parquet"])
    lake.check("s > 'y'", read=["a.parquet"])


def test_k14_bounds_survive_the_store(lake: Lake) -> None:
    inf, nan = float("inf"), float("nan")
    lake.file("inf.parquet", {"f": [inf, 1.0], "i": [2**53 + 1, 2**62], "d": pa.array([1, 2], pa.date32())})
    lake.file("nan.parquet", {"f": [nan, 2.0], "i": [0, -(2**63)], "d": pa.array([-800000, 3000000], pa.date32())})
    lake.file("zero.parquet", {"f": [-0.0, -1.0], "i": [2**53, 2**53], "d": pa.array([None, 5], pa.date32())})
    lake.index(MinMax("f"), MinMax("i"), MinMax("d"), ValueList("f"), ValueList("i"))
    lake.table()._store._table = lake.table()._store._snapshot = None  # as a new session finds it
    lake.view("t").select("f", "i").createOrReplaceTempView("t")  # Python has no date for these days
    lake.check("f > 1e308", read=["inf.parquet", "nan.parquet"])
    lake.check("f = 'Infinity'", read=["inf.parquet"])
    lake.check("f = 'NaN'", read=["nan.parquet"])
    lake.check("f = 0", read=["zero.parquet"])
    lake.check("f < -0.5", read=["zero.parquet"])
    lake.check(f"i = {2**53 + 1}", read=["inf.parquet"])
    lake.check(f"i = {2**53}", read=["zero.parquet"])
    lake.check("i < -9223372036854775807", read=["nan.parquet"])
    lake.view("t")
    lake.query("SELECT f FROM t WHERE d > DATE'9999-12-31' OR d < DATE'0001-01-01'", read=["nan.parquet"])
    assert lake.table().metadata().where("min_max__f.nan_count > 0").count() == 1
