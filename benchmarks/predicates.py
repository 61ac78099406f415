"""Twenty-one kinds of predicates, and the files that each reads beside those that hold a match: `make bench BENCH=predicates`.

The table is sample_data/reports.py: weather as some hundred files hold it that were written as the data came in, a little clustered by each
column, sorted by none. The indexes are few and chosen before the queries, as the README would have it, one or two a column.

    files    that hold a row of the answer: what an oracle would read
    ours     read with data-skip
    Delta    read by Delta Lake, Iceberg: by Apache Iceberg, each on a table of its own writing with the same rows in the same files,
             by the statistics that it keeps without being asked: smallest and largest values and counts of NULLs
    rows     the share of rows that plain Spark's scan gave, with its pushdown into Parquet; it opens every file
    plain    the median time of plain Spark, `with` that with data-skip

Exits with 1 where an answer differs, where more than 1.05 times the files that hold a match are read, or where a predicate is no test:
no file or every file holds a match.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pyspark
from deltalake import DeltaTable
from pyspark.sql import DataFrame, SparkSession

import data_skip
import geo_skip
import log_skip
from data_skip import BloomFilter, GapList, Index, MinMax, Prefix, ValueList
from data_skip.planning.report import human
from data_skip.spark.java import ensure_java
from sample_data import printing
from sample_data.comparing import PUSHDOWN
from sample_data.countries import read_countries
from sample_data.demo import start_spark
from sample_data.reports import write_reports, write_stations

INDEXES: list[Index] = [
    *geo_skip.recipe("lat", "lng"),  # places: boxes, and ranges of each
    GapList("time"),  # ranges and calendar functions; not MinMax, as reports come late
    ValueList("hour(time)"),  # comes back every day, so that no range of time tells it
    GapList("number"),  # as time
    BloomFilter("report_id"),  # random: nothing but its values tells a file
    Prefix("station"),  # the first letters are the country's
    ValueList("city"),  # some hundred a file, asked for in all ways
    MinMax("temp"),
    MinMax("humidity"),
    MinMax("pressure"),
    MinMax("snow_depth"),
    ValueList("conditions"),  # few distinct elements
    ValueList("user_agent"),  # few a file, however long, and asked for by all kinds of functions
]
GOAL = 1.05
PEERS = {
    "Delta": "io.delta:delta-spark_2.13:4.0.0",
    "Iceberg": "org.apache.iceberg:iceberg-spark-runtime-4.0_2.13:1.10.0",
}
PEER_SETTINGS = {
    "spark.jars.packages": ",".join(PEERS.values()),
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.catalog.iceberg": "org.apache.iceberg.spark.SparkCatalog",
    "spark.sql.catalog.iceberg.type": "hadoop",
}
LISTED, LISTED_FILES = 5_000, 25  # numbers of the long IN list, and the files that they are drawn from


@dataclass(frozen=True)
class Kind:
    """A kind of predicate: its name, a predicate, and what `reports` is joined with."""

    name: str
    where: str
    join: str = ""

    def sql(self, view: str, what: str) -> str:
        """The query over a view of the reports."""
        return f"SELECT {what} FROM {view} AS reports {self.join} WHERE {self.where}"


def kinds(folder: Path) -> list[Kind]:
    """All of them; the identifiers are drawn from the data."""
    random, files = np.random.default_rng(0), sorted(folder.glob("*.parquet"))
    drawn = [pq.read_table(files[i], columns=["number", "report_id"]) for i in random.choice(len(files), LISTED_FILES, replace=False)]
    numbers = [n for table in drawn for n in random.choice(table["number"].to_numpy(), LISTED // LISTED_FILES, replace=False).tolist()]
    india = f"ST_CONTAINS('{read_countries()['India']}', lat, lng)"
    return [
        Kind("box", "lat BETWEEN 44 AND 49 AND lng BETWEEN 5 AND 16"),
        Kind("ST_Contains", india),
        Kind("ST_Contains and suffix", f"{india} AND city LIKE '%pur'"),
        Kind("suffix", "city LIKE '%pur'"),
        Kind("prefix", "station LIKE 'ED%'"),
        Kind("LIKE AND NOT", "city LIKE 'San %' AND NOT city LIKE '%o%'"),
        Kind("agent by regexp_extract", "regexp_extract(user_agent, 'Chrome/([0-9]+)', 1) = '31'"),
        Kind("agent by Python UDF", "get_agent_name(user_agent) = 'Opera'"),
        Kind("point id", f"report_id = '{drawn[0]['report_id'][7]}'"),
        Kind("IN of 5,000", f"number IN ({', '.join(map(str, numbers))})"),
        Kind("join", "elevation > 9000", "JOIN stations USING (station)"),
        Kind("IS NULL", "pressure IS NULL"),
        Kind("IS NOT NULL", "snow_depth IS NOT NULL"),
        Kind("to_date =", "to_date(time) = DATE'2023-11-02'"),
        Kind("date_trunc =", "date_trunc('MONTH', time) = TIMESTAMP'2024-07-01'"),
        Kind("year =", "year(time) = 2024"),
        Kind("hour =", "hour(time) = 3"),
        Kind("range", "temp BETWEEN 104 AND 108"),
        Kind("array_contains", "array_contains(conditions, 'storm')"),
        Kind("arithmetic", "(temp - 32) * 5 / 9 < -35"),
        Kind("two columns", "(temp - 32) * 5 / 9 > humidity"),  # "crossover", when forests burn
    ]


def main(arguments: list[str] | None = None) -> int:
    """Print the table; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.predicates", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("build/predicates"), help="where the tables go (%(default)s)")
    parser.add_argument("--files", type=int, default=512, help="of the table (%(default)s)")
    parser.add_argument("--repeats", type=int, default=3, help="timed runs of each query, each way (%(default)s)")
    parser.add_argument("--no-peers", action="store_true", help="without Delta and Iceberg, which Spark fetches the first time")
    options = parser.parse_args(arguments)
    peers = {} if options.no_peers or not pyspark.__version__.startswith("4.0.") else PEERS
    ensure_java()
    folder = options.out / "reports"
    written = write_reports(folder, options.files)
    write_stations(options.out / "stations")
    warehouse = {"spark.sql.catalog.iceberg.warehouse": str((options.out / "iceberg").resolve())}
    spark = start_spark(PEER_SETTINGS | warehouse if peers else None)
    try:
        skipping = data_skip.enable(spark)
        log_skip.register(spark)
        geo_skip.register(spark)
        print(printing.heading(f"{written.files:,} files, {written.rows:,} rows, {human(written.bytes)}"), flush=True)
        print(skipping.table(str(folder)).create_index(*INDEXES), flush=True)
        spark.read.parquet(str(folder)).createOrReplaceTempView("reports")
        spark.read.parquet(str(folder)).select("*", "_metadata.file_path").createOrReplaceTempView("reports_with_files")
        spark.read.parquet(str(options.out / "stations")).createOrReplaceTempView("stations")
        views = {peer: written_by(spark, peer, options.out / peer.lower(), options.files) for peer in peers}
        lines = [measured(spark, skipping, kind, views, written.files, written.rows, options.repeats) for kind in kinds(folder)]
        size = sum(Path(uri).stat().st_size for uri in DeltaTable(skipping.table(str(folder)).describe().location).file_uris())
    finally:
        spark.stop()
    return report(lines, list(views), written.files, size / written.bytes)


@dataclass(frozen=True)
class Line:
    """What was measured of one kind; seconds are medians."""

    kind: str
    needed: int
    ours: int
    peers: dict[str, int]
    rows_plain: float
    seconds_plain: float
    seconds: float
    same: bool


def measured(
    spark: SparkSession, skipping: data_skip.Skipping, kind: Kind, views: dict[str, str], files: int, rows: int, repeats: int
) -> Line:
    """One kind, against the oracle and all peers."""
    sql = kind.sql("reports", "count(*), bit_xor(xxhash64(report_id, time, temp))")
    answer = spark.sql(sql).collect()
    ours = sum(scan.files_read for scan in skipping.report().scans if scan.table.endswith("/reports"))
    with skipping.disabled(), setting(spark, {PUSHDOWN: "false"}):
        expected = spark.sql(sql).collect()
        ((needed,),) = spark.sql(kind.sql("reports_with_files", "count(DISTINCT file_path)")).collect()
    with skipping.disabled(), setting(spark, {"spark.sql.adaptive.enabled": "false"}):
        read = {peer: files_read_by(peer, spark.sql(kind.sql(view, "report_id"))) for peer, view in views.items()}
        given = scanned(spark.sql(kind.sql("reports", "report_id")), "numOutputRows")
    with_skipping, plain = [], []
    for _ in range(repeats):
        with_skipping.append(timed(spark, sql))
        with skipping.disabled():
            plain.append(timed(spark, sql))
    same = answer == expected and 0 < needed < files
    line = Line(kind.name, needed, ours, read, given / rows, statistics.median(plain), statistics.median(with_skipping), same)
    print(f"   {line}", flush=True)
    return line


def written_by(spark: SparkSession, peer: str, folder: Path, files: int) -> str:
    """A view of the same rows, in the same files, as a peer writes them."""
    reports, view = spark.table("reports"), f"reports_{peer.lower()}"
    size = {"spark.sql.files.openCostInBytes": "64m", "spark.sql.files.maxPartitionBytes": "64m"}  # a partition, so a file, for each file
    with setting(spark, size):
        if peer == "Delta":
            reports.write.format("delta").mode("overwrite").save(str(folder))
            spark.read.format("delta").load(str(folder)).createOrReplaceTempView(view)
        else:
            spark.sql("DROP TABLE IF EXISTS iceberg.db.reports")
            reports.writeTo("iceberg.db.reports").using("iceberg").create()
            spark.table("iceberg.db.reports").createOrReplaceTempView(view)
    held = files_read_by(peer, spark.table(view))
    if held != files:
        raise ValueError(f"{peer} wrote {held} files, not {files}")
    return view


def files_read_by(peer: str, frame: DataFrame) -> int:
    """The files that a peer opens for a query over its view."""
    if peer == "Delta":
        return sum("/delta/" in file for file in frame.inputFiles())
    return scanned(frame, "resultDataFiles")


def scanned(frame: DataFrame, metric: str) -> int:
    """Runs a query; the largest value of a metric among its scans."""
    frame.collect()
    leaves = frame._jdf.queryExecution().executedPlan().collectLeaves()
    metrics = [leaves.apply(i).metrics().get(metric) for i in range(leaves.size())]
    return max(int(found.get().value()) for found in metrics if found.isDefined())


def timed(spark: SparkSession, sql: str) -> float:
    """Seconds from the SQL text to the rows."""
    start = time.perf_counter()
    spark.sql(sql).collect()
    return time.perf_counter() - start


@contextmanager
def setting(spark: SparkSession, settings: dict[str, str]) -> Iterator[None]:
    """Some settings of the session, for a while."""
    before = {key: str(spark.conf.get(key)) for key in settings}
    for key, value in settings.items():
        spark.conf.set(key, value)
    try:
        yield
    finally:
        for key, value in before.items():
            spark.conf.set(key, value)


def report(lines: list[Line], peers: list[str], files: int, metadata: float) -> int:
    """Prints the table; the exit status."""
    rows = [["kind", "files", "ours", "times", *peers, "rows", "plain", "with"]]
    for line in lines:
        read = [f"{line.peers[peer]:,}" for peer in peers]
        times = [printing.in_seconds(line.seconds_plain), printing.in_seconds(line.seconds)]
        rows.append(
            [line.kind, f"{line.needed:,}", f"{line.ours:,}", f"{line.ours / line.needed:.2f}", *read, f"{line.rows_plain:.0%}", *times]
        )
    needed, ours = sum(line.needed for line in lines), sum(line.ours for line in lines)
    sums = [f"{sum(line.peers[peer] for line in lines):,}" for peer in peers]
    plain, with_skipping = sum(line.seconds_plain for line in lines), sum(line.seconds for line in lines)
    rows.append(
        [
            "sum",
            f"{needed:,}",
            f"{ours:,}",
            f"{ours / needed:.2f}",
            *sums,
            "",
            printing.in_seconds(plain),
            printing.in_seconds(with_skipping),
        ]
    )
    print(printing.heading(f"Files read of {files:,}"))
    print(printing.table(rows))
    every = [f"{peer} {sum(line.peers[peer] == files for line in lines)}" for peer in peers]
    print(f"\n   {ours / needed:.3f} times the files that hold a match (goal {GOAL}); the metadata are {metadata:.1%} of the data")
    if every:
        print(f"   kinds of which every file is read: {', '.join(every)}, data-skip {sum(line.ours == files for line in lines)}")
    wrong = [line.kind for line in lines if not line.same]
    if wrong:
        print(f"\nFAILED: another answer, or no test: {', '.join(wrong)}", file=sys.stderr)
    return 1 if wrong or ours > GOAL * needed else 0


if __name__ == "__main__":
    sys.exit(main())
