"""Distances to a region with many vertices are those of shapely, which looks at every vertex for each."""

from __future__ import annotations

import numpy as np
import pytest
import shapely

from geo_skip.questions import Region

RANDOM = np.random.default_rng(0)


def outline(x: float, y: float, radius: float, vertices: int = 500) -> shapely.Polygon:
    """Around a place, now nearer to it and now less near."""
    angles = np.linspace(0, 2 * np.pi, vertices, endpoint=False)
    radii = radius * RANDOM.uniform(0.9, 1.1, vertices)
    return shapely.Polygon(np.c_[x + radii * np.cos(angles), y + radii * np.sin(angles)])


REGIONS = {
    "one": outline(3, 4, 10),
    "with a hole": outline(3, 4, 10) - outline(3, 4, 7),
    "several": shapely.MultiPolygon([outline(-20, 0, 5), outline(20, 0, 5)]),
    "far from zero": outline(1e6, -1e6, 1e-3),
    "with heights": shapely.force_3d(outline(3, 4, 10), 5.0),
    "few vertices": outline(3, 4, 10, 50),
    "a line": shapely.LineString(RANDOM.uniform(-10, 10, (300, 2))),
}


@pytest.mark.parametrize("name", REGIONS)
def test_distances(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    shape = REGIONS[name]
    region = Region(shape)
    west, south, east, north = shape.bounds
    width = east - west
    corners = RANDOM.uniform([west - width, south - width], [east + width, north + width], (1000, 2))
    sizes = width * RANDOM.choice([0, 1e-6, 0.1, 3], (1000, 2))
    boxes = np.c_[corners, corners + sizes]
    assert (region._edges is not None) == (name not in ("few vertices", "a line"))
    found = region.distances(boxes)
    monkeypatch.setattr(Region, "_edges", None)
    expected = Region(shape).distances(boxes)
    assert 0 < (found[0] > 0).mean() < 1
    for some, others in zip(found, expected, strict=True):
        np.testing.assert_allclose(some, others, rtol=1e-12, atol=1e-12 * np.abs(region.bounds).max())


def test_no_boxes() -> None:
    assert [len(found) for found in Region(REGIONS["one"]).distances(np.empty((0, 4)))] == [0, 0]
