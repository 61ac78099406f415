"""Shapes and coordinates as Sedona, GeoParquet and WKB have them: boxes of other files, collapsed geometry, poles, bytes in two forms."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
import shapely
from pyspark.sql import SparkSession
from pyspark.sql.types import LongType, StructField, StructType

import data_skip
from data_skip import DataSkipError, Index, MinMax
from geo_skip import GeoBox, S2Covering
from tests.geo_skip.conftest import with_sedona
from tests.support import Lake, aged

__all__ = ["with_sedona"]  # fixtures
INSIDE = "ST_GeomFromWKT('POLYGON((0 0, 20 0, 20 19, 0 20, 0 0))')"
NOT_INSIDE = (
    "NOT ST_Within({g}, {r})",
    "NOT ST_CoveredBy({g}, {r})",
    "NOT ST_Contains({r}, {g})",
    "NOT ST_Covers({r}, {g})",
    "NOT ST_Intersects({g}, {r})",
    "ST_Disjoint({r}, {g})",
)


@pytest.fixture
def sedona(with_sedona: SparkSession, tmp_path: Path) -> Iterator[Lake]:
    """An empty folder for a table, queried with Sedona's functions."""
    yield Lake(with_sedona, data_skip.enable(with_sedona), tmp_path / "table")
    with_sedona.catalog.dropTempView("t")


def test_no_index_over_a_default_of_geoparquet(sedona: Lake) -> None:
    """Its reader reads row by row, whatever is set: what a default is goes by the columns that a query asks for."""
    sedona.spark_file("a.parquet", sedona.spark.sql("SELECT 1L AS b, ST_Point(1.0, 2.0) AS geometry"), "geoparquet")
    seven = {"CURRENT_DEFAULT": "7", "EXISTS_DEFAULT": "7"}
    schema = StructType([StructField("a", LongType(), True, seven), StructField("b", LongType())])
    with pytest.raises(DataSkipError, match="has a DEFAULT: in queries that read Parquet row by row"):
        sedona.index(MinMax("a"), format="geoparquet", schema=schema)
    sedona.index(MinMax("b"), format="geoparquet", schema=schema)


def wkb(lake: Lake, shapes: dict[str, Any]) -> None:
    """A file for each geometry, named after it."""
    for name, shape in shapes.items():
        lake.file(name, {"g": [shapely.to_wkb(shapely.from_wkt(shape) if isinstance(shape, str) else shape)]})


def geoparquet(path: Path, shapes: list[Any], bbox: list[float], *, covering: bool) -> Path:
    """A file that says that all of its geometry lies in one box; `covering`: it also says where the boxes of its rows are."""
    sides = ("xmin", "ymin", "xmax", "ymax")
    rows = [dict(zip(sides, shapely.bounds(shape).tolist(), strict=True)) for shape in shapes]
    column: dict[str, Any] = {"encoding": "WKB", "geometry_types": [], "bbox": bbox}
    if covering:
        column["covering"] = {"bbox": {side: ["bbox", side] for side in sides}}
    geo = {"version": "1.1.0", "primary_column": "geometry", "columns": {"geometry": column}}
    table = pa.table({"geometry": [shapely.to_wkb(shape) for shape in shapes], "bbox": pa.array(rows)})
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table.replace_schema_metadata({"geo": json.dumps(geo)}), path)
    return path


def test_the_bbox_of_geoparquet_is_that_of_another_file_once_it_was_compacted(sedona: Lake, tmp_path: Path) -> None:
    parts = [geoparquet(tmp_path / f"{x}.parquet", [shapely.Point(x, x)], [x, x, x, x], covering=False) for x in (1.0, 50.0)]
    ds.write_dataset(ds.dataset([str(part) for part in parts]), sedona.folder, format="parquet", basename_template="both-{i}.parquet")
    for path in sedona.folder.iterdir():
        aged(path)
    aged(geoparquet(sedona.folder / "far.parquet", [shapely.Point(100, 80)], [100, 80, 100, 80], covering=False))
    sedona.index(GeoBox("geometry"))
    for x in (1.0, 50.0):
        sedona.check(f"ST_Intersects(ST_GeomFromWKB(geometry), ST_Point({x}, {x}))", read=["both-0.parquet"])


def test_a_vertex_that_is_no_number_is_in_no_bbox(sedona: Lake) -> None:
    line = shapely.set_coordinates(shapely.LineString([(0, 0), (1, 1)]), [(float("nan"), 5), (1, 5)])
    aged(geoparquet(sedona.folder / "nan.parquet", [line], [1, 5, 1, 5], covering=True))
    aged(geoparquet(sedona.folder / "far.parquet", [shapely.Point(100, 80)], [100, 80, 100, 80], covering=True))
    sedona.index(GeoBox("geometry"))
    sedona.check("ST_Intersects(ST_GeomFromWKB(geometry), ST_PolygonFromEnvelope(30.0, 0.0, 40.0, 10.0))", read=["nan.parquet"])


COLLAPSED = {
    "line": "LINESTRING(5 5, 5 5)",  # the track of a parked vehicle
    "lines": "MULTILINESTRING((5 5, 5 5), (6 6, 6 6))",
    "point": "POLYGON((5 5, 5 5, 5 5, 5 5))",  # a parcel rounded to a point
    "flat": "POLYGON((5 5, 6 5, 5 5, 5 5))",
    "flatter": "POLYGON((5 5, 6 6, 7 7, 5 5))",
}
SOUND = {"parcel": "POLYGON((5 5, 6 5, 6 6, 5 5))", "track": "LINESTRING(5 5, 6 6)", "place": "POINT(5 5)"}


@pytest.mark.parametrize("index", [GeoBox("g"), S2Covering("g")], ids=lambda index: index.kind)
def test_collapsed_geometry_lies_in_nothing_and_meets_nothing(sedona: Lake, index: Index) -> None:
    wkb(sedona, COLLAPSED | SOUND)
    sedona.index(index)
    g = "ST_GeomFromWKB(g)"
    wheres = [where.format(g=g, r=region) for region in (INSIDE, "ST_PolygonFromEnvelope(0.0, 0.0, 20.0, 20.0)") for where in NOT_INSIDE]
    for where, read in zip(wheres, sedona.reads(*wheres), strict=True):
        assert read == set(COLLAPSED), where
    near, far = f"ST_Intersects({g}, {INSIDE})", f"ST_Intersects({g}, ST_Point(30.0, 30.0))"
    away = f"ST_Distance({g}, ST_Point(30.0, 30.0)) < 9"
    assert sedona.reads(near, far, away) == [set(COLLAPSED | SOUND), set(), set()]  # it is where it is


def test_two_collapsed_geometries_are_equal_wherever_they_lie(sedona: Lake) -> None:
    wkb(sedona, {"here": "LINESTRING(5 5, 5 5)", "there": "LINESTRING(50 50, 50 50)", "track": "LINESTRING(5 5, 6 6)"})
    sedona.index(GeoBox("g"), S2Covering("g"))
    equal = "ST_Equals(ST_GeomFromWKB(g), ST_GeomFromWKT('LINESTRING({})'))"
    lines = ("5 5, 5 5", "6 6, 5 5", "80 80, 81 81")  # with jts.overlay=ng, equal to other geometry as well
    assert sedona.reads(*map(equal.format, lines)) == [{"here", "there", "track"}] * 2 + [{"here", "there"}]


OUTLYING = "POLYGON((0 0, 1 0, 1 1, 0 0), (40 40, 41 40, 41 41, 40 40))"


def test_distances_are_measured_to_holes_that_lie_outside_of_their_polygon(sedona: Lake) -> None:
    wkb(sedona, {"outlying": OUTLYING, "near": "POINT(42 42)", "far": "POINT(-60 -60)"})
    sedona.index(GeoBox("g"), S2Covering("g"))
    cases = {
        "ST_Distance(ST_GeomFromWKB(g), ST_Point(41.0, 40.0)) < 1": {"outlying"},
        "ST_DWithin(ST_GeomFromWKB(g), ST_Point(41.0, 40.0), 0.5)": set(),  # by its envelope, which leaves them out
        f"ST_Distance(ST_GeomFromWKB(g), ST_GeomFromWKT('{OUTLYING}')) < 2": {"outlying", "near"},
        "ST_Distance(ST_GeomFromWKB(g), ST_Point(-60.0, -60.0)) < 2": {"far"},
    }
    for (where, read), found in zip(cases.items(), sedona.reads(*cases), strict=True):
        assert read <= found and len(found) < 3, where


def test_a_centre_at_a_pole_may_come_to_lie_beyond_it(sedona: Lake) -> None:
    """The centroid of this line has a latitude of -90.00000000000001, of which an ellipsoid knows no distance: NaN, above all numbers."""
    pole = "LINESTRING (-10 -90, 35.552770883461164 -90, 27.320376404988288 -90, -10 -90)"
    wkb(sedona, {"pole": pole, "far": "POINT(10 10)"})
    sedona.index(GeoBox("g"))
    spheroid = "ST_DistanceSpheroid(ST_GeomFromWKB(g), ST_Point(7.0, -3.0)) {}"
    assert sedona.reads(spheroid.format("> 15000000"), spheroid.format("< 3000000")) == [{"pole"}, {"far"}]


def columns(lake: Lake, type_: pa.DataType, files: dict[str, Any]) -> None:
    """A file for each number, as longitude, and as latitude where it is none beyond the pole."""
    for name, number in files.items():
        lake.file(name, {"lat": pa.array([number if abs(number) <= 90 else 1], type_), "lng": pa.array([number], type_)})


def test_large_integers_are_compared_as_they_are(sedona: Lake) -> None:
    odd = 2**53 + 1  # no double
    columns(sedona, pa.int64(), {"odd": odd, "below": -odd, "small": 7})
    sedona.index(GeoBox("lat", "lng"))
    wheres = [f"lng > {odd - 1}", f"lng >= {odd} AND lat < 2", f"lng = {odd}", f"lng < {1 - odd} AND lat < 2", "lng < 100 AND lat > 1"]
    assert sedona.reads(*wheres) == [{"odd"}, {"odd"}, {"odd"}, {"below"}, {"small"}]


@pytest.mark.parametrize("type_", [pa.decimal128(9, 6), pa.decimal128(38, 20)], ids=str)
def test_decimals_are_served(sedona: Lake, type_: pa.DataType) -> None:
    files = {"tenth": Decimal("0.1"), "edge": Decimal("90"), "south": Decimal("-77.123456"), "third": Decimal("33.333333")}
    columns(sedona, type_, files)
    for indexes in ([GeoBox("lat", "lng")], [MinMax("lat"), MinMax("lng")], [GeoBox("CAST(lat AS DOUBLE)", "CAST(lng AS DOUBLE)")]):
        table = sedona.index(*indexes)
        exact, wider = {}, {}
        for name, number in files.items():
            for point in ("ST_Point(lng, lat)", "ST_Point(CAST(lng AS DOUBLE), CAST(lat AS DOUBLE))"):
                exact[f"ST_Intersects(ST_Point({number}D, {number}D), {point})"] = name
            (wider if "CAST" in str(indexes) else exact)[f"lat = {number} AND lng <= {number}"] = name
            wider |= dict.fromkeys([f"lat >= {number}D AND lng = {number}D", f"lat > {number} - 0.000001 AND lng <= {number}"], name)
        read = dict(zip([*exact, *wider], sedona.reads(*exact, *wider), strict=True))
        assert {where: read[where] for where in exact} == {where: {name} for where, name in exact.items()}
        assert all(name in read[where] for where, name in wider.items())
        table.drop_index(*indexes)


def test_floats_compare_as_doubles(sedona: Lake) -> None:
    columns(sedona, pa.float32(), {"tenth": 0.1, "third": 33.333333})
    sedona.index(GeoBox("lat", "lng"))
    wheres = [
        "lat > 0.1D AND lng < 1",
        "lat = 0.1F AND lng = 0.1F",
        "ST_Intersects(ST_Point(lng, lat), ST_Point(CAST(0.1F AS DOUBLE), 0.1F))",
    ]
    assert sedona.reads(*wheres) == [{"tenth"}, {"tenth"}, {"tenth"}]


BOTH = [GeoBox("g"), S2Covering("g")]


@pytest.mark.parametrize("index", BOTH, ids=lambda index: index.kind)
def test_an_edge_whose_squared_length_is_nothing_is_anywhere(sedona: Lake, index: Index) -> None:
    """JTS divides by that square: the distance is the largest of all numbers, or none."""
    wkb(sedona, {"short": "LINESTRING(1e-170 0, 0 1e-170)", "point": "POINT(0 0)", "far": "POINT(50 50)"})
    sedona.index(index)
    g = "ST_GeomFromWKB(g)"
    cases = {
        f"ST_Distance({g}, ST_Point(5.0, 5.0)) > 100": {"short"},
        f"ST_Distance({g}, ST_Point(5.0, 5.0)) < 9": {"short", "point"},
        f"ST_Distance({g}, ST_GeomFromWKT('LINESTRING(1e-170 0, 0 1e-170)')) > 100": {"short", "point", "far"},
        f"ST_Intersects({g}, ST_Point(50.0, 50.0))": {"short", "far"},
    }
    assert dict(zip(cases, sedona.reads(*cases), strict=True)) == cases


@pytest.mark.parametrize("index", BOTH, ids=lambda index: index.kind)
def test_wkb_of_an_unknown_byte_order_is_big_endian(sedona: Lake, index: Index) -> None:
    """So JTS has it; some of such bytes could be taken for what Sedona writes, with other coordinates."""
    for name, order in {"sedona's": 0x12, "sedona's too": 0x22, "big": 0}.items():
        line = bytes([order]) + struct.pack(">II4d", 2, 2, 1.0, 2.0, 3.0, 4.0)
        sedona.file(name, {"g": [line]})
    wkb(sedona, {"far": "POINT(50 50)"})
    table = sedona.table()
    assert table.create_index(index)
    (read,) = sedona.reads("ST_Intersects(ST_GeomFromWKB(g), ST_Point(1.0, 2.0))")
    assert read == {"sedona's", "sedona's too", "big"}


@pytest.mark.parametrize("index", [GeoBox("g"), S2Covering("g")], ids=lambda index: index.kind)
def test_the_form_of_a_point_is_wkb_of_one_near_0_0(sedona: Lake, index: Index) -> None:
    """18 (a point without Z), 0 0 0 (its SRID), 1 0 0 0 (point): JTS takes the first for a byte order, and the next four for a point."""
    geometry_serde = pytest.importorskip("sedona.spark.utils.geometry_serde")
    shapely = pytest.importorskip("shapely")
    sedona.file("serialized", {"g": [bytes(geometry_serde.serialize(shapely.Point(50, 50)))]})
    sedona.file("wkb", {"g": [shapely.to_wkb(shapely.Point(50, 50))]})
    sedona.index(index)
    sedona.check("ST_Intersects(ST_GeomFromWKB(g), ST_GeomFromWKT('POLYGON((-1 -1, 1 -1, 1 1, -1 1, -1 -1))'))", {"serialized"})
    sedona.check("ST_Intersects(ST_GeomFromWKB(g), ST_Point(50.0, 50.0))", {"serialized", "wkb"})
