"""The keys of file versions in a file that Python and the JVM map: in the memory of neither.

Little-endian, one after the other: how many are new, how many are mapped before them, 1 where all are `flat` (paths.Letters), and the bytes
of a begin; the sizes of the new ones, their modification times (all of 64 bits); where each path begins, and where the last one ends (of 32
bits; of 64 where paths are likely to have more bytes than these count); a byte for each of all, 1 where it is listed; the new paths, in
UTF-8. KnownFiles.java maps it.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
import weakref
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from data_skip.store.versions import KEYS, text_of

_LONGS = 32  # bytes before the first size
_MOST_MAPPED = (1 << 31) - 1  # bytes that the JVM takes as one buffer: of paths it takes several
_LONGER = 2  # times as long as the first paths may all others be
_WAITING = 3  # parts that are read and not written yet
_PREFIX = "data-skip-keys-"


class KeysFile:
    """Such a file, while it is written, part by part; it is gone with this object, which what has mapped it survives."""

    def __init__(self, count: int, first: int = 0, wide: bool = False) -> None:
        """count: of the new ones. first: how many are mapped before. wide: whether begins have 64 bits, however long the first paths are.

        OSError where no file can be made, and for more than the JVM maps.
        """
        if 8 * (first + count + 1) > _MOST_MAPPED:
            raise OSError(f"it has {first + count:,} file versions; at most {_MOST_MAPPED // 8 - 1:,} are looked up")
        self._count, self._first = count, first
        self._at = self._end = 0
        self._width = 8 if wide else 4
        self._file = _made()
        self.name = self._file.name
        self._deleted = weakref.finalize(self, _delete, self.name, os.getpid())
        self._writer = ThreadPoolExecutor(1)
        self._waiting: deque[Future[None]] = deque()

    @classmethod
    def of(cls, keys: pa.Table, first: int) -> KeysFile:
        """Of all keys the new ones, which are at hand: how long their paths are need not be guessed. OSError as of `add`."""
        batches = keys.slice(first).to_batches()
        file = cls(len(keys) - first, first, sum(len(text_of(part["path"])[1]) for part in batches) > _MOST_MAPPED)
        for part in batches:
            file.add(part)
        return file

    def add(self, keys: pa.RecordBatch) -> None:
        """The next ones. They are written beside, which takes as long as to read others. OSError where there is no room."""
        starts, text = text_of(keys["path"])
        begin, at = self._end, self._at
        if not at and len(text) * self._count * _LONGER > len(keys) * _MOST_MAPPED:
            self._width = 8
        self._end, self._at = begin + len(text), at + len(keys)
        if self._width == 4 and self._end > _MOST_MAPPED:
            raise OSError(f"its paths are more than {_LONGER} times as long as the first, and have more than {_MOST_MAPPED:,} bytes")
        sizes, times = (keys[name].to_numpy() for name in KEYS[1:])
        longs = [(_LONGS + 8 * (part * self._count + at), values.astype("<i8", copy=False)) for part, values in enumerate((sizes, times))]
        begins = self._starts + self._width * at, (starts[:-1] + begin).astype(f"<i{self._width}")
        self._waiting.append(self._writer.submit(self._put, [*longs, begins, (self._paths + begin, text)]))
        while len(self._waiting) > _WAITING:
            self._waiting.popleft().result()

    def mapped(self) -> pa.Table:
        """All of them, once they are added, of a file that has none before: what is not asked for is not read."""
        self._finish()
        data = pa.memory_map(self.name).read_buffer()
        begins = data.slice(self._starts, self._width * (self._count + 1))
        paths = (pa.StringArray if self._width == 4 else pa.LargeStringArray).from_buffers(self._count, begins, data.slice(self._paths))
        longs = (data.slice(_LONGS + 8 * self._count * part) for part in range(2))
        arrays = (pa.Int64Array.from_buffers(pa.int64(), self._count, [None, part]) for part in longs)
        return pa.table(dict(zip(KEYS, (paths, *arrays), strict=True)))

    def tell(self, listed: npt.NDArray[np.bool_], flat: bool) -> None:
        """Says which of all are listed, and whether they are flat: then the JVM may map it."""
        self._finish()
        self._put([(16, np.array([flat], dtype="<i8")), (self._paths - self._first - self._count, listed.view(np.uint8))])

    def delete(self) -> None:
        """What has mapped it keeps it."""
        self._file.close()
        self._deleted()

    @property
    def is_there(self) -> bool:
        """Whether nobody has deleted it, as what tidies folders of temporary files may."""
        return os.path.exists(self.name)

    @property
    def _starts(self) -> int:
        return _LONGS + 16 * self._count

    @property
    def _paths(self) -> int:
        return self._starts + self._width * (self._count + 1) + self._first + self._count

    def _finish(self) -> None:
        while self._waiting:
            self._waiting.popleft().result()
        self._writer.shutdown()
        self._file.truncate(self._paths + self._end)  # to its length, before what is listed is told
        end = self._starts + self._width * self._count, np.array([self._end], dtype=f"<i{self._width}")
        self._put([(0, np.array([self._count, self._first], dtype="<i8")), (24, np.array([self._width], dtype="<i8")), end])

    def _put(self, parts: list[tuple[int, Any]]) -> None:
        for place, values in parts:
            left = memoryview(values).cast("B") if len(values) else memoryview(b"")
            self._file.seek(place)
            while left:
                left = left[self._file.write(left) :]


def _made() -> Any:
    """A new file, with a lock on it as long as this process lives."""
    _delete_left_behind(tempfile.gettempdir())
    while True:
        file = tempfile.NamedTemporaryFile(prefix=_PREFIX, buffering=0, delete=False)  # noqa: SIM115
        with suppress(OSError):  # as where files have no locks: then nobody deletes any
            fcntl.flock(file, fcntl.LOCK_SH)
        if os.path.exists(file.name):  # else another process took it for left behind before
            return file


@cache
def _delete_left_behind(folder: str) -> None:
    """Deletes, once a process, such files of processes that were killed: nobody has a lock on them."""
    for path in Path(folder).glob(f"{_PREFIX}*"):
        with suppress(OSError), open(path, "rb", opener=_opened_at_once) as file:  # as those of another user; and those that are locked
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()


def _opened_at_once(name: str, flags: int) -> int:
    """Whatever others have put there: a pipe would wait for who writes to it, and a link leads elsewhere."""
    return os.open(name, flags | os.O_NONBLOCK | os.O_NOFOLLOW)


def _delete(name: str, process: int) -> None:
    if os.getpid() != process:  # a fork, as of multiprocessing: the file is still that of the one that made it
        return
    with suppress(OSError):  # as where the name of what is mapped cannot be removed
        os.unlink(name)
