"""Records of fields of fixed width, put where they stay as they are read: to join what was read takes as much memory once more."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

_WIDTHS = (8, 16, 32, 64)  # bits of a value


def is_of_fixed_width(type_: pa.DataType) -> bool:
    """Whether `gathered` is for records of a type."""
    return pa.types.is_struct(type_) and all(pa.types.is_primitive(field.type) and field.type.bit_width in _WIDTHS for field in type_)


def gathered(batches: Iterable[pa.RecordBatch], schema: pa.Schema, count: int) -> dict[str, pa.StructArray]:
    """The records of each column of so many rows, of which some come at a time."""
    columns = {field.name: _Records(field.type, count) for field in schema}
    at = 0
    for batch in batches:
        for name, records in columns.items():
            records.add(at, batch[name])
        at += len(batch)
    return {name: records.joined() for name, records in columns.items()}


class _Valid:
    """Which of some values are not null."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._flags: npt.NDArray[np.bool_] | None = None  # None: all

    def add(self, at: int, values: pa.Array) -> None:
        """Of the values from a place on."""
        if values.null_count:
            if self._flags is None:
                self._flags = np.ones(self._count, dtype=bool)
            self._flags[at : at + len(values)] = values.is_valid().to_numpy(zero_copy_only=False)

    @property
    def buffer(self) -> pa.Buffer | None:
        """As Arrow has it."""
        return None if self._flags is None else pa.py_buffer(np.packbits(self._flags, bitorder="little"))


class _Records:
    """Those of one column."""

    def __init__(self, type_: pa.StructType, count: int) -> None:
        self._type, self._count = type_, count
        self._valid = _Valid(count)
        # Of zeros, as in counts of NULL, no page is written, and so none takes memory.
        self._fields = [(np.zeros(count, dtype=f"u{field.type.bit_width // 8}"), _Valid(count)) for field in type_]

    def add(self, at: int, records: pa.StructArray) -> None:
        """Those of the rows from a place on."""
        self._valid.add(at, records)
        for i, (values, valid) in enumerate(self._fields):
            part = records.field(i)
            valid.add(at, part)
            if len(part):
                read = np.frombuffer(part.buffers()[1], dtype=values.dtype)[part.offset : part.offset + len(part)]
                if read.any():
                    values[at : at + len(part)] = read

    def joined(self) -> pa.StructArray:
        """All of them."""
        fields = [
            pa.Array.from_buffers(field.type, self._count, [valid.buffer, pa.py_buffer(values)])
            for field, (values, valid) in zip(self._type, self._fields, strict=True)
        ]
        return pa.Array.from_buffers(self._type, self._count, [self._valid.buffer], children=fields)
