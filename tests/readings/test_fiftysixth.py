"""What the fifty-sixth reading found false, of values in the JVM."""

from __future__ import annotations

import pyarrow as pa
import pytest

from data_skip import DataSkipError, MinMax, ValueList
from tests.support import Lake

NAN = float("nan")
LONG = ", ".join([*(f"{number}.0D" for number in range(1, 13)), "NULL"])  # of so many Spark makes an InSet
FLOATS = pa.list_(pa.float64())


@pytest.fixture
def nans(lake: Lake) -> Lake:
    for name, arrays in {"nan": [[NAN], [NAN, NAN]], "listed": [[1.0], [2.0]], "mixed": [[50.0], [NAN, 1.0]]}.items():
        lake.file(name, {"a": pa.array(arrays, FLOATS), "x": [array[0] for array in arrays]})
    return lake


def test_nan_in_a_long_list_with_null_in_a_lambda(nans: Lake) -> None:
    """InSet.eval gives false, not NULL; and so it is evaluated in lambdas."""
    nans.index(ValueList("a"), MinMax("a"))
    read = nans.reads(
        f"exists(a, e -> NOT (e IN ({LONG})))",
        f"NOT exists(a, e -> e IN ({LONG}))",
        f"forall(a, e -> NOT (e IN ({LONG})))",
        f"NOT forall(a, e -> e IN ({LONG}))",
        f"exists(a, e -> e IN ({LONG}))",
    )
    assert read == [*[{"nan", "mixed"}] * 4, {"listed", "mixed"}]


def test_nan_in_a_long_list_with_null_of_a_column(nans: Lake) -> None:
    """There generated code gives NULL."""
    nans.index(ValueList("x"))
    unknown, listed = nans.reads(f"(x IN ({LONG})) IS NULL", f"x IN ({LONG})")
    assert unknown >= {"nan", "mixed"}
    assert listed == {"listed"}


@pytest.mark.parametrize("sql", ["concat(current_database(), s)", "datediff(current_date(), t)", "concat(current_user(), s)"])
def test_an_expression_that_asks_when_or_where_it_is_run(lake: Lake, sql: str) -> None:
    """An index of it served no query, and stopped each refresh of the table in another database, or on another day."""
    lake.file("a.parquet", {"s": ["a"], "t": pa.array([1], pa.date32())})
    with pytest.raises(DataSkipError, match="when, by whom or where it is run"):
        lake.table().create_index(ValueList(sql))
