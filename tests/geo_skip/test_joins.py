"""Spatial joins: the regions of a small table are looked up first, then the files of the large one are chosen."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapely

from data_skip import Index, MinMax
from geo_skip import GeoBox, S2Covering
from tests.support import Lake, aged

COUNTRIES = {"India": shapely.box(68, 8, 90, 36), "Peru": shapely.box(-81, -18, -68, 0), "Nowhere": shapely.Polygon()}
POINT = "ST_Point(lng, lat)"


INDEXES: dict[str, list[Index]] = {
    "GeoBox": [GeoBox("lat", "lng")],
    "S2Covering": [S2Covering("lat", "lng")],
    "MinMax": [MinMax("lat"), MinMax("lng")],
}


@pytest.fixture
def world(sedona: Lake, tmp_path: Path) -> Lake:
    return fill(sedona, tmp_path)


def fill(lake: Lake, tmp_path: Path) -> Lake:
    """Without NULL, of which the joins of Sedona 1.8.0 raise an error."""
    padding = np.random.default_rng(1).bytes(100_000)  # a small side may read a tenth of what the other does
    for name, lats, lngs in (
        ("europe.parquet", [48.1, 52.5], [11.5, 13.4]),
        ("india.parquet", [28.6, 19.1], [77.2, 72.9]),
        ("peru.parquet", [-12.0], [-77.0]),
    ):
        lake.file(name, {"lat": lats, "lng": lngs, "padding": [padding[i:] for i in range(len(lats))]})
    lake.view()
    path = tmp_path / "countries" / "countries.parquet"
    path.parent.mkdir()
    shapes = list(COUNTRIES.values())
    table = {
        "name": list(COUNTRIES),
        "wkt": [s.wkt for s in shapes],
        "wkb": [shapely.to_wkb(s) for s in shapes],
        "least": [-90.0] * len(shapes),
    }
    pq.write_table(pa.table(table), path)
    aged(path)
    lake.spark.read.parquet(str(path.parent)).createOrReplaceTempView("countries")
    return lake


@pytest.mark.parametrize("indexes", INDEXES.values(), ids=INDEXES)
def test_the_files_of_the_joined_countries_are_read(world: Lake, indexes: list[Index]) -> None:
    world.index(*indexes)
    cases = [
        (f"ST_Contains(ST_GeomFromWKT(c.wkt), {POINT})", "c.name = 'India'", 1),
        (f"ST_Intersects({POINT}, ST_GeomFromWKB(c.wkb))", "c.name LIKE 'I%'", 1),
        (f"ST_Within({POINT}, ST_GeomFromWKB(c.wkb))", "c.name IN ('India', 'Peru')", 2),
        (
            f"ST_Distance(ST_GeomFromWKT(c.wkt), {POINT}) < 1",
            "c.name = 'Peru'",
            1,
        ),
        (f"ST_DistanceSphere(ST_GeomFromWKT(c.wkt), {POINT}) < 1000000", "c.name = 'Peru'", 1),
    ]
    for condition, where, most in cases if isinstance(indexes[0], GeoBox) else cases[1:3]:
        report = world.query(f"SELECT t.*, c.name FROM t JOIN countries c ON {condition} WHERE {where}")
        (scan,) = (scan for scan in report.scans if scan.table.endswith("/table"))
        assert scan.files_read == most, f"{condition} {where}\n{report}"


@pytest.mark.parametrize("indexes", INDEXES.values(), ids=INDEXES)
def test_many_regions_are_taken_together(world: Lake, indexes: list[Index]) -> None:
    world.index(*indexes)
    corners = [(x, y) for x in range(68, 88) for y in range(8, 20)]
    values = ", ".join(f"('POLYGON(({x} {y}, {x + 1} {y}, {x + 1} {y + 1}, {x} {y + 1}, {x} {y}))')" for x, y in corners)
    world.spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW squares AS SELECT * FROM VALUES {values} AS s(wkt)")
    report = world.query(f"SELECT t.lat, t.lng FROM t JOIN squares s ON ST_Contains(ST_GeomFromWKT(s.wkt), {POINT})")
    scan = next(scan for scan in report.scans if scan.table.endswith("/table"))
    assert scan.files_read == 1, report
    told = [predicate.predicate for predicate in scan.predicates if "POLYGON" in predicate.predicate]
    assert len(told) == 1 and "st_contains('POLYGON ((68 8, 69 8, " in told[0].lower().replace("polygon", "POLYGON") and " OR " in told[0]


def test_a_small_table_without_rows(world: Lake) -> None:
    world.index(GeoBox("lat", "lng"))
    report = world.query(f"SELECT t.lat FROM t JOIN countries c ON ST_Contains(ST_GeomFromWKT(c.wkt), {POINT}) WHERE c.name LIKE 'Atl%'")
    assert [scan.files_read for scan in report.scans if scan.table.endswith("/table")] == [0]


def test_by_functions_in_python(plain: Lake, tmp_path: Path) -> None:
    fill(plain, tmp_path)
    plain.index(GeoBox("lat", "lng"))
    for condition, where, most in (
        ("ST_CONTAINS(c.wkt, lat, lng)", "c.name = 'India'", 1),
        ("ST_INTERSECTS(c.wkb, t.lat, t.lng) AND t.lat > c.least", "c.name IN ('India', 'Peru')", 2),
        ("ST_DISTANCE(c.wkt, lat, lng) < 1", "c.name = 'Peru'", 1),
    ):
        report = plain.query(f"SELECT t.*, c.name FROM t JOIN countries c ON {condition} WHERE {where}")
        (scan,) = (scan for scan in report.scans if scan.table.endswith("/table"))
        assert scan.files_read == most, f"{condition} {where}\n{report}"


def test_all_rows_of_the_small_table(world: Lake) -> None:
    world.index(GeoBox("lat", "lng"))
    report = world.query(f"SELECT * FROM t WHERE EXISTS (SELECT 1 FROM countries c WHERE ST_Contains(ST_GeomFromWKT(c.wkt), {POINT}))")
    assert [scan.files_read for scan in report.scans if scan.table.endswith("/table")][-1:] in ([2], [3])
    world.query(f"SELECT t.*, c.name FROM t LEFT JOIN countries c ON ST_Contains(ST_GeomFromWKT(c.wkt), {POINT})")
