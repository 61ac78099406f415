"""GeoBox: a few boxes around the places of a file (Extensible Data Skipping, IV-C and table I), and the predicates that it serves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from data_skip import filters
from data_skip.clause import Clause, Computed, Named, any_of
from data_skip.expression import Call, Expression
from data_skip.filters import Indexes, admits
from data_skip.index import BoundIndex, Record, refuse_number
from data_skip.plugin import EVERYTHING, ValueSet, jointly_satisfying, speak_of
from geo_skip.geometry import ROUNDING, Boxes, Mask, Places, exact_below
from geo_skip.places import COUNTS, PlaceIndex, asked_of, or_elsewhere
from geo_skip.predicates import answer
from geo_skip.questions import overlapping
from geo_skip.splitting import covering, thinned

SIDES = ("min_x", "min_y", "max_x", "max_y")
_IN_FLIGHT = 32  # boxes of a record that is still being merged: the best few of a file are known only at its end
_TOO_MANY = 1 << 11  # of them: only then are they chosen anew, which takes longer than to find those of a batch


class GeoBox(PlaceIndex):
    """At most `boxes` boxes around the places of a file; serves Sedona's ST_ functions, those of `register`, and ranges of lat and lng.

    `GeoBox("lat", "lng")` takes a latitude and a longitude; `GeoBox("geom")` geometry as WKB, WKT, GeoJSON or Sedona's own type, each
    with its envelope in one of the boxes. Values are planar: any coordinates will do.
    """

    fields = {**dict.fromkeys(SIDES, pa.list_(pa.float64())), **COUNTS}
    extents = (("min_y", "max_y"), ("min_x", "max_x"))  # of a latitude and a longitude
    version = 5  # 2 did not count invalid geometry, and took boxes from GeoParquet's metadata; 3 no short edges, 4 no form of Sedona's

    def __init__(self, *expressions: str, boxes: int = 4) -> None:
        refuse_number(boxes, "boxes is how many boxes are kept a file")
        super().__init__(*expressions, boxes=boxes)

    boxes: int

    def kept(self, places: Places) -> Record:
        return _columns(thinned(places.boxes))

    def joined(self, a: Record, b: Record) -> Record:
        boxes = np.concatenate([boxes_of(a), boxes_of(b)])
        return _columns(boxes if len(boxes) <= _TOO_MANY else covering(boxes, max(_IN_FLIGHT, 4 * self.boxes)))

    def finish(self, record: Record) -> Record:
        return {**record, **_columns(covering(boxes_of(record), self.boxes))}


def boxes_of(record: Record) -> Boxes:
    """The boxes of a record."""
    return np.array([record[side] for side in SIDES], dtype=np.float64).reshape(4, -1).T


def _columns(boxes: Boxes) -> Record:
    return {side: boxes[:, i].tolist() for i, side in enumerate(SIDES)}


@filters.on()
def in_a_box(node: Expression, indexes: Indexes) -> Iterator[Clause]:
    """Sedona's functions, and those of `register`."""
    for index, about in asked_of(GeoBox, node, indexes):
        boxes = _any_box(index, about.question.possible)
        yield answer(node, admits(index, node, indexes), or_elsewhere(boxes, index, about))


@filters.on()
def in_ranges(node: Expression, indexes: Indexes) -> Iterator[Clause]:
    """Ranges of latitude and longitude: in an AND of both, one box has to meet them together (Extensible Data Skipping, figure 5)."""
    if isinstance(node, Call) and node.name == "Or":
        return  # what an OR needs, its operands say
    for index in indexes.of(GeoBox):
        if len(index.expressions) != 2:
            continue
        lats, lngs = (jointly_satisfying(node, side, indexes.spark) or EVERYTHING for side in index.expressions)
        said = sum(values != EVERYTHING for values in (lats, lngs))
        if isinstance(node, Call) and node.name == "And" and not any(speak_of(side, node.operands) for side in index.expressions):
            said -= 1  # what is said of one coordinate, an operand says
        if said < 1 or lats.null or lngs.null:
            continue
        lat, lng = index.expressions
        boxes = _any_box(index, partial(_in_ranges, lngs, lats, (exact_below(lat.type), exact_below(lng.type))))
        yield Named(admits(index, node, indexes), any_of([boxes, index["odd_count"] > 0, index["half_null_count"] > 0]))


def _in_ranges(lngs: ValueSet, lats: ValueSet, exact: tuple[float, float], boxes: Boxes) -> Mask:
    """`exact`: below which latitude and longitude numbers are kept as they are; boxes are to hold those that were rounded, too."""
    lat, lng = exact
    rounded = np.abs(boxes) >= np.array([lng, lat, lng, lat])
    wide = boxes + rounded * ROUNDING * np.abs(boxes) * np.array([-1.0, -1.0, 1.0, 1.0])
    return overlapping(wide[:, 0], wide[:, 2], lngs) & overlapping(wide[:, 1], wide[:, 3], lats)


def _any_box(index: BoundIndex, test: Callable[[Boxes], Mask]) -> Clause:
    """Whether one of a file's boxes passes a test; unknown where the file's boxes are."""

    def any_passes(*sides: pa.ListArray) -> pa.BooleanArray:
        lists = [side.combine_chunks() if isinstance(side, pa.ChunkedArray) else side for side in sides]
        known = np.logical_and.reduce([side.is_valid().to_numpy(zero_copy_only=False) for side in lists])
        chosen = [side.filter(pa.array(known)) for side in lists]
        owners = np.repeat(np.flatnonzero(known), pc.list_value_length(chosen[0]).to_numpy(zero_copy_only=False))
        boxes = np.stack([side.flatten().to_numpy(zero_copy_only=False) for side in chosen], axis=1)
        passes = np.zeros(len(known), dtype=bool)
        passes[owners[test(boxes)]] = True
        return pa.array(passes, mask=~known)

    return Computed(f"a box of {index} passes", tuple(index[side] for side in SIDES), any_passes, pure=True)
