"""Settings of a Spark session that data-skip reads and sets."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

ENABLED = "spark.data_skip.enabled"


@contextmanager
def disabled(spark: SparkSession) -> Iterator[None]:
    """Within, the session's queries skip nothing."""
    before = spark.conf.get(ENABLED, "true") or "true"
    spark.conf.set(ENABLED, "false")
    try:
        yield
    finally:
        spark.conf.set(ENABLED, before)
