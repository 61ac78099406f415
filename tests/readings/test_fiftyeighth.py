"""What readers of Python functions, of formats and of stores on S3 found: code of which nobody knows what workers have, and odd footers."""

from __future__ import annotations

import importlib
import os
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark.sql.functions as F
import pytest
from pyspark.serializers import CloudPickleSerializer
from pyspark.sql.types import StringType

from data_skip import BloomFilter, DataSkipError, GapList, Hybrid, Index, MinMax, ValueList
from data_skip.spark import python_code
from tests.support import Lake, aged, files_read


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of packages that were installed a day ago."""
    folder = tmp_path / "site-packages"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    yield folder
    python_code._distributions.cache_clear()
    for name in [name for name in sys.modules if name.startswith("reading_")]:
        del sys.modules[name]


def install(folder: Path, name: str, version: str, package: str, *requires: str) -> None:
    described = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    described.mkdir()
    (described / "METADATA").write_text("\n".join([f"Name: {name}", f"Version: {version}", *map("Requires-Dist: {}".format, requires)]))
    (described / "RECORD").write_text(f"{package},,\n")
    (folder / package).parent.mkdir(parents=True, exist_ok=True)
    (folder / package).write_text("def found(x): return x\n")
    os.utime(described, (time.time() - 86_400,) * 2)
    python_code._distributions.cache_clear()


def told_of(module: str) -> dict[str, str]:
    return python_code.code_of(bytes(CloudPickleSerializer().dumps((importlib.import_module(module).found, StringType()))))


def test_code_that_was_installed(lake: Lake, installed: Path) -> None:
    """By the versions of what was installed, and of what that requires, since Spark began or before; whatever the files' times say."""
    install(installed, "reading-one", "1.0", "reading_one/__init__.py", "reading-two >= 1", "reading-three ; extra == 'all'")
    install(installed, "reading-two", "1.0", "reading_two.py")
    install(installed, "reading-three", "1.0", "reading_three.py")
    first = told_of("reading_one")
    assert first.keys() == {"named"}
    for name in ("two", "three"):
        (installed / f"reading_{name}-1.0.dist-info").rename(installed / f"reading_{name}-1.1.dist-info")
        (installed / f"reading_{name}-1.1.dist-info" / "METADATA").write_text(f"Name: reading-{name}\nVersion: 1.1\n")
        assert told_of("reading_one") == first, "as of when it was first asked for"
        python_code._distributions.cache_clear()
        os.utime(installed / f"reading_{name}-1.1.dist-info", (time.time() - 86_400,) * 2)
        assert (told_of("reading_one") == first) == (name == "three")
        first = told_of("reading_one")
    os.utime(installed / "reading_two-1.1.dist-info")
    python_code._distributions.cache_clear()
    assert told_of("reading_one")["unsure"] == "package reading_one, which was installed since Spark began"


def test_code_of_a_namespace(lake: Lake, installed: Path) -> None:
    """Several packages are in it, and none of them is it."""
    install(installed, "reading-space-a", "1.0", "reading_space/a.py")
    install(installed, "reading-space-b", "1.0", "reading_space/b.py")
    seen = {told_of("reading_space.b")["named"]}
    (installed / "reading_space_b-1.0.dist-info").rename(installed / "reading_space_b-1.1.dist-info")
    (installed / "reading_space_b-1.1.dist-info" / "METADATA").write_text("Name: reading-space-b\nVersion: 1.1\n")
    python_code._distributions.cache_clear()
    assert told_of("reading_space.b")["named"] not in seen


def test_code_of_which_there_is_no_version(lake: Lake, installed: Path) -> None:
    (installed / "reading_copied.py").write_text("def found(x): return x\n")
    assert told_of("reading_copied")["unsure"] == "module reading_copied, of a package without a version"
    (installed / "reading_replaced.py").write_text(
        "import sys\ndef found(x): return x\nclass Own:\n    pass\n"
        "own = sys.modules[__name__] = Own()\nown.__name__ = __name__\nown.found = found\n"
    )
    assert told_of("reading_replaced")["unsure"] == "reading_replaced, which is no module"


@pytest.mark.parametrize("zipped", [False, True])
def test_all_of_a_package_that_is_vouched_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, zipped: bool) -> None:
    """Also what it finds by itself, as functions that it registers; and a long chain of modules is no error."""
    package = tmp_path / "reading_whole"
    package.mkdir()
    (package / "__init__.py").write_text("import importlib\nfound = importlib.import_module('reading_whole.' + 'other').found\n")
    (package / "other.py").write_text("def found(x): return x\n")
    (package / "named.py").write_text("import reading_whole\ndef found(x): return reading_whole.found(x)\n")
    for i in range(1_200):
        (package / f"link_{i}.py").write_text("" if i == 0 else f"from reading_whole import link_{i - 1}\n")
    with (package / "named.py").open("a") as file:
        file.write("from reading_whole import link_1199\n")
    place = tmp_path
    if zipped:
        place = Path(shutil.make_archive(str(tmp_path / "zipped"), "zip", tmp_path, "reading_whole"))
    monkeypatch.syspath_prepend(str(place))
    with recursion(10_000):
        command = bytes(CloudPickleSerializer().dumps((importlib.import_module("reading_whole.named").found, StringType())))
    try:
        before = python_code.code_of(command, "reading_whole")
        assert before.keys() == {"named"} and python_code.code_of(command, "reading_whole") == before
        (package / "other.py").write_text("def found(x): return x + 1\n")
        if zipped:
            shutil.make_archive(str(tmp_path / "zipped"), "zip", tmp_path, "reading_whole")
        assert python_code.code_of(command, "reading_whole")["named"] != before["named"]
    finally:
        for name in [name for name in sys.modules if name.startswith("reading_whole")]:
            del sys.modules[name]


@contextmanager
def recursion(most: int) -> Iterator[None]:
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(most)
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


@pytest.mark.parametrize(
    ("imports", "unsure"),
    [
        ("import json, os.path", ""),
        ("from os import path", ""),
        ("import numpy.linalg", ""),
        ("from reading_unknown import f", "module reading_unknown, which is imported as it runs"),
        ("from . import f", "what it imports from its own package"),
        ("from tests import support", "module tests"),
    ],
)
def test_what_code_imports_as_it_runs(lake: Lake, imports: str, unsure: str) -> None:
    """Code that crosses as it is, and the modules that it imports there; names that its module has are none of its own."""
    found: dict[str, Any] = {"__name__": "__main__", "__package__": "tests.readings"}
    exec(f"def f(x):\n    def inner():\n        {imports}\n    return inner", found)
    code = python_code.code_of(bytes(CloudPickleSerializer().dumps((found["f"], StringType()))))
    assert code.get("unsure", "") == unsure


def test_a_function_that_is_given_another_environment(lake: Lake) -> None:
    lake.file("a.parquet", {"x": [8]})
    lake.file("b.parquet", {"x": [15]})
    environment = lake.spark.sparkContext.environment
    function = eval("lambda x: int(os.environ['READING_LEAST'] <= str(x))", {"__name__": "__main__", "os": os})
    try:
        environment["READING_LEAST"] = "8"
        lake.spark.udf.register("above", F.udf(function, "int"))
        lake.index(ValueList("above(x)"))
        lake.view()
        lake.check("above(x) = 1", read=["a.parquet"])
        environment["READING_LEAST"] = "1"
        lake.spark.udf.register("above", F.udf(function, "int"))
        lake.check("above(x) = 1", read=["a.parquet", "b.parquet"])
    finally:
        del environment["READING_LEAST"]


@pytest.mark.parametrize("type_", ["timestamp", "timestamp_ntz", "interval day to second"])
def test_times_are_others_to_pandas_beside_a_null(lake: Lake, type_: str) -> None:
    """Their parts are numbers with fractions then."""
    lake.file("a.parquet", {"x": ["2020-01-01"]})
    lake.spark.udf.register("as_year", F.pandas_udf(lambda t: t.astype(str), "string"))  # type: ignore[call-overload]
    start = "x::timestamp_ntz - timestamp_ntz'2019-01-01'" if type_.startswith("interval") else f"x::{type_}"
    with pytest.raises(DataSkipError, match="gives pandas whole numbers, booleans, times or nested values"):
        lake.index(ValueList(f"as_year({start})"))


@pytest.mark.parametrize(
    ("index", "text", "odd"),
    [
        (MinMax("x"), b"parquet-cpp-arrow version", b"parquet-cpp-arrow versio\xff"),
        (BloomFilter("x"), b"parquet-cpp-arrow version", b"parquet-cpp-arrow versio\xff"),
        (MinMax("x"), b"unread", b"unrea\xff"),
        (ValueList("s.y"), b"unread", b"unrea\xff"),
        (MinMax("d"), b"9.9.9", b"9.9.\xff"),
    ],
)
def test_a_footer_with_names_that_are_no_text(lake: Lake, index: Index, text: bytes, odd: bytes) -> None:
    """Spark reads such a file; to index it beside others was a raw error, each time."""
    types = [("x", pa.int32()), ("d", pa.date32()), ("s", pa.list_(pa.struct([("y", pa.int32())]))), ("unread", pa.int32())]
    schema = pa.schema(types, {"org.apache.spark.version": "9.9.9"})
    for i in (1, 2):
        day = date(2020, 1, i)
        pq.write_table(pa.table({"x": [i], "d": [day], "s": [[{"y": i}]], "unread": [i]}, schema), lake.folder / f"{i}.parquet")
    path = lake.folder / "2.parquet"
    assert text in path.read_bytes()
    path.write_bytes(path.read_bytes().replace(text, odd))
    for file in lake.folder.glob("*.parquet"):
        aged(file)
    table = lake.skipping.table(str(lake.folder), schema="x int, d date, s array<struct<y: int>>")
    table.create_index(index)
    lake.file("3.parquet", {"x": [3]})
    assert table.refresh().files == 1
    frame = lake.spark.read.schema("x int, d date, s array<struct<y: int>>").parquet(str(lake.folder))
    for where in ("x = 2", "d = DATE'2020-01-02'", "array_contains(s.y, 2)"):
        assert frame.where(where).count() == 1


def test_indicators_of_a_table_with_padded_text(lake: Lake) -> None:
    """Above its scan Spark hides which file a row is of."""
    lake.spark.sql("CREATE TABLE reading_padded (c CHAR(5), x INT) USING parquet")
    try:
        for i in range(3):
            lake.spark.sql(f"INSERT INTO reading_padded VALUES ('{i}', {i})")
        table = lake.skipping.table("reading_padded")
        table.create_index(MinMax("x"))
        assert table.indicators("x = 2").of_oracle == {"x = 2": 1.0}
    finally:
        lake.spark.sql("DROP TABLE reading_padded")


@pytest.mark.parametrize("index", [MinMax("x"), ValueList("x"), GapList("x"), Hybrid("x"), BloomFilter("x")])
def test_not_in_nothing(lake: Lake, index: Index) -> None:
    """Is true of NULL as well, where Spark's optimizer has not made a constant of it."""
    lake.file("null", {"x": pa.array([None], pa.int64())})
    lake.file("one", {"x": [1]})
    lake.index(index)
    lake.spark.conf.set("spark.sql.optimizer.excludedRules", "org.apache.spark.sql.catalyst.optimizer.OptimizeIn")
    try:
        frame = lake.view().where(~F.col("x").isin([]))
        assert "IN ()" in frame._jdf.queryExecution().optimizedPlan().toString()
        assert files_read(lake.skipping, frame, lake.folder) == {"null", "one"}
    finally:
        lake.spark.conf.unset("spark.sql.optimizer.excludedRules")
