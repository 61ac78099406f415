"""The distinct values of a column, as they come batch by batch: for indexes to which a value tells nothing the second time."""

from __future__ import annotations

import pyarrow as pa

from data_skip.building.plain import used
from data_skip.indexes.distinct import unique

MOST_VALUES, MOST_BYTES = 1 << 20, 1 << 26  # that are held back
_FEW = 1 << 12
_MOSTLY = 0.5  # where more of a batch's values are distinct, to find the others takes longer than it saves


class DistinctValues:
    """Of a column. NULL is one of them; numbers are distinct by their bits. Where nearly all are distinct, some come more than once."""

    def __init__(self) -> None:
        self._parts: list[pa.Array] = []
        self._null: pa.Array | None = None
        self._values, self._bytes = 0, 0
        self._worth_it = True

    def add(self, array: pa.Array) -> None:
        """A batch."""
        if array.null_count:
            self._null = pa.nulls(1, _type(array))
        part = _unique(array) if self._worth_it else _held(array)
        self._worth_it &= len(part) <= max(_MOSTLY * len(array), _FEW)
        if not len(part):
            return
        self._parts.append(part)
        self._values += len(part)
        self._bytes += part.nbytes
        if self._worth_it and self._values > 2 * len(self._parts[0]) + _FEW:
            self._put_together()

    @property
    def full(self) -> bool:
        """Whether they are to be taken now."""
        return self._values > MOST_VALUES or self._bytes > MOST_BYTES

    def take(self) -> pa.Array | None:
        """The distinct values of the batches since they were taken last; None where there were none."""
        self._put_together()
        parts = [*self._parts, *([] if self._null is None else [self._null])]
        self._parts, self._null, self._values, self._bytes = [], None, 0, 0
        return pa.concat_arrays(parts) if parts else None

    def _put_together(self) -> None:
        if len(self._parts) > 1:
            together = pa.concat_arrays(self._parts)
            self._parts = [_unique(together) if self._worth_it else together]
            self._values, self._bytes = len(self._parts[0]), self._parts[0].nbytes


def _type(array: pa.Array) -> pa.DataType:
    return array.type.value_type if pa.types.is_dictionary(array.type) else array.type


def _held(array: pa.Array) -> pa.Array:
    """The non-null values of an array; of a dictionary each once, since all rows of it may take a multiple of memory."""
    return used(array) if pa.types.is_dictionary(array.type) else array.drop_null()


def _unique(array: pa.Array) -> pa.Array:
    """The distinct non-null values of an array."""
    return unique(_held(array))
