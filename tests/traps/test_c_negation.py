"""TRAPS.md, section C: NOT, AND, OR and the shape of the tree."""

from __future__ import annotations

import pyarrow as pa

from data_skip import MinMax, Prefix, Suffix, ValueList
from tests.support import Lake
from tests.traps.kinds import check, files, only


def test_c1_not_equal_is_not_the_negated_clause(lake: Lake) -> None:
    files(lake, {"a": {"x": [1, 2, 3]}, "b": {"x": [2, 2]}, "c": {"x": [2, None]}, "d": {"x": [5]}})
    lake.index(MinMax("x"), ValueList("x"))
    lake.view()
    check(lake, "NOT (x = 2)", "ad")
    check(lake, "x <> 2", "ad")
    check(lake, "NOT NOT (x = 2)", "abc")
    check(lake, "NOT (x BETWEEN 2 AND 4)", "ad")
    check(lake, "NOT (x < 2)", "abcd")
    check(lake, "NOT (x >= 2)", "a")
    check(lake, "NOT (x <> 5)", "d")


def test_c2_not_in_needs_all_values_in_the_list(lake: Lake) -> None:
    files(lake, {"a": {"x": [2, 3]}, "b": {"x": [2]}, "c": {"x": [3, None]}, "d": {"x": [1, 4]}, "e": {"x": list(range(20))}})
    lake.index(MinMax("x"), ValueList("x", limit=10))
    lake.view()
    check(lake, "x NOT IN (2)", "acde")
    check(lake, "x NOT IN (2, 3)", "de", MinMax="ade")
    check(lake, "NOT (x = 2 OR x = 3)", "de", MinMax="ade", ValueList="ade")
    check(lake, "x NOT IN (1, 4)", "abce", MinMax="abcde")
    many = ", ".join(map(str, range(30)))
    check(lake, f"x NOT IN ({many})", "", MinMax="ade", ValueList="e")
    check(lake, f"x NOT IN ({many}) OR x = 4", None)


def test_c3_lists_of_affixes_under_not(lake: Lake) -> None:
    files(lake, {"a": {"s": ["abc", "abd"]}, "b": {"s": ["abc"]}, "c": {"s": ["ab"]}, "d": {"s": ["xbc", None]}})
    lake.index(MinMax("s"), ValueList("s"), Prefix("s", 2), Suffix("s", 2))
    lake.view()
    check(lake, "NOT (s = 'abc')", "acd", Prefix="abcd", Suffix="abcd")
    check(lake, "NOT (s = 'ab')", "abd", Prefix="abcd", Suffix="abcd")
    check(lake, "s NOT IN ('abc', 'abd')", "cd", MinMax="acd", Prefix="abcd", Suffix="abcd")
    check(lake, "NOT (s <=> 'abc')", "acd", Prefix="abcd", Suffix="abcd")
    check(lake, "NOT (s <=> 'xbc')", "abcd")
    three = Lake(lake.spark, lake.skipping, lake.folder.parent / "three")
    files(three, {"a": {"s": ["ab", "b"]}, "b": {"s": ["ab"]}, "c": {"s": ["ab", None]}})
    three.index(Prefix("s", 3), Suffix("s", 3))
    three.view()
    check(three, "NOT (s = 'ab')", "a")
    check(three, "s NOT IN ('ab', 'b', 'abcd')", "")
    check(three, "NOT (s <=> 'ab')", "ac")
    check(three, "s NOT IN ('ab', 'abcd')", "a")


def test_c4_not_like_needs_all_values_to_match(lake: Lake) -> None:
    files(lake, {"a": {"s": ["abc", "xyz"]}, "b": {"s": ["abc", "ab"]}, "c": {"s": ["zzb", None]}, "d": {"s": ["a"]}})
    lake.index(MinMax("s"), ValueList("s"), Prefix("s", 3), Suffix("s", 3))
    lake.view()
    check(lake, "s NOT LIKE 'ab%'", "acd", Suffix=None)
    check(lake, "s NOT LIKE 'abcd%'", "abcd", Suffix=None)
    check(lake, "s NOT LIKE '%b'", "abd", MinMax=None, Prefix=None)
    check(lake, "s NOT LIKE '%zzzb'", "abcd", MinMax=None, Prefix=None)
    check(lake, "s NOT LIKE 'a%c'", "abcd", MinMax=None, Prefix=None, Suffix=None)
    check(lake, "s NOT LIKE '%b%'", "ad", MinMax=None, Prefix=None, Suffix=None)
    check(lake, "s NOT LIKE 'a_'", "acd", MinMax=None, Prefix=None, Suffix=None, ValueList="abcd")
    check(lake, "s NOT LIKE '%'", "", MinMax=None, Prefix=None, Suffix=None)
    check(lake, "NOT startswith(s, 'a')", "ac", Suffix=None)
    check(lake, "NOT endswith(s, 'b')", "abd", MinMax=None, Prefix=None)
    check(lake, "NOT contains(s, 'b')", "ad", MinMax=None, Prefix=None, Suffix=None)


def test_c5_an_unknown_leaf_under_not(lake: Lake) -> None:
    files(lake, {"a": {"x": [2], "y": [1]}, "b": {"x": [2], "y": [2]}, "c": {"x": [3], "y": [2]}})
    lake.index(MinMax("x"), ValueList("x"))
    lake.view()
    check(lake, "NOT (x = 2 AND y % 2 = 0)", "abc")
    check(lake, "NOT (x = 2 OR y % 2 = 0)", "c")
    check(lake, "NOT (NOT (x = 2 AND y % 2 = 0))", "ab")
    check(lake, "NOT ((x = 2 OR y = 7) AND y % 2 = 0)", "abc")


def test_c6_or_with_an_unindexed_side(lake: Lake) -> None:
    files(lake, {"a": {"x": [1], "z": [7]}, "b": {"x": [100], "z": [1]}, "c": {"x": [2], "z": [1]}})
    lake.index(MinMax("x"), ValueList("x"))
    lake.view()
    check(lake, "x = 100 OR z = 7", "abc")
    check(lake, "(x = 100 OR z = 7) AND x < 50", "ac")
    check(lake, "x = 100 OR (z = 7 AND x = 1)", "ab")
    check(lake, "x = 100 OR x = 1", "ab")


def test_c7_or_with_a_non_deterministic_side(lake: Lake) -> None:
    files(lake, {"a": {"x": [1]}, "b": {"x": [100]}})
    lake.index(MinMax("x"), ValueList("x"))
    lake.view()
    check(lake, "x = 100 OR rand() >= 0", "ab")
    check(lake, "x = 100 OR input_file_name() LIKE '%a'", "ab")
    check(lake, "x + rand() < 50", "ab")
    check(lake, "x = 100 AND rand() >= 0", None)
    lake.query(f"SELECT * FROM parquet.`{lake.folder}` WHERE x = 100 OR _metadata.file_name = 'a'", read="ab")


def test_c8_booleans_as_operands(lake: Lake) -> None:
    """Over one column, ValueList has Spark decide; MinMax knows what Spark's optimizer simplifies."""
    files(lake, {"a": {"x": [2], "y": [5]}, "b": {"x": [1], "y": [0]}, "c": {"x": pa.array([None], pa.int64()), "y": [9]}})
    lake.index(MinMax("x"), ValueList("x"))
    lake.view()
    check(lake, "(x = 2) = false", "b", MinMax=None)
    check(lake, "(x = 2) = true", "a", MinMax=None)
    check(lake, "(x > 1) <> (y > 1)", None)
    check(lake, "(x > 1) = (x < 5)", "a", MinMax=None)
    check(lake, "if(x = 2, false, true)", "bc", MinMax=None)
    check(lake, "CASE WHEN x = 2 THEN false WHEN x = 1 THEN NULL ELSE true END", "c", MinMax=None)
    check(lake, "(x = 2) < true", "b", MinMax=None)
    check(lake, "(x = 2) IN (false)", "b", MinMax=None)
    check(lake, "(x = 2) <=> (x = 2)", "abc", MinMax=None)
    check(lake, "(x = 2) <> true", "b", MinMax=None)


def test_c9_literals_on_the_left(lake: Lake) -> None:
    files(lake, {"a": {"x": [5], "y": [9]}, "b": {"x": [10], "y": [1]}, "c": {"x": [20], "y": [1]}})
    lake.index(MinMax("x"), ValueList("x"))
    lake.view()
    check(lake, "10 > x", "a")
    check(lake, "10 >= x", "ab")
    check(lake, "10 < x", "c")
    check(lake, "10 <= x", "bc")
    check(lake, "5 = x", "a")
    check(lake, "5 <=> x", "a")
    check(lake, "5 <> x", "bc")
    check(lake, "NOT (10 > x)", "bc")
    check(lake, "NOT (5 <=> x)", "bc")
    check(lake, "9 IN (x, y)", "abc")
    check(lake, "9 BETWEEN x AND y", None)
    check(lake, "5 IN (x, 9)", "a", MinMax=None)
    check(lake, "7.5D > x", "a")


def test_c10_structs_compare_lexicographically(lake: Lake) -> None:
    files(lake, {"a": {"x": [2], "y": [0]}, "b": {"x": [1], "y": [9]}, "c": {"x": [0], "y": [9]}})
    lake.index(MinMax("x"), MinMax("y"), ValueList("x"), ValueList("y"))
    lake.view()
    pair = "named_struct('x', x, 'y', y)"
    check(lake, f"{pair} > named_struct('x', 1L, 'y', 5L)", "abc")
    check(lake, f"{pair} >= named_struct('x', 1L, 'y', 9L)", "abc")
    check(lake, f"{pair} = named_struct('x', 1L, 'y', 9L)", None)
    check(lake, f"{pair} IN (named_struct('x', 2L, 'y', 0L), named_struct('x', 1L, 'y', 5L))", "abc")
    check(lake, f"NOT ({pair} = named_struct('x', 1L, 'y', 9L))", "abc")


def test_c11_a_column_is_no_constant(lake: Lake) -> None:
    files(lake, {"a": {"x": [5], "y": [1]}, "b": {"x": [1], "y": [5]}, "c": {"x": [2], "y": [10]}})
    lake.index(MinMax("x"), MinMax("y"), ValueList("x"), ValueList("y"))
    lake.view()
    check(lake, "x > y", "abc")
    check(lake, "x IN (y - 8)", "abc")
    check(lake, "x IN (5, y - 8)", "abc")
    check(lake, "x = x", "abc", ValueList=None)
    check(lake, "x < y AND y < 6", "ab")


def test_c12_long_lists_keep_order_and_type(lake: Lake) -> None:
    """UTF-16 puts an emoji below U+FF00; UTF-8 and Spark put it above."""
    files(lake, {"a": {"s": ["\U0001f600"]}, "b": {"s": ["\uff21"]}, "c": {"s": ["\uff41", "\U0001f680"]}, "d": {"s": ["k"]}})
    lake.index(MinMax("s"), ValueList("s"), Prefix("s", 1), Suffix("s", 1))
    lake.view()
    around = [chr(0xFF00 + i) for i in range(0x22, 0x60)] + ["\U0001f600"]
    check(lake, f"s IN ({listed(around)})", "ac")
    check(lake, f"s NOT IN ({listed(around)})", "bcd", Prefix="abcd", Suffix="abcd")
    check(lake, "s > '\uff21'", "ac", Prefix=None, Suffix=None)
    check(lake, "s BETWEEN '\uff30' AND '\uff50'", "", MinMax="c", Prefix=None, Suffix=None, ValueList="c")


def test_c12_long_lists_of_numbers(lake: Lake) -> None:
    files(
        lake, {"a": {"x": pa.array([7], pa.int16())}, "b": {"x": pa.array([100], pa.int16())}, "c": {"x": pa.array([-3, 300], pa.int16())}}
    )
    lake.index(MinMax("x"), ValueList("x"))
    lake.view()
    odd = range(1, 99, 2)
    check(lake, f"x IN ({', '.join(map(str, odd))})", "a", MinMax="ac")
    check(lake, f"x IN ({', '.join(f'{i}L' for i in odd)}, 3000000000L)", "a", MinMax="ac")
    check(lake, f"x IN ({', '.join(f'{i}.5D' for i in odd)})", "", MinMax=None)
    check(lake, f"x NOT IN ({', '.join(map(str, odd))})", "bc")
    check(lake, f"x IN ({', '.join(str(i) for i in range(3000))})", "abc")


def listed(texts: list[str]) -> str:
    return ", ".join(f"'{text}'" for text in texts)


def test_c13_two_predicates_on_one_array(lake: Lake) -> None:
    files(lake, {"a": {"a": [[100, 1]], "s": ["100,1"]}, "b": {"a": [[20, 30]], "s": ["20,30"]}, "c": {"a": [[60, 7]], "s": ["60,7"]}})
    lake.index(MinMax("array_max(a)"), ValueList("array_max(a)"), MinMax("a[0]"), ValueList("a[0]"))
    lake.view()
    check(lake, "exists(a, x -> x > 50) AND exists(a, x -> x < 5)", "abc")
    check(lake, "array_contains(a, 100) AND array_contains(a, 1)", "abc")
    check(lake, "array_max(a) > 50 AND exists(a, x -> x < 5)", "ac")
    check(lake, "a[0] > 50 AND a[1] < 5", "ac")
    lake.index(MinMax("a"), ValueList("a"))
    check(lake, "exists(a, x -> x > 50) AND exists(a, x -> x < 5)", "a")
    check(lake, "exists(a, x -> x > 50) AND exists(a, x -> x < 10)", "ac")
    check(lake, "array_contains(a, 100) AND array_contains(a, 1)", "a")


def test_c14_ranges_of_an_or_are_not_joined(lake: Lake) -> None:
    files(lake, {"a": {"x": [101]}, "b": {"x": [65]}, "c": {"x": [1, 200]}, "d": {"x": [80]}})
    lake.index(MinMax("x"), ValueList("x"))
    lake.view()
    check(lake, "(x > 60 AND x < 70) OR x = 101", "ab", MinMax="abc", ValueList="abc")
    check(lake, "x > 60 AND (x < 70 OR x = 101)", "ab", MinMax="abc", ValueList="abc")
    check(lake, "x < 2 OR x > 150", "c")
    check(lake, "x NOT BETWEEN 65 AND 101", "c")


def test_c_each_kind_alone_reads_what_it_knows_nothing_about(lake: Lake) -> None:
    """The check itself: with no kind that serves a predicate, every file is read."""
    files(lake, {"a": {"s": ["x"]}, "b": {"s": ["y"]}})
    lake.index(Suffix("s", 1), MinMax("s"))
    lake.view()
    with only(lake, "Suffix"):
        lake.check("s > 'x'", read="ab")
    lake.check("s > 'x'", read="b")
