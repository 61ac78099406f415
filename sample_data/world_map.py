"""A picture of skipping: where the files of a table lie, and which of them a query reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import shapely
from matplotlib.collections import PatchCollection
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from data_skip.table import Table
from geo_skip import GeoBox
from sample_data.countries import read_countries

_READ, _SKIPPED, _LAND = "#d1495b", "#b8b8b8", "#eeeeea"
_SMALLEST = 0.4  # degrees: what a box of one place is drawn as


def draw(table: Table, index: GeoBox, where: str, title: str, region: str, path: Path) -> None:
    """Writes a PNG: the boxes that `index` knows of each file, those of files that `where` reads in colour, and the region (WKT)."""
    root = f"{table.root}/"
    read = {uri.removeprefix(root) for uri in table.files(where)}
    rows = table.metadata().select("path", index.column).collect()
    figure = Figure(figsize=(13, 6.5), layout="constrained")
    axes: Any = figure.add_subplot()
    for outline in read_countries().values():
        _fill(axes, outline, facecolor=_LAND, edgecolor="white")
    for colour, kept in ((_SKIPPED, False), (_READ, True)):
        boxes = [box for row in rows if (row["path"] in read) == kept for box in _boxes(row[index.column])]
        axes.add_collection(PatchCollection(boxes, facecolor=colour, edgecolor=colour, alpha=0.35, linewidth=0.5))
    _fill(axes, region, facecolor="none", edgecolor="#222222")
    axes.set(xlim=(-180, 180), ylim=(-90, 90), aspect="equal", xticks=[], yticks=[])
    axes.set_title(f"{title}: {len(read):,} of {len(rows):,} files read (red), the others skipped (grey)")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)


def _boxes(record: Any) -> list[Rectangle]:
    sides = zip(record.min_x, record.min_y, record.max_x, record.max_y, strict=True)
    return [Rectangle((x0, y0), max(x1 - x0, _SMALLEST), max(y1 - y0, _SMALLEST)) for x0, y0, x1, y1 in sides]


def _fill(axes: Any, outline: str, **style: Any) -> None:
    for part in shapely.get_parts(shapely.from_wkt(outline)):
        axes.fill(*shapely.get_coordinates(shapely.get_exterior_ring(part)).T, linewidth=0.7, **style)
