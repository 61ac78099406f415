"""Claims about functions that were false: of constants, of representations of decimals, of ends that wrap round."""

from __future__ import annotations

from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyspark
import pytest

from data_skip import Index, MinMax, ValueList
from tests.support import Lake, settings_of

ANSI = "spark.sql.ansi.enabled"


def _files(lake: Lake, type_: pa.DataType, *files: list[Any]) -> None:
    """A file for each list of values of column `v`, named a, b, ..."""
    for name, values in zip("abcdefg", files, strict=False):
        lake.file(f"{name}.parquet", {"v": pa.array(values, type_)})


def _moments(*texts: str) -> list[datetime]:
    return [datetime.fromisoformat(text) for text in texts]


@pytest.mark.parametrize("type_", [pa.timestamp("us"), pa.timestamp("us", "UTC")], ids=["ntz", "ltz"])
def test_months_until_the_end_of_a_month_turn(lake: Lake, type_: pa.DataType) -> None:
    """From 01-30 11:00 until 03-01 12:00 it is a month, from an hour more or less than a day around that it is none."""
    _files(
        lake,
        type_,
        _moments("2021-01-29T13:00", "2021-01-30T11:00", "2021-01-30T13:00"),
        _moments("2021-01-30T13:00", "2021-01-31T11:00", "2021-01-31T13:00"),
        _moments("2020-01-30T13:00", "2020-01-31T11:00", "2020-01-31T13:00"),
        _moments("2021-05-29T11:00", "2021-05-29T13:00", "2021-05-30T11:00"),  # after c
        _moments("2001-01-29T13:00", "2001-01-30T11:00", "2001-01-30T13:00"),
    )
    lake.index(MinMax("v"))
    kind = "TIMESTAMP" if type_.tz else "TIMESTAMP_NTZ"
    constants = ("2021-03-01 12:00:00", "2021-02-28 12:00:00", "2020-02-29 12:00:00", "2021-03-01 00:00:00", "2021-03-31 23:00:00")
    wheres = [
        f"timestampdiff({unit}, v, {kind}'{c}') {operator} {n}"
        for unit, operators in (("MONTH", "=<>"), ("QUARTER", "="), ("YEAR", "="))
        for c in constants
        for operator in operators
        for n in (-3, -2, -1, 0, 1, 2, 4, 12)
    ]
    read = lake.reads(*wheres)
    assert sum(len(files) < 5 for files in read) > len(read) / 2
    in_the_middle, until = lake.reads(
        f"timestampdiff(MONTH, v, {kind}'2021-03-10 12:00:00') = 1", f"timestampdiff(MONTH, {kind}'2021-01-31 12:00:00', v) = 3"
    )
    assert in_the_middle == {"a.parquet", "b.parquet"}  # exactly, as ever
    assert until == {"d.parquet"}


@pytest.mark.parametrize("index", [MinMax("v"), ValueList("v")], ids=["MinMax", "ValueList"])
@pytest.mark.parametrize("ansi", ["true", "false"])
def test_a_decimal_of_eighteen_digits_is_cut_exactly(lake: Lake, index: Index, ansi: str) -> None:
    """Unlike one that is not compact, which goes through double."""
    _files(lake, pa.decimal128(18, 17), [Decimal("2.99999999999999999")], [Decimal("-2.99999999999999999")], [Decimal("4.5"), None])
    lake.index(index)
    with settings_of(lake.spark, {ANSI: ansi}):
        casts = [f"cast(v AS {to}) = {n}" for to in ("int", "smallint", "tinyint", "bigint") for n in (2, -2, 4)]
        read = lake.reads(*casts, *(f"try_cast(v AS int) = {n}" for n in (2, -2, 4)), "cast(v AS int) IN (2, 3)")
    assert all(len(files) == 1 for files in read)


@pytest.mark.parametrize("index", [MinMax("v"), ValueList("v")], ids=["MinMax", "ValueList"])
@pytest.mark.parametrize("ansi", ["true", "false"])
def test_a_longer_one_is_cut_as_the_mode_has_it(lake: Lake, index: Index, ansi: str) -> None:
    """In ANSI mode through double, else exactly: the form that raises errors does not give the values of the other."""
    _files(lake, pa.decimal128(20, 18), [Decimal("2.999999999999999999")], [Decimal("-2.999999999999999999")], [Decimal("4.5"), None])
    lake.index(index)
    with settings_of(lake.spark, {ANSI: ansi}):
        read = lake.reads(*(f"cast(v AS {to}) = {n}" for to in ("int", "smallint", "tinyint") for n in (2, 3, -2, -3, 4)))
    assert all(len(files) <= 1 for files in read)


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_a_computed_decimal_may_be_compact_or_not(lake: Lake, ansi: str) -> None:
    """A value of an index is compact, the same value in the middle of a query may not be: a cast to int may give another number."""
    _files(lake, pa.decimal128(38, 17), [Decimal("2.99999999999999999")], [Decimal("4.50000000000000000")])
    computed = "cast(v AS decimal(18,17))"
    with settings_of(lake.spark, {ANSI: ansi}):
        lake.index(MinMax(computed), ValueList(computed))
        lake.reads(*(f"cast({computed} AS {to}) = {n}" for to in ("int", "smallint", "tinyint") for n in (2, 3, 4)))
        (above,) = lake.reads(f"{computed} > 4")
    assert above == {"b.parquet"}


def test_moments_beyond_the_calendar_wrap_round(lake: Lake) -> None:
    now = int(datetime(2021, 5, 1, tzinfo=timezone.utc).timestamp()) * 1_000_000
    _files(lake, pa.int64(), [0, 1], [now, now + 1], [-(2**63), 5], [2**63 - 1], [-(2**63)])
    lake.index(MinMax("v"))
    at = "timestamp_micros(v)"
    truncated = [f"date_trunc('{unit}', {at})" for unit in ("SECOND", "MILLISECOND", "MICROSECOND")]
    if not pyspark.__version__.startswith("4.0."):  # later versions raise an error
        truncated = [at]
    with settings_of(lake.spark, {ANSI: "false"}):
        wheres = [f"{function} {operator} TIMESTAMP'2021-01-01'" for function in (*truncated, at) for operator in (">=", "<")]
        read = lake.reads(*wheres, f"unix_seconds({at}) > 1600000000", f"unix_seconds({truncated[0]}) > 1600000000")
    assert all(("a.parquet" in files) != ("b.parquet" in files) for files in read)


def test_days_from_an_extreme_date_wrap_round(lake: Lake) -> None:
    _files(lake, pa.date32(), [date(1960, 1, 1)], [date(1, 1, 1)], [date(9999, 12, 31)], [date(2021, 1, 1), None])
    lake.index(MinMax("v"))
    wheres = [
        f"{function} {operator} {than}"
        for days in (2**31 - 1, -(2**31), 2**31 - 800_000, 800_000 - 2**31)
        for function in (f"datediff(v, date_from_unix_date({days}))", f"datediff(date_from_unix_date({days}), v)")
        for than in (0, 2147479000, -2147479000)
        for operator in ("<", ">")
    ]
    with settings_of(lake.spark, {ANSI: "false"}):
        lake.reads(*wheres)
        (kept,) = lake.reads("datediff(v, DATE'2000-01-01') > 0")
    assert kept == {"c.parquet", "d.parquet"}


def test_a_long_decimal_becomes_a_moment_in_another_way_where_code_is_generated(lake: Lake) -> None:
    """The interpreter rounds the product with a million to 34 digits; generated code is exact."""
    _files(lake, pa.decimal128(38, 38), [Decimal("-0.0" + "9" * 37)], [Decimal("0.5")])
    lake.index(MinMax("v"), ValueList("v"))
    with settings_of(lake.spark, {ANSI: "false"}):
        lake.reads(*(f"cast(v AS timestamp) = timestamp_micros({micros})" for micros in (-99999, -100000, 500000)))
        (positive,) = lake.reads("v > 0")
    assert positive == {"b.parquet"}


def test_the_hash_of_an_interval_is_another_where_code_is_generated(lake: Lake) -> None:
    """There it leaves out the days."""
    _files(lake, pa.int32(), [1], [2], [3])
    lake.index(ValueList("v"))
    with settings_of(lake.spark, {ANSI: "false"}), lake.skipping.disabled():
        given = lake.view().selectExpr("hash(make_interval(0, 0, 0, v)) AS a", "xxhash64(v) AS b").collect()
    lake.reads(*(f"hash(make_interval(0, 0, 0, v)) = {row['a']}" for row in given))
    assert all(len(files) == 1 for files in lake.reads(*(f"xxhash64(v) = {row['b']}" for row in given)))
