"""What a second reading of geo_skip found: rows that skipping lost."""

from __future__ import annotations

import struct

import pytest

from data_skip import Index
from geo_skip import GeoBox, S2Covering
from tests.geo_skip.conftest import with_sedona
from tests.readings.places_and_logs.test_shapes import sedona, wkb
from tests.support import Lake

__all__ = ["sedona", "with_sedona"]
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
