"""GeoBox serves plain ranges of latitude and longitude; its boxes are merged and split."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from data_skip import MinMax
from geo_skip import GeoBox, recipe
from geo_skip.geo_box import boxes_of
from geo_skip.geometry import points
from geo_skip.splitting import covering, hull, thinned
from tests.support import Lake

COORDINATE = st.none() | st.floats() | st.floats(-90.0, 90.0) | st.sampled_from([90.0, 180.0, -180.0, 180.5])


def two_spots(lake: Lake) -> None:
    """Munich and Jaipur in one file: a box round both also holds Teheran."""
    lake.file("both.parquet", {"lat": [48.1, 48.2, 26.9, 27.0], "lng": [11.5, 11.6, 75.8, 75.7]})
    lake.file("lima.parquet", {"lat": [-12.0, -12.1], "lng": [-77.0, -77.1]})
    lake.file("half.parquet", {"lat": [35.0, None], "lng": [None, 51.0]})


def test_ranges_meet_one_box_together(lake: Lake) -> None:
    two_spots(lake)
    lake.index(GeoBox("lat", "lng"))
    lake.check("lat BETWEEN 30 AND 40 AND lng BETWEEN 45 AND 55", read=["half.parquet"])
    lake.check("lat > 40 AND lng > 70", read=["half.parquet"])
    lake.check("lat > 40 AND lng < 20", read=["both.parquet", "half.parquet"])
    lake.check("lat > 30 AND lat < 40", read=["half.parquet"])
    lake.check("lat IN (-12.0, 35.7) AND lng < -70", read=["lima.parquet", "half.parquet"])
    lake.check("(lat < 0 AND lng < 0) OR (lat > 48.15 AND lng BETWEEN 11 AND 12)", read=["lima.parquet", "both.parquet", "half.parquet"])
    lake.check("(lat < 0 OR lat > 45) AND lng > 70", read=["half.parquet"])
    lake.check("NOT (lat < 30 OR lng > 20)", read=["both.parquet", "half.parquet"])
    lake.check("lng >= 75.8 AND lat <= 26.9", read=["both.parquet", "half.parquet"])  # ends belong to boxes
    lake.check("lng > 75.8 AND lat <= 26.9", read=["half.parquet"])
    lake.check("lat IS NULL", read=["both.parquet", "lima.parquet", "half.parquet"])
    lake.check("lat <=> NULL AND lng > 50", read=["both.parquet", "half.parquet"])
    lake.check("lat > 40 OR lng IS NULL", read=["both.parquet", "half.parquet", "lima.parquet"])
    points = ", ".join(str(i) for i in range(100, 300))
    lake.check(f"lat IN ({points})", read=["half.parquet"])


def test_more_boxes_skip_more(lake: Lake) -> None:
    two_spots(lake)
    lake.index(GeoBox("lat", "lng", boxes=1), MinMax("lat"))
    lake.check("lat BETWEEN 30 AND 40 AND lng BETWEEN 45 AND 55", read=["both.parquet", "half.parquet"])


def test_all_rows_of_many_batches_lie_in_the_boxes(lake: Lake) -> None:
    random = np.random.default_rng(1)
    spots = random.uniform(-60, 60, (4, 2))
    places = spots[random.integers(0, 4, 45_000)] + random.normal(size=(45_000, 2))
    lake.file("a.parquet", {"lat": places[:, 0], "lng": places[:, 1]})
    table = lake.index(GeoBox("lat", "lng", boxes=4))
    (row,) = table.metadata().collect()
    boxes = boxes_of(row[4].asDict())
    inside = [(places[:, ::-1] >= box[:2]).all(axis=1) & (places[:, ::-1] <= box[2:]).all(axis=1) for box in boxes]
    assert len(boxes) == 4 and np.logical_or.reduce(inside).all()
    assert np.prod(boxes[:, 2:] - boxes[:, :2], axis=1).sum() < 600  # four spots of some 9 x 9 degrees; one box would be some 10,000


@pytest.mark.parametrize("most", [1, 2, 5, 64])
def test_every_box_lies_in_one_of_the_few(most: int) -> None:
    random = np.random.default_rng(most)
    low = random.uniform(-90, 90, (300, 2))
    boxes = np.concatenate([low, low + random.exponential(1.0, (300, 2))], axis=1)
    few = covering(boxes, most)
    assert len(few) <= most
    inside = (boxes[:, None, :2] >= few[None, :, :2]).all(axis=2) & (boxes[:, None, 2:] <= few[None, :, 2:]).all(axis=2)
    assert inside.any(axis=1).all()
    assert hull(few).tolist() == hull(boxes).tolist()


@pytest.mark.parametrize("extent", [0.0, 1e-300, 1.0, 180.0, 1e300, 8e307])
def test_every_box_lies_in_the_hull_of_its_cell(extent: float) -> None:
    random = np.random.default_rng(1)
    low = random.uniform(-extent, extent, (5_000, 2))
    boxes = np.concatenate([low, np.minimum(low + random.exponential(extent / 1e3, (5_000, 2)), np.finfo(float).max)], axis=1)
    fewer = thinned(boxes)
    assert len(fewer) <= 32 * 32 or extent == 8e307  # which has no extent as a number: they stay as they are
    held = [((box[:2] >= fewer[:, :2]) & (box[2:] <= fewer[:, 2:])).all(axis=1).any() for box in boxes[:500]]
    assert all(held) and hull(fewer).tolist() == hull(boxes).tolist()


def test_few_boxes_of_nothing_and_of_one_place() -> None:
    assert covering(np.empty((0, 4)), 3).shape == (0, 4)
    assert covering(np.array([[1.0, 2.0, 1.0, 2.0]] * 5), 3).tolist() == [[1.0, 2.0, 1.0, 2.0]]


def test_recipe(lake: Lake) -> None:
    two_spots(lake)
    lake.index(*recipe("lat", "lng"))
    lake.check("lat > 30 AND lng > 45 AND lng < 60", read=["half.parquet"])
    lake.check("lat > 40 AND lng > 70", read=[])
    lake.check("lat IS NULL", read=["half.parquet"])
    assert recipe("geom", boxes=2) == [GeoBox("geom", boxes=2)]
    with pytest.raises(ValueError, match="takes a geometry, or"):
        recipe("a", "b", "c")


@given(st.lists(st.tuples(COORDINATE, COORDINATE), min_size=1))
def test_points_are_told_as_one_by_one(rows: list[tuple[float | None, float | None]]) -> None:
    """Points that are all usual are not looked at one by one; others are, to the same end."""
    lats, lngs = (pa.array(side, pa.float64()) for side in zip(*rows, strict=True))
    there = [(lat, lng) for lat, lng in rows if lat is not None and lng is not None]
    usual = [(lng, lat) for lat, lng in there if abs(lat) <= 90 and abs(lng) <= 180]
    found = points(lats, lngs, (180.0, 90.0))
    assert found.boxes.tolist() == [[*place, *place] for place in usual] and found.odd == len(there) - len(usual)
    assert found.half_null == sum((lat is None) != (lng is None) for lat, lng in rows)
