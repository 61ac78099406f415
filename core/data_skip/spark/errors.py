"""What PySpark raises when Spark fails."""

from __future__ import annotations

from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

SPARK_ERRORS = (PySparkException, Py4JJavaError)  # pyspark leaves some errors of tasks as they come


_IN_A_WORKER = "An exception was thrown from the Python worker"
_IN_A_THREAD = "Exception thrown in awaitResult:"  # after which Spark says nothing: its cause does
_OF_A_TASK = "Traceback (most recent call last):"  # of an RDD
_CANCELLED = ("SPARK_JOB_CANCELLED", "cancelled because SparkContext was shut down")
_OF_WORKERS = ("ModuleNotFoundError", "PYTHON_VERSION_MISMATCH", "OtherCode")


def first_line(error: BaseException | str) -> str:
    """The message of a Spark error without its stack; of what was raised in a Python worker, the line below that stack."""
    lines = _text(error).strip().split("\n")
    if lines[0].endswith(_OF_A_TASK):
        return next((line for line in lines[1:] if line and not line.startswith(" ")), lines[0])
    if lines[0].rstrip().endswith(_IN_A_THREAD):
        return _cause(error) or lines[0]
    if not lines[0].startswith(_IN_A_WORKER):
        return lines[0].removesuffix(";")  # which a plan follows
    stack = max(i for i, line in enumerate(lines) if i == 0 or line.startswith(" "))
    return lines[min(stack + 1, len(lines) - 1)]


def not_understood(error: Exception) -> str:
    """What Spark says of an expression that it does not understand, and what may help."""
    line = first_line(error)
    return f"{line}; a package's functions are known after its register(spark), as log_skip's" if "UNRESOLVED_ROUTINE" in line else line


def is_cancelled(error: BaseException) -> bool:
    """Whether somebody has cancelled the job, or stopped Spark: then nothing more is to be run."""
    return any(why in first_line(error) for why in _CANCELLED)


def is_of_workers(error: Exception) -> bool:
    """Whether workers run another Python than the driver, or lack what it has, or have another version of it: then no file can be read."""
    return any(name in first_line(error) for name in _OF_WORKERS)


def _cause(error: BaseException | str) -> str:
    """What the innermost cause that says something begins with; "" where none does."""
    java: Any = error.java_exception if isinstance(error, Py4JJavaError) else getattr(error, "_origin", None)
    said = ""
    while java is not None:
        said, java = (java.getMessage() or "").strip() or said, java.getCause()
    line = said.split("\n")[0]
    return "" if line.endswith(_IN_A_THREAD) else line


def _text(error: BaseException | str) -> str:
    return str(error.java_exception.getMessage()) if isinstance(error, Py4JJavaError) else str(error)
