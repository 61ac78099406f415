"""Sets of S2 cells: those that may hold an answer to a question, and few cells that hold many."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from heapq import heapify, heappop, heappush
from itertools import count, groupby
from typing import Any, Protocol

import numpy as np
import shapely

from data_skip.plugin import ascending
from geo_skip.cells import MAX_LEVEL, Floats, Ids, faces, ids_of_points, lowest_bit, ranges
from geo_skip.geometry import Boxes, Mask, Shapes, bounds, widened

_FACE_BITS = 61
_SAMPLE = 1 << 13  # points that choose the level at which all are looked at


class BoxQuestion(Protocol):
    """Of a question, what is asked here; see questions.py."""

    def possible(self, boxes: Boxes) -> Mask:
        """Whether a box may hold what is looked for."""

    def certain(self, boxes: Boxes) -> Mask:
        """Whether every box in it may."""


def cells_where(question: BoxQuestion, finest: int, most: int) -> Ids:
    """The cells that are possible, in ascending order: those of the finest level, or larger ones where all below are possible.

    All are larger where they would be more than `most`. A cell is left out only where its bounds are not possible.
    """
    done = [np.empty(0, dtype=np.uint64)]
    open_ = faces()
    while True:
        first, second = open_.bounds()
        possible, certain = question.possible(first), question.certain(first)
        two = (first != second).any(axis=1)
        if two.any():
            possible[two] |= question.possible(second[two])
            certain[two] &= question.certain(second[two])
        done.append(open_.ids[possible & certain])
        open_ = open_[possible & ~certain]
        if open_.level == finest or len(open_.ids) * 4 + sum(map(len, done)) > most:
            return np.sort(np.concatenate([*done, open_.ids]))
        open_ = open_.children()


class Touching:
    """Whether a box has a point in common with one of many geometries; the envelope stands for one that is not valid."""

    def __init__(self, geometries: Shapes) -> None:
        envelopes = shapely.box(*widened(bounds(geometries)).T)
        self._tree = shapely.STRtree(np.where(shapely.is_valid(geometries), geometries, envelopes))

    def possible(self, boxes: Boxes) -> Mask:
        met = np.zeros(len(boxes), dtype=bool)
        met[self._tree.query(shapely.box(*widened(boxes).T), predicate="intersects")[0]] = True
        return met

    def certain(self, boxes: Boxes) -> Mask:
        return np.zeros(len(boxes), dtype=bool)


def cells_of_points(lats: Floats, lngs: Floats, finest: int, most: int) -> Ids:
    """The cells of a level in which points in degrees lie; of a coarser one where these are more than `most`."""
    some = slice(None, None, len(lats) // _SAMPLE + 1)
    level, _ = _no_more(ids_of_points(lats[some], lngs[some], finest), finest, most)  # some cannot lie in more cells than all
    return _no_more(ids_of_points(lats, lngs, level), level, most)[1]


def _no_more(ids: Ids, level: int, most: int) -> tuple[int, Ids]:
    """The cells of a level, each once; or of the finest level of which no more than `most` hold them; and that level."""
    bits = np.uint64(2 * (MAX_LEVEL - level) + 1)  # below the number of the cell on its level
    found = ascending(ids >> bits)
    while len(found) > most:
        level, bits = level - 1, bits + np.uint64(2)
        found = ascending(found >> np.uint64(2))
    return level, (found << bits) | np.uint64(1 << (2 * (MAX_LEVEL - level)))


def normalized(ids: Ids) -> Ids:
    """The same cells in ascending order, none below another, and the parent in place of any four that make it up."""
    ids = ascending(ids)
    while True:
        first, last = ranges(ids)
        order = np.lexsort((-last.view(np.int64), first))  # a cell before those below it
        ids, last = ids[order], last[order]
        reach = np.concatenate([[np.uint64(0)], np.maximum.accumulate(last)[:-1]])
        ids = ids[last > reach]
        bits = lowest_bit(ids)
        higher = bits << np.uint64(2)
        above = (ids & (~higher + np.uint64(1))) | higher
        whole = np.zeros(len(ids), dtype=bool)
        if len(ids) >= 4:
            four = (above[:-3] == above[3:]) & (bits[:-3] == bits[3:]) & (bits[:-3] < np.uint64(1 << 60))
            for i in range(4):
                whole[i : len(ids) - 3 + i] |= four
        if not whole.any():
            return np.sort(ids)
        ids = ascending(np.where(whole, above, ids))


def fewer(ids: Ids, most: int) -> Ids:
    """At most so many cells (but six, where they lie on six faces) that hold all the given ones: large ones are split first."""
    cells = np.sort(ids).tolist()
    ties = count()
    faces_ = [list(group) for _, group in groupby(cells, key=lambda cell: cell >> _FACE_BITS)]
    open_ = [(-_bit(around), next(ties), around, group) for group in faces_ for around in [_around(group[0], group[-1])]]
    heapify(open_)
    done: list[int] = []
    while open_:
        _, _, around, group = heappop(open_)
        parts = [] if around in group else list(_split(around, group))
        if not parts or len(done) + len(open_) + len(parts) > most:
            done.append(around)
            continue
        for part in parts:
            below = _around(part[0], part[-1])
            heappush(open_, (-_bit(below), next(ties), below, part))
    return normalized(np.array(done, dtype=np.uint64))


def _bit(cell: int) -> int:
    return cell & -cell


def _around(a: int, b: int) -> int:
    """The smallest cell that holds two cells of one face."""
    bits = max(a ^ b, _bit(a), _bit(b))
    level = (2 * MAX_LEVEL - (bits.bit_length() - 1)) // 2
    bit = 1 << (2 * (MAX_LEVEL - level))
    return (a & -bit) | bit


def _split(cell: int, group: list[int]) -> Iterator[list[int]]:
    """The cells of a group by the child of the cell that they lie in."""
    bit = _bit(cell) >> 2
    for child in (cell - 3 * bit, cell - bit, cell + bit, cell + 3 * bit):
        part = group[bisect_left(group, child - bit + 1) : bisect_right(group, child + bit - 1)]
        if part:
            yield part


def meeting(cells: Ids, region: Ids) -> Mask:
    """Which cells have a point in common with a region, given as disjoint cells in ascending order."""
    if len(region) == 0:
        return np.zeros(len(cells), dtype=bool)
    first, last = ranges(cells)
    starts, ends = ranges(region)
    place = np.searchsorted(ends, first)  # the first of the region's cells that ends no earlier
    met: Mask = (place < len(region)) & (starts[np.minimum(place, len(region) - 1)] <= last)
    return met


def as_signed(ids: Ids) -> list[int]:
    """As records hold them: the same 64 bits, read as a signed number."""
    signed: list[int] = ids.view(np.int64).tolist()
    return signed


def as_ids(signed: Any) -> Ids:
    """The inverse of `as_signed`, of numbers in a list or an array."""
    ids: Ids = np.asarray(signed, dtype=np.int64).view(np.uint64)
    return ids
