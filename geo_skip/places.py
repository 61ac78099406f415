"""What GeoBox and S2Covering share: which places of a file they are about, what they count besides, and which predicates reach them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any, ClassVar

import pyarrow as pa

from data_skip import DataSkipError, DataSkipWarning, Index
from data_skip.clause import Clause, any_of
from data_skip.expression import Expression
from data_skip.filters import Indexes
from data_skip.index import BoundIndex, Record
from data_skip.plugin import Sample
from geo_skip.geometry import ANYWHERE, UDT, Limits, Places, is_number, points, shapes
from geo_skip.predicates import Asked, asked

COUNTS = dict.fromkeys(("half_null_count", "empty_count", "odd_count", "invalid_count", "serialized_count"), pa.int64())


class PlaceIndex(Index):
    """An index over the places of a file: of a latitude and a longitude, or of one geometry (WKB, WKT, GeoJSON or Sedona's own type).

    Beside what a subclass keeps of places, it counts rows that have none: of which just one coordinate is NULL, with empty geometry,
    and with an odd one (see geometry.py), beyond `limits`; and those with invalid geometry, or with one in Sedona's own form.
    """

    expression_count = None
    limits: ClassVar[Limits] = ANYWHERE

    def __init__(self, *expressions: str, **parameters: Any) -> None:
        refuse_count(expressions, self.kind)
        super().__init__(*expressions, **parameters)

    def refuse(self, types: tuple[str, ...]) -> str | None:
        if len(types) == 2:
            wrong = [type_ for type_ in types if not is_number(type_)]
            return f"a coordinate of type {wrong[0]} is no number; cast it to double, in the index and in queries" if wrong else None
        if types[0] in (*UDT, "binary", "string"):
            return None
        return f"values of type {types[0]} are no geometry: WKB, WKT, GeoJSON or Sedona's; or name two columns: latitude, longitude"

    def fitted(self, sample: Sample) -> Index:
        if len(self.expressions) == 2:
            _warn_if_swapped(self, sample)
        return self

    def collect(self, *values: pa.Array) -> Record:
        places = points(*values, self.limits) if len(values) == 2 else shapes(values[0], self.limits)
        counts = (places.half_null, places.empty, places.odd, places.invalid, places.serialized)
        return {**self.kept(places), **dict(zip(COUNTS, counts, strict=True))}

    def merge(self, a: Record, b: Record) -> Record:
        return {**self.joined(a, b), **{name: a[name] + b[name] for name in COUNTS}}

    def kept(self, places: Places) -> Record:
        """What is kept of the places of a batch."""
        raise NotImplementedError

    def joined(self, a: Record, b: Record) -> Record:
        """What is kept of two batches, from what is kept of each."""
        raise NotImplementedError


def refuse_count(expressions: tuple[Any, ...], name: str) -> None:
    """ValueError where these are neither a geometry nor a latitude and a longitude."""
    if len(expressions) not in (1, 2):
        raise ValueError(f"{name} takes a geometry, or a latitude and a longitude, as SQL expressions, not {expressions!r}")


def _warn_if_swapped(index: Index, sample: Sample) -> None:
    """The most common mistake is the longitude first. The index is right all the same, for what is there."""
    lat, lng = index.expressions
    beyond = f"(abs(TRY_CAST({lat} AS DOUBLE)) > 90 AND NOT isnan(TRY_CAST({lat} AS DOUBLE)))"
    try:
        swapped = sample.holds(beyond)
    except DataSkipError:  # what is no number is refused next
        return
    if swapped:
        message = (
            f"{index}: some latitudes in {lat} are beyond 90 degrees; if {lat} and {lng} were swapped by mistake, write them the other way"
        )
        warnings.warn(message, DataSkipWarning, stacklevel=3)


def asked_of(kind: type[PlaceIndex], node: Expression, indexes: Indexes) -> Iterator[tuple[BoundIndex, Asked]]:
    """What a node asks of the places of each index of a class."""
    bound = list(indexes.of(kind))
    for about in asked(node, indexes.spark) if bound else ():
        for index in bound:
            if _is_over(index, about):
                yield index, about


def _is_over(index: BoundIndex, about: Asked) -> bool:
    if len(index.expressions) == 2:
        lat, lng = index.expressions
        return about.subject.is_point_of(lng, lat)
    return index.expression in about.subject.forms


def or_elsewhere(clause: Clause, index: BoundIndex, about: Asked) -> Clause:
    """A clause about what is kept of a file's places, or that a satisfying one may be among the others."""
    as_wkb = ("serialized_count",) if any(expression.type == "binary" for expression in index.expressions) else ()
    return any_of([clause, *(index[count] > 0 for count in ("odd_count", *as_wkb, *about.question.also))])
