"""The tests would notice: for each line of the indexes that handles NOT, NULL or NaN, a plausible bug gives a wrong answer.

Lines whose absence only loses skipping are in LOSSES: there, fewer files have to be skipped.
"""

from __future__ import annotations

import pytest

from tests.differential.planted import RAW, Bug, Small, bugs
from tests.differential.planting import collecting_here, planted
from tests.differential.truth import kept_files

AT_QUERY = [
    *bugs(
        "indexes.min_max",
        ("if values.nan and index.expression.type in FRACTIONAL:", "if False:", "min_max", "v > 100"),
        ("if values.null:", "if False:", "min_max", "i IS NULL"),
        ("constant = pc.and_(pc.equal(low, high), pc.equal(nans, 0))", "constant = pc.equal(low, high)", "min_max", "itself(v) > 100"),
        ("constant = pc.and_(constant, pc.not_equal(low, 0))", "pass", "min_max", ("text_of(v) = '-0.0'", "text_of(v) = '0.0'")),
        (
            "pc.if_else(pc.and_(pc.equal(values, 0), pc.equal(nans, 0)), False",
            "pc.if_else(pc.equal(values, 0), False",
            "min_max",
            "itself(v) > 100",
        ),
        (
            "return pc.or_kleene(of_value, pc.greater(nulls, 0)) if decided.of_null else of_value",
            "return of_value",
            "min_max",
            "or_500(i) > 300",
        ),
    ),
    *bugs(
        "indexes.value_list",
        ("return pc.or_kleene(found, has_null) if decided.of_null else found", "return found", "value_list", "i IS NULL"),
        ('if not known or (name == "Or" and len(known) < len(parts)):', "if not known:", "value_list", "i > 0 AND (i = 100 OR x = 1)"),
    ),
    *bugs(
        "indexes.distinct",
        ("return pa.array(result, mask=lists.is_null().to_numpy(zero_copy_only=False))", "return pa.array(result)", "value_list", "i = 11"),
    ),
    *bugs(
        "indexes.affix",
        ("return pc.or_kleene(found, has_null) if of_null else found", "return found", "affix", "s IS NULL"),
        (
            'Call("EqualNullSafe", [inner, Literal(None)]) if inner == target:\n            return True',
            'Call("EqualNullSafe", [inner, Literal(None)]) if inner == target:\n            return False',
            "affix",
            "s <=> NULL",
            RAW,
        ),
        (
            'case Call("Not", [Call("EqualNullSafe", [inner, Literal()])]) if inner == target:\n            return True',
            'case Call("Not", [Call("EqualNullSafe", [inner, Literal()])]) if inner == target:\n            return False',
            "affix",
            "NOT (s <=> 'q')",
        ),
        ("return answer is None or bool(answer[0])", "return False", "affix", "substr(s, 1, 5) IS DISTINCT FROM 'q'"),
        ("known = affix.cut_text(affix.of(found), length)", "known = affix.of(found)", "affix", ("s LIKE 'abcde%'", "s LIKE '%bcdef'")),
        ("_one_of([affix.cut_text(text, length) for text in texts])", "_one_of(texts)", "affix", "s IN ('abcdef', 'r')"),
        (
            "case Affixes(text, _, whole=True) if len(text) < length:",
            "case Affixes(text, _, whole=True) if len(text) <= length:",
            "affix",
            "s <> 'abc' AND s LIKE 'abc%'",
        ),
        ("[text for text in texts if len(text) < length]", "[text[:length] for text in texts]", "affix", "s NOT IN ('abc', 'abc1')"),
        (
            "return _unless(lambda stored: affix.matches(stored, known))",
            "return lambda stored: affix.matches(stored, known)",
            "affix",
            ("NOT (s LIKE 'ab%')", "NOT (s LIKE '%c')"),
        ),
        ("return _unless(_one_of([text]))", "return _one_of([text])", "affix", "s <> 'q'"),
        ("inner == target:\n            return _all", "inner == target:\n            return _none", "affix", "s IS NOT NULL"),
    ),
    *bugs(
        "indexes.bloom",
        ("return pc.or_kleene(found, has_null) if or_null else found", "return found", "bloom", "i IS NULL"),
        ("if values.nan or any(", "if any(", "bloom", "v = double('NaN')"),
    ),
    *bugs(
        "indexes.gap_list",
        ("if values.nan and index.expression.type in FRACTIONAL:", "if False:", "gap_list", "v > 100"),
        ("if values.null:", "if False:", "gap_list", "i IS NULL"),
    ),
]

AT_INDEXING = [
    *bugs(
        "indexes.min_max",
        ("nans = pc.sum(is_nan).as_py() or 0", "nans = 0", "min_max", "v > 100"),
        ('"null_count": nulls,', '"null_count": 0,', "min_max", "i IS NULL"),
        ("a[name] + b[name] for name in COUNTS", "a[name] for name in COUNTS", "min_max", "i IS NULL"),
        (
            "None if None in ends or not ends else choose(ends)",
            "choose((end for end in ends if end is not None), default=None)",
            "min_max",
            "s > 'zzzz'",
        ),
        (
            "high = after_prefix(high[:LONGEST]) if isinstance(high, str) else after_bytes(high[:LONGEST])",
            "high = high[:LONGEST]",
            "min_max",
            "s > repeat('x', 128)",
        ),
    ),
    *bugs(
        "indexes.value_list",
        ('"has_null": array.null_count > 0', '"has_null": False', "value_list", "i IS NULL"),
        ('"has_null": a["has_null"] or b["has_null"]', '"has_null": a["has_null"]', "value_list", "i IS NULL"),
    ),
    *bugs(
        "indexes.affix",
        ('"has_null": array.null_count > 0', '"has_null": False', "affix", "s IS NULL"),
        ('"has_null": a["has_null"] or b["has_null"]', '"has_null": a["has_null"] and b["has_null"]', "affix", "s IS NULL"),
    ),
    *bugs(
        "indexes.bloom",
        ('"has_null": a["has_null"] or b["has_null"]', '"has_null": a["has_null"] and b["has_null"]', "bloom", "i IS NULL"),
    ),
    *bugs(
        "indexes.distinct",
        ("return None if len(merged) > limit else merged", "return merged[:limit]", "value_list", "i = 11"),
        ("return None if len(values) > limit else values.to_pylist()", "return values.to_pylist()[:limit]", "value_list", ("i = 11",)),
        ("if a is None or b is None:\n        return None", "a, b = a or [], b or []", "value_list", ("i = 4", "i = 1")),
        ("return repr(value) if isinstance(value, float) else value", "return value", "value_list", "string(v) = '0.0'"),
    ),
    *bugs(
        "building.collect",
        (
            "merged.append(None if one is None or other is None else index.merge(one, other))",
            "merged.append((one or other) if one is None or other is None else index.merge(one, other))",
            "picky",
            "v > 2.5",
        ),
    ),
]

LOSSES = [
    *bugs(
        "proofs.satisfying",
        ("else NOTHING  # else x NOT IN", "else EVERYTHING  # else x NOT IN", "min_max", "i NOT IN (1, NULL)", RAW),
        ("values = [c for c in constants if c.value is not None]", "values = constants", "min_max", "i IN (5, NULL)", RAW),
        (
            "if constant.value is None:\n        return NOTHING",
            "if constant.value is None:\n        return None",
            "gap_list",
            "i = NULL",
            RAW,
        ),
        (
            "return NOTHING if constant.value is None else equal and equal.complement(null=False)",
            "return equal and equal.complement(null=True)",
            "min_max",
            "NOT (i = 5)",
            RAW,
        ),
    ),
    *bugs(
        "clause",
        (
            "reduce(pc.and_kleene, map(records.answer, self.parts))",
            "reduce(pc.and_, map(records.answer, self.parts))",
            "value_list",
            "i = 11 AND flag IS NULL",
        ),
    ),
    *bugs(
        "indexes.affix",
        ("return _none  # x NOT IN ('a', NULL) is false or null", "return _all", "affix", "s NOT IN ('a', NULL)", RAW),
        ("return [v for v in values if v is not None]", "return None if None in values else values", "affix", "s IN ('abx', NULL)", RAW),
    ),
    *bugs("indexes.min_max", ('known = [r for r in (a, b) if r["value_count"]]', "known = [a, b]", "min_max", "i > 100")),
]


@pytest.mark.parametrize("kind", ["min_max", "value_list", "gap_list"])
@pytest.mark.parametrize("predicate", ["i <> 5", "NOT (i <=> 5)", "i NOT IN (5, 6)", "NOT flag", "NOT (i = 5 AND flag)", "s <> 'abc'"])
def test_negations_skip_files_that_hold_nothing_else(small: Small, kind: str, predicate: str) -> None:
    plan = kept_files(small.skipping, small.frames[small.of(kind)], predicate)
    assert plan and "constant.parquet" in plan[1]
    assert ("null_last.parquet" in plan[1]) == ("<=>" not in predicate)  # NULL is not 5 for <=> alone


@pytest.mark.parametrize("bug", AT_QUERY)
def test_a_bug_in_answering_is_noticed(small: Small, bug: Bug) -> None:
    small.notices(bug)


@pytest.mark.parametrize("bug", AT_INDEXING)
def test_a_bug_in_collecting_is_noticed(small: Small, bug: Bug) -> None:
    batch = 100 if "values.to_pylist()" in bug.bug else 2
    with collecting_here(batch):
        assert small.answers(small.of(bug.kind, batch), bug)[0] == []
        with planted(f"data_skip.{bug.module}", bug.line, bug.bug):
            folder = small.copy(bug.kind)
    assert small.answers(folder, bug)[0], "the bug is not noticed"


@pytest.mark.parametrize("bug", LOSSES)
def test_a_line_that_only_saves_reading_is_missed(small: Small, bug: Bug) -> None:
    with collecting_here():
        wrong, skipped = small.answers(small.of(bug.kind, 2), bug)
        assert wrong == []
        with planted(f"data_skip.{bug.module}", bug.line, bug.bug):
            assert small.answers(small.copy(bug.kind), bug, errors=True)[1] < skipped
