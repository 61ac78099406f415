"""Workers that have another version of a package than the driver, or none. `test_cluster.py` runs it: it prints JSON."""

from __future__ import annotations

import json
import os
import shutil
import sys
import sysconfig
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import data_skip
from data_skip import DataSkipError, MinMax
from tests.support import aged


def of_another_version(elsewhere: Path) -> str:
    """What comes first on the path of workers: the package, in which one module differs."""
    shutil.copytree(Path(data_skip.__file__).parent, elsewhere / "data_skip", ignore=shutil.ignore_patterns("__pycache__"))
    with (elsewhere / "data_skip" / "indexes" / "min_max.py").open("a") as file:
        file.write("\n# of another version\n")
    return str(elsewhere)


def without() -> str:
    """The path of workers that have all that is installed here but this package, as the links of an environment hold for that alone."""
    os.environ["PYSPARK_PYTHON"] = sys._base_executable  # type: ignore[attr-defined]
    return sysconfig.get_path("purelib")


def main(master: str, folder: Path, have: str) -> None:
    """Tries to make indexes that tasks read themselves, and that Spark reads. have: "another" package, or "none"."""
    table = folder / "table"
    table.mkdir()
    path = without() if have == "none" else of_another_version(folder / "elsewhere")
    for i in range(4):
        pq.write_table(pa.table({"x": range(10 * i, 10 * i + 10)}), table / f"{i}.parquet", write_statistics=False)
        aged(table / f"{i}.parquet")
    settings = {"spark.ui.enabled": "false", "spark.executorEnv.PYTHONPATH": path}
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
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3])
