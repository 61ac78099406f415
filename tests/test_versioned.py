"""Indexes over Python functions: of those alone that say which version they are."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pandas as pd
import pyspark.sql.functions as F
import pytest
from pyspark.serializers import CloudPickleSerializer
from pyspark.sql.types import StringType

import data_skip
from data_skip import DataSkipError, DataSkipWarning, MinMax, ValueList, versioned
from log_skip.extractors import extractors
from tests.support import Lake

WITHOUT = "calls {0}, a Python function without a version, .* register data_skip.versioned"


def first(text: str | None) -> str | None:
    return text and text[0]


def first_of_many(texts: pd.Series) -> pd.Series:
    return texts.str[0]


KINDS: dict[str, Callable[[int], Any]] = {
    "plain": lambda version: F.udf(versioned(first, version), "string"),
    "by Arrow": lambda version: F.udf(versioned(first, version), "string", useArrow=True),
    "pandas": lambda version: F.pandas_udf(versioned(first_of_many, version), "string"),  # type: ignore[call-overload]
    "of a notebook": lambda version: F.udf(versioned(lambda text: text and text[0], version), "string"),
    "registered at once": lambda version: versioned(first, version),
}


@pytest.mark.parametrize("kind", KINDS)
def test_an_index_is_of_one_version(lake: Lake, kind: str) -> None:
    for name in ("ann", "bob"):
        lake.file(name, {"s": [name, None]})
    lake.spark.udf.register("first_", KINDS[kind](1))
    lake.index(ValueList("first_(s)"))
    lake.check("first_(s) = 'b'", read=["bob"])
    assert str(lake.view().select(F.expr("first_(s)")).schema["first_(s)"].dataType) == "StringType()"
    lake.spark.udf.register("first_", KINDS[kind](2))
    lake.check("first_(s) = 'b'", read=["ann", "bob"])
    lake.spark.udf.register("first_", KINDS[kind](1))
    lake.check("first_(s) = 'b'", read=["bob"])


@pytest.mark.parametrize(
    "function",
    [
        first,
        lambda text: versioned(first, 1)(text),  # calls one that has a version, and has none
        type("Own", (), {"__call__": lambda self, text: first(text), "held": versioned(first, 1)})(),
    ],
)
def test_without_a_version_columns_are_indexed_only(lake: Lake, function: Any) -> None:
    for name in ("ann", "bob"):
        lake.file(name, {"s": [name]})
    lake.spark.udf.register("first_", F.udf(function, "string"))
    with pytest.raises(DataSkipError, match=WITHOUT.format("first_")):
        lake.index(ValueList("first_(s)"))
    lake.index(ValueList("s"))
    lake.check("first_(s) = 'b'", read=["bob"])


def test_a_report_says_what_an_index_would_need(lake: Lake) -> None:
    for name in ("ann", "bob"):
        lake.file(name, {"s": [name]})
    lake.spark.udf.register("first_", versioned(first, 1))
    lake.index(MinMax("first_(s)"))
    lake.spark.udf.register("first_", first)
    lake.check("first_(s) = 'b'", read=["ann", "bob"])
    assert "first_ has no version (data_skip.versioned), and no index over such a function is used" in str(lake.skipping.report())


def test_a_function_that_was_edited(lake: Lake) -> None:
    """One of a notebook is known by its code as well; and a broadcast variable is another one in each application."""
    for name in ("ann", "bob"):
        lake.file(name, {"s": [name]})
    lake.spark.udf.register("edited", versioned(lambda s: s[0], 1))
    lake.index(ValueList("edited(s)"))
    lake.check("edited(s) = 'b'", read=["bob"])
    lake.spark.udf.register("edited", versioned(lambda s: "b", 1))
    lake.check("edited(s) = 'b'", read=["ann", "bob"])


def test_a_function_of_a_module_is_known_by_its_name(lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its file may lie elsewhere, and be edited: that it is another one then, its version says."""
    pickles = []
    for place, code in (("a", "def found(x): return x"), ("b", "def found(x):\n    return x")):
        (tmp_path / place).mkdir()
        (tmp_path / place / "versioned_here.py").write_text(code)
        monkeypatch.setattr(sys, "path", [str(tmp_path / place), *sys.path])
        importlib.invalidate_caches()
        found = importlib.import_module("versioned_here").found
        pickles.append([bytes(CloudPickleSerializer().dumps((versioned(found, version), StringType()))) for version in (1, 2)])
        del sys.modules["versioned_here"]
    assert pickles[0] == pickles[1] and pickles[0][0] != pickles[0][1]


def test_what_spark_makes_a_broadcast_of(lake: Lake) -> None:
    """A function beyond a megabyte is pickled as a number."""
    data = os.urandom(2 << 20).hex()
    lake.file("a", {"s": ["a"]})
    lake.file("b", {"s": ["b"]})
    lake.spark.udf.register("large", versioned(lambda s: data and s, 1))
    with pytest.raises(DataSkipError, match=WITHOUT.format("large")):
        lake.index(ValueList("large(s)"))
    lake.index(ValueList("s"))
    lake.check("large(s) = 'b'", read=["b"])


@pytest.mark.parametrize("type_", ["timestamp", "timestamp_ntz", "interval day to second"])
def test_times_are_others_to_pandas_beside_a_null(lake: Lake, type_: str) -> None:
    """Their parts are numbers with fractions then; and plain functions are given times of the zone of workers."""
    lake.file("a.parquet", {"x": ["2020-01-01"]})
    lake.spark.udf.register("as_year", F.pandas_udf(versioned(lambda t: t.astype(str), 1), "string"))  # type: ignore[call-overload]
    start = "x::timestamp_ntz - timestamp_ntz'2019-01-01'" if type_.startswith("interval") else f"x::{type_}"
    why = "of the zone of Spark's workers" if type_ == "timestamp" else "gives pandas whole numbers, booleans, times or nested values"
    with pytest.raises(DataSkipError, match=why):
        lake.index(ValueList(f"as_year({start})"))


@pytest.mark.parametrize("expression", ["day(date_trunc('day', x::timestamp))", "at(x)", "day(array(x::timestamp))"])
def test_plain_functions_have_times_of_the_zone_of_workers(lake: Lake, expression: str) -> None:
    lake.file("a", {"x": ["2020-01-01"]})
    lake.spark.udf.register("day", versioned(lambda t: str(t), 1))
    lake.spark.udf.register("at", versioned(datetime.fromisoformat, 1), "timestamp")
    with pytest.raises(DataSkipError, match="takes or gives timestamps in Python"):
        lake.index(ValueList(expression))
    lake.index(ValueList("day(x)"), ValueList("day(to_date(x))"))


def test_one_index_whose_function_is_another_one_here(lake: Lake) -> None:
    """It stopped refresh() of all others, until a person came."""
    lake.file("a.parquet", {"s": ["a"]})
    lake.spark.udf.register("other_here", versioned(lambda s: s + "1", 1))
    lake.index(ValueList("other_here(s)"), MinMax("s"))
    lake.spark.udf.register("other_here", versioned(lambda s: s + "2", 2))
    lake.file("b.parquet", {"s": ["b"]})
    with pytest.warns(DataSkipWarning, match=r"ValueList\(other_here\(s\)\) is not used: it was collected when .*; drop_index"):
        report = lake.table().refresh()
    assert report.indexes == ["MinMax(s)"] and report.files_collected == 1
    lake.check("s = 'b'", read=["b.parquet"])
    lake.check("other_here(s) = 'b2'", read=["b.parquet"])
    lake.check("other_here(s) = 'b1'", read=[])


@pytest.mark.parametrize("why", ["python", "sql", "unversioned"])
def test_one_index_whose_function_is_not_registered_here(lake: Lake, why: str) -> None:
    """It stopped refresh() of all others."""
    lake.file("a", {"s": ["a"]})
    if why == "sql":
        lake.spark.sql("CREATE TEMPORARY FUNCTION not_here(x STRING) RETURNS STRING RETURN concat(x, '1')")
    else:
        lake.spark.udf.register("not_here", versioned(first, 1))
    lake.index(ValueList("not_here(s)"), MinMax("s"))
    if why == "unversioned":
        lake.spark.udf.register("not_here", first)
    else:
        lake.spark.sql("DROP TEMPORARY FUNCTION not_here")
    lake.file("b", {"s": ["b"]})
    with pytest.warns(DataSkipWarning, match=r"ValueList\(not_here\(s\)\): .*; so it is not used, and stays as it is"):
        report = lake.table().refresh()
    assert report.indexes == ["MinMax(s)"] and report.files_collected == 1
    lake.view()
    lake.check("s = 'b'", read=["b"])


def test_a_version_is_a_whole_number_or_a_text() -> None:
    for version in (1.5, None, True):
        with pytest.raises(DataSkipError, match="must be a whole number or a text"):
            versioned(first, version)  # type: ignore[arg-type]
    for function in ("first", F.udf(first, "string"), F.pandas_udf(first_of_many, "string")):  # type: ignore[call-overload]
        with pytest.raises(DataSkipError, match="before udf"):
            versioned(function, 1)
    assert versioned(first, "2024-05")("ann") == "a"


def test_it_is_called_as_the_function_is(lake: Lake) -> None:
    lake.file("a", {"s": ["a"], "t": ["b"]})
    lake.spark.udf.register("joined", versioned(lambda s, t="x": f"{s}{t}", 1))
    assert lake.view().selectExpr("joined(t => s, s => t)", "joined(s)").collect() == [("ba", "ax")]


def test_workers_load_little_for_it() -> None:
    """Neither Spark's sessions nor Arrow: a worker takes half a second for these."""
    loaded = "import sys, data_skip.functions; print(sorted({'pyarrow', 'deltalake', 'pyspark.sql', 'numpy'} & sys.modules.keys()))"
    run = subprocess.run([sys.executable, "-c", loaded], check=True, capture_output=True, text=True, env={**os.environ})
    assert run.stdout.strip() == "[]", run.stdout


def test_extractors_say_which_version_they_are(lake: Lake) -> None:
    functions = [each for each in extractors() if each.function is not None]
    assert functions
    lake.file("a", {"s": ["a"]})
    for each in functions:
        each.register(lake.spark)
        lake.index(ValueList(each.over("s")))
    assert len(data_skip.enable(lake.spark).table(str(lake.folder)).describe().rows) == len(functions)
