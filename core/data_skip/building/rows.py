"""What one commit to an index holds: the records of the files that were collected, as columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet

import numpy as np
import pyarrow as pa

from data_skip.building.binding import Binding
from data_skip.building.collect import Collected
from data_skip.building.doubts import times_of_text
from data_skip.building.generations import Generations
from data_skip.building.index_report import IndexReport
from data_skip.index import Record
from data_skip.store.delta import rows_of
from data_skip.store.layout import BASE, definition_field

_CONVERSION_ERRORS = (pa.ArrowException, TypeError, ValueError, OverflowError)  # what pyarrow raises for values that are not of a type


def rows(files: Sequence[Collected], said: Generations, bindings: Sequence[Binding], report: IndexReport) -> pa.Table:
    """All records, and the generation of each file version of which one is said; `files`: what is known of the first of these.

    An unknown record is one whose fields are all null: it says that the file need not be collected again.

    Without a record, it is collected again by the next refresh.
    """
    others = len(said) - len(files)
    columns = {}
    for i, binding in enumerate(bindings):
        index, type_ = binding.index, binding.record_type
        dated = bool(times_of_text(binding))
        column, why = as_column([None if dated and file.undated else kept(file, i) for file in files], type_)
        if why:
            report.unknown.setdefault(str(index), why)
        columns[definition_field(index.column, type_, binding.definition)] = pa.chunked_array([column, pa.nulls(others, type_)])
    counts = [pa.array([None if file.unsteady else file.rows for file in files], pa.int64()), pa.nulls(others, pa.int64())]
    return rows_of(said.keys, pa.concat_arrays(counts), columns, said.numbers, np.arange(len(said)) < len(files))


def bytes_of_records(table: pa.Table) -> int:
    """Without those that only fill up the columns, of files that were not collected."""
    return int(table.filter(table["collected"]).select([name for name in table.column_names if name not in BASE.names]).nbytes)


def kept(file: Collected, index: int) -> Record:
    """What is kept of a file that was collected."""
    record = file.records[index]
    return {} if file.refused or record is None else record


def as_column(records: Sequence[Record | None], type_: pa.DataType) -> tuple[pa.Array, str]:
    """The records of an index as one column, those that do not fit their own fields as unknown ones; and why, "" where all fit."""
    try:
        return pa.array(records, type_), _misnamed(records, {field.name for field in type_})
    except _CONVERSION_ERRORS:
        fitting: list[Record | None] = []
        why = ""
        for record in records:
            try:
                fitting.append(pa.array([record], type_)[0].as_py())
            except _CONVERSION_ERRORS as error:
                why = why or f"a record does not fit its fields: {error}"
                fitting.append({})
        return pa.array(fitting, type_), why


def _misnamed(records: Iterable[Record | None], fields: AbstractSet[str]) -> str:
    """What records hold that is no field, where they lack fields; "" where there is none."""
    for record in records:
        if record and not fields >= record.keys() and not record.keys() >= fields:
            return f"a record has {', '.join(map(repr, sorted(record.keys() - fields)))}, and its fields are {', '.join(sorted(fields))}"
    return ""
