"""Python functions of a query are called on the values of a ValueList (or on a file's only value), where Spark's JVM cannot."""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable, Iterator
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyspark
import pyspark.sql.functions as F
import pytest
from pyspark.sql import SparkSession

from data_skip import MinMax, Skipping, ValueList, versioned
from tests.support import Lake


def backwards(text):  # type: ignore[no-untyped-def]  # with hints, later versions of pyspark guess at an eval type and warn
    return None if text is None else text[::-1]


def backwards_of_series(texts: pd.Series) -> pd.Series:
    return texts.str[::-1]


def backwards_of_array(texts: pa.Array) -> pa.Array:
    return pc.utf8_reverse(texts)


FUNCTIONS: dict[str, Callable[[], Any]] = {
    "row": lambda: F.udf(backwards, "string"),
    "row_by_arrow": lambda: F.udf(backwards, "string", useArrow=True),
    "pandas": lambda: F.pandas_udf(backwards_of_series, "string"),  # type: ignore[call-overload]
    "arrow": lambda: F.arrow_udf(versioned(backwards_of_array, 1), "string"),
}


@pytest.fixture(scope="module")
def shared(spark: SparkSession, skipping: Skipping, tmp_path_factory: pytest.TempPathFactory) -> tuple[Lake, Lake]:
    """Tables that tests only read: that of `cities` with a list of values of `city`, and two files of four types with a list of each."""
    towns, numbers = (Lake(spark, skipping, tmp_path_factory.mktemp(name) / "table") for name in ("towns", "numbers"))
    cities(towns)
    towns.index(ValueList("city"))
    for name, listed in (("low", [1, 2]), ("high", [99, 100])):
        days = [datetime.date(2024, 1, 1) + datetime.timedelta(days=9 * n) for n in listed]
        numbers.file(name, {"n": pa.array(listed, pa.int32()), "x": [float(n) for n in listed], "s": [str(n) for n in listed], "day": days})
    numbers.index(*map(ValueList, ("n", "x", "s", "day")))
    return towns, numbers


@pytest.fixture
def towns(shared: tuple[Lake, Lake]) -> Iterator[Lake]:
    shared[0].view()
    yield shared[0]
    shared[0].spark.catalog.dropTempView("t")


@pytest.fixture
def numbers(shared: tuple[Lake, Lake]) -> Iterator[Lake]:
    shared[1].view()
    yield shared[1]
    shared[1].spark.catalog.dropTempView("t")


def cities(lake: Lake) -> None:
    lake.file("norway.parquet", {"city": ["Oslo", "Bergen", None], "day": [1, 2, 3]})
    lake.file("peru.parquet", {"city": ["Lima", "Cusco"], "day": [4, 5]})
    lake.file("rome.parquet", {"city": ["Rome", "Rome"], "day": [6, 6]})


@pytest.mark.parametrize("kind", FUNCTIONS)
def test_functions_of_every_kind(towns: Lake, kind: str) -> None:
    if kind == "arrow" and not hasattr(F, "arrow_udf"):
        pytest.skip("this Spark has no arrow_udf")
    towns.spark.udf.register("backwards", FUNCTIONS[kind]())
    towns.check("backwards(city) = 'olsO'", read=["norway.parquet"])
    norway, peru, rome = "norway.parquet", "peru.parquet", "rome.parquet"
    cases = {
        "backwards(city) LIKE '%C'": {peru},
        "backwards(city) RLIKE '^o.*C$'": {peru},
        "length(repeat(backwards(city), length(backwards(city)))) = 36": {norway},
        "length(backwards(city)) > 5": {norway},
        "NOT (backwards(city) IN ('emoR', 'amiL', 'ocsuC'))": {norway},
        "backwards(city) = 'nope' OR day = 1": {norway, peru, rome},
        "upper(backwards(city)) = 'EMOR' AND day > 0": {rome},
    }
    assert dict(zip(cases, towns.reads(*cases), strict=True)) == cases


@pytest.mark.long
def test_operands_that_spark_computes(lake: Lake) -> None:
    """upper(city), a cast, arithmetic: Spark's own expressions between the column and the function."""
    spark = lake.spark
    spark.udf.register("backwards", F.udf(backwards, "string"))
    spark.udf.register("half", F.udf(lambda x: None if x is None else x / 2, "double", useArrow=False))
    spark.udf.register("joined", F.udf(lambda a, n, b: f"{a}{n}{b}", "string"))
    cities(lake)
    lake.file("utrecht.parquet", {"city": ["Utrecht"], "day": [7]})
    lake.index(ValueList("city"), ValueList("day"))
    lake.check("backwards(upper(city)) = 'AMIL'", read=["peru.parquet"])
    lake.check("backwards(make_valid_utf8(city)) LIKE 'ols%'", read=["norway.parquet"])
    lake.check("NOT (backwards(substr(city, 2)) IN ('ols', 'ami', 'emo', 'ocsu', 'negre', 'olsO', 'emoR', 'als', 'ol'))")
    lake.check("half(day + 0.5D) < 1", read=["norway.parquet"])
    lake.check("half(1e300D * day * 1e300D) > 1", read=["norway.parquet", "peru.parquet", "rome.parquet", "utrecht.parquet"])
    lake.check("half(day / 0.3D) > 11", read=["utrecht.parquet"])
    lake.check(
        "half(sqrt(3 - day)) IS NULL OR half(sqrt(3 - day)) > 0.5",
        read=["norway.parquet", "peru.parquet", "rome.parquet", "utrecht.parquet"],
    )
    lake.check("joined(lower(city), length(city), city IS NULL) = 'rome4False'", read=["rome.parquet"])
    lake.check("backwards(coalesce(city, 'None')) = 'enoN'", read=["norway.parquet"])


@pytest.mark.long
def test_operands_that_raise_an_error_are_unknown(lake: Lake) -> None:
    lake.spark.udf.register("double_", F.udf(lambda n: None if n is None else n * 2, "int"))
    lake.file("numbers.parquet", {"s": ["1", "2"]})
    lake.file("words.parquet", {"s": ["x", "3"]})
    lake.file("large.parquet", {"s": ["5"]})
    lake.index(ValueList("s"))
    lake.view()
    assert lake.read_by("SELECT * FROM t WHERE double_(cast(s AS int)) = 2") == {"numbers.parquet", "words.parquet"}  # ANSI: x is no number
    lake.check("double_(try_cast(s AS int)) = 2", read=["numbers.parquet"])
    lake.check("double_(try_cast(s AS int)) IS NULL", read=["words.parquet"])


def test_null_goes_through_the_function_as_well(towns: Lake) -> None:
    towns.spark.udf.register("or_none", F.udf(lambda text: text or "none", "string"))
    towns.check("or_none(city) = 'none'", read=["norway.parquet"])
    towns.check("or_none(city) = 'Lima'", read=["peru.parquet"])


@pytest.mark.long
def test_the_only_value_of_a_file(lake: Lake) -> None:
    lake.spark.udf.register("backwards", F.udf(backwards, "string"))
    cities(lake)
    lake.index(MinMax("city"))
    lake.check("backwards(city) = 'olsO'", read=["norway.parquet", "peru.parquet"])


@pytest.mark.parametrize(
    ("argument", "result", "function", "where", "read"),
    [
        ("n", "int", lambda n: n and n * 2, "f(n) = 4", ["low"]),
        ("n", "bigint", lambda n: n and n + 2**40, "f(n) > 1099511627800", ["high"]),
        ("n", "boolean", lambda n: n and n > 50, "f(n)", ["high"]),
        ("n", "boolean", lambda n: n and n > 50, "NOT f(n)", ["low"]),
        ("n", "double", lambda n: n and n / 2, "f(n) > 30", ["high"]),
        # an int is no double: Spark 4.0 makes NULL of it, later versions a double
        ("n", "double", lambda n: n, "f(n) > 30", [] if pyspark.__version__.startswith("4.0.") else None),
        ("n", "string", lambda n: n, "f(n) = '2'", ["low"]),  # nor text: Spark's worker makes it so
        ("x", "double", lambda x: x and -x, "f(x) < -30", ["high"]),
        ("s", "int", lambda s: s and len(s), "f(s) = 3", ["high"]),
        ("day", "int", lambda day: day and day.year, "f(day) = 2024", ["low"]),
    ],
)
def test_types_that_are_exchanged_as_they_are(
    numbers: Lake, argument: str, result: str, function: Callable[[Any], Any], where: str, read: list[str] | None
) -> None:
    assert f"f({argument})" in where
    numbers.spark.udf.register("f", F.udf(function, result, useArrow=False))
    numbers.check(where, read=read)


@pytest.mark.long
def test_results_that_are_no_values_of_the_type(numbers: Lake) -> None:
    """Some versions of Spark wrap a number round that is too large, or take half a character for a question mark; others raise."""
    lake = numbers
    lake.spark.udf.register("large", F.udf(lambda n: n * 100, "tinyint"))
    lake.spark.udf.register("half", F.udf(lambda n: "\ud800" if n == 100 else "whole", "string"))
    for where, read in (("large(n) > 100", {"high", "low"}), ("half(n) = '?'", {"high"})):
        try:
            with lake.skipping.disabled():
                lake.spark.sql(f"SELECT * FROM t WHERE {where}").collect()
        except Exception:  # then it is unknown
            assert lake.read_by(f"SELECT * FROM t WHERE {where}") == read
        else:
            lake.check(where)


def test_a_function_that_raises_raises_as_before(towns: Lake) -> None:
    def picky(text):  # type: ignore[no-untyped-def]
        if text == "Lima":
            raise ValueError("not Lima")
        return text

    towns.spark.udf.register("picky", F.udf(picky, "string"))
    assert towns.read_by("SELECT * FROM t WHERE picky(city) = 'Rome'") == {"peru.parquet", "rome.parquet"}


def test_a_slow_function_is_not_asked_for_long(towns: Lake) -> None:
    def slow(text):  # type: ignore[no-untyped-def]
        time.sleep(20 if text == "Lima" else 0)
        return text

    towns.spark.udf.register("slow", F.udf(slow, "string"))
    before = towns.spark.conf.get("spark.data_skip.python.maxSeconds")
    towns.spark.conf.set("spark.data_skip.python.maxSeconds", "0.5")
    try:
        start = time.monotonic()
        read = towns.read_by("SELECT * FROM t WHERE slow(city) = 'nowhere'")
    finally:
        towns.spark.conf.set("spark.data_skip.python.maxSeconds", before)
    assert time.monotonic() - start < 15
    assert "peru.parquet" in read, "of a value that is not known, nothing is"


def test_several_arguments(lake: Lake) -> None:
    lake.spark.udf.register("inside", F.udf(lambda a, x, b: None if x is None else a <= x <= b, "boolean"))
    cities(lake)
    lake.index(ValueList("city"), ValueList("day"))
    lake.check("inside('K', city, 'M')", read=["peru.parquet"])
    lake.check("inside(1L, day, 3L) AND inside('A', city, 'C')", read=["norway.parquet"])
    lake.check("inside('A', city, CAST(day AS STRING))", read=["norway.parquet", "peru.parquet", "rome.parquet"])


def test_functions_of_functions_are_kept(towns: Lake) -> None:
    towns.spark.udf.register("backwards", F.udf(backwards, "string"))
    towns.check("backwards(backwards(city)) = 'Oslo'", read=["norway.parquet", "peru.parquet", "rome.parquet"])


@pytest.mark.long
def test_batches_with_and_without_null_are_few(towns: Lake) -> None:
    """One for each choice of arguments that are NULL in some rows, of those that are not NULL in all rows."""
    towns.spark.udf.register("first_of", F.pandas_udf(lambda a, b, c: a.fillna(b).fillna(c), "string"))  # type: ignore[call-overload]
    listed = [row.city for row in towns.spark.sql("SELECT DISTINCT city FROM t WHERE city IS NOT NULL ORDER BY city LIMIT 3").collect()]
    arguments = ", ".join(f"nullif(city, '{city}')" for city in listed)
    context = towns.spark.sparkContext
    context.setJobGroup("batches", "counted")
    try:
        towns.spark.sql(f"SELECT * FROM t WHERE first_of({arguments}) = 'nowhere'").collect()
        tracker = context.statusTracker()
        stages = [stage for job in tracker.getJobIdsForGroup("batches") for stage in tracker.getJobInfo(job).stageIds]
        assert max(tracker.getStageInfo(stage).numTasks for stage in stages) in (20, 21)  # of 32, or 40 with NULL
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)
