"""The rows that `check_plugin` draws, and constants of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from random import Random
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType

_TEXTS = ["", "a", "ab", "abc", "b", "Rome", "Roma", " x ", "50%", "a_b", "it's", "\u00e9", "\U0001f600", "x" * 40]
_NUMBERS = [0.0, -0.0, 1.5, -7.25, 1e300, -1e-300, math.nan, math.inf, -math.inf]
_DAYS = 80_000  # after 1900


class Drawn(NamedTuple):
    """A column: its types, and a value of it."""

    spark: str
    arrow: pa.DataType
    value: Callable[[Random], Any]


def _text(random: Random) -> str:
    return random.choice(_TEXTS) if random.random() < 0.5 else "".join(random.choices("abRx %_\u00e9", k=random.randrange(12)))


def _number(random: Random) -> float:
    return random.choice(_NUMBERS) if random.random() < 0.3 else round(random.uniform(-100, 100), random.randrange(3))


def _integer(random: Random, bits: int = 31) -> int:
    if random.random() < 0.05:
        return random.choice([0, 1, -1, 2**bits - 1, -(2**bits)])
    return random.randrange(2 ** random.randrange(1, bits)) * random.choice([1] * 7 + [-1])  # most are small, and few have many bits


def _moment(random: Random) -> datetime:
    return datetime(1900, 1, 1, tzinfo=timezone.utc) + timedelta(random.uniform(0, _DAYS))


COLUMNS = {
    "s": Drawn("string", pa.string(), _text),
    "d": Drawn("double", pa.float64(), _number),
    "i": Drawn("int", pa.int32(), _integer),
    "at": Drawn("timestamp", pa.timestamp("us", "UTC"), _moment),
    "tags": Drawn(
        "array<string>", pa.list_(pa.string()), lambda random: [random.choice([None, _text(random)]) for _ in range(random.randrange(4))]
    ),
    "day": Drawn("date", pa.date32(), lambda random: _moment(random).date()),
    "dec": Drawn("decimal(10,2)", pa.decimal128(10, 2), lambda random: Decimal(_integer(random) % 10**8).scaleb(-2)),
    "b": Drawn("boolean", pa.bool_(), lambda random: random.random() < 0.5),
    "e": Drawn("double", pa.float64(), _number),
    "l": Drawn("bigint", pa.int64(), lambda random: _integer(random, 63)),
    "h": Drawn("smallint", pa.int16(), lambda random: _integer(random, 15)),
}
_ROWS = 24


def drawn(random: Random, words: Sequence[str] = ()) -> pa.Table:
    """Rows of all types, with NULLs. words: what some of their texts hold."""
    rows = range(random.randrange(_ROWS // 2, _ROWS))
    columns = {name: [column.value(random) if random.random() < 0.8 else None for _ in rows] for name, column in COLUMNS.items()}
    if words:
        texts = [_text(random).join((random.choice(words), _text(random))) for _ in rows]
        columns["s"] = [random.choice([plain, text]) for plain, text in zip(columns["s"], texts, strict=True)]
    return pa.table({name: pa.array(values, COLUMNS[name].arrow) for name, values in columns.items()})


def as_sql(value: Any) -> str:
    """A text, number or None as a literal."""
    if isinstance(value, str):
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
    return "NULL" if value is None else str(value)


def constants(frame: DataFrame, expression: str) -> list[str]:
    """Some values of an expression, of an array those of its elements, as SQL; none where Spark does not understand it on these rows."""
    try:
        values = frame.select(F.expr(expression).alias("x"))
        if isinstance(values.schema["x"].dataType, ArrayType):
            values = values.select(F.explode("x").alias("x"))
        type_ = values.schema["x"].dataType.simpleString()
        told = values.select(F.col("x").cast("string")).where("x IS NOT NULL").distinct().sort("x").limit(_ROWS).collect()
    except PySparkException:
        return []
    quoted = [as_sql(row[0]) for row in told]
    return [text if type_ == "string" else f"CAST({text} AS {type_})" for text in quoted]
