"""Many real files, end to end: an index of them, and queries that read one of them, beside Delta and Iceberg over the same files.

    make bench BENCH=many_files      or      python -m benchmarks.many_files [files]

Each system is given names of its own for the same bytes (hard links): data-skip and plain Spark a folder, Delta one that is converted in
place, Iceberg one whose files are added to a table. "made": indexing, converting, adding; the others collect ranges of all columns as well,
of which there are three. "first": the first query, by a DataFrame made for it; "anew": again by a DataFrame made anew; "again": by the
same one. Medians of five, but for the first, and for plain Spark, which opens all files. Rows are compared.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
from contextlib import nullcontext
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

import data_skip
from benchmarks.object_store import ICEBERG
from benchmarks.overhead import date_back
from benchmarks.predicates import PEER_SETTINGS, PEERS
from benchmarks.refreshing import seconds
from data_skip import MinMax, Skipping
from data_skip.spark.java import ensure_java
from sample_data.demo import start_spark

FILES = 100_000
# Without ids, Iceberg's add_files takes no statistics.
SCHEMA = pa.schema(
    [
        pa.field(name, kind, metadata={"PARQUET:field_id": str(i + 1)})
        for i, (name, kind) in enumerate((("x", pa.int64()), ("v", pa.int64()), ("s", pa.string())))
    ]
)
ROWS = 4  # of a file: x from 4 i
REPEATS = 5
PACKAGES = f"io.delta:delta-spark_2.13:4.0.1,{PEERS['Iceberg']}"  # 4.0.0 converts nothing on Spark 4.0.1 and later
SYSTEMS = ("plain", "listing", "snapshot", "delta", "iceberg")


def main(files: int) -> None:
    """Prints a line a system."""
    with tempfile.TemporaryDirectory() as folder:
        ensure_java()
        spark = start_spark(settings(Path(folder)))
        skipping = data_skip.enable(spark)
        write(Path(folder), files)
        print(f"{files:,} files\n{'':>10} {'made':>9} {'first':>9} {'anew':>9} {'again':>9}", flush=True)
        made = {
            "listing": seconds(lambda: skipping.table(f"{folder}/listing").create_index(MinMax("x"), MinMax("v"), MinMax("s"))),
            "delta": seconds(lambda: spark.sql(f"CONVERT TO DELTA parquet.`{folder}/delta`")),
            "iceberg": seconds(lambda: add_to_iceberg(spark, f"{folder}/iceberg")),
        }
        rows = {name: measure(spark, skipping, folder, name, files, made.get(name)) for name in SYSTEMS}
        assert len(set(rows.values())) == 1, rows
        spark.stop()


def settings(folder: Path) -> dict[str, str]:
    """Of a session that knows all three."""
    return PEER_SETTINGS | {
        "spark.jars.packages": PACKAGES,
        "spark.sql.extensions": f"{PEER_SETTINGS['spark.sql.extensions']},{ICEBERG}",
        "spark.sql.catalog.iceberg.warehouse": str(folder / "warehouse"),
        "spark.driver.memory": "4g",
    }


def write(folder: Path, files: int) -> None:
    """Each file once, under three names."""
    for name in ("listing", "delta", "iceberg"):
        (folder / name).mkdir()
    for i in range(files):
        numbers = range(ROWS * i, ROWS * (i + 1))
        path = folder / "listing" / f"{i:06}.parquet"
        pq.write_table(pa.table({"x": numbers, "v": [n % 7 for n in numbers], "s": [f"s{n}" for n in numbers]}, SCHEMA), path)
        date_back(path)
        for name in ("delta", "iceberg"):
            os.link(path, folder / name / path.name)


def add_to_iceberg(spark: SparkSession, folder: str) -> None:
    """A table of the files of a folder, where they lie."""
    spark.sql("CREATE TABLE iceberg.db.t (x BIGINT, v BIGINT, s STRING) USING iceberg")
    spark.sql(f"CALL iceberg.system.add_files(table => 'db.t', source_table => '`parquet`.`{folder}`')")


def measure(spark: SparkSession, skipping: Skipping, folder: str, name: str, files: int, made: float | None) -> int:
    """Prints the line of a system; what the first of its queries gave."""
    wanted = [ROWS * (files // 2 + 3 * i) + 1 for i in range(REPEATS)]
    found: list[int] = []

    def open_() -> DataFrame:
        if name == "snapshot":
            return skipping.read(f"{folder}/listing")
        if name == "iceberg":
            return spark.table("iceberg.db.t")
        return spark.read.format("delta" if name == "delta" else "parquet").load(f"{folder}/{'listing' if name == 'plain' else name}")

    def ask(frame: DataFrame, x: int) -> None:
        found.append(frame.where(f"x = {x}").selectExpr("max(s)", "sum(v)").first()[1])

    skipping.catalog.forget()
    repeats = 1 if name == "plain" else REPEATS
    with skipping.disabled() if name in ("plain", "delta", "iceberg") else nullcontext():
        first = seconds(lambda: ask(open_(), wanted[0]))
        anew = statistics.median(seconds(lambda x=x: ask(open_(), x)) for x in wanted[:repeats])
        frame = open_()
        again = statistics.median(seconds(lambda x=x: ask(frame, x)) for x in wanted[:repeats])
    shown = f"{made:>7.1f} s" if made else f"{'':>9}"
    print(f"{name:>10} {shown} {first:>7.2f} s {anew:>7.2f} s {again:>7.2f} s", flush=True)
    return found[-repeats]


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else FILES)
