"""NOT is pushed to the leaves, once, at the door: after this nobody negates anything.

Only rewritings that hold in three-valued logic, for every type and for NaN, which Spark orders above all numbers:

    NOT (a AND b)  =  NOT a OR NOT b        NOT (a < b)   =  a >= b
    NOT (a OR b)   =  NOT a AND NOT b       NOT IS NULL   =  IS NOT NULL
    NOT NOT a      =  a

NOT of anything else (=, <=>, IN, LIKE, a function, ...) stays, as a leaf of its own: a filter serves it or nobody does.
"""

from __future__ import annotations

from dataclasses import replace

from data_skip.data_types import element_type
from data_skip.expression import Call, Expression, Literal, name_of, negation

_OPPOSITE = {
    "LessThan": "GreaterThanOrEqual",
    "LessThanOrEqual": "GreaterThan",
    "GreaterThan": "LessThanOrEqual",
    "GreaterThanOrEqual": "LessThan",
    "IsNull": "IsNotNull",
    "IsNotNull": "IsNull",
}


def normalize(node: Expression) -> Expression:
    """The same predicate with NOT at the leaves only, and literals of comparisons on the right."""
    match node:
        case Call("And" | "Or", operands):
            # Spark puts IS NOT NULL before every comparison; it tells least, and is told last.
            children = sorted((normalize(child) for child in operands), key=lambda child: name_of(child) == "IsNotNull")
            return replace(node, operands=tuple(children))
        case Call("Not", [inner]):
            return _negated(inner)
    return _literal_right(node)


def _negated(node: Expression) -> Expression:
    """NOT node, normalised."""
    negated = negation(node)
    match node:
        case Call("And" | "Or" as name, operands):
            other = "Or" if name == "And" else "And"
            return replace(negated, name=other, operands=tuple(_negated(child) for child in operands))
        case Call("Not", [inner]):
            return normalize(inner)
        case Call(name, operands) if name in _OPPOSITE:
            return _literal_right(replace(negated, name=_OPPOSITE[name], operands=operands))
    return replace(negated, operands=(_literal_right(node),))


_MIRRORED = {
    "EqualTo": "EqualTo",
    "EqualNullSafe": "EqualNullSafe",
    "LessThan": "GreaterThan",
    "LessThanOrEqual": "GreaterThanOrEqual",
    "GreaterThan": "LessThan",
    "GreaterThanOrEqual": "LessThanOrEqual",
}


def _literal_right(node: Expression) -> Expression:
    """5 < x as x > 5, and array_contains(array(1, 2), x) as x IN (1, 2)."""
    match node:
        case Call("ArrayContains", [Literal(tuple() as values) as array, item]):  # in every respect an IN list
            return replace(node, name="In", operands=(item, *(Literal(element_type(array.type), None, value) for value in values)))
        case Call(name, [Literal() as left, right]) if name in _MIRRORED and not isinstance(right, Literal):
            return replace(node, name=_MIRRORED[name], operands=(right, left))
    return node
