"""Queries of tables on an object store, each request of which takes its time: plain Spark, data-skip, Delta Lake and Iceberg.

    make bench BENCH=object_store      or      python -m benchmarks.object_store [--files 10000] [--delays 0 20 100]

An S3 of this machine (S3Proxy over a folder) behind a gate that adds some milliseconds to each request and counts them. Each system has the
same rows in as many files: x is a range of its own in each, so all of them can tell by their statistics. The query asks for three values,
in three files. `new` is the first query of a session: what it knows of the table is forgotten before (of data-skip and Delta, all;
Iceberg's catalog keeps nothing); `again` the median of others, with other values.

Plain Spark reads all files: it is run twice, and left out where it would take more than `--patience` in seconds.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
from deltalake import DeltaTable
from deltalake.transaction import AddAction, create_table_with_add_actions
from pyspark.sql import DataFrame, SparkSession

import data_skip
from benchmarks.predicates import PEER_SETTINGS
from data_skip import MinMax, Skipping
from data_skip.spark.java import ensure_java
from sample_data.demo import start_spark
from tests.object_store.conftest import LEFT_OUT, S3A
from tests.object_store.server import BUCKET, IDENTITY, SECRET, Server, free_port, jars, java

ICEBERG = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"  # by which files are added to a table
SCHEMA = pa.schema([pa.field("x", pa.int64(), metadata={"PARQUET:field_id": "1"})])  # without ids, Iceberg's add_files takes no statistics
ROWS = 100
REPEATS = 5
READ = 3  # files that each query reads
_PER_FILE = 7  # requests of plain Spark, about, two cores at once


@dataclass(frozen=True)
class System:
    """One way to ask: `frame` makes the table of a session that knows nothing of it; `within` is the way in which it is asked."""

    name: str
    frame: Callable[[], DataFrame]
    within: Callable[[], AbstractContextManager[None]] = nullcontext
    opens_all: bool = False


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints a line for each system and delay."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.object_store", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--files", type=int, default=10_000, help="of the table (%(default)s)")
    parser.add_argument("--delays", type=int, nargs="+", default=[0, 20, 100], help="milliseconds added to each request")
    parser.add_argument("--patience", type=float, default=600, help="seconds that plain Spark may take (%(default)s)")
    options = parser.parse_args(arguments)
    if not pyspark.__version__.startswith("4.0."):
        print("these jars of S3A, Delta and Iceberg are of Spark 4.0")
        return 1
    ensure_java()
    port = free_port()
    server = Server(port)
    spark = start_spark(settings(port))
    try:
        server.start(jars(spark), java())
        skipping = data_skip.enable(spark)
        systems = written(spark, skipping, server, options.files)
        print(f"{options.files:,} files, of which {READ} hold the rows\n")
        print(f"{'delay':>7} {'':<22} {'new':>9} {'again':>9} {'ratio':>7} {'requests':>9} {'again':>7}")
        for delay in options.delays:
            measure(systems, server, options.files, delay, options.patience)
    finally:
        spark.stop()
        server.stop()
    return 0


def settings(port: int) -> dict[str, str]:
    """Of a session with S3A, Delta and Iceberg."""
    s3 = "spark.hadoop.fs.s3a."
    return PEER_SETTINGS | {
        "spark.jars.packages": ",".join((PEER_SETTINGS["spark.jars.packages"], *S3A)),
        "spark.jars.excludes": LEFT_OUT,
        "spark.sql.extensions": f"{PEER_SETTINGS['spark.sql.extensions']},{ICEBERG}",
        "spark.sql.catalog.iceberg.warehouse": f"s3a://{BUCKET}/iceberg",
        f"{s3}endpoint": f"http://127.0.0.1:{port}",
        f"{s3}endpoint.region": "us-east-1",
        f"{s3}path.style.access": "true",
        f"{s3}access.key": IDENTITY,
        f"{s3}secret.key": SECRET,
        f"{s3}change.detection.version.required": "false",  # files are written straight into the server's folder
    }


def written(spark: SparkSession, skipping: Skipping, server: Server, files: int) -> list[System]:
    """The table of each system: Delta's in a copy of the files, Iceberg's over the same. The index is made where the server keeps them."""
    uri = f"s3a://{BUCKET}/t"
    write_files(server.bucket / "t", files)
    skipping.table(str(server.bucket / "t")).create_index(MinMax("x"))
    write_delta(server.bucket / "delta", server.bucket / "t")
    spark.sql("CREATE TABLE iceberg.db.t (x BIGINT) USING iceberg")
    spark.sql(f"CALL iceberg.system.add_files(table => 'db.t', source_table => '`parquet`.`{uri}`', parallelism => 8)").collect()
    spark.sql("CALL iceberg.system.rewrite_manifests('db.t')").collect()

    def with_skipping(contract: str) -> Callable[[], DataFrame]:
        def frame() -> DataFrame:
            skipping.catalog.forget()
            return skipping.read(uri) if contract == "snapshot" else spark.read.parquet(uri)

        return frame

    def delta() -> DataFrame:
        spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()  # type: ignore[union-attr]
        return spark.read.format("delta").load(f"s3a://{BUCKET}/delta")

    def plain() -> DataFrame:
        return spark.read.parquet(uri)

    return [
        System("data-skip, listing", with_skipping("listing")),
        System("data-skip, snapshot", with_skipping("snapshot")),
        System("Delta Lake", delta, skipping.disabled),
        System("Iceberg", lambda: spark.table("iceberg.db.t"), skipping.disabled),
        System("plain Spark", plain, skipping.disabled, opens_all=True),
    ]


def write_files(folder: Path, files: int) -> None:
    """File i has x from 100 i."""
    folder.mkdir()
    moment = int(time.time()) - 7200  # S3 tells times in seconds
    for i in range(files):
        path = folder / f"{i:06}.parquet"
        pq.write_table(pa.table({"x": range(ROWS * i, ROWS * (i + 1))}, SCHEMA), path)
        os.utime(path, (moment, moment))


def write_delta(folder: Path, files: Path) -> None:
    """A Delta table of copies of some files, with their statistics, in a checkpoint."""
    shutil.copytree(files, folder, ignore=shutil.ignore_patterns(".*"))
    actions = []
    for i, path in enumerate(sorted(folder.glob("*.parquet"))):
        told = {"numRecords": ROWS, "minValues": {"x": ROWS * i}, "maxValues": {"x": ROWS * i + ROWS - 1}, "nullCount": {"x": 0}}
        status = path.stat()
        actions.append(AddAction(path.name, status.st_size, {}, int(status.st_mtime * 1000), True, json.dumps(told)))
    with tempfile.TemporaryDirectory() as scratch:
        schema = DeltaTable.create(scratch, pa.schema([("x", pa.int64())])).schema()
    create_table_with_add_actions(str(folder), schema, actions, mode="error", partition_by=[])
    DeltaTable(str(folder)).create_checkpoint()


def measure(systems: Sequence[System], server: Server, files: int, delay: int, patience: float) -> None:
    """Prints the lines of a delay."""
    server.before = lambda request: time.sleep(delay / 1000) if delay else None
    base: float | None = None
    for system in systems:
        if system.opens_all and files * _PER_FILE * (delay + 2) / 1000 / 2 > patience:
            print(f"{delay:>4} ms {system.name:<22} left out: more than {patience:,.0f} s")
            continue
        times, again = [], 0
        with system.within():
            start, asked = time.perf_counter(), len(server.requests)
            frame = system.frame()
            query(frame, files, 0)
            new, requests = time.perf_counter() - start, len(server.requests) - asked
            for i in range(1, 2 if system.opens_all else REPEATS + 1):
                start, asked = time.perf_counter(), len(server.requests)
                query(frame, files, i)
                times.append(time.perf_counter() - start)
                again = len(server.requests) - asked
        median = statistics.median(times)
        base = median if base is None else base
        print(
            f"{delay:>4} ms {system.name:<22} {new:>7.2f} s {median:>7.2f} s {median / base:>6.1f}x {requests:>9,} {again:>7,}", flush=True
        )


def query(frame: Any, files: int, i: int) -> None:
    """Three values of as many files."""
    places = [(i * 7 + part * files // READ) % files for part in range(READ)]
    assert frame.where(" OR ".join(f"x = {ROWS * place + i}" for place in places)).count() == READ


if __name__ == "__main__":
    sys.exit(main())
