"""What a reader of Python functions found: what Spark makes of their results depends on the plan, the batch, and the analyzer."""

from __future__ import annotations

import os
import re
from datetime import datetime
from pathlib import Path
from typing import Any

import pandas as pd
import pyspark
import pyspark.sql.functions as F
import pytest
from pyspark.sql.types import LongType, StructField, StructType, TimestampType, UserDefinedType

import geo_skip
from data_skip import DataSkipError, ValueList, versioned
from tests.support import Lake, settings_of

# Its rows are one batch, where later versions of Spark would give Python a batch a file.
ONE_TASK = {"spark.sql.files.minPartitionNum": "1", "spark.sql.execution.arrow.pythonUDF.columnarInput.enabled": "false"}
OF_LATER_VERSIONS = {"spark.sql.legacy.execution.pythonUDF.pandas.conversion.enabled": "false"}  # Spark 4.0 knows no such setting


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


@pytest.mark.parametrize("new", [False, True])
@pytest.mark.parametrize("kind", ["pandas", "by Arrow"])
def test_values_that_no_index_lists_beside_a_null(lake: Lake, kind: str, new: bool) -> None:
    """Without the file with the NULL 5.0 was 5 again, whatever the function gives of all values that are listed."""
    if kind == "by Arrow" and not pyspark.__version__.startswith("4.0."):
        pytest.skip("this Spark makes no Series of a batch")

    def text(x: float | None) -> str:
        return repr(x) if x is not None and x > 3 else ""

    pandas = F.pandas_udf(lambda x: x.map(text), "string")  # type: ignore[call-overload]
    lake.spark.udf.register("text_of", pandas if kind == "pandas" else F.udf(text, "string", useArrow=True))
    lake.file("null", {"x": [1, None]})
    lake.file("few", {"x": [2]})
    if new:
        lake.index(ValueList("x"))
    lake.file("many", {"x": [5, 6, 7]})
    if not new:
        lake.index(ValueList("x", limit=2))
    lake.view()
    for settings in (ONE_TASK, {**ONE_TASK, **OF_LATER_VERSIONS}):
        with settings_of(lake.spark, settings):
            for found in ("5", "5.0"):
                lake.query(f"SELECT x FROM t WHERE text_of(x) = '{found}'")


def test_other_predicates_above_a_function_that_a_null_changes(lake: Lake) -> None:
    """They are evaluated after it, so that the NULL of a file that they would skip is in its batch; those below it skip as ever."""
    lake.spark.udf.register("text_of", F.pandas_udf(lambda x: x.map(repr), "string"))  # type: ignore[call-overload]
    lake.spark.udf.register("same", F.udf(lambda k: k, "string", useArrow=False))
    lake.spark.udf.register("same_by_pandas", F.pandas_udf(lambda k: k, "string"))  # type: ignore[call-overload]
    lake.file("null", {"x": [1, None], "k": ["n", "n"]})
    lake.file("five", {"x": [5], "k": ["f"]})
    lake.index(ValueList("k"))
    lake.view()
    with settings_of(lake.spark, ONE_TASK):
        for where in ("text_of(x) = '5.0' AND same(k) = 'f'", "text_of(x) = '5.0' AND same_by_pandas(k) = 'f'"):
            lake.query(f"SELECT x FROM t WHERE {where}")
        lake.query("SELECT x FROM t WHERE (text_of(x) = '5.0' AND k = 'f') OR k = 'z'")
        lake.query("SELECT x FROM t WHERE text_of(x) = '5' AND k = 'f'", read=["five"])
        lake.query("SELECT text_of(x) FROM t WHERE same(k) = 'f'", read=["five"])


@pytest.mark.parametrize("nested", ["a", "array(x)", "map('k', x)", "struct(x)"])
@pytest.mark.parametrize("kind", ["pandas", "by Arrow"])
def test_nested_values_beside_a_null(lake: Lake, kind: str, nested: str) -> None:
    """Those of all rows of a batch are one array of pandas, so that [5] is [5.0] beside [NULL], and array(x) is never NULL itself."""
    if kind == "by Arrow" and not pyspark.__version__.startswith("4.0."):
        pytest.skip("this Spark makes no Series of a batch")

    def text(value: object) -> str:
        return re.sub(r"np\.\w+\(([^)]*)\)", r"\1", repr(value)).replace("5.]", "5.0]")

    def texts(values: pd.Series) -> pd.Series:
        return values.map(text)

    def texts_of_fields(values: pd.DataFrame) -> pd.Series:
        return values["x"].map(text)

    pandas = F.pandas_udf(texts_of_fields if nested.startswith("struct") else texts, "string")  # type: ignore[call-overload]
    lake.spark.udf.register("text_of", pandas if kind == "pandas" else F.udf(text, "string", useArrow=True))
    lake.spark.udf.register("same", F.udf(lambda k: k, "string", useArrow=False))
    lake.file("null", {"x": [1, None], "a": [[1], [None]], "k": ["n", "n"]})
    lake.file("five", {"x": [5], "a": [[5]], "k": ["f"]})
    lake.index(ValueList("k"))
    lake.view()
    with settings_of(lake.spark, ONE_TASK):
        if pyspark.__version__.startswith("4.0.") or nested.startswith("struct"):  # later versions leave whole numbers of lists as they are
            with lake.skipping.disabled():
                assert lake.spark.sql(f"SELECT x FROM t WHERE text_of({nested}) LIKE '%5.0%' AND same(k) = 'f'").count() == 1
        lake.query(f"SELECT x FROM t WHERE text_of({nested}) LIKE '%5.0%' AND same(k) = 'f'")


def test_coordinates_by_their_names(lake: Lake) -> None:
    """The filter by the box around a region held `lat => lat`, which Spark cannot evaluate."""
    geo_skip.register(lake.spark)
    lake.file("a", {"lat": [10.0, 20.0], "lng": [20.0, 10.0]})
    region = "'POLYGON((15 5, 25 5, 25 15, 15 15, 15 5))'"
    for arguments in ("lat => lat, lng => lng", "lng => lng, lat => lat", "lat, lng => lng"):
        assert lake.view().where(f"ST_CONTAINS({region}, {arguments})").collect() == [(10.0, 20.0)]
