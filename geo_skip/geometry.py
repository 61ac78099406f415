"""Geometry, as tables and queries hold it: WKB, WKT, GeoJSON, or Sedona's own serialised form.

Everything is planar, in the units of the data: x is the longitude, y the latitude where they are degrees. Sedona's functions and
shapely's mean that, too: an edge is straight in longitude and latitude, and 180 and -180 are far apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import shapely

from data_skip.expression import Literal

Boxes: TypeAlias = npt.NDArray[np.float64]  # (n, 4): min x, min y, max x, max y; both ends belong to a box
Mask: TypeAlias = npt.NDArray[np.bool_]
Shapes: TypeAlias = npt.NDArray[np.object_]
Limits: TypeAlias = tuple[float, float]  # of |x| and |y|

_LARGEST = 1e60  # beyond, products of several coordinates may overflow
_SHORTEST = 1e-150  # of an edge: the square of what is shorter may be 0, and JTS divides by it
ANYWHERE: Limits = (_LARGEST, _LARGEST)
RELATIVE, ABSOLUTE = 1e-12, 1e-10  # of coordinates: far above the rounding of any formula in doubles, far below a millimetre in degrees

ROUNDING = 2.0**-50  # relative: of a number that is no double, by Spark as by Arrow
_DOUBLES = ("tinyint", "smallint", "int", "float", "double")
UDT = ("udt GeometryUDT", "udt GeometryUDT$")  # Spark's own name of the type of geometry columns, and that of geometry constants


def is_number(type_: str) -> bool:
    """Whether a coordinate may be of this type."""
    return type_ in (*_DOUBLES, "bigint") or type_.startswith("decimal(")


def exact_below(type_: str) -> float:
    """Below which size every number of a type is a double. Others are rounded, by far less than the margin of boxes."""
    return np.inf if type_ in _DOUBLES else 2.0**53 if type_ == "bigint" else 0.0


def parse(value: str | bytes) -> Any:
    """The geometry that a text (WKT or GeoJSON) or bytes (WKB or Sedona's form) stand for. An error of shapely or Sedona for what is none.

    WKB begins with its byte order, 0 or 1. Sedona's form begins with the type of the geometry in the upper half of a byte: 16 at least.
    """
    if isinstance(value, str):
        return shapely.from_geojson(value) if value.lstrip().startswith("{") else shapely.from_wkt(value)
    if not _serialized(value):
        return shapely.from_wkb(value)
    from sedona.spark.utils import geometry_serde  # optional: sessions that hold such values have it

    shape, end = geometry_serde.deserialize(value)
    if end != len(value):  # JTS takes WKB of any other byte order for big-endian
        raise ValueError(f"{len(value)} bytes are no geometry that Sedona wrote, which has {end}")
    return shape


def _serialized(value: str | bytes) -> bool:
    """Whether a value that is geometry is in Sedona's own form."""
    return isinstance(value, bytes) and value[0] > 1


def constant(literal: Literal) -> Any:
    """The geometry of a constant of a query; None where it is NULL, no geometry, or cannot be read."""
    if literal.type not in (*UDT, "string", "binary") or not isinstance(literal.value, str | bytes):
        return None
    try:
        return parse(literal.value)
    except Exception:  # of whatever library: what cannot be read is unknown
        return None


def within(boxes: Boxes, limits: Limits) -> Mask:
    """Which boxes lie within limits. None with a side that is no number."""
    inside: Mask = np.all(np.abs(boxes) <= np.array([*limits, *limits]), axis=1)
    return inside


def widened(boxes: Boxes) -> Boxes:
    """The boxes with a margin for rounding."""
    margin = ABSOLUTE + RELATIVE * np.abs(boxes).max(axis=1, initial=0.0, keepdims=True)
    return boxes + margin * np.array([-1.0, -1.0, 1.0, 1.0])


def bounds(shapes: Shapes) -> Boxes:
    """The box around all coordinates of each geometry (not empty). NaN where one is.

    The envelope that libraries give leaves out NaN, and holes that lie outside of their polygon, which distances are measured to.
    """
    coordinates, owners = shapely.get_coordinates(shapes, return_index=True)
    first = np.searchsorted(owners, np.arange(len(shapes)))
    return np.concatenate([np.minimum.reduceat(coordinates, first), np.maximum.reduceat(coordinates, first)], axis=1)


@dataclass(frozen=True)
class Places:
    """The places of a batch, those that are somewhere, and how many others there were.

    Odd are those with a coordinate that is no number, or beyond limits, with an edge that is too short for its distances to be known, and
    geometry whose centroid lies outside of its envelope, as that of a ring that crosses itself may. Invalid ones are among the places, but
    what relations hold of them is not known: JTS takes a line of equal points, or a polygon without area, for geometry without interior,
    that neither lies in nor meets what it lies in. Of bytes in Sedona's own form JTS makes other geometry where they are read as WKB: that
    of a point is WKB of a point near 0 0.
    """

    boxes: Boxes  # envelopes, or points as boxes without extent
    shapes: Shapes | None  # the geometry in each box; None for points
    half_null: int  # of a point, one coordinate is NULL: no place, but a row with a coordinate
    empty: int
    odd: int
    invalid: int
    serialized: int  # in Sedona's own form


def points(lats: pa.Array, lngs: pa.Array, limits: Limits) -> Places:
    """The points of a batch. Rows with two NULLs are left out."""
    (y, y_null), (x, x_null) = _doubles(lats), _doubles(lngs)
    half_null = odd = 0
    if lats.null_count or lngs.null_count or not (_all_within(x, limits[0]) and _all_within(y, limits[1])):
        there = ~(y_null | x_null)
        usual = there & (np.abs(x) <= limits[0]) & (np.abs(y) <= limits[1])
        half_null, odd = int((y_null ^ x_null).sum()), int(np.count_nonzero(there)) - int(np.count_nonzero(usual))
        x, y = x[usual], y[usual]
    return Places(np.stack([x, y, x, y]).T, None, half_null=half_null, empty=0, odd=odd, invalid=0, serialized=0)


def _all_within(numbers: npt.NDArray[np.float64], limit: float) -> bool:
    """Whether all numbers are within a limit; not where one is NaN."""
    return not len(numbers) or bool(numbers.min() >= -limit and numbers.max() <= limit)


def _doubles(array: pa.Array) -> tuple[npt.NDArray[np.float64], Mask]:
    """The numbers of an array as doubles, and which of them are NULL. Large integers, and decimals, are off by `ROUNDING` at most."""
    numbers = array.cast(pa.float64(), safe=False)
    if not array.null_count:
        return numbers.to_numpy(), np.zeros(len(array), dtype=bool)
    return numbers.fill_null(0).to_numpy(zero_copy_only=False), array.is_null().to_numpy(zero_copy_only=False)


def shapes(array: pa.Array, limits: Limits) -> Places:
    """The geometry of a batch of text or bytes. NULLs are left out; an error where a value cannot be read."""
    values = array.drop_null().to_pylist()
    found = np.array([parse(value) for value in values], dtype=object)
    some = found[~shapely.is_empty(found)]
    boxes = bounds(some)
    usual = within(boxes, limits) & ~_too_short(some)
    usual[usual] = _holding(boxes[usual], shapely.centroid(some[usual]))
    placed = some[usual]
    invalid = len(placed) - int(shapely.is_valid(placed).sum())
    empty, odd, serialized = len(found) - len(some), len(some) - len(placed), sum(map(_serialized, values))
    return Places(boxes[usual], placed, half_null=0, empty=empty, odd=odd, invalid=invalid, serialized=serialized)


def _too_short(shapes: Shapes) -> Mask:
    """Which geometries have two vertices in a row that are nearer than distances can be computed, and not the same."""
    coordinates, owners = shapely.get_coordinates(shapes, return_index=True)
    with np.errstate(invalid="ignore", over="ignore"):
        steps = np.abs(np.diff(coordinates, axis=0)).max(axis=1, initial=0.0)
    short = (steps > 0) & (steps < _SHORTEST) & (owners[1:] == owners[:-1])
    found = np.zeros(len(shapes), dtype=bool)
    found[owners[1:][short]] = True
    return found


def _holding(boxes: Boxes, points: Shapes) -> Mask:
    """Which boxes hold a point each."""
    x, y, wide = shapely.get_x(points), shapely.get_y(points), widened(boxes)
    held: Mask = (x >= wide[:, 0]) & (y >= wide[:, 1]) & (x <= wide[:, 2]) & (y <= wide[:, 3])
    return held


def nowhere(shape: Any) -> bool:
    """Whether a geometry has no place that anything is known of: it is empty, or odd (see `Places`) whatever the limits."""
    coordinates = shapely.get_coordinates(shape)
    usual = len(coordinates) > 0 and bool((np.abs(coordinates) <= _LARGEST).all())
    return not usual or bool(_too_short(np.array([shape], dtype=object))[0])
