"""What Spark makes of the results of Python functions: it depends on the plan, the batch, the analyzer, and on the version of Spark."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyspark
import pyspark.sql.functions as F
import pytest
from pyspark.errors import PythonException
from pyspark.sql.types import LongType, StructField, StructType, TimestampType, UserDefinedType

import geo_skip
from data_skip import DataSkipError, ValueList, versioned
from tests.readings.functions.support import OF_LATER_VERSIONS, ONE_TASK
from tests.support import Lake, settings_of


class AsItIs(UserDefinedType):  # type: ignore[misc]
    """What Spark keeps is what Python has."""

    @classmethod
    def module(cls) -> str:
        return __name__

    def serialize(self, obj: Any) -> Any:
        return obj

    def deserialize(self, datum: Any) -> Any:
        return datum


class Code(AsItIs):
    """A whole number, as pandas has it."""

    @classmethod
    def sqlType(cls) -> LongType:
        return LongType()


class Moment(AsItIs):
    """A timestamp, as Python has it."""

    @classmethod
    def sqlType(cls) -> TimestampType:
        return TimestampType()


def functions_of_functions(lake: Lake) -> None:
    lake.spark.udf.register("as_float", F.udf(versioned(lambda s: s and float(s), 1), "float", useArrow=False))
    lake.spark.udf.register("as_text", F.udf(versioned(lambda x: str(x), 1), "string", useArrow=False))
    for s in ("1.1", "2.2"):
        lake.file(s, {"s": [s], "pad": [os.urandom(200_000).hex()]})


def test_a_function_is_given_what_another_one_gave(lake: Lake) -> None:
    """1.1 within a worker; of its values, which an index lists, it is 1.100000023841858."""
    functions_of_functions(lake)
    lake.index(ValueList("as_float(s)"))
    lake.check("as_text(as_float(s)) = '1.1'")
    lake.check("as_float(s) = 1.1F", read=["1.1"])


def test_a_function_of_a_function_is_not_indexed(lake: Lake, tmp_path: Path) -> None:
    """Where a plan computes the two apart, as for a join or a generator, the outer one is given the value of a FLOAT."""
    functions_of_functions(lake)
    with pytest.raises(DataSkipError, match="calls a Python function of what another one gives"):
        lake.index(ValueList("as_text(as_float(s))"))
    lake.index(ValueList("as_float(s)"), ValueList("s"))
    lake.view()
    lake.spark.createDataFrame([("1.100000023841858",)], "k string").write.parquet(str(tmp_path / "small"))
    lake.spark.read.parquet(str(tmp_path / "small")).createOrReplaceTempView("reading_small")
    inner = "(SELECT as_float(s) AS x, pad FROM t)"
    with settings_of(lake.spark, {"spark.data_skip.join.leastBytes": "0"}):
        lake.query(f"SELECT x, k, length(pad) FROM {inner} JOIN reading_small ON as_text(x) = k")
    lake.query(f"SELECT z FROM (SELECT explode(array(as_text(x))) AS z FROM {inner}) WHERE z = '1.100000023841858'")
    lake.spark.catalog.dropTempView("reading_small")


def test_dates_by_arrow_of_times_with_offsets(lake: Lake) -> None:
    """Of a batch of one offset PySpark takes the dates of UTC, of others the local ones: 2020-01-02 or 2020-01-01."""
    if not pyspark.__version__.startswith("4.0."):
        pytest.skip("this Spark makes no Series of a batch")
    lake.spark.udf.register("day_of", F.udf(versioned(lambda s: s and datetime.fromisoformat(s), 1), "date", useArrow=True))
    for file, s in (("west", "2020-01-01T23:30:00-05:00"), ("east", "2020-06-01T12:00:00+02:00")):
        lake.file(file, {"s": [s]})
    with pytest.raises(DataSkipError, match="gives a date by Arrow"):
        lake.index(ValueList("day_of(s)"))
    lake.index(ValueList("s"))
    lake.view()
    for settings in (ONE_TASK, {"spark.sql.files.maxPartitionBytes": "100"}, {**ONE_TASK, **OF_LATER_VERSIONS}):
        with settings_of(lake.spark, settings):
            for day in (1, 2):
                lake.query(f"SELECT s FROM t WHERE day_of(s) = date'2020-01-0{day}'")


def check_by_arrow(lake: Lake, function: object, type_: str, large: str, safely: str, wheres: list[str], indexed: str, why: str) -> None:
    """Compares rows of queries that call f(s), by Arrow, for texts of numbers; and an index over it is refused."""
    lake.spark.udf.register("f", F.udf(versioned(function, 1), type_, useArrow=True))  # type: ignore[arg-type]
    for s in (large, "1.5", "7"):
        lake.file(s, {"s": [s]})
    with settings_of(lake.spark, {**ONE_TASK, "spark.sql.execution.pandas.convertToArrowArraySafely": safely}):
        lake.index(ValueList("s"))
        lake.view()
        for where in wheres:
            lake.query(f"SELECT s FROM t WHERE {where}")
        with pytest.raises(DataSkipError, match=why):
            lake.table().create_index(ValueList(indexed))


def number(s: str | None) -> float | None:
    return None if s is None else float(s) if "." in s else int(s)


TOO_LARGE = (-2147483643, -2147483648, 1)


def test_whole_numbers_by_arrow_beside_fractions(lake: Lake) -> None:
    """One that is too large for its type is cut otherwise, in any version of Spark, unless a setting makes that an error."""
    check_by_arrow(lake, number, "int", "2147483653", "false", [f"f(s) = {n}" for n in TOO_LARGE], "f(s)", "gives a int by Arrow")


@pytest.mark.parametrize("type_, field", [("array<int>", "get(f(s), 0)"), ("struct<a: int>", "f(s).a")])
def test_whole_numbers_in_nested_results_by_arrow(lake: Lake, type_: str, field: str) -> None:
    """As those that are given by themselves: cut to the nearest number beside 1.5, to its lowest bits alone. In any version of Spark."""
    nested = (lambda s: s and [number(s)]) if type_.startswith("array") else (lambda s: s and (number(s),))
    check_by_arrow(
        lake, nested, type_, "2147483653", "false", [f"{field} = {n}" for n in TOO_LARGE], field, "by Arrow, which is another one"
    )


def test_floats_by_arrow_that_are_errors_alone(lake: Lake) -> None:
    """A whole number of more bits than a float has is one beside 1.5, where all are made a Series of floats first."""
    check_by_arrow(lake, number, "float", "16777217", "true", ["f(s) = 16777216"], "f(s)", "by Arrow, which is another one")


def test_booleans_by_arrow_that_are_errors_alone(lake: Lake) -> None:
    """A NaT is NULL beside a boolean; without that file the query failed."""
    lake.spark.udf.register("is_late", F.udf(lambda s: s > "b" if s else pd.NaT, "boolean", useArrow=True))
    lake.spark.udf.register("same", F.udf(lambda k: k, "string", useArrow=True))
    for s in ("", "a", "c"):
        lake.file(f"file{s}", {"s": [s]})
    lake.index(ValueList("s"))
    lake.view()
    if pyspark.__version__.startswith("4.0."):
        with settings_of(lake.spark, ONE_TASK):
            lake.query("SELECT s FROM t WHERE is_late(s) IS NULL AND same(s) = ''")
    lake.query("SELECT s FROM t WHERE s >= 'a' AND is_late(s)")


def test_timestamps_in_a_users_type(lake: Lake) -> None:
    """A plain function is given those of the zone of workers, whatever the type is called."""
    lake.spark.udf.register("day_of_moment", versioned(lambda c: str(c), 1))
    schema = StructType([StructField("c", Moment())])
    lake.spark_file("a", lake.spark.createDataFrame([(datetime(2020, 1, 1),)], schema, verifySchema=False))
    with pytest.raises(DataSkipError, match="takes or gives timestamps in Python"):
        lake.index(ValueList("day_of_moment(c)"))


def test_pandas_of_a_users_type(lake: Lake) -> None:
    """Its whole numbers are 1.0 beside a NULL."""
    lake.spark.udf.register("text_of", F.pandas_udf(versioned(lambda c: c.map(repr), 1), "string"))  # type: ignore[call-overload]
    schema = StructType([StructField("c", Code())])
    for file, code in (("one", 1), ("null", None)):
        lake.spark_file(file, lake.spark.createDataFrame([(code,)], schema, verifySchema=False))
    with pytest.raises(DataSkipError, match="gives pandas whole numbers"):
        lake.index(ValueList("text_of(c)"))


def test_texts_of_a_collation_are_compared_as_in_the_query(lake: Lake) -> None:
    """The analyzer, where it sees the optimised form of LIKE, compares what a function gives as if it had no collation."""
    lake.spark.udf.register("any_case", F.udf(lambda s: s, "string collate UTF8_LCASE"))
    for s in ("a", "B"):
        lake.file(s, {"s": [s]})
    lake.index(ValueList("s"))
    lake.check("any_case(s) LIKE 'b%'", read=["B"])
    lake.check("any_case(s) LIKE '%b'", read=["B"])
    lake.check("any_case(s) LIKE 'b'", read=["B"])


def test_coordinates_by_their_names(lake: Lake) -> None:
    """The filter by the box around a region held `lat => lat`, which Spark cannot evaluate."""
    geo_skip.register(lake.spark)
    lake.file("a", {"lat": [10.0, 20.0], "lng": [20.0, 10.0]})
    region = "'POLYGON((15 5, 25 5, 25 15, 15 15, 15 5))'"
    for arguments in ("lat => lat, lng => lng", "lng => lng, lat => lat", "lat, lng => lng"):
        assert lake.view().where(f"ST_CONTAINS({region}, {arguments})").collect() == [(10.0, 20.0)]


IN_ONE_BATCH = {"spark.sql.files.minPartitionNum": "1", "spark.sql.execution.arrow.pythonUDF.columnarInput.enabled": "false"}


def exact(s: str | None) -> Decimal | None:
    return None if s is None else Decimal(s)


def all_exact(s: pd.Series) -> pd.Series:
    return s.map(exact)


def array_of_exact(s: pa.Array) -> pa.Array:
    return pa.array(map(exact, s.to_pylist()))


def all_floats(s: pd.Series) -> pd.Series:
    return s.astype(float)


@pytest.mark.spark_version
@pytest.mark.parametrize("function", [exact, all_exact])
def test_results_of_other_types_are_of_that_of_their_batch(lake: Lake, function: Callable[..., Any]) -> None:
    """Where one is no value of the function's type, all of a batch are made values of the type that Arrow infers of them, and cast then."""
    lake.spark.udf.register("read", F.pandas_udf(function, "double") if function is all_exact else F.udf(function, "double", useArrow=True))
    for i, s in enumerate(("0.3", "1E-22")):
        lake.file(str(i), {"s": [s]})
    lake.index(ValueList("s"))
    lake.view()
    with settings_of(lake.spark, IN_ONE_BATCH):
        found = []
        for disabled in (False, True):  # Spark 4.0 takes no Decimals of pandas for DOUBLE
            with contextlib.suppress(PythonException), lake.skipping.disabled() if disabled else contextlib.nullcontext():
                found.append(lake.spark.sql("SELECT s FROM t WHERE read(s) = 0.3D").collect())
        assert not found or found[0] == found[1]


@pytest.mark.spark_version
def test_functions_with_a_version_give_values_of_their_type(lake: Lake) -> None:
    lake.spark.udf.register("read", F.pandas_udf(versioned(all_floats, 1), "double"))
    for i, s in enumerate(("0.3", "1E-22", "7")):
        lake.file(str(i), {"s": [s]})
    lake.index(ValueList("s"), ValueList("read(s)"))
    lake.check("read(s) = 0.3D", read=["0"])


@pytest.mark.spark_version
@pytest.mark.parametrize(("type_", "alone"), [("double", "> 0.3D"), ("string", "= '0.3'")])
def test_arrays_of_other_types_are_of_that_of_their_batch(lake: Lake, type_: str, alone: str) -> None:
    """A function that has Arrow infer the type of its array: of Decimal('0.3') another one beside Decimal('1E-22')."""
    if not hasattr(F, "arrow_udf"):
        pytest.skip("this Spark has no arrow_udf")
    for i, s in enumerate(("0.3", "1E-22")):
        lake.file(str(i), {"s": [s]})
    lake.index(ValueList("s"))
    lake.view()
    lake.spark.udf.register("read", F.arrow_udf(array_of_exact, type_))
    assert lake.query(f"SELECT s FROM t WHERE read(s) {alone}").scans == []
    lake.spark.udf.register("read", F.arrow_udf(versioned(array_of_exact, 1), type_))  # a promise, here false, that all are of that type
    assert lake.query("SELECT s FROM t WHERE read(s) = '7'").scans[-1].files_read == 0
