"""ValueList: all distinct values of a file. Any deterministic predicate on them can be decided, by Spark itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc

from data_skip import filters
from data_skip.clause import Clause, Computed, Text
from data_skip.data_types import has_collation, is_ordered
from data_skip.expression import Call, Expression
from data_skip.filters import Indexes, admits
from data_skip.index import BoundIndex, Index, Record, refuse_number
from data_skip.indexes.distinct import any_of_list, distinct, merged_lists
from data_skip.proofs.dictionary import Decider, decider
from data_skip.proofs.like import LOOSE
from data_skip.proofs.overlap import members
from data_skip.proofs.satisfying import satisfying, speak_of

_MOST_INTERVALS = 1000


class ValueList(Index):
    """The distinct values of one expression, up to `limit` a file (beyond it unknown), and whether NULL is among them."""

    def __init__(self, *expressions: str, limit: int = 10_000) -> None:
        refuse_number(limit, "limit is the largest number of values kept a file")
        super().__init__(*expressions, limit=limit)

    distinct = True
    limit: int

    def refuse(self, types: tuple[str, ...]) -> str | None:
        (type_,) = types
        if is_ordered(type_) or has_collation(type_):
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
    """Any leaf about the indexed expression and nothing else; and an AND of several, which some value must satisfy all."""
    for index in indexes.of(ValueList):
        match node:
            case Call("Or", _):
                continue
            case Call("And", operands) if not speak_of(index.expression, operands):
                continue
        if (decided := _decided(node, index, indexes)) is not None:
            yield _any_value(index, decided, admits(index, node, indexes))


def _decided(node: Expression, index: BoundIndex, indexes: Indexes) -> Decider | None:
    """Which values, and whether NULL, may satisfy a node; None where that is unknown."""
    match node:
        case Call("And" | "Or" as name, operands):
            parts = [_decided(operand, index, indexes) for operand in operands]
            known = [part for part in parts if part is not None]
            if not known or (name == "Or" and len(known) < len(parts)):
                return None
            both, every = (pc.and_, all) if name == "And" else (pc.or_, any)
            tests, pure = [part.may_match for part in known], all(part.pure for part in known)
            return Decider(lambda values: reduce(both, (test(values) for test in tests)), every(p.of_null for p in known), pure)
    values = satisfying(node, index.expression, indexes.spark) if _direct(node, index.expression) else None
    if values is None or len(values.intervals) > _MOST_INTERVALS:
        return decider(node, index.expression, indexes.spark)
    return Decider(lambda array: members(array, values), values.null, pure=True)  # of the expression itself: no question to Spark


def _direct(node: Expression, target: Expression) -> bool:
    """Whether the values that satisfy a leaf are known exactly: of functions, LIKE and RLIKE only a set around them is."""
    match node:
        case Call("Not", [inner]):
            return _direct(inner, target)
        case Call(name, [left, *_]):
            return left == target and name not in LOOSE
    return node == target


def _any_value(index: BoundIndex, decided: Decider, text: Text) -> Clause:
    def may_match(values: pa.ListArray, has_null: pa.BooleanArray) -> pa.BooleanArray:
        found = any_of_list(values, decided.may_match)
        return pc.or_kleene(found, has_null) if decided.of_null else found

    return Computed(text, (index["values"], index["has_null"]), may_match, decided.pure)
