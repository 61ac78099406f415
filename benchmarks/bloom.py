"""The Bloom filter against Parquet's specification: false positives, space, and the speed of building, probing and lifting.

    python benchmarks/bloom.py [distinct values a filter]

"times the spec" compares the false positives that were counted with the specification's table, at a size that `BloomFilter` chooses. "bits
a value, times the spec" compares its space with that of the table. Speeds are ratios to a plain loop that does what the pseudocode of
the specification says, or to what else would be done in its place. No Spark is needed.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import xxhash

from data_skip.expression import Column
from data_skip.footer import Footer
from data_skip.indexes.bloom import BloomFilter
from data_skip.indexes.split_block import any_may_hold, bitset, blocks_for, blocks_of, hash_values, may_hold

SPEC = {0.1: 6.0, 0.01: 10.5, 0.001: 16.9, 0.0001: 26.4, 0.00001: 41.0}
SALTS = (0x47B6137B, 0x44974D91, 0x8824AD5B, 0xA2B7289D, 0x705495C7, 0x2DF1424B, 0x9EFC4947, 0x5C6BFB31)
PROBES = 4_000_000
FILES = 10_000


def main(held: int) -> None:
    """Prints the tables."""
    numbers = np.random.default_rng(0).permutation(np.arange(held + PROBES, dtype=np.int64))
    hashes, absent = hash_values(pa.array(numbers[:held])), hash_values(pa.array(numbers[held:]))
    false_positives(hashes, absent)
    building(numbers[:held])
    probing(hashes)
    lifting(numbers[:held])


def false_positives(hashes: np.ndarray, absent: np.ndarray) -> None:
    """Counts the absent values that pass."""
    print(f"{'fpp':>8} {'bits a value':>13} {'times the spec':>15} {'false positives':>16} {'times the spec':>15}")
    for fpp, bits in SPEC.items():
        blocks = blocks_of(pa.array([bitset(hashes, blocks_for(len(hashes), fpp))]))
        parts = np.array_split(absent, len(absent) // 50_000)
        passed = sum(int(may_hold(blocks, np.array([0]), np.array([len(blocks)]), part).sum()) for part in parts)
        used, rate = len(blocks) * 256 / len(hashes), passed / len(absent)
        print(f"{fpp:>8.3%} {used:>13.2f} {used / bits:>15.3f} {rate:>16.5%} {rate / fpp:>15.2f}")


def building(numbers: np.ndarray) -> None:
    """Hashing and building, against a loop over a sample."""
    print(f"\n{'building':<40} {'per second':>12} {'times a loop':>13}")
    blocks, sample = blocks_for(len(numbers), 0.01), numbers[:20_000]
    texts = [f"value {n}" for n in sample.tolist()]
    slow = per_second(lambda: loop_insert([n.tobytes() for n in sample], blocks), len(sample))
    slow_texts = per_second(lambda: loop_insert([text.encode() for text in texts], blocks), len(texts))
    array, text_array, hashes = pa.array(numbers), pa.array(texts), hash_values(pa.array(numbers))
    for what, run, count, base in (
        ("hash 8-byte values", lambda: hash_values(array), len(numbers), 0.0),
        ("hash strings", lambda: hash_values(text_array), len(texts), 0.0),
        ("bits of hashes", lambda: bitset(hashes, blocks), len(numbers), 0.0),
        ("8-byte values to a filter", lambda: bitset(hash_values(array), blocks), len(numbers), slow),
        ("strings to a filter", lambda: bitset(hash_values(text_array), blocks), len(texts), slow_texts),
    ):
        speed = per_second(run, count)
        print(f"{what:<40} {speed:>12,.0f} {f'{speed / base:.0f}' if base else '':>13}")


def probing(hashes: np.ndarray) -> None:
    """One question to many files, against a loop over a sample of them."""
    print(f"\n{'probing ' + format(FILES, ',') + ' files':<40} {'milliseconds':>12} {'times a loop':>13}")
    held = np.array_split(np.resize(hashes, FILES * 200), FILES)
    bitsets = [bitset(part, blocks_for(200, 0.01)) for part in held]
    lists = pa.array([[bits] for bits in bitsets], pa.list_(pa.binary()))
    for count in (1, 10, 100, 1_000, 10_000):
        asked = hash_values(pa.array([f"absent {i}" for i in range(count)]))
        sample = 200 if count < 1_000 else 20
        slow = seconds(lambda asked=asked, sample=sample: [loop_check(b, asked.tolist()) for b in bitsets[:sample]]) * FILES / sample
        fast = seconds(lambda asked=asked: any_may_hold(lists, asked))
        print(f"{f'for {count:,} values':<40} {fast * 1000:>12.1f} {slow / fast:>13.0f}")


def lifting(numbers: np.ndarray) -> None:
    """A record from the footer of a file, against one from its rows."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.parquet"
        pq.write_table(pa.table({"v": numbers}), path, bloom_filter_options={"v": {"ndv": len(numbers), "fpp": 0.01}})
        index, expressions = BloomFilter("v"), (Column("bigint", None, ("v",)),)
        read = seconds(lambda: index.finish(index.collect(pq.read_table(path)["v"].combine_chunks())))
        lifted = seconds(lambda: index.lift(Footer(path, pq.read_metadata(path)), expressions))
        print(f"\nlifting a filter of {len(numbers):,} values: {read / lifted:.0f} times as fast as reading them (pyarrow, no Spark)")


def loop_insert(values: list[bytes], blocks: int) -> list[list[int]]:
    """`filter_insert` of the specification, as it stands there."""
    words = [[0] * 8 for _ in range(blocks)]
    for value in values:
        h = xxhash.xxh64_intdigest(value)
        block = words[((h >> 32) * blocks) >> 32]
        for i, salt in enumerate(SALTS):
            block[i] |= 1 << (((h & 0xFFFFFFFF) * salt & 0xFFFFFFFF) >> 27)
    return words


def loop_check(bits: bytes, hashes: list[int]) -> bool:
    """`filter_check` of the specification for any of some hashes."""
    blocks = len(bits) // 32
    for h in hashes:
        at = 32 * (((h >> 32) * blocks) >> 32)
        for i, salt in enumerate(SALTS):
            bit = ((h & 0xFFFFFFFF) * salt & 0xFFFFFFFF) >> 27
            if not bits[at + 4 * i + bit // 8] >> bit % 8 & 1:
                break
        else:
            return True
    return False


def per_second(run: Callable[[], object], count: int) -> float:
    """How many of its items a function does in a second."""
    return count / seconds(run)


def seconds(run: Callable[[], object]) -> float:
    """The best time of three."""
    times = []
    for _ in range(3):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
