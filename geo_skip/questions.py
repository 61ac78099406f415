"""Questions that a predicate about geometry asks of a box: may what lies in it satisfy the predicate?

    class Question:
        possible(boxes)   False only where no geometry in the box satisfies the predicate
        certain(boxes)    True only where each part of the box is as possible as the box: no smaller box will tell more
        also              the counts of further geometry that may satisfy it, wherever that lies

"In the box" is meant for a geometry as a whole, its envelope. Where `by_parts` is true, also for the parts of a geometry that lie in
several boxes: it does not satisfy the predicate if none of these boxes is possible.

What is asked is planar, as Sedona's and shapely's functions are, but for distances on the sphere. A box is tested a little wider than
it is. Empty geometry, and coordinates that are no finite numbers, are in no box: indexes count them, and keep their files. Invalid
geometry is in its box, and meets nothing outside of it; but that it lies in a region, or meets one, is not to be concluded from its box.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt
import shapely

from data_skip.plugin import Interval, ValueSet
from geo_skip.geometry import ABSOLUTE, RELATIVE, Boxes, Limits, Mask, Shapes, bounds, widened, within

Floats = npt.NDArray[np.float64]
_POLYGONS = (3, 6)
_MOST_INTERVALS = 64
_MANY_VERTICES = 100
_ANTIPODE = 1000.0  # metres
_EARTH: Limits = (1e6, 90.0)  # degrees: a sine of more turns is no longer exact to a millimetre


class Question(Protocol):
    """See the top of this module. Boxes hold finite numbers."""

    by_parts: bool

    @property
    def also(self) -> tuple[str, ...]:
        """The names of those counts."""

    def possible(self, boxes: Boxes) -> Mask:
        """Whether a geometry in each box may satisfy the predicate."""

    def certain(self, boxes: Boxes) -> Mask:
        """Whether the same holds for all boxes inside of each."""


def _shapes(boxes: Boxes) -> Shapes:
    return shapely.box(*widened(boxes).T)


class Region:
    """The constant geometry of a query (one that is somewhere), prepared for many tests.

    `solid`: whether it is valid; if not, its envelope stands for it.
    """

    def __init__(self, geometry: Any) -> None:
        self.solid = bool(shapely.is_valid(geometry))
        self.bounds: Floats = widened(bounds(np.array([geometry])))[0]
        self.shape = geometry if self.solid else shapely.box(*self.bounds)
        self.areal = self.solid and shapely.get_type_id(geometry) in _POLYGONS
        self.centre = _centre(geometry, self.bounds)
        shapely.prepare(self.shape)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """In another process: what shapely prepares is not pickled."""
        self.__dict__ |= state
        shapely.prepare(self.shape)

    def meets(self, boxes: Boxes) -> Mask:
        """Whether a box has a point in common with the region."""
        west, south, east, north = self.bounds
        near: Mask = (boxes[:, 0] <= east) & (boxes[:, 2] >= west) & (boxes[:, 1] <= north) & (boxes[:, 3] >= south)
        near[near] = shapely.intersects(self.shape, _shapes(boxes[near]))
        return near

    def encloses(self, boxes: Boxes) -> Mask:
        """Whether a box lies in the region's interior. Never where the region has none."""
        if not self.areal:
            return np.zeros(len(boxes), dtype=bool)
        inside: Mask = shapely.contains_properly(self.shape, _shapes(boxes))
        return inside

    def distances(self, boxes: Boxes) -> tuple[Floats, Floats]:
        """The smallest distance of a box to the region, and a bound for the largest: distances differ by no more than places do."""
        rounding = ABSOLUTE + RELATIVE * np.abs(self.bounds).max()
        lower = self._nearest(_shapes(boxes)) * (1 - RELATIVE) - rounding
        if not self.solid:
            return lower, np.full(len(boxes), np.inf)
        wide = widened(boxes)
        middle = shapely.points((wide[:, 0] + wide[:, 2]) / 2, (wide[:, 1] + wide[:, 3]) / 2)
        upper = self._nearest(middle) + np.hypot(wide[:, 2] - wide[:, 0], wide[:, 3] - wide[:, 1]) / 2
        return lower, upper * (1 + RELATIVE) + rounding

    def _nearest(self, shapes: Shapes) -> Floats:
        """The distance of each shape to the region: to the nearest of its edges, unless they meet."""
        if self._edges is None:
            return shapely.distance(self.shape, shapes)
        places, distances = self._edges.query_nearest(shapes, return_distance=True, all_matches=False)
        found = np.empty(len(shapes))
        found[places[0]] = distances
        found[shapely.intersects(self.shape, shapes)] = 0.0
        return found

    @cached_property
    def _edges(self) -> shapely.STRtree | None:
        """The edges of a region of polygons with many vertices, of which shapely would look at each for each distance."""
        if not self.areal or shapely.get_num_coordinates(self.shape) < _MANY_VERTICES:
            return None
        places, ring = shapely.get_coordinates(shapely.get_rings(shapely.get_parts(self.shape)), return_index=True)
        return shapely.STRtree(shapely.linestrings(np.stack([places[:-1], places[1:]], axis=1)[ring[:-1] == ring[1:]]))


def _centre(geometry: Any, bounds: Floats) -> tuple[float, float]:
    """The centroid, from which functions over the sphere measure (of a point: itself). NaN where it lies outside of the envelope.

    So it may of a ring that crosses itself, which has positive and negative parts: what is left of them may be all rounding.
    """
    west, south, east, north = bounds
    x, y = (float(place(shapely.centroid(geometry))) for place in (shapely.get_x, shapely.get_y))
    return (x, y) if west <= x <= east and south <= y <= north else (np.nan, np.nan)


class Regions:
    """Several constant geometries, as the rows of a join: met is what one of them meets, enclosed what one encloses."""

    def __init__(self, regions: Sequence[Region]) -> None:
        self._shapes = np.array([region.shape for region in regions], dtype=object)
        self._areal = np.array([region.shape for region in regions if region.areal], dtype=object)

    def meets(self, boxes: Boxes) -> Mask:
        """Whether a box has a point in common with one of the regions."""
        return _found(self._shapes, "intersects", boxes)

    def encloses(self, boxes: Boxes) -> Mask:
        """Whether a box lies in the interior of one of the regions."""
        return _found(self._areal, "contains_properly", boxes)


def _found(shapes: Shapes, relation: Any, boxes: Boxes) -> Mask:
    found = np.zeros(len(boxes), dtype=bool)
    found[shapely.STRtree(_shapes(boxes)).query(shapes, predicate=relation)[1]] = True
    return found


@dataclass(frozen=True)
class Meets:
    """The geometry has a point in common with the region: what most relations require."""

    region: Region | Regions
    also: tuple[str, ...] = ()
    by_parts = True

    def possible(self, boxes: Boxes) -> Mask:
        return self.region.meets(boxes)

    def certain(self, boxes: Boxes) -> Mask:
        return self.region.encloses(boxes)


@dataclass(frozen=True)
class NotInside:
    """The geometry does not lie in the region's interior: what NOT of containment and of intersection require."""

    region: Region
    by_parts = True
    also: ClassVar[tuple[str, ...]] = ("empty_count", "invalid_count")

    def possible(self, boxes: Boxes) -> Mask:
        return ~self.region.encloses(boxes)

    def certain(self, boxes: Boxes) -> Mask:
        return ~self.region.meets(boxes)


@dataclass(frozen=True)
class Distance:
    """The distance between the geometry and the region, in the units of the coordinates, is one of `values`."""

    region: Region
    values: ValueSet
    by_parts = True
    also: ClassVar[tuple[str, ...]] = ("empty_count",)

    def possible(self, boxes: Boxes) -> Mask:
        return overlapping(*self.region.distances(boxes), self.values)

    def certain(self, boxes: Boxes) -> Mask:
        return _within(*self.region.distances(boxes), self.values)


@dataclass(frozen=True)
class SphereDistance:
    """The distance in metres on a sphere between the centres of the geometry and of the region is one of `values`.

    `error`: by what share distances may be off; an ellipsoid's differ by up to 0.6 % from those on a sphere of the mean radius.
    """

    region: Region
    values: ValueSet
    radius: float
    error: float
    by_parts = False  # the centre of a geometry lies in its envelope, but perhaps in none of its parts
    also: ClassVar[tuple[str, ...]] = ("empty_count",)

    def possible(self, boxes: Boxes) -> Mask:
        lower, upper = self._distances(boxes)
        # Rounding may make it NaN, which is above all numbers: at the antipode, and where a centre at a pole comes to lie beyond it.
        doubtful = (upper > np.pi * self.radius * (1 - self.error) - _ANTIPODE) | ~self._on_earth(widened(boxes), widened(self._centre()))
        return ~self._on_earth(boxes, self._centre()) | overlapping(lower, upper, self.values) | (doubtful & self.values.nan)

    def certain(self, boxes: Boxes) -> Mask:
        return self._on_earth(boxes, self._centre()) & _within(*self._distances(boxes), self.values)

    def _centre(self) -> Boxes:
        return np.array([self.region.centre * 2])

    def _on_earth(self, boxes: Boxes, centre: Boxes) -> Mask:
        """Where distances are those of the formula below: where a latitude is none, libraries differ."""
        return within(boxes, _EARTH) & within(centre, _EARTH)

    def _distances(self, boxes: Boxes) -> tuple[Floats, Floats]:
        x, y = self.region.centre
        wide = widened(boxes)
        nearest, farthest = _angle(x, y, wide), np.pi - _angle(x + 180, -y, wide)  # what is far is near to the antipode
        margin = 1.0  # metre: the haversine formula is off by less than 0.2 near antipodes
        return nearest * self.radius * (1 - self.error) - margin, farthest * self.radius * (1 + self.error) + margin


def _angle(x: float, y: float, boxes: Boxes) -> Floats:
    """The smallest angle at the centre of a sphere between a point and each box, all in degrees.

    In the box's range of longitudes the nearest point is straight north or south; else it is on the nearer of its two meridians. There
    cos(angle) = sin(y) sin(lat) + cos(y) cos(lat) cos(dx), which is greatest at an end or at tan(lat) = tan(y) / cos(dx).
    """
    west, south, east, north = boxes.T
    straight = (x - west) % 360 <= east - west
    best = np.full(len(boxes), np.pi)
    for meridian in (west, east):
        apart = np.where(straight, 0.0, np.radians(x - meridian))
        turning = np.degrees(np.arctan2(np.sin(np.radians(y)), np.cos(np.radians(y)) * np.cos(apart)))
        for lat in (south, north, np.clip(turning, south, north)):
            best = np.minimum(best, _haversine(np.radians(y), np.radians(np.clip(lat, -90, 90)), apart))
    return best


def _haversine(a: float, b: Floats, apart: Floats) -> Floats:
    squared = np.sin((a - b) / 2) ** 2 + np.cos(a) * np.cos(b) * np.sin(apart / 2) ** 2
    angle: Floats = 2 * np.arctan2(np.sqrt(squared), np.sqrt(np.maximum(0.0, 1 - squared)))
    return angle


def overlapping(lows: Floats, highs: Floats, values: ValueSet) -> Mask:
    """Whether a number from low to high may belong to a set: of one in very many pieces, lie between its ends."""
    intervals = values.intervals
    if len(intervals) > _MOST_INTERVALS:
        first, last = intervals[0], intervals[-1]
        intervals = (Interval(first.low, last.high, first.low_closed, last.high_closed),)
    met = np.zeros(len(lows), dtype=bool)
    for interval in intervals:
        low, high = (None if end is None else float(end) for end in (interval.low, interval.high))
        reached = low is None or (highs >= low if interval.low_closed else highs > low)
        met |= reached & (high is None or (lows <= high if interval.high_closed else lows < high))
    return met


def _within(lower: Floats, upper: Floats, values: ValueSet) -> Mask:
    """Whether all numbers between the bounds belong to one interval of the set."""
    within = np.zeros(len(lower), dtype=bool)
    for interval in values.intervals:
        above = True if interval.low is None else lower > interval.low
        below = True if interval.high is None else upper < interval.high
        within |= above & below
    return within
