"""An index that is being made, or refreshed, and is cancelled with all that its session does."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from data_skip import DataSkipError, Index, MinMax
from tests.support import Lake
from tests.test_cancelling import by_interrupting_all, by_tag_of_the_session, ended, wait_for_a_job


class Endless(Index):
    fields = {"rows": pa.int32()}

    def collect(self, values: pa.Array) -> dict[str, int]:
        time.sleep(60)
        return {"rows": len(values)}

    def merge(self, a: dict[str, int], b: dict[str, int]) -> dict[str, int]:
        return {"rows": a["rows"] + b["rows"]}


@pytest.mark.parametrize("cancelling", [by_interrupting_all, by_tag_of_the_session])
@pytest.mark.parametrize("x", ["x", "x + 1"])
def test_an_index_is_cancelled_with_its_session(lake: Lake, cancelling: Callable[[SparkSession], Callable[[], Any]], x: str) -> None:
    """x: by tasks that read files themselves, which are of no query, and by Spark, in a copy of the session."""
    lake.file("0.parquet", {"x": [1, 2, 3]})
    table = lake.index(MinMax("x"))
    with ThreadPoolExecutor(1) as thread:
        cancel = thread.submit(cancelling, lake.spark).result()
        command = thread.submit(table.create_index, Endless(x))
        wait_for_a_job(lake.spark)
        assert "SPARK_JOB_CANCELLED" in ended(command, cancel)
        assert isinstance(command.exception(), DataSkipError)
        assert not thread.submit(lake.spark.sparkContext.getJobTags).result()
    assert table.describe().version == 1  # as it was
    lake.view()
    assert lake.read_by("SELECT * FROM t WHERE x > 3") == set()
