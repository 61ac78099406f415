"""Watch Spark skip files: `make demo`, or `python -m sample_data.demo`.

Writes the sample tables, indexes them, and runs each query of `queries.py` with skipping and without, in parts: places, weather, logs,
and places with Apache Sedona. Exits with 1 if a query returns other rows with skipping than without it, or reads every file all the same.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

import data_skip
import geo_skip
import log_skip
from data_skip.planning.report import human
from data_skip.spark.java import ensure_java
from geo_skip import GeoBox
from sample_data import printing, queries, sedona
from sample_data.access_log import write_access_log
from sample_data.busy_log import write_busy_log
from sample_data.comparing import Outcome, compare
from sample_data.countries import read_countries, write_countries
from sample_data.files import HERE
from sample_data.queries import REGIONS, Query
from sample_data.weather import write_weather

WEATHER_REGIONS = 32  # half of what the generator makes by default: plain Spark, which opens every file, takes most of the demo's time
INDEXES = {"weather": queries.weather_indexes, "access_log": queries.access_log_indexes, "busy_log": queries.busy_log_indexes}
# Few queries of a few seconds, all different, with skipping and without: what a second compiler and parallel collectors cost comes late.
JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


@dataclass(frozen=True)
class Part:
    """Queries, and the tables that they read."""

    tables: list[str]
    queries: list[Query]


PARTS = {
    "geo": Part(["weather", "countries"], queries.GEO_QUERIES),
    "weather": Part(["weather"], queries.WEATHER_QUERIES),
    "logs": Part(["access_log", "busy_log"], [*queries.ACCESS_LOG_QUERIES, *queries.BUSY_LOG_QUERIES]),
    "sedona": Part(["weather"], queries.SEDONA_QUERIES),
}


def main(arguments: list[str] | None = None) -> int:
    """Run the demo; the exit status is 0 if every query skipped files and lost no row."""
    parser = argparse.ArgumentParser(prog="python -m sample_data.demo", description="Watch Spark skip files.")
    parser.add_argument("--only", choices=PARTS, help="one part; without it all, each after the other")
    parser.add_argument("--out", type=Path, default=Path("build/demo"), help="where tables and pictures go (%(default)s)")
    parser.add_argument("--reuse", action="store_true", help="take the tables and indexes that an earlier run left there")
    parser.add_argument("--repeats", type=int, default=1, help="timed runs of each query, each way (%(default)s)")
    parser.add_argument("--times", type=int, default=30, help="how many times as large as the real log busy_log is (%(default)s)")
    options = parser.parse_args(arguments)
    if options.repeats < 1 or options.times < 1:
        parser.error("--repeats and --times must be at least 1")
    if options.only == "sedona" and not sedona.RUNS:
        parser.error("Sedona 1.8.0 runs on Spark 4.0 only")

    ensure_java()
    spark = start_spark({"spark.jars.packages": sedona.JARS} if options.only == "sedona" else {}, JAVA_OPTIONS)
    try:
        status = Demo(spark, options).run([options.only] if options.only else [name for name in PARTS if name != "sedona"])
    finally:
        spark.stop()
    if options.only or not sedona.RUNS:
        return status
    print("\nThe same places with Apache Sedona, in a Spark of its own (its jars are fetched the first time)", flush=True)
    again = [sys.executable, "-m", "sample_data.demo", "--only=sedona", "--reuse", f"--out={options.out}", f"--repeats={options.repeats}"]
    return subprocess.run(again).returncode or status


def start_spark(settings: Mapping[str, str] | None = None, java_options: str = "") -> SparkSession:
    """A quiet local session with two cores, and some settings and options of Java besides."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # or the workers run whatever `python3` is
    quiet = (HERE / "log4j2.properties").as_uri()
    builder = (
        SparkSession.builder.master("local[2]")
        .appName("data-skip demo")
        .config("spark.driver.extraJavaOptions", f"-Dlog4j2.configurationFile={quiet} {java_options}")
        .config("spark.driver.host", "localhost")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
    )
    for key, value in (settings or {}).items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


class Demo:
    """The demo in one Spark session: a table is written and indexed when the first part needs it."""

    def __init__(self, spark: SparkSession, options: argparse.Namespace) -> None:
        self.spark, self.options = spark, options
        self.tables: set[str] = set()
        self.outlines = {name: outline for name, outline in read_countries().items() if name in REGIONS}
        if options.only == "sedona":
            sedona.register_sedona(spark)
        geo_skip.register(spark)
        log_skip.register(spark)
        self.skipping = data_skip.enable(spark)
        for name, outline in self.outlines.items():
            spark.sql(f"DECLARE OR REPLACE VARIABLE {name} STRING DEFAULT '{outline}'")

    def run(self, parts: list[str]) -> int:
        """Run and print the queries of some parts, one full report, and the summary; the exit status."""
        outcomes: list[Outcome] = []
        total = sum(len(PARTS[part].queries) for part in parts)
        for part in parts:
            for table in PARTS[part].tables:
                self.prepare(table)
            for number, query in enumerate(PARTS[part].queries):
                outcomes.append(compare(self.spark, self.skipping, query, self.options.repeats))
                print(printing.one(len(outcomes), total, outcomes[-1]), flush=True)
                if len(outcomes) == 1:
                    print("\n   What skipping.report() says about it:\n", flush=True)
                    print(outcomes[-1].report, flush=True)
                if number == 0:
                    page = outcomes[-1].report.save(self.options.out / f"{part}.html")
                    print(f"   {page}: this report as a page, with pictures", flush=True)
            if part == "geo":
                self.draw_maps()
        print(printing.summary(outcomes))
        return self.verdict(outcomes)

    def prepare(self, name: str) -> None:
        """Write a table unless it is there, index it, all its indexes in one pass, and give it a name for SQL."""
        if name in self.tables:
            return
        self.tables.add(name)
        folder = self.options.out / name
        if not self.options.reuse:
            print(printing.heading(f"Table {name}"), flush=True)
            if name == "weather":
                written = write_weather(folder, WEATHER_REGIONS)
            elif name == "countries":
                written = write_countries(folder)
            elif name == "access_log":
                written = write_access_log(folder)
            else:
                written = write_busy_log(folder, self.options.times)
            print(f"   {written.rows:,} rows in {written.files:,} Parquet files, {human(written.bytes)}, in {folder}", flush=True)
            if name in INDEXES:
                print(self.skipping.table(str(folder)).create_index(*INDEXES[name](), progress=True), flush=True)
        self.spark.read.parquet(str(folder)).createOrReplaceTempView(name)

    def draw_maps(self) -> None:
        """Draw which files the outlines read."""
        from sample_data.world_map import draw  # matplotlib takes a second, and the first query should not wait for it

        print()
        table = self.skipping.table(str(self.options.out / "weather"))
        for name, outline in self.outlines.items():
            picture = self.options.out / f"{name.lower()}.png"
            draw(table, GeoBox("lat", "lng"), f"ST_CONTAINS({name}, lat, lng)", name, outline, picture)
            print(f"   {picture}: the files' boxes, those that are read in red", flush=True)

    def verdict(self, outcomes: list[Outcome]) -> int:
        """Say whether all is well; the exit status."""
        failed = [number for number, outcome in enumerate(outcomes, start=1) if not outcome.passed]
        if failed:
            print(f"\nFAILED: queries {', '.join(map(str, failed))}", file=sys.stderr)
            return 1
        files_read = sum(outcome.files_read for outcome in outcomes)
        files_total = sum(outcome.files_total for outcome in outcomes)
        share = printing.skipped(files_read, files_total)
        print(f"\nAll {len(outcomes)} queries returned the same rows; {share} of the files were never opened.")
        runs = "of one run" if self.options.repeats == 1 else f"medians of {self.options.repeats} runs"
        print(f"'Without' is Spark as it comes, its own pushdown into Parquet included; times are {runs}, after a first one.")
        return 0


if __name__ == "__main__":
    sys.exit(main())
