"""Every claim of monotone.py, held against Spark where it could break.

Each file holds three neighbours of each column's hardest values, in order: around changes of clocks and of the calendar, overflow,
rounding, -0.0, infinities, NaN. A claim is made from the ends of a file's range; the value between them is what would give it the lie.
For each function, comparisons with values that it takes: no file is skipped in which plain Spark finds a match.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from datetime import datetime, timezone
from decimal import Decimal
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from data_skip import MinMax, Skipping
from tests.differential.predicates import Predicate
from tests.differential.truth import Truth, kept_files
from tests.falsifiable.functions import BY_COLUMN
from tests.support import Lake, settings_of

ZONES = ("America/New_York", "Australia/Lord_Howe", "America/St_Johns")
DAY, SECOND = 86_400_000_000, 1_000_000


def _moments() -> list[int]:
    """Microseconds around the changes of clocks of some zones, midnights, leap days, the ends of years and of the calendar."""
    found = {0, -1, -500_000, 1, -62135596800000000, 253402300799999999, 253402300800000000}
    for zone in ZONES:
        for first in (datetime(2024, 1, 1), datetime(2006, 1, 1), datetime(1970, 6, 1)):
            start = int(first.replace(tzinfo=timezone.utc).timestamp())
            for hour in range(start, start + 366 * 86400, 3600):
                before, after = (datetime.fromtimestamp(t, ZoneInfo(zone)).utcoffset() for t in (hour, hour + 3600))
                if before != after:
                    for minutes in (-1440, -61, -60, -31, -30, -1, 0, 1, 29, 30, 31, 60, 61, 1440):
                        found.update(hour * SECOND + minutes * 60 * SECOND + shift for shift in (-1, 0))
    for day in (
        "2024-02-28",
        "2024-02-29",
        "2024-03-01",
        "2023-12-31",
        "2024-01-01",
        "2020-12-31",
        "2021-01-03",
        "2021-01-04",
        "1969-12-31",
    ):
        midnight = int(datetime.fromisoformat(day).replace(tzinfo=timezone.utc).timestamp()) * SECOND
        found.update(midnight + shift for shift in (-1, 0, 1, 3600 * SECOND, DAY - 1))
    return sorted(found)


def _neighbours() -> dict[str, tuple[pa.DataType, list[Any]]]:
    moments = _moments()
    days = {m // DAY + shift for m in moments for shift in (-1, 0, 1) if abs(m) < 2**60}
    days.update({-719163, 2932897, *range(19750, 19800)})
    doubles = [
        0.0,
        5e-324,
        1.0,
        math.nextafter(1.0, 2),
        0.5,
        1.5,
        2.5,
        4.0,
        25.0,
        1e15 + 0.5,
        2.0**31,
        2.0**63,
        2.0**64,
        1e300,
        math.inf,
        709.8,
        0.05,
    ]
    doubles += [math.nextafter(v, 0.0) for v in doubles]
    ints = {0, 1, 2, 3, 4, 5, 9, 10, 11, 46340, 46341, 32767, 32768, 127, 128, 255, 256, 2**30, 2**31 - 1, 2**31 - 4, 715827882, 715827883}
    longs = ints | {
        2**31,
        2**53,
        2**53 + 1,
        2**62,
        2**63 - 1,
        9223372036854,
        9223372036855,
        253402300799,
        253402300800,
        3037000499,
        3037000500,
    }
    cents = {0, 1, 5, 49, 50, 51, 99, 100, 149, 150, 250, 9999999999, 9999999950}
    return {
        "i": (pa.int32(), sorted({s * v for v in ints for s in (1, -1)} | {-(2**31)})),
        "long": (pa.int64(), sorted({s * v for v in longs for s in (1, -1)} | {-(2**63)})),
        "d": (pa.float64(), sorted({s * v for v in doubles for s in (1, -1)})),
        "price": (pa.decimal128(10, 2), sorted(Decimal(f"{s * c}E-2") for c in cents for s in (1, -1))),
        "day": (pa.date32(), sorted(days)),
        "at": (pa.timestamp("us", "UTC"), moments),
        "local": (pa.timestamp("us"), moments),
        "s": (pa.string(), sorted(["", "a", "ab", "abc", "aé", "b", "ba", "é", "😀", "\U0010ffff", "a\U0010ffff", "A", "\ue000"])),
    }


def _predicates(lake: Lake, column: str, random: Random) -> list[Predicate]:
    """Functions of the column, compared with values that they take: as SQL that Spark folds into literals. Half of them, without MANY."""
    functions = [text.replace("{}", column) for text in BY_COLUMN[column]]
    if not MANY:
        functions = random.sample(functions, -(-len(functions) // 2))
    frame = lake.spark.read.parquet(str(lake.folder)).selectExpr(*(f"{sql} AS f{i}" for i, sql in enumerate(functions)))
    types = [field.dataType.simpleString() for field in frame.schema]
    with lake.skipping.disabled():
        rows = frame.selectExpr(*(_AS_TEXT.get(type_, "cast({} AS string)").format(f"f{i}") for i, type_ in enumerate(types))).collect()
    predicates = []
    for i, (function, type_) in enumerate(zip(functions, types, strict=True)):
        values = sorted({row[i] for row in rows if row[i] is not None})
        for value in random.sample(values, min(CONSTANTS, len(values))):
            constant = _FROM_TEXT.get(type_, f"cast('{{}}' AS {type_})").format(value)
            operators = random.sample(OPERATORS, 1 if CONSTANTS == 1 else len(OPERATORS))
            predicates += [Predicate(f"{function} {operator} {constant}") for operator in operators]
    return predicates


OPERATORS = ("=", "<", "<=", ">", ">=", "<>")
CONSTANTS = int(os.environ.get("DATA_SKIP_CONSTANTS", "1"))  # that a function is compared with
MANY = "DATA_SKIP_EXAMPLES" in os.environ  # `make fuzz`
_AS_TEXT = {"timestamp": "cast(unix_micros({}) AS string)", "date": "cast(unix_date({}) AS string)"}
_FROM_TEXT = {"timestamp": "timestamp_micros({})", "date": "date_from_unix_date({})"}
TIMES = ("day", "at", "local")
CASES = [
    ("UTC", [column for column in BY_COLUMN if column not in TIMES]),
    ("UTC", ["local"]),  # local times are moments there
    (ZONES[0], TIMES),
    *((zone, ["at"]) for zone in ZONES[1:]),
]


@pytest.fixture(scope="module")
def hard(spark: SparkSession, skipping: Skipping, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    lake = Lake(spark, skipping, tmp_path_factory.mktemp("monotone") / "table")
    columns = _neighbours()
    random = Random(0)
    for number in range(0, max(len(values) for _, values in columns.values()) - 2, 4):
        rows = {}
        for name, (type_, values) in columns.items():
            start = random.randrange(len(values) - 2) if name not in TIMES else number % (len(values) - 2)
            chosen: list[Any] = [*values[start : start + 3], random.choice((None, values[start]))]
            if name == "d" and number % 7 == 0:
                chosen[3] = math.nan
            rows[name] = pa.array(chosen, type_)
        lake.file(f"{number:04}.parquet", pa.table(rows))
    lake.index(*map(MinMax, columns))
    return lake


@pytest.mark.parametrize(("zone", "columns"), CASES, ids=[f"{zone}-{columns[0]}" for zone, columns in CASES])
def test_no_claim_is_broken_by_neighbours(hard: Lake, zone: str, columns: Sequence[str]) -> None:
    random = Random(zone)
    with settings_of(hard.spark, {"spark.sql.ansi.enabled": "false", "spark.sql.session.timeZone": zone}):
        frame = hard.spark.read.parquet(str(hard.folder))
        predicates = [predicate for column in columns for predicate in _predicates(hard, column, random)]
        truth = Truth(hard.skipping, frame)
        skipped = {predicate.sql: len(files) for predicate, files in truth.skipped(predicates, 0)}
    assert sum(count > 0 for count in skipped.values()) > len(skipped) / 2
    assert truth.outcomes["compared"] > 0.9 * len(predicates), truth.outcomes


@pytest.mark.parametrize("columns", [["i"], ["long"], ["d", "price", "s"], TIMES], ids=lambda columns: columns[0])
def test_nor_in_ansi_mode(hard: Lake, columns: Sequence[str]) -> None:
    """What does not raise an error there gives what it gives in the other mode, whose rows tell where to look."""
    random, zone = Random(0), {"spark.sql.session.timeZone": ZONES[0]}
    with settings_of(hard.spark, {"spark.sql.ansi.enabled": "false", **zone}):
        frame = hard.spark.read.parquet(str(hard.folder))
        truth = Truth(hard.skipping, frame)
        predicates = [predicate.sql for column in columns for predicate in _predicates(hard, column, random)]
        predicates = random.sample(predicates, len(predicates) // len(columns))
        matching = truth.matching(predicates)
    compared = useful = 0
    with settings_of(hard.spark, {"spark.sql.ansi.enabled": "true", **zone}):
        for predicate, files in zip(predicates, matching, strict=True):
            try:
                plan = kept_files(hard.skipping, frame, predicate)
            except PySparkException:  # of a constant
                continue
            if plan is not None:
                compared, useful = compared + 1, useful + bool(plan[1])
                for file in (files or set()) & plan[1]:
                    assert not truth.matching([predicate], of=file)[0], f"{predicate} skips {file}; clause {plan[2]}"
    assert compared > 0.9 * len(predicates)
    assert useful > compared / 2
