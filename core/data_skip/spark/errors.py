"""What PySpark raises when Spark fails."""

from __future__ import annotations

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

SPARK_ERRORS = (PySparkException, Py4JJavaError)  # pyspark leaves some errors of tasks as they come


def first_line(error: Exception) -> str:
    """The message of a Spark error without its stack."""
    text = str(error.java_exception.getMessage()) if isinstance(error, Py4JJavaError) else str(error)
    return text.strip().split("\n")[0]


def is_cancelled(error: Exception) -> bool:
    """Whether somebody has cancelled the job: then nothing more is to be run."""
    return "SPARK_JOB_CANCELLED" in first_line(error)
