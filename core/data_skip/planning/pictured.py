"""What a picture of files shows: ranges of an index's records, as it offers them (`Index.extents`), and where a predicate can hold.

Where that is, the clause of the query tells: it is asked of files that would hold one row each, at the points of a grid, which has lines
where ranges of the predicate end. So it is known of whatever filters serve, those of plugins too; what lies between lines may be missed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from data_skip.clause import ALWAYS_TRUE, Mask, Records, survivors
from data_skip.data_types import FRACTIONAL, INTEGRAL, WHOLE, arrow_type, element_type, is_array
from data_skip.errors import DataSkipError, in_a_sentence
from data_skip.expression import Expression
from data_skip.index import BoundIndex, Index
from data_skip.pictures.boxes import MOST_NUMBER, Boxes, Region, Scale, Side
from data_skip.planning.bound import usable
from data_skip.planning.merging import Decision
from data_skip.planning.normalize import normalize
from data_skip.proofs.satisfying import jointly_satisfying
from data_skip.spark.bridge import Scan
from data_skip.store import Snapshot

_LINES = 240  # of a grid, each way
_MOST_ENDS = 40  # of a predicate's ranges at which there are lines besides


@dataclass(frozen=True)
class _Offered:
    """An index of a snapshot that keeps ranges."""

    column: str
    names: tuple[str, ...]  # its expressions, as they are asked for
    types: tuple[str, ...]
    extents: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class _Ranges:
    """The ranges of one expression: an entry a box."""

    owners: npt.NDArray[np.intp]
    low: pa.Array
    high: pa.Array


def boxes(table: str, snapshot: Snapshot, kinds: Mapping[str, type[Index]], chosen: Mask, columns: Sequence[str]) -> Boxes:
    """The boxes of some file versions of a snapshot over one expression or two; of none given, over the first that there are.

    DataSkipError where no index keeps ranges of them.
    """
    offered = list(_offered(snapshot, kinds))
    names = _names(table, offered, columns, [])
    ranges, types = _ranges(snapshot, offered, names)
    return _boxes(table, names, types, _of_files(ranges, chosen), chosen)


def boxes_of_query(
    table: str, snapshot: Snapshot, kinds: Mapping[str, type[Index]], decision: Decision, masks: tuple[Mask, Mask], columns: Sequence[str]
) -> Boxes:
    """As `boxes`, of the file versions that a query lists (the first mask) and skips (the second), and where its predicate can hold.

    Of no expression given, over those by which its predicate is served.
    """
    listed, skipped = masks
    offered = list(_offered(snapshot, kinds))
    used = dict.fromkeys(field.index for field in decision.clause.fields())
    names = _names(table, offered, columns, [one for column in used for one in offered if one.column == column])
    found, types = _ranges(snapshot, offered, names)
    ranges = _of_files(found, listed)
    scan, note = decision.indexes.spark, ""
    grid: list[pa.Array] | None = None
    inside: Mask | None = None
    try:
        assert isinstance(scan, Scan)
        grid = [_lines(part, type_, _ends(scan, decision, name)) for part, type_, name in zip(ranges, types, names, strict=True)]
        inside = _inside(decision, names, grid)
    except Exception as error:  # as where Spark was stopped since: the boxes are right
        note = f"where the predicate can hold is not known: {in_a_sentence(error)}"
    return _boxes(table, names, types, ranges, listed, ~skipped, grid if inside is not None else None, inside, note)


def _offered(snapshot: Snapshot, kinds: Mapping[str, type[Index]]) -> Iterator[_Offered]:
    for column, definition in snapshot.definitions.items():
        index = usable(definition, kinds)
        if isinstance(index, Index) and index.extents is not None and len(index.extents) == len(index.expressions):
            types = tuple(element_type(tree.type) if is_array(tree.type) else tree.type for tree in definition.bound_expressions)
            yield _Offered(column, tuple(map(_name, index.expressions)), types, index.extents)


def _name(expression: str) -> str:
    return expression.replace("`", "").strip()


def _names(table: str, offered: Sequence[_Offered], asked: Sequence[str], used: Sequence[_Offered]) -> list[str]:
    """The expressions of a picture."""
    if not all(isinstance(name, str) for name in asked) or len(asked) > 2:
        raise DataSkipError(f"a picture has two sides, not {', '.join(map(repr, asked))}; give one column or two")
    known = list(dict.fromkeys(name for one in offered for name in one.names))
    if not known:
        raise DataSkipError(
            f"{table} has no index that tells the smallest and the largest value of a file; create_index(MinMax(...)) makes one"
        )
    if asked:
        by_name = {name.casefold(): name for name in reversed(known)}
        for name in asked:
            if _name(name).casefold() not in by_name:
                advice = f"there are ranges of {', '.join(known)}; create_index(MinMax({name!r})) makes some of a column of the files"
                raise DataSkipError(f"no index of {table} tells the smallest and the largest {name} of a file: {advice}")
        return list(dict.fromkeys(by_name[_name(name).casefold()] for name in asked))
    pair = next((one.names for one in (*used, *([] if used else offered)) if len(one.names) == 2), None)
    return list(pair or islice(dict.fromkeys(name for one in used or offered for name in one.names), 2))


def _ranges(snapshot: Snapshot, offered: Sequence[_Offered], names: Sequence[str]) -> tuple[list[_Ranges], list[str]]:
    """The ranges of some expressions, box by box, and their types: those of an index over all of them, else a range a file of each."""
    together = next((one for one in offered if set(one.names) >= set(names) and len(names) > 1), None)
    chosen = [together or min((one for one in offered if name in one.names), key=lambda one: len(one.names)) for name in names]
    records = snapshot.records({one.column for one in chosen})
    found, types = [], []
    for name, one in zip(names, chosen, strict=True):
        place = one.names.index(name)
        found.append(_range(records[one.column], one.extents[place], hull=together is None))
        types.append(one.types[place])
    return found, types


def _range(records: pa.StructArray, fields: tuple[str, str], hull: bool) -> _Ranges:
    low, high = (_whole(pc.struct_field(records, name)) for name in fields)
    owners = np.arange(len(low))
    if pa.types.is_list(low.type) or pa.types.is_large_list(low.type):
        known = pc.and_(low.is_valid(), high.is_valid())
        low, high = low.filter(known), high.filter(known)
        lengths = low.value_lengths().to_numpy(zero_copy_only=False)
        owners = np.repeat(owners[known.to_numpy(zero_copy_only=False)], lengths)
        low, high = low.flatten(), high.flatten()
        if hull:
            groups = pa.table({"owner": owners, "low": low, "high": high}).group_by("owner").aggregate([("low", "min"), ("high", "max")])
            owners, low, high = groups["owner"].to_numpy(), _whole(groups["low_min"]), _whole(groups["high_max"])
    return _Ranges(owners, low, high)


def _whole(array: Any) -> pa.Array:
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array


def _of_files(ranges: Sequence[_Ranges], chosen: Mask) -> list[_Ranges]:
    """The boxes of chosen files of which each side is known, side by side."""
    if len({len(part.owners) for part in ranges}) > 1 or any((part.owners != ranges[0].owners).any() for part in ranges):
        common = np.intersect1d(ranges[0].owners, ranges[1].owners)  # of each side one box a file: see _ranges
        ranges = [_taken(part, np.searchsorted(part.owners, common)) for part in ranges]
    known = chosen[ranges[0].owners]
    for part in ranges:
        known &= pc.and_(part.low.is_valid(), part.high.is_valid()).to_numpy(zero_copy_only=False)
    return [_taken(part, np.flatnonzero(known)) for part in ranges]


def _taken(part: _Ranges, places: Any) -> _Ranges:
    return _Ranges(part.owners[places], part.low.take(pa.array(places)), part.high.take(pa.array(places)))


def _boxes(
    table: str,
    names: Sequence[str],
    types: Sequence[str],
    ranges: Sequence[_Ranges],
    chosen: Mask,
    read: Mask | None = None,
    grid: Sequence[pa.Array] | None = None,
    inside: Mask | None = None,
    note: str = "",
) -> Boxes:
    """Boxes as they are drawn: of two sides the first upright, as a latitude is, which stands before its longitude."""
    owners = ranges[0].owners
    sides, lines = [], []
    for i, (name, type_, part) in enumerate(zip(names, types, ranges, strict=True)):
        scale = Scale.of(name, type_, [part.low, part.high, *([grid[i]] if grid else [])])
        sides.append(Side(scale, scale.positions(part.low), scale.positions(part.high)))
        lines += [scale.positions(grid[i])] if grid else []
    region = None
    if inside is not None and not inside.any():
        note = "where a match can be is too small to be drawn"
    elif inside is not None and not inside.all():
        region = Region(tuple(lines[::-1]), inside.T)
    drawn = len(np.unique(owners))
    if not drawn:
        raise DataSkipError(f"no file of {table} has a record with a range of {' and '.join(names)}")
    without = int(chosen.sum()) - drawn
    return Boxes(table, tuple(sides[::-1]), owners, drawn, without, None if read is None else read[owners], region, note)


def _ends(scan: Scan, decision: Decision, name: str) -> list[Any]:
    """Where ranges of an expression end for which the predicate can hold."""
    tree = next(_trees(decision, name), None)
    values = jointly_satisfying(normalize(scan.predicate), tree, scan) if tree is not None else None
    ends = [end for interval in (values.intervals if values else ()) for end in (interval.low, interval.high) if end is not None]
    return list(dict.fromkeys(ends))[:_MOST_ENDS]


def _trees(decision: Decision, name: str) -> Iterator[Expression]:
    for bound in decision.indexes.bound:
        for sql, tree in zip(bound.index.expressions, bound.expressions, strict=True):
            if _name(sql) == name:
                yield tree


def _lines(part: _Ranges, type_: str, ends: Sequence[Any]) -> pa.Array:
    """The values of an expression at which there is a line of the grid, ascending."""
    if type_ not in (*INTEGRAL, *FRACTIONAL, *WHOLE):
        values = sorted({*part.low.to_pylist(), *part.high.to_pylist(), *ends})
        places = np.unique(np.linspace(0, len(values) - 1, _LINES).astype(int)) if len(values) > _LINES else range(len(values))
        kept = {values[i] for i in places} | set(ends)
        return pa.array(sorted(kept), arrow_type(type_))
    numbers = np.concatenate([part.low.to_numpy(zero_copy_only=False), part.high.to_numpy(zero_copy_only=False)]).astype(np.float64)
    numbers = np.clip(numbers[np.isfinite(numbers)], -MOST_NUMBER, MOST_NUMBER)
    low, high = (numbers.min(), numbers.max()) if len(numbers) else (0.0, 1.0)
    more = 0.04 * (high - low) or abs(low) * 0.06 or 1.0
    step = 1.0 if type_ in WHOLE else (high - low + 2 * more) * 1e-4
    found = np.linspace(low - more, high + more, _LINES)
    beside = [end + side for end in ends for side in (-step, 0, step) if low - more <= end <= high + more]
    found = np.unique(np.concatenate([np.round(found) if type_ in WHOLE else found, np.array(beside, dtype=np.float64)]))
    kind = arrow_type(type_)  # that of records may be another: a GeoBox has doubles
    if type_ in WHOLE:
        limits = np.iinfo(kind.to_pandas_dtype())
        found = np.unique(np.clip(found, float(limits.min), np.nextafter(float(limits.max), 0)).astype(np.int64))
    lines = pa.array(found).cast(kind, safe=False)
    return lines.filter(pc.is_finite(lines))  # the largest float, and some more, is none


def _inside(decision: Decision, names: Sequence[str], grid: Sequence[pa.Array]) -> Mask | None:
    """At which points of a grid a file of one row there would be read, whatever else it holds; None where nothing is known."""
    if decision.clause is ALWAYS_TRUE:
        return None
    shape = [len(lines) for lines in grid]
    points = {name: lines.take(pa.array(place.ravel())) for name, lines, place in zip(names, grid, np.indices(shape), strict=True)}
    count = int(np.prod(shape))
    used = {field.index for field in decision.clause.fields()}
    columns = {}
    for bound in decision.indexes.bound:
        if bound.index.column in used:
            columns[bound.index.column] = _records_at(bound, points, count)
    return survivors(decision.clause, Records(columns), count).reshape(shape)


def _records_at(bound: BoundIndex, points: Mapping[str, pa.Array], count: int) -> pa.StructArray:
    """The records of files of one row each, at some points; unknown where they do not tell the values of an index's expressions."""
    index = bound.index
    types = tuple(arrow_type(tree.type) if not is_array(tree.type) else pa.null() for tree in bound.expressions)
    fields = index.record_fields(types)
    values = [points[name] for name in map(_name, index.expressions) if name in points]
    if index.extents is None or not len(index.extents) == len(values) == len(index.expressions) or index.inputs != index.expressions:
        return pa.nulls(count, pa.struct(dict(fields)))
    one = index.finish(index.collect(*(value.slice(0, 1) for value in values)))
    columns = {name: pa.repeat(pa.scalar(one[name], type_), count) for name, type_ in fields.items() if not pa.types.is_nested(type_)}
    for ends, value in zip(index.extents, values, strict=True):
        for name in ends:
            is_list = pa.types.is_list(fields[name])
            found = value.cast(fields[name].value_type if is_list else fields[name], safe=False)
            columns[name] = pa.ListArray.from_arrays(pa.array(np.arange(count + 1, dtype=np.int32)), found) if is_list else found
    return pa.StructArray.from_arrays([columns[name] for name in fields], list(fields))
