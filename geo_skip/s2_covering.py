"""S2Covering: the S2 cells that hold the places of a file (seed 003, 5.3.10), and the predicates that they serve."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import shapely

from data_skip import Index, filters
from data_skip.clause import Clause, Computed, any_of
from data_skip.distinct import owners
from data_skip.expression import Expression
from data_skip.filters import Indexes, admits
from data_skip.index import BoundIndex, Record
from data_skip.sampling import Sample
from geo_skip.cells import MAX_LEVEL, Ids, ids_of_points
from geo_skip.covering import Touching, as_ids, as_signed, cells_of_points, cells_where, fewer, meeting, normalized
from geo_skip.geo_box import COUNTS, elsewhere, is_about, refuse_count, refuse_places
from geo_skip.geometry import Boxes, Mask, envelopes, parsed, points
from geo_skip.predicates import answer, asked
from geo_skip.swapped import warn_if_swapped

_IN_FLIGHT = 1024  # cells of a record that is still being merged
_OF_A_REGION = 4096  # cells of a query's region


class S2Covering(Index):
    """At most `max_cells` S2 cells, none below `max_level`, that together hold the places of a file; serves the ST_ functions, as GeoBox.

    `S2Covering("lat", "lng")` or `S2Covering("geom")`, as GeoBox. Cells are kept as int64: the 64 bits of the ids that S2 libraries give.
    A file on six faces of the cube has six cells at least. Places beyond 90 degrees of latitude or 180 of longitude are odd, too.
    """

    fields = {"cells": pa.list_(pa.int64()), **dict.fromkeys(COUNTS, pa.int64())}
    expression_count = None

    def __init__(self, *expressions: str, max_level: int = 18, max_cells: int = 16) -> None:
        refuse_count(expressions, "S2Covering")
        for name, value, low, high in (("max_level", max_level, 0, MAX_LEVEL), ("max_cells", max_cells, 1, _IN_FLIGHT // 4)):
            if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
                raise ValueError(f"{name} is a whole number from {low} to {high}, not {value!r}")
        super().__init__(*expressions, max_level=max_level, max_cells=max_cells)

    max_level: int
    max_cells: int

    def refuse(self, types: tuple[str, ...]) -> str | None:
        return refuse_places(types)

    def fitted(self, sample: Sample) -> Index:
        warn_if_swapped(self, sample)
        return self

    def collect(self, *values: pa.Array) -> Record:
        if len(values) == 2:
            found = points(*values)
            on_earth = _on_earth(found.boxes)
            x, y = found.boxes[on_earth, 0], found.boxes[on_earth, 1]
            cells = cells_of_points(ids_of_points(y, x), self.max_level, _IN_FLIGHT)
            return self._record(cells, found.half_null, 0, found.odd + int((~on_earth).sum()))
        geometries = parsed(values[0])
        around = envelopes(geometries)
        on_earth = _on_earth(around.boxes)
        if around.odd or not on_earth.all():  # their file is kept: its cells say nothing
            return self._record(np.empty(0, dtype=np.uint64), 0, around.empties, around.odd + int((~on_earth).sum()))
        somewhere = geometries[~shapely.is_missing(geometries) & ~shapely.is_empty(geometries)]
        return self._record(cells_where(Touching(somewhere), self.max_level, _IN_FLIGHT), 0, around.empties, 0)

    def merge(self, a: Record, b: Record) -> Record:
        cells = normalized(np.concatenate([as_ids(a["cells"]), as_ids(b["cells"])]))
        if len(cells) > _IN_FLIGHT:
            cells = fewer(cells, _IN_FLIGHT)
        return self._record(cells, *(a[name] + b[name] for name in COUNTS))

    def finish(self, record: Record) -> Record:
        return {**record, "cells": as_signed(fewer(as_ids(record["cells"]), self.max_cells))}

    def _record(self, cells: Ids, half_null: int, empties: int, odd: int) -> Record:
        return {"cells": as_signed(cells), "half_null_count": half_null, "empty_count": empties, "odd_count": odd}


def _on_earth(boxes: Boxes) -> Mask:
    within: Mask = (np.abs(boxes[:, [0, 2]]).max(axis=1, initial=0.0) <= 180) & (np.abs(boxes[:, [1, 3]]).max(axis=1, initial=0.0) <= 90)
    return within


@filters.on()
def in_a_cell(node: Expression, indexes: Indexes) -> Iterator[Clause]:
    """Sedona's functions, and those of `register`: cells are met, not boxes, by the cells in which the answer may be yes."""
    bound = list(indexes.of(S2Covering))
    for about in asked(node, indexes.spark) if bound else ():
        for index in bound:
            if is_about(index, about) and (len(index.expressions) == 2 or about.question.by_parts):
                covering = index.index
                assert isinstance(covering, S2Covering)
                region = cells_where(about.question, covering.max_level, _OF_A_REGION)
                yield answer(node, admits(index, node, indexes), any_of([_any_cell(index, region), *elsewhere(index, about)]))


def _any_cell(index: BoundIndex, region: Ids) -> Clause:
    """Whether one of a file's cells has a point in common with a region; unknown where the file's cells are."""

    def any_meets(lists: pa.ListArray) -> pa.BooleanArray:
        cells = lists.combine_chunks() if isinstance(lists, pa.ChunkedArray) else lists
        met = np.zeros(len(cells), dtype=bool)
        met[owners(cells)[meeting(as_ids(cells.flatten().to_numpy(zero_copy_only=False)), region)]] = True
        return pa.array(met, mask=cells.is_null().to_numpy(zero_copy_only=False))

    return Computed(f"a cell of {index} is one of {len(region)}, or meets one", (index["cells"],), any_meets)
