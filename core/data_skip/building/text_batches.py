"""The lines of one file of text, or of a part of it, as batches of values (plain_text.py)."""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO, cast

import pyarrow as pa

from data_skip.building.lifting import Part
from data_skip.building.plain import NotPlain
from data_skip.building.plain_text import TextReader, batch_of
from data_skip.expression import Column

_BLOCK = 1 << 23  # bytes that are looked at together; of lines they are some more
_GZIP = ".gz"  # by its name Spark tells how a file is compressed
# By how a name ends, in any letters, Hadoop takes a file for compressed, whatever lies there.
_COMPRESSED = (_GZIP, ".gzip", ".bz2", ".deflate", ".lz4", ".snappy", ".zst", ".zstd")


def text_batches(
    file: Path | io.RawIOBase, part: Part, columns: Sequence[Column], reader: TextReader
) -> Iterator[dict[tuple[str, ...], pa.Array]]:
    """The values of columns by their paths, some rows at a time. An error where Spark may read others."""
    whole = part.uri.endswith(_GZIP)
    if not whole and part.uri.lower().endswith(_COMPRESSED):
        raise NotPlain("it is compressed otherwise, by its name")
    if whole and part.place:  # the first part is all of it
        return
    with ExitStack() as opened:
        raw = opened.enter_context(file.open("rb")) if isinstance(file, Path) else io.BufferedReader(file, _BLOCK)
        lines = cast(BinaryIO, opened.enter_context(gzip.open(raw))) if whole else raw
        start, end = (part.size * place // part.parts for place in (part.place, part.place + 1))
        for block, first in _blocks(lines, start, None if whole else end):
            batch = batch_of(block, reader, [column.path[0] for column in columns], first)
            if len(next(iter(batch.values()))):
                yield batch


def _blocks(lines: BinaryIO, start: int, end: int | None) -> Iterator[tuple[bytes, bool]]:
    """Some lines after the other, and whether a file begins with them: those that begin in a stretch of it, or, with no end, all."""
    if start:
        lines.seek(start - 1)
        _rest_of_line(lines)
    first = not start
    while end is None or lines.tell() < end:
        block = lines.read(_BLOCK if end is None else min(_BLOCK, end - lines.tell()))
        if not block:
            return
        yield block if block.endswith(b"\n") else block + _rest_of_line(lines), first
        first = False


def _rest_of_line(lines: BinaryIO) -> bytes:
    rest = lines.readline(_BLOCK)
    if len(rest) == _BLOCK:
        raise NotPlain("it has a very long line")
    return rest
