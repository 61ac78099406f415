"""The Python that Spark's workers run."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from functools import lru_cache
from hashlib import sha256
from time import monotonic
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from pyspark import SparkContext, SparkFiles
from pyspark.sql import SparkSession

_LOOK = "import importlib.util, sys; sys.exit(importlib.util.find_spec('data_skip') is None)"
_WHO = """
import hashlib, json, locale, os, platform, sys, sysconfig, time

def at(moment):
    local = time.localtime(moment)
    return [local.tm_gmtoff, local.tm_zone]

zone, last, days = [], None, 5 * 86_400
for moment in range(-1 << 32, 1 << 32, days):
    if (now := at(moment)) != last:
        before, since = moment - days, moment
        while since - before > 1:
            middle = (before + since) // 2
            before, since = (middle, since) if at(middle) == last else (before, middle)
        zone.append([since, now])
        last = now
files = [getattr(sys.modules.get(name), "__file__", None) for name in ("sitecustomize", "usercustomize")]
first = [hashlib.sha256(open(file, "rb").read()).hexdigest() for file in files if file]
flags = sys.flags.optimize, sys.flags.utf8_mode, getattr(sys.flags, "int_max_str_digits", 0), sys.warnoptions
version = [sys.version, platform.machine(), *platform.libc_ver(), str(flags), locale.getpreferredencoding(False), *first]
hashes = os.environ.get("PYTHONHASHSEED", "").isdigit() and not sys.flags.ignore_environment
library = sorted({sysconfig.get_path(name) for name in ("stdlib", "platstdlib")})
print(json.dumps([" ".join(version), zone, library, sys.path, hashes]))
"""
_SECONDS, _FEW_SECONDS = 20, 8  # of the second kind a query waits, once
_FAILED_SECONDS = 60.0
_FAILED: dict[tuple[str, tuple[tuple[str, str], ...], str], float] = {}  # until when one that did not answer is not asked again
_WORKER_MODULES = ("spark.python.daemon.module", "spark.python.worker.module")
_STARTED: WeakKeyDictionary[SparkContext, Started] = WeakKeyDictionary()


def python_without_data_skip(spark: SparkSession) -> str | None:
    """The Python of a local session's workers where it lacks this package, as another than the driver's may; None where all is well.

    What a cluster's workers run cannot be told from here.
    """
    context = spark.sparkContext
    if not _is_local(context):
        return None
    started = started_by(context)
    found = shutil.which(context.pythonExec, path=started.places)
    if found is None or os.path.abspath(found) == os.path.abspath(sys.executable):
        return None
    try:
        environment = _environment(context)
        environment["PYTHONPATH"] = os.pathsep.join([*_sent(context), environment["PYTHONPATH"]])
        run = [found, "-c", _LOOK]
        looked = subprocess.run(run, timeout=_SECONDS, capture_output=True, check=False, env=environment, cwd=started.folder)
        lacks = looked.returncode == 1
    except (OSError, subprocess.TimeoutExpired):
        return None
    return found if lacks else None


def _is_local(context: SparkContext) -> bool:
    """Whether the JVM of the driver starts the workers itself."""
    return str(context.master) == "local" or str(context.master).startswith("local[")


class Worker(NamedTuple):
    """A Python as this machine's Spark starts it for a worker: what it says of itself."""

    version: str  # and the processor, the library of C, by which `math` computes, how it was started, and what it runs first of all
    zone: str  # a digest of its local time, from 1833 to 2106, and of the second of each change of it that lasts five days
    library: tuple[str, ...]  # where Python's own modules lie
    path: tuple[str, ...]  # where it looks for modules, in this order
    hashes: bool = True  # whether a text has the same hash, and a set the same order, in each process


class Started(NamedTuple):
    """What the JVM of an application has for its workers."""

    environment: dict[str, str]
    places: str | None  # where it looks for executables, whatever PATH it gives them
    folder: str
    python_path: str  # where PySpark is
    files: str  # the folder of what is shipped
    began: float  # seconds since 1970
    modules: dict[str, str]  # by the setting, which others than PySpark's workers run


def worker_of(executable: str, context: SparkContext | None, given: Mapping[str, str] | None = None) -> Worker | None:
    """The worker that Spark starts by an executable; without a context, as this process would start it. None where that fails.

    given: the variables that the function was given which it runs; None: those of the context by now. What a cluster's workers run is
    taken for the same: it cannot be told from here.
    """
    variables, folder, places = {"PYTHONHASHSEED": "0", **os.environ}, os.getcwd(), os.environ.get("PATH")
    if context is not None:
        variables, folder, places = _environment(context, given), started_by(context).folder, started_by(context).places
    asked = shutil.which(executable, path=places) or executable, tuple(sorted(variables.items())), folder
    if monotonic() < _FAILED.get(asked, 0.0):
        return None
    try:
        said = _said(*asked)
    except (OSError, subprocess.SubprocessError, ValueError, IndexError, TypeError):
        _FAILED[asked] = monotonic() + _FAILED_SECONDS
        return None
    if context is None:
        return said
    here, others = said.path[:1], said.path[1:]
    return said._replace(path=(*here, *_sent(context), *others))


@lru_cache(maxsize=16)
def _said(executable: str, variables: tuple[tuple[str, str], ...], folder: str) -> Worker:
    """Any of the errors that `worker_of` knows where it is not started, does not answer in time, or says something else."""
    command = [executable, "-c", _WHO]
    run = subprocess.run(command, timeout=_FEW_SECONDS, capture_output=True, check=True, text=True, env=dict(variables), cwd=folder)
    version, zone, library, path, hashes = json.loads(run.stdout.strip().splitlines()[-1])
    return Worker(version, sha256(json.dumps(zone).encode()).hexdigest(), tuple(library), tuple(part or folder for part in path), hashes)


def _sent(context: SparkContext) -> list[str]:
    """Where workers find what `addPyFile` was given, as worker.py puts it after the first place: the last before all others."""
    root = started_by(context).files
    return [*reversed([os.path.join(root, name) for name in context._python_includes or ()]), root]


def _environment(context: SparkContext, given: Mapping[str, str] | None = None) -> dict[str, str]:
    """That of workers: Spark's own, and what functions are given, as `spark.executorEnv` says (given: as of `worker_of`)."""
    started, given = started_by(context), context.environment if given is None else given
    paths = [started.python_path, given.get("PYTHONPATH", ""), started.environment.get("PYTHONPATH", "")]
    return {**started.environment, **given, "PYTHONPATH": os.pathsep.join(filter(None, paths))}


def started_by(context: SparkContext) -> Started:
    """How the JVM of a context was started: it starts workers so, whatever has changed here since."""
    if context not in _STARTED:
        jvm: Any = context._jvm
        conf, environment = context.getConf(), dict(jvm.java.lang.System.getenv())
        places = environment.get("PATH")
        if not _is_local(context):  # executors are started with this, and start workers
            places = conf.get("spark.executorEnv.PATH", places)
        _STARTED[context] = Started(
            environment,
            places,
            jvm.java.lang.System.getProperty("user.dir"),
            jvm.org.apache.spark.api.python.PythonUtils.sparkPythonPath(),
            SparkFiles.getRootDirectory(),
            context.startTime / 1000,
            {key: module for key in _WORKER_MODULES if (module := conf.get(key))},
        )
    return _STARTED[context]
