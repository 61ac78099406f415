"""Binding an index to a table: from SQL text to the tree and types that Spark makes of it, or a refusal that says why."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import DataType

from data_skip.building.collect import physical_type
from data_skip.errors import DataSkipError
from data_skip.expression import Call, Column, Expression, calls_python, decode
from data_skip.index import Index
from data_skip.proofs.elements import indexed
from data_skip.proofs.steady import why_unsteady, why_unsteady_as_read
from data_skip.spark.bridge import Scan
from data_skip.spark.errors import first_line, not_understood
from data_skip.spark.jvm import Jvm
from data_skip.store.definition import Definition
from data_skip.store.reader import Reading, difference, unsure

_SHOWN = 300  # characters of what is wrong
_NOT_DONE = "which data-skip does not do for an index"
_MIXED = "is by Python functions with different environments, or archives, which Spark gives to all; register them in one"
_MISTAKEN = "has parts that Spark takes for each other, and evaluates one for both, as `a + b + c` for `c + b + a`; write them alike"
_ZONE: dict[str, Any] = {"timezone": "UTC"} if "timezone" in signature(to_arrow_type).parameters else {}  # later versions ask for it


@dataclass(frozen=True)
class Binding:
    """An index of a table: its definition there, and the Arrow type of its records."""

    index: Index
    definition: Definition
    record_type: pa.DataType


def bind(index: Index, frame: DataFrame, scan: Scan, jvm: Jvm, stored: bool = False) -> Binding:
    """An index over the table that a frame reads. DataSkipError where it cannot be built.

    stored: whether its expressions are of a store, and so perhaps of somebody else.
    """
    understood = [_understood(index, sql, frame, jvm, stored) for sql in index.inputs]
    trees, types = tuple(tree for tree, _ in understood), [type_ for _, type_ in understood]
    expressions = [decode(tree) for tree in trees]
    together = frame.select(*map(F.expr, index.inputs))
    if not all(isinstance(expression, Column) for expression in expressions) and jvm.mistakes(together):
        raise DataSkipError(f"{index}: {' and '.join(index.inputs)} {_MISTAKEN}")
    if calls_python(expressions) and jvm.mixes_environments(together):
        raise DataSkipError(f"{index}: {' and '.join(index.inputs)} {_MIXED}")
    if refusal := index.refuse(tuple(tree.type for tree in indexed(expressions))):
        raise DataSkipError(f"{index} cannot be built: {refusal}")
    reader = Reading(scan.description, scan.settings).reader(expressions)
    if why := unsure(reader) or why_unsteady_as_read(expressions, reader):
        raise DataSkipError(f"{index} cannot be built: {why}")
    definition = Definition(index.kind, index.expressions, index.parameters, index.version, trees, reader)
    try:
        json.dumps(index.parameters)
    except (TypeError, ValueError, RecursionError) as error:
        raise DataSkipError(f"{index.kind} cannot be built: its parameters are kept as JSON, and are none: {error}") from error
    if why := definition.why_none():  # which the store would say once all files were read
        raise DataSkipError(f"{index.kind} cannot be built: no definition may have {why[:_SHOWN]}")
    try:
        record_type = _record_type(index, types)
        if not record_type.num_fields:
            raise DataSkipError(f"{index} cannot be built: its records have no fields; {index.kind}.fields names them, with their types")
        return Binding(index, definition, record_type)
    except PySparkException as error:  # as of an interval of months and days
        raise DataSkipError(f"{index} cannot be built: {first_line(error)}") from error


def _understood(index: Index, sql: str, frame: DataFrame, jvm: Jvm, stored: bool) -> tuple[dict[str, Any], DataType]:
    """An index's expression as Spark understands it, to be decoded, and its type. DataSkipError where it is none that can be kept."""
    try:
        if stored and (why := jvm.why_not_evaluated(sql)):
            raise DataSkipError(f"{index}: {sql!r} {why}, {_NOT_DONE}; drop_index() it, or delete the index")
        selected = frame.select(F.expr(sql).alias("expression"))
        if jvm.mixes_environments(selected):
            raise DataSkipError(f"{index}: {sql!r} {_MIXED}")
        tree = jvm.expression(selected)
        decoded = decode(tree) if tree is not None else None
    except PySparkException as error:
        raise DataSkipError(f"{index}: Spark does not understand {sql!r}: {not_understood(error)}") from error
    except RecursionError as error:
        raise DataSkipError(f"{index.kind} cannot be built: its expression is nested too deep; make it flatter") from error
    if tree is None or decoded is None:
        raise DataSkipError(f"{index}: {sql!r} is more than an expression over one row (an aggregate, window, generator or subquery)")
    if why := _why_no_record(decoded):
        raise DataSkipError(f"{index}: {sql!r} {why}")
    if not stored and jvm.asks_who_and_when(selected):
        raise DataSkipError(f"{index}: {sql!r} asks when, by whom or where it is run, and means something else in each query")
    if not stored and (why := jvm.why_not_evaluated(sql)):  # as no refresh would
        raise DataSkipError(f"{index}: {sql!r} {why}, {_NOT_DONE}")
    try:
        return tree, selected.schema[0].dataType
    except PySparkException as error:  # as of timestamps by the nanosecond
        raise DataSkipError(f"{index} cannot be built: PySpark knows no type of {sql!r}: {first_line(error)}") from error


def _record_type(index: Index, types: Sequence[DataType]) -> pa.DataType:
    """The type of an index's records in the store, for expressions of these types."""
    given = [to_arrow_type(type_, **_ZONE) for type_ in types]  # as PySpark hands over their values
    return pa.struct(dict(index.record_fields(tuple(physical_type(type_, alone=len(types) == 1) for type_ in given))))


def _why_no_record(tree: Expression) -> str:
    """Why no record can be made of an expression; "" where one can."""
    for node in tree.walk():
        if isinstance(node, Call) and node.is_subquery:
            return "holds a subquery, whose result may change; index a column or a function of columns"
        if isinstance(node, Call) and node.name == "AttributeReference":
            return "reads something that is no column of the files (as _metadata); index a column or a function of columns"
        if isinstance(node, Column) and node.partition:
            return f"reads the partition column {node}: Spark prunes partitions by itself; index another column"
    if not tree.deterministic:
        names = [call.name for call in tree.walk() if isinstance(call, Call) and not call.own_deterministic]
        return f"is not deterministic ({names[-1]}): a record would say nothing about another evaluation"
    if not any(isinstance(node, Column) for node in tree.walk()):
        return "is constant: it says nothing about a file"
    return why_unsteady([tree])


def changed(stored: Definition, now: Definition) -> str:
    """What makes an index of the store another one than the same index bound today; "" where nothing does."""
    if why := difference(stored.reader, now.reader):
        return why.replace("the query reads", "the table is now read")
    if stored.bound_expressions != now.bound_expressions:
        what = ", ".join(stored.expressions)
        return f"collected when Spark understood {what} in another way (a function was registered again, or a setting changed)"
    return ""
