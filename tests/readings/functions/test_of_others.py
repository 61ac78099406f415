"""Functions that are none of Spark's own: called as one of Spark's, with code of the same name in another jar, or beside a sub-query."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

import data_skip
from data_skip import MinMax, ValueList
from data_skip.spark.janino import load
from data_skip.spark.jvm import SOURCES
from tests.geo_skip.conftest import with_sedona
from tests.hive_functions import hive_function
from tests.support import Lake

__all__ = ["with_sedona"]  # fixtures


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


# Days modulo 7, which are not monotone, as years are. Builder makes the expression of a call.
YEAR = """
package others;

import org.apache.spark.sql.catalyst.expressions.*;
import org.apache.spark.sql.catalyst.expressions.codegen.*;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.types.*;

public class Year extends UnaryExpression {
  private final Expression child;
  public Year(Expression child) { this.child = child; }
  public Expression child() { return child; }
  public DataType dataType() { return DataTypes.IntegerType; }
  public Object nullSafeEval(Object days) { return new Integer(((Number) days).intValue() % 7); }
  public ExprCode doGenCode(CodegenContext context, ExprCode code) { throw new UnsupportedOperationException(); }
  public Expression withNewChildInternal(Expression other) { return new Year(other); }
  public TreeNode withNewChildInternal(TreeNode other) { return new Year((Expression) other); }
  public int productArity() { return 1; }
  public Object productElement(int i) { return child; }
  public boolean canEqual(Object other) { return other instanceof Year; }
  public boolean equals(Object other) { return other instanceof Year && ((Year) other).child.equals(child); }
  public int hashCode() { return child.hashCode() + 1; }
}

class Builder extends scala.runtime.AbstractFunction1 {
  public Object apply(Object arguments) { return new Year((Expression) ((scala.collection.Seq) arguments).head()); }
}
"""


def test_a_class_that_is_called_as_one_of_sparks(lake: Lake) -> None:
    """Rows were lost: it was taken for monotone."""
    jvm = lake.spark._jvm
    assert jvm is not None
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(jvm.java.lang.Thread.currentThread().getContextClassLoader())
    compiler.cook(YEAR.replace("class Builder", "public class Builder"))
    none = lake.spark.sparkContext._gateway.new_array(jvm.java.lang.Object, 0)  # type: ignore[union-attr]
    builder = compiler.getClassLoader().loadClass("others.Builder").getConstructors()[0].newInstance(none)
    state = lake.spark._jsparkSession.sessionState()
    state.functionRegistry().createOrReplaceTempFunction("others_year", builder, "scala_udf")
    try:
        lake.file("a", {"day": pa.array([20000, 20003, 20007], pa.date32())})
        frame = lake.view()
        names = [lake.skipping.jvm.expression(frame.selectExpr(f"{name}(day)")) or {} for name in ("others_year", "year")]
        assert [tree["name"] for tree in names] == ["others.Year", "Year"]
    finally:
        state.catalog().dropTempFunction("others_year", True)


def class_in_a_jar(spark: SparkSession, path: Path, **more: str) -> Any:
    """A class of a jar that is loaded as those of users are; `more`: what the jar holds besides."""
    java: Any = spark._jvm
    name = "py4j/Base64.class"
    content = java.java.lang.Class.forName("py4j.Base64").getResourceAsStream("Base64.class").readAllBytes()
    with zipfile.ZipFile(path, "w") as jar:
        jar.writestr(name, bytes(content))
        for entry, text in more.items():
            jar.writestr(entry, text)
    gateway: Any = spark.sparkContext._gateway
    urls = gateway.new_array(java.java.net.URL, 1)
    urls[0] = java.java.io.File(str(path)).toURI().toURL()
    return java.java.net.URLClassLoader(urls, None).loadClass("py4j.Base64")


def test_code_of_the_same_name_in_another_jar(lake: Lake, tmp_path: Path) -> None:
    """A function of Hive's is told by the name of its class, one of Sedona's is its class: an index of the older code is not used."""
    spark = lake.spark
    gateway: Any = spark.sparkContext._gateway
    code = load(gateway, "data_skip", SOURCES).getClassLoader().loadClass("data_skip.Code")
    (of,) = (method for method in code.getMethods() if method.getName() == "of")

    def told(of_class: Any) -> str:
        arguments = gateway.new_array(gateway.jvm.Object, 1)
        arguments[0] = of_class
        return str(of.invoke(None, arguments))

    old, renamed, new = (class_in_a_jar(spark, tmp_path / name, notes=text) for name, text in (("a", "1"), ("b", "1"), ("c", "2")))
    assert told(old) == told(renamed) != told(new)
    assert all(len(told(each)) > 32 for each in (old, new))
    assert [told(gateway.jvm.Class.forName(name)) for name in ("java.lang.Math", "org.apache.spark.sql.catalyst.expressions.Cast")] == [
        "",
        "",
    ]


def test_functions_of_others_are_served(with_sedona: SparkSession, tmp_path: Path) -> None:
    lake = Lake(with_sedona, data_skip.enable(with_sedona), tmp_path / "table")
    for i in range(3):
        lake.file(str(i), {"x": [float(i)]})
    lake.index(MinMax("ST_X(ST_Point(x, 0D))"))
    lake.check("ST_X(ST_Point(x, 0D)) = 1", read=["1"])
    with_sedona.catalog.dropTempView("t")
