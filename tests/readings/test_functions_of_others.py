"""A function that is none of Spark's own, beside a sub-query: what cannot be evaluated is not copied, which fails for a sub-query."""

from __future__ import annotations

from pathlib import Path

from data_skip import MinMax, ValueList
from tests.support import Lake

# Builder makes the expression of a call of one of Hive's functions, which are there without another jar.
BUILDER = """
package others;

import org.apache.spark.sql.hive.*;

public class Greatest extends scala.runtime.AbstractFunction1 {
  public Object apply(Object arguments) {
    String name = org.apache.hadoop.hive.ql.udf.generic.GenericUDFGreatest.class.getName();
    HiveShim.HiveFunctionWrapper wrapper = new HiveShim.HiveFunctionWrapper(name, null, null);
    return new HiveGenericUDF("hive_greatest", wrapper, (scala.collection.immutable.Seq) arguments);
  }
}
"""


def test_a_function_of_a_column_and_a_sub_query(lake: Lake, tmp_path: Path) -> None:
    """Each query told of an error of a filter, with a stack trace in its report: `ScalarSubquery; no valid constructor`."""
    jvm = lake.spark._jvm
    assert jvm is not None
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(jvm.java.lang.Thread.currentThread().getContextClassLoader())
    compiler.cook(BUILDER)
    none = lake.spark.sparkContext._gateway.new_array(jvm.java.lang.Object, 0)  # type: ignore[union-attr]
    builder = compiler.getClassLoader().loadClass("others.Greatest").getConstructors()[0].newInstance(none)
    state = lake.spark._jsparkSession.sessionState()
    state.functionRegistry().createOrReplaceTempFunction("hive_greatest", builder, "hive")
    for i in range(4):
        lake.file(f"{i}", {"k": [i, i + 10]})
    lake.index(MinMax("k"), ValueList("k"))
    lake.view()
    side = Lake(lake.spark, lake.skipping, tmp_path / "side")
    side.file("0", {"n": [2]})
    side.view("side")
    try:
        lake.query("SELECT k FROM t WHERE hive_greatest(k, 12) = 13", read=["3"])
        lake.query("SELECT k FROM t WHERE hive_greatest(k, (SELECT max(n) FROM side)) = 13")  # whose report tells of no error
        lake.query("SELECT k FROM t WHERE k = 1 AND hive_greatest((SELECT max(n) FROM side), k) = 2", read=["1"])
    finally:
        state.catalog().dropTempFunction("hive_greatest", True)
        lake.spark.catalog.dropTempView("side")
