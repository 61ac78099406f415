"""What a process that runs for weeks keeps of sessions that ended: nothing."""

from __future__ import annotations

import gc
import time
from weakref import ref

import pytest
from pyspark.sql import SparkSession

import data_skip
from data_skip import MinMax
from tests.support import Lake


@pytest.mark.parametrize("sql", ["SELECT * FROM t WHERE x = 1", "SELECT * FROM t JOIN u ON t.x = u.y WHERE u.y < 1"])
def test_a_session_that_was_disabled_is_kept_by_nobody(lake: Lake, sql: str) -> None:
    """The JVM keeps what Python holds of it, and Python what the JVM may call: each the other's, of a session that nobody has any more."""
    for i in range(2):
        lake.file(f"{i}.parquet", {"x": [i]})
    lake.index(MinMax("x"))
    gateway = lake.spark.sparkContext._gateway
    assert gateway is not None
    pool = gateway.gateway_property.pool
    proxies = len(pool)
    kept = [used_and_disabled(lake, sql) for _ in range(3)]
    lake.spark.range(1).count()  # PySpark and Spark take this session for the active one again
    end = time.monotonic() + 30
    while time.monotonic() < end and (any(skipping() for skipping in kept) or len(pool) > proxies):  # also of sessions before
        gc.collect()
        gateway.jvm.System.gc()
        time.sleep(0.2)
    assert [skipping() for skipping in kept] == [None] * 3
    assert len(pool) <= proxies


def used_and_disabled(lake: Lake, sql: str) -> ref[data_skip.Skipping]:
    session: SparkSession = lake.spark.newSession()
    skipping = data_skip.enable(session)
    session.read.parquet(str(lake.folder)).createOrReplaceTempView("t")
    session.range(2, numPartitions=1).selectExpr("id AS y").createOrReplaceTempView("u")
    session.sql(sql).collect()
    assert skipping.report().scans[-1].files_skipped == 1
    session.sql(f"SELECT * FROM data_skip_files('{lake.folder}', 'x = 1')").collect()
    data_skip.disable(session)
    return ref(skipping)
