"""A clause over records that take more memory than there is for them: evaluated some file versions at a time; only the answers are kept."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from data_skip.clause import AllOf, Clause, Groups, Mask, Records, all_of, survivors
from data_skip.planning.deadline import Deadline
from data_skip.store import Snapshot, StoreError


def part_by_part(
    clause: Clause, snapshot: Snapshot, columns: Mapping[str, pa.StructArray], listed: Mask, most_bytes: int, deadline: Deadline
) -> Mask:
    """Which file versions are to be read, as `survivors`; of those that are not listed, and when there is no time left: all.

    columns: records that are at hand. What these rule out is not read, nor row groups of which their own statistics do.
    """
    may_match = np.ones(snapshot.count, dtype=bool)
    at_hand = [part for part in _conjuncts(clause) if {field.index for field in part.fields()} <= columns.keys()]
    if at_hand:
        may_match = survivors(all_of(at_hand), Records(columns, deadline.is_over), snapshot.count)
    try:
        _evaluate(clause, snapshot, columns, listed, may_match, most_bytes, deadline)
    except StoreError:
        if not deadline.is_over():  # else it has not come in time: what is known by now decides
            raise
    return may_match


def _evaluate(
    clause: Clause,
    snapshot: Snapshot,
    columns: Mapping[str, pa.StructArray],
    listed: Mask,
    may_match: Mask,
    most_bytes: int,
    deadline: Deadline,
) -> None:
    """Takes from `may_match` what the clause rules out, part after part."""
    fields: dict[str, list[str]] = {}
    for field in clause.fields():
        if field.index not in columns and field.name not in fields.setdefault(field.index, []):
            fields[field.index].append(field.name)
    if not fields:
        return
    rows = snapshot.rows_in_groups(deadline.end)
    ruled_out = clause.rules_out(Groups(rows.groups.count, rows.groups.ends))
    may_match[rows.versions_of(ruled_out, snapshot.count)] = False
    left = max(0, most_bytes - sum(records.nbytes for records in columns.values()))
    for versions, found in snapshot.records_by_part(fields, listed & may_match, left, deadline.end):
        if deadline.is_over():
            break
        places = pa.array(versions)
        records = Records({**found, **{name: kept.take(places) for name, kept in columns.items()}}, deadline.is_over)
        may_match[versions] = survivors(clause, records, len(versions))


def _conjuncts(clause: Clause) -> tuple[Clause, ...]:
    return clause.parts if isinstance(clause, AllOf) else (clause,)
