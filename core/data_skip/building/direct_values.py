"""Direct values: of a column that has few, tasks find the different ones by pyarrow, and Spark evaluates expressions of these alone.

To read, decode and group all rows takes Spark five times as long. This is one more way to make the rows of grouped.py: Spark is given each
value of a file once, with its count. Where a file is not surely read as Spark reads it, or has many values, Spark reads all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import LongType, StructType

from data_skip.building.binding import Binding
from data_skip.building.collect import COUNT, REFUSED, TOLD, WHOLE, told_number
from data_skip.building.direct import tasks_of
from data_skip.building.distinct_values import MOST_BYTES
from data_skip.building.file_records import batches_of
from data_skip.building.lifting import Part, is_local
from data_skip.building.plain import NotPlain, decoded, is_plain, why_not
from data_skip.building.same_code import Code
from data_skip.data_types import arrow_type
from data_skip.expression import Column, columns_of
from data_skip.index import Index
from data_skip.spark.archives import forget_archives
from data_skip.store.settings import relevant

_MOSTLY, _FEW = 0.5, 1 << 12  # of the rows of a batch, more than so many values are not few
_VALUES = 1 << 16  # that go to Spark at once
_OF_TIMES = {"date": pa.date32(), "timestamp": pa.timestamp("us", "UTC"), "timestamp_ntz": pa.timestamp("us")}
Batches = Iterable[pa.RecordBatch]


def column_of(bindings: Sequence[Binding], schema: StructType, options: Iterable[str]) -> Column | None:
    """The one column that indexes read, where tasks may read it themselves; `options`: those that the table is read with."""
    columns = columns_of([tree for binding in bindings for tree in binding.definition.bound_expressions])
    reader = bindings[0].definition.reader
    of_reading = relevant(reader["session"] or {}, reader["format"], False, True)  # what else is told of the session, Spark heeds as ever
    if len(columns) != 1 or why_not({**reader, "session": of_reading}, list(options)):
        return None
    (column,) = columns
    as_read = len(column.path) == 1 and is_plain(column) and not schema[column.path[0]].metadata  # of char(n), for one, Spark pads values
    return column if as_read and schema[column.path[0]].dataType.simpleString() == column.type else None


def values_told(
    spark: SparkSession, files: Sequence[Part], column: Column, schema: StructType, indexes: Sequence[Index]
) -> DataFrame | None:
    """Each value of a column in each file once: what `told_of` says of its file, the value, its count; None where tasks see no such file.

    A file that is not to be read so is told as one with a refused row.
    """
    if not all(is_local(file.uri) for file in files):
        return None
    tasks = tasks_of(files, spark.sparkContext.defaultParallelism)
    told = StructType().add(TOLD, LongType()).add(schema[column.path[0]]).add(COUNT, LongType())
    code = Code.of(indexes)
    return spark.range(0, len(tasks), 1, len(tasks)).mapInArrow(_teller(tasks, column, code), told)


def _teller(tasks: list[list[Part]], column: Column, code: Code) -> Callable[[Batches], Batches]:
    """The function that runs in Spark's tasks."""

    def tell(batches: Batches) -> Iterator[pa.RecordBatch]:
        code.check()
        forget_archives()
        for file in (file for batch in batches for place in batch.column(0).to_pylist() for file in tasks[place]):
            try:
                values, counts = _counted(file, column)
                told = told_number(file.number, WHOLE)
            except Exception:  # whatever it is: Spark reads the file, or says what is wrong with it
                values, counts = pa.nulls(1, _arrow_type(column.type)), pa.array([1], pa.int64())
                told = told_number(file.number, REFUSED)
            for start in range(0, len(counts), _VALUES):
                some, count = values.slice(start, _VALUES), counts.slice(start, _VALUES)
                yield pa.RecordBatch.from_arrays([pa.array([told] * len(count), pa.int64()), some, count], [TOLD, column.path[0], COUNT])

    return tell


def _counted(file: Part, column: Column) -> tuple[pa.Array, pa.Array]:
    """The different values of a column of a file, NULL among them, and how often each is there. NotPlain where they are many."""
    type_ = _arrow_type(column.type)
    known = pa.table({"value": pa.array([], type_), "count": pa.array([], pa.int64())})
    for batch in batches_of(file, [column]):
        array = batch[column.path]
        found = array.value_counts()
        values, counts = decoded(found.field("values")).view(type_), found.field("counts")
        if len(values) > max(_MOSTLY * len(array), _FEW):
            raise NotPlain(f"column {column} has many values")
        known = pa.concat_tables([known, pa.table({"value": values, "count": counts})])
        known = known.group_by("value", use_threads=False).aggregate([("count", "sum")]).rename_columns(["value", "count"])
        if known.nbytes > MOST_BYTES:
            raise NotPlain(f"column {column} has many values")
    return known["value"].combine_chunks(), known["count"].combine_chunks()


def _arrow_type(type_: str) -> pa.DataType:
    """The Arrow type of which Spark takes values."""
    return _OF_TIMES.get(type_) or arrow_type(type_)
