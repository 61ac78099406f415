"""A generator of Hive's may count its rows, and give more at the end: what is known of its rows is not asked of those below."""

from __future__ import annotations

from pathlib import Path

from data_skip import MinMax
from tests.support import Lake

# Builder makes the expression of a call. Hive's own explode is there without another jar.
BUILDER = """
package others;

import org.apache.spark.sql.hive.*;

public class Builder extends scala.runtime.AbstractFunction1 {
  public Object apply(Object arguments) {
    String explode = org.apache.hadoop.hive.ql.udf.generic.GenericUDTFExplode.class.getName();
    HiveShim.HiveFunctionWrapper wrapper = new HiveShim.HiveFunctionWrapper(explode, null, null);
    return new HiveGenericUDTF("hive_explode", wrapper, (scala.collection.immutable.Seq) arguments);
  }
}
"""


def test_a_generator_of_hive(lake: Lake, tmp_path: Path) -> None:
    """Rows were lost, and others were there, where a join asks for the columns beside: Spark calls each such generator deterministic."""
    jvm = lake.spark._jvm
    assert jvm is not None
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(jvm.java.lang.Thread.currentThread().getContextClassLoader())
    compiler.cook(BUILDER)
    none = lake.spark.sparkContext._gateway.new_array(jvm.java.lang.Object, 0)  # type: ignore[union-attr]
    builder = compiler.getClassLoader().loadClass("others.Builder").getConstructors()[0].newInstance(none)
    state = lake.spark._jsparkSession.sessionState()
    state.functionRegistry().createOrReplaceTempFunction("hive_explode", builder, "hive")
    for i in range(4):
        lake.file(f"{i}", {"k": [i], "pad": [list(range(5000))]})
    lake.index(MinMax("k"))
    lake.view()
    side = Lake(lake.spark, lake.skipping, tmp_path / "side")
    side.file("0", {"n": [2]})
    side.view("side")
    try:
        for generator, skipped in (("explode", 3), ("hive_explode", 0)):
            exploded = f"SELECT k, e FROM t LATERAL VIEW {generator}(array(k, 7)) x AS e"
            report = lake.query(f"SELECT k, e FROM ({exploded}) JOIN side ON k = n")
            assert max(scan.files_skipped for scan in report.scans) == skipped
            twice = lake.query(f"SELECT a.k FROM ({exploded} WHERE k = 2) a JOIN ({exploded}) b ON a.e = b.e")  # which may number its rows
            assert max(scan.files_skipped for scan in twice.scans) == skipped
    finally:
        state.catalog().dropTempFunction("hive_explode", True)
        lake.spark.catalog.dropTempView("side")
