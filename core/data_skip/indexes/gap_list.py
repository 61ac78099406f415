"""GapList: the widest ranges between a file's smallest and largest value in which it holds none (Extensible Data Skipping, IV-C)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from data_skip import filters
from data_skip.clause import Clause, Computed, Named, any_of
from data_skip.data_types import FRACTIONAL
from data_skip.expression import Call, Expression
from data_skip.filters import Indexes, admits
from data_skip.index import BoundIndex, Index, Record, refuse_number
from data_skip.indexes.distinct import ascending
from data_skip.indexes.min_max import COUNTS, LONGEST, counted, refuse_unordered
from data_skip.proofs.overlap import any_run_meets
from data_skip.proofs.satisfying import jointly_satisfying, speak_of
from data_skip.proofs.value_set import ValueSet, after_bytes, after_prefix

Numbers: TypeAlias = npt.NDArray[Any]
Run: TypeAlias = tuple[Any, Any]  # the smallest and the largest of some neighbouring values
_IN_FLIGHT = 1024  # runs of a record that is still being merged: the widest gaps of a file are known only at its end


class GapList(Index):
    """The `gaps` widest gaps between the values of one expression; serves every predicate that comes down to ranges, and IS [NOT] NULL.

    A gap is kept as what lies around it: the file's values are in runs, from `starts[i]` to `ends[i]`, both ends being values of
    the file (or, for long text, bounds of them), and none lies between two runs. So a gap is open at both ends.
    """

    def __init__(self, expression: str, gaps: int = 8) -> None:
        refuse_number(gaps, "gaps is how many gaps are kept a file")
        super().__init__(expression, gaps=gaps)

    gaps: int

    def refuse(self, types: tuple[str, ...]) -> str | None:
        return refuse_unordered("GapList", types)

    def record_fields(self, types: tuple[pa.DataType, ...]) -> Mapping[str, pa.DataType]:
        return {"starts": pa.list_(types[0]), "ends": pa.list_(types[0]), **dict.fromkeys(COUNTS, pa.int64())}

    def collect(self, *values: pa.Array) -> Record:
        array, counts = counted(values[0])
        if pa.types.is_integer(array.type) or pa.types.is_floating(array.type):
            ordered = ascending(array.drop_null().to_numpy())
            return {**_around_gaps(ordered, ordered, self._in_flight), **counts}
        return {**self._fields(map(_bounds, sorted(array.drop_null().unique().to_pylist()))), **counts}

    def merge(self, a: Record, b: Record) -> Record:
        starts, ends = a["starts"] + b["starts"], a["ends"] + b["ends"]
        if starts and type(starts[0]) in (int, float):
            runs = _around_gaps(*_disjoint(starts, ends), self._in_flight)
        else:
            runs = self._fields(sorted(zip(starts, ends, strict=True)))
        return {**runs, **{name: a[name] + b[name] for name in COUNTS}}

    def finish(self, record: Record) -> Record:
        runs = _narrowed(list(zip(record["starts"], record["ends"], strict=True)), self.gaps)
        return {**record, **_columns(runs)}

    def _fields(self, runs: Iterable[Run]) -> Record:
        return _columns(_narrowed(list(_joined(runs)), self._in_flight))

    @property
    def _in_flight(self) -> int:
        return max(_IN_FLIGHT, 4 * self.gaps)


def _columns(runs: list[Run]) -> Record:
    return {"starts": [start for start, _ in runs], "ends": [end for _, end in runs]}


def _around_gaps(starts: Numbers, ends: Numbers, gaps: int) -> Record:
    """The runs around the widest gaps of disjoint runs of numbers in ascending order, as `_narrowed` has them."""
    if len(starts) > gaps + 1:
        with np.errstate(over="ignore", invalid="ignore"):
            widths = starts[1:].astype(np.float64) - ends[:-1].astype(np.float64)
        widest = np.sort(np.argpartition(widths, -gaps)[-gaps:])
        starts, ends = starts[np.concatenate([[0], widest + 1])], ends[np.concatenate([widest, [len(ends) - 1]])]
    return {"starts": starts.tolist(), "ends": ends.tolist()}


def _disjoint(starts: list[Any], ends: list[Any]) -> tuple[Numbers, Numbers]:
    """Runs of numbers in whatever order, as `_joined` has them."""
    order = np.argsort(low := np.array(starts), kind="stable")
    low, reach = low[order], np.maximum.accumulate(np.array(ends)[order])
    apart = np.flatnonzero(low[1:] > reach[:-1])
    return low[np.concatenate([[0], apart + 1])], reach[np.concatenate([apart, [len(reach) - 1]])]


def _bounds(value: Any) -> Run:
    """A value as a run; long text is shortened to bounds of it."""
    if not isinstance(value, str | bytes) or len(value) <= LONGEST:
        return value, value
    cut = value[:LONGEST]
    above = after_prefix(cut) if isinstance(cut, str) else after_bytes(cut)
    return cut, value if above is None else above


def _joined(runs: Iterable[Run]) -> Iterator[Run]:
    """Runs in ascending order of their starts, as runs that do not overlap."""
    current: Run | None = None
    for start, end in runs:
        if current is None:
            current = start, end
        elif start <= current[1]:
            current = current[0], max(current[1], end)
        else:
            yield current
            current = start, end
    if current is not None:
        yield current


def _narrowed(runs: list[Run], gaps: int) -> list[Run]:
    """The runs around the widest gaps. Any choice of gaps is sound: which are the widest only decides how much is skipped."""
    if len(runs) <= gaps + 1:
        return runs
    widths = np.array([_width(left[1], right[0]) for left, right in pairwise(runs)])
    widest = np.sort(np.argpartition(widths, -gaps)[-gaps:]).tolist()
    firsts, lasts = [0, *(i + 1 for i in widest)], [*widest, len(runs) - 1]
    return [(runs[first][0], runs[last][1]) for first, last in zip(firsts, lasts, strict=True)]


def _width(low: Any, high: Any) -> float:
    """How far apart two values are: a difference; for text, of the fractions whose digits to base 256 are its bytes."""
    if isinstance(low, str | bytes):
        a, b = (value.encode() if isinstance(value, str) else value for value in (low, high))
        same = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
        return float((_fraction(b[same:]) - _fraction(a[same:])) * 256.0**-same)
    return float(high) - float(low)


def _fraction(digits: bytes) -> float:
    return int.from_bytes(digits[:6].ljust(6, b"\0"), "big") / 256**6


@filters.on()
def outside_of_gaps(node: Expression, indexes: Indexes) -> Iterator[Clause]:
    """Any predicate that some values of the indexed expression satisfy and others do not.

    An AND is labelled as a whole besides: `x >= 3` and `x <= 49` each meet a run of 1, 2, 100, 101, together they meet none.
    """
    for index in indexes.of(GapList):
        match node:
            case Call("Or", _):
                values = None
            case Call("And", operands) if not speak_of(index.expression, operands):
                values = None
            case _:
                values = jointly_satisfying(node, index.expression, indexes.spark)
        if values is not None:
            yield Named(admits(index, node, indexes), _holds_any(index, values))


def _holds_any(index: BoundIndex, values: ValueSet) -> Clause:
    """Whether a file may hold a value of the set: one inside a run, NaN, or NULL."""
    parts: list[Clause] = []
    if values.intervals:
        fields = index["starts"], index["ends"]
        text = f"a run of {index} meets {len(values.intervals)} ranges"
        parts.append(Computed(text, fields, lambda a, b: any_run_meets(a, b, values), pure=True))
    if values.nan and index.expression.type in FRACTIONAL:
        parts.append(index["nan_count"] > 0)
    if values.null:
        parts.append(index["null_count"] > 0)
    return any_of(parts) if parts else index["value_count"] < 0  # no value satisfies it: false wherever the record is known
