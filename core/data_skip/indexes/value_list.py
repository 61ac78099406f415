"""ValueList: all distinct values of a file. Any deterministic predicate on them can be decided, by Spark itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from data_skip import filters
from data_skip.clause import Clause, Computed
from data_skip.distinct import any_of_list, distinct, merged_lists
from data_skip.expression import Call, Expression
from data_skip.filters import Indexes, admits
from data_skip.index import BoundIndex, Index, Record
from data_skip.overlap import members
from data_skip.satisfying import satisfying

_LISTED = ("tinyint", "smallint", "int", "bigint", "float", "double", "boolean", "binary", "date", "timestamp", "timestamp_ntz")
_MOST_INTERVALS = 1000
Test = Callable[[pa.Array], pa.BooleanArray]


class ValueList(Index):
    """The distinct values of one expression, up to `limit` a file (beyond it unknown), and whether NULL is among them."""

    def __init__(self, *expressions: str, limit: int = 10_000) -> None:
        if limit < 1:
            raise ValueError(f"limit is the largest number of values kept a file, at least 1, not {limit}")
        super().__init__(*expressions, limit=limit)

    limit: int

    def refuse(self, types: tuple[str, ...]) -> str | None:
        (type_,) = types
        if type_ in _LISTED or type_.startswith(("decimal(", "string")):
            return None
        return f"values of type {type_} cannot be listed; index a field or function of it"

    def record_fields(self, types: tuple[pa.DataType, ...]) -> Mapping[str, pa.DataType]:
        return {"values": pa.list_(types[0]), "has_null": pa.bool_()}

    def collect(self, *values: pa.Array) -> Record:
        (array,) = values
        return {"values": distinct(array, self.limit), "has_null": array.null_count > 0}

    def merge(self, a: Record, b: Record) -> Record:
        return {"values": merged_lists(a["values"], b["values"], self.limit), "has_null": a["has_null"] or b["has_null"]}


@filters.on()
def by_value(node: Expression, indexes: Indexes) -> Iterator[Clause]:
    """Any leaf about the indexed expression and nothing else."""
    if isinstance(node, Call) and node.name in ("And", "Or"):
        return
    for index in indexes.of(ValueList):
        if index.expression in node.walk() and node.deterministic:
            clause = _in_range(node, index, indexes)
            if clause is None:
                clause = _decided_by_spark(node, index, indexes)
            if clause is not None:
                yield clause


def _in_range(node: Expression, index: BoundIndex, indexes: Indexes) -> Clause | None:
    """A comparison of the indexed expression itself needs no question to Spark."""
    values = satisfying(node, index.expression, indexes.spark)
    if values is None or (isinstance(node, Call) and node.name == "Like") or len(values.intervals) > _MOST_INTERVALS:
        return None  # Spark decides LIKE exactly, the range of its prefix would not
    return _any_value(index, lambda array: members(array, values), values.null, admits(index, node, indexes))


def _decided_by_spark(node: Expression, index: BoundIndex, indexes: Indexes) -> Clause | None:
    """The file's values (or its NULL) hold one for which Spark finds the node true, or raises an error."""
    target = index.expression
    of_null = indexes.spark.truth(node, target, pa.nulls(1))
    if of_null is None:
        return None

    def truth(values: pa.Array) -> pa.BooleanArray:
        answers = indexes.spark.truth(node, target, values)
        if answers is None:
            raise ValueError(f"Spark cannot decide {node} by {target} alone")
        return pa.array(answers != 0)

    return _any_value(index, truth, bool(of_null[0]), admits(index, node, indexes))


def _any_value(index: BoundIndex, test: Test, of_null: bool, text: str) -> Clause:
    def may_match(values: pa.ListArray, has_null: pa.BooleanArray) -> pa.BooleanArray:
        found = any_of_list(values, test)
        return pc.or_kleene(found, has_null) if of_null else found

    return Computed(text, (index["values"], index["has_null"]), may_match)
