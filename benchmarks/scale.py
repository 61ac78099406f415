"""Planning over tables of very many files: how long it takes to choose files, and what memory that takes.

    make bench BENCH=scale      or      python -m benchmarks.scale [files ...]

Two of the files exist: an index of so many is written to a store as it would be by many refreshes, and a query is planned by the contract
`snapshot`, which asks the file system for none of them but the one that would be read. Cold: with an index that the session has not seen;
warm: again, with other predicates; added: the first query after a refresh of four new files. Beside it tables of as many files with the
same statistics: one of Iceberg, of which Spark plans the same queries, and one of Delta, that delta-rs opens, and of which it finds the
files that may hold the value. Memory in bytes a file, of Python and of the JVM's heap, beyond what they take without the table; and how
much of it is the index column that the queries use: five longs a file.
"""

from __future__ import annotations

import gc
import json
import math
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
from deltalake import DeltaTable
from deltalake.transaction import AddAction, create_table_with_add_actions
from pyspark.sql import DataFrame, SparkSession

import data_skip
from benchmarks.overhead import date_back, session
from benchmarks.predicates import PEER_SETTINGS, PEERS
from data_skip import MinMax, Skipping
from data_skip.spark.janino import load
from data_skip.store import DeltaStore, FileKey
from data_skip.store.memory import MEMORY

SIZES = (10_000, 100_000, 1_000_000, 10_000_000)
MOST_OF_PEERS = 1_000_000  # whose tables are written from here
ROWS = 100  # of a file: x from 100 i
NAME = "part-%05d-0e1f6c7a-9f1e-4c1b-8a37-3f5f1d0a%04d-c000.snappy.parquet"
WARM = 5


def main(sizes: list[int]) -> None:
    """Prints a line a size."""
    with tempfile.TemporaryDirectory() as warehouse:
        has_iceberg = pyspark.__version__.startswith("4.0.")  # of which its jar is
        of_iceberg = {key: value for key, value in PEER_SETTINGS.items() if key.startswith("spark.sql.catalog.iceberg")}
        jars = {"spark.jars.packages": PEERS["Iceberg"], "spark.sql.catalog.iceberg.warehouse": warehouse}
        spark = session({**of_iceberg, **jars} if has_iceberg else None)
        skipping = data_skip.enable(spark)
        times = f"{'cold':>8} {'warm':>8} {'added':>8} {'Iceberg cold':>14} {'warm':>8} {'delta-rs cold':>14} {'warm':>8}"
        print(f"{'files':>10} {times}   bytes a file: Python (of it the column), JVM")
        measure(spark, skipping, 1_000)  # warms up
        for files in sizes:
            print(measure(spark, skipping, files), flush=True)
        spark.stop()


def measure(spark: SparkSession, skipping: Skipping, files: int) -> str:
    """The line of a number of files."""
    with tempfile.TemporaryDirectory() as folder:
        write(skipping, Path(folder) / "t", files)
        skipping.catalog.forget()
        before = memory(spark)
        start = time.perf_counter()
        frame = skipping.read(f"{folder}/t")
        planned(frame.where(f"x = {50 * files}"))
        cold = time.perf_counter() - start
        warm = statistics.median(seconds(lambda i=i: planned(frame.where(f"x = {50 * files + 7 * i}"))) for i in range(WARM))
        used = [(now - then) / files for now, then in zip(memory(spark), before, strict=True)]
        bytes_a_file = f"{used[0]:>8.0f} ({sum(size for _, size in MEMORY._held.values()) / files:.0f}), {used[1]:.0f}"
        writer = DeltaStore(skipping.table(f"{folder}/t")._store.uri)  # of another session
        added = statistics.median(after_a_refresh(writer, files, i, frame) for i in range(WARM))
        line = f"{files:>10,} {cold:>6.2f} s {warm:>6.3f} s {added:>6.3f} s"
        if files > MOST_OF_PEERS:
            return f"{line} {'':>47}   {bytes_a_file}"
        peers = " ".join(
            f"{cold:>12.2f} s {warm:>6.3f} s" for cold, warm in (iceberg(spark, skipping, files), delta(Path(folder) / "delta", files))
        )
    return f"{line} {peers}   {bytes_a_file}"


def iceberg(spark: SparkSession, skipping: Skipping, files: int) -> tuple[float, float]:
    """What Spark's first query of an Iceberg table takes to be planned, and others; NaN where there is no Iceberg."""
    if not spark.conf.get("spark.sql.catalog.iceberg", ""):
        return math.nan, math.nan
    spark.sql(f"CREATE TABLE iceberg.db.t{files} (x BIGINT) USING iceberg")
    jvm: Any = spark._jvm
    table = jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(spark._jsparkSession, f"iceberg.db.t{files}")
    gateway: Any = spark.sparkContext._gateway
    (append,) = (
        method
        for method in load(gateway, "benchmarks", ("IcebergFiles.java",), table.getClass()).getMethods()
        if method.getName() == "append"
    )
    arguments = gateway.new_array(jvm.Object, 4)
    arguments[0], arguments[1], arguments[2], arguments[3] = table, files, ROWS, NAME
    append.invoke(None, arguments)
    spark.sql(f"REFRESH TABLE iceberg.db.t{files}")
    with skipping.disabled():
        cold, *warm = (
            seconds(lambda i=i: planned_by_iceberg(spark.table(f"iceberg.db.t{files}").where(f"x = {50 * files + 7 * i}")))
            for i in range(4)
        )
    spark.sql(f"DROP TABLE iceberg.db.t{files}")
    return cold, statistics.median(warm)


def planned_by_iceberg(frame: Any) -> None:
    """As `planned`."""
    plan = frame._jdf.queryExecution().executedPlan()
    while not plan.nodeName().startswith("BatchScan"):
        plan = plan.children().head()
    assert plan.inputPartitions().size() == 1, plan


def delta(folder: Path, files: int) -> tuple[float, float]:
    """What delta-rs takes to open a Delta table and to find its files, and to find others."""
    write_delta(folder, files)
    start = time.perf_counter()
    table = DeltaTable(str(folder))
    cold = time.perf_counter() - start + seconds(lambda: chosen(table, 50 * files))
    return cold, statistics.median(seconds(lambda: chosen(table, 50 * files)) for _ in range(3))


def after_a_refresh(writer: DeltaStore, files: int, number: int, frame: DataFrame) -> float:
    """What the first query takes after a version of the index with four more files."""
    snapshot = writer.snapshot()
    assert snapshot is not None
    (field,) = snapshot.fields.values()
    names = [f"new-{number}-{i}.parquet" for i in range(4)]
    writer.append(
        [FileKey(name, 1 << 20, 1_800_000_000_000 + number) for name in names],
        [ROWS] * len(names),
        {field: records_of(field.type, ROWS * (files + np.arange(len(names))))},
        declare=False,
    )
    return seconds(lambda: planned(frame.where(f"x = {50 * files + number}")))


def planned(frame: Any) -> None:
    """Plans a query as far as to the list of its files, one of which is read."""
    plan = frame._jdf.queryExecution().executedPlan()
    while not plan.nodeName().startswith("Scan"):
        plan = plan.children().head()
    assert plan.selectedPartitions().totalNumberOfFiles() == 1, plan


def chosen(table: DeltaTable, value: int) -> None:
    """The files of a Delta table that may hold a value, by the statistics in its log."""
    actions = pa.table(table.get_add_actions(flatten=True))
    low, high = actions["min.x"].to_numpy(), actions["max.x"].to_numpy()
    assert np.count_nonzero((low <= value) & (value <= high)) == 1


def write(skipping: Skipping, folder: Path, files: int) -> None:
    """A table of two files of which the index has so many: the first, the one in the middle, and others that no query reads."""
    folder.mkdir()
    middle = files // 2
    for i in (0, middle):
        pq.write_table(pa.table({"x": np.arange(ROWS) + ROWS * i}), folder / name(i))
        date_back(folder / name(i))
    table = skipping.table(str(folder))
    table.create_index(MinMax("x"))
    store = table._store
    snapshot = store.snapshot()
    assert snapshot is not None
    (column,) = snapshot.fields
    records = records_of(snapshot.fields[column].type, ROWS * np.arange(files))
    others = np.delete(np.arange(files), [0, middle])
    draw = np.random.default_rng(files)
    sizes, times = draw.integers(1 << 20, 1 << 27, files).tolist(), (1_700_000_000_000 + draw.integers(0, 1 << 31, files)).tolist()
    keys = [FileKey(name(i), sizes[i], times[i]) for i in others]
    DeltaStore(store.uri).append(keys, [ROWS] * len(keys), {snapshot.fields[column]: records.take(pa.array(others))}, declare=False)


def records_of(type_: pa.StructType, low: Any) -> pa.StructArray:
    """Those of files that hold ROWS values each, from these on."""
    none = np.zeros(len(low), dtype=int)
    values = {"min": low, "max": low + ROWS - 1, "value_count": np.full(len(low), ROWS)}
    return pa.StructArray.from_arrays([pa.array(values.get(field.name, none), field.type) for field in type_], fields=list(type_))


def name(i: int) -> str:
    """Of a file, as Spark's writers make them."""
    return NAME % (i, i % 10_000)


def write_delta(folder: Path, files: int) -> None:
    """A Delta table of files that do not exist, with the statistics of the same values, in a checkpoint."""
    schema = DeltaTable.create(f"{folder}-schema", pa.schema([("x", pa.int64())])).schema()
    actions = [AddAction(name(i), 1_000_000 + i, {}, 1_700_000_000_000 + i, True, json.dumps(statistics_of(i))) for i in range(files)]
    create_table_with_add_actions(str(folder), schema, actions, mode="error", partition_by=[])
    DeltaTable(str(folder)).create_checkpoint()


def statistics_of(i: int) -> dict[str, Any]:
    """As Delta keeps them."""
    return {"numRecords": ROWS, "minValues": {"x": ROWS * i}, "maxValues": {"x": ROWS * i + ROWS - 1}, "nullCount": {"x": 0}}


def seconds(run: Callable[[], None]) -> float:
    """What it takes."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def memory(spark: SparkSession) -> tuple[int, int]:
    """Bytes that are in use: of this process, and of the heap of Spark's."""
    gc.collect()
    pa.default_memory_pool().release_unused()
    resident = int(next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmRSS")).split()[1]) * 1024
    jvm: Any = spark._jvm
    jvm.java.lang.System.gc()
    runtime = jvm.java.lang.Runtime.getRuntime()
    return resident, runtime.totalMemory() - runtime.freeMemory()


if __name__ == "__main__":
    main([int(size) for size in sys.argv[1:]] or list(SIZES))
