"""What a query loses where running the small side of a join first gains nothing: the same query with skipping and without.

    make bench BENCH=joins      or      python -m benchmarks.joins [title ...]

Each fact table has an index on its key, and no file of it can be skipped, or few: what the small side costs is lost. CPU of Spark's JVM and
of Python, and time; medians, after warming up. The goal: the ratio stays near 1, and below it where files are skipped.
"""

from __future__ import annotations

import gzip
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import data_skip
from benchmarks.overhead import date_back, session
from benchmarks.plans import cpu
from data_skip import MinMax

FILES, ROWS = 20, 100_000  # of the fact; rows of a file
KEYS = FILES * ROWS
GROUPED = 6000
REPETITIONS = 3


@dataclass(frozen=True)
class Case:
    """A query, and the tables that it reads."""

    title: str
    sql: str


def main(titles: list[str]) -> None:
    """Prints the table."""
    spark = session()
    skipping = data_skip.enable(spark)
    with tempfile.TemporaryDirectory() as folder:
        print(f"{'join with':<30} {'CPU without':>12} {'CPU with':>12} {'ratio':>6} {'without':>10} {'with':>10} {'files':>9}")
        for case in cases(spark, skipping, Path(folder)):
            if not titles or any(title in case.title for title in titles):
                compare(spark, skipping, case)
    spark.stop()


def cases(spark: SparkSession, skipping: data_skip.Skipping, folder: Path) -> Iterator[Case]:
    """What once cost twice as much with skipping, and what has to go on being skipped."""
    random = np.random.default_rng(1)
    for name, keys, wide in (
        ("wide", random.permutation(KEYS), 60),
        ("narrow", np.arange(KEYS), 1),
        ("scattered", random.permutation(KEYS), 1),
    ):
        fact(folder / name, keys, wide, random)
        skipping.table(str(folder / name)).create_index(MinMax("k"))
        spark.read.parquet(str(folder / name)).createOrReplaceTempView(name)
    ids = random.permutation(KEYS)[: KEYS // 2]
    parquet(folder / "dim" / "0.parquet", {"id": ids, "y": ids % 7})
    spark.read.parquet(str(folder / "dim")).createOrReplaceTempView("dim")
    lines = "".join(f"{i},{i % 7},{'-' * 60}\n" for i in range(0, KEYS, 2))
    (folder / "packed").mkdir()
    (folder / "packed" / "0.csv.gz").write_bytes(gzip.compress(lines.encode()))
    spark.read.csv(str(folder / "packed"), schema="id BIGINT, y BIGINT, pad STRING").createOrReplaceTempView("packed")
    parquet(folder / "groups" / "0.parquet", {"id": np.arange(GROUPED), "g": np.arange(GROUPED) % 5})
    spark.read.parquet(str(folder / "groups")).createOrReplaceTempView("groups")
    exploding = "(SELECT a.id * 300 + b.id AS id FROM groups a JOIN groups b ON a.g = b.g WHERE a.id % 7 <> b.id % 11)"
    yield Case("a wide fact", "SELECT sum(v) FROM wide JOIN dim ON k = id WHERE y <> 3")
    yield Case("a wide fact, packed CSV", "SELECT sum(v) FROM wide JOIN packed ON k = id WHERE y <> 3")
    yield Case("scattered keys", "SELECT sum(v) FROM scattered JOIN dim ON k = id WHERE y <> 3 AND id % 1000 = 1")
    yield Case("an exploding side", f"SELECT sum(v) FROM narrow WHERE k IN {exploding}")
    yield Case("a slow expression", f"SELECT sum(v) FROM narrow WHERE k IN (SELECT id * 300 FROM groups WHERE {slow('id')} > 0)")
    yield Case("few keys, clustered", "SELECT sum(v) FROM narrow JOIN groups ON k = id WHERE g = 3")


def slow(column: str) -> str:
    """An expression that takes a quarter of a millisecond."""
    return f"aggregate(sequence(0L, 5000L + {column} % 10), 0L, (a, v) -> a + v % 7)"


def fact(folder: Path, keys: np.ndarray, wide: int, random: np.random.Generator) -> None:
    """FILES files of k, v and `wide` further columns."""
    for i in range(FILES):
        columns = {"k": keys[i * ROWS : (i + 1) * ROWS], "v": random.integers(0, 1000, ROWS)}
        parquet(folder / f"{i:02}.parquet", columns | {f"c{c}": random.integers(0, 1 << 40, ROWS) for c in range(wide)})


def parquet(path: Path, columns: dict[str, np.ndarray]) -> None:
    """Writes one file, dated back."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path)
    date_back(path)


def compare(spark: SparkSession, skipping: data_skip.Skipping, case: Case) -> None:
    """Runs the query in turn without and with skipping; prints the medians."""

    def without() -> None:
        with skipping.disabled():
            spark.sql(case.sql).collect()

    def with_skipping() -> None:
        spark.sql(case.sql).collect()

    taken: dict[Callable[[], None], list[tuple[float, float]]] = {without: [], with_skipping: []}
    for repetition in range(1 + REPETITIONS):
        for variant, found in taken.items():
            used, start = cpu(spark), time.perf_counter()
            variant()
            if repetition:
                found.append((cpu(spark) - used, (time.perf_counter() - start) * 1000))
    (plain_cpu, plain), (skipped_cpu, skipped) = (
        [statistics.median(column) for column in zip(*found, strict=True)] for found in taken.values()
    )
    scan = next(scan for scan in skipping.report().scans if scan.files_total == FILES)
    files = f"{scan.files_read} of {FILES}"
    times = f"{plain:>7,.0f} ms {skipped:>7,.0f} ms"
    print(f"{case.title:<30} {plain_cpu:>9,.0f} ms {skipped_cpu:>9,.0f} ms {skipped_cpu / plain_cpu:>6.2f} {times} {files:>9}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
