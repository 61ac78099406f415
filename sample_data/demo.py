"""Watch Spark skip files: `make demo`, or `python -m sample_data.demo`.

Writes the sample tables, indexes them, and runs each query of `queries.py` with skipping and without. Exits with 1 if
a query returns other rows with skipping than without it, or reads every file all the same.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import SparkSession

import data_skip
import log_skip
from data_skip import Index
from data_skip.planning.report import human
from data_skip.spark.java import ensure_java
from sample_data import printing
from sample_data.access_log import write_access_log
from sample_data.busy_log import write_busy_log
from sample_data.comparing import compare
from sample_data.files import HERE, Written
from sample_data.queries import BUSY_LOG_QUERIES, QUERIES, Query, access_log_indexes, busy_log_indexes, weather_indexes
from sample_data.weather import write_weather

INDEXES = {"weather": weather_indexes, "access_log": access_log_indexes, "busy_log": busy_log_indexes}


def main(arguments: list[str] | None = None) -> int:
    """Run the demo; the exit status is 0 if every query skipped files and lost no row."""
    parser = argparse.ArgumentParser(prog="python -m sample_data.demo", description="Watch Spark skip files.")
    parser.add_argument("--out", type=Path, default=Path("build/demo"), help="where the tables go (%(default)s)")
    parser.add_argument("--repeats", type=int, default=3, help="timed runs of each query, each way (%(default)s)")
    parser.add_argument("--times", type=int, default=100, help="how many times as large as the real log busy_log is (%(default)s)")
    options = parser.parse_args(arguments)
    if options.repeats < 1 or options.times < 1:
        parser.error("--repeats and --times must be at least 1")

    ensure_java()
    print(printing.heading("Data"), flush=True)
    written = {
        "weather": write_weather(options.out / "weather"),
        "access_log": write_access_log(options.out / "access_log"),
        "busy_log": write_busy_log(options.out / "busy_log", options.times),
    }
    for name, table in written.items():
        size = human(table.bytes)
        print(f"   {name}: {table.rows:,} rows in {table.files:,} Parquet files, {size}, in {table.folder}", flush=True)

    spark = start_spark()
    try:
        skipping = data_skip.enable(spark)
        log_skip.register(spark)
        for name, table in written.items():
            create_indexes(spark, skipping, name, table, INDEXES[name]())
        return run_queries(spark, skipping, [*QUERIES, *BUSY_LOG_QUERIES], options.repeats)
    finally:
        spark.stop()


def start_spark(settings: Mapping[str, str] | None = None) -> SparkSession:
    """A quiet local session with two cores, and some settings besides."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # or the workers run whatever `python3` is
    quiet = (HERE / "log4j2.properties").as_uri()
    builder = (
        SparkSession.builder.master("local[2]")
        .appName("data-skip demo")
        .config("spark.driver.extraJavaOptions", f"-Dlog4j2.configurationFile={quiet}")
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


def create_indexes(spark: SparkSession, skipping: data_skip.Skipping, name: str, written: Written, indexes: list[Index]) -> None:
    """Index one table, all its indexes in one pass, and give it a name for SQL."""
    print(printing.heading(f"Indexes of {name}"), flush=True)
    print(skipping.table(str(written.folder)).create_index(*indexes, progress=True), flush=True)
    spark.read.parquet(str(written.folder)).createOrReplaceTempView(name)


def run_queries(spark: SparkSession, skipping: data_skip.Skipping, queries: list[Query], repeats: int) -> int:
    """Run and print every query, one full report, and the summary."""
    outcomes = []
    for number, query in enumerate(queries, start=1):
        outcomes.append(compare(spark, skipping, query, repeats))
        print(printing.one(number, outcomes[-1]), flush=True)
        if number == 1:
            print("\n   What skipping.report() says about it:\n", flush=True)
            print(outcomes[-1].report, flush=True)
    print(printing.summary(outcomes))
    failed = [number for number, outcome in enumerate(outcomes, start=1) if not outcome.passed]
    if failed:
        print(f"\nFAILED: queries {', '.join(map(str, failed))}", file=sys.stderr)
        return 1
    files_read = sum(outcome.files_read for outcome in outcomes)
    files_total = sum(outcome.files_total for outcome in outcomes)
    share = printing.skipped(files_read, files_total)
    print(f"\nAll {len(outcomes)} queries returned the same rows; {share} of the files were never opened.")
    print("'Without' is Spark as it comes, its own pushdown into Parquet included; times are medians.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
