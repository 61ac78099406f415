"""A progress bar of a Spark job, on a terminal or in a notebook."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from pyspark.sql import SparkSession

from data_skip import html
from data_skip.spark.tasks import tasks_done

_WIDTH = 30


@contextmanager
def progress_bar(spark: SparkSession, title: str, shown: bool | None) -> Iterator[None]:
    """Within, shows how many tasks of the running jobs are done; None: in notebooks only, where it is gone in the end.

    On a terminal mute where Spark shows its own bar.
    """
    output = None if shown is False else _notebook_output()
    on_terminal = shown and output is None and spark.conf.get("spark.ui.showConsoleProgress", "false") != "true"
    if output is None and not on_terminal:
        yield
        return
    done = threading.Event()
    painter = threading.Thread(target=_paint if output is None else _show, args=(spark, title, done, output), daemon=True)
    painter.start()
    try:
        yield
    finally:
        done.set()
        painter.join()


def _notebook_output() -> Any:
    """An output of the running cell, which can be updated; None where this is no notebook, or not the thread of cells."""
    ipython = sys.modules.get("IPython")
    if ipython is None or threading.current_thread() is not threading.main_thread() or not hasattr(ipython.get_ipython(), "kernel"):
        return None
    shown: Any = import_module("IPython.display")
    return shown.display(shown.HTML(""), display_id=True)


def _show(spark: SparkSession, title: str, done: threading.Event, output: Any) -> None:
    page: Any = import_module("IPython.display")
    tracker = spark.sparkContext.statusTracker()
    last = None
    while not done.wait(0.2):
        if (now := tasks_done(tracker)) == last:
            continue
        last = completed, total = now
        told = [html.bar(completed, total), f" {completed:,} of {total:,} tasks of the running job"] if total else []
        output.update(page.HTML(html.shown(html.line(title, " ", *told))))
    output.update(page.HTML(""))  # what comes in its place is the report, the value of the cell


def _paint(spark: SparkSession, title: str, done: threading.Event, _: None) -> None:
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
