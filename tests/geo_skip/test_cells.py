"""S2 cells: ids equal s2sphere's, bounds hold every point, few cells hold all."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
import s2sphere

from geo_skip import covering
from geo_skip.cells import MAX_LEVEL, Cells, Floats, Ids, faces, ids_of_points, parents, ranges
from geo_skip.covering import as_ids, as_signed, cells_of_points, cells_where, fewer, meeting, normalized
from geo_skip.geometry import Boxes, Mask

CORNER = 35.264389682754654  # latitude of the corners of the cube
SPECIAL = [
    *(
        (lat, lng)
        for lat in (90.0, -90.0, 0.0, -0.0, 45.0, -45.0, CORNER, -CORNER)
        for lng in (0.0, 45.0, -45.0, 90.0, 135.0, -135.0, 180.0, -180.0)
    ),
    *((lat, lng) for lat in (89.9999999, -89.9999999, 5e-324) for lng in (179.9999999, -179.9999999, 5e-324)),
]


def on_earth(count: int, seed: int) -> tuple[Floats, Floats]:
    random = np.random.default_rng(seed)
    return np.degrees(np.arcsin(random.uniform(-1, 1, count))), random.uniform(-180, 180, count)


def s2_ids(lats: Floats, lngs: Floats) -> Ids:
    points = zip(lats.tolist(), lngs.tolist(), strict=True)
    return np.array([s2sphere.CellId.from_lat_lng(s2sphere.LatLng.from_degrees(*point)).id() for point in points], dtype=np.uint64)


def test_ids_of_many_points_equal_those_of_s2sphere() -> None:
    lats, lngs = on_earth(1_000_000 if "DATA_SKIP_EXAMPLES" in os.environ else 100_000, seed=1)  # a million take half a minute
    found, expected = ids_of_points(lats, lngs), s2_ids(lats, lngs)
    assert (parents(found, 28) == parents(expected, 28)).all()
    # Of cells of a centimetre, the last bit of a sine decides once in some ten million; processors differ in it.
    assert (found != expected).sum() <= 2


def test_ids_of_poles_face_edges_and_the_date_line_equal_those_of_s2sphere() -> None:
    lats, lngs = (np.array(side) for side in zip(*SPECIAL, strict=True))
    assert ids_of_points(lats, lngs).tolist() == s2_ids(lats, lngs).tolist()


def test_ids_as_records_hold_them() -> None:
    (cell,) = ids_of_points(np.array([-30.0]), np.array([-70.0]))
    assert cell >= 2**63  # TRAPS L20
    assert as_signed(np.array([cell])) == [int(cell) - 2**64]
    assert as_ids(as_signed(np.array([cell]))).tolist() == [int(cell)]


def some_cells(seed: int) -> list[Cells]:
    """Cells of all levels: random ones, and those round the poles and corners of faces."""
    random = np.random.default_rng(seed)
    found = [faces()]
    while found[-1].level < MAX_LEVEL:
        below = found[-1].children()
        half = (1 << below.level) // 2
        central = (np.abs(below.i - half) <= 1) & (np.abs(below.j - half) <= 1)
        found.append(below[central | (random.uniform(size=len(below.ids)) < 40 / len(below.ids))])
    return found


def test_cells_and_their_bounds() -> None:
    random = np.random.default_rng(3)
    for cells in some_cells(2):
        first, second = cells.bounds()
        for k, id_ in enumerate(cells.ids.tolist()):
            cell_id = s2sphere.CellId(id_)
            assert (cell_id.level(), cell_id.face()) == (cells.level, cells.face[k])
            low, high = cell_id.range_min().id(), cell_id.range_max().id()
            assert [int(end[0]) for end in ranges(cells.ids[k : k + 1])] == [low, high]
            inside = [s2sphere.CellId(int(random.integers(low, high + 1, dtype=np.uint64)) | 1).to_lat_lng() for _ in range(8)]
            inside += [s2sphere.LatLng.from_point(s2sphere.Cell(cell_id).get_vertex(i)) for i in range(4)]
            for point in inside:
                lat, lng = point.lat().degrees, point.lng().degrees
                assert any(b[0] <= lng <= b[2] and b[1] <= lat <= b[3] for b in (first[k], second[k])), (cell_id, lat, lng)


def test_bounds_are_no_wider_than_they_have_to_be() -> None:
    for cells in some_cells(4)[1:20]:
        first, second = cells.bounds()
        for k, id_ in enumerate(cells.ids.tolist()):
            rect = s2sphere.Cell(s2sphere.CellId(id_)).get_rect_bound()
            assert first[k][3] - first[k][1] <= np.degrees(rect.lat().get_length()) + 1e-7
            if (first[k] == second[k]).all() and not rect.lng().is_full() and np.abs(first[k][[1, 3]]).max() < 89:
                assert first[k][2] - first[k][0] <= np.degrees(rect.lng().get_length()) + 1e-6


def test_points_have_ids_inside_of_the_bounds_of_their_cells() -> None:
    lats, lngs = on_earth(300, seed=5)
    special = np.array(SPECIAL)
    lats, lngs = np.concatenate([lats, special[:, 0]]), np.concatenate([lngs, special[:, 1]])
    for lat, lng, id_ in zip(lats, lngs, ids_of_points(lats, lngs), strict=True):
        region = cells_where(_Box(np.array([lng, lat, lng, lat])), 30, 100_000)
        assert meeting(np.array([id_]), region).all(), (lat, lng)


class _Box:
    """Asks for what lies in one box."""

    def __init__(self, box: Boxes) -> None:
        self.box = box

    def possible(self, boxes: Boxes) -> Mask:
        return (boxes[:, :2] <= self.box[2:]).all(axis=1) & (boxes[:, 2:] >= self.box[:2]).all(axis=1)

    def certain(self, boxes: Boxes) -> Mask:
        return (boxes[:, :2] >= self.box[:2]).all(axis=1) & (boxes[:, 2:] <= self.box[2:]).all(axis=1)


@pytest.mark.parametrize("box", [(40, 60, 90, 60.5), (-180, -90, 180, -80), (170, -20, 180, 20), (-180, -90, 180, 90), (44, 44, 46, 46)])
@pytest.mark.parametrize("most", [1, 100, 4096])
def test_cells_of_a_box_hold_all_its_points(box: tuple[float, ...], most: int) -> None:
    """Also where edges of cells bulge away from parallels (TRAPS L1)."""
    random = np.random.default_rng(6)
    lngs, lats = random.uniform(box[0], box[2], 20_000), random.uniform(box[1], box[3], 20_000)
    lats[:4], lngs[:4] = (box[1], box[1], box[3], box[3]), (box[0], box[2], box[0], box[2])
    region = cells_where(_Box(np.array(box, dtype=float)), 14, most)
    assert meeting(ids_of_points(lats, lngs), region).all()
    assert len(region) <= max(most, 6)


def test_few_cells_hold_all_the_cells() -> None:
    random = np.random.default_rng(7)
    for most in (1, 4, 16, 100):
        lats, lngs = on_earth(3, seed=most)
        spots = random.integers(0, 3, 2000)
        lats, lngs = (np.clip(side[spots] + random.normal(size=2000), -limit, limit) for side, limit in ((lats, 90), (lngs, 180)))
        ids, cells = ids_of_points(lats, lngs), cells_of_points(lats, lngs, 20, 1000)
        few = fewer(cells, most)
        assert len(few) <= max(most, 6)
        starts, ends = ranges(few)
        assert (starts[1:] > ends[:-1]).all()  # in order and disjoint
        assert meeting(ids, few).all()
        assert most < 100 or len(few) > 50  # as fine as is allowed


def test_normalized() -> None:
    face = faces()
    four = face.children().children()[np.arange(24 * 4) < 4]
    assert normalized(four.ids).tolist() == face.children().ids[:1].tolist()
    assert normalized(face.children().ids[:4]).tolist() == face.ids[:1].tolist()
    assert normalized(np.concatenate([face.ids, four.ids])).tolist() == face.ids.tolist()  # those below another go
    assert normalized(np.empty(0, dtype=np.uint64)).tolist() == []
    assert fewer(np.empty(0, dtype=np.uint64), 4).tolist() == []


@pytest.mark.parametrize("level", [0, 1, 2, 3, 10, 18, 29, 30])
def test_ids_of_a_level_are_the_parents_of_those_of_the_finest(level: int) -> None:
    lats, lngs = on_earth(5_000, seed=level)
    special = [np.array(side) for side in zip(*SPECIAL, strict=True)]
    for a, b in ((lats, lngs), special, (lats / 100, lngs / 100)):  # the last on one face
        assert ids_of_points(a, b, level).tolist() == parents(ids_of_points(a, b), level).tolist()


@pytest.mark.parametrize("most", [6, 50, 100_000])
@pytest.mark.parametrize("finest", [0, 7, 18, 30])
@pytest.mark.parametrize("extent", [0.0, 1e-6, 0.5, 1.0])
def test_cells_of_points_are_those_of_the_finest_level_with_so_few(most: int, finest: int, extent: float, monkeypatch: Any) -> None:
    monkeypatch.setattr(covering, "_SAMPLE", 100)
    lats, lngs = (side * extent for side in on_earth(3_000, seed=most))
    leaves, level = ids_of_points(lats, lngs), finest
    while len(expected := np.unique(parents(leaves, level))) > most:
        level -= 1
    assert cells_of_points(lats, lngs, finest, most).tolist() == expected.tolist()
    assert not len(cells_of_points(lats[:0], lngs[:0], finest, most))
