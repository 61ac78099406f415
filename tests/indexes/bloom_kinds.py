"""A column of each type that BloomFilter hashes."""

from __future__ import annotations

import re
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

import pyarrow as pa

MOMENT = datetime(2024, 5, 17, 12, 30, 1, 234567, tzinfo=timezone.utc)
KINDS: dict[
    str, tuple[pa.DataType, list[Any], str, str]
] = {  # values (the first two of one file, the others of another), the predicates of both
    "tinyint": (pa.int8(), [-7, 3, 5, 7], "v = 3", "v IN (5Y, 100Y)"),
    "smallint": (pa.int16(), [-700, 300, 500, 700], "v = 300", "v = 500"),
    "int": (pa.int32(), [-70_000, 3, 5, 7], "v = -70000", "v IN (5, 100, NULL)"),
    "bigint": (pa.int64(), [9007199254740993, 3, 9007199254740992, 7], "v = 9007199254740993", "v <=> 9007199254740992"),
    "float": (pa.float32(), [0.1, -0.0, 0.5, 2.5], "v = 0", "v = float('0.5')"),
    "double": (pa.float64(), [0.1, 0.0, 1e300, float("inf")], "v = double('-0.0')", "v = double('inf')"),
    "string": (pa.string(), ["", "Jaipur", "ä😀", "x" * 300], "v = ''", "v IN ('ä😀', 'other')"),
    "binary": (pa.binary(), [b"", b"\xff\x00", b"a", b"b"], "v = X'FF00'", "v = X'61'"),
    "date": (
        pa.date32(),
        [date(1969, 12, 31), date(2024, 2, 29), date(2024, 3, 1), date(9999, 1, 1)],
        "v = DATE'2024-02-29'",
        "v = '2024-03-01'",
    ),
    "timestamp": (
        pa.timestamp("us", "UTC"),
        [MOMENT, MOMENT.replace(year=1969), MOMENT.replace(year=2000), MOMENT.replace(year=2001)],
        "v = TIMESTAMP'2024-05-17 12:30:01.234567Z'",
        "v = TIMESTAMP'2000-05-17 12:30:01.234567Z'",
    ),
    "timestamp_ntz": (
        pa.timestamp("us"),
        [MOMENT.replace(tzinfo=None), MOMENT.replace(tzinfo=None, year=1969), datetime(2000, 1, 1), datetime(2001, 1, 1)],
        "v = TIMESTAMP_NTZ'2024-05-17 12:30:01.234567'",
        "v = TIMESTAMP_NTZ'2000-01-01 00:00:00'",
    ),
    "decimal(9,2)": (
        pa.decimal128(9, 2),
        [Decimal("1.10"), Decimal("-2.00"), Decimal("5.00"), Decimal("7.01")],
        "v = 1.1",
        "v IN (5, 7.02)",
    ),
    "decimal(18,2)": (pa.decimal128(18, 2), [Decimal("1.10"), Decimal("-2.00"), Decimal("5.00"), Decimal("7.01")], "v = -2", "v = 7.01BD"),
    "decimal(38,2)": (pa.decimal128(38, 2), [Decimal("1.10"), Decimal("-2.00"), Decimal("5.00"), Decimal("7.01")], "v = -2", "v = 7.01BD"),
}


def column(kind: str) -> str:
    return re.sub(r"\W+", "_", kind)
