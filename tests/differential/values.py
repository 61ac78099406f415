"""The types of the random tables: values of each (extremes, neighbours, the ones that break things) and its literals in SQL."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Context, Decimal
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

NAN, INF = float("nan"), float("inf")
EPOCH = datetime(1970, 1, 1)
_DAY = 86_400_000_000
_FIRST, _LAST = -62135596800000000, 253402300799999999  # the microseconds of the years 1 to 9999
_YEARS = (-719162, 2932896)  # the same in days


@dataclass(frozen=True)
class Kind:
    """A type: how pyarrow writes it, random values of it, values next to one, and its literals in SQL."""

    arrow: pa.DataType
    values: st.SearchStrategy[Any]
    near: Callable[[Any], list[Any]]
    sql: Callable[[Any], str]


def text_sql(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _integer(bits: int, cast: str) -> Kind:
    low, high = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    values = st.one_of(st.integers(-20, 20), st.sampled_from([low, low + 1, -1, 0, 1, high - 1, high]), st.integers(low, high))
    near = lambda v: [n for n in (v - 1, v + 1) if low <= n <= high]  # noqa: E731
    arrow = {8: pa.int8(), 16: pa.int16(), 32: pa.int32(), 64: pa.int64()}[bits]
    return Kind(arrow, values, near, lambda v: f"cast('{v}' AS {cast})" if v == low else f"{v}{'L' if bits == 64 else ''}")


def _float_sql(cast: str) -> Callable[[float], str]:
    def sql(value: float) -> str:
        if value != value or value in (INF, -INF):
            return f"{cast}('{value}')"
        return f"{value!r}{'D' if cast == 'double' else 'F'}"

    return sql


def _floating(width: int) -> Kind:
    specials = [0.0, -0.0, NAN, INF, -INF, 1.5, -1.5, 2.0, 0.5]
    values = st.one_of(st.sampled_from(specials), st.integers(-20, 20).map(float), st.floats(width=width))
    near = lambda v: [n for n in (v - 0.5, v + 0.5, -v) if width == 64 or abs(n) < 1e30 or n != n]  # noqa: E731
    return Kind(pa.float32() if width == 32 else pa.float64(), values, near, _float_sql("float" if width == 32 else "double"))


def _decimal(precision: int, scale: int) -> Kind:
    most = 10**precision - 1
    unscaled = st.one_of(st.integers(-2000, 2000), st.sampled_from([most, -most, 0, 1, -1, 50, -50]), st.integers(-most, most))
    number = lambda n: Decimal(f"{n}E-{scale}")  # noqa: E731
    unscale = lambda v: int(str(v.scaleb(scale, _WIDE).to_integral_value(context=_WIDE)).split("E")[0]) if v else 0  # noqa: E731
    near = lambda v: [number(n) for n in (unscale(v) - 1, unscale(v) + 1) if abs(n) <= most]  # noqa: E731
    return Kind(pa.decimal128(precision, scale), unscaled.map(number), near, lambda v: f"cast('{v:f}' AS decimal({precision},{scale}))")


_WIDE = Context(prec=60)
_LETTERS = "abAB%_\\ßéＡ😀\U0010ffff \n'"
_WORDS = [
    "",
    "a",
    "ab",
    "abc",
    "abca",
    "Abc",
    "b",
    "ba",
    "a%b",
    "a_b",
    "a\\b",
    "%",
    "_",
    "😀",
    "Ａ",
    "a😀",
    "\U0010ffff",
    "a\U0010ffff",
    "ab ",
    "x" * 200,
]
_WORDS += ["x" * 127 + "\U0010ffff" * 5, "\ue000", "\ud7ff", "strasse", "straße", "7", "007", "1e1", "2024-01-09"]
_texts = st.one_of(st.sampled_from(_WORDS), st.text(_LETTERS, max_size=6))
_binaries = st.one_of(st.sampled_from([b"", b"\x00", b"\x7f", b"\x80", b"\xff", b"\xff\xff", b"\xff" * 140, b"ab"]), st.binary(max_size=4))
_days = st.one_of(
    st.sampled_from([*_YEARS, 0, -1, 19723, 19724, 19782, -141427, -141428, 2**31 - 1, -(2**31)]),
    st.integers(18000, 20000),
    st.integers(*_YEARS),
)
# Days on which clocks change, the first and last microsecond that Spark can hold, and the years 1 and 9999.
_moments = [0, -1, 1, _FIRST, _LAST, 1710054000000000, 1710054000000000 - 1, 1730613600000000, 1704067199999999, 1704067200000000]
_micros = st.one_of(st.sampled_from(_moments), st.integers(18000 * _DAY, 20000 * _DAY), st.integers(_FIRST, _LAST))


def _day_sql(value: int) -> str:
    far = not _YEARS[0] <= value <= _YEARS[1]
    return f"date_from_unix_date({value})" if far else f"DATE'{(date(1970, 1, 1) + timedelta(days=value)).isoformat()}'"


def _moment_sql(prefix: str) -> Callable[[int], str]:
    zone = "Z" if prefix == "TIMESTAMP" else ""

    def sql(value: int) -> str:
        far = not _FIRST <= value <= _LAST
        return f"timestamp_micros({value})" if far else f"{prefix}'{(EPOCH + timedelta(microseconds=value)).isoformat(sep=' ')}{zone}'"

    return sql


def _moment_kind(arrow: pa.DataType, prefix: str, values: st.SearchStrategy[int]) -> Kind:
    near = lambda v: [n for n in (v - 1, v + 1, v - v % _DAY, v + _DAY) if _FIRST <= n <= _LAST]  # noqa: E731
    return Kind(arrow, values, near, _moment_sql(prefix))


KINDS = {
    "tiny": _integer(8, "tinyint"),
    "small": _integer(16, "smallint"),
    "i": _integer(32, "int"),
    "long": _integer(64, "bigint"),
    "f": _floating(32),
    "d": _floating(64),
    "price": _decimal(10, 2),
    "huge": _decimal(38, 10),
    "s": Kind(pa.string(), _texts, lambda v: [v + "a", v[:-1], v.upper()], text_sql),
    "bin": Kind(pa.binary(), _binaries, lambda v: [v + b"\x00", v[:-1]], lambda v: f"X'{v.hex()}'"),
    "flag": Kind(pa.bool_(), st.booleans(), lambda v: [not v], lambda v: str(v).lower()),
    "day": Kind(
        pa.date32(),
        _days,
        lambda v: [n for n in (v - 1, v + 1) if _YEARS[0] <= n <= _YEARS[1]],
        _day_sql,
    ),
    "at": _moment_kind(pa.timestamp("us", "UTC"), "TIMESTAMP", st.one_of(_micros, _micros, st.sampled_from([2**63 - 1, -(2**63)]))),
    "local": _moment_kind(pa.timestamp("us"), "TIMESTAMP_NTZ", _micros),
}
# Columns that are not one to one with a kind: an un-indexed one of each sort, and fields inside a struct.
SAME_AS = {"other": "i", "note": "s", "st.a": "i", "st.name": "s", "st.deep.x": "d"}
COLUMNS = {**{name: name for name in KINDS}, **SAME_AS}
STRINGS = ("s", "note", "st.name")
NUMERIC = ("tiny", "small", "i", "long", "f", "d", "price", "huge", "other", "st.a", "st.deep.x")
INTEGERS = ("tiny", "small", "i", "long", "other", "st.a")


def kind_of(column: str) -> Kind:
    return KINDS[COLUMNS[column]]
