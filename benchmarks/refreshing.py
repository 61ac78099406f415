"""What a refresh costs after many others: of a table to which four files are added each time.

    make bench BENCH=refreshing      or      python -m benchmarks.refreshing [refreshes]

Of each tenth of the refreshes the median and the longest, which puts together what the others added; beside them, in the same run, the
time in which Spark lists the files of the table, which no refresh can do without. At the end, what `describe()` takes, and of how many
files of the index.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import data_skip
from benchmarks.overhead import date_back, session
from data_skip import BloomFilter, MinMax

AT_ONCE = 4
ROWS = 100


def main(refreshes: int) -> None:
    """Prints a line for each tenth."""
    spark = session()
    skipping = data_skip.enable(spark)
    with tempfile.TemporaryDirectory() as folder:
        add(Path(folder), 0)
        table = skipping.table(folder)
        table.create_index(MinMax("x"), BloomFilter("y"))
        print(f"{'files':>8} {'refresh':>10} {'longest':>10} {'listing':>10}")
        taken: list[float] = []
        for i in range(1, refreshes + 1):
            add(Path(folder), i)
            taken.append(seconds(table.refresh))
            if i % max(refreshes // 10, 1) == 0:
                listing = statistics.median(seconds(lambda: spark.read.parquet(folder).inputFiles()) for _ in range(3))
                told = (statistics.median(taken), max(taken), listing)
                print(f"{AT_ONCE * (i + 1):>8,} " + " ".join(f"{number:>8.2f} s" for number in told), flush=True)
                taken.clear()
        print(f"describe() of {AT_ONCE * (refreshes + 1):,} files takes {seconds(table.describe):.2f} s")
    spark.stop()


def add(folder: Path, number: int) -> None:
    """Four more files."""
    for i in range(AT_ONCE * number, AT_ONCE * (number + 1)):
        pq.write_table(
            pa.table({"x": range(ROWS * i, ROWS * i + ROWS), "y": [f"{i} {n}" for n in range(ROWS)]}), folder / f"{i:06}.parquet"
        )
        date_back(folder / f"{i:06}.parquet")


def seconds(run: Callable[[], object]) -> float:
    """What it takes."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000)
