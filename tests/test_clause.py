"""Clauses: Kleene's logic, no negation, and unknown keeps the file."""

from __future__ import annotations

from functools import reduce
from itertools import product
from math import nan

import numpy as np
import pyarrow as pa
import pytest

from data_skip.clause import ALWAYS_FALSE, ALWAYS_TRUE, Clause, Computed, Field, Named, Records, all_of, any_of, survivors

THREE = (True, False, None)
RECORDS = Records({})


def constant(*answers: bool | None) -> Clause:
    """A clause that says this of one file after the other."""
    return Computed(f"constant {answers}", (), lambda: pa.array(answers, pa.bool_()))


def answers(clause: Clause, records: Records = RECORDS) -> list[bool | None]:
    return clause.evaluate(records).to_pylist()


AND = {(True, True): True, (True, False): False, (True, None): None, (False, False): False, (False, None): False, (None, None): None}
OR = {(True, True): True, (True, False): True, (True, None): True, (False, False): False, (False, None): None, (None, None): None}


@pytest.mark.parametrize(("table", "combine", "operator"), [(AND, all_of, "&"), (OR, any_of, "|")], ids=["AND", "OR"])
def test_kleene_tables(table: dict[tuple[bool | None, bool | None], bool | None], combine: object, operator: str) -> None:
    left, right = zip(*product(THREE, THREE), strict=True)
    expected = [table.get((a, b), table.get((b, a))) for a, b in zip(left, right, strict=True)]
    a, b = constant(*left), constant(*right)
    assert answers(a & b if operator == "&" else a | b) == expected
    assert answers(combine([a, b])) == expected  # type: ignore[operator]


@pytest.mark.parametrize(("table", "combine"), [(AND, all_of), (OR, any_of)], ids=["AND", "OR"])
def test_three_operands(table: dict[tuple[bool | None, bool | None], bool | None], combine: object) -> None:
    for values in product(THREE, repeat=3):
        expected = reduce(lambda a, b: table.get((a, b), table.get((b, a))), values)
        assert answers(combine([constant(value) for value in values])) == [expected]  # type: ignore[operator]


def test_keep_is_neutral_for_and_and_absorbs_or() -> None:
    clause = constant(False)
    assert all_of([]) is ALWAYS_TRUE
    assert all_of([ALWAYS_TRUE, ALWAYS_TRUE]) is ALWAYS_TRUE
    assert all_of([ALWAYS_TRUE, clause]) is clause
    assert any_of([ALWAYS_TRUE, clause]) is ALWAYS_TRUE
    assert any_of([]) is ALWAYS_TRUE
    assert (clause | ALWAYS_TRUE) is ALWAYS_TRUE
    assert (ALWAYS_TRUE & clause) is clause


def test_never_absorbs_and_and_is_neutral_for_or() -> None:
    clause = constant(True)
    assert all_of([ALWAYS_FALSE, clause, ALWAYS_TRUE]) is ALWAYS_FALSE
    assert any_of([ALWAYS_FALSE, clause]) is clause
    assert any_of([ALWAYS_FALSE, ALWAYS_TRUE]) is ALWAYS_TRUE
    assert any_of([ALWAYS_FALSE, ALWAYS_FALSE]) is ALWAYS_FALSE


@pytest.mark.parametrize(
    "clause", [constant(True), ALWAYS_TRUE, constant(True) & constant(False), Field("i", "f", "I") > 1, Named("n", constant(True))]
)
def test_a_clause_is_not_negated_and_has_no_truth_of_its_own(clause: Clause) -> None:
    with pytest.raises(TypeError, match="cannot be negated"):
        ~clause  # noqa: B018
    with pytest.raises(TypeError, match="combine clauses with & and"):
        bool(clause)
    with pytest.raises(TypeError):
        assert clause and clause
    with pytest.raises(TypeError):
        assert not clause


def test_only_a_definite_no_skips_a_file() -> None:
    assert survivors(constant(True, False, None), RECORDS, 3).tolist() == [True, False, True]
    assert survivors(ALWAYS_TRUE, RECORDS, 2).tolist() == [True, True]
    assert survivors(ALWAYS_FALSE, RECORDS, 2).tolist() == [False, False]
    assert survivors(Named("in other words", constant(None, False)), RECORDS, 2).tolist() == [True, False]
    assert survivors(constant(), RECORDS, 0).dtype == np.bool_


def test_an_answer_for_another_number_of_files_is_refused() -> None:
    with pytest.raises(ValueError, match="1 answers for 2 files"):
        survivors(constant(False), RECORDS, 2)


def records(type_: pa.DataType, *values: object) -> Records:
    """One field `f` of an index `i`; ... is a file without a record."""
    structs = [None if value is ... else {"f": value} for value in values]
    return Records({"i": pa.array(structs, pa.struct({"f": type_}))})


FIELD = Field("i", "f", "I(x)")


def test_comparisons_of_a_field() -> None:
    known = records(pa.int64(), 1, 2, 3, None, ...)
    for clause, expected in (
        (FIELD > 2, [False, False, True]),
        (FIELD >= 2, [False, True, True]),
        (FIELD < 2, [True, False, False]),
        (FIELD <= 2, [True, True, False]),
        (FIELD == 2, [False, True, False]),
        (FIELD != 2, [True, False, True]),
    ):
        assert answers(clause, known) == [*expected, None, None]  # a missing field or record is unknown
        assert survivors(clause, known, 5).tolist() == [*expected, True, True]


def test_nan_is_unknown_to_a_comparison() -> None:
    known = records(pa.float64(), 1.0, nan, None)
    for clause in (FIELD > 5.0, FIELD < 0.0, FIELD == 7.0):
        assert answers(clause, known) == [False, None, None]
    assert answers(FIELD > 0.0, known) == [True, None, None]


@pytest.mark.parametrize("value", [None, nan, np.float32(nan), pa.scalar(nan), pa.scalar(nan, pa.float32())])
def test_a_comparison_with_null_or_nan_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="never true"):
        _ = value < FIELD


def test_a_clause_is_evaluated_once() -> None:
    calls = []

    def function() -> pa.BooleanArray:
        calls.append(1)
        return pa.array([True])

    clause = Computed("counted", (), function)
    shared = Records({})
    survivors((clause & constant(True)) | (clause & constant(False)), shared, 1)
    survivors(clause, shared, 1)
    assert len(calls) == 1


def test_clauses_in_words() -> None:
    a, b, c = FIELD > 1, FIELD < 5, FIELD == 3
    assert str(a & (b | c)) == "I(x).f > 1 AND (I(x).f < 5 OR I(x).f = 3)"
    assert str((a & b) | c) == "(I(x).f > 1 AND I(x).f < 5) OR I(x).f = 3"
    assert {field.name for field in ((a & b) | c).fields()} == {"f"}
