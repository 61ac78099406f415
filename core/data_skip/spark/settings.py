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


@contextmanager
def smallest_parts(spark: SparkSession, largest: int) -> Iterator[None]:
    """Within, files of up to `largest` bytes are cut into parts as small as the session's settings allow for any number of files."""
    key, conf = "spark.sql.files.maxPartitionBytes", spark._jsparkSession.sessionState().conf()
    least, was_set, before = min(conf.filesMaxPartitionBytes(), conf.filesOpenCostInBytes()), conf.contains(key), spark.conf.get(key)
    if largest <= least:
        yield
        return
    spark.conf.set(key, str(least))
    try:
        yield
    finally:
        if was_set:
            spark.conf.set(key, str(before))
        else:
            spark.conf.unset(key)
