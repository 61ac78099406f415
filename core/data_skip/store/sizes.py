"""How much memory Parquet files take once they are read, told before they are: a file of a thousand bytes may hold a terabyte.

By footers: so many values of so many bytes. Text that a dictionary holds once may stand in each row: of such columns the longest text of
the dictionary is looked at, and where that is too much, which text each row has. A footer that lies about its file is not found out.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

_WIDTHS = {"BOOLEAN": 1, "INT32": 4, "INT64": 8, "INT96": 12, "FLOAT": 4, "DOUBLE": 8, "BYTE_ARRAY": 8}
_DECIMAL = 16  # bytes in memory of what has a fixed length, at least
# Those that data-skip has written, and Spark does; others turn a few bytes into a gigabyte before anything else is known of it.
_CODECS = ("SNAPPY", "UNCOMPRESSED")
_PREFIXES = "DELTA_BYTE_ARRAY"  # each text may begin as the one before
_ROWS = 1 << 16
_REPEATED = 16  # how often a text of a dictionary stands in rows, mostly at most
_BUFFER = 1 << 20
_MEMORY_OF_GROUP = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


@cache
def most_bytes() -> int:
    """The most that is read of an index at once: half of the memory that this process may have."""
    sizes = [1 << 34]
    with suppress(AttributeError, ValueError, OSError):
        sizes = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for name in _MEMORY_OF_GROUP:
        with suppress(ValueError, OSError):  # "max" is no number
            sizes.append(int(Path(name).read_text()))
    return min(sizes) // 2


def refuse_large(
    source: Any,
    columns: Collection[str] | None,
    most: int,
    metadata: pq.FileMetaData | None = None,
    groups: Iterable[int] | None = None,
    rough: int | None = None,
) -> int:
    """How many bytes some columns of a Parquet file take in memory at most. ValueError where that may be more than `most`.

    source: as of pq.ParquetFile, or what opens that. columns: their names, or those of their fields, as `a.b`; None: all. groups: the row
    groups that are read; None: all. rough: up to how many bytes no text need be looked at; None: `most`.
    """
    metadata = pq.read_metadata(source) if metadata is None else metadata
    total, buffers, repeated = _counted(metadata, columns, groups, most)
    total += buffers
    if total + sum(size for size, _, _ in repeated) <= min(most, most if rough is None else rough):
        return total + sum(size for size, _, _ in repeated)
    for _, group, leaf in repeated:
        total += _repeated(source, metadata, group, leaf, most - total)
        _refuse(total, most)
    return total


def least_bytes(metadata: pq.FileMetaData, columns: Collection[str], groups: Iterable[int]) -> int:
    """How many bytes some columns take in some row groups at least, by the footer alone. ValueError as of refuse_large."""
    return _counted(metadata, columns, groups, sys.maxsize)[0]


def likely_bytes(source: Any, column: str, most: int, metadata: pq.FileMetaData) -> int:
    """How many bytes one column takes in memory; where that may matter for whether it is more than `most`, its text is looked at.

    ValueError where that is more than this process reads at once.
    """
    total, _, repeated = _counted(metadata, [column], None, most_bytes())
    if total > most or total * _REPEATED < most:
        return total
    return total + sum(_repeated(source, metadata, group, leaf, most_bytes()) for _, group, leaf in repeated)


def has_bytes(metadata: pq.FileMetaData, least: int) -> bool:
    """Whether the rows of a file take so many bytes where they lie."""
    groups = map(metadata.row_group, range(metadata.num_row_groups))
    sizes = (group.column(leaf).total_compressed_size for group in groups for leaf in range(group.num_columns))
    return any(size >= least for size in accumulate(sizes))


def _counted(
    metadata: pq.FileMetaData, columns: Collection[str] | None, groups: Iterable[int] | None, most: int
) -> tuple[int, int, list[tuple[int, int, int]]]:
    """How many bytes some columns take at least, how many more while they are read, and where text may repeat.

    That is told as (at most so many bytes, of a row group, of a leaf).
    """
    leaves = [i for i in range(metadata.num_columns) if columns is None or _is_of(metadata.schema.column(i).path, columns)]
    total = buffers = 0
    repeated: list[tuple[int, int, int]] = []
    for group in range(metadata.num_row_groups) if groups is None else groups:
        chunks = metadata.row_group(group)
        for leaf in leaves:
            chunk = chunks.column(leaf)
            if chunk.compression not in _CODECS:
                raise ValueError(f"is compressed by {chunk.compression}; {' or '.join(_CODECS)} is read")
            values, size = max(chunk.num_values, chunks.num_rows), chunk.total_uncompressed_size
            total += values * (_WIDTHS.get(chunk.physical_type) or max(_DECIMAL, metadata.schema.column(leaf).length))
            if chunk.physical_type != "BYTE_ARRAY":
                buffers += size
                continue
            total += size
            if _may_repeat(chunk):
                repeated.append((values * size, group, leaf))
        _refuse(total + buffers, most)
    return total, buffers, repeated


def _refuse(size: int, most: int) -> None:
    if size > most:
        raise ValueError(f"takes {size:,} bytes of memory, at most {most:,} are read")


def _is_of(path: str, columns: Collection[str]) -> bool:
    """Whether a leaf may lie in one of some columns: a name may hold dots."""
    parts = path.split(".")
    return any(".".join(parts[:count]) in columns for count in range(1, len(parts) + 1))


def _may_repeat(chunk: pq.ColumnChunkMetaData) -> bool:
    return chunk.has_dictionary_page or _PREFIXES in chunk.encodings or any("DICTIONARY" in encoding for encoding in chunk.encodings)


def _repeated(source: Any, metadata: pq.FileMetaData, group: int, leaf: int, most: int) -> int:
    """How many bytes the texts of one column take, in a row group, at most; more than `most`: perhaps not all of them."""
    chunk, path = metadata.row_group(group).column(leaf), metadata.schema.column(leaf).path
    if _PREFIXES in chunk.encodings:
        raise ValueError(f"has text by {_PREFIXES} in {path}, which data-skip does not write")
    first = next(_texts(source, metadata, group, path, 1), None)
    if first is not None and len(first):  # the dictionary is read as a whole
        longest = int(pc.max(pc.binary_length(first.dictionary)).as_py() or 0)
        if longest * chunk.num_values <= most:
            return longest * chunk.num_values
    found = 0
    for texts in _texts(source, metadata, group, path, _ROWS):
        lengths = pc.fill_null(pc.binary_length(texts.dictionary), 0).to_numpy(zero_copy_only=False).astype("int64")
        found += int(lengths[texts.indices.drop_null().to_numpy(zero_copy_only=False)].sum())
        if found > most:
            break
    return found


def _texts(source: Any, metadata: pq.FileMetaData, group: int, path: str, rows: int) -> Iterator[pa.DictionaryArray]:
    """The texts of a column as they lie, by their dictionaries, so many rows at a time."""
    opened = source() if callable(source) else source
    if isinstance(opened, pa.BufferReader):
        opened.seek(0)
    file = pq.ParquetFile(opened, metadata=metadata, read_dictionary=[path], buffer_size=_BUFFER)
    for batch in file.iter_batches(rows, row_groups=[group], columns=[path], use_threads=False):
        yield _innermost(batch.column(0))


def _innermost(array: pa.Array) -> pa.DictionaryArray:
    """The one leaf of an array."""
    while not pa.types.is_dictionary(array.type):
        array = array.flatten()[0] if pa.types.is_struct(array.type) else array.flatten()
    return array
