"""Random arrays and maps, random predicates about them: the same rows with skipping and without."""

from __future__ import annotations

import os
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from data_skip import BloomFilter, GapList, MinMax, Skipping, Suffix, ValueList
from tests.support import Lake, compared

SEEDS = max(1, int(os.environ.get("DATA_SKIP_EXAMPLES", "0")) // 200)  # make fuzz draws more
NUMBERS, REALS, WORDS = pa.list_(pa.int64()), pa.list_(pa.float64()), pa.list_(pa.string())
ITEMS = pa.list_(pa.struct({"p": pa.int64(), "q": pa.string()}))
TYPES = {"a": NUMBERS, "x": REALS, "s": WORDS, "aa": pa.list_(NUMBERS), "items": ITEMS, "m": pa.map_(pa.string(), pa.int64())}
BODIES = {
    "a": [
        "{e} > {n}",
        "{e} = {n}",
        "{e} IN ({n}, {m}, NULL)",
        "{e} % 3 = 1",
        "{e} IS NULL",
        "{e} <=> {n}",
        "{e} > k",
        "coalesce({e}, 99) > 50",
    ],
    "x": ["{e} > {n}", "{e} = {n}", "isnan({e})", "{e} = 0", "NOT ({e} <= {n})"],
    "s": [
        "{e} = 'w{n}'",
        "{e} LIKE '%{n}'",
        "{e} LIKE 'w{n}%'",
        "length({e}) > 2",
        "upper({e}) IN ('W{n}', 'W{m}')",
        "NOT ({e} LIKE 'w%')",
    ],
}


def array(random: Random, make: Any, most: int = 4) -> Any:
    if random.random() < 0.1:
        return None
    return [None if random.random() < 0.1 else make() for _ in range(random.choice([0, 1, 1, 2, most]))]


def row(random: Random, low: int, high: int) -> dict[str, Any]:
    def number() -> int:
        return random.randint(low, high)

    def word() -> str:
        return random.choice([f"w{number()}", "", f"{number()}w"])

    return {
        "k": random.randint(0, 30),
        "a": array(random, number),
        "x": array(random, lambda: random.choice([float(number()), float("nan"), -0.0])),
        "s": array(random, word),
        "aa": array(random, lambda: array(random, number)),
        "items": array(random, lambda: {"p": random.choice([None, number()]), "q": word()}),
        "m": None if random.random() < 0.1 else list({f"k{number() % 7}": random.choice([None, number()]) for _ in range(3)}.items()),
    }


def body(random: Random, column: str, element: str) -> str:
    texts = [t.format(e=element, n=random.randint(0, 30), m=random.randint(0, 30)) for t in random.sample(BODIES[column], 2)]
    return random.choice([texts[0], f"({texts[0]} AND {texts[1]})", f"({texts[0]} OR {texts[1]})", f"NOT ({texts[0]})"])


def predicate(random: Random) -> str:
    c, n, m = random.choice(["a", "x", "s"]), random.randint(0, 30), random.randint(0, 30)
    constant = f"'w{n}'" if c == "s" else f"{n}D" if c == "x" else f"{n}L"
    zero = "''" if c == "s" else "0D" if c == "x" else f"{m}L"
    leaf = random.choice(
        [
            f"array_contains({c}, {constant})",
            f"array_contains({c}, {zero})",
            f"arrays_overlap({c}, array({constant}, {zero}))",
            f"arrays_overlap(array({zero}, NULL), {c})",
            f"exists({c}, e -> {body(random, c, 'e')})",
            f"forall({c}, e -> {body(random, c, 'e')})",
            body(random, c, f"get({c}, {random.choice([0, 1])})"),
            body(random, c, f"try_element_at({c}, {random.choice([-1, 1, 2])})"),
            body(random, c, f"array_max({c})"),
            body(random, c, f"array_min({c})"),
            f"{c} IS NULL",
            f"size({c}) = {random.choice([-1, 0, 1, 2])}",
            f"exists(aa, y -> exists(y, e -> {body(random, 'a', 'e')}))",
            f"exists(aa, y -> forall(y, e -> {body(random, 'a', 'e')}))",
            f"forall(aa, y -> NOT array_contains(y, {n}))",
            f"exists(aa, y -> y IS NULL OR get(y, 0) = {n})",
            f"exists(items, i -> {body(random, 'a', 'i.p')} AND {body(random, 's', 'i.q')})",
            f"exists(items, i -> i IS NULL OR i.p = {n})",
            f"get(items, 0).p > {n}",
            f"array_contains(items.q, 'w{n}')",
            body(random, "a", f"m['k{n % 7}']"),
            f"map_contains_key(m, 'k{n % 7}')",
            f"exists(map_values(m), e -> {body(random, 'a', 'e')})",
            f"exists(map_entries(m), e -> e.key = 'k{n % 7}' AND {body(random, 'a', 'e.value')})",
        ]
    )
    return random.choice([leaf, leaf, f"NOT ({leaf})", f"({leaf}) IS NULL", f"coalesce({leaf}, k > 15)"])


def exploded(random: Random) -> str:
    outer = random.choice(["", " OUTER"])
    c = random.choice(["a", "x", "s"])
    return random.choice(
        [
            f"SELECT k, e FROM t LATERAL VIEW{outer} explode({c}) AS e WHERE {body(random, c, 'e')}",
            f"SELECT k, e FROM t LATERAL VIEW{outer} posexplode({c}) AS p, e WHERE {body(random, c, 'e')} AND p < 1",
            f"SELECT k, p, q FROM t LATERAL VIEW{outer} inline(items) AS p, q WHERE {body(random, 'a', 'p')} OR {body(random, 's', 'q')}",
            f"SELECT k, e.q FROM t LATERAL VIEW{outer} explode(items) AS e WHERE {body(random, 'a', 'e.p')}",
            f"SELECT k, u, v FROM t LATERAL VIEW{outer} explode(m) AS u, v WHERE {body(random, 'a', 'v')} AND u > 'k2'",
            f"SELECT k, e FROM t LATERAL VIEW{outer} explode(aa) AS y LATERAL VIEW{outer} explode(y) AS e WHERE {body(random, 'a', 'e')}",
        ]
    )


@pytest.mark.parametrize("seed", range(SEEDS))
def test_random_predicates_about_arrays(
    spark: SparkSession, skipping: Skipping, tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    random = Random(seed)
    lake = Lake(spark, skipping, tmp_path_factory.mktemp("random-arrays") / "table")
    for f in range(8):
        low = random.randint(0, 25)
        rows = [row(random, low, low + 4) for _ in range(random.choice([1, 3, 6]))]
        lake.file(f"{f}.parquet", {name: pa.array([r[name] for r in rows], TYPES.get(name, pa.int64())) for name in rows[0]})
    lake.index(
        *(MinMax("a"), ValueList("a"), BloomFilter("a"), GapList("a"), MinMax("x"), ValueList("x"), BloomFilter("s"), ValueList("s")),
        *(Suffix("s", 2), MinMax("aa"), ValueList("aa"), MinMax("items.p"), ValueList("items.q"), ValueList("map_keys(m)")),
        *(MinMax("map_values(m)"), MinMax("size(a)")),
    )
    lake.view()
    predicates, queries = [predicate(random) for _ in range(60)], [exploded(random) for _ in range(16)]
    try:
        assert sum(8 - len(read) for read in lake.reads(*predicates)) + compared(spark, skipping, queries) > 60
        compared(spark, skipping, [f"SELECT k FROM t WHERE {where} AND k >= 0" for where in predicates[::6]])
    finally:
        spark.catalog.dropTempView("t")
