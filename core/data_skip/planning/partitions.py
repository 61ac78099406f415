"""Partition columns at query time: in each file, the one value that the path of its directory tells.

By conjuncts about partition columns alone Spark prunes partitions itself. Of all others, as `p = 1 OR x = 50`, `x < p` and
`year(time) = p`, it leaves the partition to us: what MinMax serves is served, with the value as smallest and largest.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from data_skip.data_types import arrow_type
from data_skip.expression import Column, Expression, Opaque, columns_of, conjuncts
from data_skip.files.listing import ListedVersions, Listing
from data_skip.index import BoundIndex
from data_skip.indexes.min_max import MinMax


class PartitionValue(MinMax):
    """The value of a partition column. No index that can be created: its records are made of a listing."""


def partition_values(predicate: Expression) -> dict[str, BoundIndex]:
    """By column of the records, an index over each partition column that takes part in what Spark does not prune itself."""
    found: dict[str, BoundIndex] = {}
    for conjunct in conjuncts(predicate):
        columns = columns_of([conjunct])
        if all(column.partition for column in columns):
            continue
        for column in (column for column in columns if column.partition):
            index = PartitionValue(str(column))
            if index.refuse((column.type,)) is None:
                found[index.column] = BoundIndex(index, (column,))
    return found


def records(listing: Listing, listed: ListedVersions, indexes: Mapping[str, BoundIndex]) -> dict[str, pa.StructArray]:
    """Records as MinMax has them, of the file versions of a snapshot; null where one is not listed."""
    if not indexes:
        return {}
    directories = listed.directories()
    of_version = pa.array(directories, mask=directories < 0)
    return {name: _records(listing, index).take(of_version) for name, index in indexes.items()}


def _records(listing: Listing, bound: BoundIndex) -> pa.StructArray:
    """A record for each directory of a listing."""
    (column,) = bound.expressions
    assert isinstance(column, Column)
    given = listing.partition_values(column)
    unknown = [isinstance(value, Opaque) for value in given]
    type_ = arrow_type(column.type)
    values = pa.array([None if odd else value for odd, value in zip(unknown, given, strict=True)], type_)
    nan = pc.fill_null(pc.is_nan(values), False) if pa.types.is_floating(type_) else pa.array(np.zeros(len(values), dtype=bool))
    number = pc.if_else(nan, None, values)
    counts = [pc.cast(is_so, pa.int64()) for is_so in (pc.is_valid(number), pc.is_null(values), nan)]
    fields = bound.index.record_fields((type_,))
    return pa.StructArray.from_arrays([number, number, *counts], list(fields), mask=pa.array(unknown, pa.bool_()))
