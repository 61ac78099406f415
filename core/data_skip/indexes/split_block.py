"""The split-block Bloom filter of Parquet's specification: hashes of values, the bitset that holds them, one question to many bitsets.

Values are hashed with XXH64, seed 0, over their Parquet PLAIN encoding as Spark's writer chooses it:

    tinyint, smallint, int, date      4 bytes             decimal, up to 9 digits     4 bytes, unscaled
    bigint, timestamps (in us)        8 bytes             decimal, up to 18 digits    8 bytes, unscaled
    float, double                     4 and 8 bytes       decimal, more digits        the fewest bytes that hold all, big-endian
    string, binary                    the bytes

So a bitset of ours equals the one that Spark or pyarrow writes into a file for the same values and size. Bits are hashed, not
numbers: 0.0 and -0.0 have different hashes, and so have two NaNs.
"""

from __future__ import annotations

from functools import lru_cache
from math import ceil, exp, lgamma, log, sqrt

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import xxhash

from data_skip.data_types import decimal_bytes
from data_skip.indexes.distinct import owners

Hashes = npt.NDArray[np.uint64]
BLOCK_BYTES = 32
_SALTS = np.array(  # of Parquet's specification
    [0x47B6137B, 0x44974D91, 0x8824AD5B, 0xA2B7289D, 0x705495C7, 0x2DF1424B, 0x9EFC4947, 0x5C6BFB31], dtype=np.uint32
)
_P1, _P2, _P3, _P4, _P5 = (
    np.uint64(p) for p in (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5)
)
_BITS_SET = np.unpackbits(np.arange(1 << 16, dtype=np.uint16).view(np.uint8).reshape(-1, 2), axis=1).sum(axis=1, dtype=np.uint8)
_MOST_PROBES = 1 << 16  # of one step: what it gathers stays in the cache


def hash_values(values: pa.Array) -> Hashes:
    """The hashes of the non-null values of an array, in Spark's own representation (see Index), in their order."""
    values, type_ = values.drop_null(), values.type
    if pa.types.is_decimal(type_):
        return _xxh64(_decimal_bytes(values))
    if pa.types.is_signed_integer(type_) or pa.types.is_floating(type_):
        numbers = values.cast(pa.int32()) if pa.types.is_integer(type_) and type_.bit_width < 32 else values
        return _xxh64(_rows(numbers.to_numpy(zero_copy_only=False)))
    texts = values.cast(pa.large_binary()).to_pylist()  # a type that has no bytes raises here
    return np.fromiter(map(xxhash.xxh64_intdigest, texts), dtype=np.uint64, count=len(texts))


def _rows(numbers: npt.NDArray[np.generic]) -> npt.NDArray[np.uint8]:
    """The bytes of each number, little-endian, a row each."""
    little = np.ascontiguousarray(numbers, dtype=numbers.dtype.newbyteorder("<"))
    return little.view(np.uint8).reshape(len(numbers), little.dtype.itemsize)


def _decimal_bytes(values: pa.Array) -> npt.NDArray[np.uint8]:
    digits = values.type.precision
    raw = np.frombuffer(values.buffers()[1], dtype=np.uint8)[16 * values.offset : 16 * (values.offset + len(values))].reshape(-1, 16)
    if digits <= 18:
        return raw[:, : 4 if digits <= 9 else 8]
    return raw[:, ::-1][:, 16 - decimal_bytes(digits) :]


def _xxh64(rows: npt.NDArray[np.uint8]) -> Hashes:
    """XXH64 with seed 0 of byte strings of one length below 32 (for longer ones it begins otherwise), a row each."""
    count, length = rows.shape
    h = np.full(count, _P5 + np.uint64(length), dtype=np.uint64)
    at = 0
    while length - at >= 8:
        h ^= _rotated(_lane(rows, at, 8) * _P2, 31) * _P1
        h = _rotated(h, 27) * _P1 + _P4
        at += 8
    if length - at >= 4:
        h ^= _lane(rows, at, 4) * _P1
        h = _rotated(h, 23) * _P2 + _P3
        at += 4
    for i in range(at, length):
        h ^= _lane(rows, i, 1) * _P5
        h = _rotated(h, 11) * _P1
    h = (h ^ (h >> np.uint64(33))) * _P2
    h = (h ^ (h >> np.uint64(29))) * _P3
    return h ^ (h >> np.uint64(32))


def _lane(rows: npt.NDArray[np.uint8], at: int, width: int) -> Hashes:
    return np.ascontiguousarray(rows[:, at : at + width]).view(f"<u{width}")[:, 0].astype(np.uint64)


def _rotated(h: Hashes, by: int) -> Hashes:
    return (h << np.uint64(by)) | (h >> np.uint64(64 - by))


def _places(hashes: Hashes, blocks: npt.NDArray[np.int64] | int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint32]]:
    """The block of each hash, and the bit in each of the block's eight words: `filter_insert` and `mask` of the specification."""
    block = ((hashes >> np.uint64(32)) * np.asarray(blocks, dtype=np.uint64)) >> np.uint64(32)
    return block.astype(np.int64), (hashes.astype(np.uint32)[..., None] * _SALTS) >> np.uint32(27)


def bitset(hashes: Hashes, blocks: int) -> bytes:
    """The filter of so many blocks that holds these hashes."""
    block, bit = _places(hashes, blocks)
    bits = np.zeros(blocks * 256, dtype=bool)
    bits[(block[:, None] * 256 + np.arange(0, 256, 32)) + bit] = True
    return np.packbits(bits, bitorder="little").tobytes()


def passing(bits: bytes) -> float:
    """The share of absent values that a filter lets pass: in each word of a block the share of bits that are set, multiplied."""
    set_ = _BITS_SET[np.frombuffer(bits, dtype=np.uint16)].reshape(-1, 8, 2).sum(axis=2, dtype=np.uint8)
    return float((set_ / 32).prod(axis=1).mean())


def folded(bits: bytes, fpp: float) -> bytes:
    """The smallest filter of the same values that halving this one gives and that lets no more than `fpp` pass; itself if it is full.

    Of half as many blocks, a value belongs to the block with half the number: blocks 2i and 2i + 1 together are the block i.
    """
    while len(bits) % (2 * BLOCK_BYTES) == 0:
        pairs = np.frombuffer(bits, dtype=np.uint8).reshape(-1, 2, BLOCK_BYTES)
        half = (pairs[:, 0] | pairs[:, 1]).tobytes()
        if passing(half) > fpp:
            break
        bits = half
    return bits


def false_positives(bits_per_value: float) -> float:
    """The probability that a filter with so much space passes a value that it does not hold.

    The specification has a table (10.5 bits: 1 %), no formula. The number of values that fall into a block of 256 bits follows Poisson's
    law; with k of them, a bit of a word is set with probability 1 - (31/32)^k, and all eight must be.
    """
    mean = 256 / bits_per_value
    most = ceil(mean + 12 * sqrt(mean) + 12)
    return sum(exp(k * log(mean) - mean - lgamma(k + 1)) * (1 - (31 / 32) ** k) ** 8 for k in range(1, most))


@lru_cache
def bits_per_value(fpp: float) -> float:
    """The space that a false positive probability takes: `false_positives` turned round."""
    low, high = 0.1, 10_000.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if false_positives(middle) > fpp else (low, middle)
    return high


def blocks_for(values: int, fpp: float) -> int:
    """How many blocks a filter for so many distinct values needs."""
    return max(1, ceil(values * bits_per_value(fpp) / 256))


def any_may_hold(bitsets: pa.ListArray, hashes: Hashes) -> pa.BooleanArray:
    """For each list of bitsets whether one of them may hold one of the hashes; null where the list, or a bitset that might, is unknown."""
    if isinstance(bitsets, pa.ChunkedArray):
        bitsets = bitsets.combine_chunks()
    flat = bitsets.flatten()
    owner = owners(bitsets)
    sizes = pc.fill_null(pc.binary_length(flat), 0).to_numpy(zero_copy_only=False).astype(np.int64)
    sound = (sizes > 0) & (sizes % BLOCK_BYTES == 0)
    unknown = bitsets.is_null().to_numpy(zero_copy_only=False).copy()
    unknown[owner[~sound]] = True
    found = np.zeros(len(bitsets), dtype=bool)
    if sound.any():
        owner, counts = owner[sound], sizes[sound] // BLOCK_BYTES
        words, first = blocks_of(flat if sound.all() else flat.filter(pa.array(sound))), np.cumsum(counts) - counts
        step = max(1, _MOST_PROBES // len(owner))
        for at in range(0, len(hashes), step):
            open_ = np.flatnonzero(~found[owner])
            hits = may_hold(words, first[open_], counts[open_], hashes[at : at + step])
            found[owner[open_[hits.any(axis=1)]]] = True
    return pa.array(found, mask=unknown & ~found)


def blocks_of(bitsets: pa.BinaryArray) -> npt.NDArray[np.uint32]:
    """The blocks of all bitsets, one after another, a row of eight words each."""
    _, offsets, data = bitsets.buffers()
    width = np.int64 if pa.types.is_large_binary(bitsets.type) else np.int32
    ends = np.frombuffer(offsets, dtype=width)[bitsets.offset : bitsets.offset + len(bitsets) + 1]
    return np.frombuffer(data, dtype="<u4", offset=int(ends[0]), count=int(ends[-1] - ends[0]) // 4).reshape(-1, 8)


def may_hold(
    words: npt.NDArray[np.uint32], first: npt.NDArray[np.int64], counts: npt.NDArray[np.int64], hashes: Hashes
) -> npt.NDArray[np.bool_]:
    """For each bitset, by its first block and their number, and for each hash, whether the one may hold the other: `filter_check`."""
    block, bit = _places(hashes, counts[:, None])
    masks = np.uint32(1) << bit
    return np.asarray(((words[first[:, None] + block] & masks) == masks).all(axis=-1))
