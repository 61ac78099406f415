"""Workers that have another version of a package than the driver. `test_cluster.py` runs it: it prints JSON."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import data_skip
from data_skip import DataSkipError, MinMax
from tests.support import aged


def main(master: str, folder: Path) -> None:
    """Tries to make indexes that tasks read themselves, and that Spark reads."""
    table, elsewhere = folder / "table", folder / "elsewhere"
    table.mkdir()
    for i in range(4):
        pq.write_table(pa.table({"x": range(10 * i, 10 * i + 10)}), table / f"{i}.parquet", write_statistics=False)
        aged(table / f"{i}.parquet")
    shutil.copytree(Path(data_skip.__file__).parent, elsewhere / "data_skip", ignore=shutil.ignore_patterns("__pycache__"))
    with (elsewhere / "data_skip" / "indexes" / "min_max.py").open("a") as file:
        file.write("\n# of another version\n")
    settings = {"spark.ui.enabled": "false", "spark.executorEnv.PYTHONPATH": str(elsewhere)}
    spark = SparkSession.builder.master(master).config(map=settings).getOrCreate()
    skipping = data_skip.enable(spark)
    told = {}
    for index in (MinMax("x"), MinMax("x + 1")):
        try:
            skipping.table(str(table)).create_index(index)
            told[str(index)] = "made"
        except DataSkipError as error:
            told[str(index)] = str(error)
    told["written"] = (table / ".data_skip").exists()
    print(json.dumps(told))
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
