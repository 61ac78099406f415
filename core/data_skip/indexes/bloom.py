"""BloomFilter: Parquet's own split-block Bloom filter of a file's values, for equality with constants."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from numbers import Real

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from data_skip import filters
from data_skip.clause import Clause, Computed, Text
from data_skip.data_types import FRACTIONAL, arrow_type, is_ordered
from data_skip.expression import Expression
from data_skip.filters import Indexes, admits
from data_skip.footer import Footer, has_null
from data_skip.index import BoundIndex, Index, Record
from data_skip.indexes.distinct import ascending
from data_skip.indexes.split_block import BLOCK_BYTES, Hashes, any_may_hold, bitset, blocks_for, folded, hash_values, passing
from data_skip.proofs.satisfying import satisfying
from data_skip.proofs.value_set import EVERYTHING, ValueSet

_HEADER = re.compile(rb"\x15([\x80-\xff]*[\x00-\x7f])\x1c\x1c\0\0\x1c\x1c\0\0\x1c\x1c\0\0\0", re.DOTALL)  # Thrift: size, then what must be
_FULL = 0.5  # filters through which more of the absent values pass are of no use
MOST_VALUES = 1 << 22  # a file of more distinct values is unknown: 32 to 64 MB of hashes while collecting, 5 MB of bits kept


class BloomFilter(Index):
    """A Bloom filter of one expression; serves =, <=> and IN with constants, and IS [NOT] NULL.

    fpp: how probable it is that a file is read for a value that it does not hold. A filter is as large as the distinct values of
    its file ask for, by the specification's table: 10.5 bits a value for 0.01. A record holds a list of bitsets, since one taken from a
    Parquet file has one for each row group; the file may hold a value if any of them does. No bitset: no value but NULL.
    """

    def __init__(self, *expressions: str, fpp: float = 0.01) -> None:
        refuse_probability(fpp)
        super().__init__(*expressions, fpp=fpp)

    distinct = True
    fpp: float

    def refuse(self, types: tuple[str, ...]) -> str | None:
        (type_,) = types
        if is_ordered(type_) and type_ != "boolean":
            return None
        return f"Parquet's Bloom filters do not hash values of type {type_}, or not as Spark compares them; use ValueList or MinMax"

    def record_fields(self, types: tuple[pa.DataType, ...]) -> Mapping[str, pa.DataType]:
        return {"bitsets": pa.list_(pa.binary()), "has_null": pa.bool_()}

    def collect(self, *values: pa.Array) -> Record:
        (array,) = values
        return {"hashes": [ascending(hash_values(array))], "has_null": array.null_count > 0}

    def merge(self, a: Record, b: Record) -> Record:
        return {"hashes": _joined(a["hashes"], b["hashes"]), "has_null": a["has_null"] or b["has_null"]}

    def finish(self, record: Record) -> Record:
        """The size of the filter depends on all values: until then a record holds their hashes."""
        if "hashes" not in record:
            return record
        bitsets = None
        if record["hashes"] is not None:
            hashes = ascending(np.concatenate(record["hashes"]))
            bitsets = [bitset(hashes, blocks_for(len(hashes), self.fpp))] if len(hashes) else []
        return {"bitsets": bitsets, "has_null": record["has_null"]}

    def lift(self, footer: Footer, expressions: tuple[Expression, ...]) -> Record | None:
        """The filters that the file's writer made of each row group, folded as small as `fpp` allows.

        The file is read instead where one is missing, empty or full.
        """
        chunks = footer.chunks(expressions[0])
        if chunks is None:
            return None
        bitsets = []
        for chunk in chunks:
            found = _written(footer, chunk)
            if found is None or not any(found):
                return None
            bitsets.append(folded(found, self.fpp / len(chunks)))
        if sum(map(passing, bitsets)) > _FULL:
            return None
        return {"bitsets": bitsets, "has_null": has_null(chunks)}


def _written(footer: Footer, chunk: pq.ColumnChunkMetaData) -> bytes | None:
    """The bitset that lies in the file; None where there is none of the one kind that Parquet's specification knows."""
    offset = getattr(chunk, "bloom_filter_offset", None)  # older versions of pyarrow do not tell
    if offset is None:
        return None
    header = _HEADER.match(footer.read(offset, 32))
    if header is None:
        return None
    zigzag = sum((byte & 0x7F) << (7 * i) for i, byte in enumerate(header[1]))
    size = zigzag >> 1
    bits = footer.read(offset + header.end(), size)
    return bits if len(bits) == size > 0 and size % BLOCK_BYTES == 0 and not zigzag & 1 else None


def refuse_probability(fpp: object) -> None:
    """ValueError for what is no probability of false positives."""
    if not isinstance(fpp, Real) or not 0 < float(fpp) < 1:
        raise ValueError(f"fpp is the probability of a false positive, a number between 0 and 1, not {fpp!r}")


def _joined(a: list[Hashes] | None, b: list[Hashes] | None) -> list[Hashes] | None:
    """The hashes of both, made distinct when they have doubled; None (unknown) where one is, or beyond the limit."""
    if a is None or b is None:
        return None
    parts = sorted([*a, *b], key=len, reverse=True)
    if sum(map(len, parts)) > 2 * len(parts[0]):
        parts = [ascending(np.concatenate(parts))]
    return None if len(parts[0]) > MOST_VALUES else parts


@filters.on()
def may_be_equal(node: Expression, indexes: Indexes) -> Iterator[Clause]:
    """A predicate that a few values of the indexed expression satisfy, or NULL, and no others; or all values, and not NULL."""
    for index in indexes.of(BloomFilter):
        values = satisfying(node, index.expression, indexes.spark)
        hashes = None if values is None else hashes_of(values, index.expression.type)
        if values is not None and (hashes is not None or values == EVERYTHING):
            yield _any_of(index, hashes, values.null, admits(index, node, indexes))


def _any_of(index: BoundIndex, hashes: Hashes | None, or_null: bool, text: Text) -> Clause:
    """The file may hold one of the values with these hashes (None: any value), or NULL if that is asked for."""

    def may_match(bitsets: pa.ListArray, has_null: pa.BooleanArray) -> pa.BooleanArray:
        found = pc.greater(pc.list_value_length(bitsets), 0) if hashes is None else any_may_hold(bitsets, hashes)
        return pc.or_kleene(found, has_null) if or_null else found

    return Computed(text, (index["bitsets"], index["has_null"]), may_match, pure=True)


def hashes_of(values: ValueSet, type_: str) -> Hashes | None:
    """The hashes of all values of a set; None where they cannot be listed: ranges, and NaN, which has many bit patterns."""
    if values.nan or any(i.low is None or i.low != i.high for i in values.intervals):
        return None
    points = [interval.low for interval in values.intervals]
    if type_ in FRACTIONAL and 0 in points:
        points += [0.0, -0.0]  # equal in Spark, but not in bits
    return hash_values(pa.array(points, arrow_type(type_)))
