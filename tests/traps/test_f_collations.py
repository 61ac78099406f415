"""TRAPS.md, section F: collations. Where one takes part, only Spark itself decides: ValueList asks it, the others keep every file."""

from __future__ import annotations

import pytest

from data_skip import MinMax, Prefix, Suffix, ValueList
from data_skip.errors import DataSkipError
from tests.support import Lake
from tests.traps.kinds import check, files

UNKNOWN = dict.fromkeys(("MinMax", "Prefix", "Suffix"), "abcd")
ROWS = {"a": {"s": ["ABC"]}, "b": {"s": ["abd  "]}, "c": {"s": ["é", None]}, "d": {"s": ["e\u0301"]}}


def plain(lake: Lake) -> None:
    """A column without collation, with every kind of index."""
    files(lake, ROWS)
    lake.index(MinMax("s"), ValueList("s"), Prefix("s", 3), Suffix("s", 3))
    lake.view()


@pytest.mark.parametrize("collation", ["UTF8_LCASE", "UNICODE_CI", "UNICODE_CI_AI"])
def test_f1_a_column_with_a_collation(lake: Lake, collation: str) -> None:
    schema = f"s STRING COLLATE {collation}"
    files(lake, ROWS)
    for kind in (MinMax, Prefix, Suffix):
        with pytest.raises(DataSkipError, match="ValueList"):
            lake.index(kind("s"), schema=schema, format="parquet")
    lake.index(ValueList("s"), MinMax("s COLLATE UTF8_BINARY"), schema=schema, format="parquet")
    lake.view(schema=schema)
    check(lake, "s = 'abc'", "a", MinMax="abcd")
    check(lake, "s <> 'abc'", "bcd", MinMax="abcd")
    check(lake, "s IN ('abc', 'x')", "a", MinMax="abcd")
    check(lake, "s > 'abcz' AND s < 'abe'", "b", MinMax="abcd")
    check(lake, "startswith(s, 'ab')", "ab", MinMax="abcd")
    check(lake, "s IS NULL", "c", MinMax=None)
    check(lake, "s <=> 'aBc'", "a", MinMax="abcd")
    check(lake, "s IS NOT NULL", "abcd")
    check(lake, "s COLLATE UTF8_BINARY = 'ABC'", "a")
    check(lake, "s COLLATE UTF8_BINARY = 'abc'", "", MinMax=None)
    many = ", ".join(f"'v{i}'" for i in range(30))
    check(lake, f"s IN ('Abc', {many})", "a", MinMax="abcd")


def test_f2_a_collation_of_the_literal(lake: Lake) -> None:
    plain(lake)
    check(lake, "s = 'abc' COLLATE UTF8_LCASE", "a", **UNKNOWN)
    check(lake, "s = collate('abc', 'UNICODE_CI')", "a", **UNKNOWN)
    check(lake, "s IN ('abc' COLLATE UTF8_LCASE, 'x')", "a", **UNKNOWN)
    check(lake, "s COLLATE UTF8_LCASE = 'abc'", "a", **UNKNOWN)
    check(lake, "NOT (s COLLATE UTF8_LCASE = 'abc')", "bcd", **UNKNOWN)
    check(lake, "s = 'ABC' COLLATE UTF8_BINARY", "a", MinMax="a", Prefix="a", Suffix="a")
    check(lake, "s = 'abc'", "", MinMax=None, Prefix="", Suffix="")


def test_f3_unicode_order_is_not_that_of_bytes(lake: Lake) -> None:
    plain(lake)
    check(lake, "s COLLATE UNICODE > 'aaa'", "abcd", **UNKNOWN)
    check(lake, "s COLLATE UNICODE < 'abd'", "a", **UNKNOWN)
    check(lake, "s COLLATE UNICODE >= 'aba' AND s COLLATE UNICODE < 'abcz'", "a", **UNKNOWN)


def test_f4_trailing_blanks(lake: Lake) -> None:
    key = "spark.sql.collation.trim.enabled"
    lake.spark.conf.set(key, "true")
    try:
        plain(lake)
        check(lake, "s COLLATE UTF8_BINARY_RTRIM = 'abd'", "b", **UNKNOWN)
        check(lake, "s = 'abd' COLLATE UNICODE_RTRIM", "b", **UNKNOWN)
        check(lake, "s = 'abd'", "", MinMax=None, Prefix=None, Suffix="")
    finally:
        lake.spark.conf.unset(key)


def test_f5_canonical_equivalence(lake: Lake) -> None:
    plain(lake)
    check(lake, "s COLLATE UNICODE = 'é'", "cd", **UNKNOWN)
    check(lake, "s COLLATE UNICODE_AI = 'e'", "cd", **UNKNOWN)
    check(lake, "s = 'é'", "c", Suffix="c", Prefix="c")


def test_f6_like_under_a_collation(lake: Lake) -> None:
    plain(lake)
    check(lake, "s COLLATE UTF8_LCASE LIKE 'ab_'", "a", **UNKNOWN)
    check(lake, "s COLLATE UTF8_LCASE LIKE 'ab%'", "ab", **UNKNOWN)
    check(lake, "startswith(s COLLATE UTF8_LCASE, 'ab')", "ab", **UNKNOWN)
    check(lake, "endswith(s COLLATE UTF8_LCASE, 'bc')", "a", **UNKNOWN)
    check(lake, "contains(s COLLATE UTF8_LCASE, 'B')", "ab", **UNKNOWN)
    check(lake, "NOT startswith(s COLLATE UTF8_LCASE, 'ab')", "cd", **UNKNOWN)


def test_f7_no_collated_order_is_stored(lake: Lake) -> None:
    """ICU may order otherwise tomorrow: an index of bounds refuses such an expression, whatever it is computed from."""
    files(lake, ROWS)
    for expression in ("s COLLATE UNICODE", "lower(s COLLATE UNICODE_CI)", "concat(s COLLATE UTF8_LCASE, 'x')"):
        with pytest.raises(DataSkipError, match="order"):
            lake.index(MinMax(expression))
    lake.index(ValueList("s COLLATE UNICODE"))
    lake.view()
    check(lake, "s COLLATE UNICODE > 'aaa'", "abcd")
    check(lake, "s COLLATE UNICODE = 'é'", "cd")
    check(lake, "s COLLATE UNICODE < 'abd'", "a")
