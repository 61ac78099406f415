"""Hybrid: a list of a file's values while they are few, a Bloom filter where they are many (Extensible Data Skipping, IV-E)."""

from __future__ import annotations

from collections.abc import Mapping
from math import log

import pyarrow as pa

from data_skip.index import Index, Record, refuse_number
from data_skip.indexes.bloom import BloomFilter, refuse_probability
from data_skip.indexes.value_list import ValueList


class Hybrid(ValueList, BloomFilter):
    """Up to `threshold` distinct values a file their list, which serves what ValueList serves; beyond, a Bloom filter, for = and IN.

    It is both, so the filters of both serve it. A record holds either the values or the bitsets: of the other nothing is known, and
    its clause is unknown.
    """

    def __init__(self, *expressions: str, threshold: int = 10_000, fpp: float = 0.01) -> None:
        refuse_number(threshold, "threshold is the largest number of values that are listed")
        refuse_probability(fpp)
        Index.__init__(self, *expressions, threshold=threshold, fpp=fpp)
        self.limit = threshold

    distinct = True
    threshold: int

    def refuse(self, types: tuple[str, ...]) -> str | None:
        return ValueList.refuse(self, types) or BloomFilter.refuse(self, types)

    def record_fields(self, types: tuple[pa.DataType, ...]) -> Mapping[str, pa.DataType]:
        return {**ValueList.record_fields(self, types), **BloomFilter.record_fields(self, types)}

    def collect(self, *values: pa.Array) -> Record:
        return {**ValueList.collect(self, *values), **BloomFilter.collect(self, *values)}

    def merge(self, a: Record, b: Record) -> Record:
        """Values beyond the threshold stay unknown (that is sticky), so the hashes are carried along from the first batch on."""
        return {**ValueList.merge(self, a, b), **BloomFilter.merge(self, a, b)}

    lift = Index.lift  # footers hold no values, and filters may be all that they hold of few

    def finish(self, record: Record) -> Record:
        if record["values"] is not None:
            return {"values": record["values"], "bitsets": None, "has_null": record["has_null"]}
        return {"values": None, **BloomFilter.finish(self, record)}


def threshold_for(file_bytes: int, value_bytes: float, fpp: float = 0.01, scanned: float = 0.01) -> int:
    """The number of distinct values up to which a list costs less than a Bloom filter, in bytes read for records and data.

    Extensible Data Skipping, IV-E: a list of v values of b bits, instead of a filter, is worth its size while
    v (b + ln f / ln² 2) < f |o| (1 - E), where |o| is the size of a file in bits and E the share of files that a query must read. For
    64 MB, 64 characters and f = E = 0.01 that is 10,088, whence the default threshold.
    """
    saved = 8 * value_bytes + log(fpp) / log(2) ** 2
    if saved <= 0:
        raise ValueError(f"values of {value_bytes} bytes take less than a Bloom filter with fpp {fpp} does: a list is always smaller")
    return int(fpp * 8 * file_bytes * (1 - scanned) / saved)
