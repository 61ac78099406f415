"""A progress bar of a Spark job, on a terminal."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

from data_skip.spark.tasks import tasks_done

_WIDTH = 30


@contextmanager
def progress_bar(spark: SparkSession, title: str, shown: bool) -> Iterator[None]:
    """Within, shows how many tasks of the running jobs are done. Mute where Spark shows its own bar."""
    if not shown or spark.conf.get("spark.ui.showConsoleProgress", "false") == "true":
        yield
        return
    done = threading.Event()
    painter = threading.Thread(target=_paint, args=(spark, title, done), daemon=True)
    painter.start()
    try:
        yield
    finally:
        done.set()
        painter.join()


def _paint(spark: SparkSession, title: str, done: threading.Event) -> None:
    tracker = spark.sparkContext.statusTracker()
    terminal = sys.stderr.isatty()
    while not done.wait(0.2):
        if terminal:
            completed, total = tasks_done(tracker)
            _draw(title, completed, total, end="")
    _draw(title, 1, 1, end="\n")


def _draw(title: str, completed: int, total: int, end: str) -> None:
    done = completed / max(total, 1)
    filled = int(_WIDTH * done)
    print(f"\r{title} [{'#' * filled}{'.' * (_WIDTH - filled)}] {int(100 * done):3d}%", end=end, file=sys.stderr, flush=True)
