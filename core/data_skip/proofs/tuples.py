"""Tuples: `(a, b) = (1, 2)`, `(a, b) IN ((1, 2), (3, 4))` and `(a, b) > (1, 2)` as what they say of each column.

Spark compares structs field by field, and takes NULL for equal to NULL there: every field is as `<=>` has it, of one of the constants;
or the first that is not decides, and NULL is below all values.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce

from data_skip import filters
from data_skip.clause import Clause
from data_skip.expression import Call, Expression, Literal, predicate
from data_skip.filters import Indexes, implied_clause

_MOST_ROWS = 100  # beyond, each column is asked by itself


@filters.on("EqualTo", "EqualNullSafe", "In")
def by_field(node: Call, indexes: Indexes) -> Iterator[Clause]:
    """A comparison of a struct that the query makes of columns with constants."""
    match node:
        case Call(_, [Call("CreateNamedStruct", parts), *constants]):
            rows = [c.value for c in constants if isinstance(c, Literal) and isinstance(c.value, tuple)]
            if rows and len(rows) == len(constants):
                yield from implied_clause(node, _one_of(list(parts[1::2]), rows), indexes)


@filters.on("LessThan", "LessThanOrEqual", "GreaterThan", "GreaterThanOrEqual")
def by_first_difference(node: Call, indexes: Indexes) -> Iterator[Clause]:
    """An order of a struct that the query makes of columns and a constant without NULL."""
    match node:
        case Call(operator, [Call("CreateNamedStruct", parts), Literal(tuple() as row)]) if None not in row:
            yield from implied_clause(node, _ordered(operator, list(parts[1::2]), row), indexes)


def _ordered(operator: str, fields: list[Expression], row: tuple[object, ...]) -> Expression:
    field, constant = fields[0], Literal(fields[0].type, None, row[0])
    unequal = operator.removesuffix("OrEqual")
    decides: Expression = predicate(unequal if len(fields) > 1 else operator, field, constant)
    if unequal == "LessThan":
        decides = _or(decides, predicate("IsNull", field))
    return decides if len(fields) == 1 else _or(decides, _and(_same(field, row[0]), _ordered(operator, fields[1:], row[1:])))


def _one_of(fields: list[Expression], rows: list[tuple[object, ...]]) -> Expression:
    if len(rows) <= _MOST_ROWS:
        return reduce(_or, (reduce(_and, map(_same, fields, row)) for row in rows))
    return reduce(_and, (_in(field, {row[i] for row in rows}) for i, field in enumerate(fields)))


def _in(field: Expression, values: set[object]) -> Expression:
    listed = predicate("In", field, *(Literal(field.type, None, value) for value in values))
    return _or(listed, predicate("IsNull", field)) if None in values else listed


def _same(field: Expression, value: object) -> Expression:
    return predicate("EqualNullSafe", field, Literal(field.type, None, value))


def _and(a: Expression, b: Expression) -> Expression:
    return predicate("And", a, b)


def _or(a: Expression, b: Expression) -> Expression:
    return predicate("Or", a, b)
