"""From the ranges of some expressions in a file to whether a predicate may be true there: the falsifiable expressions of Big Metadata.

    a < b + 3                  smallest a  <  largest b + 3
    hour(ts) = 5               hour(smallest ts) <= 5 <= hour(largest ts), where both are on one day
    coalesce(abs(x), 0) > 7    the largest of abs(smallest x), abs(largest x), 0 where x straddles it, 0 where x is NULL
    a + b LIKE '%7'            where the file has one a and one b: that of their sum

Spark evaluates every function, at the corners of the box that a file's ranges span (Ranges.java). Python says which functions are
monotone there, and under which conditions (monotone.py). The image of a file's range rather than the preimage of the predicate, since it
serves several columns at once, and functions that are monotone in many a file but not everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from data_skip.ask_spark import Claims, Spark
from data_skip.clause import Clause, Computed, Field, Text
from data_skip.expression import Call, Expression, Literal
from data_skip.proofs.narrowing import rule_of

_KNOWN, _VALUES, _NULL, _NAN = 1, 2, 4, 8  # see Ranges.mayBe
_COMPARISONS = ("LessThan", "LessThanOrEqual", "GreaterThan", "GreaterThanOrEqual")
_MONOTONE = (*_COMPARISONS, "And", "Or", "Not", "IsNull", "IsNotNull", "IsNaN", "Greatest", "Least")  # in each operand, always
_BY_CASES = ("EqualTo", "EqualNullSafe", "In", "StartsWith", "Coalesce", "If", "CaseWhen")  # Ranges.java says of each what it may be
_LOGIC = _MONOTONE + _BY_CASES


@dataclass(frozen=True)
class Bounds:
    """The fields of an index that tell an expression's range in a file, and how many values, NULLs and NaNs it has there."""

    low: Field
    high: Field
    value_count: Field
    null_count: Field
    nan_count: Field

    @property
    def fields(self) -> tuple[Field, ...]:
        """All of them."""
        return (self.low, self.high, self.value_count, self.null_count, self.nan_count)


@dataclass(frozen=True, eq=False)
class WhereConstant(Computed):
    """A clause that is unknown of files in which its expressions have more than one value."""

    def __str__(self) -> str:
        return f"{self.text} where it has one value"


def within_ranges(
    node: Expression, known: Mapping[Expression, Bounds], spark: Spark, text: Text, constant_only: bool = False
) -> Clause | None:
    """Whether a leaf may be true in a file; None where nothing can be told. `constant_only`: ask about files of one value only."""
    if node.source is None or not node.deterministic or any(isinstance(n, Call) and n.name == "PythonUDF" for n in node.walk()):
        return None
    claims = Claims(monotone=_MONOTONE)
    monotone = _describe(node, known, spark, claims) and not constant_only
    if not claims.targets or not (monotone or _all_known(node, known)):
        return None

    def may_match(*arrays: pa.Array) -> pa.BooleanArray:
        inputs = [_input(*arrays[i : i + 5]) for i in range(0, len(arrays), 5)]
        asked = np.ones(len(arrays[0]), dtype=bool) if monotone else np.logical_and.reduce([_single(*columns) for columns in inputs])
        if not asked.any():
            return pa.nulls(len(asked), pa.bool_())
        answers = np.ones(len(asked), dtype=bool)
        answers[asked] = spark.may_be(node, claims, [column.filter(pa.array(asked)) for columns in inputs for column in columns])
        return pa.array(answers, mask=~asked)

    fields = tuple(field for target in claims.targets for field in known[target].fields)
    return (Computed if monotone else WhereConstant)(text, fields, may_match)


def _describe(node: Expression, known: Mapping[Expression, Bounds], spark: Spark, claims: Claims) -> bool:
    """Collects the claims about calls and the places of targets; whether the node has a range where its targets have."""
    if node in known and node.source is not None and not node.source.negated:
        claims.targets.setdefault(node, []).append(node.source.id)
        return True
    if not isinstance(node, Call) or node.source is None:
        return isinstance(node, Literal)
    parts = [_describe(child, known, spark, claims) for child in node.operands]
    if node.name in _LOGIC:
        return _has_range(node.name, parts)
    rule = rule_of(node, spark) if all(parts) and not node.source.negated else None
    if rule is not None:
        claims.rules[node.source.id] = rule
    return rule is not None


def _has_range(name: str, parts: list[bool]) -> bool:
    """Whether a node of `_LOGIC` has a range, from which of its operands have one."""
    match name:
        case "And" | "Or":
            return any(parts)
        case "If" | "CaseWhen":  # condition, value, condition, value, ..., else
            return all(parts[1::2]) and (len(parts) % 2 == 0 or parts[-1])
        case "Coalesce":
            return parts[0]
    return all(parts)


def _all_known(node: Expression, known: Mapping[Expression, Bounds]) -> bool:
    """Whether the node is about nothing but known expressions."""
    return node in known or (
        not isinstance(node, Literal)
        and bool(node.children)
        and all(isinstance(child, Literal) or _all_known(child, known) for child in node.children)
    )


def _input(low: pa.Array, high: pa.Array, values: pa.Array, nulls: pa.Array, nans: pa.Array) -> Sequence[pa.Array]:
    """The columns of one target for Ranges.mayBe."""
    some = pc.fill_null(pc.greater(values, 0), True).to_numpy(zero_copy_only=False)
    counted = (values.is_valid().to_numpy(zero_copy_only=False), nulls.is_valid().to_numpy(zero_copy_only=False))
    bounded = pc.and_(low.is_valid(), high.is_valid()).to_numpy(zero_copy_only=False) | ~some
    known = counted[0] & counted[1] & nans.is_valid().to_numpy(zero_copy_only=False) & bounded
    flags = known * _KNOWN + some * _VALUES
    for counts, flag in ((nulls, _NULL), (nans, _NAN)):
        flags = flags + pc.fill_null(pc.greater(counts, 0), True).to_numpy(zero_copy_only=False) * flag
    return low, high, pa.array(flags, pa.int8())


def _single(low: pa.Array, high: pa.Array, flags: pa.Array) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Whether a target has one value in each file, and perhaps NULL."""
    bits = flags.to_numpy(zero_copy_only=False)
    same = pc.fill_null(pc.equal(low, high), False).to_numpy(zero_copy_only=False) | (bits & _VALUES == 0)
    found: np.ndarray[tuple[int], np.dtype[np.bool_]] = same & (bits & (_KNOWN | _NAN) == _KNOWN)
    return found
