"""Expressions that Spark calls deterministic, and that yet give a row another value later, in other plans, or among other rows."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from data_skip.expression import Call, Column, Expression, Literal, calls_of, calls_python, columns_of, unversioned
from data_skip.store.reader import malformed_column, why_of_this_year

_PARSERS = ("Cast", "TryCast", "JsonToStructs", "CsvToStructs", "XmlToStructs", "VariantGet", "TryVariantGet")
_BY_PATTERN = ("GetTimestamp", "UnixTimestamp", "ToUnixTimestamp")
_WITHOUT_DATE = re.compile(r"\b(string|char|varchar|variant)\b")
_TIMESTAMP = re.compile(r"\btimestamp(_ltz)?\b")
_TIME = re.compile(r"\btime\(")
_OF_TIME = re.compile(r"\btimestamp(_ltz|_ntz)?\b")  # of text without a date timestamp_ntz is none
_MAP = re.compile('map<|"type":"map"')  # OrcMap is a TreeMap, and made where Spark reads no batches, as beyond codegen.maxFields
_BY_PANDAS = (101, 200, 204)  # Spark's PythonEvalType: rows by Arrow, series, iterators of series
_SAME = ("string", "char", "varchar", "binary", "float", "double", "decimal", "date")  # how types begin of which pandas has one form
_CHANGING = "whole numbers, booleans, times or nested values"  # the parts of times are numbers with fractions then


def why_unsteady(trees: Iterable[Expression]) -> str:
    """Why a record of some index expressions says nothing about another query; "" where it does."""
    return next(filter(None, map(_why, calls_of(trees))), "")


def why_unsteady_as_read(trees: Iterable[Expression], reader: Mapping[str, Any]) -> str:
    """As `why_unsteady`, where it depends on how files are read: by the reader that the expressions are evaluated with."""
    trees = list(trees)
    columns, malformed = columns_of(trees), malformed_column(reader)
    if reader["format"] == "json" and malformed is not None and any(column.path[0].lower() == malformed.lower() for column in columns):
        return "reads the column of malformed records, and one that has a key twice is malformed where a query has a filter on it"
    if reader["format"] == "json" and (column := next(_with_default(columns, reader), None)) is not None:
        return f"reads column {column}, whose DEFAULT a record that has a key twice is not given where a query has a filter on that key"
    if reader["format"] == "orc" and any(_MAP.search(column.type) for column in columns):
        return "reads a map of ORC, whose entries are sorted by their keys in a query of many columns; index a column that is no map"
    return why_of_this_year((pattern for call in calls_of(trees) for pattern in _patterns(call)), reader)


def _with_default(columns: Iterable[Column], reader: Mapping[str, Any]) -> Iterator[str]:
    """Those of some columns of a reader of text that have a value for records that lack them."""
    asked = {column.path[0] for column in columns}
    return (name for name, _, default, *_ in reader["columns"] if default is not None and name in asked)


def _patterns(call: Call) -> Iterator[str]:
    """The patterns by which a call parses text."""
    if call.name in _BY_PATTERN:
        pattern = call.operands[1]
        yield str(pattern.value) if isinstance(pattern, Literal) else "y"  # of a column it may be any
    elif call.name in _PARSERS:
        options = json.loads(call.parameters).get("options")
        yield from map(str, options.values()) if isinstance(options, dict) else ()


def _why(call: Call) -> str:
    if call.name in _PARSERS and _OF_TIME.search(call.type) and any(_TIME.search(operand.type) for operand in call.operands):
        return "makes timestamps of times, which are those of the current day; index a function of the times"
    if call.name in _PARSERS and _TIMESTAMP.search(call.type) and any(_WITHOUT_DATE.search(operand.type) for operand in call.operands):
        return "makes timestamps of text, in which a time without a date is one of the current day; give to_timestamp a format"
    if '"doubtful"' in call.parameters and call.deterministic:  # as Doubtful.java says
        return f"calls {call.name}, which gives something else in some plans, as in functions of elements; index its operands"
    return _why_python(call) if call.name == "PythonUDF" else ""


def _why_python(call: Call) -> str:
    if name := unversioned([call]):
        return (
            f"calls {name}, a Python function without a version, by which alone an index knows that it is the same function; register "
            f"data_skip.versioned({name}, 1) in its place, or index a column: the function is asked of its values"
        )
    if calls_python(call.operands):
        return "calls a Python function of what another one gives, which not every plan makes a value of its type; use one function"
    if any(_TIMESTAMP.search(type_) for type_ in (call.type, *(operand.type for operand in call.operands))):
        return "takes or gives timestamps in Python, where they are of the zone of Spark's workers; use a Spark function, or timestamp_ntz"
    if call.parameter("evalType") in _BY_PANDAS and any(map(_changes_beside_null, call.operands)):
        return f"gives pandas {_CHANGING}, which are others in a batch with a NULL; use a plain Python function"
    if '"changes_beside_others"' in call.parameters:  # as PythonResults.java says
        return f"gives a {call.type} by Arrow, which is another one in a batch with what pandas makes of other rows; use it without Arrow"
    return ""


def _changes_beside_null(argument: Expression) -> bool:
    reads = any(isinstance(node, Column) for node in argument.walk())
    return reads and not argument.type.startswith(_SAME)
