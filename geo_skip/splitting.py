"""Many boxes as a few: which to join so that little is covered in vain."""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import count

import numpy as np
import numpy.typing as npt

from geo_skip.geometry import Boxes

_WINDOW = 0.01  # of a file's extent: a query's window is taken to be that large
_CELLS = 32  # of the grid on each side


def hull(boxes: Boxes) -> npt.NDArray[np.float64]:
    """The smallest box around some boxes (at least one)."""
    return np.concatenate([boxes[:, :2].min(axis=0), boxes[:, 2:].max(axis=0)])


def thinned(boxes: Boxes) -> Boxes:
    """The hulls of those boxes that share a cell of a grid by their centres: as many as there are cells, at most, and made in one go."""
    if len(boxes) <= _CELLS:
        return boxes
    cells = np.zeros(len(boxes), dtype=np.int64)
    sides = [np.ascontiguousarray(boxes[:, side]) for side in range(4)]
    for axis in (0, 1):
        with np.errstate(over="ignore", invalid="ignore"):
            centres = sides[axis] + sides[axis + 2]
            low = centres.min()
            step = (centres.max() - low) / _CELLS
        if not np.isfinite(step):
            return boxes
        centres -= low
        centres /= step if step > 0 else 1.0
        places = centres.astype(np.int64)
        cells *= _CELLS
        cells += np.minimum(places, _CELLS - 1, out=places)
    hulls = np.full((4, _CELLS * _CELLS), np.inf)  # a row a side: numpy is ten times as fast where numbers lie side by side
    hulls[2:] = -np.inf
    for hull_side, side, extreme in zip(hulls, sides, (np.minimum, np.minimum, np.maximum, np.maximum), strict=True):
        extreme.at(hull_side, cells, side)
    return hulls.T[np.bincount(cells, minlength=_CELLS * _CELLS) > 0]


def covering(boxes: Boxes, most: int) -> Boxes:
    """At most so many boxes, each the hull of some of the given ones; every given one lies in one of them.

    Starting with all, the group is split for which that saves most, at the place where it does. What a box costs is the chance that a
    window of a query, anywhere in the extent, meets it.
    """
    if len(boxes) <= 1:
        return boxes
    whole = hull(boxes)
    window = np.maximum((whole[2:] - whole[:2]) * _WINDOW, 1e-12)
    ties = count()
    done: list[Boxes] = []
    open_: list[tuple[float, int, Boxes, Boxes]] = []

    def consider(group: Boxes) -> None:
        saved, left, right = _best_split(group, window)
        if saved > 0:
            heappush(open_, (-saved, next(ties), left, right))
        else:
            done.append(group)

    consider(boxes)
    while open_ and len(open_) + len(done) < most:
        _, _, left, right = heappop(open_)
        consider(left)
        consider(right)
    groups = done + [np.concatenate([left, right]) for _, _, left, right in open_]
    return np.stack([hull(group) for group in groups])


def _best_split(group: Boxes, window: npt.NDArray[np.float64]) -> tuple[float, Boxes, Boxes]:
    """What the best split of a group saves, and its two halves."""
    best, halves = 0.0, (group, group)
    if len(group) < 2:
        return best, *halves
    before = float(_cost(hull(group)[None], window)[0])
    for axis in (0, 1):
        ordered = group[np.argsort(group[:, axis] + group[:, axis + 2], kind="stable")]
        after = _cost(_running(ordered)[:-1], window) + _cost(_running(ordered[::-1])[::-1][1:], window)
        place = int(after.argmin())
        if before - after[place] > best:
            best, halves = float(before - after[place]), (ordered[: place + 1], ordered[place + 1 :])
    return best, *halves


def _running(boxes: Boxes) -> Boxes:
    """The hulls of the first one, two, three, ... boxes."""
    return np.concatenate([np.minimum.accumulate(boxes[:, :2]), np.maximum.accumulate(boxes[:, 2:])], axis=1)


def _cost(hulls: Boxes, window: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    cost: npt.NDArray[np.float64] = (hulls[:, 2:] - hulls[:, :2] + window).prod(axis=1)
    return cost
