"""Runs one query with skipping and without, and compares the rows."""

from __future__ import annotations

import statistics
import time
from collections import Counter
from dataclasses import dataclass

from pyspark.sql import Row, SparkSession

import data_skip
from sample_data.queries import Query

PUSHDOWN = "spark.sql.parquet.filterPushdown"


@dataclass(frozen=True)
class Outcome:
    """What one query read and how long it took, with skipping and without."""

    query: Query
    files_read: int
    files_total: int
    bytes_read: int
    bytes_total: int
    seconds_with: float
    seconds_without: float
    rows: int
    rows_equal: bool
    report: data_skip.QueryReport

    @property
    def passed(self) -> bool:
        """The same rows, and from fewer files."""
        return self.rows_equal and self.files_read < self.files_total

    @property
    def speedup(self) -> float:
        """How many times faster the query was with skipping."""
        return self.seconds_without / self.seconds_with


def compare(spark: SparkSession, skipping: data_skip.Skipping, query: Query, repeats: int) -> Outcome:
    """Run a query once each way for its rows, then `repeats` times each way, in turns, for the median time."""
    rows = Counter(spark.sql(query.sql).collect())
    report = skipping.report()
    expected = plain_rows(spark, skipping, query)
    seconds_with, seconds_without = [], []
    for _ in range(repeats):
        seconds_with.append(timed(spark, query))
        with skipping.disabled():
            seconds_without.append(timed(spark, query))
    return Outcome(
        query=query,
        files_read=sum(scan.files_read for scan in report.scans),
        files_total=sum(scan.files_total for scan in report.scans),
        bytes_read=sum(scan.bytes_read for scan in report.scans),
        bytes_total=sum(scan.bytes_total for scan in report.scans),
        seconds_with=statistics.median(seconds_with),
        seconds_without=statistics.median(seconds_without),
        rows=rows.total(),
        rows_equal=rows == expected,
        report=report,
    )


def plain_rows(spark: SparkSession, skipping: data_skip.Skipping, query: Query) -> Counter[Row]:
    """The rows that Spark finds when nothing is skipped, not even by its own pushdown into Parquet."""
    pushdown = str(spark.conf.get(PUSHDOWN))
    spark.conf.set(PUSHDOWN, "false")
    try:
        with skipping.disabled():
            return Counter(spark.sql(query.sql).collect())
    finally:
        spark.conf.set(PUSHDOWN, pushdown)


def timed(spark: SparkSession, query: Query) -> float:
    """Seconds from the SQL text to the rows, planning included."""
    start = time.perf_counter()
    spark.sql(query.sql).collect()
    return time.perf_counter() - start
