"""geo_skip: data skipping for places; a plugin of data-skip.

In short:

    import data_skip, geo_skip
    from geo_skip import GeoBox

    weather = data_skip.enable(spark).table("data/weather")
    weather.create_index(GeoBox("lat", "lng"))
    spark.sql("SELECT max(temp) FROM weather WHERE ST_Contains(ST_GeomFromWKT('POLYGON(...)'), ST_Point(lng, lat))")

    geo_skip.register(spark)  # without Sedona
    spark.sql("SELECT max(temp) FROM weather WHERE ST_CONTAINS('POLYGON(...)', lat, lng)")
"""

from geo_skip.geo_box import GeoBox
from geo_skip.recipes import recipe
from geo_skip.registering import register
from geo_skip.s2_covering import S2Covering

__all__ = ["GeoBox", "S2Covering", "recipe", "register"]
