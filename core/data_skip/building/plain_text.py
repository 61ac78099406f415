"""Plain text: which CSV files and files of JSON lines pyarrow reads exactly as Spark does. This is the one place where that is claimed.

Of a table, by how it is read (`text_reader`); of a file, by all of its bytes (`batch_of`). Each record is one line, and what is left is
what no two parsers take apart differently. Spark reads a file with anything else: an escape, a quote inside of a value, a character of
control, bytes that are no UTF-8, a mark of their order, another number of values or other fields than the table's, a number or a time that
is not written in the usual way.

CSV. Whatever columns a query asks for, a value is what its own text says: only that of the columns that are asked for is looked at here. Of
a record that is malformed elsewhere a query may see the same values, or none of it.

JSON. What a malformed record gives depends on the columns that a query asks for, so all of them are parsed here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.json

from data_skip.building.plain import NotPlain, is_plain
from data_skip.data_types import INTEGRAL, arrow_type
from data_skip.expression import Column
from data_skip.store.reader import WITH_MALFORMED, malformed_column
from data_skip.store.settings import EFFECTIVE_IN_EXPRESSIONS, FIRST_PART, SQL, SYSTEMS, ZONE_RULES

Bytes = npt.NDArray[np.uint8]
_OPTIONS = {"csv": ("header", "sep", "delimiter", "mode"), "json": ("mode",)}  # by `mode`, a malformed record is left out, or an error
# None of them changes what is let pass: numbers as ASCII has them, dates, and moments that say that they are of UTC.
_SETTINGS = (*EFFECTIVE_IN_EXPRESSIONS, ZONE_RULES, *FIRST_PART)
_POLICY = f"{SQL}legacy.timeParserPolicy"  # but this one, at its default
_SEPARATORS = (",", ";", "|", "\t")
_MOST_COLUMNS = 10_000  # Spark's parser of CSV takes twice as many
_LONGEST_LINE, _LONGEST_NUMBER = 1 << 20, 1_000  # Spark's parser of JSON takes text of twenty times as much, and such numbers
_NUMBERS = re.compile(b"[-+.0-9Ee]{%d}" % _LONGEST_NUMBER)
_BLANK_LINE = re.compile(b"\n[\t ]+\n")
_NAMES = {"byte": "tinyint", "short": "smallint", "integer": "int", "long": "bigint"}  # as schemas write types
# Of decimals pyarrow drops digits for which there is no room, and of a float it is not as sure what each makes.
_TYPES = ("string", "boolean", "double", "date", "timestamp", *INTEGRAL)
_OF_LAYOUTS = {"d": b"0123456789", "s": b"+-"}
_DAY = "dddd-dd-dd"
_TIMES = {  # how they are written: d is a digit, s a sign
    "date": (_DAY,),
    "timestamp": tuple(
        f"{_DAY}{between}dd:dd:dd{part}{zone}" for zone in ("Z", "", "sdd:dd") for between in "T " for part in ("", ".ddd", ".dddddd")
    ),
}
_MARK = "\ufeff".encode()
_LEAST_FRACTION = 1e-37  # parsers differed in those that are nearly too small for their type
_OF_NUMBERS = {
    kind: np.frombuffer(letters, np.uint8) for kind, letters in {"whole": b"-0123456789", "fraction": b"-+.eE0123456789"}.items()
}


@dataclass(frozen=True)
class TextReader:
    """How a table of text is read: all columns of its files, in order, by names and types."""

    format: str
    columns: tuple[tuple[str, str], ...]
    header: bool = False
    separator: str = ","


def is_plain_text(column: Column) -> bool:
    """Whether it is a column, and no field of one, of a type that may be read so."""
    return is_plain(column) and len(column.path) == 1 and column.type in _TYPES


def text_reader(reader: Mapping[str, Any], options: Iterable[str]) -> TextReader | None:
    """A reader of CSV or JSON, where pyarrow may read plain files as it does. `options`: all that the user gave."""
    given, session = reader["options"], reader["session"] or {}
    if reader["format"] not in WITH_MALFORMED or malformed_column(reader) is not None or len(reader["columns"]) > _MOST_COLUMNS:
        return None
    if any(key not in _OPTIONS[reader["format"]] for key in given) or any(key.lower().startswith(SYSTEMS) for key in options):
        return None
    if any(key not in _SETTINGS for key in session) or session.get(_POLICY) != "CORRECTED":
        return None
    columns = tuple((name, _NAMES.get(type_, type_) if isinstance(type_, str) else "") for name, type_, *_ in reader["columns"])
    if any(default is not None for _, _, default, *_ in reader["columns"]):
        return None
    if reader["format"] == "json":
        return TextReader("json", columns) if all(type_ in _TYPES for _, type_ in columns) else None
    separator = given.get("sep", given.get("delimiter", ",")).replace("\\t", "\t")
    header = given.get("header", "false") == "true"
    return TextReader("csv", columns, header, separator) if separator in _SEPARATORS else None


def batch_of(lines: bytes, reader: TextReader, names: Sequence[str], first: bool) -> dict[tuple[str, ...], pa.Array]:
    """The values of columns in some lines of a file, in Spark's own representation; first: whether it begins with them.

    NotPlain, or an error of pyarrow, where Spark may read others.
    """
    array = np.frombuffer(lines, np.uint8)
    ends = np.flatnonzero(array == ord("\n"))
    _check_bytes(lines, array, len(ends))
    if reader.format == "json":
        return _batch_of_json(lines, array, ends, reader, names)
    if first and reader.header:
        if array[0] <= ord(" "):
            raise NotPlain("its header is not its first line")
        _, _, lines = lines.partition(b"\n")
        array = np.frombuffer(lines, np.uint8)
    return _batch_of_csv(lines, array, reader, names)


def _check_bytes(lines: bytes, array: Bytes, count: int) -> None:
    """NotPlain where there is more than text in UTF-8, and `count` ends of lines. A tab is text, outside of JSON's strings."""
    if np.count_nonzero(array < ord(" ")) != count + lines.count(b"\t"):
        raise NotPlain("it has characters of control")
    if array.max(initial=0) > 127:
        pa.array([lines], pa.binary()).cast(pa.string())
        if _MARK in lines:
            raise NotPlain("it has a mark of the order of bytes")


def _batch_of_csv(lines: bytes, array: Bytes, reader: TextReader, names: Sequence[str]) -> dict[tuple[str, ...], pa.Array]:
    if _BLANK_LINE.search(b"\n" + lines + b"\n"):  # Spark leaves it out, though there may be tabs between values in it
        raise NotPlain("it has a blank line")
    _check_quotes(lines, array, reader.separator)
    places = {name: str(i) for i, (name, _) in enumerate(reader.columns)}
    types = dict(reader.columns)
    if not lines.strip(b"\n"):
        return {(name,): pa.array([], arrow_type(types[name])) for name in names}
    table = pa.csv.read_csv(
        pa.BufferReader(lines),
        pa.csv.ReadOptions(use_threads=False, block_size=len(lines) + 1, column_names=list(places.values())),
        pa.csv.ParseOptions(delimiter=reader.separator, double_quote=False),
        pa.csv.ConvertOptions(
            check_utf8=False,
            column_types=dict.fromkeys(places.values(), pa.string()),
            include_columns=[places[name] for name in names],
            null_values=[""],
            strings_can_be_null=True,
        ),
    )
    return {(name,): _values(_whole(table.column(places[name])), types[name]) for name in names}


def _check_quotes(lines: bytes, array: Bytes, separator: str) -> None:
    """NotPlain unless all quotes stand around whole values: in a line, with some text, and no other quote or escape in it."""
    if b"\\" in lines:
        raise NotPlain("it has a backslash")
    quotes = np.flatnonzero(array == ord('"'))
    if not len(quotes):
        return
    around = np.concatenate(([ord("\n")], array, [ord("\n")]))
    borders = (ord("\n"), ord(separator))
    opened, closed = quotes[::2], quotes[1::2]
    if len(quotes) % 2 or not np.isin(around[opened], borders).all() or not np.isin(around[closed + 2], borders).all():
        raise NotPlain("it has a quote inside of a value")
    ends = np.flatnonzero(array == ord("\n"))
    if (closed == opened + 1).any() or (np.searchsorted(ends, opened) != np.searchsorted(ends, closed)).any():
        raise NotPlain("it has quotes around nothing, or around a line feed")


def _batch_of_json(
    lines: bytes, array: Bytes, ends: npt.NDArray[np.int64], reader: TextReader, names: Sequence[str]
) -> dict[tuple[str, ...], pa.Array]:
    if b"\\u" in lines:  # of half a pair, Java makes a question mark
        raise NotPlain("it has escapes of Unicode")
    ends = ends if lines.endswith(b"\n") else np.append(ends, len(lines))
    starts = np.concatenate(([0], ends[:-1] + 1))
    # Since no value is an object, nor holds a line feed, such a line is one or more objects: by their number, one.
    if not ((array[starts] == ord("{")).all() and (array[ends - 1] == ord("}")).all()):
        raise NotPlain("it has lines that are more, or less, than an object")
    longest = (ends - starts).max()
    if longest > _LONGEST_LINE or (longest > _LONGEST_NUMBER and _NUMBERS.search(lines)):
        raise NotPlain("it has long lines or numbers")
    schema = pa.schema([(name, pa.string() if type_ in _TIMES else arrow_type(type_)) for name, type_ in reader.columns])
    table = pa.json.read_json(
        pa.BufferReader(lines),
        pa.json.ReadOptions(use_threads=False, block_size=len(lines) + 1),
        pa.json.ParseOptions(schema, newlines_in_values=False, unexpected_field_behavior="error"),
    )
    if len(table) != len(ends):
        raise NotPlain("it has lines of more than an object")
    found = {name: _values(_whole(table.column(name)), type_, name in names) for name, type_ in reader.columns}
    return {(name,): found[name] for name in names}


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _values(array: pa.Array, type_: str, asked: bool = True) -> pa.Array:
    """Values of a type in Spark's own representation, of a column's text, or of what a parser of JSON made of it.

    asked: whether they are asked for, and not only whether Spark finds some in all of it.
    """
    of_text, wanted = pa.types.is_string(array.type), arrow_type(type_)
    if type_ in _TIMES:
        return _times(array, type_, asked).view(wanted)
    if type_ == "boolean" and of_text:
        if not pc.all(pc.is_in(array.drop_null(), pa.array(["true", "false"])), min_count=0).as_py():
            raise NotPlain("it has other words than true and false")
        return pc.equal(array, "true")
    if type_ != "string" and of_text:
        _check_letters(array, _OF_NUMBERS["fraction" if type_ == "double" else "whole"])
    array = array.cast(wanted)
    if type_ == "double":
        numbers = array.drop_null().to_numpy()
        sizes = np.abs(numbers)
        if not (np.isfinite(sizes) & ((sizes == 0) | (sizes > _LEAST_FRACTION))).all():
            raise NotPlain("it has numbers that are too large, or too small")
        if not of_text and (np.signbit(numbers) & (numbers == 0)).any():  # of -0 parsers of JSON make 0.0
            raise NotPlain("it has a zero with a sign")
    return array


def _check_letters(array: pa.Array, allowed: Bytes) -> None:
    if not np.isin(_text_of(array), allowed, kind="table").all():
        raise NotPlain("it has numbers that are not written in the usual way")


def _times(array: pa.Array, type_: str, asked: bool) -> pa.Array:
    """Dates or moments of texts that are all written alike."""
    found = array.drop_null()
    widths = pc.binary_length(found).to_numpy()
    texts = _text_of(found).reshape(-1, widths[0]) if len(widths) and (widths == widths[0]).all() else np.empty((0, 0), np.uint8)
    layout = next((layout for layout in _TIMES[type_] if _is_written(texts, layout)), None)
    if layout is None and len(found):
        raise NotPlain("it has times that are not written in the usual way, or in several")
    if type_ == "date":
        return array.cast(pa.date32())
    if layout is None or layout[-1] == "Z" or "s" in layout:
        return array.cast(pa.timestamp("us", "UTC"))
    if asked:
        raise NotPlain("it has times of the session's zone")
    return array.cast(pa.timestamp("us"))


def _is_written(texts: Bytes, layout: str) -> bool:
    """Whether all texts, a row each, are written so; and less than 18 hours from UTC, as Java wants it."""
    if texts.shape[1] != len(layout):
        return False
    letters = np.frombuffer(layout.encode(), np.uint8)
    for letter in {*layout}:
        allowed = np.frombuffer(_OF_LAYOUTS.get(letter, letter.encode()), np.uint8)
        if not np.isin(texts[:, letters == ord(letter)], allowed, kind="table").all():
            return False
    return "s" not in layout or bool((texts[:, -5] * np.int16(10) + texts[:, -4] < ord("0") * 11 + 18).all())


def _text_of(array: pa.Array) -> Bytes:
    """The bytes of all texts of an array, one after the other; of NULL there are none."""
    _, offsets, data = array.buffers()
    if data is None:
        return np.empty(0, np.uint8)
    ends = np.frombuffer(offsets, np.int32)
    return np.frombuffer(data, np.uint8)[ends[array.offset] : ends[array.offset + len(array)]]
