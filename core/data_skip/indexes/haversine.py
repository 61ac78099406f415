"""The distance on the sphere as a formula in SQL, of which Spark computes every value."""

from __future__ import annotations

EARTH = 6371008.8  # metres, the mean radius
MARGIN = 10.0  # metres: rounding near poles and antipodes is below 0.2 for each of three distances
FARTHEST_TURN = 720.0  # degrees: beyond, rounding grows


def great_circle(lat: str, lng: str, to_lat: float | str, to_lng: float | str) -> str:
    """SQL for the distance on the sphere in metres between (lat, lng) and a point, all in degrees, as `MetricDistance` knows it.

        spark.sql(f"SELECT * FROM weather WHERE {great_circle('lat', 'lng', 48.1, 11.5)} < 50000")

    The haversine formula, with cos(a) * cos(b) as 1 - sin((a - b) / 2)^2 - sin((a + b) / 2)^2: so the point's coordinates stand in
    it as they are, and a query's formula can be compared with the index's.
    """
    a, b = (f"CAST({c!r} AS DOUBLE)" if isinstance(c, int | float) else c for c in (to_lat, to_lng))

    def squared_half_sine(degrees: str) -> str:
        return f"power(sin(radians({degrees}) * 0.5D), 2D)"

    apart, sum_, across = squared_half_sine(f"({lat}) - {a}"), squared_half_sine(f"({lat}) + {a}"), squared_half_sine(f"({lng}) - {b}")
    haversine = f"{apart} + (1D - {apart} - {sum_}) * {across}"
    return f"{2 * EARTH}D * atan2(sqrt(abs({haversine})), sqrt(abs(1D - ({haversine}))))"  # not least(): it passes over NULL


# Of the constants of that formula, in order: which are coordinates of the point, and which one.
_HAVERSINE = (0, None, None, None, 0, None, None, 0, None, None, 1, None, None)
HOLES = (None, *_HAVERSINE, None, *_HAVERSINE)
