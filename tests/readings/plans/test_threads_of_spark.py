"""Threads of Spark's pools, of which each query takes new ones, leave nothing behind where Python is asked on them."""

from __future__ import annotations

import gc
import threading
import time

import pytest

from data_skip import MinMax
from tests.support import Lake

QUERIES = 6


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT k, count(*) FROM t WHERE x >= {} GROUP BY k",
        "SELECT k, count(*) FROM t WHERE x IN (SELECT id + {} FROM range(0, 2, 1, 1)) GROUP BY k",
        "SELECT k, count(*) FROM of_index WHERE x >= {} GROUP BY k",
    ],
)
def test_connections_of_threads_that_have_ended(lake: Lake, sql: str) -> None:
    """py4j keeps each connection that a thread of the JVM opens, and Python a thread and a file for it."""
    pad = "".join(chr(33 + i * i % 90) for i in range(9000))
    for i in range(QUERIES + 1):
        lake.file(f"{i}.parquet", {"x": [i], "k": [i % 2], "pad": [pad]})
    lake.index(MinMax("x"))
    lake.view()
    lake.skipping.read(str(lake.folder)).createOrReplaceTempView("of_index")
    lake.spark.sql(sql.format(0)).collect()
    before = settled()
    for i in range(1, QUERIES):
        lake.spark.sql(sql.format(i)).collect()
        assert lake.skipping.report().scans[-1].files_skipped > 0
    lake.spark.catalog.dropTempView("of_index")
    assert settled() <= before + 1  # a thread of something else may have begun


def settled() -> int:
    """How many threads Python has, once their number changes no more."""
    found, end = 0, time.monotonic() + 10
    while found != (found := threading.active_count()) and time.monotonic() < end:
        time.sleep(0.5)
    return found


@pytest.mark.parametrize("sql", ["SELECT * FROM t WHERE x = {}", "SELECT * FROM data_skip_files('{folder}', 'x = {}')"])
def test_connections_of_threads_of_python_that_have_ended(lake: Lake, sql: str) -> None:
    """What Python asked back while it was asked on one put it twice among those that py4j keeps, and it is taken out once."""
    for i in range(2):
        lake.file(f"{i}.parquet", {"x": [i]})
    lake.index(MinMax("x"))
    lake.view()
    client = lake.spark.sparkContext._gateway._gateway_client  # type: ignore[union-attr]
    before = len(client.deque)
    for i in range(QUERIES):
        query = sql.format(i, folder=lake.folder)
        thread = threading.Thread(target=lambda query=query: lake.spark.sql(query).collect())
        thread.start()
        thread.join()
        del thread
    gc.collect()
    assert len(client.deque) <= before
