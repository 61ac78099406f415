"""S2 cells in numpy: ids of points, parents, and the cells of a region, with bounds in latitude and longitude.

A cell is a square of one of six faces of a cube round the Earth, halved and halved again along a Hilbert curve, down to level 30 (1 cm).
Its id has three bits of the face, two for each level, and a one: ids of the cells below a cell are a range around its own. They
equal s2sphere's. Here they are uint64, whose order is that of the curve; records hold the same bits as int64.

The edges of cells are geodesics, those of planar geometry are not. So a cell is known to a planar region by its bounds only: a
box in longitude and latitude (two, where it lies on the date line) that surely holds all points with an id below the cell's.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from geo_skip.geometry import Boxes

Ids: TypeAlias = npt.NDArray[np.uint64]
Floats: TypeAlias = npt.NDArray[np.float64]
Integers: TypeAlias = npt.NDArray[np.int64]

MAX_LEVEL = 30
_SWAP, _INVERT = 1, 2  # orientations of the Hilbert curve
_POSITION_TO_IJ = np.array([[0, 1, 3, 2], [0, 2, 3, 1], [3, 2, 0, 1], [3, 1, 0, 2]])  # by orientation; two bits: i, j
_TURN = np.array([_SWAP, 0, 0, _SWAP | _INVERT])  # what the orientation changes by, by position
_CHUNK = 1 << 15  # points at a time: their arrays stay in the processor's cache
_MARGIN = 1e-9  # degrees, a tenth of a millimetre: points are put into cells with an error below 1e-13


def ids_of_points(lats: Floats, lngs: Floats, level: int = MAX_LEVEL) -> Ids:
    """The ids of the cells of a level that points in degrees lie in; |lat| <= 90, |lng| <= 180."""
    ids = np.empty(len(lats), dtype=np.uint64)
    for start in range(0, len(lats), _CHUNK):
        chunk = slice(start, start + _CHUNK)
        ids[chunk] = _ids(np.radians(lats[chunk]), np.radians(lngs[chunk]), level)
    return ids


def _ids(phi: Floats, theta: Floats, level: int) -> Ids:
    cos_phi = np.cos(phi)
    xyz = np.cos(theta) * cos_phi, np.sin(theta) * cos_phi, np.sin(phi)
    face = _faces_of(*xyz)
    first = int(face[0])
    if (face == first).all():  # as those of most files are
        u, v = _face_coordinates(first, *xyz)
        return _ids_on_face(face, _place(u), _place(v), level)
    u, v = np.empty_like(phi), np.empty_like(phi)
    for number in range(6):
        on = face == number
        u[on], v[on] = _face_coordinates(number, *(part[on] for part in xyz))
    return _ids_on_face(face, _place(u), _place(v), level)


def _faces_of(x: Floats, y: Floats, z: Floats) -> Integers:
    wide, deep, high = np.abs(x), np.abs(y), np.abs(z)
    top = np.maximum(wide, deep) <= high
    on_x = wide > deep
    axis = np.where(top, 2, ~on_x)
    return axis + 3 * (np.where(top, z, np.where(on_x, x, y)) < 0)


def _face_coordinates(face: int, x: Floats, y: Floats, z: Floats) -> tuple[Floats, Floats]:
    """Where the lines from the centre through points pierce a face of the cube."""
    a, b, c = ((y, z, x), (-x, z, y), (-x, -y, z), (z, y, x), (z, -x, y), (-y, -x, z))[face]
    return a / c, b / c


def _place(u: Floats) -> Integers:
    """The column (or row) of level 30 of a face coordinate: a quadratic that makes cells about equally large."""
    root = 0.5 * np.sqrt(1 + 3 * np.abs(u))
    side = 1 << MAX_LEVEL
    return np.clip(np.floor(side * np.where(u >= 0, root, 1 - root)), 0, side - 1).astype(np.int64)


def _ids_on_face(face: Integers, i: Integers, j: Integers, level: int) -> Ids:
    table = _four_levels()
    position = np.zeros_like(face)
    orientation = face & _SWAP
    last = (MAX_LEVEL - level) // 4 * 4  # of the bits below, none tells of the level
    for shift in range(28, last - 1, -4):  # 32 bits, of which the first two are zero: they lead to position 0 and back to the orientation
        found = table[(orientation << 8) | (((i >> shift) & 15) << 4) | ((j >> shift) & 15)]
        position = (position << 8) | (found >> 2)
        orientation = found & 3
    leaves: Ids = (((face << 60) | (position << (2 * last))).astype(np.uint64) << np.uint64(1)) | np.uint64(1)
    return parents(leaves, level)


@cache
def _four_levels() -> Integers:
    """By orientation and four bits of i and j: eight bits of position and the orientation below."""
    table = np.zeros(1 << 10, dtype=np.int64)
    for start in range(4):
        for path in range(256):
            orientation, i, j = start, 0, 0
            for level in (3, 2, 1, 0):
                position = (path >> (2 * level)) & 3
                ij = int(_POSITION_TO_IJ[orientation, position])
                i, j = 2 * i + (ij >> 1), 2 * j + (ij & 1)
                orientation ^= int(_TURN[position])
            table[(start << 8) | (i << 4) | j] = (path << 2) | orientation
    return table


def lowest_bit(ids: Ids) -> Ids:
    """The bit that tells the level: 4 to the power of 30 - level."""
    return ids & (~ids + np.uint64(1))


def parents(ids: Ids, level: int) -> Ids:
    """The cells of a level in which cells lie (those of that level or below it)."""
    bit = np.uint64(1 << (2 * (MAX_LEVEL - level)))
    return (ids & (~bit + np.uint64(1))) | bit


def ranges(ids: Ids) -> tuple[Ids, Ids]:
    """The smallest and the largest id of level 30 in each cell."""
    around = lowest_bit(ids) - np.uint64(1)
    return ids - around, ids + around


@dataclass(frozen=True)
class Cells:
    """Some cells of one level, as squares of faces: what `children` and `bounds` need to know of them."""

    level: int
    ids: Ids
    face: Integers
    i: Integers
    j: Integers
    orientation: Integers

    def __getitem__(self, chosen: npt.NDArray[np.bool_]) -> Cells:
        face, i, j, orientation = (part[chosen] for part in (self.face, self.i, self.j, self.orientation))
        return Cells(self.level, self.ids[chosen], face, i, j, orientation)

    def children(self) -> Cells:
        """The four cells of the next level in each."""
        position = np.tile(np.arange(4), len(self.ids))
        face, i, j, orientation = (np.repeat(part, 4) for part in (self.face, self.i, self.j, self.orientation))
        ij = _POSITION_TO_IJ[orientation, position]
        bit = np.uint64(1 << (2 * (MAX_LEVEL - self.level - 1)))
        below = np.repeat(self.ids, 4) - np.uint64(3) * bit + np.uint64(2) * bit * position.astype(np.uint64)
        return Cells(self.level + 1, below, face, 2 * i + (ij >> 1), 2 * j + (ij & 1), orientation ^ _TURN[position])

    def bounds(self) -> tuple[Boxes, Boxes]:
        """Two boxes in degrees for each cell, that together hold all its points; mostly they are equal.

        Extreme latitudes and longitudes of a cell are those of its corners, but where it holds a pole, and for whole faces, whose
        edges bulge: those are bounded by less. On the date line one box ends at 180, the other begins at -180.
        """
        lat, lng = self._corners()
        middle = lng[:, :1]
        turned = (lng - middle + 180) % 360 - 180  # seen from the first corner: no cell without a pole is 180 degrees wide
        south, north = lat.min(axis=1) - _MARGIN, lat.max(axis=1) + _MARGIN
        nearest = np.maximum(np.abs(south), np.abs(north))  # to a pole, where a small error turns a point a long way round
        pole = self._holds_pole() | (nearest >= 90)
        margin = _MARGIN / np.cos(np.radians(np.where(pole, 0.0, nearest)))
        low, high = middle[:, 0] + turned.min(axis=1) - margin, middle[:, 0] + turned.max(axis=1) + margin
        pole |= high - low >= 360
        north, south = np.where(pole & (self.face == 2), 90.0, north), np.where(pole & (self.face == 5), -90.0, south)
        if self.level == 0:
            polar = np.isin(self.face, (2, 5))
            north, south = np.where(polar, north, 45.0 + _MARGIN), np.where(polar, south, -45.0 - _MARGIN)
        low, high = np.where(pole, -180.0, low), np.where(pole, 180.0, high)
        over, under = high > 180, low < -180
        first = np.stack([np.where(under, -180.0, low), south, np.where(over, 180.0, high), north], axis=1)
        second = first.copy()
        second[over, 0], second[over, 2] = -180.0, high[over] - 360
        second[under, 0], second[under, 2] = low[under] + 360, 180.0
        return first, second

    def _holds_pole(self) -> npt.NDArray[np.bool_]:
        half = (1 << self.level) / 2
        middle = (self.i <= half) & (half <= self.i + 1) & (self.j <= half) & (half <= self.j + 1)
        return middle & np.isin(self.face, (2, 5))

    def _corners(self) -> tuple[Floats, Floats]:
        """Latitude and longitude of the four corners of each cell."""
        size = 2.0**-self.level
        i, j = (np.stack([part + di for di in ends], axis=1) for part, ends in ((self.i, (0, 1, 1, 0)), (self.j, (0, 0, 1, 1))))
        u, v = _face_coordinate(i * size), _face_coordinate(j * size)
        one = np.ones_like(u)
        sides = [(one, u, v), (-u, one, v), (-u, -v, one), (-one, -v, -u), (v, -one, -u), (v, u, -one)]
        x, y, z = (np.choose(self.face[:, None], [side[axis] for side in sides]) for axis in range(3))
        return np.degrees(np.arctan2(z, np.hypot(x, y))), np.degrees(np.arctan2(y, x))


def _face_coordinate(place: npt.NDArray[np.floating[Any]]) -> Floats:
    """The inverse of the quadratic of `_place`: 0 to 1 becomes -1 to 1."""
    return np.where(place >= 0.5, (4 * place**2 - 1) / 3, (1 - 4 * (1 - place) ** 2) / 3)


def faces() -> Cells:
    """The six faces of the cube."""
    face = np.arange(6)
    ids = (face.astype(np.uint64) << np.uint64(61)) | np.uint64(1 << 60)
    return Cells(0, ids, face, np.zeros(6, np.int64), np.zeros(6, np.int64), face & _SWAP)
