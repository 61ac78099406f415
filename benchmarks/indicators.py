"""What each index costs and how well it skips, on the demo's data: `.venv/bin/python -m benchmarks.indicators`.

The indicators of Extensible Data Skipping (IV-A and V-E, tables I and II): for each index alone, its metadata a file (compressed, as
stored), the time to create it, the geometric means of selectivity, layout, metadata and scanning factor over a workload of
random queries that each match something, and the share of files skipped of those that an oracle would skip.

Exits with 1 if a list of all values skips less than 95 % of what the oracle does.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

import numpy as np
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from deltalake import DeltaTable

import data_skip
from data_skip import BloomFilter, GapList, Hybrid, Index, MetricDistance, MinMax, Prefix, Suffix, ValueList, great_circle
from data_skip.planning.indicators import Indicators
from data_skip.spark.java import ensure_java
from data_skip.table import Table
from sample_data import printing
from sample_data.access_log import write_access_log
from sample_data.demo import start_spark
from sample_data.queries import BOT
from sample_data.weather import write_weather

LISTS = (ValueList,)
GOAL = 0.95


@dataclass(frozen=True)
class Workload:
    """Queries of one form over one table, and the indexes that are compared on them."""

    table: str
    title: str
    queries: list[str]
    indexes: list[Index]


@dataclass(frozen=True)
class Line:
    """One index on one workload."""

    index: str
    bytes_a_file: float
    seconds: float
    means: Indicators
    reached: float


def main(arguments: list[str] | None = None) -> int:
    """Print the tables; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.indicators", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("build/indicators"), help="where the tables go (%(default)s)")
    parser.add_argument("--queries", type=int, default=20, help="of each workload (%(default)s)")
    options = parser.parse_args(arguments)
    ensure_java()
    folders = {"weather": options.out / "weather", "access_log": options.out / "access_log"}
    write_weather(folders["weather"])
    write_access_log(folders["access_log"])
    spark = start_spark()
    below = []
    try:
        skipping = data_skip.enable(spark)
        for workload in workloads(folders, options.queries):
            table = skipping.table(str(folders[workload.table]))
            print(printing.heading(f"{workload.table}: {workload.title}  ({len(workload.queries)} queries)"), flush=True)
            found = [measure(table, index, workload.queries) for index in workload.indexes]
            print(printing.table([HEADER, *map(shown, found)]), flush=True)
            below += [m.index for m, i in zip(found, workload.indexes, strict=True) if isinstance(i, LISTS) and m.reached < GOAL]
    finally:
        spark.stop()
    if below:
        print(f"\nbelow {GOAL:.0%} of the oracle: {', '.join(below)}", file=sys.stderr)
    return 1 if below else 0


def workloads(folders: dict[str, Path], count: int) -> Iterator[Workload]:
    """The queries: about values that are drawn from the data, always the same."""
    random = Random(2020)

    def drawn(table: str, column: str) -> list[object]:
        values = ds.dataset(folders[table], format="parquet", exclude_invalid_files=False).to_table(columns=[column])[column]
        return random.choices(values.drop_null().to_pylist(), k=count)

    def affixes(suffix: bool) -> list[str]:
        texts = [str(v) for v in drawn("access_log", "path")]
        parts = [text[-random.randint(1, len(text)) :] if suffix else text[: random.randint(1, len(text))] for text in texts]
        return [f"path LIKE {quoted('%' + like(part) if suffix else like(part) + '%')}" for part in parts]

    near = [f"lat BETWEEN {v} AND {float(str(v)) + 0.05}" for v in drawn("weather", "lat")]
    yield Workload("weather", "lat BETWEEN v AND v + 0.05", near, [MinMax("lat"), GapList("lat"), GapList("lat", 64), ValueList("lat")])
    cities = [f"city = {quoted(str(v))}" for v in drawn("weather", "city")]
    every = [ValueList("city"), BloomFilter("city"), Hybrid("city"), MinMax("city"), GapList("city"), Prefix("city"), Suffix("city")]
    yield Workload("weather", "city = v", cities, every)
    alike = [f"levenshtein(city, {quoted(str(v))}) <= 1" for v in drawn("weather", "city")]
    yield Workload("weather", "levenshtein(city, v) <= 1", alike, [MetricDistance("city"), ValueList("city")])
    points = zip(drawn("weather", "lat"), drawn("weather", "lng"), strict=True)
    places = [f"{great_circle('lat', 'lng', float(str(lat)), float(str(lng)))} < 1000000" for lat, lng in points]
    yield Workload("weather", "great_circle(lat, lng, v) < 1000 km", places, [MetricDistance("lat", "lng", metric="great_circle")])
    yield Workload("access_log", "path LIKE 'v%'", affixes(False), [Prefix("path"), Prefix("path", 15), MinMax("path"), ValueList("path")])
    yield Workload("access_log", "path LIKE '%v'", affixes(True), [Suffix("path"), Suffix("path", 15), ValueList("path")])
    yield Workload("access_log", "path LIKE '%v%'", [q.replace("LIKE '", "LIKE '%") for q in affixes(False)], [ValueList("path")])
    robots = [f"{BOT} = {quoted(v)}" for v in ("AhrefsBot", "Googlebot", "bingbot", "YandexBot", "Slackbot", "Twitterbot", "rogerbot")]
    yield Workload("access_log", "robot(user_agent) = v", robots, [ValueList(BOT), BloomFilter(BOT), Hybrid(BOT)])
    times = [f"time BETWEEN TIMESTAMP'{v}' AND TIMESTAMP'{v}' + INTERVAL 1 MINUTE" for v in drawn("access_log", "time")]
    yield Workload("access_log", "time BETWEEN v AND v + 1 minute", times, [MinMax("time"), GapList("time")])


def quoted(text: str) -> str:
    """A SQL string."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def like(text: str) -> str:
    """A pattern that matches exactly this text."""
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def measure(table: Table, index: Index, queries: list[str]) -> Line:
    """Creates the index, asks how well each query skips with it, and drops it."""
    (index,) = table.fitted(index)
    report = table.create_index(index)
    try:
        size = metadata_bytes(table.describe().location, index) / report.files_collected
        found = table.indicators(*queries)
    finally:
        table.drop_index(index)
    return Line(str(index), size, report.seconds, found.means, float(np.mean(list(found.of_oracle.values()))))


def metadata_bytes(location: str, index: Index) -> int:
    """What the index's column takes in the store, compressed."""
    total = 0
    for uri in DeltaTable(location).file_uris():
        metadata = pq.read_metadata(uri)
        for group in range(metadata.num_row_groups):
            chunks = (metadata.row_group(group).column(i) for i in range(metadata.num_columns))
            total += sum(chunk.total_compressed_size for chunk in chunks if chunk.path_in_schema.split(".")[0] == index.column)
    return total


HEADER = ["index", "bytes/file", "seconds", "sigma", "lambda", "mu", "psi", "of oracle"]


def shown(m: Line) -> list[str]:
    """One row of the table."""
    factors = (m.means.selectivity, m.means.layout_factor, m.means.metadata_factor, m.means.scanning_factor)
    return [m.index, f"{m.bytes_a_file:,.0f}", f"{m.seconds:.1f}", *(f"{factor:.2g}" for factor in factors), f"{m.reached:.1%}"]


if __name__ == "__main__":
    sys.exit(main())
