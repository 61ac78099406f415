"""Plain: which columns of which files pyarrow reads exactly as Spark does. This is the one place where that is claimed.

Of a table, by how it is read (`why_not`); of a file, by its footer (`why_not_in`); of values, as they come (`values`). Whatever is not
surely equal is read by Spark: another type in the file than the table's, which Spark converts; a name that is not found exactly once; a
column that the file lacks; INT96, nanoseconds, unsigned numbers; an unknown writer; an option or a setting that nobody has thought of. So
is what Spark reads row by row, by parquet-mr, which reads some pages that its other reader refuses and pyarrow takes for something else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from data_skip.data_types import TIMES, arrow_type, is_decimal
from data_skip.expression import Column, Expression
from data_skip.footer import WRITERS, Footer
from data_skip.store.settings import SQL, SYSTEMS, ZONE

# Options and settings that change nothing of values that `why_not_in` and `values` let pass; any other that is set has Spark read.
_OPTIONS = ("datetimerebasemode", "int96rebasemode")  # they change old times only
_SETTINGS = (
    *(f"{SQL}parquet.datetimeRebaseModeInRead", f"{SQL}parquet.int96RebaseModeInRead", ZONE),  # the same
    *(f"{SQL}parquet.binaryAsString", f"{SQL}parquet.int96AsTimestamp", f"{SQL}parquet.inferTimestampNTZ.enabled"),  # types, compared here
    f"{SQL}caseSensitive",  # only names that are found in either way are read
)
_TYPES = ("boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "string", "binary", *TIMES)
_CODECS = ("UNCOMPRESSED", "SNAPPY", "GZIP", "ZSTD", "LZ4")
_ENCODINGS = {
    *("PLAIN", "RLE", "BIT_PACKED", "PLAIN_DICTIONARY", "RLE_DICTIONARY"),
    *("DELTA_BINARY_PACKED", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"),
}
_BROKEN_DELTAS = tuple(f"parquet-mr version 1.{n}." for n in range(8))  # PARQUET-246: parquet-mr alone repairs them
# Before, calendars and clocks of the old Spark and of Java differ, by time zone, from those of today; with a year to spare.
_FIRST_DAY, _FIRST_MICROSECOND = -25_202, -2_177_452_800_000_000  # of 1901
_FIRST_ROWS = 32  # times the size of a dictionary: so many are looked at before all are


class NotPlain(Exception):
    """A file that Spark has to read; says why."""


def is_plain(expression: Expression) -> bool:
    """Whether it is a column, or a field of structs, of a type that may be read so, and of a name that pyarrow takes for no other's."""
    if not isinstance(expression, Column) or expression.partition or is_dotted(expression):
        return False
    return expression.type in _TYPES or is_decimal(expression.type)


def is_dotted(column: Column) -> bool:
    """Whether there is a dot in its name: pyarrow names a field of a struct by its path, with dots."""
    return any("." in part for part in column.path)


def why_not(reader: Mapping[str, Any], options: Iterable[str]) -> str:
    """Why no file that is read so can be read by pyarrow; "" where its footer tells. `options`: all that the user gave."""
    if reader["format"] != "parquet":
        return f"its format is {reader['format']}"
    unknown = [key for key in reader["options"] if key not in _OPTIONS] + [key for key in options if key.lower().startswith(SYSTEMS)]
    unknown += [key for key in reader["session"] or () if key not in _SETTINGS]
    return f"it is read with {unknown[0]}" if unknown else ""


def why_not_in(footer: Footer, columns: Iterable[Column]) -> str:
    """Why pyarrow may read other values than Spark, or fewer; "" where it reads the same."""
    metadata = footer.metadata
    if footer.signed:
        return "it is signed, or encrypted"
    if not metadata.created_by.startswith(WRITERS):  # pyarrow takes levels that are packed for others, and heeds no converted type
        return f"it was written by {metadata.created_by!r}"
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    if sum(group.num_rows for group in groups) != metadata.num_rows:
        return "its row groups do not add up"
    for column in columns:
        if (place := footer.place(column)) is None:
            return f"column {column} is not known to lie in it as {column.type}"
        for group in groups:
            if why := _why_not_chunk(group.column(place), group.num_rows, metadata.created_by):
                return f"column {column} {why}"
    return ""


def _why_not_chunk(chunk: pq.ColumnChunkMetaData, rows: int, writer: str) -> str:
    if chunk.file_path:
        return "lies in another file"
    if chunk.num_values != rows:
        return "has not one value a row"
    if chunk.compression not in _CODECS:
        return f"is compressed by {chunk.compression}"
    if other := set(chunk.encodings) - _ENCODINGS:
        return f"is encoded by {min(other)}"
    if "DELTA_BYTE_ARRAY" in chunk.encodings and writer.startswith(_BROKEN_DELTAS):
        return f"is encoded by DELTA_BYTE_ARRAY of {writer!r}"
    return ""


def values(array: pa.Array, type_: str, modern: bool) -> pa.Array:
    """What pyarrow read of a column, in Spark's own representation; text and bytes may stay encoded by a dictionary.

    modern: whether times are surely of the calendar of today. NotPlain for what is of another type, or too old for that.
    """
    wanted, found = arrow_type(type_), array.type
    encoded = pa.types.is_dictionary(found)
    if type_ in TIMES and (found == pa.date32() if type_ == "date" else pa.types.is_timestamp(found) and found.unit == "us"):
        array = array.view(wanted)
        if not modern and _any_below(array, _FIRST_DAY if type_ == "date" else _FIRST_MICROSECOND):
            raise NotPlain(f"it has a {type_} before 1901, of whatever calendar")
    elif type_ in ("string", "binary") and (found.value_type if encoded else found) in _KINDS[type_]:
        if encoded and found.value_type != wanted:
            array = pa.DictionaryArray.from_arrays(array.indices, array.dictionary.cast(wanted))
        elif not encoded and found != wanted:
            array = array.cast(wanted)
    if array.type != wanted and not (encoded and array.type.value_type == wanted):
        raise NotPlain(f"pyarrow takes a column of {type_} for {found}")
    return array


_KINDS = {"string": (pa.string(), pa.large_string(), pa.string_view()), "binary": (pa.binary(), pa.large_binary(), pa.binary_view())}


def _any_below(array: pa.Array, first: int) -> bool:
    least = pc.min(array).as_py()
    return least is not None and least < first


def decoded(array: pa.Array) -> pa.Array:
    """An array without its dictionary."""
    return array.cast(array.type.value_type) if pa.types.is_dictionary(array.type) else array


def used(array: pa.DictionaryArray) -> pa.Array:
    """The values of a dictionary that some row has; a writer may have put others into it."""
    return array.dictionary.take(pa.array(np.flatnonzero(_occurs(array.indices, len(array.dictionary)))))


def _occurs(indices: pa.Array, size: int) -> Any:
    """Which places of a dictionary of that size some row has. Mostly the first rows have all of them."""
    found = np.zeros(size, dtype=bool)
    start, end = 0, _FIRST_ROWS * size
    while start < len(indices) and not found.all():
        found[indices.slice(start, end - start).drop_null().to_numpy()] = True
        start, end = end, len(indices)
    return found
