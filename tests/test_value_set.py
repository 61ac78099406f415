"""Sets of values, against brute force over a small domain."""

from __future__ import annotations

from itertools import product
from math import isnan, nan
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data_skip.proofs.value_set import (
    EVERYTHING,
    NOTHING,
    NULL_ONLY,
    ValueSet,
    after_bytes,
    after_prefix,
    compared,
    intersection,
    points,
    prefixed,
    union,
)

ENDS = [0.0, 1.0, 2.0, 3.0]
DOMAIN = [None, nan, *(i / 2 for i in range(-1, 8))]  # between the ends as well, NaN and NULL
Members = frozenset[int]  # places in DOMAIN
Pair = tuple[ValueSet, Members]  # a set, and what belongs to it by brute force


def belongs(values: ValueSet, value: Any) -> bool:
    if value is None:
        return values.null
    return values.nan if isnan(value) else any(value in interval for interval in values.intervals)


def members(values: ValueSet) -> Members:
    return frozenset(i for i, value in enumerate(DOMAIN) if belongs(values, value))


def key(value: float) -> tuple[bool, float]:
    """Spark's order: NaN above every number, and equal to itself."""
    return (True, 0.0) if isnan(value) else (False, value)


OPERATORS = {
    "EqualTo": lambda a, b: key(a) == key(b),
    "LessThan": lambda a, b: key(a) < key(b),
    "LessThanOrEqual": lambda a, b: key(a) <= key(b),
    "GreaterThan": lambda a, b: key(a) > key(b),
    "GreaterThanOrEqual": lambda a, b: key(a) >= key(b),
}


def comparison(operator: str, constant: float) -> Pair:
    truth = OPERATORS[operator]
    return compared(operator, constant), frozenset(i for i, v in enumerate(DOMAIN) if v is not None and truth(v, constant))


def listed(constants: list[float]) -> Pair:
    return points(constants), frozenset(i for i, v in enumerate(DOMAIN) if v is not None and any(key(v) == key(c) for c in constants))


def complements(of: Pair, null: bool) -> Pair:
    return of[0].complement(null), frozenset(i for i in range(len(DOMAIN)) if (null if DOMAIN[i] is None else i not in of[1]))


LEAVES = st.one_of(
    st.builds(comparison, st.sampled_from(sorted(OPERATORS)), st.sampled_from([*ENDS, nan])),
    st.builds(listed, st.lists(st.sampled_from([*ENDS, -0.0, nan]), max_size=5)),
    st.sampled_from([(EVERYTHING, frozenset(range(1, len(DOMAIN)))), (NOTHING, frozenset()), (NULL_ONLY, frozenset([0]))]),
)
SETS: st.SearchStrategy[Pair] = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.builds(complements, inner, st.booleans()),
        st.builds(lambda pairs: (union(p[0] for p in pairs), frozenset().union(*(p[1] for p in pairs))), st.lists(inner, max_size=4)),
        st.builds(
            lambda pairs: (intersection(p[0] for p in pairs), pairs[0][1].intersection(*(p[1] for p in pairs))),
            st.lists(inner, min_size=1, max_size=4),
        ),
    ),
    max_leaves=8,
)


@given(SETS)
def test_sets_hold_what_brute_force_finds(pair: Pair) -> None:
    values, expected = pair
    assert members(values) == expected


@given(SETS)
def test_intervals_are_disjoint_and_ascend(pair: Pair) -> None:
    values = pair[0]
    for value in DOMAIN:
        if value is not None and not isnan(value):
            assert sum(value in interval for interval in values.intervals) <= 1
    lows = [interval.low for interval in values.intervals]
    assert None not in lows[1:]
    assert None not in [interval.high for interval in values.intervals][:-1]
    for before, after in zip(values.intervals, values.intervals[1:], strict=False):
        assert before.high <= after.low


@given(SETS)
def test_the_complement_of_a_complement_is_the_set(pair: Pair) -> None:
    values, expected = pair
    assert members(values.complement(null=not values.null).complement(null=values.null)) == expected


def test_everything_knows_no_null() -> None:
    assert members(EVERYTHING) == frozenset(range(1, len(DOMAIN)))
    assert members(EVERYTHING.complement(null=False)) == frozenset()
    assert members(NOTHING.complement(null=True)) == frozenset(range(len(DOMAIN)))


HIGHEST, BEFORE_SURROGATES, AFTER_SURROGATES = "\U0010ffff", "\ud7ff", "\ue000"
TEXTS = ["".join(t) for n in range(4) for t in product(["a", "b", BEFORE_SURROGATES, AFTER_SURROGATES, HIGHEST], repeat=n)]


@pytest.mark.parametrize("prefix", [t for t in TEXTS if len(t) < 3], ids=ascii)
def test_prefixed_holds_exactly_the_strings_with_the_prefix(prefix: str) -> None:
    values = prefixed(prefix)
    assert [text for text in TEXTS if belongs_text(values, text)] == [text for text in TEXTS if text.startswith(prefix)]
    others = values.complement(null=False)
    assert [text for text in TEXTS if belongs_text(others, text)] == [text for text in TEXTS if not text.startswith(prefix)]


def belongs_text(values: ValueSet, text: str) -> bool:
    return any(text in interval for interval in values.intervals)


@given(st.text(max_size=4), st.text(max_size=6))
def test_after_prefix_is_above_all_that_begin_so(prefix: str, rest: str) -> None:
    after = after_prefix(prefix)
    assert after is None or (prefix + rest).encode() < after.encode()
    assert after is None or not after.startswith(prefix)


def test_after_prefix_of_code_points_that_cannot_grow() -> None:
    assert after_prefix("ab") == "ac"
    assert after_prefix("") is None
    assert after_prefix(HIGHEST) is None
    assert after_prefix(HIGHEST * 2) is None
    assert after_prefix("a" + HIGHEST * 2) == "b"
    assert after_prefix("a" + BEFORE_SURROGATES) == "a" + AFTER_SURROGATES
    assert after_prefix("z\uffff") == "z\U00010000"


@given(st.binary(max_size=4), st.binary(max_size=6))
def test_after_bytes_is_above_all_that_begin_so(prefix: bytes, rest: bytes) -> None:
    after = after_bytes(prefix)
    assert after is None or prefix + rest < after


def test_after_bytes_of_bytes_that_cannot_grow() -> None:
    assert after_bytes(b"a") == b"b"
    assert after_bytes(b"a\xff\xff") == b"b"
    assert after_bytes(b"\xff") is None
    assert after_bytes(b"") is None
    assert all(
        (b.startswith(b"\x7f\xff")) == (b"\x7f\xff" <= b < b"\x80") for b in map(bytes, product([0, 0x7E, 0x7F, 0x80, 0xFF], repeat=3))
    )
