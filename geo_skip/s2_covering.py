"""S2Covering: the S2 cells that hold the places of a file (Big Metadata, 5.3.10), and the predicates that they serve."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from data_skip import filters
from data_skip.clause import Clause, Computed
from data_skip.expression import Expression
from data_skip.filters import Indexes, admits
from data_skip.index import BoundIndex, Record
from data_skip.plugin import owners
from geo_skip.cells import MAX_LEVEL, Ids
from geo_skip.covering import Touching, as_ids, as_signed, cells_of_points, cells_where, fewer, meeting, normalized
from geo_skip.geometry import Places
from geo_skip.places import COUNTS, PlaceIndex, asked_of, or_elsewhere
from geo_skip.predicates import answer

_IN_FLIGHT = 1024  # cells of a record that is still being merged
_OF_A_REGION = 4096  # cells of a query's region


class S2Covering(PlaceIndex):
    """At most `max_cells` S2 cells, none below `max_level`, that together hold the places of a file; serves the ST_ functions, as GeoBox.

    `S2Covering("lat", "lng")` or `S2Covering("geom")`, as GeoBox. Cells are kept as int64: the 64 bits of the ids that S2 libraries give.
    A file on six faces of the cube has six cells at least. Places beyond 90 degrees of latitude or 180 of longitude are odd.
    """

    fields = {"cells": pa.list_(pa.int64()), **COUNTS}
    version = 4  # 1 did not count invalid geometry, 2 no short edges, 3 no form of Sedona's
    limits = (180.0, 90.0)

    def __init__(self, *expressions: str, max_level: int = 18, max_cells: int = 16) -> None:
        for name, value, low, high in (("max_level", max_level, 0, MAX_LEVEL), ("max_cells", max_cells, 1, _IN_FLIGHT // 4)):
            if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
                raise ValueError(f"{name} is a whole number from {low} to {high}, not {value!r}")
        super().__init__(*expressions, max_level=max_level, max_cells=max_cells)

    max_level: int
    max_cells: int

    def kept(self, places: Places) -> Record:
        if places.shapes is None:
            x, y = places.boxes[:, 0], places.boxes[:, 1]
            cells = cells_of_points(y, x, self.max_level, _IN_FLIGHT)
        else:
            cells = cells_where(Touching(places.shapes), self.max_level, _IN_FLIGHT)
        return {"cells": as_signed(cells)}

    def joined(self, a: Record, b: Record) -> Record:
        cells = normalized(np.concatenate([as_ids(a["cells"]), as_ids(b["cells"])]))
        return {"cells": as_signed(cells if len(cells) <= _IN_FLIGHT else fewer(cells, _IN_FLIGHT))}

    def finish(self, record: Record) -> Record:
        return {**record, "cells": as_signed(fewer(as_ids(record["cells"]), self.max_cells))}


@filters.on()
def in_a_cell(node: Expression, indexes: Indexes) -> Iterator[Clause]:
    """Sedona's functions, and those of `register`: cells are met, not boxes, by the cells in which the answer may be yes."""
    for index, about in asked_of(S2Covering, node, indexes):
        if len(index.expressions) == 2 or about.question.by_parts:
            region = cells_where(about.question, index.index.parameters["max_level"], _OF_A_REGION)
            yield answer(node, admits(index, node, indexes), or_elsewhere(_any_cell(index, region), index, about))


def _any_cell(index: BoundIndex, region: Ids) -> Clause:
    """Whether one of a file's cells has a point in common with a region; unknown where the file's cells are."""

    def any_meets(lists: pa.ListArray) -> pa.BooleanArray:
        cells = lists.combine_chunks() if isinstance(lists, pa.ChunkedArray) else lists
        met = np.zeros(len(cells), dtype=bool)
        met[owners(cells)[meeting(as_ids(cells.flatten().to_numpy(zero_copy_only=False)), region)]] = True
        return pa.array(met, mask=cells.is_null().to_numpy(zero_copy_only=False))

    return Computed(f"a cell of {index} is one of {len(region)}, or meets one", (index["cells"],), any_meets, pure=True)
