"""Whether what the runtime filters of a scan need is worth running, before it is: the other side of a join, or a sub-query."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from data_skip.clause import Mask
from data_skip.errors import counted
from data_skip.expression import Column
from data_skip.index import BoundIndex
from data_skip.indexes.min_max import MinMax
from data_skip.planning.bound import Bound
from data_skip.planning.catalog import Knowledge
from data_skip.planning.decide import Judgement, Verdict
from data_skip.planning.report import human
from data_skip.spark.bridge import Scan

_OPENED = 1 << 18  # bytes that are read in the time in which a local file is opened, in two milliseconds or three
Bytes = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Worth:
    """Which runtime filters of a scan are worth it."""

    why_not: Sequence[str]  # of each; "" where it is
    saves: int  # bytes, the most that one of them may


def worth(judgement: Judgement, knowledge: Knowledge) -> Worth:
    """Weighs what running each costs against what it may save, in bytes of the columns that are read.

    It may save a part of the files that all that is known already leaves, of which an index that serves this scan has a record. Where all
    that it says is which values columns have, and only ranges of these are known: what one value skips that lies in the middle of a file.
    """
    listing, scan = judgement.listing, judgement.listing.scan
    if all(listing.refusals):
        return Worth([refusal or "" for refusal in listing.refusals], 0)
    files = listing.count - sum(int(np.count_nonzero(verdict.skippable)) for verdict in judgement.verdicts)
    left = [_left(verdict, scan.description["reads"]) for verdict in judgement.verdicts]
    why_not, saves = [], 0.0
    for refusal, asked in zip(listing.refusals, scan.description["runtime_filters"], strict=True):
        if refusal:
            why_not.append(refusal)
            continue
        serving = [_serving(verdict, asked["columns"], scan, knowledge) for verdict in judgement.verdicts]
        found = [index for indexes in serving for index in indexes if isinstance(index, BoundIndex)]
        size = sum(of_files.sum() for of_files in left)
        until = judgement.deadline.end
        skipped = sum(_skipped(*parts, asked["keys"], until) for parts in zip(judgement.verdicts, left, serving, strict=True))
        reason = ""
        if not found:
            others = [index for indexes in serving for index in indexes]
            reason = str(others[0]) if others else f"no index on {', '.join(sorted(asked['columns']))}"
        elif files < 2 or size < asked["least_saved_bytes"]:
            left_over = f"{counted(files, 'file', 'files')} with {human(size)}"
            reason = f"that may read {human(asked['bytes'])}, and other predicates leave {left_over}"
        elif skipped < asked["least_saved_bytes"]:
            reason = (
                f"that may read {human(asked['bytes'])}, and a value of {', '.join(asked['keys'])} would skip {human(skipped)} of"
                f" {human(size)}: the ranges of the files overlap"
            )
        elif skipped + _OPENED * files * skipped / size < scan.description["least_gain"]:
            reason = f"a job takes longer than what it may save: {human(skipped)} of {files:,} files (spark.data_skip.join.leastBytes)"
        else:
            saves = max(saves, skipped)
        why_not.append(reason)
    return Worth(why_not, int(saves))


def _left(verdict: Verdict, reads: Mapping[str, Any]) -> Bytes:
    """What is read of each file version that is listed and not skipped yet: see ScannedFiles.java; 0 of all others."""
    sizes = verdict.snapshot.sizes.astype(float)
    whole = np.minimum(sizes, reads["whole"])
    rest = (sizes - whole) * reads["factor"]
    if reads["row_bytes"] >= 0:
        of_rows = verdict.snapshot.row_counts.astype(float) * reads["row_bytes"]
        rest = np.where(np.isnan(of_rows), rest, np.minimum(rest, of_rows))
    return np.where(verdict.fresh & verdict.may_match, whole + rest, 0.0)


def _serving(verdict: Verdict, columns: Sequence[str], scan: Scan, knowledge: Knowledge) -> list[BoundIndex | str]:
    """The indexes over some columns; of those that do not serve the scan, why not."""
    bound = Bound.of(verdict.snapshot, scan, knowledge)
    return [bound[column] for column, definition in verdict.snapshot.definitions.items() if not definition.columns.isdisjoint(columns)]


def _skipped(verdict: Verdict, left: Bytes, serving: Sequence[BoundIndex | str], keys: Sequence[str], until: float) -> float:
    """How much of what is left of the files of one table may be skipped."""
    indexes = [index for index in serving if isinstance(index, BoundIndex)]
    of_keys = [_skipped_by_a_key(verdict, left, index, keys, until) for index in indexes]
    total = float(left.sum()) if indexes else 0.0
    return total if None in of_keys else min(total, sum(filter(None, of_keys)))


def _skipped_by_a_key(verdict: Verdict, left: Bytes, index: BoundIndex, keys: Sequence[str], until: float) -> float | None:
    """What one value of a column skips that lies in the middle of a file, in the mean; None where more than ranges of it is known.

    That file counts as well, in its part: nothing where all ranges are the same, all where none overlap, since the value may be in no file.
    """
    column = index.expression
    if type(index.index) is not MinMax or not isinstance(column, Column) or len(column.path) > 1 or column.path[0] not in keys:
        return None
    low, high, empty = np.full(len(left), np.nan), np.full(len(left), np.nan), np.zeros(len(left), dtype=bool)
    for places, record in _records(verdict, index.index.column, left > 0, until):
        ends = [_numbers(pc.struct_field(record, name)) for name in ("min", "max")]
        if ends[0] is None or ends[1] is None:
            return None
        low[places], high[places] = ends
        empty[places] = pc.fill_null(pc.equal(pc.struct_field(record, "value_count"), 0), False).to_numpy(zero_copy_only=False)
    ranged = (left > 0) & ~np.isnan(low) & ~np.isnan(high)
    nothing, count = float(left[empty].sum()), int(ranged.sum())
    if count < 2:
        return nothing + float(left[ranged].sum())
    low, high, read = low[ranged], high[ranged], left[ranged]
    middles = low / 2 + high / 2
    kept = _sum_below(low, read, middles, "right") - _sum_below(high, read, middles, "left")
    return nothing + float(read.sum() - kept.mean()) * count / (count - 1)


def _records(verdict: Verdict, column: str, asked: Mask, until: float) -> Iterator[tuple[Any, pa.StructArray]]:
    """The records of a MinMax of file versions that are asked for, with the places of these; some at a time, where there is no room."""
    snapshot, most = verdict.snapshot, verdict.most_bytes
    if snapshot.fitting([column], most, until):
        yield slice(None), snapshot.records([column], most, until)[column]
        return
    for versions, records in snapshot.records_by_part({column: ("min", "max", "value_count")}, asked, most, until):
        yield versions, records[column]


def _sum_below(ends: Bytes, read: Bytes, values: Bytes, side: Any) -> Bytes:
    """For each value what is read of the files whose end is smaller ("left"), or not larger ("right")."""
    order = np.argsort(ends)
    sums = np.concatenate([[0.0], np.cumsum(read[order])])
    return np.asarray(sums[np.searchsorted(ends[order], values, side)])


def _numbers(values: pa.Array) -> Bytes | None:
    """Numbers, dates and times as numbers, NaN for NULL; None of other values."""
    type_ = values.type
    if pa.types.is_date32(type_):
        values = values.cast(pa.int32())
    elif pa.types.is_timestamp(type_):
        values = values.cast(pa.int64())
    elif not (pa.types.is_integer(type_) or pa.types.is_floating(type_) or pa.types.is_decimal(type_)):
        return None
    return np.asarray(values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), dtype=float)
