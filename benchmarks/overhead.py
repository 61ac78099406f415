"""What skipping adds to the planning of a query: the same query planned with and without, on tables of 1, 1,000 and 10,000 files.

    make bench      or      python benchmarks/overhead.py [repetitions]

Planning is all that happens before Spark's first task: parsing, analysis, optimisation, and the listing of files for the scan
(`FileIndex.listFiles`), which is where skipping decides. No data is read. Each pair is measured in turn, in one session, after
warming up; medians. "one file survives" is a range that skips all files but one, "none skipped" a range that skips nothing.

Then queries that gain nothing: over ten files, and over a table without an index beside one that has one. The median of the differences
of pairs, of what planning takes, and of what the query takes with all its tasks. Which of a pair comes first alternates.
"""

from __future__ import annotations

import math
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

import data_skip
from data_skip import MinMax, ValueList
from data_skip.spark.java import ensure_java

FILES = (1, 1_000, 10_000)
ROWS_A_FILE = 4
FEW = 10  # files
FEW_TIMES = 4  # as many repetitions, since what is to be seen is less


def main(repetitions: int) -> None:
    """Prints the table."""
    spark = session()
    skipping = data_skip.enable(spark)
    with tempfile.TemporaryDirectory() as folder:
        print(f"{'files':>7} {'query':<20} {'without':>9} {'with':>9} {'added':>9} {'ratio':>6}")
        for count in FILES:
            table = Path(folder) / str(count)
            write(table, count)
            skipping.table(str(table)).create_index(MinMax("id"), ValueList("name"))
            frame = spark.read.parquet(str(table))
            for title, where in (
                ("one file survives", f"id = {ROWS_A_FILE * count // 2}"),
                ("none skipped", f"id >= 0 AND id < {ROWS_A_FILE * count}"),
                ("by value list", f"upper(name) = 'NAME {count // 2}'"),
            ):
                compare(skipping, frame, where, count, title, repetitions)
        nothing_gained(spark, skipping, Path(folder), repetitions)
    spark.stop()


def nothing_gained(spark: SparkSession, skipping: data_skip.Skipping, folder: Path, repetitions: int) -> None:
    """Prints what queries take longer that gain nothing."""
    indexed, bare = folder / "few", folder / "bare"
    for table in (indexed, bare):
        write(table, FEW)
    skipping.table(str(indexed)).create_index(MinMax("id"), ValueList("name"))
    ranged, joined = f"id >= 0 AND id < {ROWS_A_FILE * FEW}", "SELECT count(*) FROM bare JOIN few USING (id) WHERE bare.id >= 0"
    few, unindexed = spark.read.parquet(str(indexed)), spark.read.parquet(str(bare))
    few.createOrReplaceTempView("few")
    unindexed.createOrReplaceTempView("bare")
    cases: tuple[tuple[str, Callable[[], DataFrame]], ...] = (
        ("10 files, none skipped", lambda: few.where(ranged)),
        ("10 files, no index serves", lambda: few.where("id % 3 = 0")),
        ("10 files, nothing asked", lambda: few.select("name")),
        ("no index", lambda: unindexed.where(ranged)),
        ("no index, aggregated", lambda: unindexed.where(ranged).groupBy("name").count()),
        ("no index, joined with one", lambda: spark.sql(joined)),
    )
    print(f"\n{'nothing gained':<28} {'planned':>9} {'added':>9} {'run':>11} {'added':>9}")
    for title, query in cases:
        columns = []
        for run in (plan, DataFrame.collect):
            pairs = paired(skipping, partial(run_of, run, query), 5, FEW_TIMES * repetitions)
            columns += [statistics.median(without for without, _ in pairs), statistics.median(after - before for before, after in pairs)]
        print(f"{title:<28} " + "  ".join(f"{number:>6.1f} ms" for number in columns), flush=True)


def session(settings: Mapping[str, str] | None = None) -> SparkSession:
    """A quiet local session, with some settings besides."""
    ensure_java()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false")
    spark = builder.config(map={**(settings or {})}).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def write(folder: Path, count: int) -> None:
    """`count` small files of consecutive ids, dated back so that none is too recent to be indexed."""
    folder.mkdir()
    for i in range(count):
        ids = list(range(ROWS_A_FILE * i, ROWS_A_FILE * (i + 1)))
        path = folder / f"{i:05}.parquet"
        pq.write_table(pa.table({"id": pa.array(ids, pa.int64()), "name": [f"name {i}"] * ROWS_A_FILE}), path)
        date_back(path)


def date_back(path: Path) -> None:
    """Gives a file the time of an hour ago, so that it is not too recent to be indexed."""
    moment = time.time() - 3600.123
    os.utime(path, (moment, moment))


def compare(skipping: data_skip.Skipping, frame: DataFrame, where: str, count: int, title: str, repetitions: int) -> None:
    """Plans the query in turn without and with skipping; prints the medians."""
    plain, skipped = medians(skipping, lambda: frame.where(where), 5, repetitions)
    print(f"{count:>7,} {title:<20} {plain:>6.1f} ms {skipped:>6.1f} ms {skipped - plain:>6.1f} ms {skipped / plain:>6.2f}")


def medians(
    skipping: data_skip.Skipping, query: Callable[[], DataFrame], warm: int, repetitions: int, seconds: float = math.inf
) -> tuple[float, float]:
    """How many milliseconds a query's planning takes, without skipping and with it, in turn; after `seconds`, three repetitions do."""
    plain, skipped = zip(*paired(skipping, lambda: plan(query()), warm, repetitions, seconds), strict=True)
    return statistics.median(plain), statistics.median(skipped)


def paired(
    skipping: data_skip.Skipping, run: Callable[[], object], warm: int, repetitions: int, seconds: float = math.inf
) -> list[tuple[float, float]]:
    """As `medians`, of whatever is run: the milliseconds of each repetition, the first of which is without skipping every other time."""

    def without() -> float:
        with skipping.disabled():
            return milliseconds(run)

    for _ in range(warm):
        without(), run()
    pairs: list[tuple[float, float]] = []
    begin = time.perf_counter()
    for repetition in range(repetitions):
        if repetition >= 3 and time.perf_counter() - begin > seconds:
            break
        if repetition % 2:
            with_skipping = milliseconds(run)
            pairs.append((without(), with_skipping))
        else:
            pairs.append((without(), milliseconds(run)))
    return pairs


def run_of(run: Callable[[DataFrame], object], query: Callable[[], DataFrame]) -> object:
    """A query made anew, and run."""
    return run(query())


def milliseconds(run: Callable[[], object]) -> float:
    """What it takes."""
    start = time.perf_counter()
    run()
    return (time.perf_counter() - start) * 1000


def plan(frame: DataFrame) -> int:
    """Plans a query up to its first task; the number of partitions that its scan will have."""
    physical: Any = frame._jdf.queryExecution().executedPlan()
    return int(physical.execute().getNumPartitions())


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 15)
