"""Python functions answer otherwise on the driver than in Spark's workers: only these are asked."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pyspark.sql.functions as F
import pytest
from pyspark.serializers import CloudPickleSerializer
from pyspark.sql.types import StringType

from data_skip import DataSkipError, MinMax, ValueList
from data_skip.spark.python_code import NAMED, UNSURE, VOUCHED, code_of
from log_skip.extractors import Distinct, extractors
from tests.readings.test_code_of_functions import as_if_edited_between_applications
from tests.support import Lake, files_read


def test_workers_hash_strings_otherwise(lake: Lake) -> None:
    """They run with PYTHONHASHSEED=0."""
    for i in range(6):
        lake.file(f"{i}", {"city": [f"city {i}"]})
    lake.index(ValueList("city"))
    lake.spark.udf.register("hashed", F.udf(lambda text: hash(text) % 4, "int"))
    read = lake.reads(*(f"hashed(city) = {i}" for i in range(4)))
    assert sum(map(len, read)) == 6, "each city has one hash"


def test_workers_have_another_environment(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATA_SKIP_READING", "driver")
    for city in ("Oslo", "Rome"):
        lake.file(city, {"city": [city]})
    lake.index(MinMax("city"))
    lake.spark.udf.register("whereabouts", F.udf(lambda text: os.environ.get("DATA_SKIP_READING", "worker") + text, "string"))
    assert lake.reads("whereabouts(city) = 'workerRome'", "whereabouts(city) = 'driverRome'") == [{"Rome"}, set()]


def as_text(numbers: pd.Series) -> pd.Series:
    return numbers.astype(str)


def test_a_null_makes_other_numbers_of_a_batch(lake: Lake) -> None:
    """pandas has no whole numbers where one is NULL: 1 becomes 1.0, and beyond 2^53 digits change."""
    lake.file("null", {"n": [1, None]})
    lake.file("one", {"n": [1]})
    lake.file("two", {"n": [2]})
    lake.file("large", {"n": [2**53 + 1]})
    lake.index(ValueList("n"))
    lake.spark.udf.register("as_text", F.pandas_udf(as_text, "string"))  # type: ignore[call-overload]
    lake.spark.udf.register("rows_by_arrow", F.udf(lambda n: str(n), "string", useArrow=True))
    lake.check("as_text(n) = '1.0'")
    lake.check("as_text(n) = '2'")
    lake.check("as_text(n) = '7'", read=[])
    lake.check("as_text(n) LIKE '%992.0'", read=["null", "one", "two", "large"])  # without the NULL of one file, the other is as before
    lake.check("rows_by_arrow(n) = '1.0'")
    lake.check("rows_by_arrow(n) = '7'", read=[])


def test_another_value_makes_null_of_an_argument(lake: Lake) -> None:
    """Not the column has a NULL, but what is made of it."""
    lake.file("word", {"s": ["1", "x"]})
    lake.file("other", {"s": ["7"]})
    lake.index(ValueList("s"))
    lake.spark.udf.register("as_text", F.pandas_udf(as_text, "string"))  # type: ignore[call-overload]
    lake.check("as_text(try_cast(s AS INT)) = '1.0'")
    lake.check("as_text(try_cast(s AS INT)) = '8'", read=[])


def test_a_function_that_is_not_asked_keeps_every_file(lake: Lake) -> None:
    for city in ("Oslo", "Rome"):
        lake.file(city, {"city": [city]})
    lake.index(ValueList("city"))
    lake.spark.udf.register("same", F.udf(lambda text: text, "string"))
    before = lake.spark.conf.get("spark.data_skip.python.maxSeconds")
    lake.spark.conf.set("spark.data_skip.python.maxSeconds", "0")
    try:
        lake.check("same(city) = 'Oslo'", read=["Oslo", "Rome"])
    finally:
        lake.spark.conf.set("spark.data_skip.python.maxSeconds", before)
    lake.check("same(city) = 'Oslo'", read=["Oslo"])


def pickled(function: object) -> bytes:
    return bytes(CloudPickleSerializer().dumps((function, StringType())))


def named_code(command: bytes, vouched: str = "") -> str:
    return code_of(command, vouched).get(NAMED, "")


def test_the_code_of_modules_belongs_to_a_function(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "reading_helpers.py").write_text("def helped(name): return name\n")
    (tmp_path / "reading_colours.py").write_text("import reading_helpers\ndef colour(name): return reading_helpers.helped(name)\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    colours = importlib.import_module("reading_colours")
    command, vouched = pickled(colours.colour), "reading_colours, reading_helpers"
    before = named_code(command, vouched)
    assert before and UNSURE not in code_of(command, vouched)
    assert named_code(pickled(colours.colour), vouched) == before
    (tmp_path / "reading_helpers.py").write_text("def helped(name): return name.upper()\n")
    as_if_edited_between_applications()
    assert pickled(colours.colour) == command, "pickled by name"
    assert named_code(command, vouched) != before
    assert code_of(command)[UNSURE] == "module reading_colours"
    assert code_of(command, "reading_colours")[UNSURE] == "module reading_helpers"
    first, second = (named_code(pickled(eval(f"lambda name: {code}", {"__name__": "__main__"}))) for code in ("name", "len(name)"))
    assert first == second, "what is pickled with its code names the Python alone that runs it"


def test_extractors_say_themselves_which_version_they_are() -> None:
    functions = [each for each in extractors() if each.function is not None]
    assert functions
    for each in functions:
        assert each.function is not None
        assert named_code(pickled(Distinct(each.function, each.version))) == "", each.name


def test_an_index_over_a_function_that_was_edited_is_not_used(lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "reading_edited.py"
    path.write_text("def edited(name): return name\n")
    before = lake.spark.conf.get(VOUCHED)
    lake.spark.conf.set(VOUCHED, "reading_edited")  # as if it were edited between two applications
    monkeypatch.syspath_prepend(str(tmp_path))
    lake.spark.sparkContext.addPyFile(str(path))
    try:
        module = importlib.import_module("reading_edited")
        lake.spark.udf.register("edited", F.udf(module.edited, "string"))
        for name in ("y", "z"):
            lake.file(name, {"name": [name]})
        lake.index(ValueList("edited(name)"))
        frame = lake.view()
        lake.check("edited(name) = 'z'", read=["z"])
        path.write_text("def edited(name): return 'z'\n")
        as_if_edited_between_applications()
        lake.spark.udf.register("edited", F.udf(module.edited, "string"))
        assert files_read(lake.skipping, frame.where("edited(name) = 'z'"), lake.folder) == {"y", "z"}
    finally:
        lake.spark.conf.set(VOUCHED, before)
        lake.spark.sparkContext._python_includes.clear()
        sys.modules.pop("reading_edited", None)


@pytest.mark.parametrize("large", [False, True])
def test_what_a_pickle_holds_a_number_of(lake: Lake, large: bool) -> None:
    """A variable may hold any function, and is another one in another application; a large function is such a variable itself."""
    colours = lake.spark.sparkContext.broadcast({"a": "red"})
    data: Any = os.urandom(2 << 20).hex() if large else colours
    function = eval("lambda name: data and name", {"__name__": "__main__", "data": data})
    lake.file("a", {"name": ["a"]})
    lake.file("b", {"name": ["b"]})
    lake.spark.udf.register("numbered", F.udf(function, "string"))
    with pytest.raises(DataSkipError, match="a broadcast variable, or code beyond a megabyte"):
        lake.index(ValueList("numbered(name)"))
    lake.index(ValueList("name"))
    lake.view()
    lake.check("numbered(name) = 'b'", read=["b"])
