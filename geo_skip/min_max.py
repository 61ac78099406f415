"""Sedona's functions, and those of `register`, over points: served by MinMax of the latitude and MinMax of the longitude together."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from data_skip import MinMax, filters
from data_skip.clause import Clause, Computed, Text, Words
from data_skip.expression import Expression
from data_skip.filters import Indexes, admits
from data_skip.index import BoundIndex
from geo_skip.geometry import ANYWHERE, is_number, within
from geo_skip.predicates import Asked, answer, asked, number

_FIELDS = ("min", "max", "value_count", "nan_count")


@filters.on()
def in_the_box(node: Expression, indexes: Indexes) -> Iterator[Clause]:
    """Predicates about points whose two coordinates have a MinMax each: a file is one box."""
    bound = [index for index in indexes.of(MinMax) if is_number(index.expression.type)]
    for about in asked(node, indexes.spark) if len(bound) > 1 else ():
        if about.subject.point is None:
            continue
        x, y = ([index for index in bound if number(index.expression) == side] for side in about.subject.point)
        if x and y:
            text = _both_admit(x[0], y[0], node, indexes)
            yield answer(node, text, _in_box(x[0], y[0], about, text))


def _both_admit(x: BoundIndex, y: BoundIndex, node: Expression, indexes: Indexes) -> Words:
    return Words(lambda: f"{y} and {admits(x, node, indexes)}")


def _in_box(x: BoundIndex, y: BoundIndex, about: Asked, text: Text) -> Clause:
    question = about.question

    def may_match(*fields: pa.Array) -> pa.BooleanArray:
        low_x, high_x, values_x, nans_x, low_y, high_y, values_y, nans_y = fields
        odd = pc.or_kleene(pc.greater(nans_x, 0), pc.greater(nans_y, 0))
        none = pc.or_kleene(pc.equal(values_x, 0), pc.equal(values_y, 0))  # no row has two numbers
        sides = [pc.fill_null(side.cast(pa.float64(), safe=False), np.nan) for side in (low_x, low_y, high_x, high_y)]
        boxes = np.stack([side.to_numpy(zero_copy_only=False) for side in sides], axis=1)
        known = within(boxes, ANYWHERE)
        possible = np.zeros(len(boxes), dtype=bool)
        possible[known] = question.possible(boxes[known])
        inside = pc.if_else(none, False, pa.array(possible, mask=~known))
        return pc.or_kleene(inside, odd)

    return Computed(text, tuple(index[field] for index in (x, y) for field in _FIELDS), may_match, pure=True)
