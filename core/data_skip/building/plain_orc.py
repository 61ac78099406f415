"""Plain ORC: which columns of which ORC files pyarrow reads exactly as Spark does. This is the one place where that is claimed.

Spark reads by the library of ORC in Java, pyarrow by that in C++. Of a table, by how it is read (`why_not_orc`); of a file, by its footer:
pyarrow does not tell of all that is in it, so that is read here, as the format's specification says. Spark reads whatever is not surely
equal: another type in the file than the table's; a name that is not found exactly once, or files of which Spark finds columns by their
places; moments, which depend on zones, decimals, of which each value has a scale; char and varchar, which are padded or cut; files that are
encrypted, of which others see nothing or something else; writers that are neither library; parts of the format that are not known here.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from io import RawIOBase
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds

from data_skip.building.lifting import Part
from data_skip.building.plain import NotPlain, is_plain, values
from data_skip.expression import Column
from data_skip.store.settings import ZONE

_NUMBERED = ("boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "string", "binary")
_KINDS = {type_: kind for kind, type_ in enumerate(_NUMBERED)} | {"date": 15}  # of types, by their numbers in footers
_STRUCT = 12
_NO_CODEC, _ZLIB, _SNAPPY, _ZSTD = 0, 1, 2, 5
# Fields of a postscript and of a footer that are known not to change values; 10 of a footer says how columns are encrypted.
_OF_POSTSCRIPT, _OF_FOOTER = {1, 2, 3, 4, 5, 6, 7, 8000}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12}
_WRITERS = (0, 1)  # the libraries in Java and in C++
_LONGEST_FOOTER = 1 << 26
_ROWS = 1 << 15  # of a batch


def is_plain_orc(column: Column) -> bool:
    """Whether it is a column, and no field of one, of a type that may be read so."""
    return is_plain(column) and len(column.path) == 1 and column.type in _KINDS


def why_not_orc(reader: Mapping[str, Any]) -> str:
    """Why no ORC file that is read so can be read by pyarrow; "" where its footer tells."""
    unknown = [*reader["options"], *(key for key in reader["session"] or () if key != ZONE)]  # a zone changes moments only
    return f"it is read with {unknown[0]}" if unknown else ""


def orc_batches(file: Path | RawIOBase, part: Part, columns: Sequence[Column]) -> Iterator[dict[tuple[str, ...], pa.Array]]:
    """The values of columns of a local file by their paths, some rows at a time. An error where Spark may read others."""
    if not isinstance(file, Path):
        raise NotPlain("it is remote")
    if part.place:  # the first part is all of it
        return
    kinds, rows = _footer(file)
    for column in columns:
        _check(column, kinds)
    names, read = [column.path[0] for column in columns], 0
    for batch in ds.dataset(file, format="orc").to_batches(columns=names, batch_size=_ROWS, use_threads=False):
        read += len(batch)
        if len(batch):
            # Dates of before 1901 may be of another calendar.
            yield {column.path: values(batch.column(column.path[0]), column.type, modern=False) for column in columns}
    if read != rows:
        raise NotPlain(f"of {rows} rows, {read} were read")


def _check(column: Column, kinds: Sequence[tuple[str, int]]) -> None:
    """NotPlain unless a file surely has a column; kinds: its columns, by their names."""
    (name,) = column.path
    if all(other.startswith("_col") for other, _ in kinds):
        raise NotPlain("its columns are found by their places")
    found = [(other, kind) for other, kind in kinds if other.lower() == name.lower()]
    if found != [(name, _KINDS[column.type])]:
        raise NotPlain(f"column {column} is not known to lie in it as {column.type}")


def _footer(path: Path) -> tuple[list[tuple[str, int]], int]:
    """The columns of a file, by their names and the kinds of their types, and how many rows it has."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - 256))
        tail = file.read()
        length = tail[-1]
        postscript = _message(tail[-1 - length : -1], _OF_POSTSCRIPT)
        of_footer = _number(postscript, 1)
        if of_footer > min(size, _LONGEST_FOOTER):
            raise NotPlain("its footer is too long")
        file.seek(size - 1 - length - of_footer)
        footer = _message(_decompressed(file.read(of_footer), _number(postscript, 2)), _OF_FOOTER)
    if _number(footer, 9) not in _WRITERS:
        raise NotPlain("its writer is not known")
    types = [_message(_bytes(type_), None) for type_ in footer.get(4, [])]
    if not types or _number(types[0], 1) != _STRUCT:
        raise NotPlain("it has no columns")
    names = [_bytes(name).decode() for name in types[0].get(3, [])]
    places = [place for some in types[0].get(2, []) for place in (_varints(some) if isinstance(some, bytes) else [some])]
    return [(name, _number(types[place], 1)) for name, place in zip(names, places, strict=True)], _number(footer, 6)


def _decompressed(data: bytes, codec: int) -> bytes:
    """What lies in chunks, each with its length before it."""
    if codec == _NO_CODEC:
        return data
    found, at = b"", 0
    while at < len(data):
        header = int.from_bytes(data[at : at + 3], "little")
        chunk, at = data[at + 3 : at + 3 + header // 2], at + 3 + header // 2
        found += chunk if header % 2 else _inflated(chunk, codec)
    return found


def _inflated(chunk: bytes, codec: int) -> bytes:
    if codec == _ZLIB:
        return zlib.decompress(chunk, -zlib.MAX_WBITS)
    if codec == _ZSTD:
        with pa.CompressedInputStream(pa.BufferReader(chunk), "zstd") as stream:
            return bytes(stream.read())
    if codec == _SNAPPY:
        return bytes(pa.decompress(chunk, next(_varints(chunk)), "snappy", asbytes=True))
    raise NotPlain("it is compressed otherwise")


Message = dict[int, list[int | bytes]]


def _message(data: bytes, known: set[int] | None) -> Message:
    """The fields of a message of Protocol Buffers, by their numbers. NotPlain where one is not known."""
    found: Message = {}
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        value: int | bytes
        match key & 7:
            case 0:
                value, at = _varint(data, at)
            case 2:
                length, at = _varint(data, at)
                value, at = data[at : at + length], at + length
            case other:
                raise NotPlain(f"its footer has a field of kind {other}")
        found.setdefault(key >> 3, []).append(value)
    if known is not None and (others := found.keys() - known):
        raise NotPlain(f"its footer has a field {min(others)}")
    return found


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A number of as many bytes as it takes, and where the next begins."""
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def _varints(data: bytes) -> Iterator[int]:
    at = 0
    while at < len(data):
        value, at = _varint(data, at)
        yield value


def _number(message: Message, field: int) -> int:
    """The number in a field, which has its last value; 0 where it is not there."""
    value = message.get(field, [0])[-1]
    if isinstance(value, bytes):
        raise NotPlain("its footer is not as specified")
    return value


def _bytes(value: int | bytes) -> bytes:
    if isinstance(value, int):
        raise NotPlain("its footer is not as specified")
    return value
