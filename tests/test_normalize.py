"""NOT at the leaves only, with the same truth for every value, NULL and NaN: against a tiny evaluator of three-valued logic."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from math import isnan, nan
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data_skip.expression import Call, Column, Expression, Literal, Source
from data_skip.planning.normalize import normalize

P, Q, R = (Column("boolean", None, (name,)) for name in "pqr")
X = Column("double", None, ("x",))
THREE = (True, False, None)
NUMBERS = (None, -1.0, 1.0, 2.0, nan)
COMPARISONS = {
    "LessThan": lambda a, b: a < b,
    "LessThanOrEqual": lambda a, b: a <= b,
    "GreaterThan": lambda a, b: a > b,
    "GreaterThanOrEqual": lambda a, b: a >= b,
    "EqualTo": lambda a, b: a == b,
}


def call(name: str, *operands: Expression) -> Call:
    return Call("boolean", None, name, operands, "{}", True)


def number(value: float | None) -> Literal:
    return Literal("double", None, value)


def truth(node: Expression, row: Mapping[str, Any]) -> Any:
    """What a node is for a row: True, False or None; the value of a column or literal."""
    match node:
        case Column((name,)):
            return row[name]
        case Literal(value):
            return value
        case Call("And", operands):
            parts = [truth(part, row) for part in operands]
            return False if False in parts else None if None in parts else True
        case Call("Or", operands):
            parts = [truth(part, row) for part in operands]
            return True if True in parts else None if None in parts else False
        case Call("Not", [inner]):
            value = truth(inner, row)
            return None if value is None else not value
        case Call("IsNull", [inner]):
            return truth(inner, row) is None
        case Call("IsNotNull", [inner]):
            return truth(inner, row) is not None
        case Call(name, [left, right]):
            a, b = truth(left, row), truth(right, row)
            if name == "EqualNullSafe":
                return order(a) == order(b)
            return None if a is None or b is None else COMPARISONS[name](order(a), order(b))
    raise AssertionError(node)


def order(value: Any) -> Any:
    """Spark's order: NaN above every number, and equal to itself."""
    return (value is not None, isinstance(value, float) and isnan(value), 0 if value is None or value != value else value)


def rows() -> Iterator[dict[str, Any]]:
    for p, q, r, x in product(THREE, THREE, THREE, NUMBERS):
        yield {"p": p, "q": q, "r": r, "x": x}


ROWS = list(rows())


def numbered(node: Expression) -> tuple[Expression, dict[int, Expression]]:
    """The tree with a source on every node, as if it came from Spark; and the nodes by number."""
    nodes: dict[int, Expression] = {}

    def number_(node: Expression) -> Expression:
        id_ = len(nodes)
        nodes[id_] = node
        source = Source(id_)
        if isinstance(node, Call):
            return Call(node.type, source, node.name, tuple(map(number_, node.operands)), node.parameters, True)
        if isinstance(node, Column):
            return Column(node.type, source, node.path)
        assert isinstance(node, Literal)
        return Literal(node.type, source, node.value)

    return number_(node), nodes


def leaves(node: Expression) -> list[Expression]:
    if isinstance(node, Call) and node.name in ("And", "Or"):
        return [leaf for part in node.operands for leaf in leaves(part)]
    return [node]


def check_same(node: Expression) -> Expression:
    """Normalises; the truth stays in every row, and each node means what its source says."""
    tree, nodes = numbered(node)
    normal = normalize(tree)
    for row in ROWS:
        assert truth(normal, row) is truth(node, row), row
        for part in normal.walk():
            if part.source is not None and part.type == "boolean" and isinstance(part, Call):
                original = truth(nodes[part.source.id], row)
                wanted = original if not part.source.negated or original is None else not original
                assert truth(part, row) is wanted, (part, row)
    for leaf in leaves(normal):
        match leaf:
            case Call("Not", [Call("And" | "Or" | "Not" | "LessThan" | "GreaterThanOrEqual" | "IsNull" | "IsNotNull")]):
                raise AssertionError(f"NOT could go deeper: {leaf}")
            case Call("Not", [Call(name, [Literal(), right])]) | Call(name, [Literal(), right]):
                assert name not in COMPARISONS or isinstance(right, Literal), f"the literal is on the left: {leaf}"
    return normal


LEAVES = [P, call("IsNull", P), call("EqualTo", P, Q), call("EqualNullSafe", P, Q), call("LessThan", X, number(1.0))]


@pytest.mark.parametrize("name", ["And", "Or"])
@pytest.mark.parametrize("outer", [0, 1, 2])
def test_truth_tables_of_and_or_not(name: str, outer: int) -> None:
    """Every way of putting NOT before two operands and before the whole, for all values and NULL."""
    for a, b in product(LEAVES, [Q, call("IsNotNull", Q), call("GreaterThanOrEqual", number(1.0), X)]):
        for negations in product(range(3), repeat=2):
            tree: Expression = call(name, negated(a, negations[0]), negated(b, negations[1]))
            check_same(negated(tree, outer))


def negated(node: Expression, times: int) -> Expression:
    for _ in range(times):
        node = call("Not", node)
    return node


@pytest.mark.parametrize("name", [*COMPARISONS, "EqualNullSafe"])
@pytest.mark.parametrize("constant", NUMBERS)
def test_comparisons_and_their_mirrors(name: str, constant: float | None) -> None:
    for operands in ((X, number(constant)), (number(constant), X), (X, X)):
        check_same(call(name, *operands))
        check_same(call("Not", call(name, *operands)))


def test_not_of_a_range_is_a_range() -> None:
    assert str(normalize(call("Not", call("LessThan", X, number(1.0))))) == "GreaterThanOrEqual(x, 1.0)"
    assert str(normalize(call("Not", call("GreaterThan", number(1.0), X)))) == "GreaterThanOrEqual(x, 1.0)"
    assert str(normalize(call("Not", call("And", P, call("Or", Q, call("Not", R)))))) == "Or(Not(p), And(Not(q), r))"
    assert str(normalize(call("Not", call("EqualTo", number(1.0), X)))) == "Not(EqualTo(x, 1.0))"


TREES = st.recursive(
    st.one_of(
        st.sampled_from([P, Q, R]),
        st.builds(call, st.sampled_from(["IsNull", "IsNotNull"]), st.sampled_from([P, X])),
        st.builds(
            lambda name, value, mirrored: call(name, *((number(value), X) if mirrored else (X, number(value)))),
            st.sampled_from([*COMPARISONS, "EqualNullSafe"]),
            st.sampled_from(NUMBERS),
            st.booleans(),
        ),
    ),
    lambda inner: st.one_of(
        st.builds(lambda child: call("Not", child), inner),
        st.builds(lambda name, parts: call(name, *parts), st.sampled_from(["And", "Or"]), st.lists(inner, min_size=2, max_size=4)),
        st.builds(lambda name, a, b: call(name, a, b), st.sampled_from(["EqualTo", "EqualNullSafe"]), inner, inner),
    ),
    max_leaves=8,
)


@given(TREES)
def test_any_tree_keeps_its_truth(tree: Expression) -> None:
    check_same(tree)
