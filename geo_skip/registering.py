"""register(spark): ST_CONTAINS(region, lat, lng) and its like, in SQL."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import SparkSession

from data_skip.plugin import instance, load, refuse_no_session

_OVERLOADED = "ThreeArguments"
_NEEDED = ("ST_Point", "ST_GeomFromWKT", "ST_GeomFromGeoJSON", "ST_GeomFromWKB")


def register(spark: SparkSession) -> None:
    """Makes ST_CONTAINS, ST_INTERSECTS and ST_DISTANCE of (region, lat, lng) known to a session's SQL.

        geo_skip.register(spark)
        spark.sql("SELECT max(temp) FROM weather WHERE ST_CONTAINS('POLYGON((68 8, 97 8, 97 36, 68 36, 68 8))', lat, lng)")

    A region is WKT or GeoJSON as text, or WKB as binary; lat and lng are numbers. ST_CONTAINS leaves out the border, ST_INTERSECTS
    does not; ST_DISTANCE is planar, in degrees. NULL where one of the three is.

    In a session that has Sedona's functions, these take three arguments besides their own two: Sedona computes. Elsewhere shapely does, in
    Python; a filter by a constant region asks there only about points in the box around it. So where Sedona is used, register after
    SedonaContext.create(spark).
    """
    refuse_no_session(spark)
    from geo_skip.functions import FUNCTIONS, WITHIN, bounds  # pandas takes its time

    if spark.catalog.functionExists("ST_Point"):
        _overload(spark, list(FUNCTIONS))
        return
    from pyspark.sql.pandas.functions import pandas_udf

    vectorised: Any = pandas_udf
    jvm: Any = spark.sparkContext._jvm
    names, within = jvm.java.util.HashMap(), jvm.java.util.HashMap()
    for name, (function, type_) in FUNCTIONS.items():
        registered: Any = spark.udf.register(name, vectorised(function, type_))
        command = registered._judf.func().command()
        names[command] = name
        if name in WITHIN:
            within[command] = name
    gateway: Any = spark.sparkContext._gateway
    ensure_callback_server_started(gateway)
    _instance(spark, "ConstantRegions", "java.util.Map", [names]).install(spark._jsparkSession)
    _instance(spark, "RegionBoxes", "java.util.Map", [within]).install(spark._jsparkSession, _Box(bounds))


class _Box:
    """What RegionBoxes.java asks: the box of a region."""

    def __init__(self, bounds: Callable[[str | bytes], tuple[float, ...] | None]) -> None:
        self.bounds = bounds

    def apply(self, region: str | bytes) -> str:
        """West, south, east, north; "" where there is none."""
        return " ".join(map(repr, self.bounds(region) or ()))

    class Java:
        implements = ("java.util.function.Function",)


def _overload(spark: SparkSession, names: list[str]) -> None:
    """Wraps the builders of Sedona's functions. A builder makes the expression of a call from those of its arguments."""
    jvm: Any = spark.sparkContext._jvm
    registry = spark._jsparkSession.sessionState().functionRegistry()

    def identifier(name: str) -> Any:
        return jvm.org.apache.spark.sql.catalyst.FunctionIdentifier(name)

    def builder(name: str) -> Any:
        return registry.lookupFunctionBuilder(identifier(name)).get()

    others = [builder(name) for name in _NEEDED]
    for name in names:
        sedona = builder(name)
        if sedona.getClass().getSimpleName() == _OVERLOADED:
            continue
        overloaded = _instance(spark, _OVERLOADED, "scala.Function1", [sedona, *others])
        registry.registerFunction(identifier(name), registry.lookupFunction(identifier(name)).get(), overloaded)


def _instance(spark: SparkSession, name: str, type_: str, arguments: list[Any]) -> Any:
    """A new object of a Java class of this package whose constructor takes arguments of one type."""
    gateway: Any = spark.sparkContext._gateway
    return instance(gateway, load(gateway, "geo_skip", (f"{name}.java",)), type_, arguments)
