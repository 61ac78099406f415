"""Which values of an expression can satisfy a predicate: from a leaf of the WHERE tree to a ValueSet.

value      x <= 5    NOT (x = 5)    x <=> NULL    NOT (x <=> 5)    x IN (1, NULL)    NOT x IN (1, NULL)
1          true      true           false         true             true              false
5          true      false          false         false            null: no          null: no
NULL       null: no  null: no       true          true             null: no          null: no
"""

from __future__ import annotations

from collections.abc import Iterable
from math import nan

from data_skip.ask_spark import Spark
from data_skip.data_types import FRACTIONAL, WHOLE, has_collation
from data_skip.expression import Call, Expression, Literal, Opaque, name_of
from data_skip.proofs.like import PARTS, affixes
from data_skip.proofs.preimage import preimage
from data_skip.proofs.value_set import EVERYTHING, NOTHING, NULL_ONLY, ValueSet, compared, intersection, points, prefixed, union, whole

_RANGES = ("EqualTo", "LessThan", "LessThanOrEqual", "GreaterThan", "GreaterThanOrEqual")
_MOST_PREIMAGES = 100  # of an IN list over a function: one question to Spark each


def satisfying(node: Expression, target: Expression, spark: Spark) -> ValueSet | None:
    """The values of `target` for which the normalised leaf can be true; None where that is unknown, or not about the target alone."""
    values = _satisfying(node, target, spark)
    return whole(values) if values is not None and target.type in WHOLE else values


def _satisfying(node: Expression, target: Expression, spark: Spark) -> ValueSet | None:
    if has_collation(target.type):
        return _null_tests(node, target)
    if target.type == "boolean" and node == target:
        return points([True])
    match node:
        case Call("Not", [inner]):
            return _negated(inner, target, spark)
        case Call("StartsWith" | "Like" | "RLike"):
            return _beginning(node, target)
        case Call("EqualTo" | "EqualNullSafe", [Call(name) as part, _]) if name in PARTS and part != target:
            return _beginning(node, target)
        case Call("EqualNullSafe", [left, Literal(None)]) if left == target:
            return NULL_ONLY
        case Call("EqualNullSafe", [left, Literal() as constant]) if left == target:
            return _compared("EqualTo", constant, target)
        case Call(operator, [left, Literal() as constant]) if operator in _RANGES:
            if left == target:
                return _compared(operator, constant, target)
            return preimage(operator, left, constant, target, spark)
        case Call("In", [left, *constants]) if all(isinstance(c, Literal) for c in constants):
            return _listed(left, [c for c in constants if isinstance(c, Literal)], target, spark)
    return _null_tests(node, target)


def jointly_satisfying(node: Expression, target: Expression, spark: Spark) -> ValueSet | None:
    """As `satisfying`, for a whole AND/OR tree: `x > 2 AND x < 50` as the range that no part of it tells.

    What is unknown under AND may be any value; under OR it makes the whole unknown.
    """
    match node:
        case Call("And" | "Or" as name, operands):
            sets = [jointly_satisfying(operand, target, spark) for operand in operands]
            known = [values for values in sets if values is not None]
            if name == "Or":
                return union(known) if len(known) == len(sets) else None
            both = intersection(known) if known else None
            return whole(both) if both is not None and target.type in WHOLE else both
    return satisfying(node, target, spark)


def speak_of(target: Expression, conjuncts: Iterable[Expression]) -> bool:
    """Whether two conjuncts or more say something about the target, so that together they may say more. IS NOT NULL never does."""
    return sum(target in node.walk() and name_of(node) != "IsNotNull" for node in conjuncts) > 1


def _beginning(node: Expression, target: Expression) -> ValueSet | None:
    found = affixes(node, target)
    if found is None:
        return None
    return points([found.prefix]) if found.whole else prefixed(found.prefix)


def _null_tests(node: Expression, target: Expression) -> ValueSet | None:
    match node:
        case Call("IsNull", [inner]) if inner == target:
            return NULL_ONLY
        case Call("IsNotNull", [inner]) if inner == target:
            return EVERYTHING
    return None


def _compared(operator: str, constant: Literal, target: Expression) -> ValueSet | None:
    if constant.value is None:
        return NOTHING
    if not _comparable(constant, target):
        return None
    return compared(operator, constant.value)


def _comparable(constant: Literal, target: Expression) -> bool:
    """Spark compares equal types only; a literal of another type would be a tree that we misread."""
    same = constant.type == target.type
    return same and not isinstance(constant.value, Opaque | tuple) and not has_collation(target.type)


def _listed(left: Expression, constants: list[Literal], target: Expression, spark: Spark) -> ValueSet | None:
    values = [c for c in constants if c.value is not None]  # NULL in the list makes nothing true
    if left == target:
        return points(c.value for c in values) if all(_comparable(c, target) for c in values) else None
    if len(values) > _MOST_PREIMAGES:
        return None
    sets = [preimage("EqualTo", left, c, target, spark) for c in values]
    known = [s for s in sets if s is not None]
    return union(known) if len(known) == len(sets) else None


def _negated(node: Expression, target: Expression, spark: Spark) -> ValueSet | None:
    """The values for which the leaf is false (not: null)."""
    if target.type == "boolean" and node == target:
        return points([False])
    match node:
        case Call("EqualTo", [left, Literal() as constant]) if left != target:
            return preimage("NotEqualTo", left, constant, target, spark)
        case Call("EqualTo", [left, Literal() as constant]) if left == target:
            equal = _compared("EqualTo", constant, target)
            return NOTHING if constant.value is None else equal and equal.complement(null=False)
        case Call("EqualNullSafe", [left, Literal(None)]) if left == target:
            return EVERYTHING
        case Call("EqualNullSafe", [left, Literal() as constant]) if left == target:
            equal = _compared("EqualTo", constant, target)
            return equal and equal.complement(null=True)
        case Call("In", [left, *constants]) if left == target and all(isinstance(c, Literal) for c in constants):
            if not constants:
                return None  # NOT IN () is true of NULL, too, as spark.sql.legacy.nullInEmptyListBehavior has it
            if any(isinstance(c, Literal) and c.value is None for c in constants):
                return points([nan]) if target.type in FRACTIONAL else NOTHING  # else x NOT IN (1, NULL) is false or null: see InSet.eval
            equal = _listed(left, [c for c in constants if isinstance(c, Literal)], target, spark)
            return equal and equal.complement(null=False)
        case Call("StartsWith", [left, Literal(str() as prefix) as constant]) if left == target:
            return prefixed(prefix).complement(null=False) if _comparable(constant, target) else None
    return None
