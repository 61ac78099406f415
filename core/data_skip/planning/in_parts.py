"""A clause over records that take more memory than there is for them: evaluated some file versions at a time; only the answers are kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import numpy as np
import pyarrow as pa

from data_skip.clause import AllOf, Clause, Groups, Mask, Records, all_of, survivors
from data_skip.planning.deadline import Deadline
from data_skip.store import Snapshot, StoreError
from data_skip.store.parts import Rows

Offer = Callable[[Clause, Rows, Mask, Mask], bool]  # whether others are to evaluate a rest of a clause: see `part_by_part`


def part_by_part(
    clause: Clause,
    snapshot: Snapshot,
    columns: Mapping[str, pa.StructArray],
    listed: Mask,
    most_bytes: int,
    deadline: Deadline,
    offer: Offer = lambda clause, rows, listed, may_match: False,
) -> Mask:
    """Which file versions are to be read, as `survivors`; of those that are not listed, and when there is no time left: all.

    columns: records that are at hand. What these rule out is not read, nor row groups of which their own statistics do. offer: is told what
    is left of the clause, where the rows lie, and which file versions are listed and may match by now; where it takes that, nothing more is
    evaluated.
    """
    may_match = np.ones(snapshot.count, dtype=bool)
    at_hand: list[Clause] = []
    rest: list[Clause] = []
    for part in clause.parts if isinstance(clause, AllOf) else (clause,):
        (at_hand if {field.index for field in part.fields()} <= columns.keys() else rest).append(part)
    if at_hand:
        may_match = survivors(all_of(at_hand), Records(columns, deadline.is_over), snapshot.count)
    if rest:
        with _as_known_by(deadline):
            rows = snapshot.rows_in_groups(deadline.end)
            ruled_out = clause.rules_out(Groups(rows.groups.count, rows.groups.ends))
            may_match[rows.versions_of(ruled_out, snapshot.count)] = False
            if not offer(all_of(rest), rows, listed, may_match):
                evaluate(clause, snapshot, columns, listed, may_match, most_bytes, deadline)
    return may_match


def evaluate(
    clause: Clause,
    snapshot: Snapshot,
    columns: Mapping[str, pa.StructArray],
    listed: Mask,
    may_match: Mask,
    most_bytes: int,
    deadline: Deadline,
) -> None:
    """Takes from `may_match` what the clause rules out, part after part. As `part_by_part`."""
    fields = {column: names for column, names in fields_of(clause).items() if column not in columns}
    left = max(0, most_bytes - sum(records.nbytes for records in columns.values()))
    with _as_known_by(deadline):
        for versions, found in snapshot.records_by_part(fields, listed & may_match, left, deadline.end):
            if deadline.is_over():
                break
            places = pa.array(versions)
            records = Records({**found, **{name: kept.take(places) for name, kept in columns.items()}}, deadline.is_over)
            may_match[versions] = survivors(clause, records, len(versions))


def fields_of(clause: Clause) -> dict[str, list[str]]:
    """The fields of the records of each index that a clause reads."""
    fields: dict[str, list[str]] = {}
    for field in clause.fields():
        if field.name not in fields.setdefault(field.index, []):
            fields[field.index].append(field.name)
    return fields


@contextmanager
def _as_known_by(deadline: Deadline) -> Iterator[None]:
    """Within, records that have not come in time are not waited for: what is known by then decides."""
    try:
        yield
    except StoreError:
        if not deadline.is_over():
            raise
