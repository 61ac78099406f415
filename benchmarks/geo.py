"""Skipping by place, side by side: `make bench BENCH=geo`, or `python -m benchmarks.geo --files 1000`. Needs pyspark 4.0 and Sedona.

The weather of the demo in 1,000 and 10,000 files (regions of stations x quarters of years), and for countries of different sizes
`SELECT count(*), max(temp) ... WHERE <the place lies in the country>`:

    plain        Sedona's ST_Contains, every file read (Spark as it comes, pushdown included, with Sedona's functions)
    Python       our ST_CONTAINS(region, lat, lng) in Arrow batches, every file read; timed once: some 0.2 s a task are Spark's own
    rewrite      plain, and by hand `lat BETWEEN ... AND lng BETWEEN ...` of the country, which Spark pushes down into each file's footer
    MinMax ...   plain with one of our indexes: the same query, nothing rewritten
    oracle       plain over just the files that hold a row of the answer, as if Spark had been given no others: what no index can beat

Files read beside the oracle's, the median time from SQL to rows, how many times faster than plain, and the metadata a file, compressed.
Then both functions alone, on a million points in memory, and how fast points become S2 cells. Exits with 1 where an answer differs.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import s2sphere
import shapely
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from sedona.spark import SedonaContext

import data_skip
import geo_skip
from benchmarks.indicators import metadata_bytes
from data_skip import Index, MinMax
from data_skip.spark.java import ensure_java
from geo_skip import GeoBox, S2Covering
from geo_skip.cells import ids_of_points
from sample_data import printing
from sample_data.countries import read_countries
from sample_data.demo import start_spark
from sample_data.sedona import JARS
from sample_data.weather import write_weather

QUARTERS = 8
COUNTRIES = ("Switzerland", "India", "Brazil", "Australia")
INDEXES: dict[str, list[Index]] = {
    "MinMax": [MinMax("lat"), MinMax("lng")],
    "GeoBox(4)": [GeoBox("lat", "lng", boxes=4)],
    "S2Covering": [S2Covering("lat", "lng")],
}


def main(arguments: list[str] | None = None) -> int:
    """Print the tables; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.geo", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("build/geo"), help="where the tables go (%(default)s)")
    parser.add_argument("--files", type=int, nargs="+", default=[1000, 10_000], help="multiples of 8 (%(default)s)")
    parser.add_argument("--repeats", type=int, default=3, help="timed runs of each query (%(default)s)")
    options = parser.parse_args(arguments)
    ensure_java()
    spark = start_spark({"spark.jars.packages": JARS})
    try:
        plain = spark.newSession()  # without Sedona's functions, for ours
        SedonaContext.create(spark)
        for session in (spark, plain):
            geo_skip.register(session)
        same = [compare(spark, plain, options.out / str(files), files, options.repeats) for files in options.files]
        functions(spark, plain, options.repeats)
    finally:
        spark.stop()
    cells()
    return 0 if all(same) else 1


def compare(spark: SparkSession, plain: SparkSession, folder: Path, files: int, repeats: int) -> bool:
    """One table size; whether all answers are the same."""
    write_weather(folder, files // QUARTERS)
    skipping = data_skip.enable(spark)
    table = skipping.table(str(folder))
    for session in (spark, plain):
        session.read.parquet(str(folder)).createOrReplaceTempView("weather")
    outlines = read_countries()
    measured = [Country(name, outlines[name]) for name in COUNTRIES]
    with skipping.disabled():
        for country in measured:
            matching = spark.read.parquet(str(folder)).where(country.contains)
            country.needed = [row.file for row in matching.select(F.col("_metadata.file_path").alias("file")).distinct().collect()]
            country.measure("plain", spark, country.contains, files, "", repeats)
            country.measure("Python", plain, f"ST_CONTAINS('{country.outline}', lat, lng)", files, "", runs=0)
            west, south, east, north = shapely.bounds(shapely.from_wkt(country.outline))
            by_hand = f"lat BETWEEN {south} AND {north} AND lng BETWEEN {west} AND {east}"
            country.measure("rewrite", spark, f"{country.contains} AND {by_hand}", files, "in footers", repeats)
    for name, indexes in INDEXES.items():
        report = table.create_index(*indexes)
        size = sum(metadata_bytes(table.describe().location, index) for index in indexes) / files
        for country in measured:
            country.measure(name, spark, country.contains, len(table.files(country.contains)), f"{size:,.0f} B a file", repeats)
        print(f"   {name}: created in {report.seconds:.1f} s", flush=True)
        for index in indexes:
            table.drop_index(index)
    for country in measured:
        with skipping.disabled():
            spark.read.parquet(*country.needed).createOrReplaceTempView("needed")
            country.measure("oracle", spark, country.contains, len(country.needed), "", repeats, view="needed")
        country.print(files)
    return all(country.same for country in measured)


class Country:
    """What was measured of the query for one country."""

    same = True

    def __init__(self, name: str, outline: str) -> None:
        self.name, self.outline, self.contains = name, outline, contains(outline)
        self.needed: list[str] = []  # files that hold a row of the answer
        self.answers: list[Row] = []
        self.seconds: list[float] = []
        self.lines: list[list[str]] = []

    def measure(self, how: str, session: SparkSession, where: str, read: int, metadata: str, runs: int, view: str = "weather") -> None:
        row, seconds = timed(lambda: session.sql(f"SELECT count(*), max(temp) FROM {view} WHERE {where}"), runs)
        self.answers.append(row)
        self.seconds.append(seconds)
        differs = "" if row == self.answers[0] else "DIFFERS"
        self.same &= not differs
        times = f"{self.seconds[0] / seconds:.1f}"
        self.lines.append([how, f"{read:,}", f"{read / len(self.needed):.2f}", printing.in_seconds(seconds), times, metadata, differs])

    def print(self, files: int) -> None:
        print(printing.heading(f"{files:,} files: {self.name}, {self.answers[0][0]:,} rows in {len(self.needed):,} files"))
        print(printing.table([["", "files read", "of oracle's", "time", "times", "metadata", ""], *self.lines]), flush=True)


def contains(outline: str) -> str:
    """The predicate, over Sedona."""
    return f"ST_Contains(ST_GeomFromWKT('{outline}'), ST_Point(lng, lat))"


def timed(query: Callable[[], DataFrame], repeats: int) -> tuple[Row, float]:
    """The one row of a query, and the median of its seconds, after a run to warm up; with no repeats, what that run takes."""
    start = time.perf_counter()
    (row,) = query().collect()
    taken = [] if repeats else [time.perf_counter() - start]
    for _ in range(repeats):
        start = time.perf_counter()
        query().collect()
        taken.append(time.perf_counter() - start)
    return row, statistics.median(taken)


def functions(spark: SparkSession, plain: SparkSession, repeats: int) -> None:
    """Sedona's function and ours, on a million points that Spark makes as it goes: in a WHERE, and what each point's answer costs."""
    lines = []
    for session in (spark, plain):
        session.sql("SELECT 180 * rand(1) - 90 AS lat, 360 * rand(2) - 180 AS lng FROM range(0, 1000000, 1, 2)").createOrReplaceTempView(
            "points"
        )
    for country in COUNTRIES:
        outline = read_countries()[country]
        times = []
        found = set()
        for query in ("SELECT count(*) FROM points WHERE {}", "SELECT count_if({}) FROM points"):
            for session, where in ((spark, contains(outline)), (plain, f"ST_CONTAINS('{outline}', lat, lng)")):
                row, seconds = timed(partial(session.sql, query.format(where)), repeats)
                found.add(row[0])
                times.append(printing.in_seconds(seconds))
        corners = shapely.get_num_coordinates(shapely.from_wkt(outline))
        lines.append([f"{country}, {corners} corners", " and ".join(f"{n:,}" for n in found), *times])
    print(printing.heading("ST_Contains of a million points"))
    titles = ["", "points", "WHERE: Sedona", "ours, in Python", "SELECT: Sedona", "ours, in Python"]
    print(printing.table([titles, *lines]), flush=True)


def cells() -> None:
    """Points to the cells of level 30 that they lie in, by one core: ours in numpy, and s2sphere's one by one."""
    random = np.random.default_rng(1)
    lats, lngs = np.degrees(np.arcsin(random.uniform(-1, 1, 4_000_000))), random.uniform(-180, 180, 4_000_000)
    start = time.process_time()
    ids_of_points(lats, lngs)
    ours = len(lats) / (time.process_time() - start)
    start = time.process_time()
    for lat, lng in zip(lats[:20_000].tolist(), lngs[:20_000].tolist(), strict=True):
        s2sphere.CellId.from_lat_lng(s2sphere.LatLng.from_degrees(lat, lng))
    theirs = 20_000 / (time.process_time() - start)
    print(printing.heading("S2 cells of points"))
    print(f"   {ours / 1e6:.1f} million points/s of one core; s2sphere: {theirs:,.0f}")


if __name__ == "__main__":
    sys.exit(main())
