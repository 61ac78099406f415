"""A progress bar for one Spark job, on a terminal."""

from __future__ import annotations

import sys
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

_WIDTH = 30


@contextmanager
def progress_bar(spark: SparkSession, title: str, shown: bool) -> Iterator[None]:
    """Within, shows how many tasks of the jobs of this thread are done. Mute where Spark shows its own bar."""
    if not shown or spark.conf.get("spark.ui.showConsoleProgress", "false") == "true":
        yield
        return
    tag = f"data-skip-{uuid.uuid4()}"
    done = threading.Event()
    painter = threading.Thread(target=_paint, args=(spark, tag, title, done), daemon=True)
    spark.addTag(tag)
    painter.start()
    try:
        yield
    finally:
        done.set()
        painter.join()
        spark.removeTag(tag)


def _paint(spark: SparkSession, tag: str, title: str, done: threading.Event) -> None:
    tracker = spark.sparkContext.statusTracker()
    terminal = sys.stderr.isatty()
    while not done.wait(0.2):
        if terminal:
            completed, total = _tasks(tracker, tag)
            _draw(title, completed, total, end="")
    _draw(title, 1, 1, end="\n")


def _tasks(tracker: object, tag: str) -> tuple[int, int]:
    completed = total = 0
    for job in tracker.getActiveJobsIds():  # type: ignore[attr-defined]
        info = tracker.getJobInfo(job)  # type: ignore[attr-defined]
        for stage in info.stageIds if info else ():
            found = tracker.getStageInfo(stage)  # type: ignore[attr-defined]
            if found:
                completed, total = completed + found.numCompletedTasks, total + found.numTasks
    return completed, max(total, 1)


def _draw(title: str, completed: int, total: int, end: str) -> None:
    filled = _WIDTH * completed // total
    print(f"\r{title} [{'#' * filled}{'.' * (_WIDTH - filled)}] {100 * completed // total:3d}%", end=end, file=sys.stderr, flush=True)
