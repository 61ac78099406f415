"""Functions of Hive's, which are there without another jar, registered as an extension would register them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

# Builder makes the expression of a call.
_BUILDER = """
package others;

import org.apache.spark.sql.hive.*;

public class Builder extends scala.runtime.AbstractFunction1 {{
  public Object apply(Object arguments) {{
    String name = {function}.class.getName();
    HiveShim.HiveFunctionWrapper wrapper = new HiveShim.HiveFunctionWrapper(name, null, null);
    return new {expression}("{name}", wrapper, (scala.collection.immutable.Seq) arguments);
  }}
}}
"""


@contextmanager
def hive_function(spark: SparkSession, name: str, expression: str, function: str) -> Iterator[None]:
    """For a while, under this name a class of Hive's. expression: as HiveGenericUDF, by which Spark calls it."""
    jvm = spark._jvm
    assert jvm is not None
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(jvm.java.lang.Thread.currentThread().getContextClassLoader())
    compiler.cook(_BUILDER.format(name=name, expression=expression, function=f"org.apache.hadoop.hive.ql.udf.generic.{function}"))
    none = spark.sparkContext._gateway.new_array(jvm.java.lang.Object, 0)  # type: ignore[union-attr]
    builder = compiler.getClassLoader().loadClass("others.Builder").getConstructors()[0].newInstance(none)
    state = spark._jsparkSession.sessionState()
    state.functionRegistry().createOrReplaceTempFunction(name, builder, "hive")
    try:
        yield
    finally:
        state.catalog().dropTempFunction(name, True)
