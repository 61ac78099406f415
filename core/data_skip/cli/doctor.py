"""Whether all that data-skip needs is there: Java, Spark, its workers, plugins, Sedona, and the rights on a table's index."""

from __future__ import annotations

import os
import platform
import shutil
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, entry_points, version
from typing import Any

from data_skip.building.same_code import Code, OtherCode
from data_skip.cli.asked import Asked
from data_skip.cli.running import opened, skipping, spark_session
from data_skip.cli.showing import sentence
from data_skip.errors import DataSkipError, DataSkipWarning, counted
from data_skip.session import Skipping
from data_skip.spark.errors import SPARK_ERRORS, is_of_workers
from data_skip.spark.java import ensure_java
from data_skip.spark.workers import python_without_data_skip
from data_skip.store import StoreError

OK, WARNING, FAILED = "ok", "warning", "failed"
_PACKAGES = ("data-skip", "pyspark", "pyarrow", "deltalake", "numpy", "pandas")
_ASKED = 16  # workers, at most


@dataclass(frozen=True)
class Check:
    """One thing that was looked at: its state, what was found, and what to do where that is not well."""

    name: str
    state: str
    found: str
    todo: str = ""


def examine(asked: Asked, tables: list[str]) -> Iterator[Check]:
    """The checks, each as it is made: what needs no Spark first, then what does, then each table."""
    yield _packages()
    java = _java()
    yield java
    yield _python()
    yield from _plugins()
    if java.state == FAILED:
        return
    try:
        with spark_session(asked, "doctor") as spark:
            yield Check("Spark", OK, f"{spark.version}, master {spark.sparkContext.master}")
            yield _workers(spark)
            yield _sedona(spark)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DataSkipWarning)  # of the workers' Python, which is a check of its own
                with skipping(asked, "doctor") as found:
                    yield Check("data-skip in the session", OK, "its classes are compiled and its rule is installed")
                    for table in tables:
                        yield from _table(found, table, asked)
    except DataSkipError as error:
        yield Check("Spark", FAILED, sentence(error), "as it says")
    except Exception as error:
        yield Check("doctor", FAILED, sentence(error), "look at --verbose and --debug, and report it")


def _packages() -> Check:
    found = {}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            return Check("packages", FAILED, f"{package} is not installed in {sys.executable}", f"pip install {package}")
    return Check("packages", OK, f"Python {sys.version.split()[0]}, " + ", ".join(f"{name} {number}" for name, number in found.items()))


def _java() -> Check:
    try:
        return Check("Java", OK, ensure_java())
    except RuntimeError as error:
        return Check("Java", FAILED, "none that Spark runs on", str(error))


def _python() -> Check:
    said = os.environ.get("PYSPARK_PYTHON")
    found = shutil.which("python3")
    if said is None and found is not None and _is_this_python(found):
        return Check("PYSPARK_PYTHON", OK, "not set: the first python3 on the path is this one")
    if said is None:
        return Check(
            "PYSPARK_PYTHON",
            WARNING,
            "not set: local workers of this command run its own Python, those of other programs whatever python3 is",
            f"export PYSPARK_PYTHON={sys.executable}",
        )
    if shutil.which(said) is None:
        return Check("PYSPARK_PYTHON", WARNING, f"{said} is no program here", "set it to a Python that the workers have")
    return Check("PYSPARK_PYTHON", OK, said)


def _is_this_python(program: str) -> bool:
    """Whether a program is this process's, and of its environment: Pythons of several are links to one file."""
    return os.path.samefile(program, sys.executable) and os.path.samefile(os.path.dirname(program), os.path.dirname(sys.executable))


def _plugins() -> Iterator[Check]:
    """A check of all plugins that can be loaded, and one of each that cannot."""
    names = []
    for point in sorted(entry_points(group="data_skip.plugins"), key=lambda point: point.name):
        try:
            point.load()
            names.append(point.name)
        except Exception as error:
            found = f"{point.name} ({point.value}) cannot be loaded: {type(error).__name__}: {error}"
            yield Check("plugins", FAILED, found, "mend or uninstall it: its indexes are not used")
    if names:
        yield Check("plugins", OK, ", ".join(names))


def _workers(spark: Any) -> Check:
    """Whether tasks run a Python that has this package, in the same version."""
    context = spark.sparkContext
    advice = f"install data-skip {version('data-skip')} there, or set PYSPARK_PYTHON before Spark starts, as to {sys.executable}"
    if python := python_without_data_skip(spark):
        return Check("workers", FAILED, f"they run {python}, which lacks data_skip", advice)
    tasks = max(2, min(_ASKED, context.defaultParallelism))
    code = Code.of([])
    try:
        told = context.parallelize(range(tasks), tasks).map(_asked_of(code)).collect()
    except Exception as error:
        why = "they run a Python that lacks packages, or is of another version" if is_of_workers(error) else "no task ends"
        return Check("workers", FAILED, f"{why}: {sentence(error)}", advice)
    wrong = sorted({f"{host}: {why}" for host, _, why in told if why})
    if wrong:
        return Check("workers", FAILED, "; ".join(wrong), advice)
    pythons = sorted({f"{python} on {host}" for host, python, _ in told})
    return Check("workers", OK, f"the same data-skip, in {', '.join(pythons)}")


def _asked_of(code: Code) -> Callable[[int], tuple[str, str, str]]:
    def asked(_: int) -> tuple[str, str, str]:
        try:
            code.check()
            why = ""
        except OtherCode as error:
            why = str(error)
        return platform.node(), sys.executable, why

    return asked


def _sedona(spark: Any) -> Check:
    """Sedona is nothing that is needed: the check fails where a part of it is there alone. Spark has some functions of its names itself."""
    try:
        package = version("apache-sedona")
    except PackageNotFoundError:
        package = ""
    functions = spark.sql("SHOW FUNCTIONS LIKE 'st_s2cellids'").count() > 0
    if functions and not package:
        return Check(
            "Sedona", FAILED, "its jars are here, its Python package is not", "pip install 'data-skip[geo]': geometry is read by it"
        )
    if functions:
        return Check("Sedona", OK, f"{package}, and its functions in SQL")
    advice = "for its functions, --conf spark.jars.packages=... and --conf spark.sql.extensions=org.apache.sedona.sql.SedonaSqlExtensions"
    return Check("Sedona", OK, f"not in this session (nothing needs it; {advice})")


def _table(found: Skipping, name: str, asked: Asked) -> Iterator[Check]:
    """Whether a table can be read, and its index read and written, with the credentials that there are."""
    try:
        table = opened(found, asked, name)
        yield Check(f"{name}: data", OK, f"{counted(len(table.files()), 'file', 'files')} at {table.root}")
    except DataSkipError as error:
        by_spark = isinstance(error.__cause__, SPARK_ERRORS)
        advice = "mend the path, --format, rights or credentials (Spark's own, by --conf)" if by_spark else "as it says"
        yield Check(f"{name}: data", FAILED, sentence(error), advice)
        return
    store = found.catalog.store(table.root)
    try:
        snapshot = store.snapshot()
    except StoreError as error:
        yield Check(f"{name}: index", FAILED, sentence(error), "docs/operations.md, `Errors of an index`")
        return
    state, unused = "none yet", table.unused() if snapshot else []
    if snapshot:
        used = f", of which this session uses {len(snapshot.definitions) - len(unused)}" if unused else ""
        state = f"version {snapshot.version}, {counted(len(snapshot.definitions), 'index', 'indexes')}{used}"
    yield Check(f"{name}: index", OK, f"{state}, at {store.location}")
    for why in unused:
        yield Check(f"{name}: index", WARNING, why, "docs/not-skipping.md, `is not used`; --conf, --format, --option to read alike")
    advice = "give list, read, write and delete there, or keep indexes elsewhere by --index-root"
    try:
        store.try_rights()
    except StoreError as error:
        yield Check(f"{name}: rights", FAILED, sentence(error), advice)
    else:
        yield Check(f"{name}: rights", OK, "the folder of the index can be written")
