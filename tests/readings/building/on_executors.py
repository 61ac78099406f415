"""Moments in ORC files, read by executors that are told one time zone and another. `test_times_in_files.py` runs it: it prints JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pyspark.sql import SparkSession

import data_skip
from data_skip import MinMax
from tests.support import aged

ZONES = ("UTC", "America/Los_Angeles", "")  # "": executors are not told one


def main(folder: Path) -> None:
    """For each zone by turns: how many of four moments there are, whether the first is found, and how many files were skipped."""
    told = []
    for zone in ZONES:
        told_zone = f"-Dx=1 -Duser.timezone={zone}" if zone else "-Dx=1"
        conf = {"spark.executor.memory": "512m", "spark.ui.enabled": "false", "spark.executor.extraJavaOptions": told_zone}
        conf |= {"spark.driver.extraJavaOptions": "-Duser.timezone=UTC", "spark.sql.session.timeZone": "UTC"}
        spark = SparkSession.builder.master("local-cluster[1,1,600]").config(map=conf).getOrCreate()
        skipping = data_skip.enable(spark)
        if not told:
            spark.sql("SELECT timestamp_seconds(1700000000 + id * 86400) AS t FROM range(0, 4, 1, 4)").write.mode("append").orc(str(folder))
            for file in folder.glob("*.orc"):
                aged(file)
            skipping.table(str(folder), format="orc").create_index(MinMax("t"))
        spark.read.orc(str(folder)).createOrReplaceTempView("o")
        with skipping.disabled():
            moments = [row.s for row in spark.sql("SELECT unix_seconds(t) AS s FROM o").collect()]
        rows = skipped = 0
        for moment in moments[:1]:
            rows += len(spark.sql(f"SELECT * FROM o WHERE t = timestamp_seconds({moment})").collect())
            skipped += skipping.report().scans[0].files_skipped
        told.append([len(moments), rows, skipped, "; ".join(skipping.report().scans[0].notes)])
        spark.stop()
    print(json.dumps(told))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
