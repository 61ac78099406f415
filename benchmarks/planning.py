"""What skipping adds to planning as one thing grows: the same query planned with skipping and without.

    make bench BENCH=planning      or      python -m benchmarks.planning [title ...]

Planning is all that happens before Spark's first task (see overhead.py). Each line is one query of one size: medians, after warming up, of
as many repetitions, up to fifteen, as two seconds allow. The time added should grow with the size at most, and by little.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

import data_skip
from benchmarks.overhead import date_back, medians, session
from data_skip import MinMax, ValueList
from geo_skip import GeoBox

FILES = 200


@dataclass(frozen=True)
class Case:
    """One query of one size."""

    title: str
    size: int
    frame: Callable[[], DataFrame]


def main(titles: list[str]) -> None:
    """Prints the table."""
    spark = session()
    skipping = data_skip.enable(spark)
    with tempfile.TemporaryDirectory() as folder:
        print(f"{'what grows':<28} {'size':>7} {'without':>11} {'with':>11} {'added':>11} {'ratio':>6}")
        for case in cases(spark, skipping, Path(folder)):
            if not titles or any(title in case.title for title in titles):
                compare(skipping, case)
    spark.stop()


def cases(spark: SparkSession, skipping: data_skip.Skipping, folder: Path) -> Iterator[Case]:
    """Each thing that a query may have many of, alone."""
    narrow = write(
        folder / "narrow", FILES, {"x": pa.int64(), "s": pa.string(), "lat": pa.float64(), "lng": pa.float64(), "t": pa.string()}
    )
    skipping.table(str(narrow)).create_index(MinMax("x"), ValueList("s"), GeoBox("lat", "lng"))
    frame = spark.read.parquet(str(narrow))

    def where(title: str, sizes: tuple[int, ...], predicate: Callable[[int], str]) -> Iterator[Case]:
        for size in sizes:
            sql = predicate(size)
            yield Case(title, size, partial(frame.where, sql))

    up_to_1000 = (1, 10, 100, 1000)
    yield from where("conjuncts: x <> n", up_to_1000, lambda n: " AND ".join(f"x <> {i * 7}" for i in range(n)))
    yield from where("conjuncts: s NOT LIKE", up_to_1000, lambda n: " AND ".join(f"s NOT LIKE '%{i}b%'" for i in range(n)))
    yield from where("conjuncts without index", (1, 10, 100), lambda n: " AND ".join(f"md5(t) > '{i}'" for i in range(n)))
    yield from where("disjuncts: s LIKE", up_to_1000, lambda n: " OR ".join(f"s LIKE '%{i}b%'" for i in range(n)))
    yield from where("disjuncts: ranges of x", up_to_1000, lambda n: " OR ".join(f"x BETWEEN {i * 9} AND {i * 9 + 1}" for i in range(n)))
    yield from where("values of IN", (1, 100, 10_000, 100_000), lambda n: f"x IN ({', '.join(str(i * 3) for i in range(n))})")
    yield from where("depth: x + 1 + 1 ... > n", (1, 10, 100), lambda n: f"x{' + 1' * n} > {FILES * 5}")
    for size in (1, 10, 100):
        yield Case("depth of Projects", size, partial(projected, frame, size))
    yield from of_tables(spark, skipping, folder)


def of_tables(spark: SparkSession, skipping: data_skip.Skipping, folder: Path) -> Iterator[Case]:
    """Tables of many indexes, files and partitions."""
    for count in (1, 10, 100, 1000):
        columns = {f"c{i}": pa.int64() for i in range(count)}
        wide = write(folder / f"wide{count}", 20, columns)
        skipping.table(str(wide)).create_index(*map(MinMax, columns))
        frame = spark.read.parquet(str(wide))
        yield Case("indexes, one of them asked", count, partial(frame.where, "c0 > 70"))
        if count in (10, 100):
            every = " AND ".join(f"{name} > 70" for name in columns)
            yield Case("indexes, all of them asked", count, partial(frame.where, every))
    for count in (100, 1000, 10_000):
        many = write(folder / f"many{count}", count, {"x": pa.int64()})
        skipping.table(str(many)).create_index(MinMax("x"))
        frame = spark.read.parquet(str(many))
        yield Case("files", count, partial(frame.where, "x = 77"))
    for count in (10, 100, 1000):
        parts = write(folder / f"parts{count}", count, {"x": pa.int64()}, "p={}/part.parquet")
        skipping.table(str(parts)).create_index(MinMax("x"))
        frame = spark.read.parquet(str(parts))
        yield Case("partitions", count, partial(frame.where, "x = 77 OR p = 3"))


def projected(frame: DataFrame, depth: int) -> DataFrame:
    """A filter above a column that is computed step by step."""
    for i in range(depth):
        frame = frame.selectExpr("x + 1 AS x", "s") if i % 2 else frame.selectExpr("x AS x", "s")
    return frame.where("x > 70")


def write(folder: Path, count: int, columns: dict[str, pa.DataType], name: str = "{:05}.parquet") -> Path:
    """Small files of rising values."""
    for i in range(count):
        values = np.arange(5 * i, 5 * i + 5)
        path = folder / name.format(i)
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({c: pa.array(map(str, values) if t == pa.string() else values, t) for c, t in columns.items()}), path)
        date_back(path)
    return folder


def compare(skipping: data_skip.Skipping, case: Case) -> None:
    """Plans the query in turn without and with skipping; prints the medians."""
    plain, skipped = medians(skipping, case.frame, 2, 15, seconds=2)
    added, ratio = skipped - plain, skipped / plain
    print(f"{case.title:<28} {case.size:>7,} {plain:>8.1f} ms {skipped:>8.1f} ms {added:>8.1f} ms {ratio:>6.2f}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
