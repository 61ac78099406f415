"""GeoParquet is read as any other file: what its metadata say of boxes may be of another file, and leaves out what is no number.

pyarrow copies them to whatever is written from what was read, and geopandas writes with pyarrow.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import shapely

from data_skip import MinMax
from geo_skip import GeoBox, S2Covering
from tests.support import Lake, aged

GEOMETRY = "ST_GeomFromWKB(geometry)"


def write(
    lake: Lake, name: str, shapes: list[Any], bbox: list[float] | None = None, covering: pa.DataType | None = None, **described: Any
) -> Path:
    """A GeoParquet file of two rows a row group."""
    columns: dict[str, Any] = {"geometry": pa.array([None if s is None else shapely.to_wkb(s) for s in shapes], pa.binary())}
    column: dict[str, Any] = {"encoding": "WKB", "geometry_types": [], **described}
    bounds = shapely.bounds(np.array(shapes, dtype=object))
    known = bounds[~np.isnan(bounds[:, 0])]
    column["bbox"] = bbox or [*known[:, :2].min(axis=0).tolist(), *known[:, 2:].max(axis=0).tolist()]
    if covering is not None:
        sides = ("xmin", "ymin", "xmax", "ymax")
        rows = [None if np.isnan(b[0]) else dict(zip(sides, b.tolist(), strict=True)) for b in bounds]
        columns["bbox"] = pa.array(rows, pa.struct({side: covering for side in sides}))
        column["covering"] = {"bbox": {side: ["bbox", side] for side in sides}}
    geo = {"version": "1.1.0", "primary_column": "geometry", "columns": {"geometry": column}}
    table = pa.table(columns).replace_schema_metadata({"geo": json.dumps(geo)})
    path = lake.folder / name
    lake.folder.mkdir(exist_ok=True)
    pq.write_table(table, path, row_group_size=2)
    return aged(path)


def boxes(lake: Lake, index: GeoBox) -> dict[str, list[list[float]]]:
    table = lake.table()
    report = table.create_index(index)
    assert report.files_lifted == 0
    found = {row[0]: row[4] for row in table.metadata().collect()}
    return {name: sorted(map(list, zip(r.min_x, r.min_y, r.max_x, r.max_y, strict=True))) for name, r in found.items()}


SHAPES = [shapely.box(0, 0, 1, 1), shapely.Point(2, 2), shapely.Point(100, 50), None, shapely.LineString([(50, -10), (60, -5)])]


def test_boxes_are_those_of_the_rows(sedona: Lake) -> None:
    write(sedona, "a.parquet", SHAPES[:2])
    write(sedona, "b.parquet", SHAPES[2:], bbox=[50, -10, 0, 100, 50, 9])  # with heights
    assert boxes(sedona, GeoBox("geometry", boxes=1)) == {"a.parquet": [[0, 0, 2, 2]], "b.parquet": [[50, -10, 100, 50]]}
    sedona.check(f"ST_Intersects({GEOMETRY}, ST_Point(0.5, 0.5))", read=["a.parquet"])
    sedona.check(f"ST_Contains(ST_PolygonFromEnvelope(90.0, 40.0, 120.0, 60.0), {GEOMETRY})", read=["b.parquet"])
    sedona.check(f"NOT ST_Intersects({GEOMETRY}, ST_PolygonFromEnvelope(-9.0, -9.0, 9.0, 9.0))", read=["b.parquet"])


def test_with_a_covering(sedona: Lake) -> None:
    write(sedona, "a.parquet", SHAPES, covering=pa.float64())
    expected = [[0, 0, 2, 2], [50, -10, 60, -5], [100, 50, 100, 50]]
    assert boxes(sedona, GeoBox("geometry", boxes=3)) == {"a.parquet": expected}
    sedona.check(f"ST_Intersects({GEOMETRY}, ST_PolygonFromEnvelope(20.0, 0.0, 90.0, 40.0))", read=[])
    sedona.check(f"ST_Intersects({GEOMETRY}, ST_Point(100.0, 50.0))", read=["a.parquet"])


def test_a_covering_of_floats(sedona: Lake) -> None:
    write(sedona, "a.parquet", [shapely.Point(0.1, 0.3)] * 2, covering=pa.float32())
    assert boxes(sedona, GeoBox("geometry")) == {"a.parquet": [[0.1, 0.3, 0.1, 0.3]]}
    sedona.check(f"ST_Intersects({GEOMETRY}, ST_Point(0.1, 0.3))", read=["a.parquet"])


def test_a_bbox_over_the_date_line(sedona: Lake) -> None:
    shape = shapely.MultiPoint([(175, 5), (-175, 6)])
    write(sedona, "a.parquet", [shape, shapely.Point(0, 0)], bbox=[175, 0, -175, 6], covering=pa.float64())
    assert boxes(sedona, GeoBox("geometry", boxes=1)) == {"a.parquet": [[-175, 0, 175, 6]]}
    sedona.check(f"ST_Intersects({GEOMETRY}, ST_Point(175.0, 5.0))", read=["a.parquet"])


def test_whatever_the_metadata_say(sedona: Lake) -> None:
    write(sedona, "good.parquet", SHAPES[:2])
    write(sedona, "wrong.parquet", [shapely.Point(5, 5)] * 2, bbox=[0, 0, 2, 2])
    write(sedona, "encoding.parquet", SHAPES[:2], encoding="point")
    write(sedona, "nan.parquet", SHAPES[:2], bbox=[0, 0, float("nan"), 1])
    write(sedona, "turned.parquet", SHAPES[:2], bbox=[0, 2, 2, 0])
    write(sedona, "short.parquet", SHAPES[:2], bbox=[0, 0])
    sedona.file("none.parquet", {"geometry": [shapely.to_wkb(shapely.Point(5, 5))]})
    path = sedona.file("text.parquet", pa.table({"geometry": [shapely.to_wkb(shapely.Point(5, 5))]}).replace_schema_metadata({"geo": "{"}))
    assert path.exists()
    report = sedona.table().create_index(GeoBox("geometry"))
    assert (report.files_lifted, report.files_collected, report.unknown) == (0, 8, {})
    sedona.check(f"ST_Intersects({GEOMETRY}, ST_Point(5.0, 5.0))", read=["wrong.parquet", "none.parquet", "text.parquet"])


def test_sedonas_own_reader(sedona: Lake) -> None:
    for name, first in ("a", 0.0), ("b", 50.0), ("c", 100.0):
        rows = sedona.spark.range(4).selectExpr("id", f"id + {first} AS x", f"ST_Point(id + {first}, id / 2.0) AS geometry")
        sedona.spark_file(f"{name}.parquet", rows, "geoparquet")
    write(sedona, "null.parquet", [None, None], bbox=[0, 0, 0, 0])
    table = sedona.table(format="geoparquet")
    report = table.create_index(GeoBox("geometry"), MinMax("x"), MinMax("ST_X(geometry)"))
    assert (report.files_collected, report.files_lifted, report.unknown) == (4, 0, {})
    sedona.view(format="geoparquet")
    sedona.check("ST_Intersects(geometry, ST_PolygonFromEnvelope(49.0, 0.0, 52.0, 9.0))", read=["b.parquet"])
    sedona.check("ST_Contains(ST_PolygonFromEnvelope(90.0, -1.0, 120.0, 9.0), geometry) AND x < 102", read=["c.parquet"])
    sedona.check("x > 52", read=["b.parquet", "c.parquet"])
    sedona.check("ST_X(geometry) < 2", read=["a.parquet"])
    sedona.check("geometry IS NULL AND x IS NULL", read=["null.parquet"])
    with_pushdown = sedona.query("SELECT x FROM t WHERE ST_Intersects(geometry, ST_Point(101.0, 0.5))", read=["c.parquet"])
    assert with_pushdown.scans[-1].files_total == 4
    assert table.refresh().files_collected == 0
    again = sedona.skipping.table(str(sedona.folder))  # as it was indexed
    again.create_index(S2Covering("geometry"))
    assert [Path(path).name for path in again.files(where="x > 100")] == ["c.parquet"]
    sedona.view()  # by Spark's own reader, to which geometry is bytes
    sedona.check("x > 52", read=["a.parquet", "b.parquet", "c.parquet", "null.parquet"])
