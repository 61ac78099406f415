"""MetricDistance: how near and how far a file's values are to an origin; for similarity search (Extensible Data Skipping, IV-D).

    skipping.table("data/people").create_index(MetricDistance("name"))
    SELECT * FROM people WHERE levenshtein(name, 'Mary') <= 2

The distances d(x, origin) are computed by Spark, as an expression index. At query time D = d(q, origin) is Spark's value of the
query's own `levenshtein(name, 'Mary')` where the name is the origin. The triangle inequality does the rest:

    a <= d(x, q) <= b   gives   D - b <= d(x, origin) <= D + b   and   d(x, origin) >= a - D
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from data_skip import filters
from data_skip.clause import Clause, Named, any_of
from data_skip.data_types import FRACTIONAL, INTEGRAL, arrow_type, is_of_type
from data_skip.errors import DataSkipError
from data_skip.expression import Call, Expression, Literal, Opaque
from data_skip.filters import Indexes, admits
from data_skip.index import BoundIndex, Index, Record
from data_skip.indexes.haversine import FARTHEST_TURN, HOLES, MARGIN, great_circle
from data_skip.indexes.min_max import COUNTS, MinMax
from data_skip.proofs.overlap import meets
from data_skip.proofs.satisfying import satisfying
from data_skip.proofs.template import constants
from data_skip.proofs.value_set import Interval, ValueSet, union
from data_skip.sample import Sample

_RELATIVE_MARGIN = 1e-6  # of distances that are no whole numbers
_EXACT = 2**52  # whole numbers below, and sums of two, are exact as doubles
_CANDIDATES = 8
_NUMBERS = ("int", "bigint", *FRACTIONAL)
_MEASURED = ("string", *_NUMBERS, *(f"array<{number}>" for number in _NUMBERS))  # types of values that a metric may be of
_BUILT_IN = {"levenshtein": 1, "great_circle": 2}  # metrics, and of how many expressions
_RANGE = MinMax("distance")  # what a record holds of the distances


class MetricDistance(Index):
    """Smallest and largest distance of a file's values to `origin`; serves comparisons of `metric(x, constant)` with numbers.

    metric: "levenshtein" (Spark's, with two arguments), "great_circle" (or "haversine") of a latitude and a longitude, as `great_circle`
    writes it, or the name of a registered function that *is a metric*: d(x, y) = d(y, x), d(x, z) <= d(x, y) + d(y, z), and NULL for NULL
    only. `f(x, 'a')` for one column, `f(x, y, 1.0, 2.0)` for two. `margin`: by how much its rounding may break these rules,
    in the unit of its distances (of "great_circle" metres, of "levenshtein" edits), besides a millionth of distances that are no whole
    numbers. create_index refuses a function that breaks them on a sample.

    origin: a value of the column's type, or a list of one for each column. Not given, it is chosen from a sample: of eight values, the
    one to which the distances differ least within files, compared with how they differ in the sample. It then belongs to the index, as
    if given.
    """

    fields = {}
    expression_count = None

    def __init__(self, *expressions: str, origin: Any = None, metric: str = "levenshtein", margin: float = 0.0) -> None:
        metric = "great_circle" if metric == "haversine" else metric
        if not isinstance(metric, str) or not metric.replace(".", "").replace("_", "").isalnum():
            raise ValueError(f"metric is the name of a function, as 'levenshtein', not {metric!r}")
        wanted = _BUILT_IN.get(metric)
        if wanted is not None and len(expressions) != wanted:
            raise ValueError(f"{metric} takes {wanted} SQL expression(s), not {len(expressions)}: {expressions}")
        if not isinstance(margin, Real) or not math.isfinite(margin) or margin < 0:
            raise ValueError(f"margin is a distance of at least 0, not {margin!r}")
        if origin is not None:
            origin = _plain(origin) if len(expressions) > 1 else [_plain(origin)]
            if not isinstance(origin, list) or len(origin) != len(expressions):
                raise ValueError(f"origin is a list of {len(expressions)} values, one for each SQL expression, not {origin!r}")
            if metric == "great_circle" and not all(isinstance(part, int | float) and abs(part) <= FARTHEST_TURN for part in origin):
                raise ValueError(f"origin is a latitude and a longitude in degrees, not {origin!r}")
            origin = origin if len(expressions) > 1 else origin[0]
        super().__init__(*expressions, origin=origin, metric=metric, margin=float(margin))

    origin: Any
    metric: str
    margin: float

    @property
    def parts(self) -> list[Any]:
        """The origin, a value for each expression."""
        return list(self.origin) if len(self.expressions) > 1 else [self.origin]

    @property
    def inputs(self) -> tuple[str, ...]:
        if self.origin is None:
            raise DataSkipError(f"{self} has no origin yet: create_index chooses it")
        return (*self.expressions, self.distance_to(self.parts))

    def distance_to(self, point: Sequence[Any]) -> str:
        """SQL for the distance to a point."""
        if self.metric == "great_circle":
            lat, lng = self.expressions
            return great_circle(lat, lng, float(point[0]), float(point[1]))
        return f"{self.metric}({', '.join([*self.expressions, *map(_sql, point)])})"

    def refuse(self, types: tuple[str, ...]) -> str | None:
        *values, distance = types
        known = {"levenshtein": ("string",), "great_circle": ("double",)}.get(self.metric, _MEASURED)
        for type_ in values:
            if type_ not in known:
                return f"{self.metric} over {type_} is not served, but over {', '.join(known)}; cast it"
        for part, type_ in zip(self.parts, values, strict=True):
            if not is_of_type(part, type_):  # it would be another origin in a query, where it takes the place of such a value
                return f"the origin {part!r} is no value of type {type_}; give one, or cast the expression"
        return None if distance in (*INTEGRAL, *FRACTIONAL) else f"{self.metric} gives {distance}, which is no distance"

    def record_fields(self, types: tuple[pa.DataType, ...]) -> Mapping[str, pa.DataType]:
        return {"min": types[-1], "max": types[-1], **dict.fromkeys(COUNTS, pa.int64())}

    def collect(self, *values: pa.Array) -> Record:
        *columns, distances = values
        if self.metric == "great_circle":
            for degrees in columns:
                if (pc.max(pc.abs(degrees)).as_py() or 0.0) > FARTHEST_TURN:
                    raise ValueError(f"a coordinate beyond {FARTHEST_TURN} degrees, where rounding has no bound")
        return _RANGE.collect(distances)

    def merge(self, a: Record, b: Record) -> Record:
        return _RANGE.merge(a, b)

    def fitted(self, sample: Sample) -> Index:
        if self.origin is not None and self.metric in _BUILT_IN:
            return self
        if self.metric not in _BUILT_IN and not sample.knows(self.metric):
            advice = f"there are {', '.join(map(repr, _BUILT_IN))}, and those functions of yours that are registered before"
            raise DataSkipError(f"{self}: no metric {self.metric!r}, which is no function of this session either; {advice}")
        points = _points(sample.values(*self.expressions), len(self.expressions))
        if not points and self.origin is None:
            raise DataSkipError(f"{self}: the sampled files hold no value to be the origin; give origin=...")
        if not points:
            return self
        count = len(self.expressions)
        found = sample.values(*self.expressions, *map(self.distance_to, points))
        self._check_metric(found, points)
        if self.origin is not None:
            return self
        scores = [_spread_within_files(found, f"v{count + i}") for i in range(len(points))]
        best = points[int(np.argmin(scores))]
        return MetricDistance(*self.expressions, origin=list(best) if count > 1 else best[0], metric=self.metric, margin=self.margin)

    def _check_metric(self, found: pa.Table, points: list[tuple[Any, ...]]) -> None:
        """DataSkipError where the distances between the points are those of no metric."""
        count = len(self.expressions)
        between: dict[tuple[Any, Any], float] = {}
        for row in found.to_pylist():
            point = tuple(row[f"v{i}"] for i in range(count))
            if point in points:
                between |= {(repr(point), repr(q)): row[f"v{count + i}"] for i, q in enumerate(points)}
        names = list(dict.fromkeys(name for name, _ in between))
        for a in names:
            for b in names:
                for c in names:
                    sides = between.get((a, c)), between.get((a, b)), between.get((b, c)), between.get((c, a))
                    if not all(isinstance(side, int | float) for side in sides):
                        continue
                    ac, ab, bc, ca = (float(side) for side in sides if side is not None)
                    slack = 3 * self._slack(ac + ab + bc)
                    if ac > ab + bc + slack or abs(ac - ca) > slack or ac < 0:
                        raise DataSkipError(
                            f"{self.metric} is no metric: d({a}, {c}) = {ac}, d({c}, {a}) = {ca}, d({a}, {b}) = {ab}, d({b}, {c}) = {bc}"
                        )

    def _slack(self, size: float) -> float:
        """By how much rounding may break the triangle inequality among distances of this size."""
        return self.margin + _RELATIVE_MARGIN * abs(size) + (MARGIN if self.metric == "great_circle" else 0.0)

    def image(self, interval: Interval, to_origin: float, whole: bool) -> ValueSet:
        """The distances to the origin of all x with d(x, q) in the interval, where d(q, origin) = `to_origin`."""

        def slack(size: float) -> float:
            return self.margin if whole and size < _EXACT else self._slack(size)

        lows: list[tuple[float, bool]] = []
        high, high_closed = None, False
        if interval.high is not None:
            # d(q, o) <= d(x, q) + d(x, o), so d(x, o) >= D - d(x, q); and d(x, o) <= d(x, q) + d(q, o)
            widened = slack(to_origin + abs(interval.high))
            closed = interval.high_closed or widened > 0
            lows.append((to_origin - interval.high - widened, closed))
            high, high_closed = to_origin + interval.high + widened, closed
        if interval.low is not None:
            # d(x, q) <= d(x, o) + d(q, o), so d(x, o) >= d(x, q) - D
            widened = slack(to_origin + abs(interval.low))
            lows.append((interval.low - to_origin - widened, interval.low_closed or widened > 0))
        low, low_closed = max(lows, key=lambda end: (end[0], not end[1]), default=(None, False))
        if low is not None and high is not None and (low > high or (low == high and not (low_closed and high_closed))):
            return ValueSet(())
        return ValueSet((Interval(low, high, low_closed, high_closed),))


def _plain(value: Any) -> Any:
    """A value of an origin as JSON keeps it."""
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, str | int | float) or (isinstance(value, float) and not math.isfinite(value)):
        raise ValueError(f"origin is made of text and finite numbers, not {value!r}")
    return value


def _sql(value: Any) -> str:
    """A value as a SQL constant, whatever the session's rules for quotes are."""
    if isinstance(value, list):
        return f"array({', '.join(map(_sql, value))})"
    if isinstance(value, str):
        return f"CAST(X'{value.encode().hex()}' AS STRING)"
    return f"CAST({value!r} AS DOUBLE)" if isinstance(value, float) else f"{value}"


def _points(found: pa.Table, count: int) -> list[tuple[Any, ...]]:
    """Some distinct values without NULL and NaN, spread evenly over all that were sampled."""
    distinct: dict[str, tuple[Any, ...]] = {}
    for row in found.drop_columns("file").to_pylist():
        try:
            point = tuple(_plain(row[f"v{i}"]) for i in range(count))
        except ValueError:
            continue
        distinct[repr(point)] = point
    ordered = [distinct[name] for name in sorted(distinct)]
    chosen = dict.fromkeys(np.linspace(0, len(ordered) - 1, min(_CANDIDATES, len(ordered))).round().astype(int).tolist())
    return [ordered[i] for i in chosen]


def _spread_within_files(found: pa.Table, name: str) -> float:
    """How far distances lie apart in a file, on average, as a share of how far they do in the sample: the less, the more is skipped."""
    ranges = found.group_by("file").aggregate([(name, "min"), (name, "max")])
    lows, highs = (pc.drop_null(ranges[f"{name}_{end}"]).cast(pa.float64()).to_numpy() for end in ("min", "max"))
    whole = float(highs.max() - lows.min()) if len(lows) else 0.0
    return float((highs - lows).mean()) / whole if whole > 0 else 1.0


@filters.on()
def within_distance(node: Expression, indexes: Indexes) -> Iterator[Clause]:
    """Comparisons of the index's own metric from the indexed expressions to a constant."""
    if isinstance(node, Call) and node.name in ("And", "Or"):
        return
    for index in indexes.of(MetricDistance):
        for distance in _distances(node, index):
            clause = _near(node, distance, index, indexes)
            if clause is not None:
                yield Named(admits(index, node, indexes), clause)


def _near(node: Expression, distance: Expression, index: BoundIndex, indexes: Indexes) -> Clause | None:
    metric = index.index
    assert isinstance(metric, MetricDistance)
    values = satisfying(node, distance, indexes.spark)
    if values is None or values.null:
        return None
    *columns, _ = index.expressions
    if not all(is_of_type(part, column.type) for column, part in zip(columns, metric.parts, strict=True)):
        return None
    given = {column: pa.array([part], arrow_type(column.type)) for column, part in zip(columns, metric.parts, strict=True)}
    to_origin = indexes.spark.value(distance, given)
    if to_origin is None or not math.isfinite(to_origin):
        return None
    whole = distance.type in INTEGRAL
    image = union(metric.image(interval, to_origin, whole) for interval in values.intervals)
    parts: list[Clause] = [index["value_count"] < 0]  # false, wherever the record is known
    if image.intervals:
        parts.append((index["value_count"] > 0) & meets(index["min"], index["max"], image))
    return any_of([*parts, index["nan_count"] > 0])  # of a value whose distance is no number, nothing is known


def _distances(node: Expression, index: BoundIndex) -> set[Expression]:
    """The parts of a node that are the index's metric from its expressions to some constant."""
    *columns, template = index.expressions
    found: set[Expression] = set()
    for part in node.walk():
        if not isinstance(part, Call):
            continue
        mirrored = [part.operands[::-1]] if len(part.operands) == 2 and len(columns) == 1 else []
        if any(
            _to_constant(Call(part.type, None, part.name, o, part.parameters, part.own_deterministic), template, index)
            for o in [part.operands, *mirrored]
        ):
            found.add(part)
    return found


def _to_constant(distance: Expression, template: Expression, index: BoundIndex) -> bool:
    """Whether a tree is the index's own but for its origin, in whose place stands one constant."""
    metric = index.index
    assert isinstance(metric, MetricDistance)
    *columns, _ = index.expressions
    pairs = constants(distance, template, columns)
    if pairs is None:
        return False
    holes = HOLES if metric.metric == "great_circle" else tuple(range(len(columns)))
    if len(holes) != len(pairs):
        return False
    found: dict[int, Literal] = {}
    for (mine, its), hole in zip(pairs, holes, strict=True):
        if hole is None:
            if mine != its:
                return False
        elif mine.value is None or isinstance(mine.value, Opaque) or found.setdefault(hole, mine) != mine:
            return False
    return metric.metric != "great_circle" or all(abs(c.value) <= FARTHEST_TURN for c in found.values())
