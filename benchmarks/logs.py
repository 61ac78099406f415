"""Logs: parsing speed, and files and time of queries against an oracle and plain Spark: `make bench BENCH=logs`.

1. User agents a second of CPU time, at the real log's rate of distinct strings: our functions on batches as Spark's workers get them,
   from a cold start, against `user_agents.parse` a row at a time.
2. The queries of the demo over a synthetic log 100 times as large as the real one (sample_data/busy_log.py), with the indexes of
   log_skip.recipe("access_log"): files that hold a matching row (what an oracle would read), files read, and time, against plain Spark
   with its own pushdown into Parquet, Bloom filters of ip, path, status and user_agent in the files included.

Exits with 1 below a million agents a second, where rows differ, or where a query skips less than 90 % of what the oracle skips.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame

import data_skip
import log_skip
from data_skip.spark.java import ensure_java
from log_skip.extractors import Distinct
from log_skip.user_agents import get_agent_name
from sample_data import printing
from sample_data.access_log import by_hour, read_lines
from sample_data.busy_log import busy_log
from sample_data.comparing import Outcome, compare
from sample_data.demo import start_spark
from sample_data.files import empty_folder
from sample_data.queries import BUSY_LOG_QUERIES, Query, busy_log_indexes

BATCH = 10_000  # rows, Spark's own default
GOAL_SPEED, GOAL_SKIPPED = 1_000_000, 0.90
HASHED = ("ip", "path", "status", "user_agent")


def main(arguments: list[str] | None = None) -> int:
    """Print the tables; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.logs", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("build/logs"), help="where the table goes (%(default)s)")
    parser.add_argument("--times", type=int, default=100, help="how many times as large as the real log it is (%(default)s)")
    parser.add_argument("--repeats", type=int, default=3, help="timed runs of each query, each way (%(default)s)")
    options = parser.parse_args(arguments)
    ensure_java()
    speed = parsing_speed(options.times)
    tables = busy_log(options.times)
    write(tables, options.out / "busy_log")
    spark = start_spark()
    try:
        skipping = data_skip.enable(spark)
        log_skip.register(spark)
        print(printing.heading("Indexes of busy_log"), flush=True)
        table = skipping.table(str(options.out / "busy_log"))
        print(table.create_index(*busy_log_indexes()), flush=True)
        records = sum(row["bytes"] for row in table.describe().rows)
        print(f"   records: {records / len(tables):,.0f} bytes a file in memory", flush=True)
        log = spark.read.parquet(str(options.out / "busy_log"))
        log.createOrReplaceTempView("busy_log")
        rows, worst = [["query", "files", "oracle", "read", "plain", "with", "times faster"]], 1.0
        for query in BUSY_LOG_QUERIES:
            outcome = compare(spark, skipping, query, options.repeats)
            with skipping.disabled():
                needed = holding(log, query)
            reached = (outcome.files_total - outcome.files_read) / max(1, outcome.files_total - needed)
            worst = min(worst, reached if outcome.rows_equal else 0.0)
            rows.append(line(query, outcome, needed))
        print(printing.heading("Queries"))
        print(printing.table(rows))
    finally:
        spark.stop()
    print(f"\n   {speed:,.0f} agents a second (goal {GOAL_SPEED:,})")
    print(f"   at worst {worst:.1%} of the files that an oracle skips are skipped (goal {GOAL_SKIPPED:.0%})")
    return 0 if speed >= GOAL_SPEED and worst >= GOAL_SKIPPED else 1


def line(query: Query, outcome: Outcome, needed: int) -> list[str]:
    """A query of the table."""
    counts = [f"{count:,}" for count in (outcome.files_total, needed, outcome.files_read)]
    seconds = [printing.in_seconds(outcome.seconds_without), printing.in_seconds(outcome.seconds_with)]
    return [query.title[:48], *counts, *seconds, f"{outcome.speedup:.1f}"]


def holding(log: DataFrame, query: Query) -> int:
    """The files with a matching row."""
    where = query.sql.split("WHERE")[1].split("GROUP BY")[0]
    return log.select("*", "_metadata.file_path").where(where).select("file_path").distinct().count()


def parsing_speed(times: int) -> float:
    """Agents a second, from a cold start. Prints how fast both ways are."""
    agents = [row for table in by_hour(read_lines()).values() for row in table["user_agent"].to_pylist() if row is not None]
    batches = [pd.Series((agents * times)[at : at + BATCH], dtype=object) for at in range(0, len(agents) * times, BATCH)]
    parse = Distinct(get_agent_name)
    start = time.process_time()
    for batch in batches:
        parse(batch)
    speed = len(agents) * times / (time.process_time() - start)
    start = time.process_time()
    parse(batches[0])
    warm = BATCH / (time.process_time() - start)

    import user_agents

    user_agents.parse(agents[0])
    some = agents[:: max(1, len(agents) // 500)]
    start = time.process_time()
    for agent in some:
        user_agents.parse(agent)
    slow = len(some) / (time.process_time() - start)
    print(printing.heading(f"Parsing {len(agents) * times:,} agents, {len(set(agents)):,} of them distinct"))
    rows = [["log_skip, from a cold start", f"{speed:,.0f}"], ["log_skip, once all are known", f"{warm:,.0f}"]]
    print(printing.table([["", "agents/s"], *rows, ["user_agents.parse, a row at a time", f"{slow:,.0f}"]]), flush=True)
    return speed


def write(tables: dict[str, pa.Table], folder: Path) -> None:
    """A Parquet file each, with what Parquet has to skip by itself: sorted by time, statistics, Bloom filters."""
    empty_folder(folder)
    for name, table in tables.items():
        filters = {column: {"ndv": max(1, len(table[column].unique())), "fpp": 0.01} for column in HASHED}
        pq.write_table(table, folder / f"{name}.parquet", compression="snappy", bloom_filter_options=filters)


if __name__ == "__main__":
    sys.exit(main())
