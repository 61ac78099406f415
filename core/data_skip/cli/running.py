"""The Spark session of a command: started quietly, and stopped whatever comes."""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from importlib import import_module
from tempfile import TemporaryFile
from typing import IO, Any, TypeVar

from pyspark.sql import SparkSession

import data_skip
from data_skip.cli import offline
from data_skip.cli.asked import Asked
from data_skip.cli.progress import waiting
from data_skip.cli.recipes import plugin_packages
from data_skip.cli.showing import STOPPING
from data_skip.errors import DataSkipError
from data_skip.spark.errors import SPARK_ERRORS, first_line
from data_skip.spark.java import ensure_java
from data_skip.spark.starting import start
from data_skip.table import Table

Result = TypeVar("Result")
_QUIET = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR"}
_STOP_SECONDS = 20.0
_MOST_SAID = 1 << 16  # bytes of what Spark says until it has started


@contextmanager
def skipping(asked: Asked, command: str) -> Iterator[data_skip.Skipping]:
    """Within, a session that skips: the one that runs in this process, or else one that ends with this. DataSkipError for none."""
    with spark_session(asked, command) as spark:
        found = data_skip.enable(spark, asked.index_root)
        for module in asked.register:
            try:
                import_module(module).register(spark)
            except (ImportError, AttributeError, ValueError) as error:  # the last: of an empty name
                raise DataSkipError(f"--register {module}: {error}; name a module with register(spark), as geo_skip or log_skip") from error
        yield found


def opened(found: data_skip.Skipping, asked: Asked, name: str) -> Table:
    """A table by what the user calls it: a folder of this machine is one, also where the catalog has a table of its name.

    Spark may take a path without a scheme for one of another file system, or of another folder than this process works in.
    """
    table = found.table(f"file:{offline.folder_of(name)}" if offline.is_local(name) else name, **asked.reader)
    table.name = name  # as it is told in reports
    return table


def with_functions(found: data_skip.Skipping, work: Callable[[], Result]) -> Result:
    """What some work gives; where it names a function that Spark does not know, with the functions of installed plugins.

    To register them takes seconds, and few commands need them. The work has done nothing when Spark says so.
    """
    try:
        return work()
    except (DataSkipError, *SPARK_ERRORS) as error:
        if "[UNRESOLVED_ROUTINE]" not in str(error):
            raise
    for package in plugin_packages():
        if callable(register := getattr(package, "register", None)):
            register(found.spark)
    return work()


@contextmanager
def spark_session(asked: Asked, command: str) -> Iterator[Any]:
    """Within, a Spark session, as of `skipping`."""
    if (running := SparkSession.getActiveSession()) is not None:
        yield running
        return
    try:
        ensure_java()
    except RuntimeError as error:
        raise DataSkipError(str(error)) from error
    if asked.master is None or asked.master.startswith("local"):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # or workers run whatever `python3` is
    logging.getLogger("SQLQueryContextLogger").disabled = not asked.verbose  # errors with Java's stack, as JSON
    with TemporaryFile() as said, waiting("starting Spark"), nullcontext() if asked.verbose else _apart(said):
        try:
            spark = start(f"data-skip {command}", asked.master, {**({} if asked.verbose else _QUIET), **asked.conf}, STOPPING.set)
        except (RuntimeError, *SPARK_ERRORS) as error:
            raise DataSkipError(f"Spark does not start: {_why(said) or first_line(error)}; --verbose shows all that it says") from error
    try:
        yield spark
    finally:
        stopping = threading.Thread(target=_stop, args=(spark,), daemon=True)  # this thread may be waiting for an answer, if it was stopped
        stopping.start()
        stopping.join(_STOP_SECONDS)  # with this process Spark ends, too


def _stop(spark: Any) -> None:
    with suppress(Exception):  # it may be gone by now
        spark.stop()


@contextmanager
def _apart(file: IO[bytes]) -> Iterator[None]:
    """Within, a process that is started writes to a file: Spark's log, and what its workers say, are no part of what a command says."""
    own = [os.dup(stream) for stream in (1, 2)]
    try:
        for stream in (1, 2):
            os.dup2(file.fileno(), stream)
        yield
    finally:
        for stream, kept in zip((1, 2), own, strict=True):
            os.dup2(kept, stream)
            os.close(kept)


def _why(said: IO[bytes]) -> str:
    """Of what Spark said, the first line that names an error."""
    said.seek(0)
    lines = said.read(_MOST_SAID).decode(errors="replace").splitlines()
    return next((line.strip() for line in lines if "Exception" in line or "Error" in line), "")
