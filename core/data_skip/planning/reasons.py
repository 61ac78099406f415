"""Why a leaf of the WHERE skipped nothing, and what would help: for the report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from data_skip.ask_spark import Rule, Spark
from data_skip.clause import ALWAYS_TRUE, AllOf, Clause, Mask, Records
from data_skip.expression import Call, Column, Expression, calls_python, name_of, unversioned
from data_skip.filters import Indexes
from data_skip.index import BoundIndex
from data_skip.planning.catalog import Knowledge
from data_skip.planning.merging import Decision, generate_clause
from data_skip.proofs.elements import indexed
from data_skip.proofs.narrowing import rule_of
from data_skip.proofs.ranges import WhereConstant

_BY_SPARK = "Spark has pruned the partitions itself"
# What is tried, and those of plugins: other indexes serve what one of these does. Of a length that would be chosen from the data.
_SUGGESTED: dict[str, dict[str, int]] = {
    "MinMax": {},
    "ValueList": {},
    "BloomFilter": {},
    "Prefix": {"length": 1000},
    "Suffix": {"length": 1000},
}
_MOST_SUGGESTED = 3
_MOST_NAMED = 4  # indexes that do not serve a predicate
_POOR = 0.5  # share of the files in whose range a value lies


def why_no_clause(node: Expression, decision: Decision, knowledge: Knowledge | None) -> str:
    """Why nothing is known of a leaf in any file; and which indexes would serve it, by what a session knows (None: not said)."""
    indexes = decision.indexes
    for call in node.walk():
        if isinstance(call, Call) and not call.own_deterministic and all(child.deterministic for child in call.operands):
            if call.is_subquery:
                return "the result of a subquery is not known at planning"
            return f"{call.name} is not deterministic"
    if not _columns([node]):
        return "it speaks of no column of the table"
    columns = {column for column in _columns([node]) if not column.partition}
    if not columns:
        return _BY_SPARK
    missing = columns - _columns(tree for index in indexes.bound for tree in index.expressions)
    others = [str(index) for index in indexes.bound if columns & _columns(index.expressions)]
    named = ", ".join(others[:_MOST_NAMED]) + (f" and {more} others" if (more := len(others) - _MOST_NAMED) > 0 else "")
    reason = f"no index on {_listed(missing)}" if missing else f"no filter of {named} serves it"
    if (name := unversioned([node])) and any(calls_python(index.expressions) for index in indexes.bound):
        return f"{reason}: {name} has no version (data_skip.versioned), and no index over such a function is used"
    if unused := [why for names, why in decision.unused if any(column.path[0] in names for column in missing or columns)]:
        return "; ".join([*([] if missing else [reason]), *unused[:_MOST_NAMED]])
    if knowledge is None or name_of(node) == "IsNotNull":
        return reason
    would_serve = _would_serve(node, sorted(missing or columns, key=str), indexes, knowledge)
    helpful = list(islice(would_serve, _MOST_SUGGESTED))
    return f"{reason}; {' or '.join(helpful)} would serve it" if helpful else reason


def why_no_file(node: Expression, clause: Clause, records: Records, fresh: Mask, spark: Spark) -> str:
    """Why the clause of a leaf lets every file pass."""
    if all(column.partition for column in _columns([node])):
        return _BY_SPARK
    if name_of(node) == "IsNotNull":
        return "every file holds a value"
    calls = [(call, rule_of(call, spark)) for call in node.walk() if isinstance(call, Call) and call != node and _columns([call])]
    if _tells_of_constants_only(clause):
        turning = [spark.sql(call) for call, rule in calls if rule is None]
        reason = f"{turning[-1] if turning else 'it'} is not monotone, and no file holds one value only"
        return f"{reason}; a ValueList would serve it" if len(_columns([node])) == 1 else reason
    if beyond := [f"{spark.sql(call)} is monotone {held}" for call, rule in calls if rule and (held := _where(rule))]:
        return f"each file may hold a match: {' and '.join(beyond)}, and files hold values of more than that, or the same ones"
    overlap = _overlap(clause, records, fresh)
    if overlap is not None and overlap >= _POOR:
        return f"values overlap everywhere (poor layout): one lies in the range of {overlap:.0%} of the files, which are not sorted by it"
    return "every file may hold a match"


def _would_serve(node: Expression, columns: list[Column], indexes: Indexes, knowledge: Knowledge) -> Iterator[str]:
    """Which further indexes over the columns would give the leaf a clause: the filters are asked."""
    plugins: dict[str, dict[str, int]] = {
        name: {} for name, kind in knowledge.kinds.items() if not kind.__module__.startswith("data_skip.")
    }
    for name, parameters in (_SUGGESTED | plugins).items():
        try:
            made = [BoundIndex(knowledge.kinds[name](str(column), **parameters), indexed((column,))) for column in columns]
            refused = any(bound.index.refuse(tuple(e.type for e in bound.expressions)) for bound in made)
        except Exception:  # a plugin's index that takes more than one expression
            continue
        if refused or any(bound.index.kind == name and bound.expressions == one.expressions for one in made for bound in indexes.bound):
            continue
        clause = generate_clause(node, Indexes((*indexes.bound, *made), indexes.spark), knowledge.filters).clause
        used = {field.index for field in clause.fields()}
        if clause is not ALWAYS_TRUE and not _tells_of_constants_only(clause) and used >= {one.index.column for one in made}:
            yield " and ".join(f"{name}({column})" for column in columns)


def _tells_of_constants_only(clause: Clause) -> bool:
    """Whether nothing follows from the clause of a leaf for a file with more than one value."""
    return all(isinstance(part, WhereConstant) for part in (clause.parts if isinstance(clause, AllOf) else (clause,)))


def _where(rule: Rule) -> str:
    """Where a function is monotone, in words; "" for everywhere."""
    if rule.period:
        return f"within a {rule.period.split(' ')[0]} only"
    if rule.truncated or rule.floored:
        return f"between multiples of {rule.truncated or rule.floored} only"
    if rule.shared:
        return f"where texts share {rule.shared} characters at their start"
    return "where the clocks do not change" if rule.offset else ""


def _overlap(clause: Clause, records: Records, fresh: Mask) -> float | None:
    """The share of the files in whose range a value lies (the smallest of each file, on average); None where no range is known."""
    ranges = [(field.index, field.name) for field in clause.fields()]
    index = next((index for index, name in ranges if name == "min" and (index, "max") in ranges), None)
    if index is None:
        return None
    ends = [pc.struct_field(records.columns[index], name).filter(pa.array(fresh)) for name in ("min", "max")]
    known = pc.and_(ends[0].is_valid(), ends[1].is_valid())
    both = pa.concat_arrays([_array(end.filter(known)) for end in ends])
    files = len(both) // 2
    if files < 2:
        return None
    order = pc.sort_indices(both.cast(pa.int8()) if pa.types.is_boolean(both.type) else both)
    changes = pc.not_equal(both.take(order[1:]), both.take(order[:-1])).to_numpy(zero_copy_only=False)
    places = np.empty(len(both), dtype=np.int64)
    places[order.to_numpy()] = np.concatenate([[0], np.cumsum(changes)])
    low, high = places[:files], places[files:]
    begun, ended = np.searchsorted(np.sort(low), low, "right"), np.searchsorted(np.sort(high), low, "left")
    return float(np.mean(begun - ended) / files)


def _array(column: pa.Array) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _columns(trees: Iterable[Expression]) -> set[Column]:
    return {part for tree in trees for part in tree.walk() if isinstance(part, Column)}


def _listed(columns: Iterable[Column]) -> str:
    return ", ".join(sorted(map(str, columns)))
