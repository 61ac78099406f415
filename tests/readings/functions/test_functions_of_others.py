"""A function that is none of Spark's own, beside a sub-query: what cannot be evaluated is not copied, which fails for a sub-query."""

from __future__ import annotations

from pathlib import Path

from data_skip import MinMax, ValueList
from tests.hive_functions import hive_function
from tests.support import Lake


def test_a_function_of_a_column_and_a_sub_query(lake: Lake, tmp_path: Path) -> None:
    """Each query told of an error of a filter, with a stack trace in its report: `ScalarSubquery; no valid constructor`."""
    for i in range(4):
        lake.file(f"{i}", {"k": [i, i + 10]})
    lake.index(MinMax("k"), ValueList("k"))
    lake.view()
    side = Lake(lake.spark, lake.skipping, tmp_path / "side")
    side.file("0", {"n": [2]})
    side.view("side")
    try:
        with hive_function(lake.spark, "hive_greatest", "HiveGenericUDF", "GenericUDFGreatest"):
            lake.query("SELECT k FROM t WHERE hive_greatest(k, 12) = 13", read=["3"])
            lake.query("SELECT k FROM t WHERE hive_greatest(k, (SELECT max(n) FROM side)) = 13")  # whose report tells of no error
            lake.query("SELECT k FROM t WHERE k = 1 AND hive_greatest((SELECT max(n) FROM side), k) = 2", read=["1"])
    finally:
        lake.spark.catalog.dropTempView("side")
