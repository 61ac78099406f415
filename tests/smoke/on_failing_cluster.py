"""Indexes made while executors are killed, and tasks run twice, are those of a quiet run. `test_cluster.py` runs it: it prints JSON."""

from __future__ import annotations

import json
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark import TaskContext
from pyspark.sql import SparkSession

import data_skip
from data_skip import Index, MinMax, Table, ValueList
from tests.smoke.standalone import kill_an_executor
from tests.support import aged

FILES, ROWS = 6, 300


class Slow(Index):
    """How many rows a file has, said slowly; far more so by the first attempt at some of the tasks."""

    fields = {"rows": pa.int64()}

    def collect(self, *values: pa.Array) -> dict[str, Any]:
        context = TaskContext.get()
        first = context is None or context.attemptNumber() == 0
        time.sleep(5 if first and values[0][0].as_py() % (2 * ROWS) == 1 else 0.3)
        return {"rows": len(values[0])}

    def merge(self, a: dict[str, Any], b: dict[str, Any]) -> dict[str, Any]:
        return {"rows": a["rows"] + b["rows"]}


INDEXES = (MinMax("x"), ValueList("x % 7"), Slow("x + 1"))


def main(master: str, folder: Path) -> None:
    """Indexes a table undisturbed, and while executors are killed, with speculative tasks."""
    for i in range(FILES):
        pq.write_table(pa.table({"x": range(ROWS * i, ROWS * i + ROWS)}), folder / f"{i}.parquet")
        aged(folder / f"{i}.parquet")
    settings = {
        **{"spark.ui.enabled": "false", "spark.executor.memory": "512m", "spark.sql.files.openCostInBytes": "1g"},
        **{"spark.speculation": "true", "spark.speculation.interval": "100ms", "spark.speculation.quantile": "0.1"},
        **{"spark.speculation.multiplier": "1.2", "spark.speculation.minTaskRuntime": "100ms", "spark.task.maxFailures": "10"},
        "spark.data_skip.join.leastBytes": "0",
    }
    spark = SparkSession.builder.master(master).config(map=settings).getOrCreate()
    table = data_skip.enable(spark).table(str(folder))
    killed: list[bool] = []

    def kill_some() -> None:
        for _ in range(3):
            time.sleep(2)
            killed.append(kill_an_executor(spark.sparkContext.applicationId))

    quiet = records(table)
    killer = threading.Thread(target=kill_some)
    killer.start()
    disturbed = records(table)
    killer.join()
    print(json.dumps({"killed": sum(killed), "equal": quiet == disturbed, "records": disturbed}))
    spark.stop()


def records(table: Table) -> list[Any]:
    """What indexes made anew say."""
    report = table.create_index(*INDEXES)
    assert (report.files_collected, report.rows, report.unknown) == (FILES, FILES * ROWS, {}), report
    columns = [index.column for index in INDEXES]
    rows = sorted((row.asDict(recursive=True) for row in table.metadata().collect()), key=lambda row: str(row["path"]))
    table.drop_index(*INDEXES)
    return [[row["path"], row["row_count"], *(_sorted(row[column]) for column in columns)] for row in rows]


def _sorted(record: dict[str, Any]) -> dict[str, Any]:
    return {name: sorted(value) if isinstance(value, list) else value for name, value in record.items()}


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
