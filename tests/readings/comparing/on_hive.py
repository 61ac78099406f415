"""Tables of Hive over a folder whose files are skipped. `test_beside_other_readers.py` runs it: rows are compared, and it prints JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pyspark.sql import SparkSession

import data_skip
from tests.readings.comparing.support import SUMS, cut_by_what_is_read, write
from tests.support import Lake

COLUMNS = "(k INT, id BIGINT, g BIGINT, x DOUBLE)"
HIVE = {
    "spark.ui.enabled": "false",
    "spark.sql.catalogImplementation": "hive",
    "spark.sql.hive.convertMetastoreParquet": "false",  # else Spark reads it as its own
    "spark.sql.shuffle.partitions": "3",
    "spark.hadoop.javax.jdo.option.ConnectionURL": "jdbc:derby:memory:on_hive;create=true",
    "spark.hadoop.datanucleus.schema.autoCreateAll": "true",
    "spark.hadoop.hive.metastore.schema.verification": "false",
}


def main(folder: Path) -> None:
    """Compares sums with those of a table that lies in the folder, and of one of which a partition does."""
    warehouse = {"spark.sql.warehouse.dir": str(folder / "warehouse")}
    spark = SparkSession.builder.master("local[2]").config(map=HIVE | warehouse).getOrCreate()
    lake = Lake(spark, data_skip.enable(spark), folder / "ordered")
    for k in range(6):
        write(lake.folder / f"{k}.parquet", k, 2000, 10000 * k)
    spark.sql(f"CREATE EXTERNAL TABLE whole {COLUMNS} STORED AS PARQUET LOCATION '{lake.folder}'")
    spark.sql(f"CREATE EXTERNAL TABLE parts {COLUMNS} PARTITIONED BY (p INT) STORED AS PARQUET LOCATION '{folder}/elsewhere'")
    spark.sql(f"ALTER TABLE parts ADD PARTITION (p=1) LOCATION '{lake.folder}'")
    exact = "SELECT k, max(id) AS s FROM ordered GROUP BY k"
    skipped: dict[str, list[int]] = {"compared": [], "of no order": []}
    with cut_by_what_is_read(lake, "ordered"):
        for table in ("whole", "parts"):
            for title, sums in ("compared", SUMS), ("of no order", exact):
                joined = f"SELECT a.k FROM ({sums}) a JOIN ({sums.replace('ordered', table)}) b ON a.k = b.k AND a.s = b.s WHERE a.k = 5"
                skipped[title] += [scan.files_skipped for scan in lake.query(joined).scans]
            less = f"SELECT k, s FROM ({SUMS}) WHERE k = 5 EXCEPT SELECT k, s FROM ({SUMS.replace('ordered', table)})"
            skipped["compared"] += [scan.files_skipped for scan in lake.query(less).scans]
    print(json.dumps(skipped))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
