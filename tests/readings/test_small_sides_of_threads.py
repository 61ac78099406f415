"""What is run first in the thread of a broadcast leaves that its time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from pyspark.sql import SparkSession

from data_skip import MinMax, ScanReport, Skipping
from tests.support import Lake, settings_of

FILES, ROWS = 4, 500
SLOW = "aggregate(sequence(0L, 200000L + pad), 0L, (a, v) -> a + v % 7) >= 0"  # 20 ms


@pytest.fixture(scope="module")
def lake(spark: SparkSession, skipping: Skipping, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    random = np.random.default_rng(1)
    lake = Lake(spark, skipping, tmp_path_factory.mktemp("threads") / "fact")
    for f in range(FILES):
        wide = {f"c{i}": random.integers(0, 1 << 60, ROWS) for i in range(10)}
        lake.file(f"{f}.parquet", {"k": np.arange(f * ROWS, (f + 1) * ROWS), **wide})
    lake.index(MinMax("k"))
    lake.view("fact")
    dim = Lake(spark, skipping, lake.folder.parent / "dim")
    dim.file("0.parquet", {"id": list(range(40)), "pad": [0] * 40})
    dim.view("dim")
    yield lake
    for view in ("fact", "dim"):
        spark.catalog.dropTempView(view)


@pytest.mark.parametrize("adaptive", ["true", "false"])
def test_a_broadcast_is_not_given_up_for_what_is_run_first(lake: Lake, adaptive: str) -> None:
    """Spark gives a broadcast up after so many seconds; what was run in its thread took as long as it might elsewhere."""
    sql = f"SELECT /*+ BROADCAST(fact) */ fact.* FROM (SELECT * FROM dim WHERE {SLOW}) d LEFT JOIN fact ON k = d.id"
    with settings_of(lake.spark, {"spark.sql.adaptive.enabled": adaptive, "spark.sql.broadcastTimeout": "3"}):
        scan = of_fact(lake, sql)
        assert "was not done in 0.3 s, and then ended" in str(scan.notes), scan.notes
    with settings_of(lake.spark, {"spark.sql.adaptive.enabled": adaptive, "spark.sql.broadcastTimeout": "-1"}):
        assert of_fact(lake, sql.replace(SLOW, "id >= 0")).files_read == 1


def of_fact(lake: Lake, sql: str) -> ScanReport:
    """Compares rows; the report of the scan of `fact`."""
    (scan,) = (scan for scan in lake.query(sql).scans if scan.table.endswith("/fact"))
    return scan
