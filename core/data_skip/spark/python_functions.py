"""Python functions of a query, called on the driver as Spark's workers would call them on rows.

Only where both sides exchange values as they are: text, booleans, numbers. After an exception, for a result of another type than the
function was registered with, or once the function has taken too long, its result is unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark.serializers import CloudPickleSerializer

from data_skip.clause import Mask
from data_skip.data_types import INTEGRAL, arrow_type
from data_skip.expression import Call

SECONDS = 1.0  # that a function may take while one predicate is planned
_VALUES_AT_ONCE = 1000  # of a vectorised function
_ROW_AT_A_TIME, _PANDAS, _ARROW = (100, 101), 200, 250  # Spark's PythonEvalType
_RESULTS: dict[str, type] = {"string": str, "boolean": bool, **dict.fromkeys(INTEGRAL, int), "double": float}  # and their Python types
_ELEMENTS = ("int", "bigint", "float", "double")
# What both sides exchange as it is.
ARGUMENTS = {name: arrow_type(name) for name in (*_RESULTS, "float", *(f"array<{element}>" for element in _ELEMENTS))}
Function = Callable[..., Any]
Chunk = tuple[int, Sequence[Any]]  # where in the rows it begins, and its results


def call(node: Call, code: bytes, columns: Sequence[pa.Array]) -> tuple[pa.Array, Mask] | None:
    """The results of a Python function for each row, and which of them are known; None where it cannot be called here.

    node: a PythonUDF of the query; code: as Spark ships it to its workers; columns: its arguments, of equal length.
    """
    kind = int(node.parameter("evalType"))
    if node.type not in _RESULTS or not columns or kind not in (*_ROW_AT_A_TIME, _PANDAS, _ARROW):
        return None
    if kind not in _ROW_AT_A_TIME and any(pa.types.is_nested(column.type) for column in columns):
        return None
    wanted, type_ = _RESULTS[node.type], arrow_type(node.type)
    function, _ = CloudPickleSerializer().loads(code)
    rows = len(columns[0])
    results: list[Any] = [None] * rows
    known = np.zeros(rows, dtype=bool)
    start = perf_counter()
    for at, found in _one_by_one(function, columns) if kind in _ROW_AT_A_TIME else _vectorised(function, columns, kind, type_):
        for i, result in enumerate(found, at):
            if result is None or (type(result) is wanted and _fits(result, type_)):
                results[i], known[i] = result, True
        if perf_counter() - start > SECONDS:
            break
    return pa.array(results, type_), known


def _fits(result: Any, type_: pa.DataType) -> bool:
    """Whether the result is a value of the type: Spark wraps a number round that is too large, and refuses half a surrogate pair."""
    try:
        pa.scalar(result, type_)
    except (pa.ArrowException, ValueError, OverflowError):
        return False
    return True


def _one_by_one(function: Function, columns: Sequence[pa.Array]) -> Iterator[Chunk]:
    for at, arguments in enumerate(zip(*(column.to_pylist() for column in columns), strict=True)):
        try:
            yield at, [function(*arguments)]
        except (Exception, SystemExit):  # then Spark raises one too, for a row with these values
            continue


def _vectorised(function: Function, columns: Sequence[pa.Array], kind: int, type_: pa.DataType) -> Iterator[Chunk]:
    for at in range(0, len(columns[0]), _VALUES_AT_ONCE):
        arrays = [column.slice(at, _VALUES_AT_ONCE) for column in columns]
        try:
            found = function(*(array.to_pandas() for array in arrays)) if kind == _PANDAS else function(*arrays)
        except (Exception, SystemExit):
            continue
        if isinstance(found, pd.Series):
            found = _as_arrow(found, type_)
        if isinstance(found, pa.Array) and found.type == type_ and len(found) == len(arrays[0]):
            yield at, found.to_pylist()


def _as_arrow(series: pd.Series, type_: pa.DataType) -> pa.Array | None:
    """The series where it is of the type by itself, so that nothing is left for Spark to convert."""
    try:
        found = pa.Array.from_pandas(series)
    except (pa.ArrowException, ValueError):
        return None
    return pa.nulls(len(found), type_) if pa.types.is_null(found.type) else found
