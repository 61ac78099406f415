"""Dictionary evaluation with MinMax: where a file holds one value only, Spark decides any predicate about it."""

from __future__ import annotations

from datetime import date

import pyarrow as pa
from pyspark.sql.types import StringType

from data_skip import MinMax
from data_skip.testing import check_index
from tests.support import Lake


def test_a_file_of_one_value_is_decided_by_spark_whatever_the_predicate(lake: Lake) -> None:
    lake.file("rome.parquet", {"city": ["Rome", "Rome"], "d": [date(2024, 2, 29)] * 2})
    lake.file("oslo.parquet", {"city": ["Oslo", "Oslo"], "d": [date(2023, 7, 1)] * 2})
    lake.file("both.parquet", {"city": ["Oslo", "Rome"], "d": [date(2024, 2, 29), date(2023, 7, 1)]})
    lake.index(MinMax("city"), MinMax("d"))
    lake.check("city LIKE '%om%'", read=["rome.parquet", "both.parquet"])
    lake.check("city LIKE 'R%x'", read=["both.parquet"])  # the range of the prefix would not tell
    lake.check("NOT (city LIKE '%om%')", read=["oslo.parquet", "both.parquet"])
    lake.check("city RLIKE '^[A-O]'", read=["oslo.parquet", "both.parquet"])
    lake.check("upper(city) = 'ROME'", read=["rome.parquet", "both.parquet"])
    lake.check("length(city) > 4 OR reverse(city) = 'olsO'", read=["oslo.parquet", "both.parquet"])
    lake.check("month(d) = 2 AND dayofweek(d) = 5", read=["rome.parquet", "both.parquet"])
    lake.check("date_format(d, 'MMM') = 'Jul'", read=["oslo.parquet", "both.parquet"])


def test_null_is_decided_beside_the_value(lake: Lake) -> None:
    lake.file("rome.parquet", {"city": ["Rome", "Rome"]})
    lake.file("rome-or-null.parquet", {"city": ["Rome", None]})
    lake.file("null.parquet", {"city": pa.nulls(2, pa.string())})
    lake.index(MinMax("city"))
    lake.check("upper(city) = 'ROME'", read=["rome.parquet", "rome-or-null.parquet"])
    lake.check("coalesce(upper(city), '') = ''", read=["rome-or-null.parquet", "null.parquet"])
    lake.check("upper(city) = 'OSLO'", read=[])


def test_zero_may_be_negative_zero(lake: Lake) -> None:
    lake.file("zero.parquet", {"x": [0.0, 0.0]})
    lake.file("negative.parquet", {"x": [-0.0, 0.0]})
    lake.file("one.parquet", {"x": [1.0, 1.0]})
    lake.file("nan.parquet", {"x": [1.0, float("nan")]})
    lake.index(MinMax("x"))
    lake.check("cast(x AS STRING) = '-0.0'", read=["zero.parquet", "negative.parquet", "nan.parquet"])
    lake.check("cast(x AS STRING) = 'NaN'", read=["zero.parquet", "negative.parquet", "nan.parquet"])
    lake.check("abs(x) = 1", read=["one.parquet", "nan.parquet"])  # of which zero it is, abs does not tell


def test_long_text_is_known_by_its_bounds_only(lake: Lake) -> None:
    lake.file("long.parquet", {"s": ["a" * 200] * 2})
    lake.file("top.parquet", {"s": ["\U0010ffff" * 200] * 2})
    lake.file("as-long-as-a-bound.parquet", {"s": ["b" * 128] * 2})
    lake.index(MinMax("s"))
    lake.check("length(s) = 200", read=["long.parquet", "top.parquet"])
    lake.check("length(s) = 128", read=["long.parquet", "top.parquet", "as-long-as-a-bound.parquet"])


def test_an_error_of_the_predicate_keeps_the_file(lake: Lake) -> None:
    lake.file("bad.parquet", {"s": ["abc"]})
    lake.file("good.parquet", {"s": ["7"]})
    lake.index(MinMax("s"))
    lake.view()
    files = lake.table().files("cast(s AS INT) = 7")
    assert len(files) == 2
    lake.check("try_cast(s AS INT) = 8", read=[])


def test_a_python_function_is_decided_too(lake: Lake) -> None:
    lake.file("rome.parquet", {"city": ["Rome"]})
    lake.file("oslo.parquet", {"city": ["Oslo"]})
    lake.index(MinMax("city"))
    lake.spark.udf.register("shouted", lambda city: city.upper() + "!", StringType())
    lake.check("shouted(city) = 'ROME!'", read=["rome.parquet"])


def test_one_question_for_all_files_of_one_value(lake: Lake) -> None:
    for i in range(50):
        lake.file(f"{i:02}.parquet", {"s": [f"name {i % 10}"] * 2})
    lake.index(MinMax("s"))
    lake.check("s RLIKE '[37]$'", read=[f"{i:02}.parquet" for i in range(50) if i % 10 in (3, 7)])


def test_decisions_on_one_value_are_sound() -> None:
    rows = [{"s": s} for s in ("", "a", "A", "ab", None, "b" * 129, "\U0010ffff" * 130, "Ω", "zz", "zz")]
    predicates = [
        "upper(s) = 'A'",
        "s LIKE '%b'",
        "NOT (s LIKE '%b')",
        "length(s) < 2",
        "coalesce(s, 'x') = 'x'",
        "s RLIKE 'z+' OR s IS NULL",
    ]
    checked = check_index(MinMax("s"), rows, predicates)
    assert all(checked.skipped[predicate] for predicate in predicates), str(checked)
