"""How far Spark is: a bar where there is a terminal, else a line now and then. On standard error."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyspark import StatusTracker
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from data_skip.spark.tasks import tasks_done

_LINES_SECONDS = 10.0  # between two lines, where there is no terminal
_BAR_SECONDS = 0.2


@contextmanager
def waiting(title: str) -> Iterator[None]:
    """Within, a terminal shows that something takes its time; nothing elsewhere."""
    if not sys.stderr.isatty():
        yield
        return
    with open(os.dup(2), "w", encoding=sys.stderr.encoding) as terminal, Console(file=terminal).status(title):  # 2 may be led elsewhere
        yield


@contextmanager
def progress(spark: Any, title: str) -> Iterator[None]:
    """Within, shows how many tasks of Spark's running jobs are done. What comes after them, Spark does not tell."""
    done = threading.Event()
    show = _bar if sys.stderr.isatty() else _lines
    shower = threading.Thread(target=show, args=(spark.sparkContext.statusTracker(), title, done), daemon=True)
    shower.start()
    try:
        yield
    finally:
        done.set()
        shower.join(2.0)


def _bar(tracker: StatusTracker, title: str, done: threading.Event) -> None:
    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        bar = shown.add_task(title, total=None)
        while not done.wait(_BAR_SECONDS):
            completed, total = tasks_done(tracker)
            shown.update(bar, completed=completed, total=total or None)


def _lines(tracker: StatusTracker, title: str, done: threading.Event) -> None:
    begun = time.monotonic()
    while not done.wait(_LINES_SECONDS):
        completed, total = tasks_done(tracker)
        tasks = f"{completed:,} of {total:,} tasks of the running job" if total else "Spark starts or plans, and runs no job"
        print(f"{title}: {time.monotonic() - begun:.0f} s, {tasks}", file=sys.stderr, flush=True)
