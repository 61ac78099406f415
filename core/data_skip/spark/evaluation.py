"""Jobs of Spark's tasks that Python makes, and the JVM runs: as the files of a scan are chosen, Python may start none."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from pyspark import SparkContext

Given = TypeVar("Given")


def cores() -> int:
    """How many tasks run at once, as far as Spark knows; 0 where it is stopped."""
    context = SparkContext._active_spark_context
    return 0 if context is None else context.defaultParallelism


def evaluation(function: Callable[[Iterable[Given]], Iterator[bytes]], given: Sequence[Given], tasks: int) -> Any:
    """A job of so many tasks that is not started: the JVM's RDD of the bytes that the function gives for what is given.

    No query of Spark's SQL, as Spark itself has when it lists many folders: so no session plans it, and no setting of one touches it.
    """
    context = SparkContext._active_spark_context
    assert context is not None
    found: Any = context.parallelize(given, tasks).mapPartitions(function)
    found._bypass_serializer = True  # they reach the JVM as they are
    return found._jrdd
