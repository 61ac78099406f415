"""Starts Spark for a program that may be stopped by Ctrl-C at any moment."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession


def start(name: str, master: str | None, settings: Mapping[str, str], stopping: Callable[[], None]) -> SparkSession:
    """A session of a Spark of its own. From the main thread, in a process that has none.

    Ctrl-C is a KeyboardInterrupt then, as elsewhere: PySpark's own handler asks Spark in the middle of another question, and fails.
    stopping: what is called before, since where it meets a question to Spark, another error may come of it.
    """
    conf = SparkConf().setAppName(name).setAll(list(settings.items()))
    if master:
        conf.setMaster(master)
    with _later():
        SparkContext._ensure_initialized(conf=conf)
    context = SparkContext(conf=conf)

    def interrupt(*_: Any) -> None:
        stopping()
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, interrupt)
    return SparkSession(context)


@contextmanager
def _later() -> Iterator[None]:
    """Within, Ctrl-C waits for the end: a JVM that finds nobody who started it runs for ever."""
    pressed: list[Any] = []
    before = signal.signal(signal.SIGINT, lambda *event: pressed.append(event))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if pressed:
        raise KeyboardInterrupt
