"""From a WHERE tree to one clause: algorithms 1 (Merge-Clause) and 2 (Generate-Clause) of "Extensible Data Skipping", appendix A.

Every node is labelled with the clauses that the filters yield for it; then, from the bottom,

    merge(a AND b)  =  merge(a) & merge(b) & own clauses
    merge(a OR b)   = (merge(a) | merge(b)) & own clauses
    merge(leaf)     =  own clauses, or ALWAYS_TRUE

Case 3 of the paper, NOT, does not occur: normalize.py has moved NOT into the leaves.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from data_skip.clause import ALWAYS_FALSE, ALWAYS_TRUE, Clause, Whole, all_of, any_of
from data_skip.errors import in_a_sentence
from data_skip.expression import Call, Expression, Literal
from data_skip.filters import Filters, Indexes
from data_skip.planning.deadline import Deadline
from data_skip.planning.normalize import normalize


@dataclass
class Leaf:
    """A leaf of the normalised tree, and its clause."""

    node: Expression
    clause: Clause


@dataclass
class Decision:
    """What `generate_clause` found over some indexes: the clause, how each leaf contributed, and what went wrong in filters."""

    clause: Clause
    indexes: Indexes
    deadline: Deadline
    leaves: list[Leaf] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    unused: Sequence[tuple[frozenset[str], str]] = ()  # of each index that is not used its columns, and why
    same_reader: bool = False  # whether an index of the table was collected as the scan reads: then its row counts hold as well


def generate_clause(predicate: Expression, indexes: Indexes, filters: Filters, deadline: Deadline | None = None) -> Decision:
    """A clause that represents the predicate (theorem 16), from the filters' clauses for its nodes that the deadline leaves time for."""
    decision = Decision(ALWAYS_TRUE, indexes, deadline or Deadline(math.inf))
    # For the leaves of implied predicates, which the user has not written.
    apart = Decision(ALWAYS_TRUE, indexes, decision.deadline, errors=decision.errors)

    def implied(other: Expression) -> Clause:
        return _merge(normalize(other), offered, filters, apart)

    offered = replace(indexes, implied=implied)
    decision.clause = _merge(normalize(predicate), offered, filters, decision)
    return decision


def _merge(node: Expression, indexes: Indexes, filters: Filters, decision: Decision) -> Clause:
    own = _label(node, indexes, filters, decision)
    if isinstance(node, Call) and node.name in ("And", "Or") and not any(isinstance(clause, Whole) for clause in own):
        parts = [_merge(child, indexes, filters, decision) for child in node.operands]
        return all_of([all_of(parts) if node.name == "And" else any_of(parts), *own])
    never_true = isinstance(node, Literal) and (node.value is None or node.value is False)  # as of a join whose other side is empty
    clause = ALWAYS_FALSE if never_true else all_of(own)
    decision.leaves.append(Leaf(node, clause))
    return clause


def _label(node: Expression, indexes: Indexes, filters: Filters, decision: Decision) -> list[Clause]:
    clauses: list[Clause] = []
    name = node.name if isinstance(node, Call) else type(node).__name__
    for function in filters.of(name):
        if decision.deadline.is_over():
            break
        try:
            clauses += list(function(node, indexes))
        except Exception as error:  # a filter of a plugin may do anything; the law: unknown keeps the file
            decision.errors.append(f"filter {function.__module__}.{function.__qualname__}: {in_a_sentence(error)}")
    return clauses
