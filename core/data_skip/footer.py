"""Lifting: records from what a Parquet file says of itself, instead of from its rows.

An index lifts where its `lift` makes a record of a `Footer`. A file is not read only if all indexes that are asked for lift; for local
files, that is: others are read. Whatever is odd about a file (another type, an unknown writer, a missing part) has it read as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from data_skip.collect import Collected
from data_skip.definition import Definition
from data_skip.elements import indexed
from data_skip.expression import Column, Element, Expression
from data_skip.index import Index, Record
from data_skip.spark_types import TIMES, is_decimal, precision_and_scale
from data_skip.split_block import decimal_bytes

WRITERS = ("parquet-mr version ", "parquet-cpp-arrow version ")  # those believed; others were wrong: apache/datafusion#9779, arrow-go#525
_THREADS = 8
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
        if depth and self.metadata.created_by.startswith(_MISCOUNTS):
            return None
        if not column.path.count(_LIST) == column.max_repetition_level == depth or not self._as_it_lies(column, type_):
            return None
        return [self.metadata.row_group(group).column(found[0]) for group in range(self.metadata.num_row_groups)]

    def _as_it_lies(self, column: pq.ColumnSchema, type_: str) -> bool:
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


def has_null(chunks: Iterable[pq.ColumnChunkMetaData]) -> bool | None:
    """Whether a column holds a NULL, by the statistics of its chunks; None where they do not say."""
    found = [c.statistics for c in chunks]
    counts = [s.null_count if s is not None and s.has_null_count else None for s in found]
    return None if None in counts else any(counts)


def lift(uris: Mapping[int, str], definitions: Mapping[Index, Definition]) -> dict[int, Collected]:
    """The records of those files that need not be read, by the numbers that the files are given with."""
    readers = [definition.reader for definition in definitions.values()]
    if not all(_lifts(index) for index in definitions) or any(not _by_name_from_parquet(reader) for reader in readers):
        return {}
    local = {i: Path(unquote(uri.removeprefix("file:"))) for i, uri in uris.items() if uri.startswith("file:")}
    trees = {index: indexed(definition.bound_expressions()) for index, definition in definitions.items()}
    with ThreadPoolExecutor(_THREADS) as pool:
        lifted = pool.map(partial(_lift_one, trees=trees), local.values())
        return {i: file for i, file in zip(local, lifted, strict=True) if file is not None}


def _lifts(index: Index) -> bool:
    own: Callable[..., object] = type(index).lift
    return own is not Index.lift


def _by_name_from_parquet(reader: Mapping[str, Any]) -> bool:
    return bool(reader["format"] == "parquet" and reader["settings"].get("spark.sql.parquet.fieldId.read.enabled") != "true")


def _lift_one(path: Path, trees: Mapping[Index, tuple[Expression, ...]]) -> Collected | None:
    try:
        footer = Footer(path, pq.read_metadata(path))
        records: list[Record | None] = []
        for index, expressions in trees.items():
            if (record := index.lift(footer, expressions)) is None:
                return None
            records.append(record)
        return Collected(footer.metadata.num_rows, records=records)
    except (OSError, pa.ArrowException):  # encrypted, gone, or no Parquet: Spark will say what it is
        return None
