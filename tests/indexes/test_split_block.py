"""The split block Bloom filters of split_block.py: bit for bit Parquet's own, and as selective as the specification says."""

from __future__ import annotations

import struct
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
import xxhash

from data_skip.indexes.split_block import (
    any_may_hold,
    bits_per_value,
    bitset,
    blocks_for,
    blocks_of,
    decimal_bytes,
    false_positives,
    hash_values,
    may_hold,
)

NAN = float("nan")
SPEC = {0.1: 6.0, 0.01: 10.5, 0.001: 16.9, 0.0001: 26.4, 0.00001: 41.0}  # the specification's table, Sizing an SBBF


@pytest.mark.parametrize(("fpp", "bits"), SPEC.items())
def test_sizes_are_those_of_the_specification(fpp: float, bits: float) -> None:
    assert bits_per_value(fpp) == pytest.approx(bits, rel=0.01)


@pytest.mark.parametrize(("hashes", "expected"), [(26_214, 0.0126), (52_428, 0.18), (13_107, 0.0004)])
def test_probabilities_are_those_of_the_specification(hashes: int, expected: float) -> None:
    assert false_positives(1024 * 256 / hashes) == pytest.approx(expected, rel=0.05)


@pytest.mark.parametrize("fpp", [0.1, 0.01, 0.001])
def test_false_positives_stay_within_a_fifth_of_the_specification(fpp: float) -> None:
    held, probes = 20_000, 200_000
    numbers = np.random.default_rng(7).permutation(np.arange(held + probes, dtype=np.int64))
    filter_ = bitset(hash_values(pa.array(numbers[:held])), blocks_for(held, fpp))
    asked = hash_values(pa.array(numbers[held:]))
    words = blocks_of(pa.array([filter_]))
    assert may_hold(words, np.array([0]), np.array([len(words)]), asked).mean() < 1.2 * fpp


def test_a_block_is_set_and_asked_as_the_pseudocode_does() -> None:
    salts = [0x47B6137B, 0x44974D91, 0x8824AD5B, 0xA2B7289D, 0x705495C7, 0x2DF1424B, 0x9EFC4947, 0x5C6BFB31]
    hashes, blocks = hash_values(pa.array([f"v{i}" for i in range(50)])), 7
    words = [[0] * 8 for _ in range(blocks)]
    for h in hashes.tolist():
        block = words[((h >> 32) * blocks) >> 32]
        for i, salt in enumerate(salts):
            block[i] |= 1 << (((h & 0xFFFFFFFF) * salt & 0xFFFFFFFF) >> 27)
    assert bitset(hashes, blocks) == b"".join(struct.pack("<8I", *block) for block in words)


@pytest.mark.parametrize(
    ("array", "plain"),
    [
        (pa.array([-3, None, 7], pa.int8()), [struct.pack("<i", -3), struct.pack("<i", 7)]),
        (pa.array([-300], pa.int16()), [struct.pack("<i", -300)]),
        (pa.array([1 << 30]).cast(pa.int32()), [struct.pack("<i", 1 << 30)]),
        (pa.array([-(1 << 60)]), [struct.pack("<q", -(1 << 60))]),
        (pa.array([0.1, -0.0], pa.float32()), [struct.pack("<f", 0.1), struct.pack("<f", -0.0)]),
        (pa.array([0.1, NAN]), [struct.pack("<d", 0.1), struct.pack("<d", NAN)]),
        (pa.array(["", "ä😀", "x" * 100]), [b"", "ä😀".encode(), b"x" * 100]),
        (pa.array([b"\xff\x00"]), [b"\xff\x00"]),
        (pa.array([Decimal("-1.10")], pa.decimal128(9, 2)), [struct.pack("<i", -110)]),
        (pa.array([Decimal("-1.10")], pa.decimal128(18, 2)), [struct.pack("<q", -110)]),
        (pa.array([None, Decimal("-1.10")], pa.decimal128(19, 2)), [(-110).to_bytes(9, "big", signed=True)]),
        (pa.array([Decimal(10**37)], pa.decimal128(38, 0)), [(10**37).to_bytes(16, "big", signed=True)]),
    ],
    ids=lambda value: str(value.type) if isinstance(value, pa.Array) else "",
)
def test_hashes_are_xxh64_of_the_plain_encoding(array: pa.Array, plain: list[bytes]) -> None:
    expected = list(map(xxhash.xxh64_intdigest, plain))
    assert hash_values(array).tolist() == expected
    padded = pa.concat_arrays([array[:1], array])
    assert hash_values(padded.slice(1)).tolist() == expected


@pytest.mark.parametrize("digits", range(1, 39))
def test_decimals_take_as_many_bytes_as_in_spark(digits: int) -> None:
    fewest = next(n for n in range(1, 20) if 2 ** (8 * n - 1) - 1 >= 10**digits - 1)
    assert decimal_bytes(digits) == fewest


def test_what_a_bitset_answers_where_something_is_unknown() -> None:
    (value,) = (hash_values(pa.array(["a"])),)
    holds, other = bitset(value, 2), bytes(64)
    lists = [[holds], [other], [other, holds], [], None, [None], [None, holds], [b"short"], [b""], [b"short", other], [bytes(32), holds]]
    answers = any_may_hold(pa.array(lists, pa.list_(pa.binary())), value).to_pylist()
    assert answers == [True, False, True, False, None, None, True, None, None, None, True]
    sliced = pa.array([None, *lists], pa.list_(pa.binary())).slice(1)
    assert any_may_hold(sliced, value).to_pylist() == answers
    assert any_may_hold(pa.chunked_array([sliced]), value).to_pylist() == answers
    assert any_may_hold(pa.array(lists, pa.list_(pa.binary())), value[:0]).to_pylist() == [
        *(False, False, False, False, None, None, None, None, None, None, False)
    ]


def test_many_values_of_many_files_are_asked_in_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    hashes = hash_values(pa.array(range(3000)))
    lists = pa.array([[bitset(hashes[i : i + 1], 4)] for i in range(0, 3000, 100)], pa.list_(pa.binary()))
    at_once = any_may_hold(lists, hashes[2050:])
    monkeypatch.setattr("data_skip.indexes.split_block._MOST_PROBES", 64)
    assert any_may_hold(lists, hashes[2050:]) == at_once
    assert at_once.to_pylist()[21:] == [True] * 9
    assert sum(any_may_hold(lists, hashes[2001:2002]).to_pylist()) <= 1
