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


@pytest.fixture
def world(sedona: Lake, tmp_path: Path) -> Lake:
    """Without NULL, of which the joins of Sedona 1.8.0 raise an error."""
    padding = np.random.default_rng(1).bytes(20_000)  # a small side may read a tenth of what the other does
    for name, lats, lngs in (
        ("europe.parquet", [48.1, 52.5], [11.5, 13.4]),
        ("india.parquet", [28.6, 19.1], [77.2, 72.9]),
        ("peru.parquet", [-12.0], [-77.0]),
    ):
        sedona.file(name, {"lat": lats, "lng": lngs, "padding": [padding[i:] for i in range(len(lats))]})
    sedona.view()
    path = tmp_path / "countries" / "countries.parquet"
    path.parent.mkdir()
    shapes = list(COUNTRIES.values())
    table = {
        "name": list(COUNTRIES),
        "wkt": [s.wkt for s in shapes],
        "wkb": [shapely.to_wkb(s) for s in shapes],
    }
    pq.write_table(pa.table(table), path)
    aged(path)
    sedona.spark.read.parquet(str(path.parent)).createOrReplaceTempView("countries")
    return sedona


@pytest.mark.parametrize(
    "indexes", [[GeoBox("lat", "lng")], [S2Covering("lat", "lng")], [MinMax("lat"), MinMax("lng")]], ids=["GeoBox", "S2Covering", "MinMax"]
)
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


def test_all_rows_of_the_small_table(world: Lake) -> None:
    world.index(GeoBox("lat", "lng"))
    report = world.query(f"SELECT * FROM t WHERE EXISTS (SELECT 1 FROM countries c WHERE ST_Contains(ST_GeomFromWKT(c.wkt), {POINT}))")
    assert [scan.files_read for scan in report.scans if scan.table.endswith("/table")][-1:] in ([2], [3])
    world.query(f"SELECT t.*, c.name FROM t LEFT JOIN countries c ON ST_Contains(ST_GeomFromWKT(c.wkt), {POINT})")
