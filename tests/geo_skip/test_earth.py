"""The Earth's odd places, and geometry that is odd itself: rows are the same with skipping and without (TRAPS L)."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pyarrow as pa
import pytest
import shapely

from data_skip import DataSkipWarning, Index, MinMax
from data_skip.testing import check_index
from geo_skip import GeoBox, S2Covering
from tests.support import Lake

NAN, INF = float("nan"), float("inf")
POINT = "ST_Point(lng, lat)"
SERVING: dict[str, list[Index]] = {
    "MinMax": [MinMax("lat"), MinMax("lng")],
    "GeoBox": [GeoBox("lat", "lng", boxes=2)],
    "S2Covering": [S2Covering("lat", "lng")],
}
FILES = {
    "east": [(10.0, 179.9), (-10.0, 180.0)],
    "west": [(10.0, -179.9), (-10.0, -180.0)],
    "both": [(0.0, 179.5), (0.0, -179.5)],
    "north": [(90.0, 0.0), (89.9, -170.0), (89.9, 10.0)],
    "south": [(-90.0, 77.0), (-89.95, 180.0)],
    "null": [(0.0, 0.0), (-0.0, -0.0), (None, 0.0), (0.0, None), (None, None)],
    "border": [(5.0, 0.0), (0.0, 5.0), (10.0, 10.0)],
    "inside": [(5.0, 5.0), (4.9, 5.1)],
}
ODD = {
    "beyond": [(95.0, 10.0), (10.0, 185.0), (10.0, 539.0)],
    "nan": [(NAN, 5.0), (5.0, NAN), (NAN, NAN)],
    "infinite": [(INF, 0.0), (0.0, -INF)],
    "huge": [(-37.8, 1e300), (-35.3, 8.4e299)],
}
WHERE = [
    f"ST_Contains(ST_GeomFromWKT('POLYGON((170 -20, 190 -20, 190 20, 170 20, 170 -20))'), {POINT})",  # beyond 180
    f"ST_Contains(ST_GeomFromWKT('POLYGON((170 -20, -170 -20, -170 20, 170 20, 170 -20))'), {POINT})",  # L4: planar, over Africa
    f"ST_Contains(ST_GeomFromWKT('MULTIPOLYGON(((170 -9, 180 -9, 180 9, 170 -9)),((-180 -9,-170 -9,-170 9,-180 -9)))'), {POINT})",
    f"ST_Intersects(ST_GeomFromWKT('LINESTRING(180 -90, 180 90)'), {POINT})",
    f"ST_Intersects(ST_GeomFromWKT('LINESTRING(-180 90, 180 90)'), {POINT})",
    f"ST_Intersects(ST_PolygonFromEnvelope(-180.0, 89.0, 180.0, 90.0), {POINT})",
    f"ST_Intersects(ST_PolygonFromEnvelope(0.0, 0.0, 10.0, 10.0), {POINT})",
    f"ST_Contains(ST_PolygonFromEnvelope(0.0, 0.0, 10.0, 10.0), {POINT})",
    f"NOT ST_Intersects(ST_PolygonFromEnvelope(0.0, 0.0, 10.0, 10.0), {POINT})",
    f"NOT ST_Contains(ST_PolygonFromEnvelope(0.0, 0.0, 10.0, 10.0), {POINT})",
    f"NOT ST_Contains(ST_GeomFromWKT('POLYGON((0 0, 10 0, 10 10, 0 10, 0 0), (4 4, 6 4, 6 6, 4 6, 4 4))'), {POINT})",  # L10
    f"ST_Touches(ST_PolygonFromEnvelope(0.0, 0.0, 10.0, 10.0), {POINT})",
    f"ST_Contains(ST_GeomFromWKT('POLYGON((0 0, 10 10, 10 0, 0 10, 0 0))'), {POINT})",  # L17: a bow-tie
    f"NOT ST_Contains(ST_GeomFromWKT('POLYGON((0 0, 10 10, 10 0, 0 10, 0 0))'), {POINT})",
    f"ST_Intersects(ST_GeomFromWKT('GEOMETRYCOLLECTION(POINT(5 5), LINESTRING(179 0, 180 0))'), {POINT})",
    f"ST_Contains(ST_GeomFromWKT('POLYGON((0 0, 0 10, 10 10, 10 0, 0 0))'), {POINT})",  # the other way round
    f"ST_Intersects(ST_GeomFromWKT('POLYGON EMPTY'), {POINT})",
    f"ST_Disjoint(ST_GeomFromWKT('POLYGON EMPTY'), {POINT})",
    f"{POINT} IS NULL",
    f"ST_Contains(ST_PolygonFromEnvelope(-1000.0, -1000.0, 1000.0, 1000.0), {POINT})",
    f"ST_Distance(ST_Point(180.0, 0.0), {POINT}) < 15",
    f"ST_Distance(ST_Point(10.0, 10.0), {POINT}) <= 0",
    f"ST_Distance(ST_Point(0.0, 0.0), {POINT}) = 5",
    f"ST_DistanceSphere(ST_Point(180.0, 0.0), {POINT}) < 1200000",
    f"ST_DistanceSphere(ST_Point(-180.0, 0.0), {POINT}) < 60000",
    f"ST_DistanceSphere(ST_Point(10.0, 89.9), {POINT}) < 23000",  # L15: over the pole
    f"ST_DistanceSpheroid(ST_Point(10.0, 89.9), {POINT}) < 23000",
    f"ST_DistanceSphere(ST_Point(0.0, 0.0), {POINT}) > 20015000",
    f"ST_DistanceSpheroid(ST_Point(0.0, 0.0), {POINT}) > 20003000",
    f"NOT (ST_DistanceSphere(ST_Point(0.0, 0.0), {POINT}) < 10000000)",
    f"ST_DistanceSphere(ST_Point(-3.0, -95.0), {POINT}) < 2000000",
    f"ST_DistanceSphere(ST_GeomFromWKT('POLYGON((100 0, 120 20, 120 0, 100 24, 100 0))'), {POINT}) < 8000000",  # from (73 15)
    f"ST_Distance(ST_GeomFromWKT('LINESTRING(-134 20, 45 20)'), {POINT}) = 1e300",
    f"ST_Intersects(ST_GeomFromWKT('LINESTRING(1e18 -37.8, 1e300 -35.3)'), {POINT})",
]


@pytest.mark.parametrize("name", SERVING)
def test_rows_are_the_same(sedona: Lake, name: str) -> None:
    for file, points in (FILES | ODD).items():
        sedona.file(f"{file}.parquet", {"lat": [lat for lat, _ in points], "lng": [lng for _, lng in points]})
    with pytest.warns(DataSkipWarning, match="beyond 90 degrees") if name != "MinMax" else nullcontext():
        sedona.index(*SERVING[name])
    reads = sedona.reads(*WHERE)
    assert sum(len(read) < len(FILES | ODD) for read in reads) >= 20, list(zip(reads, WHERE, strict=True))


IN_PYTHON = [
    "ST_CONTAINS('POLYGON((170 -20, 190 -20, 190 20, 170 20, 170 -20))', lat, lng)",
    "ST_CONTAINS('MULTIPOLYGON(((170 -11, 181 -11, 181 11, 170 -11)),((-181 -11,-170 -9,-170 9,-181 -11)))', lat, lng)",
    "ST_INTERSECTS('LINESTRING(180 -90, 180 90)', lat, lng)",
    "ST_INTERSECTS('LINESTRING(-180 90, 180 90)', lat, lng)",
    "ST_CONTAINS('POLYGON((0 0, 10 0, 10 10, 0 10, 0 0))', lat, lng)",
    "ST_INTERSECTS('POLYGON((0 0, 10 0, 10 10, 0 10, 0 0))', lat, lng)",
    "NOT ST_INTERSECTS('POLYGON((0 0, 10 0, 10 10, 0 10, 0 0))', lat, lng)",
    "NOT ST_CONTAINS('POLYGON((0 0, 10 0, 10 10, 0 10, 0 0), (4 4, 6 4, 6 6, 4 6, 4 4))', lat, lng)",
    "ST_CONTAINS('POLYGON((0 0, 10 10, 10 0, 0 10, 0 0))', lat, lng)",
    "ST_INTERSECTS('POLYGON EMPTY', lat, lng)",
    "ST_DISTANCE('POINT(180 0)', lat, lng) < 15",
    "ST_CONTAINS(CAST(NULL AS STRING), lat, lng) IS NULL AND ST_INTERSECTS('POINT(5 5)', lat, lng)",
]


def test_rows_are_the_same_by_functions_in_python(plain: Lake) -> None:
    for file, points in (FILES | ODD).items():
        plain.file(f"{file}.parquet", {"lat": [lat for lat, _ in points], "lng": [lng for _, lng in points]})
    with pytest.warns(DataSkipWarning, match="beyond 90 degrees"):
        plain.index(*(index for indexes in SERVING.values() for index in indexes))
    reads = plain.reads(*IN_PYTHON)
    assert sum(len(read) < len(FILES | ODD) for read in reads) >= 10, list(zip(reads, IN_PYTHON, strict=True))


def test_odd_places_keep_their_files(sedona: Lake) -> None:
    for file, points in (FILES | ODD).items():
        sedona.file(f"{file}.parquet", {"lat": [lat for lat, _ in points], "lng": [lng for _, lng in points]})
    with pytest.warns(DataSkipWarning):
        sedona.index(GeoBox("lat", "lng"))
    box = "ST_PolygonFromEnvelope(4.0, 4.0, 6.0, 6.0)"
    sedona.check(f"ST_Contains({box}, {POINT})", read=["inside.parquet", "nan.parquet", "infinite.parquet", "huge.parquet"])
    odd = [f"{name}.parquet" for name in ODD]
    sedona.check("lat BETWEEN 94 AND 96 AND lng < 11", read=["null.parquet", *odd])


def test_swapped_coordinates_are_warned_of(sedona: Lake) -> None:
    sedona.file("a.parquet", {"lat": [77.2, 151.2, None, NAN], "lng": [28.6, -33.9, 0.0, 0.0]})
    for index in (GeoBox("lat", "lng"), S2Covering("lat", "lng")):
        with pytest.warns(DataSkipWarning, match="some latitudes in lat are beyond 90 degrees; if lat and lng were swapped"):
            sedona.table().create_index(index)
    sedona.table().create_index(GeoBox("lng", "lat"))  # no warning


def test_planar_edges_are_not_geodesics(sedona: Lake) -> None:
    """A covering of the polygon's corners by geodesics would lose points near its northern and southern edges (TRAPS L1, L2)."""
    random = np.random.default_rng(8)
    for i in range(40):
        lat, lng = 48.0 + i / 20, random.uniform(-120, -70, 20)
        sedona.file(f"{i}.parquet", {"lat": np.full(20, lat), "lng": lng})
    sedona.index(S2Covering("lat", "lng", max_level=14, max_cells=40))
    for region in (
        "POLYGON((-120 49, -70 49, -70 49.2, -120 49.2, -120 49))",
        "POLYGON((-120 48, -70 49.5, -70 49.6, -120 48.1, -120 48))",
    ):
        report = sedona.check(f"ST_Intersects(ST_GeomFromWKT('{region}'), {POINT})")
        assert report.files_skipped > 5


def test_float_columns_and_casts(sedona: Lake) -> None:
    """TRAPS L25: 0.1f is 0.10000000149."""
    sedona.file("a.parquet", {"lat": pa.array([0.1], pa.float32()), "lng": pa.array([7], pa.int16())})
    sedona.file("b.parquet", {"lat": pa.array([50.0], pa.float32()), "lng": pa.array([7], pa.int16())})
    sedona.index(GeoBox("lat", "lng"), MinMax("lat"), MinMax("lng"), S2Covering("CAST(lat AS DOUBLE)", "lng"))
    for where in (f"ST_Intersects(ST_Point(7.0, CAST(0.1F AS DOUBLE)), {POINT})", "lat > 0.1 AND lat < 1 AND lng = 7"):
        report = sedona.check(where, read=["a.parquet"])
        assert report.files_skipped == 1


def test_decimals_by_their_cast(sedona: Lake) -> None:
    sedona.file("a.parquet", {"lat": pa.array([1], pa.decimal128(9, 6)), "lng": pa.array([2], pa.decimal128(9, 6))})
    sedona.index(GeoBox("CAST(lat AS DOUBLE)", "CAST(lng AS DOUBLE)"))
    sedona.check("ST_Intersects(ST_PolygonFromEnvelope(10.0, 10.0, 20.0, 20.0), ST_Point(lng, lat))", read=[])
    sedona.check("ST_Intersects(ST_PolygonFromEnvelope(0.0, 0.0, 20.0, 20.0), ST_Point(lng, lat))", read=["a.parquet"])


@pytest.mark.parametrize("index", [GeoBox("lat", "lng", boxes=3), S2Covering("lat", "lng", max_cells=5)], ids=str)
def test_check_index(sedona: Lake, index: Index) -> None:
    random = np.random.default_rng(9)
    rows = [{"lat": lat, "lng": lng} for points in (FILES | ODD).values() for lat, lng in points]
    rows += [
        {"lat": float(lat), "lng": float(lng)} for lat, lng in zip(random.uniform(-90, 90, 40), random.uniform(-180, 180, 40), strict=True)
    ]
    predicates = [
        *WHERE[::3],
        f"ST_Contains(ST_Buffer(ST_Point(50.0, 50.0), 20.0), {POINT})",
        f"ST_Distance(ST_Point(50.0, 50.0), {POINT}) < 9 OR lat IS NULL",
    ]
    with pytest.warns(DataSkipWarning):
        checked = check_index(index, rows, predicates, sedona.spark)
    assert sum(bool(files) for files in checked.skipped.values()) >= 7, str(checked)


def test_check_index_over_geometry(sedona: Lake) -> None:
    random = np.random.default_rng(10)
    shapes = [shapely.Point(*p).buffer(r).wkt for p, r in zip(random.uniform(-60, 60, (25, 2)), random.uniform(0.1, 9, 25), strict=True)]
    rows = [{"g": text} for text in [*shapes, "POINT EMPTY", None, "LINESTRING(-170 0, 170 1)", "POLYGON((0 0, 2 2, 2 0, 0 2, 0 0))"]]
    geometry = "ST_GeomFromWKT(g)"
    predicates = [
        f"ST_Intersects({geometry}, ST_PolygonFromEnvelope(10.0, 10.0, 30.0, 20.0))",
        f"ST_Contains({geometry}, ST_Point(20.0, -20.0))",
        f"ST_Distance({geometry}, ST_Point(20.0, -20.0)) < 3",
        f"NOT ST_Intersects(ST_PolygonFromEnvelope(-180.0, -90.0, 180.0, 90.0), {geometry})",
        f"ST_Distance({geometry}, ST_Point(0.0, 0.0)) > 50",
    ]
    for index in (GeoBox("g", boxes=2), S2Covering("g", max_cells=9, max_level=10)):
        checked = check_index(index, rows, predicates, sedona.spark)
        assert all(checked.skipped.values()), str(checked)
