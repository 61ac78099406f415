"""Collecting records: one pass over the data, however many indexes.

Spark reads the files with the table's own reader, evaluates every index expression, and hands Arrow batches to
`_summarize` in its tasks, which cuts them at the borders of files and asks each index for the record of each piece. The driver
merges the pieces of a file.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from data_skip.building.same_code import Code
from data_skip.index import Index, Record
from data_skip.spark.archives import forget_archives
from data_skip.store.new_parts import NewPart

FILE, TOLD, HELD, COUNT = "data_skip_file", "data_skip_told", "data_skip_held", "data_skip_count"
OUTPUT = "file long, found binary"
# One number is told of each row: that of its file, and in its lowest bits what follows. A further column would cost as much as an index.
REFUSED, UNDATED, WHOLE, READ_ALL = (1 << bit for bit in range(4))
_FLAGS = 4
_HELD_BITS = 60  # of further numbers, a bit a condition
_ROWS = 1 << 18  # of a batch that is made of counted ones
_WRITTEN = 1 << 25  # bytes of pickled records, at which a task writes them
Of = TypeVar("Of")


@dataclass
class Collected:
    """What one pass found about a file. A record is None where it is unknown."""

    rows: int = 0
    refused: bool = False
    undated: bool = False  # some of its times may have been read as ones of the day of collecting
    held: int = 0  # a bit for each condition that `told_of` was given: whether it is true of some row
    records: list[Record | None] = field(default_factory=list)
    unsteady: bool = False  # what it gives may depend on how it is cut into parts
    part: NewPart | None = None  # in which its records are; then it has none itself


Write = Callable[[Mapping[int, Collected]], dict[int, str]]  # as TaskParts.write


def collect(rows: DataFrame, indexes: list[Index], failures: dict[Index, str], write: Write | None = None) -> dict[int, Collected]:
    """The records of each file by its number.

    write: what tasks do with those of whole files; None: they give them back.

    `rows` has the columns of `told_of` and `expressions_of`, or is what `grouped` makes of them.
    A file with a refused row gets no records. `failures` is told of the first error of each index.
    """
    found: dict[int, Collected] = {}
    for piece in rows.mapInArrow(_summarizer(indexes, write), OUTPUT).collect():
        part, errors = pickle.loads(piece["found"])
        for i, error in errors.items():
            failures.setdefault(indexes[i], error)
        file = found.get(piece["file"])
        if file is None:
            found[piece["file"]] = part
        else:
            add(file, part, indexes, failures)
    for file in found.values():
        if not file.part:
            file.records = finish_records(indexes, file.records, failures)
    return found


def add(file: Collected, part: Collected, indexes: list[Index], failures: dict[Index, str]) -> None:
    """Adds to what is known of a file what a further piece of it holds."""
    file.rows += part.rows
    file.refused |= part.refused
    file.undated |= part.undated
    file.held |= part.held
    file.records = merge_records(indexes, file.records, part.records, failures)


def merge_records(indexes: list[Index], a: list[Record | None], b: list[Record | None], failures: dict[Index, str]) -> list[Record | None]:
    """For each index the record of two pieces of one file."""
    merged: list[Record | None] = []
    for index, one, other in zip(indexes, a, b, strict=True):
        try:
            merged.append(None if one is None or other is None else index.merge(one, other))
        except Exception as error:  # a plugin may do anything: its record is unknown
            failures.setdefault(index, f"merge: {type(error).__name__}: {error}")
            merged.append(None)
    return merged


def finish_records(indexes: list[Index], records: list[Record | None], failures: dict[Index, str]) -> list[Record | None]:
    """For each index the record to keep of a whole file."""
    finished: list[Record | None] = []
    for index, record in zip(indexes, records, strict=True):
        try:
            finished.append(None if record is None else index.finish(record))
        except Exception as error:  # a plugin may do anything: its record is unknown
            failures.setdefault(index, f"finish: {type(error).__name__}: {error}")
            finished.append(None)
    return finished


def _summarizer(indexes: list[Index], write: Write | None = None) -> Callable[[Iterable[pa.RecordBatch]], Iterable[pa.RecordBatch]]:
    """The function that runs in Spark's tasks: batches of rows to one row a piece of a file."""

    code = Code.of(indexes)

    def summarize(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        code.check()
        forget_archives()
        pieces: dict[int, Collected] = {}
        whole: set[int] = set()  # files that no other task has a piece of
        errors: dict[int, str] = {}
        failures: dict[Index, str] = {}
        for batch in batches:
            names = batch.schema.names
            told = [batch.column(i).to_numpy() for i, name in enumerate(names) if name.startswith((TOLD, HELD))]
            counts = batch.column(COUNT).to_numpy() if COUNT in names else None
            values = batch.select([name for name in names if not name.startswith((TOLD, HELD, COUNT))])
            for start, end in _pieces(told[0] >> _FLAGS):
                flags, *held = (int(np.bitwise_or.reduce(bits[start:end])) for bits in told)
                columns = values.slice(start, end - start).columns
                known = sum(bits << _HELD_BITS * i for i, bits in enumerate(held))
                part = Collected(end - start, bool(flags & REFUSED), bool(flags & UNDATED), known)
                if counts is None:
                    part.records = collect_records(indexes, columns, errors)
                else:
                    part.rows = int(counts[start:end].sum())
                    part.records = _collect_counted(indexes, columns, counts[start:end], errors, failures)
                number = flags >> _FLAGS
                if number in pieces:
                    add(pieces[number], part, indexes, failures)
                else:
                    pieces[number] = part
                    whole |= {number} if flags & WHOLE else set()
        for number in whole:
            pieces[number].records = finish_records(indexes, pieces[number].records, failures)
        errors |= {i: failures[index] for i, index in enumerate(indexes) if index in failures}
        if write is not None:
            for some in written_at_once((number, pieces[number]) for number in whole):
                errors |= write({number: file for number, file in some if not file.refused and not file.undated})
        for number, file in pieces.items():
            yield pa.RecordBatch.from_pylist([{"file": number, "found": pickle.dumps((file, errors))}])

    return summarize


def written_at_once(files: Iterable[tuple[Of, Collected]]) -> Iterator[list[tuple[Of, Collected]]]:
    """What belongs to files, and these, as many at a time as are written together."""
    some, size = list[tuple[Of, Collected]](), 0
    for of, file in files:
        some.append((of, file))
        size += len(pickle.dumps(file.records))
        if size >= _WRITTEN:
            yield some
            some, size = [], 0
    if some:
        yield some


def _pieces(files: npt.NDArray[np.int64]) -> list[tuple[int, int]]:
    """The stretches of a batch that come from one file each."""
    if len(files) == 0:
        return []
    cuts = (np.flatnonzero(files[1:] != files[:-1]) + 1).tolist()
    return list(zip([0, *cuts], [*cuts, len(files)], strict=True))


def collect_records(indexes: list[Index], columns: list[pa.Array], errors: dict[int, str]) -> list[Record | None]:
    """For each index the record of one piece of a file; `columns` holds the values of every index's expressions in order."""
    records: list[Record | None] = []
    for i, index in enumerate(indexes):
        own, columns = columns[: len(index.inputs)], columns[len(index.inputs) :]
        record, why = record_of(index, own)
        if why:
            errors.setdefault(i, why)
        records.append(record)
    return records


def record_of(index: Index, columns: list[pa.Array]) -> tuple[Record | None, str]:
    """The record of some rows, and "", or why it is unknown; `columns` holds the values of the index's expressions."""
    values = [physical(array, alone=len(columns) == 1) for array in columns]
    try:
        for array in values:
            array.validate(full=True)  # text that is no UTF-8 has no order that all readers agree on
        return index.collect(*values), ""
    except Exception as error:  # a plugin may do anything: its record is unknown
        return None, f"collect: {type(error).__name__}: {error}"


def _collect_counted(
    indexes: list[Index], columns: list[pa.Array], counts: npt.NDArray[np.int64], errors: dict[int, str], failures: dict[Index, str]
) -> list[Record | None]:
    """The records of rows that come as often as `counts` says: of an index to which that tells nothing, once; of another, as often."""
    records: list[Record | None] = []
    for i, index in enumerate(indexes):
        own, columns = columns[: len(index.inputs)], columns[len(index.inputs) :]
        found: list[Record | None] = []
        for rows in [own] if takes_distinct(index) else _repeated(own, counts):
            record, why = record_of(index, rows)
            if why:
                errors.setdefault(i, why)
            found = merge_records([index], found, [record], failures) if found else [record]
        records += found
    return records


def _repeated(columns: list[pa.Array], counts: npt.NDArray[np.int64]) -> Iterator[list[pa.Array]]:
    """Rows as often as `counts` says, a batch at a time."""
    ends = counts.cumsum()
    for start in range(0, int(ends[-1]), _ROWS):
        rows = pa.array(np.searchsorted(ends, np.arange(start, min(start + _ROWS, ends[-1])), side="right"))
        yield [array.take(rows) for array in columns]


def takes_distinct(index: Index) -> bool:
    """Whether values that come again tell an index nothing, by the class that defines its `collect`."""
    if "collect" in vars(index):
        return False
    for kind in type(index).__mro__:
        if "distinct" in vars(kind):
            return bool(vars(kind)["distinct"])
        if "collect" in vars(kind):
            return False
    return False


def physical(array: pa.Array, alone: bool = True) -> pa.Array:
    """Values in Spark's own representation: days for dates, microseconds for timestamps; of arrays their elements.

    Arrays are left as they are for an index over more than one expression: elements.py says why.
    """
    while alone and _is_array(array.type):
        without = int(np.sum(pc.fill_null(pc.list_value_length(array), 0).to_numpy(zero_copy_only=False) == 0))
        array = pa.concat_arrays([array.flatten(), pa.nulls(without, array.type.value_type)])
    wanted = physical_type(array.type, alone)
    return array if array.type == wanted else array.cast(wanted)


def physical_type(type_: pa.DataType, alone: bool = True) -> pa.DataType:
    """The Arrow type in which values of an Arrow type are kept in records; of arrays, that of their elements, as in `physical`."""
    while alone and _is_array(type_):
        type_ = type_.value_type
    if pa.types.is_date32(type_):
        return pa.int32()
    return pa.int64() if pa.types.is_timestamp(type_) else type_


def _is_array(type_: pa.DataType) -> bool:
    return pa.types.is_list(type_) or pa.types.is_large_list(type_)


def named(*path: str) -> Column:
    """The column of that very name, which may hold dots and backticks; of more names, the field of a field."""
    return F.col(".".join("`" + name.replace("`", "``") + "`" for name in path))


def told_number(number: int, flags: int) -> int:
    """What `told_of` tells of each row of a file of that number."""
    return number << _FLAGS | flags


def told_of(
    frame: DataFrame, number: str, malformed: str | None, undated: Column | None, held: Sequence[Column], in_parts: bool = False
) -> list[Column]:
    """The numbers that are told of each row, of a DataFrame that reads files.

    number: the column that numbers them. in_parts: whether rows of one file may reach several tasks, however it is read.
    malformed: the column of a text format that holds records which the reader could not parse. What such a record gives depends on the
    columns that a query reads, so every column is asked for here, and a file with such a record is refused.
    undated: whether times of a row may have been read as ones of today; see doubts.py.
    held: what some row of a file must have; see doubts.py.
    """
    refused, read_all = F.lit(False), F.lit(False)
    if malformed is not None:
        refused = named(malformed).isNotNull()
        read_all = any_of([named(name).isNull() for name in frame.columns if name not in (malformed, number)])
    metadata = frame.metadataColumn("_metadata")  # which a column of the files may be called as well
    whole = F.lit(False) if in_parts else metadata["file_block_length"] == metadata["file_size"]
    doubtful = F.lit(False) if undated is None else undated
    told = F.shiftleft(named(number).cast("long"), _FLAGS)
    for bit, condition in {REFUSED: refused, UNDATED: doubtful, WHOLE: whole, READ_ALL: read_all}.items():
        told = told.bitwiseOR(_bit(bit, condition))
    chunks = [held[i : i + _HELD_BITS] for i in range(0, len(held), _HELD_BITS)]
    more = [reduce(Column.bitwiseOR, (_bit(1 << j, condition) for j, condition in enumerate(chunk))) for chunk in chunks]
    return [told.alias(TOLD), *(bits.alias(f"{HELD}{i}") for i, bits in enumerate(more))]


def any_of(conditions: Sequence[Column]) -> Column:
    """Whether one of them is true: halves of halves, since Spark goes down a tree by calls, and a table may have thousands of columns."""
    if len(conditions) < 2:
        return conditions[0] if conditions else F.lit(False)
    half = len(conditions) // 2
    return any_of(conditions[:half]) | any_of(conditions[half:])


def expressions_of(indexes: list[Index]) -> list[Column]:
    """What indexes are made of."""
    return [F.expr(sql).alias(f"e{i}") for i, sql in enumerate(sql for index in indexes for sql in index.inputs)]


def _bit(bit: int, condition: Column) -> Column:
    """The bit of a row of which the condition is true."""
    return F.when(condition, F.lit(bit).cast("long")).otherwise(F.lit(0).cast("long"))
