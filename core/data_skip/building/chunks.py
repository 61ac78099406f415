"""How many files are indexed at a time: as many as leave the records that the driver holds small, however large those of a file are."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from data_skip.clause import Mask

FIRST = 64  # files, of which nobody knows yet how large their records are
_MOST_BYTES = 1 << 26  # of records as Arrow has them, at a time: as Python's objects they take some ten times that
_GROWTH = 64  # by which more files there may be the next time: their records may be larger than those before
_GROWTH_OF_LARGE = 4  # where tasks wrote those: if they cannot any more, the driver holds as many
_MOST_SECONDS = 600.0  # that it may take to collect large ones: what tasks have written is to be committed soon


class Chunks:
    """The places of the wanted files, some at a time; once none, where there are none."""

    def __init__(self, wanted: Mask, most: int, records: Iterable[pa.DataType]) -> None:
        """most: files at a time, however small their records are. records: the types of these."""
        self._left: npt.NDArray[np.intp] = np.flatnonzero(wanted)
        self._most = most
        self._size = self._of_driver = most if all(map(_is_small, records)) else min(FIRST, most)
        self._taken = self._left[:0]
        self.are_large = False  # the records, so that the driver cannot hold as many as there may be at a time
        self.by_tasks = True  # whether tasks may write these, as far as is known

    def take(self) -> npt.NDArray[np.intp]:
        """The next ones."""
        self._taken, self._left = self._left[: self._size], self._left[self._size :]
        return self._taken

    def put_back(self) -> None:
        """Those that were taken last are to be taken again, and from then on as many at a time as the driver can hold."""
        self._left = np.concatenate([self._taken, self._left])
        self._size, self.by_tasks = self._of_driver, False

    @property
    def are_more(self) -> bool:
        """Whether some are left."""
        return len(self._left) > 0

    def held(self, files: int, bytes_: int, seconds: float = 0.0) -> None:
        """Says how many bytes the driver held of the records of so many files, and how long it took to collect them."""
        if files:
            fitting = _MOST_BYTES * files // max(bytes_, 1)
            large_before = self.are_large
            self.are_large |= fitting < self._most
            growth = _GROWTH_OF_LARGE if self.are_large else _GROWTH
            in_time = files * _MOST_SECONDS / max(seconds, _MOST_SECONDS / self._most) if self.are_large else self._most
            self._size = min(max(min(fitting, int(in_time)), 1), self._size * growth, self._most)
            self._of_driver = min(self._size, self._of_driver) if large_before else self._size


def _is_small(record: pa.DataType) -> bool:
    """Whether records of a type are all of the same few bytes."""
    return all(pa.types.is_primitive(field.type) or pa.types.is_decimal(field.type) for field in record)
