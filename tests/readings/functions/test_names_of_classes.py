"""A function of others, whose class is called as one of Spark's: nothing that is known of Spark's is known of it."""

from __future__ import annotations

import pyarrow as pa

from tests.support import Lake

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
