"""What a reader of Spark 4.1 to 4.3 found: Python functions are by Arrow there, unless somebody says otherwise."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

import pyspark.sql.functions as F
import pytest

from data_skip import DataSkipError, ValueList, versioned
from tests.support import Lake, settings_of

IN_ONE_BATCH = {"spark.sql.files.minPartitionNum": "1", "spark.sql.execution.arrow.pythonUDF.columnarInput.enabled": "false"}


def exact(s: str | None) -> Decimal | None:
    return None if s is None else Decimal(s)


def of_offset(s: str | None) -> datetime | int | None:
    """A time with an offset; of what is none, a number that is no date."""
    return None if s is None else datetime.fromisoformat(s) if ":" in s else int(s)


@pytest.mark.spark_version
@pytest.mark.parametrize(
    ("function", "type_", "texts", "value"),
    [
        (exact, "double", ("0.3", "1E-22"), "0.3D"),
        (of_offset, "date", ("2020-01-01T23:30:00-05:00", "2147483648"), "date'2020-01-02'"),
    ],
)
def test_results_of_other_types_are_of_that_of_their_batch(
    lake: Lake, function: object, type_: str, texts: tuple[str, ...], value: str
) -> None:
    """Where one is no value of the function's type, all of a batch are made values of the type that Arrow infers of them, and cast then."""
    lake.spark.udf.register("read", F.udf(versioned(function, 1), type_, useArrow=True))  # type: ignore[arg-type]
    for i, s in enumerate(texts):
        lake.file(str(i), {"s": [s]})
    lake.index(ValueList("s"))
    lake.view()
    with settings_of(lake.spark, IN_ONE_BATCH):
        lake.query(f"SELECT s FROM t WHERE read(s) = {value}")
    with pytest.raises(DataSkipError, match=f"gives a {type_} by Arrow"):
        lake.index(ValueList("read(s)"))
