"""What a reader of Spark 4.1 to 4.3 found: Python functions are by Arrow there, unless somebody says otherwise."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pandas as pd
import pyarrow as pa
import pyspark.sql.functions as F
import pytest
from pyspark.errors import ParseException, PythonException

from data_skip import DataSkipError, MinMax, ValueList, versioned
from tests.support import Lake, settings_of

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


@pytest.mark.spark_version
def test_a_type_that_pyspark_does_not_know(lake: Lake) -> None:
    """It reads no table of such a column itself; indexes over others serve."""
    folder = lake.folder / "nanos"
    try:
        with settings_of(lake.spark, {"spark.sql.timestampNanosTypes.enabled": "true"}):
            written = lake.spark.sql("SELECT id, CAST('2020-01-01 00:00:00.123456789' AS TIMESTAMP_NTZ(9)) AS n FROM range(10)")
            written.repartitionByRange(2, "id").write.parquet(str(folder))
            table = lake.skipping.table(str(folder))
            with pytest.raises(DataSkipError, match="PySpark knows no type of 'n'"):
                table.create_index(MinMax("n"))
            table.create_index(MinMax("id"))
            lake.spark.read.parquet(str(folder)).where("id = 3").count()
            assert lake.skipping.report().scans[0].files_read == 1
    except ParseException:
        pytest.skip("this Spark has no timestamps by the nanosecond")
