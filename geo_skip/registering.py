"""register(spark): ST_CONTAINS(region, lat, lng) and its like, in SQL."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from pyspark.sql import SparkSession

_OVERLOADED = "geo_skip.ThreeArguments"
_NEEDED = ("ST_Point", "ST_GeomFromWKT", "ST_GeomFromGeoJSON", "ST_GeomFromWKB")


def register(spark: SparkSession) -> None:
    """Makes ST_CONTAINS, ST_INTERSECTS and ST_DISTANCE of (region, lat, lng) known to a session's SQL.

        geo_skip.register(spark)
        spark.sql("SELECT max(temp) FROM weather WHERE ST_CONTAINS('POLYGON((68 8, 97 8, 97 36, 68 36, 68 8))', lat, lng)")

    A region is WKT or GeoJSON as text, or WKB as binary; lat and lng are numbers. ST_CONTAINS leaves out the border, ST_INTERSECTS
    does not; ST_DISTANCE is planar, in degrees. NULL where one of the three is.

    In a session that has Sedona's functions, these take three arguments besides their own two: Sedona computes. Elsewhere shapely does, in
    Python. So where Sedona is used, register after SedonaContext.create(spark).
    """
    from geo_skip.functions import FUNCTIONS  # pandas takes its time

    if spark.catalog.functionExists("ST_Point"):
        _overload(spark, list(FUNCTIONS))
        return
    from pyspark.sql.pandas.functions import pandas_udf

    vectorised: Any = pandas_udf
    for name, (function, type_) in FUNCTIONS.items():
        spark.udf.register(name, vectorised(function, type_))


def _overload(spark: SparkSession, names: list[str]) -> None:
    """Wraps the builders of Sedona's functions. A builder makes the expression of a call from those of its arguments."""
    jvm: Any = spark.sparkContext._jvm
    registry = spark._jsparkSession.sessionState().functionRegistry()

    def identifier(name: str) -> Any:
        return jvm.org.apache.spark.sql.catalyst.FunctionIdentifier(name)

    def builder(name: str) -> Any:
        return registry.lookupFunctionBuilder(identifier(name)).get()

    others = [builder(name) for name in _NEEDED]
    class_ = None
    for name in names:
        sedona = builder(name)
        if sedona.getClass().getName() == _OVERLOADED:
            continue
        class_ = class_ or _compiled(jvm)
        gateway: Any = spark.sparkContext._gateway
        types, arguments = gateway.new_array(jvm.Class, 5), gateway.new_array(jvm.Object, 5)
        for i, argument in enumerate([sedona, *others]):
            types[i], arguments[i] = jvm.java.lang.Class.forName("scala.Function1"), argument
        overloaded = class_.getDeclaredConstructor(types).newInstance(arguments)
        registry.registerFunction(identifier(name), registry.lookupFunction(identifier(name)).get(), overloaded)


def _compiled(jvm: Any) -> Any:
    """The class of ThreeArguments.java, compiled in the session by Janino, which ships inside Spark."""
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(jvm.java.lang.Thread.currentThread().getContextClassLoader())
    compiler.cook("ThreeArguments.java", files(__package__).joinpath("ThreeArguments.java").read_text("utf-8"))
    return compiler.getClassLoader().loadClass(_OVERLOADED)
