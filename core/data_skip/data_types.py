"""Data types, by the names that Spark gives them: `int`, `decimal(10,2)`, `array<string>`, `string collate UNICODE`."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

INTEGRAL = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}  # and their bits
FRACTIONAL = ("float", "double")
TIMES = ("date", "timestamp", "timestamp_ntz")
WHOLE = (*INTEGRAL, *TIMES)  # types whose values are whole numbers to Spark: a time is a number of days or microseconds
ORDERED = (*WHOLE, *FRACTIONAL, "boolean", "string", "binary")  # and decimals
_ARROW = {
    **{"tinyint": pa.int8(), "smallint": pa.int16(), "int": pa.int32(), "bigint": pa.int64()},
    **{"float": pa.float32(), "double": pa.float64(), "boolean": pa.bool_(), "string": pa.string(), "binary": pa.binary()},
    **{"date": pa.int32(), "timestamp": pa.int64(), "timestamp_ntz": pa.int64()},
}


def is_ordered(type_: str) -> bool:
    """Whether values of the type have an order that is that of their numbers, or of their bytes; none of a scale that Delta lacks."""
    return type_ in ORDERED or (is_decimal(type_) and precision_and_scale(type_)[1] >= 0)


def is_decimal(type_: str) -> bool:
    """Whether it is a type of decimal numbers."""
    return type_.startswith("decimal(")


def precision_and_scale(decimal: str) -> tuple[int, int]:
    """10 and 2 of `decimal(10,2)`."""
    precision, scale = decimal.removeprefix("decimal(").removesuffix(")").split(",")
    return int(precision), int(scale)


def plain_string(type_: str) -> bool:
    """Whether values of the type are strings that Spark compares byte by byte: no collation but UTF8_BINARY."""
    return type_ == "string"


def has_collation(type_: str) -> bool:
    """Whether values of the type are strings that Spark compares by a collation."""
    return type_.startswith("string collate ")


def is_array(type_: str) -> bool:
    """Whether it is a type of arrays."""
    return type_.startswith("array<")


def element_type(array: str) -> str:
    """`string` of `array<string>`."""
    return array.removeprefix("array<").removesuffix(">")


def arrow_type(type_: str) -> pa.DataType:
    """The Arrow type of values in Spark's own representation: dates as days, timestamps as microseconds. KeyError for an unordered type."""
    if is_array(type_):
        return pa.list_(arrow_type(element_type(type_)))
    return pa.decimal128(*precision_and_scale(type_)) if is_decimal(type_) else _ARROW[type_]


def is_of_type(value: Any, type_: str) -> bool:
    """Whether a value (text, a number, or a list) is one of a type as it is, neither rounded nor read as one."""
    if isinstance(value, bool) or isinstance(value, str) != (type_ == "string"):
        return False
    try:
        return bool(pa.array([value], arrow_type(type_))[0].as_py() == value)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return False


def decimal_bytes(digits: int) -> int:
    """The fewest bytes that hold every signed number of so many digits."""
    return ((10**digits - 1).bit_length() + 8) // 8
