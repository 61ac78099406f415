"""Lifting: records from what Parquet files say of themselves, instead of from their rows.

An index lifts where its `lift` makes a record of a `Footer`. A file is not read only if all indexes that are asked for lift; for local
files, that is: others are read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from data_skip.building.collect import Collected
from data_skip.expression import Column, Expression
from data_skip.footer import Footer
from data_skip.index import Index, Record
from data_skip.proofs.elements import indexed
from data_skip.store.definition import Definition

_THREADS = 8


def lift(uris: Mapping[int, str], definitions: Mapping[Index, Definition]) -> dict[int, Collected]:
    """The records of those files that need not be read, by the numbers that the files are given with."""
    readers = [definition.reader for definition in definitions.values()]
    if not all(_lifts(index) for index in definitions) or any(not _by_name_from_parquet(reader) for reader in readers):
        return {}
    local = {i: _local(uri) for i, uri in uris.items() if uri.startswith("file:")}
    trees = {index: indexed(definition.bound_expressions()) for index, definition in definitions.items()}
    with ThreadPoolExecutor(_THREADS) as pool:
        lifted = pool.map(partial(_lift_one, trees=trees), local.values())
        return {i: file for i, file in zip(local, lifted, strict=True) if file is not None}


def _lifts(index: Index) -> bool:
    own: Callable[..., object] = type(index).lift
    return own is not Index.lift


def _by_name_from_parquet(reader: Mapping[str, Any]) -> bool:
    return bool(reader["format"] == "parquet" and reader["session"].get("spark.sql.parquet.fieldId.read.enabled") != "true")


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


def has_fields(uri: str, columns: Iterable[Column], reader: Mapping[str, Any]) -> bool:
    """Whether a file surely has columns with all fields of their types, as its footer tells; False where that cannot be told from here."""
    if not uri.startswith("file:") or not _by_name_from_parquet(reader):
        return False
    try:
        schema = pq.read_schema(_local(uri))
    except (OSError, pa.ArrowException):
        return False
    return all(_has(pa.struct(list(schema)), column.path, DataType.fromDDL(column.type)) for column in columns)


def _has(stored: pa.DataType, path: tuple[str, ...], type_: DataType) -> bool:
    while path and pa.types.is_list(stored) and isinstance(type_, ArrayType):  # a field of the elements is an array of fields
        stored, type_ = stored.value_type, type_.elementType
    if path:
        return pa.types.is_struct(stored) and _has_field(stored, path[0], path[1:], type_)
    if isinstance(type_, ArrayType):
        return pa.types.is_list(stored) and _has(stored.value_type, (), type_.elementType)
    if isinstance(type_, MapType):
        return pa.types.is_map(stored) and _has(stored.key_type, (), type_.keyType) and _has(stored.item_type, (), type_.valueType)
    if isinstance(type_, StructType):
        return pa.types.is_struct(stored) and all(_has_field(stored, field.name, (), field.dataType) for field in type_)
    return True


def _has_field(stored: pa.StructType, name: str, path: tuple[str, ...], type_: DataType) -> bool:
    places = stored.get_all_field_indices(name)
    return len(places) == 1 and _has(stored.field(places[0]).type, path, type_)


def _local(uri: str) -> Path:
    return Path(unquote(uri.removeprefix("file:")))
