"""Geometry columns: WKB, WKT, GeoJSON, and Sedona's own type."""

from __future__ import annotations

import pickle

import numpy as np
import pyarrow as pa
import pytest
import shapely
from pyspark.sql import functions as F

from data_skip import DataSkipError
from geo_skip import GeoBox, S2Covering
from geo_skip.questions import Region
from tests.support import Lake

SHAPES = {
    "line.parquet": ["LINESTRING(-5 5, 15 5)", "POINT(0 5)"],
    "big.parquet": ["POLYGON((20 20, 60 20, 60 60, 20 60, 20 20))"],
    "far.parquet": ["MULTIPOINT((100 10), (110 12))", None, "POINT(-100 -40)"],
    "empty.parquet": ["POINT EMPTY", "POINT(70 70)", None],
}
EVERY = list(SHAPES)
EMPTY = "empty.parquet"
BOX = "ST_PolygonFromEnvelope(0.0, 0.0, 1.0, 10.0)"

# {g} stands for the geometry.
CASES = [
    (f"ST_Intersects({{g}}, {BOX})", ["line.parquet"]),  # by its inside, not a vertex: TRAPS L11
    (f"ST_Crosses({BOX}, {{g}})", ["line.parquet"]),
    ("ST_Contains({g}, ST_Point(30.0, 30.0))", ["big.parquet"]),  # L12: the constant is far smaller than the box
    ("ST_Covers({g}, ST_Point(20.0, 20.0))", ["big.parquet"]),
    ("ST_Within(ST_Point(30.0, 30.0), {g})", ["big.parquet"]),
    ("ST_CoveredBy({g}, ST_PolygonFromEnvelope(90.0, 0.0, 120.0, 20.0))", ["far.parquet"]),
    ("ST_Equals({g}, ST_GeomFromWKT('LINESTRING(15 5, -5 5)'))", ["line.parquet"]),
    ("ST_Touches({g}, ST_PolygonFromEnvelope(60.0, 60.0, 65.0, 65.0))", ["big.parquet"]),
    ("ST_Overlaps({g}, ST_PolygonFromEnvelope(50.0, 50.0, 65.0, 65.0))", ["big.parquet"]),
    ("ST_Distance({g}, ST_Point(0.0, 7.0)) <= 2", ["line.parquet", EMPTY]),
    ("ST_DWithin({g}, ST_Point(0.0, 7.0), 2.0)", ["line.parquet", EMPTY]),
    ("ST_Distance({g}, ST_Point(0.0, 7.0)) > 100", ["far.parquet", EMPTY]),
    ("NOT ST_Intersects({g}, ST_PolygonFromEnvelope(10.0, 10.0, 70.0, 70.0))", ["line.parquet", "far.parquet", EMPTY]),
    ("ST_Disjoint({g}, ST_PolygonFromEnvelope(10.0, 10.0, 70.0, 70.0))", ["line.parquet", "far.parquet", EMPTY]),
    ("NOT ST_Contains(ST_PolygonFromEnvelope(10.0, 10.0, 70.0, 70.0), {g})", ["line.parquet", "far.parquet", EMPTY]),
    ("ST_IsEmpty({g})", EVERY),
    ("NOT ST_Contains({g}, ST_Point(30.0, 30.0))", EVERY),
    ("ST_Intersects(ST_FlipCoordinates({g}), ST_Point(30.0, 30.0))", EVERY),
]


def write(lake: Lake, column: str) -> None:
    for name, texts in SHAPES.items():
        shapes = [None if text is None else shapely.from_wkt(text) for text in texts]
        match column:
            case "wkb":
                lake.file(name, {"g": pa.array([None if s is None else shapely.to_wkb(s) for s in shapes], pa.binary())})
            case "wkt":
                lake.file(name, {"g": pa.array(texts, pa.string())})
            case "geojson":
                lake.file(name, {"g": [shapely.to_geojson(s) for s in shapes if s]})  # of NULL and empty ones Sedona raises errors
            case "udt":
                frame = lake.spark.createDataFrame([(text,) for text in texts], "g string")
                lake.spark_file(name, frame.select(F.expr("ST_GeomFromWKT(g)").alias("g")))


def check(lake: Lake, geometry: str) -> None:
    cases = [(where.replace("{g}", geometry), set(read)) for where, read in CASES]
    reads = lake.reads(*(where for where, _ in cases))
    assert list(zip((where for where, _ in cases), reads, strict=True)) == cases
    for where, read in cases[::6]:
        lake.check(where, read)


@pytest.mark.parametrize("index", [GeoBox("g"), S2Covering("g", max_cells=64)], ids=["GeoBox", "S2Covering"])
def test_wkb(sedona: Lake, index: GeoBox) -> None:
    write(sedona, "wkb")
    sedona.index(index)
    check(sedona, "ST_GeomFromWKB(g)")


def test_sedonas_own_type(sedona: Lake) -> None:
    write(sedona, "udt")
    sedona.index(GeoBox("g"), S2Covering("g"))
    check(sedona, "g")


def test_text(sedona: Lake) -> None:
    write(sedona, "wkt")
    sedona.index(GeoBox("g"))
    for reader in ("ST_GeomFromWKT(g)", "ST_GeomFromText(g)", "ST_GeomFromWKT(g, 4326)", "ST_SetSRID(ST_GeomFromWKT(g), 3857)"):
        sedona.check(f"ST_Intersects({BOX}, {reader})", read=["line.parquet"])


def test_geojson(sedona: Lake) -> None:
    write(sedona, "geojson")
    sedona.index(S2Covering("g"), GeoBox("ST_GeomFromGeoJSON(g)"))
    sedona.check(f"ST_Intersects({BOX}, ST_GeomFromGeoJSON(g))", read=["line.parquet"])
    sedona.check("ST_Contains(ST_GeomFromGeoJSON(g), ST_Point(30.0, 30.0))", read=["big.parquet"])


def test_any_expression_of_geometry(sedona: Lake) -> None:
    write(sedona, "wkb")
    sedona.index(GeoBox("ST_FlipCoordinates(ST_GeomFromWKB(g))"))
    sedona.check("ST_Intersects(ST_FlipCoordinates(ST_GeomFromWKB(g)), ST_Point(11.0, 50.0))", read=[])
    sedona.check("ST_Intersects(ST_FlipCoordinates(ST_GeomFromWKB(g)), ST_Point(12.0, 110.0))", read=["far.parquet"])
    sedona.check(f"ST_Intersects(ST_GeomFromWKB(g), {BOX})", read=EVERY)


def test_the_centre_of_a_geometry_lies_in_its_envelope_but_in_none_of_its_cells(sedona: Lake) -> None:
    """ST_DistanceSphere measures from centroids."""
    ring = "POLYGON((0 0, 40 0, 40 40, 39 40, 39 1, 1 1, 1 40, 0 40, 0 0))"  # a U
    sedona.file("a.parquet", {"g": [ring]})
    crossed = "POLYGON((100 0, 120 20, 120 0, 100 24, 100 0))"  # its centroid lies 27 degrees west of it
    sedona.file("b.parquet", {"g": ["POINT(100 0)"]})
    sedona.file("crossed.parquet", {"g": [crossed]})
    sedona.index(GeoBox("g"), S2Covering("g", max_cells=200, max_level=8))
    for text, read in ((ring, ["a.parquet", "crossed.parquet"]), (crossed, ["crossed.parquet"])):
        centre = shapely.centroid(shapely.from_wkt(text))
        sedona.check(f"ST_DistanceSphere(ST_GeomFromWKT(g), ST_Point({centre.x}, {centre.y})) < 1000", read=read)


def test_odd_geometry_keeps_its_file(sedona: Lake) -> None:
    point = shapely.to_wkb(shapely.Point(1, 1))
    odd = point[:5] + shapely.to_wkb(shapely.Point(float("nan"), 1))[5:]
    sedona.file("nan.parquet", {"g": [point, odd]})
    sedona.file("beyond.parquet", {"g": [shapely.to_wkb(shapely.Point(200, 95))]})
    sedona.file("huge.parquet", {"g": [shapely.to_wkb(shapely.Point(1e300, 1))]})  # sums and products overflow
    sedona.file("broken.parquet", {"g": [point, b"\x01\x02"]})
    sedona.file("plain.parquet", {"g": [point]})
    table = sedona.table()
    report = table.create_index(GeoBox("g"), S2Covering("g"))
    assert "is unknown for some files" in str(report)
    box = "ST_PolygonFromEnvelope(199.0, 94.0, 201.0, 96.0)"
    read = [path.rsplit("/", 1)[-1] for path in table.files(f"ST_Intersects(ST_GeomFromWKB(g), {box})")]
    assert sorted(read) == ["beyond.parquet", "broken.parquet", "huge.parquet", "nan.parquet"]


def test_refuses_what_is_no_place(sedona: Lake) -> None:
    sedona.file("a.parquet", {"s": ["x"], "l": [[1.0]], "x": [1.0]})
    with pytest.raises(DataSkipError, match="cast it to double"):
        sedona.table().create_index(GeoBox("s", "x"))
    with pytest.raises(DataSkipError, match="are no geometry"):
        sedona.table().create_index(S2Covering("l"))
    with pytest.raises(ValueError, match="takes a geometry, or"):
        GeoBox("a", "b", "c")
    with pytest.raises(ValueError, match="boxes is how many"):
        GeoBox("a", boxes=0)
    with pytest.raises(ValueError, match="max_level is a whole number from 0 to 30"):
        S2Covering("a", max_level=31)
    with pytest.raises(ValueError, match="max_cells is a whole number"):
        S2Covering("a", max_cells=True)


def test_a_region_is_prepared_in_another_process_as_well() -> None:
    """Else a task would take a hundred times as long as the driver: shapely pickles nothing of that."""
    region = pickle.loads(pickle.dumps(Region(shapely.Point(0, 0).buffer(1))))
    assert shapely.is_prepared(region.shape)
    assert region.meets(np.array([[0.0, 0.0, 0.5, 0.5], [5.0, 5.0, 6.0, 6.0]])).tolist() == [True, False]
