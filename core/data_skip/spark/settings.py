"""Settings of a Spark session that data-skip reads and sets."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from pyspark.sql import SparkSession

from data_skip.spark.jvm import session_id

ENABLED = "spark.data_skip.enabled"
_lock = Lock()
_within: dict[str, tuple[int, str | None]] = {}  # by session: how many are within `disabled`, and what was set before the first


@contextmanager
def disabled(spark: SparkSession) -> Iterator[None]:
    """Within, the session's queries skip nothing: those of its other threads, too, until the last that is within has left."""
    session = session_id(spark)
    with _lock:
        count, before = _within.get(session, (0, spark.conf.get(ENABLED, None)))
        _within[session] = (count + 1, before)
        spark.conf.set(ENABLED, "false")
    try:
        yield
    finally:
        with _lock:
            count, before = _within.pop(session)
            if count > 1:
                _within[session] = (count - 1, before)
            elif before is None:
                spark.conf.unset(ENABLED)
            else:
                spark.conf.set(ENABLED, before)


def smallest_part(spark: SparkSession) -> int:
    """The bytes of the smallest parts into which the session's settings may cut files, whatever their number."""
    conf = spark._jsparkSession.sessionState().conf()
    return min(int(conf.filesMaxPartitionBytes()), int(conf.filesOpenCostInBytes()))
