"""Trees that differ in constants only."""

from __future__ import annotations

from collections.abc import Collection

from data_skip.data_types import FRACTIONAL, INTEGRAL, element_type
from data_skip.expression import Call, Expression, Literal


def constants(tree: Expression, template: Expression, same: Collection[Expression]) -> list[tuple[Literal, Literal]] | None:
    """The constants of a tree and of its template, in order; None where the two differ in more.

    Numbers may be of different types, and so may arrays of them. `same`: parts of the template that the tree must hold as they are.
    """
    if template in same:
        return [] if tree == template else None
    match tree, template:
        case Literal(), Literal():
            return [(tree, template)] if _kind(tree.type) == _kind(template.type) else None
        case Call(), Call():
            alike = (tree.name, tree.type, tree.parameters) == (template.name, template.type, template.parameters)
            if not alike or len(tree.operands) != len(template.operands) or not (tree.own_deterministic and template.own_deterministic):
                return None
            parts = [constants(a, b, same) for a, b in zip(tree.operands, template.operands, strict=True)]
            known = [part for part in parts if part is not None]
            return [pair for part in known for pair in part] if len(known) == len(parts) else None
    return [] if tree == template else None


def _kind(type_: str) -> str:
    """The type, where it is no number and no array of numbers."""
    element = element_type(type_)
    return type_.replace(element, "number") if element in (*INTEGRAL, *FRACTIONAL) else type_
