"""What a GeoParquet file says of the boxes of its geometry (the specification's versions 1.0 and 1.1)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from data_skip.expression import Call, Column, Expression
from data_skip.plugin import Footer
from geo_skip.geometry import Boxes

_SIDES = ("xmin", "ymin", "xmax", "ymax")


def boxes(footer: Footer, expressions: tuple[Expression, ...]) -> Boxes | None:
    """Boxes in which all the geometry of a column lies; None where the file does not say, or Spark may see other values.

    One a row group where the file has a column with the box of each row, and no geometry can cross the date line; else one.
    """
    column = _column(expressions)
    if column is None or footer.chunks(column) is None:
        return None
    described = _description(footer, column.path[0])
    if described is None or described.get("encoding") != "WKB":
        return None
    whole = _whole(described.get("bbox"))
    if whole is None:
        return None
    groups = _groups(footer, described.get("covering"))
    return whole[None] if groups is None or whole[0] <= -180 or whole[2] >= 180 else groups


def _column(expressions: tuple[Expression, ...]) -> Column | None:
    match expressions:
        case (Column() as column,) | (Call("ST_GeomFromWKB", [Column() as column]),):
            return column
    return None


def _description(footer: Footer, name: str) -> Mapping[str, Any] | None:
    try:
        found = json.loads((footer.metadata.metadata or {})[b"geo"])["columns"][name]
    except (KeyError, ValueError, TypeError):
        return None
    return found if isinstance(found, dict) else None


def _whole(bbox: Any) -> Any:
    """The box of the file as x and y. One that begins in the east and ends in the west crosses the date line: planar, it goes all round."""
    if not isinstance(bbox, list) or len(bbox) not in (4, 6) or not all(isinstance(side, int | float) for side in bbox):
        return None
    half = len(bbox) // 2
    west, south, east, north = (float(bbox[i]) for i in (0, 1, half, half + 1))
    if not np.isfinite([west, south, east, north]).all() or south > north:
        return None
    return np.array([-180.0, south, 180.0, north] if west > east else [west, south, east, north])


def _groups(footer: Footer, covering: Any) -> Boxes | None:
    """A box for each row group, from the statistics of the column that holds the box of each row."""
    try:
        paths = [".".join(covering["bbox"][side]) for side in _SIDES]
    except (KeyError, TypeError):
        return None
    schema = footer.metadata.schema
    places = {schema.column(i).path: i for i in range(footer.metadata.num_columns)}
    if any(path not in places for path in paths):
        return None
    found = []
    for group in range(footer.metadata.num_row_groups):
        ends = []
        for path, side in zip(paths, _SIDES, strict=True):
            chunk = footer.metadata.row_group(group).column(places[path])
            statistics = chunk.statistics
            if statistics is None or not statistics.has_min_max:
                return None
            low = side in ("xmin", "ymin")
            end = float(statistics.min if low else statistics.max)
            if chunk.physical_type == "FLOAT":  # perhaps rounded to nearest
                end = float(np.nextafter(np.float32(end), np.float32(-np.inf if low else np.inf)))
            elif chunk.physical_type != "DOUBLE":
                return None
            ends.append(end)
        found.append(ends)
    return np.array(found, dtype=np.float64).reshape(-1, 4)
