"""Without an index, or where nothing is to be skipped, Spark's plan is what it is without data-skip (TRAPS N13; more is to come)."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from data_skip import MinMax, Skipping
from data_skip.planning import callback
from tests.support import Lake

QUERIES = (
    "SELECT sum(f.v) FROM {fact} f JOIN {dim} d ON f.day = d.day WHERE d.name = 'd3'",  # dynamic partition pruning
    "WITH c AS (SELECT grp, count(*) n FROM {dim} WHERE name > 'd1' GROUP BY grp) SELECT * FROM c a JOIN c b ON a.grp = b.grp",
    "SELECT count(*) FROM (SELECT v, max(id) m FROM {fact} WHERE v > 2 GROUP BY v)"
    " WHERE m = (SELECT max(m) FROM (SELECT v, max(id) m FROM {fact} WHERE v > 2 GROUP BY v))",
)


def scans(plan: Any) -> list[Any]:
    if plan.nodeName().startswith("Adaptive"):
        plan = plan.executedPlan()
    if plan.nodeName().endswith("QueryStage"):
        return scans(plan.plan())
    below = [plan.children().apply(i) for i in range(plan.children().size())]
    return [plan] * plan.nodeName().startswith("Scan ") + [scan for child in below for scan in scans(child)]


def ran(frame: DataFrame) -> tuple[int, int, int]:
    """How many files were read, how often something was used again, and how often partitions were pruned by a join."""
    frame.collect()
    plan = frame._jdf.queryExecution().executedPlan()
    text = plan.toString()
    return sum(scan.metrics().apply("numFiles").value() for scan in scans(plan)), text.count("Reused"), text.count("dynamicpruning")


def test_joins_prune_partitions_and_exchanges_are_used_again(spark: SparkSession, skipping: Skipping, lake: Lake) -> None:
    folders = {name: f"parquet.`{lake.folder.parent / name}`" for name in ("fact", "dim")}
    fact = spark.range(200).selectExpr("id", "id % 10 AS day", "id % 7 AS v")
    fact.write.partitionBy("day").parquet(str(lake.folder.parent / "fact"))
    dim = spark.range(10).selectExpr("id AS day", "concat('d', id) AS name", "id % 5 AS grp")
    dim.coalesce(1).write.parquet(str(lake.folder.parent / "dim"))
    with skipping.disabled():
        plain = [ran(spark.sql(query.format(**folders))) for query in QUERIES]
    assert plain[0][0] < 10 and plain[0][2] and plain[1][1] and plain[2][1]  # this is what may be lost
    assert [ran(spark.sql(query.format(**folders))) for query in QUERIES] == plain


def test_its_report_is_made_when_it_is_looked_at(lake: Lake) -> None:
    for name, value in {"a": 1, "b": 2}.items():
        lake.file(name, {"x": [value]})
    lake.view()
    (scan,) = lake.query("SELECT * FROM t WHERE x = 2").scans
    assert (scan.files_total, scan.files_read) == (2, 2) and "no index" in str(scan)
    lake.index(MinMax("x"))
    lake.query("SELECT * FROM t WHERE x = 2", {"b"})


def test_what_was_planned_before_skipping_was_off(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    for i in range(3):
        lake.file(f"{i}.parquet", {"x": [i]})
    lake.index(MinMax("x"))
    planned = lake.view().where("x = 1")
    planned._jdf.queryExecution().optimizedPlan()
    asked: list[str] = []
    monkeypatch.setattr(callback.Callback, "apply", lambda self, question, java: asked.append(question))
    with lake.skipping.disabled():
        assert planned.collect() == [(1,)]
    assert asked == []
