"""Random tables: files take some values of each column's pool, so values repeat across files, and literals of the pool hit often."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

import pyarrow as pa
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from tests.differential.values import COLUMNS, NAN, kind_of


def drawn(strategy: st.SearchStrategy[Any], count: int, number: int) -> list[Any]:
    """`count` examples of a strategy, the same ones for the same number."""
    examples: list[Any] = []

    def keep(example: Any) -> None:
        examples.append(example)

    quiet = settings(max_examples=count, database=None, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    quiet(seed(number)(given(strategy)(keep)))()
    return examples


@dataclass(frozen=True)
class RandomTable:
    """The values that each column takes, and the rows of each file."""

    pools: dict[str, list[Any]]
    files: dict[str, pa.Table]


@st.composite
def tables(draw: st.DrawFn, files: int = 16) -> RandomTable:
    pools = {name: draw(st.lists(kind_of(name).values, min_size=5, max_size=9)) for name in COLUMNS}
    random = Random(draw(st.integers(0, 2**32)))
    made = {"empty.parquet": arrow_table({name: [] for name in COLUMNS}, random), "nulls.parquet": rows_of_nulls(4, random)}
    for i in range(files):
        made[f"{i:02d}.parquet"] = random_file(pools, random)
    return RandomTable(pools, made)


def random_file(pools: dict[str, list[Any]], random: Random) -> pa.Table:
    """A file whose every column takes one to three values of its pool, with or without nulls, some columns only nulls."""
    rows = random.choice((1, 3, 12))
    columns = {}
    for name, pool in pools.items():
        chosen = random.sample(pool, min(len(pool), random.choice((1, 1, 2, 3))))
        if pa.types.is_floating(kind_of(name).arrow):
            chosen = random.choice((chosen, chosen, chosen, [*chosen, NAN], [chosen[0], NAN], [NAN], [0.0, -0.0]))
        nulls = random.choice((0.0, 0.0, 0.3, 1.0 if random.random() < 0.3 else 0.0))
        columns[name] = [None if random.random() < nulls else random.choice(chosen) for _ in range(rows)]
    return arrow_table(columns, random)


def rows_of_nulls(rows: int, random: Random) -> pa.Table:
    return arrow_table({name: [None] * rows for name in COLUMNS}, random)


def arrow_table(columns: dict[str, list[Any]], random: Random) -> pa.Table:
    """The file's rows; where all fields of a struct are null, the struct itself sometimes is."""
    arrays = {name: pa.array(columns[name], kind_of(name).arrow) for name in COLUMNS}
    deep = pa.StructArray.from_arrays([arrays["st.deep.x"]], ["x"])
    absent = [
        a is None and b is None and c is None and random.random() < 0.5
        for a, b, c in zip(*(columns[n] for n in ("st.a", "st.name", "st.deep.x")), strict=True)
    ]
    struct = pa.StructArray.from_arrays([arrays["st.a"], arrays["st.name"], deep], ["a", "name", "deep"], mask=pa.array(absent, pa.bool_()))
    flat = {name: array for name, array in arrays.items() if "." not in name}
    first = random.randrange(2**50)  # ids are unique among files, all but surely
    return pa.table({"id": pa.array(range(first, first + len(struct)), pa.int64()), **flat, "st": struct})
