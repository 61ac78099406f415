"""Random tables and joins of all types: the same rows with skipping and without."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import cycle, islice, product
from random import Random
from typing import TypeVar

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from data_skip import BloomFilter, MinMax, Skipping, ValueList
from tests.support import Lake, compared

T = TypeVar("T")
SEEDS = max(2, int(os.environ.get("DATA_SKIP_EXAMPLES", "0")) // 200)  # make fuzz draws more
TYPES = ["INNER", "LEFT OUTER", "RIGHT OUTER", "FULL OUTER", "LEFT SEMI", "LEFT ANTI", "CROSS"]
KEYS = {
    "i": ("int", lambda n: n),
    "x": ("double", lambda n: float("nan") if n == 13 else -0.0 if n == 0 else n / 2),
    "s": ("string", lambda n: "" if n == 7 else f"s{n}"),
    "c": ("decimal(9,2)", lambda n: n * 25 / 100),
    "t": ("date", lambda n: n),
}
CONDITIONS = [
    "l.i = r.i",
    "l.i <=> r.i",
    "l.x = r.x",
    "l.s = r.s",
    "l.t = r.t",
    "l.c = r.c",
    "l.c = r.i",
    "l.i = r.i AND l.s = r.s",
    "l.i = r.i AND l.x <= r.x",
    "l.i = r.i + 1",
    "l.i BETWEEN r.i AND r.i + 2",
    "l.i = r.i OR l.s = r.s",
    "l.i = r.i AND r.x > 3",
    "l.s = r.s AND l.x > 3",
]
OPERATORS = [  # below which a side may stand
    "(SELECT i, s, x, min(c) AS c, max(t) AS t FROM {} GROUP BY i, s, x)",
    "(SELECT i, s, min(x) AS x, min(c) AS c, max(t) AS t FROM {} GROUP BY CUBE (i, s))",
    "(SELECT DISTINCT i, x, s, c, t FROM {})",
    "(SELECT i, x, s, t, sum(c) OVER (PARTITION BY i, s) AS c FROM {})",
    "(SELECT * FROM (SELECT *, rank() OVER (PARTITION BY s, x ORDER BY i, c, t) AS n FROM {}) WHERE n < 3)",
    "(SELECT i, x, s, c, t FROM {0} UNION ALL SELECT i + 1, x, s, c, t FROM {0} WHERE x > 1)",
    "(SELECT /*+ REPARTITION(2) */ * FROM {} WHERE i > 1)",
]
SUBQUERIES = [
    "l.i IN (SELECT i FROM {other} WHERE x > 2)",
    "l.i NOT IN (SELECT i FROM {other} WHERE x > 2)",
    "EXISTS (SELECT 1 FROM {other} r WHERE r.s = l.s AND r.i < 9)",
    "NOT EXISTS (SELECT 1 FROM {other} r WHERE r.s = l.s AND r.i < 9)",
    "l.i = (SELECT max(i) FROM {other})",
    "l.c < (SELECT min(c) FROM {other} WHERE i > 4)",
    "NOT (l.x >= (SELECT max(x) FROM {other} WHERE i < 9))",
    "l.i > 3 OR l.i IN (SELECT i FROM {other})",
    "(l.i, l.s) IN (SELECT i, s FROM {other})",
]


def values(random: Random, name: str, low: int, high: int, count: int) -> pa.Array:
    type_, make = KEYS[name]
    found = [None if random.random() < 0.15 else make(random.randint(low, high)) for _ in range(count)]
    arrow = {"int": pa.int32(), "double": pa.float64(), "string": pa.string(), "date": pa.date32()}.get(type_, pa.decimal128(9, 2))
    return pa.array([v if v is None or type_[:3] != "dec" else Decimal(str(v)) for v in found], arrow)


def dealt(random: Random, deck: Sequence[T]) -> Iterator[T]:
    """All of them in random order, then again."""
    return cycle(random.sample(deck, len(deck)))


def drawn(pair: int) -> list[list[str]]:
    """Queries of two seeds, among which each condition, type, operator and sub-query stands at least once."""
    random = Random(pair)
    conditions, types, outer = dealt(random, CONDITIONS), dealt(random, TYPES), dealt(random, TYPES[:4])
    operators, subqueries = dealt(random, OPERATORS), dealt(random, SUBQUERIES)
    queries: list[list[str]] = [[], []]
    for found, (left, right) in product(queries, (("large", "small"), ("small", "large"))):
        for condition, type_ in islice(zip(conditions, types, strict=False), 3):
            columns = "l.i, l.x, l.s" if type_ in ("LEFT SEMI", "LEFT ANTI") else "l.i, l.x, r.s, r.i"
            found.append(f"SELECT {columns} FROM {left} l {type_} JOIN {right} r ON {condition}")
        for condition, operator in islice(zip(conditions, operators, strict=False), 2):
            side = operator.format(left)
            found.append(f"SELECT l.i, l.x, l.c, r.s FROM {side} l {next(outer)} JOIN {right} r ON {condition}")
        found.append(f"SELECT l.i, r.x FROM {left} l {next(outer)} JOIN {right} r ON {next(conditions)} WHERE l.i > 2 OR r.x < 5")
        found += [f"SELECT * FROM {left} l WHERE {sub.format(other=right)}" for sub in islice(subqueries, 3)]
    return queries


@pytest.mark.parametrize("seed", range(SEEDS))
def test_random_joins(spark: SparkSession, skipping: Skipping, tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    random = Random(seed)
    folder = tmp_path_factory.mktemp("random-joins")
    large = Lake(spark, skipping, folder / "large")
    for f in range(6):
        columns = {name: values(random, name, f * 4, f * 4 + 5, 12) for name in KEYS}
        large.file(f"{f}.parquet", {**columns, "pad": [random.randbytes(800).hex() for _ in range(12)]})
    large.index(MinMax("i"), ValueList("i"), MinMax("x"), BloomFilter("s"), MinMax("c"), MinMax("t"), ValueList("x"))
    large.view("large")
    small = Lake(spark, skipping, folder / "small")
    start = random.randint(0, 20)
    for f in range(2):
        small.file(f"{f}.parquet", {name: values(random, name, start, start + 3, 4) for name in KEYS})
    small.view("small")
    queries = drawn(seed // 2)[seed % 2]
    try:
        assert compared(spark, skipping, queries) > len(queries) * 2 / 3
    finally:
        spark.catalog.dropTempView("large")
        spark.catalog.dropTempView("small")
