"""Geometry, as tables and queries hold it: WKB, WKT, GeoJSON, or Sedona's own serialised form.

Everything is planar, in the units of the data: x is the longitude, y the latitude where they are degrees. Sedona's functions and
shapely's mean that, too: an edge is straight in longitude and latitude, and 180 and -180 are far apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import shapely

from data_skip.expression import Literal

Boxes: TypeAlias = npt.NDArray[np.float64]  # (n, 4): min x, min y, max x, max y; both ends belong to a box
Mask: TypeAlias = npt.NDArray[np.bool_]

UDT = ("udt GeometryUDT", "udt GeometryUDT$")  # Spark's own name of the type of geometry columns, and that of geometry constants


def parse(value: str | bytes) -> Any:
    """The geometry that a text (WKT or GeoJSON) or bytes (WKB or Sedona's form) stand for. An error of shapely or Sedona for what is none.

    WKB begins with its byte order, 0 or 1. Sedona's form begins with the type of the geometry in the upper half of a byte: 16 at least.
    """
    if isinstance(value, str):
        return shapely.from_geojson(value) if value.lstrip().startswith("{") else shapely.from_wkt(value)
    if value[0] <= 1:
        return shapely.from_wkb(value)
    from sedona.spark.utils import geometry_serde  # optional: sessions that hold such values have it

    return geometry_serde.deserialize(value)[0]


def constant(literal: Literal) -> Any:
    """The geometry of a constant of a query; None where it is NULL, no geometry, or cannot be read."""
    if literal.type not in (*UDT, "string", "binary") or not isinstance(literal.value, str | bytes):
        return None
    try:
        return parse(literal.value)
    except Exception:  # of whatever library: what cannot be read is unknown
        return None


@dataclass(frozen=True)
class Envelopes:
    """The boxes around some geometries, and how many others there were."""

    boxes: Boxes
    empties: int
    odd: int  # with a coordinate that is no finite number


def envelopes(geometries: npt.NDArray[np.object_]) -> Envelopes:
    """The box around each geometry, left out where it is None, empty or odd."""
    geometries = geometries[~shapely.is_missing(geometries)]
    empty = shapely.is_empty(geometries)
    coordinates, owners = shapely.get_coordinates(geometries, return_index=True)
    odd = np.zeros(len(geometries), dtype=bool)
    odd[owners[~np.isfinite(coordinates).all(axis=1)]] = True
    return Envelopes(shapely.bounds(geometries[~empty & ~odd]), int((empty & ~odd).sum()), int(odd.sum()))


def parsed(array: pa.Array) -> npt.NDArray[np.object_]:
    """The geometries of an array of text or bytes; None where it is null. An error where one cannot be read."""
    values: Sequence[Any] = array.to_pylist()
    found = np.empty(len(values), dtype=object)
    found[:] = [None if value is None else parse(value) for value in values]
    return found


def doubles(array: pa.Array) -> tuple[npt.NDArray[np.float64], Mask]:
    """The numbers of an array, as Spark casts them to doubles, and which of them are NULL."""
    nulls = array.is_null().to_numpy(zero_copy_only=False)
    filled = array.fill_null(0) if array.null_count else array
    return filled.to_numpy(zero_copy_only=False).astype(np.float64), nulls


@dataclass(frozen=True)
class Points:
    """Pairs of coordinates: those of finite numbers as boxes without extent, and how many others there were."""

    boxes: Boxes
    half_null: int  # one of the two is NULL: no point, but a row with a coordinate
    odd: int  # one of the two is no finite number


def points(lats: pa.Array, lngs: pa.Array) -> Points:
    """The points of a batch. Rows with two NULLs are left out."""
    (y, y_null), (x, x_null) = doubles(lats), doubles(lngs)
    whole = ~y_null & ~x_null
    finite = np.isfinite(y) & np.isfinite(x)
    x, y = x[whole & finite], y[whole & finite]
    return Points(np.stack([x, y, x, y], axis=1), int((y_null ^ x_null).sum()), int((whole & ~finite).sum()))


def nowhere(shape: Any) -> bool:
    """Whether a geometry has no place: it is empty, or a coordinate is no finite number."""
    return bool(shapely.is_empty(shape)) or not np.isfinite(shapely.get_coordinates(shape)).all()
