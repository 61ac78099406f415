"""The file versions of a snapshot, as columns: no Python object a file."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Places = npt.NDArray[np.int64]
KEYS = ("path", "size", "modification_time")
_ODD = np.uint64(0x9E3779B97F4A7C15)  # by which sizes are spread over all numbers of 64 bits
_FEW_BITS = np.uint64((1 << 16) - 1)
_MOST_MAPPED = (1 << 31) - 1  # bytes that the JVM takes as one buffer


def distinct(rows: pa.Table) -> tuple[pa.Table, Places | None]:
    """The different file versions of some rows, in the order in which they first occur; and of each row the place of its own.

    None for these places where each row is of another version. ValueError for a row that lacks a part of its key.
    """
    keys = rows.select(KEYS)
    if any(column.null_count for column in keys.columns):
        raise ValueError("a row has no path, size or modification time")
    sizes, times = (keys[name].to_numpy() for name in KEYS[1:])
    keys = pa.table(dict(zip(KEYS, (keys["path"], sizes, times), strict=True)))  # from now on nobody need copy these two again
    doubtful = np.flatnonzero(_may_be_met_again(sizes, times))  # to compare all paths takes longer than all else that is done with an index
    if not len(doubtful):
        return keys, None
    key = times[doubtful], sizes[doubtful], _numbered(keys["path"].take(pa.array(doubtful)))
    order = np.lexsort(key)  # stable: of equal keys the first row is first
    begins = np.ones(len(order), dtype=bool)
    begins[1:] = np.any([part[order[1:]] != part[order[:-1]] for part in key], axis=0)
    first_of = np.arange(len(keys))  # of each row the first of its version
    first_of[doubtful[order]] = doubtful[order[begins]][np.cumsum(begins) - 1]
    is_first = first_of == np.arange(len(keys))
    if is_first.all():
        return keys, None
    return keys.filter(pa.array(is_first)), (np.cumsum(is_first) - 1)[first_of]


def places_in(keys: pa.Table, wanted: pa.Table) -> Places:
    """The place that each of some other file versions has among these; -1 where it has none."""
    mixed = _mixed(*(wanted[name].to_numpy() for name in KEYS[1:]))
    some = np.zeros(_FEW_BITS + 1, dtype=bool)  # a look at it takes a tenth of one at `ordered`
    some[mixed & _FEW_BITS] = True
    known: dict[tuple[Any, ...], int] = {}
    ordered, start = np.sort(mixed), 0
    for part in keys.to_batches() if len(wanted) else ():
        of_part = _mixed(*(part[name].to_numpy() for name in KEYS[1:]))
        places = np.flatnonzero(some[of_part & _FEW_BITS])
        near = ordered[np.minimum(np.searchsorted(ordered, of_part[places]), len(ordered) - 1)]
        places = places[near == of_part[places]]
        found = zip(*(column.to_pylist() for column in part.take(pa.array(places)).columns), strict=True)
        known |= dict(zip(found, (start + places).tolist(), strict=True))
        start += len(part)
    if not known:
        return np.full(len(wanted), -1)
    return np.array([known.get(key, -1) for key in zip(*(column.to_pylist() for column in wanted.columns), strict=True)], dtype=np.int64)


def _may_be_met_again(sizes: Places, times: Places) -> npt.NDArray[np.bool_]:
    """Which files may have the size and the modification time of another; the others do not."""
    ordered = _mixed(sizes, times)
    ordered.sort()  # by value, which takes a tenth of what the order of two columns does
    again = np.unique(ordered[1:][ordered[1:] == ordered[:-1]])
    if not len(again):
        return np.zeros(len(sizes), dtype=bool)
    mixed = _mixed(sizes, times)
    return again[np.minimum(np.searchsorted(again, mixed), len(again) - 1)] == mixed


def _mixed(sizes: Places, times: Places) -> npt.NDArray[np.uint64]:
    mixed = np.multiply(sizes.view(np.uint64), _ODD)
    mixed ^= times.view(np.uint64)
    return mixed


def _numbered(paths: pa.ChunkedArray) -> Places:
    """A number for each path, the same for the same."""
    encoded = paths.dictionary_encode().unify_dictionaries()
    return np.concatenate([chunk.indices.to_numpy() for chunk in encoded.chunks])


def packed(keys: pa.Table, listed: npt.NDArray[np.bool_], first: int = 0, flat: bool = False) -> list[Any]:
    """The keys as KnownFiles.java maps them, little-endian: buffers, one after the other.

    first: how many of them it has mapped before. flat: as of paths.Letters.

    How many are new, that `first`, and 1 where they are `flat`; the sizes of the new ones, their modification times, where each path
    begins, and where the last one ends (all of 64 bits); a byte for each of all, 1 where it is listed; the new paths, in UTF-8.
    ValueError for more than the JVM can map.
    """
    starts, texts, end = [], [], 0
    new = keys.slice(first)
    for paths in new["path"].chunks:
        begins, text = text_of(paths)
        starts.append(begins[:-1] + end)
        texts.append(text)
        end += len(text)
    if max(8 * (len(keys) + 1), end) > _MOST_MAPPED:
        raise ValueError(f"it has {len(keys):,} file versions, whose paths have {end:,} bytes; at most {_MOST_MAPPED:,} are looked up")
    longs = [np.array([len(new), first, flat]), new["size"].to_numpy(), new["modification_time"].to_numpy(), *starts, np.array([end])]
    return [*(part.astype("<i8", copy=False).data for part in longs), listed.view(np.uint8).data, *texts]


def mapped(file: str) -> pa.Table:
    """The keys that were `packed`, all of them, in a file, which may be deleted then: what is not asked for is not read."""
    data = pa.memory_map(file).read_buffer()
    (count,) = np.frombuffer(data.slice(0, 8), dtype="<i8").tolist()
    sizes, times, starts = (data.slice(24 + 8 * count * i, 8 * (count + i // 2)) for i in range(3))
    paths = pa.LargeStringArray.from_buffers(count, starts, data.slice(24 + 8 * (3 * count + 1) + count))
    longs = (pa.Int64Array.from_buffers(pa.int64(), count, [None, part]) for part in (sizes, times))
    return pa.table(dict(zip(KEYS, (paths, *longs), strict=True)))


def text_of(strings: pa.Array) -> tuple[Places, memoryview]:
    """The characters of an array of strings without NULL, and where each begins, and the last one ends; nothing is copied."""
    _, offsets, text = strings.buffers()
    if not len(strings) or text is None:
        return np.zeros(len(strings) + 1, dtype=np.int64), memoryview(b"")
    kind = "<i8" if pa.types.is_large_string(strings.type) else "<i4"
    begins = np.frombuffer(offsets, dtype=kind)[strings.offset : strings.offset + len(strings) + 1].astype(np.int64)
    return begins - begins[0], memoryview(text)[begins[0] : begins[-1]]
