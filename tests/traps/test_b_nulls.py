"""TRAPS.md, section B: NULL and three-valued logic."""

from __future__ import annotations

from math import nan

import pyarrow as pa

from data_skip import MinMax, Prefix, Suffix, ValueList
from tests.support import Lake
from tests.traps.kinds import check, files

INT, TEXT, NO_INT = pa.int64(), pa.string(), pa.array([None], pa.int64())


def test_b1_predicates_that_turn_null_into_true(lake: Lake) -> None:
    """ValueList lets Spark decide on the values, so it skips where ranges cannot."""
    files(lake, {"a": {"x": NO_INT}, "b": {"x": [1]}, "c": {"x": [400]}})
    lake.index(MinMax("x"), ValueList("x"))
    lake.view()
    check(lake, "x > 300", "c")
    check(lake, "coalesce(x, 500) > 300", "ac", MinMax=None)
    check(lake, "nvl(x, 0) > 300", "c", MinMax=None)
    check(lake, "if(x IS NULL, true, x > 300)", "ac", MinMax=None)
    check(lake, "CASE WHEN x < 300 THEN false ELSE true END", "ac", MinMax=None)
    check(lake, "(x > 300) IS NOT TRUE", "ab", MinMax=None)
    check(lake, "(x > 300) IS NULL", "a", MinMax=None)
    check(lake, "NOT (x > 300 AND x IS NOT NULL)", "ab")
    check(lake, "x IS NULL", "a")
    check(lake, "x IS NOT NULL", "bc")
    check(lake, "x <=> NULL", "a")
    check(lake, "x IS DISTINCT FROM 400", "ab")
    check(lake, "x IS DISTINCT FROM NULL", "bc")
    check(lake, "nullif(x, 1) IS NULL", "ab", MinMax=None)
    check(lake, "x = NULL OR x > 300", "c")
    check(lake, "(x > 300) <=> NULL", "a", MinMax=None)


def test_b1_of_strings(lake: Lake) -> None:
    files(lake, {"a": {"s": pa.array([None], TEXT)}, "b": {"s": ["ab"]}, "c": {"s": ["abc", None]}})
    lake.index(MinMax("s"), ValueList("s"), Prefix("s", 3), Suffix("s", 3))
    lake.view()
    check(lake, "s IS NULL", "ac")
    check(lake, "s IS NOT NULL", "bc")
    check(lake, "s <=> NULL", "ac")
    check(lake, "s IS DISTINCT FROM 'ab'", "ac")
    check(lake, "s IS DISTINCT FROM 'zz'", "abc")
    check(lake, "s <=> 'ab'", "b")
    check(lake, "s LIKE 'ab%'", "bc", Suffix=None)
    check(lake, "(s LIKE 'ab%') IS NOT TRUE", "ac", MinMax=None, Prefix=None, Suffix=None)
    check(lake, "coalesce(s, '') = ''", "ac", MinMax=None, Prefix=None, Suffix=None)
    check(lake, "NOT (s = 'ab')", "c")
    check(lake, "NOT (s IN ('ab', 'x'))", "c")
    check(lake, "s NOT LIKE 'ab%'", "", Suffix=None)


def test_b2_not_null_safe_equal_is_true_for_null(lake: Lake) -> None:
    files(lake, {"a": {"x": [1, None]}, "b": {"x": [1, 1]}, "c": {"x": [1, 2]}, "d": {"x": NO_INT}})
    lake.index(MinMax("x"), ValueList("x"))
    lake.view()
    check(lake, "NOT (x <=> 1)", "acd")
    check(lake, "x <> 1", "c")
    check(lake, "NOT (x <=> NULL)", "abc")
    check(lake, "x <=> 1", "abc")
    check(lake, "NOT (x <=> 1 OR x IS NULL)", "ac")


def test_b3_min_equal_to_max_is_not_all_rows(lake: Lake) -> None:
    files(lake, {"a": {"v": [1.0, None]}, "b": {"v": [1.0, nan]}, "c": {"v": [1.0]}})
    lake.index(MinMax("v"), ValueList("v"))
    lake.view()
    check(lake, "v IS DISTINCT FROM 1", "ab")
    check(lake, "v <> 1", "b")
    check(lake, "NOT (v <= 1)", "b")
    check(lake, "v IS NULL", "a")


def test_b4_an_unknown_null_count_keeps_the_file(lake: Lake) -> None:
    """The list of `a` overflowed, `d` holds text that is no UTF-8, and `e` was never collected."""
    files(lake, {"a": {"s": ["p", "q", "r", None]}, "b": {"s": ["p"]}, "c": {"s": ["q", None]}})
    broken = pa.array([b"\xff\xfe"]).view(pa.string())
    lake.file("d", {"s": broken})
    lake.index(MinMax("s"), ValueList("s", limit=2), Prefix("s", length=1, limit=2), Suffix("s", length=1, limit=2))
    lake.file("e", {"s": ["p"]})
    lake.view()
    check(lake, "s IS NULL", "acde")
    check(lake, "s IS NOT NULL", "abcde")
    check(lake, "s = 'p'", "abde")
    check(lake, "s <=> NULL", "acde")
    check(lake, "s = 'x'", "ade", MinMax="de")
    check(lake, "s IS DISTINCT FROM 'p'", "acde", Prefix="abcde", Suffix="abcde")


def test_b5_b7_b8_records_of_nulls(lake: Lake) -> None:
    """What is unknown is NULL, and NULL is no value: neither 0, nor the empty string, nor a bound."""
    long = "x" * 5000
    files(lake, {"a": {"x": [1, None], "s": [long, None]}, "b": {"x": NO_INT, "s": pa.array([None], TEXT)}, "c": {"x": [-1], "s": [""]}})
    lake.file("d", pa.table({"x": pa.array([], INT), "s": pa.array([], TEXT)}))
    table = lake.index(MinMax("x"), MinMax("s"), ValueList("x"))
    records = {row["path"]: row for row in table.metadata().collect()}
    counts = {path: row["min_max__x"][:] for path, row in records.items()}
    assert counts["a"] == (1, 1, 1, 1, 0)
    assert counts["b"] == (None, None, 0, 1, 0)
    assert counts["c"] == (-1, -1, 1, 0, 0)
    assert records["a"]["min_max__s"]["null_count"] == 1
    assert records["a"]["min_max__s"]["min"] <= long <= records["a"]["min_max__s"]["max"]
    lake.view()
    check(lake, "x = 0", "")
    check(lake, "x < 1", "c")
    check(lake, "x IS NULL", "ab")
    check(lake, "s IS NULL", "ab", ValueList=None)
    check(lake, "s = ''", "c", ValueList=None)


def test_b6_an_unindexed_column_says_nothing(lake: Lake) -> None:
    files(lake, {"a": {"x": [1], "y": [2]}, "b": {"x": [1], "y": [3]}, "c": {"x": [5], "y": [2]}})
    lake.index(MinMax("x"), ValueList("x"))
    lake.view()
    check(lake, "x = 1 AND y = 2", "ab")
    check(lake, "y = 2", "abc")
    check(lake, "x = 1 OR y = 2", "abc")
    check(lake, "x = 1 AND (y = 2 OR x = 5)", "ab")
    check(lake, "y IS NULL AND x = 5", "c")


def test_b9_null_in_a_list(lake: Lake) -> None:
    files(lake, {"a": {"x": [1], "s": ["a"]}, "b": {"x": [2], "s": ["bb"]}, "c": {"x": NO_INT, "s": pa.array([None], TEXT)}})
    lake.index(MinMax("x"), ValueList("x"), MinMax("s"), ValueList("s"), Prefix("s", 2), Suffix("s", 2))
    lake.view()
    numbers, texts = {"Prefix": None, "Suffix": None}, ", ".join(f"'{i}'" for i in range(20))
    check(lake, "x IN (1, NULL)", "a", **numbers)
    check(lake, "x NOT IN (1, NULL)", "", **numbers)
    check(lake, "x IN (NULL)", "", **numbers)
    check(lake, "(x IN (1, NULL)) IS NULL", "bc", MinMax=None, **numbers)
    check(lake, f"x IN ({', '.join(map(str, range(2, 30)))}, NULL)", "b", **numbers)
    check(lake, f"x NOT IN ({', '.join(map(str, range(2, 30)))}, NULL)", "", **numbers)
    check(lake, f"x NOT IN ({', '.join(map(str, range(2, 30)))})", "a", **numbers)
    check(lake, "s IN ('a', NULL)", "a")
    check(lake, "s NOT IN ('a', NULL)", "")
    check(lake, f"s IN ({texts}, 'a', NULL)", "a")
    check(lake, f"s NOT IN ({texts}, 'a', NULL)", "")
    check(lake, f"s NOT IN ({texts}, 'a')", "b")


def test_b10_bare_booleans(lake: Lake) -> None:
    files(lake, {"a": {"b": [True]}, "b": {"b": [False]}, "c": {"b": pa.array([None], pa.bool_())}, "d": {"b": [True, None]}})
    lake.index(MinMax("b"), ValueList("b"))
    lake.view()
    check(lake, "b", "ad")
    check(lake, "NOT b", "b")
    check(lake, "b IS TRUE", "ad")
    check(lake, "b IS NOT TRUE", "bcd")
    check(lake, "b IS FALSE", "b")
    check(lake, "b IS NOT FALSE", "acd")
    check(lake, "b IS NULL", "cd")
    check(lake, "b IS UNKNOWN", "cd")
    check(lake, "b = 'true'", "ad", MinMax=None)
    check(lake, "b = true", "ad")
    check(lake, "b <> true", "b")
    check(lake, "b < true", "b")
    check(lake, "b > false", "ad")
    check(lake, "b IN (true, NULL)", "ad")
    check(lake, "coalesce(b, true)", "acd", MinMax=None)


def test_b11_a_field_of_a_missing_struct_is_null(lake: Lake) -> None:
    struct = pa.struct({"a": pa.int64(), "t": pa.struct({"u": pa.string()})})
    rows = {"a": [None], "b": [{"a": 1, "t": None}], "c": [{"a": None, "t": {"u": "x"}}], "d": [{"a": 7, "t": {"u": None}}, None]}
    for name, values in rows.items():
        lake.file(name, {"s": pa.array(values, struct)})
    lake.index(MinMax("s.a"), ValueList("s.a"), MinMax("s.t.u"), ValueList("s.t.u"), Prefix("s.t.u", 2), Suffix("s.t.u", 2))
    lake.view()
    numbers: dict[str, str | None] = {"Prefix": None, "Suffix": None}
    check(lake, "s.a IS NULL", "acd", **numbers)
    check(lake, "s.a = 7", "d", **numbers)
    check(lake, "s.a IS NOT NULL", "bd", **numbers)
    check(lake, "s.a IS DISTINCT FROM 1", "acd", **numbers)
    check(lake, "s.t.u IS NULL", "abd")
    check(lake, "s.t.u = 'x'", "c")
    check(lake, "s.t IS NULL", None)
    check(lake, "s IS NULL", None)


def test_b12_not_in_a_subquery(lake: Lake) -> None:
    files(lake, {"a": {"k": [1]}, "b": {"k": [2]}, "c": {"k": NO_INT}})
    lake.index(MinMax("k"), ValueList("k"))
    lake.view()
    for values in ("(1), (NULL)", "(1)", "(NULL)"):
        keys = f"SELECT v FROM VALUES {values} AS r(v)"
        lake.query(f"SELECT * FROM t WHERE k NOT IN ({keys})")
        lake.query(f"SELECT * FROM t WHERE k IN ({keys})")
        lake.query(f"SELECT * FROM t WHERE NOT EXISTS ({keys} WHERE v = k)")
        lake.query(f"SELECT * FROM t WHERE (k IN ({keys})) IS NOT TRUE")
    lake.query("SELECT * FROM t WHERE k NOT IN (SELECT v FROM VALUES (1) AS r(v)) AND k > 1", read="b")


def test_b13_not_null_needs_both_counts(lake: Lake) -> None:
    lake.file("a", {"v": [nan], "s": ["y" * 5000]})
    lake.file("b", {"v": pa.array([None], pa.float64()), "s": pa.array([None], TEXT)})
    lake.file("c", {"v": [1.0], "s": ["y"]})
    lake.index(MinMax("v"), ValueList("v"), MinMax("s"), ValueList("s"), Prefix("s", 2), Suffix("s", 2))
    lake.view()
    check(lake, "v IS NOT NULL", "ac", Prefix=None, Suffix=None)
    check(lake, "NOT (v IS NULL)", "ac", Prefix=None, Suffix=None)
    check(lake, "s IS NOT NULL", "ac")
    check(lake, "s IS NULL", "b")
    check(lake, "length(s) > 100", "a", MinMax=None, Prefix=None, Suffix=None)
