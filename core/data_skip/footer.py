"""Footer: what a Parquet file says of itself, for indexes that lift their records from it instead of from rows (`Index.lift`).

Whatever is odd about a file (another type, an unknown writer, a missing part) has it read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from data_skip.data_types import TIMES, decimal_bytes, is_decimal, precision_and_scale
from data_skip.expression import Column, Element, Expression

WRITERS = ("parquet-mr version ", "parquet-cpp-arrow version ")  # those believed; others were wrong: apache/datafusion#9779, arrow-go#525
_PLAIN = {  # types that Spark reads as they lie in the file: physical type, and how the text of the logical type begins
    "tinyint": ("INT32", "Int(bitWidth=8, isSigned=true)"),
    "smallint": ("INT32", "Int(bitWidth=16, isSigned=true)"),
    "int": ("INT32", "None"),
    "bigint": ("INT64", "None"),
    "float": ("FLOAT", "None"),
    "double": ("DOUBLE", "None"),
    "string": ("BYTE_ARRAY", "String"),
    "binary": ("BYTE_ARRAY", "None"),
    "date": ("INT32", "Date"),
    "timestamp": ("INT64", "Timestamp(isAdjustedToUTC=true, timeUnit=microseconds"),
    "timestamp_ntz": ("INT64", "Timestamp(isAdjustedToUTC=false, timeUnit=microseconds"),
}
_LIST = ".list.element"  # how writers of today lay out an array; a file of another layout is read
_MISCOUNTS = tuple(f"parquet-cpp-arrow version {n}." for n in range(6))  # the NULLs of lists: PARQUET-2067


@dataclass(frozen=True)
class Footer:
    """What a local Parquet file says of itself."""

    path: Path
    metadata: pq.FileMetaData

    @property
    def signed(self) -> bool:
        """Whether a signature follows: then columns may be encrypted, and pyarrow ends the process that asks for one of their chunks."""
        length = self.read(self.path.stat().st_size - 8, 4)
        return int.from_bytes(length, "little") != self.metadata.serialized_size

    def chunks(self, expression: Expression) -> list[pq.ColumnChunkMetaData] | None:
        """What each row group says of the values of a column, a field, or the elements of an array; of NULLs it counts one for an array
        without elements, as `Element` does. None where Spark may see others than lie in the file."""
        type_, depth = expression.type, 0
        while isinstance(expression, Element):
            expression, depth = expression.of, depth + 1
        if not isinstance(expression, Column) or any("." in part for part in expression.path):
            return None
        columns = [self.metadata.schema.column(i) for i in range(self.metadata.num_columns)]
        name = ".".join(expression.path)
        found = [i for i, column in enumerate(columns) if column.path.replace(_LIST, "").lower() == name.lower()]
        alike = {root for root in (column.path.split(".")[0] for column in columns) if root.lower() == expression.path[0].lower()}
        if len(found) != 1 or columns[found[0]].path.replace(_LIST, "") != name or len(alike) > 1:
            return None
        column = columns[found[0]]
        if "." in column.path and self._has_dotted_name:  # then a path does not tell a field from a column of its name
            return None
        if depth and self.metadata.created_by.startswith(_MISCOUNTS):
            return None
        if not column.path.count(_LIST) == column.max_repetition_level == depth or not self._stored_as_spark_does(column, type_):
            return None
        return [self.metadata.row_group(group).column(found[0]) for group in range(self.metadata.num_row_groups)]

    @cached_property
    def _has_dotted_name(self) -> bool:
        try:
            return any("." in name for field in self.metadata.schema.to_arrow_schema() for name in _names(field))
        except pa.ArrowException:  # a type that pyarrow does not know
            return True

    def _stored_as_spark_does(self, column: pq.ColumnSchema, type_: str) -> bool:
        if type_ in TIMES and not self._modern_spark():
            return False
        logical = str(column.logical_type)
        if not is_decimal(type_):
            physical, start = _PLAIN.get(type_, ("", ""))
            return column.physical_type == physical and logical.startswith(start)
        precision, scale = precision_and_scale(type_)
        if logical != f"Decimal(precision={precision}, scale={scale})":
            return False
        if precision <= 18:
            return bool(column.physical_type == ("INT32" if precision <= 9 else "INT64"))
        return bool(column.physical_type == "FIXED_LEN_BYTE_ARRAY" and column.length == decimal_bytes(precision))

    def _modern_spark(self) -> bool:
        """Whether the file says that its dates and times are of the calendar that Spark uses since version 3."""
        said = self.metadata.metadata or {}
        version = said.get(b"org.apache.spark.version", b"").decode()
        return version[:1].isdigit() and int(version.split(".")[0]) >= 3 and b"org.apache.spark.legacyDateTime" not in said

    def read(self, offset: int, length: int) -> bytes:
        """Bytes of the file; fewer at its end."""
        with self.path.open("rb") as file:
            file.seek(offset)
            return file.read(length)


def _names(field: pa.Field) -> Iterator[str]:
    """The name of a field and of all below it."""
    yield field.name
    for i in range(field.type.num_fields):
        yield from _names(field.type.field(i))


def has_null(chunks: Iterable[pq.ColumnChunkMetaData]) -> bool | None:
    """Whether a column holds a NULL, by the statistics of its chunks; None where they do not say."""
    found = [c.statistics for c in chunks]
    counts = [s.null_count if s is not None and s.has_null_count else None for s in found]
    return None if None in counts else any(counts)
