"""GeoBox: a few boxes around the places of a file (seed 000, IV-C and table I), and the predicates that it serves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from data_skip import Index, filters
from data_skip.clause import Clause, Computed, Named, any_of
from data_skip.expression import Call, Expression
from data_skip.filters import Indexes, admits
from data_skip.footer import Footer
from data_skip.index import BoundIndex, Record
from data_skip.sampling import Sample
from data_skip.satisfying import jointly_satisfying, speak_of
from data_skip.value_set import EVERYTHING, Interval, ValueSet
from geo_skip import geoparquet
from geo_skip.geometry import UDT, Boxes, Mask, envelopes, parsed, points
from geo_skip.predicates import Asked, answer, asked
from geo_skip.questions import Meets
from geo_skip.splitting import covering
from geo_skip.swapped import warn_if_swapped

NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double")
SIDES = ("min_x", "min_y", "max_x", "max_y")
COUNTS = ("half_null_count", "empty_count", "odd_count")
_IN_FLIGHT = 32  # boxes of a record that is still being merged: the best few of a file are known only at its end
_MOST_INTERVALS = 64


def refuse_places(types: tuple[str, ...]) -> str | None:
    """Why an index over places cannot be built over expressions of these types."""
    if len(types) == 2:
        wrong = [type_ for type_ in types if type_ not in NUMBERS]
        return (
            f"a latitude or longitude of type {wrong[0]} is not served; cast it to double, in the index and in queries" if wrong else None
        )
    if types[0] in (*UDT, "binary", "string"):
        return None
    return f"values of type {types[0]} are no geometry, which is WKB, WKT, GeoJSON or Sedona's; or name two columns: latitude, longitude"


class GeoBox(Index):
    """At most `boxes` boxes around the places of a file; serves Sedona's ST_ functions, those of `register`, and ranges of lat and lng.

    `GeoBox("lat", "lng")` takes a latitude and a longitude; `GeoBox("geom")` geometry as WKB, WKT, GeoJSON or Sedona's own type, each
    with its envelope in one of the boxes. Besides it counts what is in no box: rows of which one coordinate is NULL, empty
    geometry, and odd places, with a coordinate that is no finite number. Values are planar: any coordinates will do.
    """

    fields = {**dict.fromkeys(SIDES, pa.list_(pa.float64())), **dict.fromkeys(COUNTS, pa.int64())}
    expression_count = None

    def __init__(self, *expressions: str, boxes: int = 4) -> None:
        refuse_count(expressions, "GeoBox")
        if isinstance(boxes, bool) or not isinstance(boxes, int) or boxes < 1:
            raise ValueError(f"boxes is how many boxes are kept a file, at least 1, not {boxes!r}")
        super().__init__(*expressions, boxes=boxes)

    boxes: int

    def refuse(self, types: tuple[str, ...]) -> str | None:
        return refuse_places(types)

    def fitted(self, sample: Sample) -> Index:
        warn_if_swapped(self, sample)
        return self

    def collect(self, *values: pa.Array) -> Record:
        if len(values) == 2:
            found = points(*values)
            return self._record(found.boxes, found.half_null, 0, found.odd)
        around = envelopes(parsed(values[0]))
        return self._record(around.boxes, 0, around.empties, around.odd)

    def merge(self, a: Record, b: Record) -> Record:
        return self._record(np.concatenate([boxes_of(a), boxes_of(b)]), *(a[name] + b[name] for name in COUNTS))

    def finish(self, record: Record) -> Record:
        return {**record, **_columns(covering(boxes_of(record), self.boxes))}

    def lift(self, footer: Footer, expressions: tuple[Expression, ...]) -> Record | None:
        """The boxes that a GeoParquet file's own metadata holds of its geometry."""
        found = geoparquet.boxes(footer, expressions)
        if found is None:
            return None
        # No geometry with a coordinate that is no number has the box that the file says it has; of empty geometry it says nothing.
        return {**_columns(covering(found, self.boxes)), "half_null_count": 0, "empty_count": None, "odd_count": 0}

    def _record(self, boxes: Boxes, half_null: int, empties: int, odd: int) -> Record:
        narrowed = covering(boxes, max(_IN_FLIGHT, 4 * self.boxes))
        return {**_columns(narrowed), "half_null_count": half_null, "empty_count": empties, "odd_count": odd}


def refuse_count(expressions: tuple[Any, ...], name: str) -> None:
    """ValueError where it is neither a geometry nor a latitude and a longitude."""
    if len(expressions) not in (1, 2):
        raise ValueError(f"{name} takes a geometry, or a latitude and a longitude, as SQL expressions, not {expressions!r}")


def boxes_of(record: Record) -> Boxes:
    """The boxes of a record."""
    return np.array([record[side] for side in SIDES], dtype=np.float64).reshape(4, -1).T


def _columns(boxes: Boxes) -> Record:
    return {side: boxes[:, i].tolist() for i, side in enumerate(SIDES)}


def is_about(index: BoundIndex, about: Asked) -> bool:
    """Whether the index is over the places that a predicate speaks of."""
    if len(index.expressions) == 2:
        lat, lng = index.expressions
        return about.subject.is_point_of(lng, lat)
    return index.expression in about.subject.forms


@filters.on()
def in_a_box(node: Expression, indexes: Indexes) -> Iterator[Clause]:
    """Sedona's functions, and those of `register`."""
    bound = list(indexes.of(GeoBox))
    for about in asked(node, indexes.spark) if bound else ():
        for index in bound:
            if is_about(index, about):
                somewhere = any_of([_any_box(index, about.question.possible), *elsewhere(index, about)])
                yield answer(node, admits(index, node, indexes), somewhere)


def elsewhere(index: BoundIndex, about: Asked) -> list[Clause]:
    """Whether a file may hold a satisfying place that is in no box. An empty geometry has no point in common with anything."""
    clauses = [index["odd_count"] > 0]
    return clauses if isinstance(about.question, Meets) else [*clauses, index["empty_count"] > 0]


@filters.on()
def in_ranges(node: Expression, indexes: Indexes) -> Iterator[Clause]:
    """Ranges of latitude and longitude: in an AND of both, one box has to meet them together (seed 000, figure 5)."""
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
        boxes = _any_box(index, _meeting(lngs, lats))
        yield Named(admits(index, node, indexes), any_of([boxes, index["odd_count"] > 0, index["half_null_count"] > 0]))


def _meeting(lngs: ValueSet, lats: ValueSet) -> Callable[[Boxes], Mask]:
    """Which boxes meet both sets."""

    def test(boxes: Boxes) -> Mask:
        return _meets(boxes[:, 0], boxes[:, 2], lngs) & _meets(boxes[:, 1], boxes[:, 3], lats)

    return test


def _meets(lows: Any, highs: Any, values: ValueSet) -> Mask:
    intervals = values.intervals
    if len(intervals) > _MOST_INTERVALS:
        first, last = intervals[0], intervals[-1]
        intervals = (Interval(first.low, last.high, first.low_closed, last.high_closed),)
    met = np.zeros(len(lows), dtype=bool)
    for interval in intervals:
        above = _after(highs, interval.low, interval.low_closed)
        met |= above & _after(-lows, None if interval.high is None else -interval.high, interval.high_closed)
    return met


def _after(values: Any, end: Any, closed: bool) -> Any:
    if end is None:
        return True
    return values >= end if closed else values > end


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

    return Computed(f"a box of {index} passes", tuple(index[side] for side in SIDES), any_passes)
