"""The file versions of a snapshot, as columns: no Python object a file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Places = npt.NDArray[np.int64]
Mixed = npt.NDArray[np.uint32]
Tally = tuple[int, int]  # of rows: see tally_of
NO_TALLY: Tally = (0, 0)
KEYS_SCHEMA = pa.schema([("path", pa.string()), ("size", pa.int64()), ("modification_time", pa.int64())])
KEYS = tuple(KEYS_SCHEMA.names)
_ODD = np.uint64(0x9E3779B97F4A7C15)  # by which sizes are spread over all numbers of 64 bits
_HALF = np.uint64(32)
_FEW_BITS = np.uint32((1 << 20) - 1)
_COMPARED = 1 << 18  # keys of which the texts are compared at a time
_AT_ONCE = 1 << 16  # rows, of which what is made meanwhile stays in the caches


def distinct(keys: pa.Table, mixed: Mixed) -> tuple[pa.Table, Places | None]:
    """The different file versions of some rows, in the order in which they first occur; and of each row the place of its own.

    None for these places where each row is of another version. mixed: of each row what `mixed_of` gives.
    """
    first_of = _first_of(keys, mixed)
    if first_of is None:
        return keys, None
    is_first = first_of == np.arange(len(keys))
    return keys.filter(pa.array(is_first)), (np.cumsum(is_first) - 1)[first_of]


def are_first(keys: pa.Table) -> npt.NDArray[np.bool_]:
    """Which of some file versions are the first of their kind."""
    first_of = _first_of(keys, mixed_of(*(keys[name].to_numpy() for name in KEYS[1:])))
    return np.ones(len(keys), dtype=bool) if first_of is None else first_of == np.arange(len(keys))


def without_repeats(keys: pa.Table) -> pa.Table:
    """The different ones of these file versions."""
    return keys.filter(pa.array(are_first(keys)))


def _first_of(keys: pa.Table, mixed: Mixed) -> Places | None:
    """Of each row the first one of its version; None where each is of another."""
    doubtful = _may_be_met_again(mixed)  # to compare all paths takes longer than all else that is done with an index
    if not len(doubtful):
        return None
    doubtful = doubtful[_met_again([keys[name].to_numpy()[doubtful] for name in KEYS[1:]])]
    if not len(doubtful):
        return None
    key = [*(keys[name].to_numpy()[doubtful] for name in KEYS[1:]), _numbered(taken(keys, doubtful)["path"])]
    order = np.lexsort(key)  # stable: of equal keys the first row is first
    begins = _begins(key, order)
    if begins.all():
        return None
    first_of = np.arange(len(keys))
    first_of[doubtful[order]] = doubtful[order[begins]][np.cumsum(begins) - 1]
    return first_of


def _met_again(key: Sequence[npt.NDArray[Any]]) -> npt.NDArray[np.bool_]:
    """Of which rows another one has the same key."""
    order = np.lexsort(key)
    same = ~_begins(key, order)  # as the row before
    same[:-1] |= same[1:]
    found = np.empty(len(order), dtype=bool)
    found[order] = same
    return found


def _begins(key: Sequence[npt.NDArray[Any]], order: Places) -> npt.NDArray[np.bool_]:
    """Which rows, in an order by their key, have another one than the row before."""
    begins = np.ones(len(order), dtype=bool)
    begins[1:] = np.any([part[order[1:]] != part[order[:-1]] for part in key], axis=0)
    return begins


def places_in(keys: pa.Table, wanted: pa.Table) -> Places:
    """The place that each of some other file versions has among these; -1 where it has none."""
    at = np.full(len(wanted), -1)
    if not (len(keys) and len(wanted)):
        return at
    mixed = _mixed(*(wanted[name].to_numpy() for name in KEYS[1:]))
    places, of_places = _perhaps_in(keys, mixed)
    parts = max(len(places), len(wanted)) // _COMPARED + 1  # of equal keys both are in one
    for some, these in zip(_in_parts(of_places, parts), _in_parts(mixed, parts), strict=True) if len(places) else ():
        found = pc.index_in(_told(wanted, these), _told(keys, places[some])).fill_null(-1).to_numpy()
        at[these[found >= 0]] = places[some[found[found >= 0]]]
    return at


def _in_parts(mixed: npt.NDArray[np.uint64], parts: int) -> list[Places]:
    """The places of some numbers, those in one part that are the same; in each in rising order."""
    part = (mixed % np.uint64(parts)).astype(np.uint16)
    return np.split(np.argsort(part, kind="stable"), np.cumsum(np.bincount(part, minlength=parts))[:-1])


def _perhaps_in(keys: pa.Table, mixed: npt.NDArray[np.uint64]) -> tuple[Places, npt.NDArray[np.uint64]]:
    """Of which keys some of the files may be that have these numbers, of `_mixed`; and the numbers of those keys."""
    some = np.zeros(_FEW_BITS + 1, dtype=bool)  # a look at it takes a tenth of one at `ordered`
    some[mixed & _FEW_BITS] = True
    found = []
    ordered, start = np.sort(mixed), 0
    for part in keys.to_batches():
        of_part = _mixed(*(part[name].to_numpy() for name in KEYS[1:]))
        places = np.flatnonzero(some[of_part & _FEW_BITS])
        places = places[np.argsort(of_part[places])]  # one after the other they are looked for in a tenth of the time
        near = ordered[np.minimum(np.searchsorted(ordered, of_part[places]), len(ordered) - 1)]
        places = np.sort(places[near == of_part[places]])
        found.append((start + places, of_part[places]))
        start += len(part)
    return np.concatenate([places for places, _ in found]), np.concatenate([numbers for _, numbers in found])


def taken(keys: pa.Table, places: Places) -> pa.Table:
    """Some rows, by their places in rising order. Of each chunk by itself: pyarrow makes one of all first, which may be too long for it."""
    parts = keys.to_batches()
    starts = np.cumsum([0, *map(len, parts)])
    ends = np.searchsorted(places, starts).tolist()
    chosen = zip(parts, starts.tolist(), ends, ends[1:], strict=False)
    return pa.Table.from_batches([part.take(pa.array(places[a:b] - start)) for part, start, a, b in chosen if a < b], keys.schema)


def _told(keys: pa.Table, places: Places) -> pa.Array:
    """Some keys, each as one text; of a file without a path NULL."""
    path, size, time = (column.cast(pa.large_string()) for column in taken(keys, places).columns)
    return pc.binary_join_element_wise(size, time, path, pa.scalar(" ", pa.large_string())).combine_chunks()


def mixed_of(sizes: Places, times: Places) -> Mixed:
    """Of each file a number that is another for most other sizes and modification times."""
    mixed = _mixed(sizes, times)
    mixed *= _ODD
    mixed >>= _HALF
    return mixed.astype(np.uint32)


def tally_of(rows: pa.Table | pa.RecordBatch) -> Tally:
    """How many rows these are, and a sum that is another one for most others."""
    return len(rows), int(mixed_of(*(rows[name].to_numpy() for name in KEYS[1:])).sum(dtype=np.uint64))


def added_up(tallies: Iterable[Tally]) -> Tally:
    """That of all rows together."""
    counts, sums = zip(NO_TALLY, *tallies, strict=True)
    return sum(counts), sum(sums)


def _may_be_met_again(mixed: Mixed) -> Places:
    """Of which rows the file may have the size and the modification time of another one; the others do not."""
    middle = np.uint32(1 << 31)

    def met_twice(lower: bool) -> Mixed:
        ordered = mixed[mixed < middle] if lower else mixed[mixed >= middle]
        ordered.sort()  # by value, which takes a tenth of what an order of rows does
        return ordered[1:][ordered[1:] == ordered[:-1]]

    with ThreadPoolExecutor(2) as pool:
        again = np.unique(np.concatenate([*pool.map(met_twice, (True, False))]))
    if not len(again):
        return np.empty(0, dtype=np.int64)
    some = np.zeros(_FEW_BITS + 1, dtype=bool)
    some[again & _FEW_BITS] = True
    found = []
    for start in range(0, len(mixed), _AT_ONCE):
        part = mixed[start : start + _AT_ONCE]
        places = np.flatnonzero(some[part & _FEW_BITS])
        at = np.minimum(np.searchsorted(again, part[places]), len(again) - 1)
        found.append(start + places[again[at] == part[places]])
    return np.concatenate(found)


def _mixed(sizes: Places, times: Places) -> npt.NDArray[np.uint64]:
    mixed = np.multiply(sizes.view(np.uint64), _ODD)
    mixed ^= times.view(np.uint64)
    return mixed


def _numbered(paths: pa.ChunkedArray) -> Places:
    """A number for each path, the same for the same."""
    encoded = paths.dictionary_encode().unify_dictionaries()
    return np.concatenate([chunk.indices.to_numpy() for chunk in encoded.chunks])


def text_of(strings: pa.Array) -> tuple[Places, memoryview]:
    """The characters of an array of strings without NULL, and where each begins, and the last one ends; nothing is copied."""
    _, offsets, text = strings.buffers()
    if not len(strings) or text is None:
        return np.zeros(len(strings) + 1, dtype=np.int64), memoryview(b"")
    kind = "<i8" if pa.types.is_large_string(strings.type) else "<i4"
    begins = np.frombuffer(offsets, dtype=kind)[strings.offset : strings.offset + len(strings) + 1].astype(np.int64)
    return begins - begins[0], memoryview(text)[begins[0] : begins[-1]]
