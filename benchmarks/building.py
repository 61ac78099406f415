"""What making an index costs, as a multiple of Spark's own scan of the same columns.

    make bench BENCH=building      or      python -m benchmarks.building [files [rows of each]]

Each index alone over a table of Parquet files, and eight of them in one pass; beside each, Spark's scan of its columns into nothing
("noop"), in the same run: medians, after one that warms up. An index that is made of footers alone ("lifted") reads no data; "direct":
Spark's tasks read the files themselves. What does not grow with the rows, about 0.3 s, is a large part of it where files are few. Then
some indexes over a sixteenth of the files as Spark writes them in other formats.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame

import data_skip
from benchmarks.overhead import date_back, session
from data_skip import BloomFilter, GapList, Index, MinMax, Prefix, Suffix, Table, ValueList
from geo_skip import GeoBox, S2Covering
from log_skip import Formatted, NGram, register

ROWS_A_FILE = 400_000
REPEATS = 3
AGENTS = ("Mozilla/5.0 (X11; Linux x86_64; rv:{}.0) Gecko/20100101 Firefox/{}.0", "curl/{}.{}.1", "Wget/1.{} (linux-gnu) rv:{}")
CASES: Sequence[tuple[Index, str]] = (
    (MinMax("number"), "number"),
    (MinMax("lat"), "lat"),
    (MinMax("number + 1"), "number"),
    (ValueList("number"), "number"),
    (ValueList("hour(at)"), "at"),
    (GapList("number"), "number"),
    (BloomFilter("number"), "number"),
    (Prefix("city", 4), "city"),
    (Suffix("city", 4), "city"),
    (NGram("city"), "city"),
    (Formatted("agent", "get_agent_name"), "agent"),
    (GeoBox("lat", "lng"), "lat lng"),
    (S2Covering("lat", "lng"), "lat lng"),
)
TOGETHER = slice(3, 11)
OTHER_FORMATS = {  # by a name how they are written and read
    "csv": ("csv", {"header": "true"}),
    "csv, gzip": ("csv", {"header": "true", "compression": "gzip"}),
    "json": ("json", {}),
    "orc": ("orc", {}),
}
PLAIN: Sequence[tuple[Index, str]] = ((MinMax("number"), "number"), (MinMax("lat"), "lat"), (Prefix("city", 4), "city"))


def main(files: int, rows: int) -> None:
    """Prints the table."""
    spark = session()
    register(spark)
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder) / "t", files, rows)
        frame = spark.read.parquet(f"{folder}/t")
        skipping = data_skip.enable(spark, index_root=f"{folder}/indexes")
        table = skipping.table(f"{folder}/t")
        print(f"{files:,} files of {rows:,} rows\n{'index':<40} {'scan':>8} {'index':>8} {'ratio':>6}")
        for index, columns in CASES:
            line(str(index), frame, columns.split(), table, [index])
        together = CASES[TOGETHER]
        columns_of_all = sorted({column for _, columns in together for column in columns.split()})
        line(f"{len(together)} of them in one pass", frame, columns_of_all, table, [index for index, _ in together])
        for title, (kind, options) in OTHER_FORMATS.items():
            path = f"{folder}/{title}"
            some = spark.read.parquet(*sorted(map(str, Path(f"{folder}/t").glob("*.parquet")))[: max(1, files // 16)])
            some.write.options(**options).format(kind).save(path)
            for file in Path(path).glob("part-*"):
                date_back(file)
            other = spark.read.schema(some.schema).options(**options).format(kind).load(path)
            of_other = skipping.table(path, format=kind, schema=some.schema, options=options)
            for index, columns in PLAIN:
                line(f"{title}: {index}", other, columns.split(), of_other, [index])
    spark.stop()


def line(title: str, frame: DataFrame, columns: list[str], table: Table, indexes: list[Index]) -> None:
    """Measures and prints a line: scans and indexing in turn."""
    scans, made, note = [], [], ""
    for repetition in range(1 + REPEATS):
        scan = seconds(lambda: frame.select(*columns).write.format("noop").mode("overwrite").save())
        start = time.perf_counter()
        report = table.create_index(*indexes)
        taken = time.perf_counter() - start
        for index in indexes:
            table.drop_index(index)
        if repetition:  # the first warms up
            scans.append(scan)
            made.append(taken)
        note = "  lifted" if report.files_lifted else "  direct" if report.files_direct else ""
    scan, taken = statistics.median(scans), statistics.median(made)
    print(f"{title[:40]:<40} {scan:>6.2f} s {taken:>6.2f} s {taken / scan:>6.1f}{note}", flush=True)


def seconds(run: Callable[[], None]) -> float:
    """What it takes."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def write(folder: Path, files: int, rows: int) -> None:
    """Numbers and points that lie close in a file, times of a day, cities and user agents."""
    folder.mkdir()
    random = np.random.default_rng(0)
    for i in range(files):
        versions = zip(random.integers(0, len(AGENTS), 200), random.integers(1, 130, 200), strict=True)
        agents = pa.array([AGENTS[agent].format(version, version) for agent, version in versions])
        cities = pa.array([f"city {n} of {i}" for n in range(500)])
        columns = {
            "number": random.integers(0, 1_000, rows) + i * 500,
            "at": pa.array(random.integers(0, 86_400_000_000, rows) + i * 86_400_000_000, pa.timestamp("us", "UTC")),
            "city": cities.take(pa.array(random.integers(0, len(cities), rows))),
            "agent": agents.take(pa.array(random.integers(0, len(agents), rows))),
            "lat": random.normal(i % 90, 0.5, rows).clip(-90, 90),
            "lng": random.normal(i % 180, 0.5, rows).clip(-180, 180),
        }
        pq.write_table(pa.table(columns), folder / f"{i:05}.parquet")
        date_back(folder / f"{i:05}.parquet")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 32, int(sys.argv[2]) if len(sys.argv) > 2 else ROWS_A_FILE)
