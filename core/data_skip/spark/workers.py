"""The Python that Spark's workers run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import Any

from pyspark import SparkContext, SparkFiles
from pyspark.sql import SparkSession

_LOOK = "import importlib.util, sys; sys.exit(importlib.util.find_spec('data_skip') is None)"
_SECONDS = 20


def python_without_data_skip(spark: SparkSession) -> str | None:
    """The Python of a local session's workers where it lacks this package, as another than the driver's may; None where all is well.

    What a cluster's workers run cannot be told from here.
    """
    context = spark.sparkContext
    if not (str(context.master) == "local" or str(context.master).startswith("local[")):
        return None
    jvm: Any = context._jvm  # which starts them, and was started itself with what may not be this process's by now
    environment = dict(jvm.java.lang.System.getenv())
    found = shutil.which(context.pythonExec, path=environment.get("PATH"))
    if found is None or os.path.abspath(found) == os.path.abspath(sys.executable):
        return None
    given = context.environment
    of_spark = jvm.org.apache.spark.api.python.PythonUtils.sparkPythonPath()
    paths = [*_sent(context), of_spark, given.get("PYTHONPATH", ""), environment.get("PYTHONPATH", "")]
    variables = {**environment, **given, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    folder = jvm.java.lang.System.getProperty("user.dir")
    try:
        run = [found, "-c", _LOOK]
        looked = subprocess.run(run, timeout=_SECONDS, capture_output=True, check=False, env=variables, cwd=folder)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return found if looked.returncode == 1 else None


def _sent(context: SparkContext) -> list[str]:
    """Where workers find what `addPyFile` was given, as worker.py puts it after the first place: the last before all others."""
    root = SparkFiles.getRootDirectory()
    return [*reversed([os.path.join(root, name) for name in context._python_includes or ()]), root]
