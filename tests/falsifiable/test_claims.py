"""What Python claims of functions reaches Ranges.java whole: both sides know the same names."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest
from pyspark.errors import IllegalArgumentException
from pyspark.sql import SparkSession

from data_skip import MinMax, Skipping
from data_skip.ask_spark import Rule
from data_skip.proofs.ranges import _BY_CASES, _MONOTONE
from data_skip.spark.janino import load
from data_skip.spark.jvm import SOURCES
from tests.support import Lake

SERVED = {  # by function, a predicate about x and y together, so that there is no preimage; only the file of large values has its rows
    "LessThan": "y - x < 0",
    "LessThanOrEqual": "y - x <= 0",
    "GreaterThan": "x - y > 5",
    "GreaterThanOrEqual": "x - y >= 5",
    "And": "(x > y AND x > 10) = true",
    "Or": "(x > y OR x > 10) = true",
    "Not": "(NOT (x <= y)) = true",
    "IsNull": "(x - y IS NULL) <> (x > y)",
    "IsNotNull": "(x - y IS NOT NULL) = (x > y)",
    "IsNaN": "isnan(x - y) <> (x > y)",
    "Greatest": "greatest(x, y) > 50",
    "Least": "least(x, y) > 5",
    "EqualTo": "x - y = 90",
    "EqualNullSafe": "x - y <=> 90",
    "In": "x - y IN (90, 95)",
    "StartsWith": "startswith(coalesce(s, r), 'z')",
    "Coalesce": "coalesce(x, y) > 50",
    "If": "if(y > 0, x, y) > 50",
    "CaseWhen": "CASE WHEN y > 0 THEN x WHEN x > 0 THEN y END > 50",
}


def test_a_rule_has_the_same_fields_in_both_languages(spark: SparkSession, skipping: Skipping) -> None:
    shim: Any = load(spark.sparkContext._gateway, "data_skip", SOURCES)
    java = shim.getClassLoader().loadClass("data_skip.Claim")
    assert [field.getName() for field in java.getFields()] == [field.name for field in fields(Rule)]


def test_a_claim_that_java_does_not_know_is_refused(lake: Lake) -> None:
    lake.file("a.parquet", {"x": [1]})
    (scan,) = lake.skipping.jvm.scans(lake.view().where("x > 0"))
    program = '{{"targets": [], "monotone": [], "rules": {{"0": {{"{}": true}}}}}}'
    scan.java.ranges(program.format("finite"))
    with pytest.raises(IllegalArgumentException, match="finit_"):
        scan.java.ranges(program.format("finit_"))


def test_java_serves_each_function_that_python_says_has_a_range(lake: Lake) -> None:
    assert set(SERVED) == {*_MONOTONE, *_BY_CASES}
    lake.file("small.parquet", {"x": [1.0, 2.0], "y": [3.0, 4.0], "s": ["b", "c"], "r": ["b", "c"]})
    lake.file("large.parquet", {"x": [100.0, 105.0], "y": [10.0, 10.0], "s": ["z1", "z2"], "r": ["b", "c"]})
    lake.index(*map(MinMax, "xysr"))
    for name, read in zip(SERVED, lake.reads(*SERVED.values()), strict=True):
        assert read == {"large.parquet"}, name
