"""Dictionary evaluation: where all values of a file are known, Spark itself decides any deterministic predicate about them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa

from data_skip.ask_spark import Spark
from data_skip.expression import Call, Expression

Test = Callable[[pa.Array], pa.BooleanArray]


@dataclass(frozen=True)
class Decider:
    """What Spark says of a leaf for given values of one expression: `may_match` of each value, `of_null` of NULL.

    True where the leaf is true, or where Spark raises an error: the file is read, and the error raised.
    pure: as of Computed.
    """

    may_match: Test
    of_null: bool
    pure: bool = False


def decider(node: Expression, target: Expression, spark: Spark) -> Decider | None:
    """None where the node is no deterministic leaf about the target alone, or it cannot be decided while planning."""
    if isinstance(node, Call) and node.name in ("And", "Or"):
        return None
    if not node.deterministic or target not in node.walk():
        return None
    of_null = spark.truth(node, target, pa.nulls(1))
    if of_null is None:
        return None

    def may_match(values: pa.Array) -> pa.BooleanArray:
        answers = spark.truth(node, target, values)
        if answers is None:
            raise ValueError(f"Spark cannot decide {node} by {target} alone")
        return pa.array(answers != 0)

    return Decider(may_match, bool(of_null[0]))
