"""Run by test_third_party.py in a process of its own, in which `max_length` is installed: prints what it saw as JSON."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import max_length
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import data_skip
from data_skip.spark.java import ensure_java
from data_skip.spark.jvm import shim
from data_skip.testing import check_index
from tests.support import HADOOP_DEFAULTS, JAVA_OPTIONS, aged


def main(folder: Path) -> None:
    ensure_java()
    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.extraJavaOptions", " ".join(JAVA_OPTIONS)).config("spark.driver.extraClassPath", HADOOP_DEFAULTS)
    builder = builder.config("spark.sql.codegen.wholeStage", "false").config("spark.sql.shuffle.partitions", "1")
    builder = builder.config("spark.python.daemon.module", "tests.python_workers").config("spark.driver.memory", "2g")
    spark = builder.config("spark.sql.parquet.filterPushdown", "false").getOrCreate()
    skipping = data_skip.enable(spark)
    seen: dict[str, object] = {"installed_at": max_length.__file__, "known_by_entry_point": "MaxLength" in skipping.catalog.knowledge.kinds}

    folder.mkdir()
    for name, cities in {"short": ["Oslo", "Rome"], "long": ["Oslo", "Llanfairpwllgwyngyll"], "nulls": [None, None]}.items():
        pq.write_table(pa.table({"city": pa.array(cities, pa.string())}), folder / f"{name}.parquet")
        aged(folder / f"{name}.parquet")
    skipping.table(str(folder)).create_index(max_length.MaxLength("city"))
    query = f"SELECT city FROM parquet.`{folder}` WHERE length(city) > 8"
    seen["rows"] = [row.city for row in spark.sql(query).collect()]
    seen["files_read"] = skipping.report().scans[-1].files_read
    with skipping.disabled():
        seen["rows_without"] = [row.city for row in spark.sql(query).collect()]

    rows = [{"city": city} for city in ("", "Oslo", None, "😀" * 9, "Llanfairpwllgwyngyll", "Rome")]
    checked = check_index(
        max_length.MaxLength("city"), rows, ["length(city) > 8", "NOT (length(city) > 8)", "length(city) > 3 OR city IS NULL"], spark
    )
    seen["skipped"] = {predicate: len(files) for predicate, files in checked.skipped.items()}

    java = shim(spark.sparkContext._gateway)
    before = java.snapshots()
    spark.stop()
    seen["snapshots"] = [before, java.snapshots()]
    print(json.dumps(seen))


if __name__ == "__main__":
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    main(Path(sys.argv[1]))
