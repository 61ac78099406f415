"""From a WHERE tree to one clause: algorithms 1 (Merge-Clause) and 2 (Generate-Clause) of "Extensible Data Skipping", appendix A.

Every node is labelled with the clauses that the filters yield for it; then, from the bottom,

    merge(a AND b)  =  merge(a) & merge(b) & own clauses
    merge(a OR b)   = (merge(a) | merge(b)) & own clauses
    merge(leaf)     =  own clauses, or KEEP

Case 3 of the paper, NOT, does not occur: normalize.py has moved NOT into the leaves.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from data_skip.clause import KEEP, NEVER, Clause, Whole, all_of, any_of
from data_skip.expression import Call, Column, Expression, Literal, name_of
from data_skip.filters import Filters, Indexes
from data_skip.normalize import normalize
from data_skip.ranges import ONE_VALUE

_BY_SPARK = "Spark has pruned the partitions itself"


@dataclass
class Leaf:
    """A leaf of the normalised tree and its clause; `why_not`: why it has none."""

    node: Expression
    clause: Clause
    why_not: str = ""


@dataclass
class Decision:
    """What `generate_clause` found: the clause, how each leaf contributed, and what went wrong in filters."""

    clause: Clause
    leaves: list[Leaf] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    same_reader: bool = False  # whether an index of the table was collected as the scan reads: then its row counts hold as well


def generate_clause(predicate: Expression, indexes: Indexes, filters: Filters) -> Decision:
    """A clause that represents the predicate (theorem 16), from the filters' clauses for its nodes."""
    decision = Decision(KEEP)
    indexes = replace(indexes, implied=lambda implied: _merge(normalize(implied), indexes, filters, Decision(KEEP, errors=decision.errors)))
    decision.clause = _merge(normalize(predicate), indexes, filters, decision)
    return decision


def _merge(node: Expression, indexes: Indexes, filters: Filters, decision: Decision) -> Clause:
    own = _label(node, indexes, filters, decision)
    if isinstance(node, Call) and node.name in ("And", "Or") and not any(isinstance(clause, Whole) for clause in own):
        parts = [_merge(child, indexes, filters, decision) for child in node.operands]
        return all_of([all_of(parts) if node.name == "And" else any_of(parts), *own])
    match node:
        case Literal(False | None):  # of a join whose other side is empty
            clause = NEVER
        case _:
            clause = all_of(own)
    decision.leaves.append(Leaf(node, clause, _why_not(node, indexes) if clause is KEEP else ""))
    return clause


def _label(node: Expression, indexes: Indexes, filters: Filters, decision: Decision) -> list[Clause]:
    clauses: list[Clause] = []
    name = node.name if isinstance(node, Call) else type(node).__name__
    for function in filters.of(name):
        try:
            clauses += list(function(node, indexes))
        except Exception as error:  # a filter of a plugin may do anything; the law: unknown keeps the file
            decision.errors.append(f"filter {function.__module__}.{function.__qualname__}: {type(error).__name__}: {error}")
    return clauses


def _why_not(node: Expression, indexes: Indexes) -> str:
    calls = [call for call in node.walk() if isinstance(call, Call)]
    for call in calls:
        if not call.own_deterministic and all(child.deterministic for child in call.operands):
            what = "the result of a subquery is not known at planning" if "plan" in call.parameters else "not deterministic"
            return f"{call.name} is {what}" if what.startswith("not") else what
    columns = {column for column in node.walk() if isinstance(column, Column)}
    if not columns:
        return "it speaks of no column of the table"
    if all(column.partition for column in columns):
        return _BY_SPARK
    indexed = {part for index in indexes.bound for tree in index.expressions for part in tree.walk() if isinstance(part, Column)}
    if missing := sorted(str(c) for c in columns - indexed):
        return f"no index on {', '.join(missing)}"
    names = ", ".join(str(index) for index in indexes.bound if columns & set(_columns(index.expressions)))
    return f"no filter of {names} serves it"


def skipped_nothing(node: Expression, clause: str) -> str:
    """Why the clause of a leaf lets every file pass."""
    if all(column.partition for column in node.walk() if isinstance(column, Column)):
        return _BY_SPARK
    if name_of(node) == "IsNotNull":
        return "every file holds a value"
    if clause.endswith(ONE_VALUE):
        return "not monotone, and no file holds one value only"
    return "its values overlap everywhere; files sorted or clustered by it would be skipped"


def _columns(expressions: tuple[Expression, ...]) -> list[Expression]:
    return [part for tree in expressions for part in tree.walk() if isinstance(part, Column)]
