"""The Python that Spark's workers run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from functools import cache

from pyspark import SparkContext, SparkFiles
from pyspark.sql import SparkSession

_LOOK = "import importlib.util, sys; sys.exit(importlib.util.find_spec('data_skip') is None)"
_WHO = "import sys; print(sys.prefix, sys.version)"
_SECONDS = 20


def python_without_data_skip(spark: SparkSession) -> str | None:
    """The Python of a local session's workers where it lacks this package, as another than the driver's may; None where all is well.

    What a cluster's workers run cannot be told from here.
    """
    context = spark.sparkContext
    found = shutil.which(context.pythonExec) if str(context.master).startswith("local") else None
    if found is None or os.path.abspath(found) == os.path.abspath(sys.executable):
        return None
    try:
        looked = subprocess.run([found, "-c", _LOOK], timeout=_SECONDS, capture_output=True, check=False, env=_environment(context))
        lacks = looked.returncode == 1
    except (OSError, subprocess.TimeoutExpired):
        return None
    return found if lacks else None


@cache
def is_of_this_environment(executable: str) -> bool:
    """Whether a Python, as it would be started here, has the packages that this one has: as it says itself, since links lead anywhere."""
    found = shutil.which(executable)
    if found is None or os.path.abspath(found) == os.path.abspath(sys.executable):
        return found is not None
    try:
        said = subprocess.run([found, "-c", _WHO], timeout=_SECONDS, capture_output=True, check=False, text=True)
    except (OSError, subprocess.TimeoutExpired, UnicodeError):
        return False
    return said.stdout.strip() == f"{sys.prefix} {sys.version}".strip()


def _environment(context: SparkContext) -> dict[str, str]:
    """That of workers, as far as it says where modules are: Spark sends them what `addPyFile` was given, and adds `spark.executorEnv`."""
    sent = [os.path.join(SparkFiles.getRootDirectory(), name) for name in context._python_includes or ()]
    paths = [*sent, context.environment.get("PYTHONPATH", ""), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, **context.environment, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
