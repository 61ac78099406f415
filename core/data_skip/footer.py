"""Footer: what a Parquet file says of itself, for indexes that lift their records from it instead of from rows (`Index.lift`).

Whatever is odd about a file (another type, an unknown writer, a missing part) has it read.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from io import RawIOBase
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from data_skip.data_types import TIMES, decimal_bytes, is_decimal, precision_and_scale
from data_skip.expression import Column, Element, Expression

WRITERS = ("parquet-mr version ", "parquet-cpp-arrow version ")  # others were wrong: apache/datafusion#9779, arrow-go#525
_COUNT_NULLS = tuple(f"parquet-mr version 1.{n}." for n in range(10, 100))  # of all columns; before, files that are merged: PARQUET-1217
_COUNT_NULLS_OF_ROWS = "parquet-cpp-arrow version "  # not of all lists: PARQUET-2067 to version 5, apache/arrow#51097 from 12 to 25
_REWRITTEN = b"original.created.by"  # by parquet-mr's rewriter, which copies what others have counted
_SPARK, _ARROW = b"org.apache.spark.version", b"ARROW:schema"
_PLAIN: dict[str, tuple[str, str | tuple[str, ...]]] = {  # types that Spark reads as they lie: physical type, how that of logic begins
    "boolean": ("BOOLEAN", "None"),
    "tinyint": ("INT32", "Int(bitWidth=8, isSigned=true)"),
    "smallint": ("INT32", "Int(bitWidth=16, isSigned=true)"),
    "int": ("INT32", ("None", "Int(bitWidth=32, isSigned=true)")),
    "bigint": ("INT64", ("None", "Int(bitWidth=64, isSigned=true)")),
    "float": ("FLOAT", "None"),
    "double": ("DOUBLE", "None"),
    "string": ("BYTE_ARRAY", "String"),
    "binary": ("BYTE_ARRAY", "None"),
    "date": ("INT32", "Date"),
    "timestamp": ("INT64", "Timestamp(isAdjustedToUTC=true, timeUnit=microseconds"),
    "timestamp_ntz": ("INT64", "Timestamp(isAdjustedToUTC=false, timeUnit=microseconds"),
}
_BYTES = "FIXED_LEN_BYTE_ARRAY"
_BITS = {"tinyint": 8, "smallint": 16}  # that lie as whole numbers of 32 bits
_LIST = ".list.element"  # how writers of today lay out an array; a file of another layout is read


@dataclass(frozen=True)
class Footer:
    """What a Parquet file says of itself: a local one, by its path, or one that is open."""

    file: Path | RawIOBase
    metadata: pq.FileMetaData

    @property
    def signed(self) -> bool:
        """Whether a signature follows: then columns may be encrypted, and pyarrow ends the process that asks for one of their chunks."""
        length = self.read(-8, 4)
        return int.from_bytes(length, "little") != self.metadata.serialized_size

    def chunks(self, expression: Expression) -> list[pq.ColumnChunkMetaData] | None:
        """What each row group says of the values of a column, a field, or the elements of an array; of NULLs it counts one for an array
        without elements, as `Element` does. None where Spark may see others than lie in the file, or the writer may count otherwise."""
        place = self.place(expression)
        if place is None or (expression.type in TIMES and not self.of_modern_spark):
            return None
        if not self._counts_nulls(of_lists=isinstance(expression, Element)):
            return None
        if is_decimal(expression.type) and not self._ordered_decimal(place, expression.type):
            return None
        chunks = self.chunks_at(place)
        return chunks if all(_has_room(chunk, expression.type) for chunk in chunks) else None

    def _counts_nulls(self, of_lists: bool) -> bool:
        """Whether NULLs are counted by a writer that does so rightly. Who puts files together, as parquet-tools does, may not say whose."""
        said = self.metadata.metadata or {}
        if _REWRITTEN in said or (of_lists and (_SPARK not in said or _ARROW in said)):
            return False
        return bool(self.metadata.created_by.startswith(_COUNT_NULLS if of_lists else (*_COUNT_NULLS, _COUNT_NULLS_OF_ROWS)))

    def chunks_at(self, place: int) -> list[pq.ColumnChunkMetaData]:
        """What each row group says of the column at a place."""
        return [self.metadata.row_group(group).column(place) for group in range(self.metadata.num_row_groups)]

    def place(self, expression: Expression) -> int | None:
        """Where a column, a field, or the elements of an array lie, among the leaves of the file's schema; None where Spark may see other
        values than lie there. Of dates and times it sees others if they are old, unless a modern Spark wrote them."""
        type_, depth = expression.type, 0
        while isinstance(expression, Element):
            expression, depth = expression.of, depth + 1
        if not isinstance(expression, Column) or any("." in part for part in expression.path):
            return None
        name = ".".join(expression.path)
        found = self._by_name.get(name.lower(), [])
        if len(found) != 1 or len(self._roots[expression.path[0].lower()]) > 1:
            return None
        column = self.metadata.schema.column(found[0])
        if column.path.replace(_LIST, "") != name:
            return None
        if "." in column.path and self._has_dotted_name:  # then a path does not tell a field from a column of its name
            return None
        if not column.path.count(_LIST) == column.max_repetition_level == depth or not _stored_as_spark_reads(column, type_):
            return None
        return found[0]

    @cached_property
    def _by_name(self) -> dict[str, list[int]]:
        """The places of leaves by their names in small letters."""
        places: dict[str, list[int]] = {}
        for i in range(self.metadata.num_columns):
            places.setdefault(self.metadata.schema.column(i).path.replace(_LIST, "").lower(), []).append(i)
        return places

    @cached_property
    def _roots(self) -> dict[str, set[str]]:
        """The names of columns by their names in small letters."""
        names: dict[str, set[str]] = {}
        for i in range(self.metadata.num_columns):
            root = self.metadata.schema.column(i).path.split(".")[0]
            names.setdefault(root.lower(), set()).add(root)
        return names

    @cached_property
    def _has_dotted_name(self) -> bool:
        try:
            return any("." in name for field in self.metadata.schema.to_arrow_schema() for name in _names(field))
        except pa.ArrowException:  # a type that pyarrow does not know
            return True

    @cached_property
    def of_modern_spark(self) -> bool:
        """Whether the file says that its dates and times are of the calendar that Spark uses since version 3."""
        said = self.metadata.metadata or {}
        version = said.get(_SPARK, b"").decode()
        return version[:1].isdigit() and version >= "3.0.0" and b"org.apache.spark.legacyDateTime" not in said  # as text, as Spark does

    def _ordered_decimal(self, place: int, type_: str) -> bool:
        """Whether decimals lie as Spark writes them: of small ones in bytes, the order would have to be trusted."""
        precision, _ = precision_and_scale(type_)
        return precision > 18 or self.metadata.schema.column(place).physical_type != _BYTES

    def read(self, offset: int, length: int) -> bytes:
        """Bytes of the file; fewer at its end. An offset below 0 counts from there."""
        with self.file.open("rb") if isinstance(self.file, Path) else nullcontext(self.file) as file:
            file.seek(offset, os.SEEK_END if offset < 0 else os.SEEK_SET)
            return file.read(length) or b""


def _stored_as_spark_reads(column: pq.ColumnSchema, type_: str) -> bool:
    logical = str(column.logical_type)
    if not is_decimal(type_):
        physical, starts = _PLAIN.get(type_, ("", ""))
        return column.physical_type == physical and logical.startswith(starts)
    precision, scale = precision_and_scale(type_)
    if logical != f"Decimal(precision={precision}, scale={scale})":
        return False
    if column.physical_type == _BYTES:
        return bool(column.length == decimal_bytes(precision))
    return bool(precision <= 18 and column.physical_type == ("INT32" if precision <= 9 else "INT64"))


def _has_room(chunk: pq.ColumnChunkMetaData, type_: str) -> bool:
    """Whether numbers that are stored wider than their type surely have room in it: of 300, which a writer let pass for a TINYINT, Spark
    reads 44."""
    if type_ not in _BITS:
        return True
    found, most = statistics(chunk), (1 << _BITS[type_] - 1) - 1
    if found is None or found.null_count == chunk.num_values:
        return found is not None
    return bool(found.has_min_max and -most - 1 <= found.min_raw and found.max_raw <= most)


def _names(field: pa.Field) -> Iterator[str]:
    """The name of a field and of all below it."""
    yield field.name
    for i in range(field.type.num_fields):
        yield from _names(field.type.field(i))


def has_null(chunks: Iterable[pq.ColumnChunkMetaData]) -> bool | None:
    """Whether a column holds a NULL, by the statistics of its chunks; None where they do not say."""
    counts = [found.null_count if (found := statistics(chunk)) is not None else None for chunk in chunks]
    return None if None in counts else any(counts)


def statistics(chunk: pq.ColumnChunkMetaData) -> pq.Statistics | None:
    """Those of a chunk that say how many NULLs it holds; None where they do not, or say what cannot be: parquet-mr counts -1 where it
    appends a file that does not say. Of bytes of one length they are not asked: pyarrow ends the process where a bound is shorter."""
    found = None if chunk.physical_type == _BYTES else chunk.statistics
    return found if found is not None and found.has_null_count and 0 <= found.null_count <= chunk.num_values else None
