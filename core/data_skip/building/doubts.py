"""Doubts about what a reader made of a file while it was indexed, since another query may make something else of it.

A reader of text takes a time without a date for one of today; and one that leaves out fields which a query does not ask for takes a struct
of which a file has none of them for NULL. Who has such a doubt is not indexed, or not until another day.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from operator import and_
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.errors import PySparkException
from pyspark.sql import Column as Values
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, MapType, StructType, TimestampType

from data_skip.building.binding import Binding
from data_skip.building.collect import Collected, any_of, named
from data_skip.building.lifting import by_name_from_parquet, local_path
from data_skip.expression import Column, columns_of
from data_skip.store.reader import AS_PARQUET, WITH_MALFORMED

_AS_JSON = '{"type":'  # with which Spark's JSON of a type with fields begins: see TreeEncoder.typeName
_UNTOLD = (AssertionError, KeyError, ValueError, PySparkException)
BY_FIELD = (*AS_PARQUET, "orc")  # whose readers leave out fields of structs that a query does not ask for


def undated(frame: DataFrame, bindings: Sequence[Binding]) -> Values:
    """Whether a row has a time of these days in one of these columns."""
    names = sorted({name for binding in bindings for name in times_of_text(binding)})
    return any_of([_of_these_days(named(name), frame.schema[name].dataType) for name in names])


def times_of_text(binding: Binding) -> list[str]:
    """The columns that an index reads in which a reader of text may find a time without a date: those that hold timestamps."""
    reader = binding.definition.reader
    dated = (
        {name for name, type_, *_ in reader["columns"] if '"timestamp"' in json.dumps(type_)}
        if reader["format"] in WITH_MALFORMED
        else set()
    )
    return sorted(dated & {column.path[0] for column in columns_of(binding.definition.bound_expressions)})


def _of_these_days(value: Values, type_: DataType) -> Values:
    """Whether a timestamp, or one inside of a value, is of a day that is today somewhere, while files are read.

    A reader of text takes a time without a date for one of today, in the zone that the text names, else in its own: nobody can tell, and
    tomorrow it is another. A day has up to 25 hours. Reading may go on past midnight.
    """
    if isinstance(type_, TimestampType):
        start, end = F.expr("current_timestamp() - INTERVAL 25 HOURS"), F.expr("current_timestamp() + INTERVAL 72 HOURS")
        return F.coalesce(value.between(start, end), F.lit(False))
    if isinstance(type_, StructType):
        parts = [_of_these_days(value.getField(field.name), field.dataType) for field in type_ if "timestamp" in field.dataType.json()]
        return any_of(parts)
    if isinstance(type_, MapType):
        keys = _of_these_days(F.map_keys(value), ArrayType(type_.keyType))
        return keys | _of_these_days(F.map_values(value), ArrayType(type_.valueType))
    if isinstance(type_, ArrayType) and "timestamp" in type_.elementType.json():
        return F.coalesce(F.exists(value, lambda element: _of_these_days(element, type_.elementType)), F.lit(False))
    return F.lit(False)


def fields_held(frame: DataFrame, bindings: Sequence[Binding]) -> dict[int, Values]:
    """By the places of indexes that read structs of which a file may lack a field: whether a row shows that it does not. See `_holds`."""
    shown = {
        i: [s for column in _columns_by_field(binding) if (s := _shown(frame, column)) is not None] for i, binding in enumerate(bindings)
    }
    return {i: reduce(and_, conditions) for i, conditions in shown.items() if conditions}


def _columns_by_field(binding: Binding) -> list[Column]:
    """The columns that an index reads, where the reader leaves out fields of structs; else none."""
    if binding.definition.reader["format"] not in BY_FIELD:
        return []
    return sorted(columns_of(binding.definition.bound_expressions), key=str)


def _shown(frame: DataFrame, column: Column) -> Values | None:
    """Whether a row shows that its file holds a column; None of one without structs, and of a field that is in no array: it matters not."""
    try:
        _, through_array = _of_path(frame.schema, column)
        if not through_array and "struct<" not in column.type:
            return None
        return _holds(named(*column.path), _type(frame.schema, column))
    except _UNTOLD:
        return None if "struct<" not in column.type and len(column.path) == 1 else F.lit(False)


def _of_path(schema: StructType, column: Column) -> tuple[DataType, bool]:
    """The type of a column or field in a schema, and whether it is a field of elements of an array."""
    type_: DataType = schema
    arrays = 0
    for name in column.path:
        while isinstance(type_, ArrayType):
            type_, arrays = type_.elementType, arrays + 1
        assert isinstance(type_, StructType)
        type_ = type_[name].dataType
    for _ in range(arrays):
        type_ = ArrayType(type_)
    return type_, arrays > 0


def _type(schema: StructType, column: Column) -> DataType:
    """What an expression reads of a column, which may be some of its fields. PySparkException, or ValueError, where that cannot be told.

    Its text has the names of fields as they are: with a blank in one, it is no type to Spark. Where one reads as several, JSON follows.
    """
    whole, _ = _of_path(schema, column)
    _, begins, as_json = column.type.partition(_AS_JSON)
    if begins:
        (field,) = StructType.fromJson({"fields": [{"name": "", "type": json.loads(begins + as_json), "nullable": True}]})
        return field.dataType
    return whole if whole.simpleString() == column.type else DataType.fromDDL(column.type)


def _holds(value: Values, type_: DataType) -> Values:
    """Whether some struct inside of a value has a field that is not NULL, wherever its type has structs.

    Where a Parquet file lacks all fields of a struct that a query asks for, Spark's reader takes the struct, and arrays and maps of it,
    for NULL; where the query asks for one more that is there, it does not. So without such a value nothing is known of the file.
    """
    if isinstance(type_, StructType):
        fields = [(_holds(value.getField(field.name), field.dataType), field.dataType) for field in type_]
        nested = [held for held, part in fields if "struct<" in part.simpleString()]  # each is left out by itself
        return reduce(and_, nested, any_of([held for held, _ in fields]))
    if isinstance(type_, MapType):
        return _holds(F.map_values(value), ArrayType(type_.valueType)) & _holds(F.map_keys(value), ArrayType(type_.keyType))
    if isinstance(type_, ArrayType):
        return F.coalesce(F.exists(value, lambda element: _holds(element, type_.elementType)), F.lit(False))
    return value.isNotNull()


def forget_lacking(
    found: Mapping[int, Collected], doubtful: Mapping[int, Binding], path_of: Callable[[int], str], schema: StructType
) -> None:
    """Forgets the records of the `doubtful` indexes, by their places, of files that may lack a field: no row and no footer shows it."""
    for number, file in found.items():
        unheld = [i for bit, i in enumerate(doubtful) if not file.held >> bit & 1]
        stored = _stored(path_of(number), doubtful[unheld[0]].definition.reader) if unheld else None
        for i in unheld:
            if stored is None or not _has_columns(stored, _columns_by_field(doubtful[i]), schema):
                file.records[i] = None


def _stored(uri: str, reader: Mapping[str, Any]) -> pa.StructType | None:
    """The columns that a file has, as its footer tells; None where that cannot be told from here."""
    if not uri.startswith("file:") or not by_name_from_parquet(reader):
        return None
    try:
        return pa.struct(list(pq.read_schema(local_path(uri))))
    except Exception:  # as of names that are no text
        return None


def _has_columns(stored: pa.StructType, columns: Iterable[Column], schema: StructType) -> bool:
    """Whether a file surely has columns with all fields of their types."""
    try:
        return all(_has(stored, column.path, _type(schema, column)) for column in columns)
    except _UNTOLD:
        return False


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
