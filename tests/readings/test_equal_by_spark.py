"""What Spark's `equals` takes for the same, and its maps do not; and what stands in a cache."""

from __future__ import annotations

import pytest

from data_skip import ValueList
from tests.support import Lake, settings_of

SORTED = {"spark.sql.autoBroadcastJoinThreshold": "-1", "spark.data_skip.join.leastBytes": "0", "spark.sql.adaptive.enabled": "false"}


@pytest.fixture
def zeros(lake: Lake) -> Lake:
    for i, text in enumerate(["0.0x", "-0.0x", "other"]):
        lake.file(f"{i}", {"k": [i], "x": [i + 1.0], "s": [text], "pad": [[j * j % 97 for j in range(9000)]]})
    lake.index(ValueList("x"), ValueList("s"))
    lake.view()
    return lake


def test_what_differs_in_the_sign_of_a_zero_is_not_asked_of_both_sides(zeros: Lake) -> None:
    """Each scan was asked for its own zero, so that Spark read the table twice, and shuffled it twice: it was `equal`, and is not."""
    part = "SELECT t.k FROM t JOIN (SELECT * FROM VALUES ({}D, 0), (5D, 9) v(y, k)) v ON t.k = v.k AND CAST(t.x * v.y AS STRING) = '-0.0'"
    sql = f"{part.format('0.0')} UNION ALL {part.format('-0.0')}"
    with settings_of(zeros.spark, SORTED):
        zeros.query(sql)
        with zeros.skipping.disabled():
            plain = str(zeros.spark.sql(sql)._jdf.queryExecution().executedPlan())
        assert "ReusedExchange" in plain
        assert str(zeros.spark.sql(sql)._jdf.queryExecution().executedPlan()).count("ReusedExchange") == plain.count("ReusedExchange")


def test_the_smallest_number_of_a_cache_may_be_either_zero_as_well(zeros: Lake) -> None:
    """It may be computed again, by which the other one is found first. The same without the cache was not believed."""
    sql = "SELECT k FROM t JOIN v ON s LIKE concat(CAST(y AS STRING), '%')"
    extreme = zeros.spark.sql("SELECT max(y) AS y FROM VALUES (0.0D), (-0.0D) AS v(y)")
    with settings_of(zeros.spark, SORTED):
        extreme.createOrReplaceTempView("v")
        assert [scan.files_read for scan in zeros.query(sql).scans] == [3]
        cached = extreme.cache()
        try:
            assert [scan.files_read for scan in zeros.query(sql).scans] == [3]
        finally:
            cached.unpersist(blocking=True)
