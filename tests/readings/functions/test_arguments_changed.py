"""Python gives all functions of one operator the very same arguments: one that changes them in place changes what others give."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from functools import partial
from typing import Any

import pandas as pd
import pyspark.sql.functions as F
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import VariantVal

from data_skip import ValueList, versioned
from tests.support import Lake, settings_of

row_at_a_time = partial(F.udf, useArrow=False)  # the default of Spark 4.0


@pytest.fixture(autouse=True)
def bytes_that_change(spark: SparkSession) -> Iterator[None]:
    """Python is given what it may change, as by default in Spark 4.0."""
    with settings_of(spark, {"spark.sql.execution.pyspark.binaryAsBytes": "false"}):
        yield


def reversed_(values: Any) -> str:
    values.reverse()
    return "changed"


def spelled(code: bytearray) -> str:
    return code.decode()


def joined(parts: list[str]) -> str:
    return "".join(parts)


def cleared(texts: pd.Series) -> pd.Series:
    texts[:] = "none"
    return texts


def same(texts: pd.Series) -> pd.Series:
    return texts


def functions(lake: Lake, column: str, version: int | None = None) -> None:
    """Registers one that changes what it is given, and one that tells it, with a version if there is one; and writes files of `column`."""
    change, tell, make = {
        "b": (reversed_, spelled, row_at_a_time),
        "a": (reversed_, joined, row_at_a_time),
        "s": (cleared, same, F.pandas_udf),
    }[column]
    lake.spark.udf.register("changes", make(change, "string"))  # type: ignore[operator]
    lake.spark.udf.register("tells", make(tell if version is None else versioned(tell, version), "string"))  # type: ignore[operator]
    for text in ("ab", "ba", "cd"):
        lake.file(text, {"s": [text], "b": [text.encode()], "a": [list(text)]})
    lake.view()


def check(lake: Lake, column: str) -> None:
    for value in ("ab", "none"):
        for where in ("changes({0}) IS NOT NULL AND tells({0}) = '{1}'", "tells({0}) = '{1}' AND changes({0}) IS NOT NULL"):
            report = lake.query(f"SELECT s FROM t WHERE {where.format(column, value)}")
            assert any("may change it in place" in note for scan in report.scans for note in scan.notes)
        lake.query(f"SELECT s FROM t WHERE changes({column}) = 'x' OR tells({column}) = '{value}'")
    lake.query(f"SELECT changes({column}) FROM (SELECT *, tells({column}) AS told FROM t) WHERE told = 'cd'", read=["cd"])


@pytest.mark.parametrize("column", ["b", "s"])
def test_functions_that_are_asked(lake: Lake, column: str) -> None:
    functions(lake, column)
    lake.index(ValueList(column))
    check(lake, column)


@pytest.mark.parametrize("column", ["b", "s", "a"])
def test_an_index_beside_a_function_without_a_version(lake: Lake, column: str) -> None:
    functions(lake, column, 1)
    lake.index(ValueList(f"tells({column})"))
    check(lake, column)


def test_a_function_of_what_another_one_gives_back(lake: Lake) -> None:
    """It changes the argument of that one, which a third is given as well."""
    functions(lake, "s", 1)
    lake.spark.udf.register("tells_too", F.pandas_udf(versioned(lambda texts: texts, 1), "string"))  # type: ignore[call-overload]
    lake.index(ValueList("tells_too(s)"), ValueList("s"))
    for value in ("ab", "none"):
        lake.query(f"SELECT s FROM t WHERE changes(tells(s)) IS NOT NULL AND tells_too(s) = '{value}'")


def test_functions_that_leave_arguments_as_they_are(lake: Lake) -> None:
    """Those with a version, those of what Python cannot change, and one that is called twice."""
    functions(lake, "s", 1)
    lake.spark.udf.register("tells_too", F.pandas_udf(versioned(lambda texts: texts, 1), "string"))  # type: ignore[call-overload]
    for name in ("plain", "plain_too"):
        lake.spark.udf.register(name, row_at_a_time(lambda text, more: text, "string"))
    lake.index(ValueList("s"))
    lake.query("SELECT s FROM t WHERE tells(s) = 'ab' AND tells_too(s) LIKE 'a%'", read=["ab"])
    lake.query("SELECT s FROM t WHERE plain(s, s) = 'ab' AND plain_too(s, s) LIKE 'a%'", read=["ab"])
    lake.query("SELECT s FROM t WHERE changes(s) = 'x' OR changes(s) = 'y'", read=[])


def test_bytes_that_are_those_of_another_argument(lake: Lake) -> None:
    """Spark evaluates what two arguments have in common once, and pickles the same bytes once, where there is a date beside them."""
    lake.spark.udf.register("changes", row_at_a_time(lambda code, day: reversed_(code), "string"))
    lake.spark.udf.register("tells", row_at_a_time(versioned(lambda code, day: code.decode(), 1), "string"))
    for text in ("ab", "ba", "cd"):
        lake.file(text, {"s": [text], "day": [date(2024, 1, 1)]})
    lake.index(ValueList("tells(coalesce(cast(s AS BINARY), X'00'), day)"), ValueList("s"))
    lake.view()
    for value in ("ab", "dc"):
        lake.query(
            "SELECT s FROM t WHERE changes(cast(s AS BINARY), day) = 'changed'"
            f" AND tells(coalesce(cast(s AS BINARY), X'00'), day) = '{value}'"
        )


def test_bytes_that_are_those_of_another_row(lake: Lake) -> None:
    """As those of a literal."""
    lake.spark.udf.register("longer", row_at_a_time(lambda code, day: code.append(65) or len(code), "int"))
    for i in range(3):
        lake.file(str(i), {"day": [date(2024, 1, 1 + i)]})
    lake.index(ValueList("day"))
    lake.view()
    for length in (2, 3, 4):
        lake.query(f"SELECT day FROM t WHERE longer(X'00', day) = {length}")


def test_a_variant(lake: Lake) -> None:
    """An object, whose bytes may be other ones afterwards."""

    def changed(value: Any) -> str:
        value.value = VariantVal.parseJson('"none"').value
        return "changed"

    lake.spark.udf.register("changes", row_at_a_time(changed, "string"))
    lake.spark.udf.register("tells", row_at_a_time(versioned(lambda value: value.toPython(), 1), "string"))
    for text in ("ab", "cd"):
        lake.file(text, {"s": [text], "j": [f'{{"a": "{text}"}}']})
    variant = "variant_get(parse_json(j), '$.a', 'variant')"
    lake.index(ValueList(f"tells({variant})"), ValueList("s"))
    lake.view()
    for value in ("ab", "none"):
        lake.query(f"SELECT s FROM t WHERE changes({variant}) = 'changed' AND tells({variant}) = '{value}'")
