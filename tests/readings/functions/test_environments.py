"""What readers found: Spark runs the Python functions of one operator in the environment of the first, with what was shipped before any."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pyspark.sql.functions as F
import pytest

from data_skip import DataSkipError, MinMax, ValueList, versioned
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
