"""TRAPS.md, section E: strings."""

from __future__ import annotations

import pyarrow as pa
import pytest

from data_skip import MinMax, Prefix, Suffix, ValueList
from tests.support import Lake, aged, settings_of
from tests.traps.kinds import check, files

HIGHEST = "\U0010ffff"
UNKNOWN: dict[str, str | None] = {"MinMax": None, "Prefix": None, "Suffix": None}
NO_AFFIX: dict[str, str | None] = {"Prefix": None, "Suffix": None}


def strings(lake: Lake, rows: dict[str, list[str | None]], length: int = 3) -> None:
    """A file for each list, with every kind of index."""
    files(lake, {name: {"s": pa.array(values, pa.string())} for name, values in rows.items()})
    lake.index(MinMax("s"), ValueList("s"), Prefix("s", length), Suffix("s", length))
    lake.view()


def test_e1_order_is_that_of_utf_8(lake: Lake) -> None:
    strings(lake, {"a": ["\U0001f600"], "b": ["Ａ"], "c": ["é", "z"], "d": ["Ａ", "\U0001f600"]})
    check(lake, "s > 'Ａ'", "ad", **NO_AFFIX)
    check(lake, "s >= 'Ａ'", "abd", **NO_AFFIX)
    check(lake, "s < 'Ａ'", "c", **NO_AFFIX)
    check(lake, "s = '\U0001f600'", "ad")
    check(lake, "s > 'z' AND s < 'Ａ'", "c", **NO_AFFIX)
    check(lake, "s LIKE '\U0001f600%'", "ad", Suffix=None)
    check(lake, "s NOT LIKE '\U0001f600%'", "bcd", Suffix=None)


def test_e2_bytes_are_unsigned(lake: Lake) -> None:
    files(lake, {"a": {"b": [b"\x80"]}, "b": {"b": [b"\x7f"]}, "c": {"b": [b"", b"\xff\xff"]}, "d": {"b": [b"\x7f\x00", None]}})
    lake.index(MinMax("b"), ValueList("b"))
    lake.view()
    check(lake, "b > X'7F'", "acd")
    check(lake, "b > X'7F01'", "ac")
    check(lake, "b >= X'80'", "ac")
    check(lake, "b < X'7F'", "c")
    check(lake, "b = X'80'", "a", MinMax="ac")
    check(lake, "b = X''", "c")
    check(lake, "b <> X'80'", "bcd")
    check(lake, "b IN (X'7F', X'81')", "b", MinMax="bc")
    check(lake, "startswith(b, X'7F')", "bd", MinMax=None)
    check(lake, "b IS NULL", "d")


def test_e3_a_cut_maximum_is_rounded_up(lake: Lake) -> None:
    strings(lake, {"a": ["a" * 200 + "z"], "b": ["a" * 128], "c": ["a" * 127 + HIGHEST + "z"], "d": ["b"]})
    check(lake, f"s > '{'a' * 200}y'", "acd", ValueList="acd", **NO_AFFIX)
    check(lake, f"s > '{'a' * 128}'", "acd", **NO_AFFIX)
    check(lake, f"s = '{'a' * 200}z'", "a", Prefix="abc")
    check(lake, f"s >= '{'a' * 127}b'", "cd", MinMax="acd", **NO_AFFIX)
    check(lake, "s < 'b'", "abc", **NO_AFFIX)


def test_e3_a_cut_maximum_of_bytes(lake: Lake) -> None:
    files(lake, {"a": {"b": [b"a" * 200 + b"z"]}, "b": {"b": [b"\xff" * 200]}, "c": {"b": [b"a" * 127 + b"\xff\xff"]}, "d": {"b": [b"a"]}})
    lake.index(MinMax("b"), ValueList("b"))
    lake.view()
    check(lake, f"b > X'{'61' * 200}'", "abc")
    check(lake, f"b > X'{'ff' * 150}'", "b")
    check(lake, f"b > X'{'61' * 127}fe'", "bc")
    check(lake, "b < X'62'", "acd")


@pytest.mark.parametrize("character", ["\U0001f600", "é", "e\u0301"], ids=["emoji", "accent", "combining"])
def test_e4_texts_are_cut_between_code_points(lake: Lake, character: str) -> None:
    strings(lake, {"a": ["x" * 127 + character * 5], "b": ["x" * 126 + character * 5 + "z"], "c": ["x"], "d": ["y" + character]}, length=1)
    check(lake, f"s > '{'x' * 127}'", None)
    check(lake, f"s = '{'x' * 127}{character * 5}'", "a", MinMax=None, Prefix=None, Suffix=None)
    check(lake, f"s LIKE '%{character}'", "ad", MinMax=None, Prefix=None)
    check(lake, f"s LIKE 'y{character}%'", "d", Prefix="d", Suffix=None)
    check(lake, f"s >= 'y{character}'", "d", **NO_AFFIX)


def test_e5_the_highest_code_point_cannot_grow(lake: Lake) -> None:
    strings(lake, {"a": [HIGHEST * 200 + "x"], "b": ["a" + HIGHEST * 3], "c": ["b"], "d": [chr(0xD7FF) + "k"]}, length=2)
    check(lake, f"s > '{HIGHEST * 200}'", "a", **NO_AFFIX)
    check(lake, f"s LIKE '{HIGHEST}%'", "a", Suffix=None)
    check(lake, f"s LIKE 'a{HIGHEST}%'", "b", Suffix=None)
    check(lake, f"s NOT LIKE '{HIGHEST}%'", "bcd", MinMax=None, Suffix=None)
    check(lake, f"startswith(s, '{chr(0xD7FF)}')", "d", Suffix=None)
    check(lake, f"s > '{chr(0xD7FF)}z'", "a", **NO_AFFIX)


@pytest.mark.parametrize("batch_rows", [1, 10_000])
def test_e5_a_maximum_that_cannot_be_rounded_up_stays_unknown(lake: Lake, batch_rows: int) -> None:
    """Whatever else the file holds, and in whatever order its batches come."""
    highest = HIGHEST * 200
    files(lake, {"a": {"s": ["b", highest, "c"]}, "b": {"s": [highest, "b"]}, "c": {"s": ["b", "c"]}})
    lake.file("d", {"s": ["b", None, highest]})
    with settings_of(lake.spark, {"spark.sql.execution.arrow.maxRecordsPerBatch": str(batch_rows)}):
        lake.index(MinMax("s"))
    lake.view()
    check(lake, "s > 'd'", "abd")
    check(lake, "s < 'b'", "")
    check(lake, f"s = '{highest}'", "abd")


def test_e6_e7_cut_bounds_are_no_values(lake: Lake) -> None:
    long = "m" * 6000
    strings(lake, {"a": [long], "b": ["m" * 128], "c": ["m" * 129]})
    check(lake, f"s <> '{'m' * 128}'", "ac", MinMax="ac", **NO_AFFIX)
    check(lake, f"s = '{long}'", "a", MinMax="ac", Prefix="abc", Suffix="abc")
    check(lake, f"s > '{'m' * 5999}'", "a", MinMax="ac", **NO_AFFIX)
    check(lake, f"NOT (s <=> '{long}')", "bc", MinMax=None, **NO_AFFIX)
    check(lake, "s IS NOT NULL", "abc")
    check(lake, "s IS NULL", "")
    lake.query("SELECT min(s), max(s), count(s) FROM t")


def test_e8_like_with_escapes(lake: Lake) -> None:
    strings(lake, {"a": ["a%b"], "b": ["a_b", "a%"], "c": ["axb"], "d": ["a\\b"]})
    check(lake, "s LIKE 'a#%b' ESCAPE '#'", "a", MinMax="ab")
    check(lake, "s LIKE 'a#%%' ESCAPE '#'", "ab", Suffix=None)
    check(lake, "s LIKE '%#%' ESCAPE '#'", "b", MinMax=None, Prefix=None)
    check(lake, r"s LIKE r'a\%b'", "a", MinMax="ab")
    check(lake, r"s LIKE r'a\_b%'", "b", Suffix=None)
    check(lake, r"s LIKE r'a\\%'", "d", MinMax="bd", Suffix=None)
    check(lake, "s NOT LIKE 'a#%b' ESCAPE '#'", "bcd", MinMax=None, **NO_AFFIX)
    check(lake, "s LIKE 'a%%b' ESCAPE '%'", "a", MinMax=None, **NO_AFFIX)


def test_e9_one_underscore_is_one_code_point(lake: Lake) -> None:
    strings(lake, {"a": ["a\nb"], "b": ["\U0001f600"], "c": ["a\U0001f600b", "é"], "d": ["ab"]})
    check(lake, "s LIKE 'a_b'", "ac", MinMax="acd", Prefix=None, Suffix="acd")
    check(lake, "s LIKE '_'", "bc", MinMax=None, **NO_AFFIX)
    check(lake, "s LIKE 'a%b'", "acd", Prefix="acd", Suffix="acd")
    check(lake, "s LIKE '%\n%'", "a", MinMax=None, **NO_AFFIX)
    check(lake, "s NOT LIKE '_'", "acd", MinMax=None, **NO_AFFIX)
    check(lake, "s LIKE '__'", "d", MinMax=None, **NO_AFFIX)


def test_e10_the_empty_pattern(lake: Lake) -> None:
    strings(lake, {"a": [""], "b": ["x"], "c": [None]})
    check(lake, "s LIKE ''", "a")
    check(lake, "s LIKE '%'", "ab", Suffix=None, Prefix=None)
    check(lake, "s LIKE '%%'", "ab", Suffix=None, Prefix=None, MinMax=None)
    check(lake, "s NOT LIKE ''", "b")
    check(lake, "s NOT LIKE '%'", "", **NO_AFFIX, MinMax=None)
    check(lake, "startswith(s, '')", "ab", **NO_AFFIX)
    check(lake, "s = ''", "a")


def test_e11_values_shorter_than_the_affix(lake: Lake) -> None:
    strings(lake, {"a": ["ab"], "b": ["b"], "c": ["abcdeb"], "d": ["xab", None]})
    check(lake, "s LIKE 'a%b'", "ac", Suffix="abcd")
    check(lake, "s LIKE 'ab%b'", "c", MinMax=None, Prefix="ac", Suffix="abcd")
    check(lake, "s LIKE 'ab%'", "ac", Suffix=None)
    check(lake, "s LIKE 'abcde%'", "c", Suffix=None)
    check(lake, "s LIKE '%b'", "abcd", MinMax=None, Prefix=None)
    check(lake, "s LIKE '%ab'", "ad", MinMax=None, Prefix=None)
    check(lake, "s LIKE '%cdeb'", "c", MinMax=None, Prefix=None)
    check(lake, "s = 'ab'", "a")
    check(lake, "s = 'xab'", "d")
    check(lake, "s = 'abc'", "", Prefix="c")
    check(lake, "s IN ('b', 'abcdeb')", "bc")
    check(lake, "s NOT LIKE '%b'", "", MinMax=None, Prefix=None)
    check(lake, "s NOT LIKE 'ab%'", "bd", Suffix=None)


def test_e12_regular_expressions_have_no_prefix(lake: Lake) -> None:
    strings(lake, {"a": ["xabc", "xabd"], "b": ["QX", "QXY"], "c": ["a\nq", "a\nr"], "d": ["zz", "zzb", "zzz"]})
    check(lake, "s RLIKE '^q|x'", "a", **UNKNOWN)
    check(lake, "s RLIKE 'ab?'", "ac", **UNKNOWN)
    check(lake, "s RLIKE '(?i)^q'", "b", **UNKNOWN)
    check(lake, "s RLIKE '(?m)^q'", "c", **UNKNOWN)
    check(lake, "s RLIKE '^zz$'", "d", **UNKNOWN)
    check(lake, "s ILIKE 'qx%'", "b", **UNKNOWN)
    check(lake, "s ILIKE 'XABC'", "a", **UNKNOWN)
    check(lake, "s NOT ILIKE '%x%'", "cd", **UNKNOWN)
    check(lake, "regexp_like(s, '^x')", "a", **UNKNOWN)
    check(lake, "s LIKE ALL ('x%', '%c')", "a", **UNKNOWN)
    check(lake, "s LIKE ANY ('x%', 'Q%')", "ab", **UNKNOWN)


def test_e13_the_end_of_a_prefix(lake: Lake) -> None:
    strings(lake, {"a": ["ab" + HIGHEST + "z"], "b": ["ac"], "c": ["ab"], "d": ["aaz"]}, length=4)
    check(lake, "s LIKE 'ab%'", "ac", Suffix=None)
    check(lake, f"s LIKE 'ab{HIGHEST}%'", "a", Suffix=None)
    check(lake, "s LIKE 'aa%'", "d", Suffix=None)
    check(lake, "NOT startswith(s, 'ab')", "bd", Suffix=None)
    check(lake, "s >= 'ab' AND s < 'ac'", "ac", **NO_AFFIX)


def test_e14_functions_that_do_not_keep_the_order(lake: Lake) -> None:
    strings(lake, {"a": ["B", "a"], "b": ["a", "a0b"], "c": ["ab", "abb"], "d": ["  a", "  c"], "e": ["Zz", "Zzz"]})
    check(lake, "lower(s) = 'b'", "a", **UNKNOWN)
    check(lake, "upper(s) > 'Y'", "e", **UNKNOWN)
    check(lake, "trim(s) = 'a'", "abd", **UNKNOWN)
    check(lake, "concat(s, 'x') = 'ax'", "ab", **UNKNOWN)
    check(lake, "rpad(s, 3, 'b') = 'abb'", "abc", **UNKNOWN)
    check(lake, "replace(s, 'a', 'q') = 'q'", "ab", **UNKNOWN)
    check(lake, "reverse(s) = 'ba'", "c", **UNKNOWN)
    check(lake, "substring(s, 2) = 'b'", "c", **UNKNOWN)
    check(lake, "left(s, 1) = 'Z'", "e", **UNKNOWN)
    check(lake, "length(s) = 1", "ab", **UNKNOWN)
    check(lake, "hash(s) = hash('ab')", "c", **UNKNOWN)


def test_e15_e16_spark_computes_the_values_of_expressions(lake: Lake) -> None:
    """The Kelvin sign, a dotted I, and blanks that Python strips and Spark does not."""
    files(
        lake,
        {"a": {"s": ["\u212a"]}, "b": {"s": ["ß"]}, "c": {"s": ["İ"]}, "d": {"s": ["a\t"]}, "e": {"s": ["k "]}, "f": {"s": ["\u00a0k"]}},
    )
    lake.index(
        *(kind(f) for kind in (MinMax, ValueList) for f in ("lower(s)", "upper(s)", "trim(s)")),
        Prefix("lower(s)", 8),
        Suffix("upper(s)", 8),
    )
    lake.view()
    check(lake, "lower(s) = 'k'", "a", Suffix=None)
    check(lake, "upper(s) = 'SS'", "b", Prefix=None, MinMax=None)
    check(lake, "lower(s) = lower('İ')", "c", Suffix=None)
    check(lake, "trim(s) = 'a\t'", "d", **NO_AFFIX)
    check(lake, "trim(s) = 'k'", "e", **NO_AFFIX)
    check(lake, "trim(s) = '\u00a0k'", "f", **NO_AFFIX)
    check(lake, "lower(s) LIKE 'k%'", "ae", Suffix=None)
    check(lake, "upper(s) LIKE '%SS'", "b", Prefix=None, MinMax=None)
    check(lake, "lower(upper(s)) = 'k'", None)
    check(lake, "s = 'ß'", "abcdef")


def test_e17_padded_chars(lake: Lake) -> None:
    files(lake, {"a": {"c": ["ab"]}, "b": {"c": ["abc  "]}, "c": {"c": ["z"]}, "d": {"c": pa.array([None], pa.string())}})
    lake.spark.sql(f"CREATE TABLE padded (c CHAR(5)) USING parquet LOCATION '{lake.folder}'")
    try:
        table = lake.skipping.table("padded")
        table.create_index(MinMax("c"), ValueList("c"), Prefix("c", 4), Suffix("c", 4), ValueList("length(c)"))
        lake.spark.table("padded").createOrReplaceTempView("t")
        check(lake, "c = 'ab'", "a")
        check(lake, "c = 'ab   '", "a")
        check(lake, "c = 'abc'", "b")
        check(lake, "length(c) = 5", "abc", MinMax=None, **NO_AFFIX)
        check(lake, "length(c) = 2", "", MinMax=None, **NO_AFFIX)
        check(lake, "c LIKE 'ab%'", "ab", Suffix=None)
        check(lake, "c LIKE '% '", "abc", MinMax=None, Prefix=None)
        check(lake, "c IN ('z', 'q')", "c")
        check(lake, "c IS NULL", "d")
        check(lake, "c > 'b'", "c", **NO_AFFIX)
        with settings_of(lake.spark, {"spark.sql.readSideCharPadding": "false"}):
            lake.spark.table("padded").createOrReplaceTempView("t")
            for where in ("c = 'ab'", "length(c) = 2", "c = 'abc'"):
                lake.query(f"SELECT * FROM padded WHERE {where}")
    finally:
        lake.spark.sql("DROP TABLE padded")


def test_e17_padded_chars_in_csv(lake: Lake) -> None:
    for name, text in {"a": "ab,1\n", "b": "abc  ,2\n", "c": "abcdefgh,x\n"}.items():
        (lake.folder / name).write_text(text)
        aged(lake.folder / name)
    lake.spark.sql(f"CREATE TABLE padded (c CHAR(5), x INT) USING csv LOCATION '{lake.folder}'")
    try:
        lake.skipping.table("padded").create_index(MinMax("c"), ValueList("c"), Prefix("c", 4), Suffix("c", 4))
        lake.spark.table("padded").createOrReplaceTempView("t")
        check(lake, "c = 'ab'", "ac")
        check(lake, "c = 'abc'", "bc")
        check(lake, "x IS NULL", "abc")
    finally:
        lake.spark.sql("DROP TABLE padded")


def test_e18_the_empty_string_is_not_null(lake: Lake) -> None:
    strings(lake, {"a": [""], "b": [None], "c": ["", None], "d": ["x"]})
    check(lake, "s = ''", "ac")
    check(lake, "s IS NULL", "bc")
    check(lake, "s <> ''", "d")
    check(lake, "s < 'a'", "ac", **NO_AFFIX)
    check(lake, "NOT (s <=> '')", "bcd")
    check(lake, "s <=> NULL", "bc")


@pytest.mark.parametrize("options", [{}, {"emptyValue": "-"}, {"nullValue": "NA"}], ids=str)
def test_e18_the_empty_string_in_csv(lake: Lake, options: dict[str, str]) -> None:
    for name, text in {"a": '1,""\n', "b": "1,\n", "c": "1,-\n", "d": "1,NA\n"}.items():
        (lake.folder / name).write_text(text)
        aged(lake.folder / name)
    lake.index(MinMax("s"), ValueList("s"), Prefix("s"), Suffix("s"), format="csv", schema="x INT, s STRING", options=options)
    lake.view(format="csv", schema="x INT, s STRING", **options)
    check(lake, "s = ''", None)
    check(lake, "s IS NULL", None)
    check(lake, "s = '-'", None)
    check(lake, "s = 'NA'", "" if "nullValue" in options else "d")
    check(lake, "s = 'x'", "")


def test_e19_text_that_is_no_utf_8(lake: Lake) -> None:
    lake.file("a", {"s": pa.array([b"\x80"]).view(pa.string())})
    lake.file("b", {"s": pa.array([b"k\xff", b"x"]).view(pa.string())})
    lake.file("c", {"s": ["k"]})
    lake.file("d", {"s": ["\ufffd"]})
    lake.index(MinMax("s"), ValueList("s"), Prefix("s", 2), Suffix("s", 2))
    lake.view()
    check(lake, "s = '\ufffd'", "abd")
    check(lake, "s = 'k'", "abc")
    check(lake, "s LIKE 'k%'", "abc", Suffix=None)
    check(lake, "s = CAST(X'80' AS STRING)", None)
    check(lake, "s > CAST(X'80' AS STRING)", None)
    check(lake, "s IN ('x', CAST(X'6BFF' AS STRING))", None)
    check(lake, "startswith(s, CAST(X'6BFF' AS STRING))", None)
    check(lake, "s NOT IN ('k', CAST(X'80' AS STRING))", None)


def test_e20_names_ignore_case(lake: Lake) -> None:
    files(lake, {"a": {"COL": ["4x"]}, "b": {"col": ["5"]}, "c": {"Col": ["x4"]}})
    lake.index(MinMax("Col"), ValueList("cOl"), Prefix("coL"), Suffix("COL"), schema="Col STRING", format="parquet")
    lake.view(schema="Col STRING")
    check(lake, "col LIKE '4%'", "a", Suffix=None)
    check(lake, "COL LIKE '%4'", "c", MinMax=None, Prefix=None)
    check(lake, "Col = '5'", "b")
    check(lake, "cOL IS NULL", "")
    lake.view(schema="COL STRING")
    check(lake, "col LIKE '4%'", None)
