"""A scan that one query lists twice is given the same files: by the first ones Spark may have left out a sort."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from pyspark.sql import SparkSession

from data_skip import MinMax, Skipping
from data_skip.planning import callback
from tests.support import aged, rows_of, settings_of

SORTED_BY_FILE = {
    "spark.sql.legacy.bucketedTableScan.outputOrdering": "true",
    "spark.sql.sources.bucketing.autoBucketedScan.enabled": "false",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.adaptive.enabled": "true",
}


def test_what_is_sorted_by_the_files_that_were_listed(spark: SparkSession, skipping: Skipping, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bucket of one file is sorted. Adaptive execution lists a scan with a sub-query again: by then, the small side may run no more."""
    for name, starts in (("twice_large", (100000, 0)), ("twice_small", (0,))):
        for start in starts:
            rows = spark.range(start, start + (5000 if name == "twice_large" else 20), 1, 1).selectExpr(
                "id AS k", "id % 10 AS x", "uuid() AS pad"
            )
            rows.write.mode("append").bucketBy(2, "k").sortBy("k").saveAsTable(name)
        for path in spark.table(name).inputFiles():
            aged(Path(unquote(path.removeprefix("file:"))))
        spark.catalog.refreshTable(name)
        skipping.table(name).create_index(MinMax("k"))
    decide, decided = callback.Callback._decide, set[int]()

    def once(self: callback.Callback, listing: Any, catalog: Any) -> str | None:
        if listing.scan.number in decided:
            return None
        said = decide(self, listing, catalog)
        if said is not None and said.startswith("decided"):
            decided.add(listing.scan.number)
        return said

    monkeypatch.setattr(callback.Callback, "_decide", once)
    sql = "SELECT l.k, l.x FROM twice_large l JOIN twice_small s ON l.k = s.k WHERE l.x >= (SELECT min(x) FROM twice_small)"
    try:
        with settings_of(spark, SORTED_BY_FILE):
            with skipping.disabled():
                expected = rows_of(spark.sql(sql))
            found = spark.sql(sql)
            assert rows_of(found) == expected
        plan = found._jdf.queryExecution().executedPlan().toString()
        assert plan.split("Initial Plan")[0].count("Sort [") < 2, "nothing was left out: the test cannot fail"
        assert max(scan.files_skipped for scan in skipping.report().scans) == 2
    finally:
        for name in ("twice_large", "twice_small"):
            spark.sql(f"DROP TABLE {name}")
