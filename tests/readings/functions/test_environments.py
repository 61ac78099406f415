"""The Python of workers is another one than the driver's, and all functions of one operator run in the environment of the first."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import pyspark.sql.functions as F
import pytest
from pyspark import SparkFiles
from pyspark.sql import SparkSession

import data_skip
from data_skip import DataSkipError, MinMax, ValueList, versioned
from data_skip.spark import workers
from geo_skip import GeoBox
from tests.support import Lake


def test_a_function_that_is_given_another_environment(lake: Lake) -> None:
    lake.file("a.parquet", {"x": [8]})
    lake.file("b.parquet", {"x": [15]})
    environment = lake.spark.sparkContext.environment
    function = eval("lambda x: int(os.environ['READING_LEAST'] <= str(x))", {"__name__": "__main__", "os": os})
    try:
        environment["READING_LEAST"] = "8"
        lake.spark.udf.register("above", versioned(function, 1), "int")
        lake.index(ValueList("above(x)"))
        lake.view()
        lake.check("above(x) = 1", read=["a.parquet"])
        environment["READING_LEAST"] = "1"
        lake.spark.udf.register("above", versioned(function, 1), "int")
        lake.check("above(x) = 1", read=["a.parquet", "b.parquet"])
    finally:
        del environment["READING_LEAST"]


@pytest.fixture
def two_environments(lake: Lake) -> Iterator[None]:
    """Functions above(x), whose threshold is 8, and always(x), which was given one of 1."""
    environment = lake.spark.sparkContext.environment
    for name, least, code in (("above", "8", "int(os.environ['READING_LEAST'] <= x)"), ("always", "1", "1")):
        environment["READING_LEAST"] = least
        one, many = (eval(f"lambda x: {each}", {"__name__": "__main__", "os": os}) for each in (code, f"x.map(lambda x: {code})"))
        lake.spark.udf.register(name, versioned(one, 1), "int")
        lake.spark.udf.register(f"{name}_of_many", F.pandas_udf(versioned(many, 1), "int"))  # type: ignore[call-overload]
    for file, x in (("a", "8"), ("b", "15")):
        lake.file(file, {"x": [x], "y": [x]})
    yield
    del environment["READING_LEAST"]


@pytest.mark.parametrize("of", ["", "_of_many"])
def test_functions_of_two_environments_in_one_operator(lake: Lake, two_environments: None, of: str) -> None:
    """Spark runs all in that of the first: neither the index, nor what a function gives alone, tells what it gives there."""
    lake.index(ValueList(f"above{of}(x)"), ValueList("x"), MinMax("y"))
    frame = lake.view()
    always, above = f"always{of}(x) = 1", f"above{of}(x) = 1"
    for where, read, mixed in (
        (above, 1, False),
        (f"{always} AND {above}", 2, True),
        (f"{above} AND {always}", 2, True),
        (f"always{of}(y) + above{of}(y) = 2", 2, True),
        (f"y = '15' AND {always} AND {above}", 1, True),
        (f"y = '8' AND {always}", 1, False),
    ):
        found = {row.x for row in frame.where(where).collect()}
        scan = lake.skipping.report().scans[0]
        assert scan.files_read == read
        assert any("given different environments" in note for note in scan.notes) is mixed
        lake.spark.conf.set("spark.data_skip.enabled", "false")
        try:
            assert found == {row.x for row in frame.where(where).collect()}
        finally:
            lake.spark.conf.set("spark.data_skip.enabled", "true")


def test_functions_of_two_environments_in_several_operators(lake: Lake, two_environments: None) -> None:
    """As functions of several kinds, each runs in its own there: and is asked by itself."""
    lake.index(ValueList("x"))
    frame = lake.view().where("above(x) = 1 AND always_of_many(x) = 1")
    assert [row.x for row in frame.collect()] == ["8"]
    assert lake.skipping.report().scans[0].files_read == 1


def test_indexes_of_functions_of_two_environments(lake: Lake, two_environments: None) -> None:
    """Each is collected by itself, also by a refresh; one of both is refused."""
    lake.index(ValueList("always(x)"), ValueList("above(x)"), MinMax("y"))
    snapshot = lake.table()._snapshot()
    assert snapshot is not None
    kept = str([definition.trees for definition in snapshot.definitions.values()])
    assert "environment" in kept and "READING_LEAST" not in kept, "variables may be secrets"
    lake.file("c", {"x": ["15"], "y": ["15"]})
    lake.table().refresh()
    lake.view()
    lake.check("above(x) = 1", read=["a"])
    lake.check("above(x) = 0", read=["b", "c"])
    for index in (ValueList("always(x) + above(x)"), GeoBox("always(x)", "above(x)")):
        with pytest.raises(DataSkipError, match="is by Python functions with different environments"):
            lake.table().create_index(index)


@pytest.fixture
def two_archives(lake: Lake) -> Iterator[None]:
    """Functions earlier(s) and later(s): an archive was shipped between."""
    includes = lake.spark.sparkContext._python_includes
    assert includes is not None
    lake.spark.udf.register("earlier", versioned(eval("lambda s: s", {"__name__": "__main__"}), 1))
    includes.append("reading_archive.zip")
    lake.spark.udf.register("later", versioned(eval("lambda s: s", {"__name__": "__main__"}), 1))
    yield
    includes.remove("reading_archive.zip")


def test_functions_of_two_archives_in_one_operator(lake: Lake, two_archives: None) -> None:
    """Spark hands all archives to each of them: one that is asked alone loaded another module of a name."""
    for file in "ab":
        lake.file(file, {"s": [file], "y": [file]})
    lake.index(ValueList("s"), MinMax("y"))
    lake.check("earlier(s) = 'a'", read=["a"])
    lake.check("later(s) = 'a'", read=["a"])
    report = lake.check("earlier(s) = 'a' AND later(y) IS NOT NULL AND y < 'x'", read=["a", "b"])
    assert any("different environments, or archives" in note for note in report.notes)
    with pytest.raises(DataSkipError, match="is by Python functions with different environments, or archives"):
        lake.table().create_index(ValueList("earlier(s) || later(s)"))


def python(folder: Path) -> Path:
    """A script that starts this Python."""
    script = folder / "python"
    script.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    script.chmod(0o755)
    return script


def test_what_is_sent_is_found_before_all_else(lake: Lake, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Also where a Python of workers is asked whether it has data_skip, which may be what is sent."""
    context, asked = lake.spark.sparkContext, []
    monkeypatch.setattr(context, "_python_includes", ["first.zip", "second.zip"])
    monkeypatch.setattr(context, "pythonExec", str(python(tmp_path)))
    run = workers.subprocess.run
    monkeypatch.setattr(workers.subprocess, "run", lambda *given, **named: asked.append(named["env"]) or run(*given, **named))
    assert workers.python_without_data_skip(lake.spark) is None
    files = SparkFiles.getRootDirectory()
    sent = [f"{files}/second.zip", f"{files}/first.zip", files]
    assert asked[0]["PYTHONPATH"].split(os.pathsep)[:3] == sent


def test_where_a_python_of_workers_looks_for_data_skip(lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the folder of the JVM, not in that of the driver."""
    context, asked = lake.spark.sparkContext, []
    folder = os.getcwd()
    monkeypatch.chdir(tmp_path)
    run = workers.subprocess.run
    monkeypatch.setattr(workers.subprocess, "run", lambda *given, **named: asked.append(named["cwd"]) or run(*given, **named))
    monkeypatch.setattr(context, "pythonExec", str(python(tmp_path)))
    workers.python_without_data_skip(lake.spark)
    assert asked == [folder]


def test_workers_hash_strings_otherwise(lake: Lake) -> None:
    """They run with PYTHONHASHSEED=0."""
    for i in range(6):
        lake.file(f"{i}", {"city": [f"city {i}"]})
    lake.index(ValueList("city"))
    lake.spark.udf.register("hashed", F.udf(lambda text: hash(text) % 4, "int", useArrow=False))
    read = lake.reads(*(f"hashed(city) = {i}" for i in range(4)))
    assert sum(map(len, read)) == 6, "each city has one hash"


def test_workers_have_another_environment(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATA_SKIP_READING", "driver")
    for city in ("Oslo", "Rome"):
        lake.file(city, {"city": [city]})
    lake.index(MinMax("city"))
    lake.spark.udf.register(
        "whereabouts", F.udf(lambda text: os.environ.get("DATA_SKIP_READING", "worker") + text, "string", useArrow=False)
    )
    assert lake.reads("whereabouts(city) = 'workerRome'", "whereabouts(city) = 'driverRome'") == [{"Rome"}, set()]


def test_workers_that_are_sent_the_package(spark: SparkSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """By `spark.executorEnv.PYTHONPATH` or `addPyFile`: they lack nothing, and were said to."""
    bare = tmp_path / "python3"
    bare.write_text(f'#!/bin/sh\nexec {sys._base_executable} -S "$@"\n')  # type: ignore[attr-defined]
    bare.chmod(0o755)
    context, where = spark.sparkContext, str(Path(data_skip.__file__).parents[1])
    monkeypatch.setattr(context, "pythonExec", str(bare))
    monkeypatch.delenv("PYTHONPATH", raising=False)
    monkeypatch.chdir(tmp_path)

    def said() -> list[str]:
        session = spark.newSession()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            data_skip.enable(session)
        data_skip.disable(session)
        return [str(warning.message) for warning in caught if "lacks data_skip" in str(warning.message)]

    assert len(said()) == 1
    with monkeypatch.context() as sent:
        sent.setitem(context.environment, "PYTHONPATH", where)
        assert said() == []
    monkeypatch.setattr(context, "_python_includes", [os.path.relpath(where, SparkFiles.getRootDirectory())])
    assert said() == []
