"""Rules of users, and of Sedona, that run after ours: they change filters, or make operators of functions that are given all rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import data_skip
from data_skip import MinMax, ValueList
from tests.geo_skip.conftest import with_sedona
from tests.support import Lake, compared

__all__ = ["with_sedona"]  # fixtures
# What it makes of filters is no longer what they asked: as rules do that let users see other rows, or values that are masked.
RULE = """
package users;
import org.apache.spark.sql.catalyst.expressions.*;
import org.apache.spark.sql.catalyst.plans.logical.*;
import org.apache.spark.sql.catalyst.trees.TreeNode;
public final class Changing extends org.apache.spark.sql.catalyst.rules.Rule {
  private final String what;
  public Changing(String what) { this.what = what; }
  public String ruleName() { return "users.Changing"; }
  public TreeNode apply(TreeNode plan) { return changed((LogicalPlan) plan); }
  private LogicalPlan changed(LogicalPlan plan) {
    plan = (LogicalPlan) plan.mapChildren(new scala.runtime.AbstractFunction1() {
      public Object apply(Object child) { return changed((LogicalPlan) child); }
    });
    if (what.equals("nothing") || !(plan instanceof Filter)) return plan;
    if (what.equals("drop")) return ((Filter) plan).child();
    return new Filter(other(((Filter) plan).condition()), ((Filter) plan).child());
  }
  private Expression other(Expression e) {
    if (e instanceof Literal && Integer.valueOf(23).equals(((Literal) e).value())) return new Literal(Integer.valueOf(43), e.dataType());
    return (Expression) e.mapChildren(new scala.runtime.AbstractFunction1() {
      public Object apply(Object child) { return other((Expression) child); }
    });
  }
}
"""


@contextmanager
def rule(spark: SparkSession, what: str, first: bool) -> Iterator[None]:
    """Within, the session has a rule of its user, before ours or after it."""
    jvm: Any = spark.sparkContext._jvm
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.cook(RULE)
    (constructor,) = compiler.getClassLoader().loadClass("users.Changing").getConstructors()
    arguments = spark.sparkContext._gateway.new_array(jvm.Object, 1)
    arguments[0] = what
    changing = constructor.newInstance(arguments)
    experimental = spark._jsparkSession.experimental()
    before = experimental.extraOptimizations()
    set_rules = getattr(experimental, "extraOptimizations_$eq")
    set_rules(before.prepended(changing) if first else before.appended(changing))
    try:
        yield
    finally:
        set_rules(before)


@pytest.fixture
def rows(lake: Lake) -> Lake:
    for i in range(6):
        lake.file(f"{i}.parquet", {"x": pa.array([10 * i + 1, 10 * i + 3], pa.int32()), "s": [f"k{i}", f"z{i}"]})
    lake.index(MinMax("x"), ValueList("s"))
    lake.view()
    return lake


@pytest.mark.parametrize("first", [True, False], ids=["before ours", "after ours"])
def test_a_rule_of_the_user_that_changes_filters(rows: Lake, first: bool) -> None:
    with rule(rows.spark, "literal", first):
        rows.query("SELECT * FROM t WHERE x = 23", ["4.parquet"])
        rows.query("SELECT count(*) FROM t WHERE x = 23 OR s = 'k5'", ["4.parquet", "5.parquet"])
        joined = rows.query("SELECT a.x FROM t a JOIN t b ON a.s = b.s WHERE a.x = 23")
        assert sum(scan.files_skipped for scan in joined.scans) > 0
    with rule(rows.spark, "drop", first):
        rows.query("SELECT * FROM t WHERE x = 23")
        rows.query("SELECT a.x, b.x FROM t a JOIN t b ON a.s = b.s WHERE a.x = 23")
    rows.query("SELECT * FROM t WHERE x = 23", ["2.parquet"])


def test_a_rule_of_the_user_that_changes_nothing(rows: Lake) -> None:
    with rule(rows.spark, "nothing", first=False):
        rows.query("SELECT * FROM t WHERE x = 23", ["2.parquet"])
        report = rows.query("SELECT a.x FROM t a JOIN t b ON a.s = b.s WHERE a.x = 23 AND b.s LIKE 'z%'")
        assert sum(scan.files_skipped for scan in report.scans) > 0


def test_functions_that_are_given_all_rows(with_sedona: SparkSession, tmp_path: Path) -> None:
    """Sedona makes operators of them, by a rule of the optimizer: it runs after ours where it was installed later."""
    from sedona.spark import SedonaContext

    spark = with_sedona.newSession()
    skipping = data_skip.enable(spark)
    SedonaContext.create(spark)
    lake = Lake(spark, skipping, tmp_path / "table")
    for i in range(3):
        lake.spark_file(str(i), spark.sql(f"SELECT id, ST_Point(id * 0.9D, 0D) AS g FROM range({2 * i}, {2 * i + 2})"))
    lake.index(MinMax("id"))
    lake.view()
    assert compared(spark, skipping, [f"SELECT id FROM t WHERE id IN (2, 3) AND {more}" for more in ("ST_X(g) > 1", "rand() < 2")]) == 4
    for of_all in ("ST_DBSCAN(g, 1D, 3, false).isCore", "ST_LocalOutlierFactor(g, 3, false) < 1.2"):  # which take their time
        assert not skipping.jvm.scans(spark.sql(f"SELECT id FROM t WHERE id IN (2, 3) AND {of_all}"))
    spark.catalog.dropTempView("t")
    data_skip.disable(spark)
