"""Bytes that are Sedona's own form of a geometry, in a column of bytes: as WKB they are another one."""

from __future__ import annotations

import pytest

from data_skip import Index
from geo_skip import GeoBox, S2Covering
from tests.geo_skip.conftest import with_sedona
from tests.readings.places_and_logs.test_shapes import sedona
from tests.support import Lake

__all__ = ["sedona", "with_sedona"]


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
