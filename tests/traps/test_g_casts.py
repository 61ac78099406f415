"""TRAPS.md, section G, as far as it meets MinMax, ValueList, Prefix, Suffix and the preimages of monotone.py.

MinMax=None: this function is not monotone, or not known to be; ValueList has Spark decide. Most files hold several values,
since of a file that holds just one MinMax has Spark decide as well.
"""

from __future__ import annotations

from decimal import Decimal
from math import inf, nan

import pyarrow as pa
import pytest

from data_skip import MinMax, Prefix, Suffix, ValueList
from tests.support import Lake, settings_of
from tests.traps.kinds import ZONE, check, column, files, times

ANSI = "spark.sql.ansi.enabled"
UNKNOWN: dict[str, str | None] = {"MinMax": None, "Prefix": None, "Suffix": None}
AROUND: dict[str, str | None] = {"MinMax": None, "ValueList": None}  # read where the cast gives no value, which nobody promises


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_g1_g3_text_against_a_number_or_date(lake: Lake, ansi: str) -> None:
    rows = {"a": ["07", " 7 "], "b": ["10", "100"], "c": ["2024-1-9"], "d": ["9"], "e": [None], "f": ["7.0", "7e0"], "g": ["2024"]}
    files(lake, {file: {"s": pa.array(values, pa.string())} for file, values in rows.items()})
    with settings_of(lake.spark, {ANSI: ansi}):
        lake.index(MinMax("s"), ValueList("s"), Prefix("s", 2), Suffix("s", 2))
        lake.view()
        check(lake, "try_cast(s AS INT) = 7", "a" if ansi == "true" else "af", **UNKNOWN)
        check(lake, "try_cast(s AS INT) > 50", "bg", **UNKNOWN)
        check(lake, "try_cast(s AS DOUBLE) = 7", "af", **UNKNOWN)
        check(lake, "try_cast(s AS DATE) = DATE'2024-01-09'", "c", **UNKNOWN)
        check(lake, "try_cast(s AS DATE) >= DATE'2024-01-01'", "cg", **UNKNOWN)
        check(lake, "try_cast(s AS INT) IS NULL", None)
        if ansi == "false":
            check(lake, "s = 7", "af", **UNKNOWN)
            check(lake, "s > 50", "bg", **UNKNOWN)
            check(lake, "s = DATE'2024-01-09'", "c", **UNKNOWN)
            check(lake, "s IN (7, 9)", "adf", **UNKNOWN)


def test_g2_numbers_as_text(lake: Lake) -> None:
    column(lake, pa.int32(), {"a": [9, 10], "b": [2, 3], "c": [100, 150, 190]})
    check(lake, "string(x) = '9'", "a", MinMax=None)
    check(lake, "CAST(x AS STRING) LIKE '1%'", "ac", MinMax=None)
    check(lake, "CAST(x AS STRING) > '2'", "ab", MinMax=None)
    check(lake, "CAST(x AS STRING) NOT LIKE '1%'", "ab", MinMax=None)


def test_g4_truncation_towards_zero(lake: Lake) -> None:
    column(lake, pa.float64(), {"a": [2.7], "b": [-0.9], "c": [0.9], "d": [-1.0], "e": [3.0], "f": [-2.5, None]})
    check(lake, "CAST(x AS INT) = 2", "a", MinMax=None)
    check(lake, "CAST(x AS INT) = 0", "bc", MinMax="bc")
    check(lake, "CAST(x AS INT) < 0", "df", MinMax="df")
    check(lake, "CAST(x AS INT) <= 0", "bcdf")
    check(lake, "CAST(x AS INT) > 2", "e")
    check(lake, "CAST(x AS INT) >= 2", "ae")
    check(lake, "NOT (CAST(x AS INT) = 0)", "adef")
    check(lake, "CAST(x AS INT) IN (2, -2)", "af")
    check(lake, "CAST(x AS BIGINT) = -1", "d")
    check(lake, "CAST(x AS TINYINT) = 3", "e")
    check(lake, "NOT (CAST(x AS INT) <= 2)", "e")


def test_g4_preimages_end_where_the_cast_fails(lake: Lake) -> None:
    """Where a cast raises or gives NULL nothing is known, so those files are read: they may raise the user's own error."""
    column(lake, pa.float64(), {"a": [2.7], "b": [5.0], "c": [1e300], "d": [nan], "e": [-inf], "f": [None]})
    check(lake, "try_cast(x AS INT) = 2", "a", **AROUND)
    check(lake, "try_cast(x AS INT) > 4", "b", **AROUND)
    check(lake, "try_cast(x AS INT) IS NULL", "cdef", MinMax=None)
    check(lake, "coalesce(try_cast(x AS INT), 2) = 2", "acdef", MinMax=None)
    with pytest.raises(Exception, match="CAST_OVERFLOW"):
        lake.spark.sql("SELECT * FROM t WHERE CAST(x AS INT) = 2").collect()
    check(lake, "CAST(x AS FLOAT) > 100", "cd", MinMax=None)
    check(lake, "CAST(x AS FLOAT) = float('Infinity')", "c")
    check(lake, "CAST(x AS FLOAT) = float('NaN')", "d")


def test_g5_rounding_casts(lake: Lake) -> None:
    rows = {"a": ["2.66"], "b": ["2.64"], "c": ["-2.66"], "d": ["9.96"], "e": ["-0.04"]}
    column(lake, pa.decimal128(4, 2), {file: [Decimal(v) for v in values] for file, values in rows.items()}, "w")
    check(lake, "CAST(w AS DECIMAL(10,1)) = 2.7", "a")
    check(lake, "CAST(w AS DECIMAL(10,1)) = 2.6", "b")
    check(lake, "CAST(w AS DECIMAL(10,1)) < 0", "c")
    check(lake, "CAST(w AS DECIMAL(10,1)) = 0", "e")
    check(lake, "CAST(w AS INT) = 2", "ab")
    check(lake, "CAST(w AS INT) = 0", "e")
    check(lake, "CAST(w AS DOUBLE) > 2.65", "ad")
    check(lake, "try_cast(w AS DECIMAL(2,1)) > 9.5", "", **AROUND)
    check(lake, "round(w, 1) = 2.7", "a", MinMax=None)
    check(lake, "ceil(w) = 3", "ab", MinMax=None)
    check(lake, "floor(w) = -3", "c", MinMax=None)


def test_g5_a_double_as_decimal(lake: Lake) -> None:
    column(lake, pa.float64(), {"a": [2.66, 3.0], "b": [2.1, 2.64], "c": [-3.0, 1e30], "d": [5.0, nan]})
    check(lake, "try_cast(x AS DECIMAL(10,1)) = 2.7", "a", MinMax=None)  # read where the cast gives no value
    check(lake, "try_cast(x AS DECIMAL(10,1)) IS NULL", "cd", MinMax="cd")
    check(lake, "try_cast(x AS DECIMAL(10,1)) = -3.0", "c", MinMax=None)


def test_g6_g7_g8_functions_that_turn(lake: Lake) -> None:
    column(lake, pa.int32(), {"a": [-5, 0, 3], "b": [4, 6], "c": [-100, -98]})
    for where, read in {
        "abs(x) = 0": "a",
        "abs(x) > 50": "c",
        "x * x = 16": "b",
        "x % 2 = 1": "a",
        "pmod(x, 3) = 2": "c",
        "x & 1 = 1": "a",
        "sign(x) = 1": "ab",
        "power(x, 2) = 16": "b",
        "-x > 80": "c",
        "10 - x < 7": "b",
        "x * -1 = 5": "a",
        "x / -10 > 5": "c",
        "try_divide(1000, x) > 300": "a",
        "try_divide(1000, x) = 250": "b",
    }.items():
        check(lake, where, read, MinMax=None)


def test_g9_g13_functions_without_a_value(lake: Lake) -> None:
    files(lake, {"a": {"s": ["12", "x"]}, "b": {"s": ["30"]}, "c": {"s": pa.array([None], pa.string())}})
    lake.index(MinMax("s"), ValueList("s"), Prefix("s", 2), Suffix("s", 2))
    lake.view()
    check(lake, "try_cast(s AS INT) IS NULL", "ac", **UNKNOWN)
    check(lake, "coalesce(try_cast(s AS INT), 30) = 30", "abc", **UNKNOWN)
    numbers = Lake(lake.spark, lake.skipping, lake.folder.parent / "numbers")
    column(numbers, pa.float64(), {"a": [-4.0, 16.0], "b": [9.0], "c": [0.0]})
    check(numbers, "sqrt(x) = 4", "a", MinMax=None)
    check(numbers, "sqrt(x) > 2", "ab", MinMax=None)
    check(numbers, "isnull(log(x))", "ac", MinMax=None)
    check(numbers, "ln(x) < 2.5", "b", MinMax=None)


def test_g10_widening_casts(lake: Lake) -> None:
    column(lake, pa.int32(), {"a": [5], "b": [6], "c": [2**31 - 1], "d": [None]})
    for five in ("5L", "5.0", "5.0D", "5S", "CAST(5 AS DECIMAL(38,10))", "'5'"):
        check(lake, f"x = {five}", "a")
    check(lake, "CAST(x AS BIGINT) = 5", "a")
    check(lake, "CAST(x AS BIGINT) > 2147483646", "c")
    check(lake, "CAST(x AS DOUBLE) < 5.5", "a")
    check(lake, "CAST(x AS DECIMAL(12,2)) >= 5.99", "bc")
    check(lake, "CAST(x AS BIGINT) IN (5, 3000000000)", "a")
    check(lake, "CAST(x AS FLOAT) = 2147483648F", "c")
    check(lake, "NOT (CAST(x AS BIGINT) = 5)", "bc")
    check(lake, "CAST(x AS BIGINT) <=> 5L", "a", MinMax=None)
    check(lake, "CAST(x AS BIGINT) IS NULL", "d", MinMax=None)
    check(lake, "try_cast(x AS TINYINT) = 5", "a", **AROUND)
    check(lake, "CAST(CAST(x AS BIGINT) AS DOUBLE) = 6", "b")


def test_g11_formatted_dates(lake: Lake) -> None:
    files(lake, {"a": {"s": ["31/01/2023"]}, "b": {"s": ["01/02/2024"]}, "c": {"s": ["02/02/2023"]}})
    lake.index(MinMax("s"), ValueList("s"))
    lake.view()
    check(lake, "to_date(s, 'dd/MM/yyyy') >= DATE'2024-01-01'", "b", MinMax=None)
    check(lake, "to_date(s, 'dd/MM/yyyy') < DATE'2023-02-01'", "a", MinMax=None)
    days = Lake(lake.spark, lake.skipping, lake.folder.parent / "days")
    times(days, "DATE", {"a": ["2023-01-31"], "b": ["2024-02-01"], "c": ["12024-05-01"]}, "d")
    check(days, "date_format(d, 'dd/MM/yyyy') = '31/01/2023'", "a", MinMax=None)
    check(days, "CAST(d AS STRING) >= '2024'", "b", MinMax=None)
    check(days, "CAST(d AS STRING) LIKE '2023-%'", "a", MinMax=None)


@pytest.mark.parametrize("policy", ["LEGACY", "CORRECTED", "EXCEPTION"])
def test_g11_local_years_without_four_digits(lake: Lake, policy: str) -> None:
    """West of Greenwich the year 1 begins in a year 0, which old calendars call 1 as well; east of it 9999 ends in +10000."""
    with settings_of(lake.spark, {"spark.sql.legacy.timeParserPolicy": policy, ZONE: "America/New_York"}):
        first = ["0000-12-31 20:00:00", "0001-01-01 12:00:00", "0001-02-01"]
        times(lake, "TIMESTAMP", {"a": first, "b": ["2024-01-01", "2024-01-03"], "c": ["2024-02-01", "2024-02-03"]})
        check(lake, "date_format(t, 'yyyy-MM-dd') = '0001-01-01'", "a", MinMax=None)
        check(lake, "date_format(t, 'yyyy-MM-dd') = '2024-01-03'", "b", MinMax="ab")
    last = Lake(lake.spark, lake.skipping, lake.folder.parent / "last")
    with settings_of(lake.spark, {"spark.sql.legacy.timeParserPolicy": policy, ZONE: "Asia/Kolkata"}):
        times(last, "TIMESTAMP", {"a": ["2024-01-01", "9999-12-31 12:00:00", "+10000-01-01 03:00:00"]})
        check(last, "CAST(t AS STRING) = '9999-12-31 12:00:00'", "a", MinMax=None)
        check(last, "from_unixtime(unix_seconds(t)) = '9999-12-31 12:00:00'", "a", MinMax=None)


def test_g12_several_days_have_one_image(lake: Lake) -> None:
    times(lake, "DATE", {"a": ["2024-01-29"], "b": ["2024-01-31"], "c": ["2024-02-01"]}, "d")
    check(lake, "add_months(d, 1) = DATE'2024-02-29'", "ab", MinMax=None)
    check(lake, "last_day(d) = DATE'2024-01-31'", "ab", MinMax=None)
    check(lake, "trunc(d, 'MM') = DATE'2024-01-01'", "ab", MinMax=None)
    check(lake, "year(d) = 2024", "abc")
    check(lake, "year(d) < 2024", "")


def test_a_cast_of_a_boolean_or_text_is_not_claimed(lake: Lake) -> None:
    files(lake, {"a": {"b": [True], "s": ["2024-01-01"]}, "b": {"b": [False], "s": ["2023-05-05"]}})
    lake.index(MinMax("b"), ValueList("b"), MinMax("s"), ValueList("s"))
    lake.view()
    check(lake, "CAST(b AS INT) = 1", "a", MinMax=None)
    check(lake, "CAST(s AS DATE) >= DATE'2024-01-01'", "a", MinMax="ab")
    check(lake, "CAST(s AS TIMESTAMP) < TIMESTAMP'2024-01-01 00:00:00'", "b", MinMax="ab")
