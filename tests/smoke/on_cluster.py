"""Executors in processes of their own: indexes are made and used there as in a local session. `test_cluster.py` runs it: it prints JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import data_skip
import log_skip
from data_skip import BloomFilter, MinMax, Suffix, ValueList, versioned
from data_skip.building import chunks
from data_skip.planning import in_tasks
from tests.support import aged, rows_of

PREDICATES = (
    "x = 42",
    "upper(agent) LIKE 'CURL/3.%'",
    "agent LIKE '%.5'",
    "get_agent_name(agent) = 'Wget' AND x < 50",
    "times(x) = 84",
    "agent = 'Wget/6.6'",
    "x IN (SELECT max(x) FROM t WHERE x < 20)",
)


def main(master: str, folder: Path) -> None:
    """Writes a table, indexes it, and compares what queries give with skipping and without."""
    for i in range(8):
        agent = f"{'curl' if i % 2 else 'Wget'}/{i}.{i}"
        pq.write_table(pa.table({"x": range(10 * i, 10 * i + 10), "agent": [agent] * 10}), folder / f"{i}.parquet")
        aged(folder / f"{i}.parquet")
    settings = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2", "spark.data_skip.join.leastBytes": "0"}
    limits = ("python.maxSeconds", "join.maxSeconds", "decideSeconds")
    settings |= {f"spark.data_skip.{limit}": "60" for limit in limits}  # a machine may be busy
    spark = SparkSession.builder.master(master).config(map=settings).getOrCreate()
    skipping = data_skip.enable(spark)
    log_skip.register(spark)
    spark.udf.register("times", versioned(lambda x: None if x is None else 2 * x, 1), "bigint")
    indexes = (MinMax("x"), ValueList("upper(agent)"), Suffix("agent", 2), BloomFilter("agent"), ValueList("times(x)"))
    table = skipping.table(str(folder))
    report = table.create_index(*indexes, log_skip.Formatted("agent", "get_agent_name"))
    chunks.FIRST = 2  # so few records are taken for large ones
    chunks._MOST_BYTES = 100
    table.create_index(ValueList("agent"))
    spark.read.parquet(str(folder)).createOrReplaceTempView("t")
    found = {}
    for predicate in PREDICATES:
        frame = spark.sql(f"SELECT * FROM t WHERE {predicate}")
        rows, read = rows_of(frame), skipping.report().scans[-1].files_read
        with skipping.disabled():
            found[predicate] = [rows == rows_of(spark.sql(f"SELECT * FROM t WHERE {predicate}")), sum(rows.values()), read]
    in_snapshot = skipping.read(folder).where("x >= 70").count()
    place = Path(table.describe().location)
    written = [footer.num_rows for path in place.glob("part-*") if "cpp" in (footer := pq.read_metadata(path)).created_by]
    told = {"written": sum(written), "unknown": report.unknown, "direct": report.files_direct, "found": found, "in_snapshot": in_snapshot}
    in_tasks._LEAST_PIECES = -1000  # so few records take a job as well
    spark.conf.set("spark.data_skip.records.maxBytes", "1")
    spark.conf.set("spark.data_skip.decideSeconds", "100")
    rows = [row.x for row in spark.sql("SELECT x FROM t WHERE x = 42").collect()]
    by_tasks = skipping.report().scans[-1]
    print(json.dumps({**told, "by_tasks": [rows, by_tasks.files_read, *by_tasks.notes]}))
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
