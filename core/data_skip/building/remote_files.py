"""Files on an object store, as tasks read them: by deltalake, with what Hadoop has been told, and so without credentials of their own."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from pyarrow import fs

from data_skip.store.environment import by_proxy, leads_elsewhere, without_token
from data_skip.store.storage_options import StorageOptions

SCHEMES = ("s3", "s3a", "s3n", "abfs", "abfss", "gs")
_TAIL = 1 << 16  # bytes at the end of a file that come with the first of them that is asked for: a footer, and what is looked at beside it
# Of all other letters, libraries differ in how they are written in a request.
_NAME = "[A-Za-z0-9_=,+-][A-Za-z0-9_=.,+-]*"
_SAFE = re.compile(f"{_NAME}(/{_NAME})*")


@dataclass(frozen=True)
class RemoteFiles:
    """The files below a root, a URI.

    options: what deltalake is told of the store, and tasks with what they have to read. sizes: of the files that will be opened, as
    they were listed: whether they are still those, the next listing tells, of all at once.
    """

    root: str
    options: StorageOptions
    sizes: Mapping[str, int] = field(default_factory=dict)

    def has(self, uri: str) -> bool:
        """Whether a file lies there, and its name is the same to all libraries."""
        path = self._path(uri)
        return self.root.split(":")[0] in SCHEMES and path != uri and _SAFE.fullmatch(path) is not None

    def opened(self, uri: str) -> RemoteFile:
        """A file. OSError, at once or once it is read, where it is not there, is shorter, may not be read, or may be another one."""
        return RemoteFile(self._handler.open_input_file(self._path(uri)), self.sizes[uri])

    @property
    def file_system(self) -> fs.FileSystem:
        """All below the root, to write as well; an error as of `opened`."""
        return fs.PyFileSystem(self._handler)

    def _path(self, uri: str) -> str:
        return uri.removeprefix(f"{self.root}/")

    @cached_property
    def _handler(self) -> Any:
        if elsewhere := leads_elsewhere(self.options) or by_proxy(self.options):
            raise OSError(f"{elsewhere} is set where tasks run, and may lead deltalake to another place than Spark")
        from data_skip.store.new_parts import WritingHandler  # only where files are remote: it takes a worker 100 ms

        return WritingHandler(self.root, without_token(self.options), {self._path(uri): size for uri, size in self.sizes.items()})


class RemoteFile(io.RawIOBase):
    """An open file, of which each read is a request; what lies at its end is asked for once."""

    def __init__(self, file: Any, size: int) -> None:
        """file: of pyarrow."""
        super().__init__()
        self._file, self._size, self._place, self._tail = file, size, 0, b""

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._place = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._place, io.SEEK_END: self._size}[whence]
        return self._place

    def tell(self) -> int:
        return self._place

    def readinto(self, buffer: Any) -> int:
        start, end = self._place, min(self._place + len(buffer), self._size)
        if end <= start:
            return 0
        first = self._size - _TAIL
        if start >= first and not self._tail:
            self._tail = self._at(max(first, 0), self._size)
        found = self._tail[start - max(first, 0) : end - max(first, 0)] if start >= first else self._at(start, end)
        buffer[: end - start] = found
        self._place = end
        return end - start

    def _at(self, start: int, end: int) -> bytes:
        found: bytes = self._file.read_at(end - start, start)
        if len(found) != end - start:
            raise OSError(f"of {end - start} bytes from {start} on, {len(found)} came")
        return found

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


NOWHERE = RemoteFiles("", StorageOptions({}))
