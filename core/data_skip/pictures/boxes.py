"""What a picture of files shows, as numbers: the box of each file over one expression or two, and where a predicate can hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from data_skip.data_types import TIMES
from data_skip.errors import printable

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
_DAY = 86_400_000_000.0  # microseconds
MOST_NUMBER = 1e300  # of an axis, with some room
_MOST_POINTS = 500  # at which it is counted how many files overlap


@dataclass(frozen=True)
class Scale:
    """How values of one expression lie on an axis: as numbers, as days since 1970, or, of text, in their order."""

    name: str
    type: str
    texts: Sequence[str | bytes] = ()  # of text: all that there are, ascending

    @classmethod
    def of(cls, name: str, type_: str, arrays: Sequence[pa.Array]) -> Scale:
        """For these values, which have no NULL."""
        if type_ not in ("string", "binary"):
            return cls(name, type_)
        return cls(name, type_, sorted({value for array in arrays for value in array.to_pylist()}))

    @property
    def is_time(self) -> bool:
        """Whether its numbers are days since 1970."""
        return self.type in TIMES

    def positions(self, values: pa.Array) -> Floats:
        """Where values lie."""
        if self.texts:
            place = {text: number for number, text in enumerate(self.texts)}
            return np.array([place[value] for value in values.to_pylist()], dtype=np.float64)
        if pa.types.is_boolean(values.type):
            values = values.cast(pa.int8())
        found: Floats = pc.cast(values, pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        return found / _DAY if self.type.startswith("timestamp") else found

    def text(self, place: int) -> str:
        """The text at a place, for people."""
        text = self.texts[place]
        return printable(text if isinstance(text, str) else text.hex())


@dataclass(frozen=True)
class Side:
    """One expression, and the range of each box over it."""

    scale: Scale
    low: Floats
    high: Floats


@dataclass(frozen=True)
class Region:
    """Where a predicate can hold, at points of a grid: its lines on the first side and on the second; none of a single side."""

    lines: tuple[Floats, ...]
    inside: Mask  # an entry for each point, by the first side, then the second


@dataclass(frozen=True)
class Boxes:
    """The boxes of files. The first side lies across, the second upright."""

    table: str
    sides: tuple[Side, ...]
    owners: npt.NDArray[np.intp]  # the file of each box, by its number
    files: int  # whose boxes these are
    files_without: int = 0  # of which no range is known
    read: Mask | None = None  # of each box whether a query reads its file; None: there is no query
    region: Region | None = None
    note: str = ""

    def overlap(self) -> float:
        """How many files lie at the middle of a file's box, on average: 1 where none overlap."""
        with np.errstate(invalid="ignore", over="ignore"):
            middles = [side.low / 2 + side.high / 2 for side in self.sides]
        random = np.random.default_rng(0)
        chosen = random.choice(len(self.owners), min(_MOST_POINTS, len(self.owners)), replace=False)
        return float(np.mean([self._files_at([middle[i] for middle in middles]) for i in chosen]))

    def _files_at(self, point: Sequence[float]) -> int:
        inside = np.ones(len(self.owners), dtype=bool)
        for side, place in zip(self.sides, point, strict=True):
            inside &= (side.low <= place) & (place <= side.high)
        return len(np.unique(self.owners[inside]))


Pictured = Callable[[Sequence[str]], Boxes]
"""What makes the boxes of files over some expressions; of none, over those that say most."""
