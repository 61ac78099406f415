"""The tests would notice: for each line that handles NOT, NULL or NaN in planning and proofs, a plausible bug gives a wrong answer."""

from __future__ import annotations

import pytest

from tests.differential.planted import RAW, Bug, Small, bugs

AT_QUERY = [
    *bugs(
        "planning.normalize",
        ('other = "Or" if name == "And" else "And"', "other = name", "min_max", "NOT (i = 5 AND v = 5)", RAW),
        (
            'case Call("Not", [inner]):\n            return normalize(inner)',
            'case Call("Not", [inner]):\n            return _negated(inner)',
            "min_max",
            "NOT (NOT (i = 5))",
            RAW,
        ),
        ('"LessThan": "GreaterThanOrEqual",', '"LessThan": "GreaterThan",', "min_max", "NOT (i < 21)", RAW),
        ('"LessThanOrEqual": "GreaterThan",', '"LessThanOrEqual": "LessThan",', "min_max", "NOT (i <= 20)", RAW),
        ('"GreaterThan": "LessThanOrEqual",', '"GreaterThan": "LessThan",', "min_max", "NOT (i > 0)", RAW),
        ('"GreaterThanOrEqual": "LessThan",', '"GreaterThanOrEqual": "GreaterThan",', "min_max", "NOT (i >= 1)", RAW),
        ('"IsNull": "IsNotNull",', '"IsNull": "IsNull",', "min_max", "NOT (i IS NULL)", RAW),
        ('"IsNotNull": "IsNull",', '"IsNotNull": "IsNotNull",', "min_max", "NOT (i IS NOT NULL)", RAW),
        ('"LessThan": "GreaterThan",', '"LessThan": "LessThan",', "min_max", "20 < i"),
        ("return replace(negated, operands=(_literal_right(node),))", "return _literal_right(node)", "min_max", "NOT (i = 5)"),
    ),
    *bugs(
        "expression",
        ("negated=not node.source.negated", "negated=node.source.negated", "value_list", "NOT (s RLIKE '^a')"),
    ),
    *bugs(
        "expression", ('return f"!{self.id}" if self.negated else str(self.id)', "return str(self.id)", "value_list", "NOT (s RLIKE '^a')")
    ),
    *bugs(
        "proofs.satisfying",
        (
            "[left, Literal(None)]) if left == target:\n            return NULL_ONLY",
            "[left, Literal(None)]) if left == target:\n            return NOTHING",
            "min_max",
            "i <=> NULL",
            RAW,
        ),
        (
            'case Call("IsNull", [inner]) if inner == target:\n            return NULL_ONLY',
            'case Call("IsNull", [inner]) if inner == target:\n            return NOTHING',
            "min_max",
            "i IS NULL",
        ),
        (
            'case Call("IsNotNull", [inner]) if inner == target:\n            return EVERYTHING',
            'case Call("IsNotNull", [inner]) if inner == target:\n            return NULL_ONLY',
            "min_max",
            "i IS NOT NULL",
        ),
        ("return equal and equal.complement(null=True)", "return equal and equal.complement(null=False)", "min_max", "NOT (i <=> 5)"),
        (
            "[left, Literal(None)]) if left == target:\n            return EVERYTHING",
            "[left, Literal(None)]) if left == target:\n            return NOTHING",
            "min_max",
            "NOT (i <=> NULL)",
            RAW,
        ),
        ("return NOTHING if constant.value is None else equal and equal.complement(null=False)", "return equal", "min_max", "NOT (i = 5)"),
        (
            "target, spark)\n            return equal and equal.complement(null=False)",
            "target, spark)\n            return equal",
            "min_max",
            "i NOT IN (1, 5)",
        ),
        ("return points([True])", "return points([False])", "min_max", "flag"),
        ("return points([False])", "return points([True])", "min_max", "NOT flag"),
        ("return prefixed(prefix).complement(null=False)", "return prefixed(prefix)", "min_max", "NOT (s LIKE 'ab%')"),
        ('return preimage("NotEqualTo", left', 'return preimage("EqualTo", left', "min_max", "NOT (cast(i AS smallint) = 5S)"),
        (
            "return union(known) if len(known) == len(sets) else None\n            both = intersection",
            "return union(known)\n            both = intersection",
            "gap_list",
            "i > 0 AND (i = 100 OR x = 1)",
        ),
    ),
    *bugs(
        "proofs.preimage",
        ("target.type in FRACTIONAL and found.of_nan(operator)", "False", "min_max", "cast(v AS float) > 100F"),
    ),
    *bugs(
        "proofs.monotone",
        ('"Abs": replace(_FIRST, checked=True, cuts=(0,)),', '"Abs": replace(_FIRST, checked=True, cuts=(100,)),', "min_max", "abs(i) < 1"),
    ),
    *bugs(
        "proofs.ranges",
        ("((nulls, _NULL), (nans, _NAN))", "((nans, _NAN),)", "min_max", "coalesce(i, 500) > 300"),
        ("((nulls, _NULL), (nans, _NAN))", "((nulls, _NULL),)", "min_max", "abs(v) > 100"),
    ),
    *bugs(
        "proofs.value_set",
        ("return ValueSet(tuple(gaps), not self.nan, null)", "return ValueSet(tuple(gaps), self.nan, null)", "min_max", "NOT (v = 5)"),
        (
            "low, low_closed = interval.high, not interval.high_closed",
            "low, low_closed = interval.high, interval.high_closed",
            "min_max",
            "NOT (s LIKE 'ab%')",
        ),
        (
            "Interval(low, interval.low, low_closed, not interval.low_closed)",
            "Interval(low, interval.low, low_closed, True)",
            "gap_list",
            "i >= 20 AND i <= 20",
        ),
        ("nan=len(listed) > 0 and any(map(_is_nan, listed))", "nan=False", "min_max", ("v = double('NaN')", "v IN (1, double('NaN'))")),
        ('"GreaterThanOrEqual": points([value]),', '"GreaterThanOrEqual": NOTHING,', "min_max", "v >= double('NaN')"),
        ('"LessThanOrEqual": EVERYTHING,', '"LessThanOrEqual": NOTHING,', "min_max", "v <= double('NaN')"),
        ('"LessThan": ValueSet((Interval(),)),', '"LessThan": NOTHING,', "min_max", "v < double('NaN')"),
        (
            '"GreaterThan": ValueSet((Interval(low=value),), nan=True),',
            '"GreaterThan": ValueSet((Interval(low=value),)),',
            "min_max",
            "v > 100",
        ),
        ("Interval(low=value, low_closed=True),), nan=True)", "Interval(low=value, low_closed=True),))", "min_max", "v >= 100"),
        ("EVERYTHING = ValueSet((Interval(),), nan=True)", "EVERYTHING = ValueSet((Interval(),))", "min_max", "v IS NOT NULL"),
        ("NULL_ONLY = ValueSet((), null=True)", "NULL_ONLY = ValueSet(())", "min_max", "v IS NULL"),
        ("any(s.nan for s in listed)", "False", "min_max", "cast(v AS float) IN (7F, float('NaN'))"),
        (
            "outside = union(s.complement(null=not s.null) for s in listed)",
            "outside = union(s.complement(null=True) for s in listed)",
            "gap_list",
            "(i IS NULL OR i = 100) AND (i IS NULL OR i = 200)",
            RAW,
        ),
    ),
    *bugs(
        "clause",
        ("pc.fill_null(answers, True)", "pc.fill_null(answers, False)", "value_list", "i = 11"),
        ("if pa.types.is_floating(values.type):", "if False:", "top", "v > 100"),
        (
            "if not clauses or any(c is ALWAYS_TRUE for c in clauses):\n        return ALWAYS_TRUE",
            "clauses = [c for c in clauses if c is not ALWAYS_TRUE]",
            "min_max",
            "i = 100 OR x = 1",
        ),
        (
            "reduce(pc.or_kleene, map(records.answer, self.parts))",
            "reduce(pc.and_kleene, map(records.answer, self.parts))",
            "min_max",
            "i = 20 OR i = 9",
        ),
    ),
    *bugs("proofs.dictionary", ("bool(of_null[0])", "False", "value_list", "coalesce(i, 500) > 300")),
    *bugs(
        "proofs.overlap",
        (
            "return pc.or_(found, pc.is_nan(array)) if values.nan and pa.types.is_floating(array.type) else found",
            "return found",
            "value_list",
            "v > 100",
        ),
        (
            "return pc.add(array, pa.scalar(0.0, array.type)) if pa.types.is_floating(array.type) else array",
            "return array",
            "value_list",
            "v = 0D",
        ),
        (
            "if low is None or high is None:\n            return None",
            "if low is None or high is None:\n            return False",
            "min_max",
            "s IN (repeat('\U0010ffff', 200), {})".format(", ".join(f"'{n}'" for n in range(30))),
        ),
    ),
]


@pytest.mark.parametrize("bug", AT_QUERY)
def test_a_bug_in_answering_is_noticed(small: Small, bug: Bug) -> None:
    small.notices(bug)
