"""TRAPS.md, section A: floating point and numbers."""

from __future__ import annotations

from decimal import Decimal
from itertools import permutations
from math import inf, nan

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from data_skip import MinMax, ValueList
from tests.support import Lake, aged, settings_of
from tests.traps.kinds import check, files

FLOATING = pytest.mark.parametrize("type_", [pa.float64(), pa.float32()], ids=str)


@FLOATING
def test_a1_nan_is_above_every_number(lake: Lake, type_: pa.DataType) -> None:
    for name, values in {"a": [1.0, 2.0, nan], "b": [1.0, 2.0], "c": [None, 7.0]}.items():
        lake.file(name, {"v": pa.array(values, type_)})
    lake.index(MinMax("v"), ValueList("v"))
    lake.view()
    check(lake, "v > 100", "a")
    check(lake, "v >= 100", "a")
    check(lake, "v = double('NaN')", "a")
    check(lake, "v >= double('NaN')", "a")
    check(lake, "v <=> double('NaN')", "a")
    check(lake, "v > double('NaN')", "")
    check(lake, "v < double('NaN')", "abc")
    check(lake, "v <= double('NaN')", "abc")
    check(lake, "v <> double('NaN')", "abc")
    check(lake, "v IN (100, double('NaN'))", "a")
    check(lake, "NOT (v < 3)", "ac")
    check(lake, "NOT (v <= 7)", "a")
    check(lake, "v <> 7", "ab")
    check(lake, "v NOT IN (1, 2)", "ac", MinMax="abc")
    check(lake, "v BETWEEN 3 AND 6", "", MinMax=None, ValueList=None)
    check(lake, "isnan(v)", "a", MinMax=None)
    check(lake, "NOT isnan(v)", "abc")


@pytest.mark.parametrize("batch_rows", [1, 10_000])
def test_a2_bounds_do_not_depend_on_where_nan_stands(lake: Lake, batch_rows: int) -> None:
    for name, values in zip("abcdef", permutations([nan, 1.0, 9.0]), strict=True):
        lake.file(name, {"v": list(values)})
    lake.file("g", {"v": [10.0, 20.0, nan]})
    with settings_of(lake.spark, {"spark.sql.execution.arrow.maxRecordsPerBatch": str(batch_rows)}):
        lake.index(MinMax("v"), ValueList("v"))
    lake.view()
    check(lake, "v < 2", "abcdef")
    check(lake, "v = 9", "abcdef")
    check(lake, "v > 20", "abcdefg")
    check(lake, "v < 1", "")
    check(lake, "v = 15", "", MinMax="g")


def test_a3_only_nan_is_not_all_null(lake: Lake) -> None:
    files(lake, {"a": {"v": [nan]}, "b": {"v": pa.array([None], pa.float64())}, "c": {"v": [-1.0]}})
    lake.index(MinMax("v"), ValueList("v"))
    lake.view()
    check(lake, "v > 0", "a")
    check(lake, "v IS NOT NULL", "ac")
    check(lake, "v IS NULL", "b")
    check(lake, "v < 0", "c")
    check(lake, "v = 0", "")
    check(lake, "NOT (v <=> -1)", "ab")


def test_a4_a_row_group_of_nan_counts(lake: Lake) -> None:
    groups = [pa.table({"v": v}) for v in ([nan, nan], [1.0, 2.0], pa.array([None, None], pa.float64()))]
    write_row_groups(lake, "a", groups)
    write_row_groups(lake, "b", groups[1:])
    lake.index(MinMax("v"), ValueList("v"))
    lake.view()
    check(lake, "v > 2", "a")
    check(lake, "v = 2", "ab")
    check(lake, "v < 1", "")
    check(lake, "v IS NULL", "ab")


def write_row_groups(lake: Lake, name: str, groups: list[pa.Table]) -> None:
    with pq.ParquetWriter(lake.folder / name, groups[0].schema) as writer:
        for group in groups:
            writer.write_table(group)
    aged(lake.folder / name)


def test_a5_bounds_are_not_those_of_a_footer_that_leaves_nan_out(lake: Lake) -> None:
    rows = "SELECT double(v) AS v FROM VALUES ({}) AS r(v)"
    lake.file("a", {"v": [1.0, 2.0, nan]})
    lake.spark_file("b", lake.spark.sql(rows.format("1), (2), (double('NaN')")))
    lake.file("c", {"v": [1.0, 2.0]})
    lake.spark_file("d", lake.spark.sql(rows.format("1), (2")))
    lake.index(MinMax("v"), ValueList("v"))
    lake.view()
    check(lake, "v > 100", "ab")


@FLOATING
def test_a6_minus_zero_is_zero(lake: Lake, type_: pa.DataType) -> None:
    for name, values in {"a": [-0.0], "b": [0.0], "c": [1.0], "d": [-1.0, None]}.items():
        lake.file(name, {"v": pa.array(values, type_)})
    lake.index(MinMax("v"), ValueList("v"))
    lake.view()
    for zero in ("0", "-0D"):
        check(lake, f"v = {zero}", "ab")
        check(lake, f"v >= {zero}", "abc")
        check(lake, f"v <= {zero}", "abd")
        check(lake, f"v < {zero}", "d")
        check(lake, f"v > {zero}", "c")
        check(lake, f"v <> {zero}", "cd")
        check(lake, f"v IN ({zero}, 7)", "ab")
        check(lake, f"v NOT IN ({zero}, 7)", "cd")
        check(lake, f"v <=> {zero}", "ab")
        check(lake, f"NOT (v <=> {zero})", "cd")
    check(lake, "v IN (-0D, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21)", "ab")


def test_a7_infinity_survives_the_store(lake: Lake) -> None:
    files(lake, {"a": {"v": [inf]}, "b": {"v": [-inf, 1.0]}, "c": {"v": [1e308]}})
    lake.index(MinMax("v"), ValueList("v"))
    lake.view()
    check(lake, "v > 1e308", "a")
    check(lake, "v < -1e308", "b")
    check(lake, "v = double('Infinity')", "a")
    check(lake, "v <= double('-Infinity')", "b")
    check(lake, "v < double('Infinity') AND v > 1", "c", ValueList="c")


def test_a8_float_keeps_its_exact_value(lake: Lake) -> None:
    files(lake, {"a": {"f": pa.array([0.1], pa.float32())}, "b": {"f": pa.array([0.0999], pa.float32())}})
    lake.index(MinMax("f"), ValueList("f"))
    lake.view()
    check(lake, "f > 0.1D", "a")
    check(lake, "f = 0.1D", "")
    check(lake, "f = float(0.1)", "a")
    check(lake, "f <= 0.1D", "b")
    check(lake, "cast(f AS DOUBLE) >= 0.10000000149011612D", "a")
    check(lake, "double(f) = 0.10000000149011612D", "a")


def test_a9_bigint_beyond_2_to_the_53(lake: Lake) -> None:
    files(lake, {"a": {"x": [2**53 + 1]}, "b": {"x": [2**53]}, "c": {"x": [2**63 - 1]}, "d": {"x": [-(2**63)]}})
    lake.index(MinMax("x"), ValueList("x"))
    lake.view()
    check(lake, f"x = {2**53 + 1}", "a")
    check(lake, f"x = {2**53}", "b")
    check(lake, f"x > {2**53}", "ac")
    check(lake, f"x >= {2**63 - 1}", "c")
    check(lake, f"x < -{2**63 - 1}", "d")
    check(lake, f"x IN ({2**53 + 1}, {2**53 + 2})", "a")


def test_a10_several_bigints_equal_one_double(lake: Lake) -> None:
    files(lake, {"a": {"x": [2**53 + 1]}, "b": {"x": [2**53 - 1]}, "c": {"x": [2**53 + 3]}, "d": {"x": [2**63 - 1]}})
    lake.index(MinMax("x"), ValueList("x"))
    lake.view()
    check(lake, "x = 9007199254740992.0D", "a")
    check(lake, "x <= 9007199254740992.0D", "ab")
    check(lake, "x > 9007199254740992.0D", "cd")
    check(lake, "x = 9223372036854775807D", "d")
    check(lake, "x < 9223372036854775807D", "abc")
    check(lake, "NOT (x = 9007199254740992.0D)", "bcd")
    check(lake, "x IN (9007199254740992.0D, 5.0D)", "a")


def test_a11_a_literal_is_never_narrowed(lake: Lake) -> None:
    files(lake, {"a": {"x": [2]}, "b": {"x": [3]}, "c": {"x": pa.array([None], pa.int64())}})
    lake.index(MinMax("x"), ValueList("x"))
    lake.view()
    for half in ("2.5", "2.5D"):
        check(lake, f"x < {half}", "a")
        check(lake, f"x >= {half}", "b")
        check(lake, f"x = {half}", "", MinMax=None)
        check(lake, f"x BETWEEN 1.5 AND {half}", "a")
        check(lake, f"x <> {half}", "ab", MinMax=None)
        check(lake, f"x IN ({half}, 3)", "b")
    for type_ in ("TINYINT", "SMALLINT", "INT"):
        narrow = Lake(lake.spark, lake.skipping, lake.folder / type_)
        for name, value in (("a", 100), ("b", -100)):
            narrow.spark_file(name, lake.spark.sql(f"SELECT CAST({value} AS {type_}) AS x"))
        narrow.index(MinMax("x"), ValueList("x"))
        narrow.view()
        check(narrow, "x < 3000000000", "ab")
        check(narrow, "x > -3000000000", "ab")
        check(narrow, "x > 99.5", "a")
        check(narrow, "x = 100000000000", "", Spark=None)


def test_a12_decimals_are_numbers(lake: Lake) -> None:
    money = pa.decimal128(10, 2)
    rows = {"a": ["1.10"], "b": ["9.00"], "c": ["10.00"], "d": ["-3.00"]}
    for name, values in rows.items():
        lake.file(name, {"d": pa.array([Decimal(v) for v in values], money)})
    lake.index(MinMax("d"), ValueList("d"))
    lake.view()
    check(lake, "d = 1.1", "a")
    check(lake, "d = 1.100", "a")
    check(lake, "d = 10", "c")
    check(lake, "d > 9", "c")
    check(lake, "d >= 9.0", "bc")
    check(lake, "d < -2.999", "d")
    check(lake, "d = 1.1D", "a")
    check(lake, "d IN (1.1, 9.001)", "a")
    check(lake, "d > 1.105", "bc")


def test_a13_negative_decimals_come_first(lake: Lake) -> None:
    wide = pa.decimal128(38, 1)
    rows = {
        "a": ["-5.5"],
        "b": ["5.5"],
        "c": ["-9999999999999999999999999999999999999.9"],
        "d": ["9999999999999999999999999999999999999.9"],
    }
    for name, values in rows.items():
        lake.file(name, {"d": pa.array([Decimal(v) for v in values], wide)})
    lake.index(MinMax("d"), ValueList("d"))
    lake.view()
    check(lake, "d < 0", "ac")
    check(lake, "d > 0", "bd")
    check(lake, "d > 5.5", "d")
    check(lake, "d < -5.5", "c")
    check(lake, "d = -5.5", "a")
    check(lake, "d <> -5.5", "bcd")
    check(lake, "d > 1e30", "d")


def test_a14_unsigned_numbers(lake: Lake) -> None:
    files(
        lake,
        {
            "a": {"u": pa.array([3_000_000_000], pa.uint32()), "w": pa.array([2**64 - 1], pa.uint64()), "b": pa.array([200], pa.uint8())},
            "b": {"u": pa.array([7], pa.uint32()), "w": pa.array([7], pa.uint64()), "b": pa.array([7], pa.uint8())},
        },
    )
    lake.index(*(kind(column) for kind in (MinMax, ValueList) for column in "uwb"))
    lake.view()
    check(lake, "u > 2500000000", "a")
    check(lake, "u < 0", "")
    check(lake, "w > 9223372036854775807", "a")
    check(lake, "w = 18446744073709551615", "a")
    check(lake, "w < 10", "b")
    check(lake, "b > 127", "a")


def test_a15_sums_that_wrap_are_not_monotone(lake: Lake) -> None:
    with settings_of(lake.spark, {"spark.sql.ansi.enabled": "false"}):
        files(lake, {"a": {"x": pa.array([2**31 - 1], pa.int32())}, "b": {"x": pa.array([5], pa.int32())}})
        lake.index(MinMax("x"), ValueList("x"))
        lake.view()
        check(lake, "x + 1 < 0", "a", MinMax=None)
        check(lake, "CAST(x AS SMALLINT) = -1", "a", MinMax=None)
        check(lake, "CAST(x AS TINYINT) < 0", "a", MinMax=None)
        check(lake, "CAST(x AS BIGINT) + 1 > 2147483647", "a", MinMax=None)
        check(lake, "CAST(x AS BIGINT) > 10", "a")


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_a15_days_and_whole_quotients_wrap_in_any_mode(lake: Lake, ansi: str) -> None:
    numbers = {"low": (-(2**31), -(2**31) + 9), "middle": (0, 10), "high": (2**31 - 10, 2**31 - 1)}
    huge = {"low": (1, 2), "middle": (10, 2000), "high": (10**27, 2 * 10**27)}
    for name in numbers:
        lake.file(f"{name}.parquet", {"x": pa.array(numbers[name], pa.int32()), "h": pa.array(huge[name], pa.decimal128(38, 10))})
    lake.index(MinMax("x"), MinMax("h"))
    with settings_of(lake.spark, {"spark.sql.ansi.enabled": ansi}):
        for where in (
            "date_add(DATE'9999-12-31', x) = DATE'9999-12-31'",
            "date_sub(DATE'2024-01-01', x) < DATE'2023-12-28'",
            "date_add(date_from_unix_date(x), 30) < DATE'1969-01-01'",
            "datediff(date_from_unix_date(x), DATE'2024-01-01') > 5",
            "next_day(date_from_unix_date(x), 'MO') < DATE'1970-01-05'",
            "trunc(date_from_unix_date(x), 'WEEK') > DATE'1970-01-05'",
            "h div 3 > 0",
            "h div 3 = 666",
            "h div 3 > 1000000",
        ):
            lake.check(where)


def test_a15_a_double_that_becomes_an_integer_wraps_without_ansi(lake: Lake) -> None:
    with settings_of(lake.spark, {"spark.sql.ansi.enabled": "false"}):
        files(lake, {"a": {"v": [nan]}, "b": {"v": [1e300]}, "c": {"v": [-7.0]}, "d": {"v": [40_000.0]}})
        lake.index(MinMax("v"), ValueList("v"))
        lake.view()
        check(lake, "CAST(v AS INT) = 0", "a", MinMax=None)
        check(lake, "CAST(v AS SMALLINT) < 0", "bcd", MinMax=None)
        check(lake, "CAST(v AS BIGINT) > 1000", "bd", MinMax=None)


def test_a16_skipping_raises_no_error_of_its_own(lake: Lake) -> None:
    files(lake, {"a": {"s": ["abc"], "x": [1]}, "b": {"s": ["10"], "x": [2]}, "c": {"s": ["3"], "x": [2]}})
    lake.index(MinMax("s"), ValueList("s"), MinMax("x"))
    lake.view()
    lake.query("SELECT * FROM t WHERE x = 2 AND cast(s AS INT) > 5", read="b")
    lake.query("SELECT * FROM t WHERE x = 2 AND s = 10", read="b")
    with pytest.raises(Exception, match="CAST_INVALID_INPUT"):
        lake.query("SELECT * FROM t WHERE cast(s AS INT) > 5")
    with pytest.raises(Exception, match="DIVIDE_BY_ZERO"):
        lake.query("SELECT * FROM t WHERE 1 / (x - 1) > 5")


def test_a17_zeros_in_a_dictionary(lake: Lake) -> None:
    lake.file("a", {"v": [-0.0, -0.0, 5.0]})
    lake.file("b", {"v": [0.0, 0.0, 5.0]})
    lake.spark_file("c", lake.spark.sql("SELECT double('-0.0') AS v"))
    lake.file("d", {"v": [5.0, 5.0]})
    lake.index(MinMax("v"), ValueList("v"))
    lake.view()
    check(lake, "v = 0", "abc")
    check(lake, "v = -0D", "abc")
