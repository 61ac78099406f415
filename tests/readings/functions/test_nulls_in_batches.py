"""Python functions answer otherwise on the driver than in Spark's workers: only these are asked."""

from __future__ import annotations

import os

import pandas as pd
import pyspark.sql.functions as F
import pytest

from data_skip import MinMax, ValueList
from tests.support import Lake


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
    lake.check("as_text(n) LIKE '%992.0'")  # without the NULL of one file, the other is as before
    lake.check("rows_by_arrow(n) = '1.0'")
    lake.check("as_text(coalesce(n, 0)) = '7'", read=[])  # of what is never NULL nothing is changed


def test_another_value_makes_null_of_an_argument(lake: Lake) -> None:
    """Not the column has a NULL, but what is made of it."""
    lake.file("word", {"s": ["1", "x"]})
    lake.file("other", {"s": ["7"]})
    lake.index(ValueList("s"))
    lake.spark.udf.register("as_text", F.pandas_udf(as_text, "string"))  # type: ignore[call-overload]
    lake.check("as_text(try_cast(s AS INT)) = '1.0'")
    lake.check("as_text(try_cast(s AS INT)) = '7.0'")


def test_a_function_that_is_not_asked_keeps_every_file(lake: Lake) -> None:
    for city in ("Oslo", "Rome"):
        lake.file(city, {"city": [city]})
    lake.index(ValueList("city"))
    lake.spark.udf.register("same", F.udf(lambda text: text, "string", useArrow=False))
    before = lake.spark.conf.get("spark.data_skip.python.maxSeconds")
    lake.spark.conf.set("spark.data_skip.python.maxSeconds", "0")
    try:
        lake.check("same(city) = 'Oslo'", read=["Oslo", "Rome"])
    finally:
        lake.spark.conf.set("spark.data_skip.python.maxSeconds", before)
    lake.check("same(city) = 'Oslo'", read=["Oslo"])
