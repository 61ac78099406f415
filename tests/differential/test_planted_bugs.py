"""The tests would notice: for each line of the core that handles NOT, NULL, NaN or freshness, a plausible bug gives a wrong answer.

Each bug replaces one line. A few predicates on a small table, right without it, have to be wrong with it: a file with a matching row
is skipped. Lines whose absence only loses skipping are in LOSSES: there, fewer files have to be skipped.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from data_skip import BloomFilter, GapList, Index, MinMax, Prefix, Skipping, Suffix, ValueList, filters
from data_skip.clause import Clause
from data_skip.expression import Literal
from data_skip.filters import Indexes
from data_skip.index import Record
from tests.differential.planting import collecting_here, planted, planted_java
from tests.differential.test_random_predicates import UNSIMPLIFIED, same_size
from tests.differential.truth import Truth, kept_files, settings_of
from tests.support import Lake, aged

NAN = float("nan")
HIGHEST = "\U0010ffff" * 200  # no string is above all that begin with 128 of these
FILES: dict[str, dict[str, list[Any]]] = {
    "mixed": {"v": [1.0, 2.0, 3.0], "i": [1, 2, 3], "s": ["abc", "abd", "xyz"], "flag": [True, False, True]},
    "constant": {"v": [5.0, 5.0], "i": [5, 5], "s": ["abc", "abc"], "flag": [True, True]},
    "null_last": {"v": [2.0, 2.0, None], "i": [5, 5, None], "s": ["abc", "abc", None], "flag": [True, True, None]},
    "nulls": {"v": [None, None], "i": [None, None], "s": [None, None], "flag": [None, None]},
    "nan": {"v": [1.0, NAN], "i": [7, 8], "s": ["", "zzz"], "flag": [False, False]},
    "only_nan": {"v": [NAN], "i": [9], "s": ["abcdef"], "flag": [False]},
    "constant_nan": {"v": [5.0, NAN], "i": [5, 5], "s": ["q", "q"], "flag": [True, True]},
    "zero": {"v": [-0.0], "i": [0], "s": ["a"], "flag": [False]},
    "zeros": {"v": [0.0, -0.0], "i": [0, 0], "s": ["a", "b"], "flag": [False, True]},
    "zeros_apart": {"v": [0.0, 1.0, -0.0, 1.0], "i": [0, 1, 0, 1], "s": ["a", "b", "a", "b"], "flag": [True, True, True, False]},
    "many": {"v": [float(n) for n in range(12)], "i": [*range(12)], "s": [f"k{n}y{n}" for n in range(12)], "flag": [True, False] * 6},
    "long": {"v": [1.0], "i": [1], "s": ["x" * 128 + "y"], "flag": [None]},
    "highest": {"v": [1.0] * 4, "i": [1] * 4, "s": [HIGHEST, "m", "n", "n"], "flag": [None] * 4},
    "both_signs": {"v": [-3.0, 0.5, 4.0, 4.0], "i": [-3, 0, 4, 4], "s": ["d", "e", "f", "g"], "flag": [True, None, False, None]},
    "edge": {"v": [20.0, 21.0], "i": [20, 21], "s": ["abx", "ac"], "flag": [True, True]},
}
COLUMNS = {"v": pa.float64(), "i": pa.int32(), "s": pa.string(), "flag": pa.bool_()}  # and x, which has no index, and is 1


class Top(Index):
    """The largest value, NaN where there is one: a plugin that leaves NaN in a field."""

    fields = {"top": pa.float64()}

    def collect(self, *values: pa.Array) -> Record:
        return {"top": NAN if pc.any(pc.is_nan(values[0])).as_py() else pc.max(values[0]).as_py()}

    def merge(self, a: Record, b: Record) -> Record:
        return {
            "top": NAN
            if a["top"] != a["top"] or b["top"] != b["top"]
            else max((t for r in (a, b) if (t := r["top"]) is not None), default=None)
        }


class Picky(Top):
    """Cannot collect a batch that holds 3."""

    def collect(self, *values: pa.Array) -> Record:
        if 3.0 in values[0].to_pylist():
            raise ValueError("3 is too much")
        return super().collect(*values)


@filters.on("GreaterThan")
def above(node: Any, indexes: Indexes) -> Iterator[Clause]:
    match node:
        case column, Literal(n):
            yield from (index["top"] > n for index in indexes.over(column, Top))


KINDS: dict[str, list[Index]] = {
    "min_max": [MinMax(column) for column in COLUMNS],
    "value_list": [ValueList(column, limit=5) for column in COLUMNS],
    "affix": [Prefix("s", 3, limit=5), Suffix("s", 3, limit=5)],
    "gap_list": [GapList(column, 1) for column in COLUMNS],
    "bloom": [BloomFilter(column) for column in ("v", "i", "s")],
    "top": [Top("v")],
    "picky": [Picky("v")],
}


class Bug(NamedTuple):
    """A line of a module of data_skip, what a mistake makes of it, and predicates that show it on an index."""

    module: str
    line: str
    bug: str
    kind: str
    predicates: tuple[str, ...]
    settings: dict[str, str] = {}


RAW = UNSIMPLIFIED  # so that NOT and NULL reach data-skip as they were written


def bugs(module: str, *rows: tuple[Any, ...]) -> list[Any]:
    made = [
        Bug(module, line, bug, kind, predicates if isinstance(predicates, tuple) else (predicates,), *rest)
        for line, bug, kind, predicates, *rest in rows
    ]
    return [pytest.param(bug, id=f"{module.rpartition('.')[2]}-{i}") for i, bug in enumerate(made)]


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
    *bugs("spark.bridge", ("wanted = 0 if node.source.negated else 1", "wanted = 1", "value_list", "NOT (s RLIKE '^a')")),
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
        ("pc.fill_null(may_match, True)", "pc.fill_null(may_match, False)", "value_list", "i = 11"),
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
    *bugs("proofs.dictionary", ("bool(of_null[0])", "False", "value_list", "coalesce(i, 500) > 300")),
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
    *bugs(
        "indexes.affix",
        ("return pc.or_kleene(found, has_null) if of_null else found", "return found", "affix", "s IS NULL"),
        (
            'case Call("IsNull", [inner]) | Call("EqualNullSafe", [inner, Literal(None)]):\n            return inner == target',
            'case Call("IsNull", [inner]):\n            return inner == target',
            "affix",
            "s <=> NULL",
            RAW,
        ),
        ("return inner == target and value is not None", "return False", "affix", "NOT (s <=> 'q')"),
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
        ("return NOTHING  # x NOT IN (1, NULL) is false or null", "return EVERYTHING", "min_max", "i NOT IN (1, NULL)", RAW),
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


PYTHON: list[tuple[str, Callable[[Any], Any], str]] = [
    ("itself", lambda v: v, "double"),
    ("text_of", lambda v: None if v is None else str(v), "string"),
    ("or_500", lambda i: 500 if i is None else i, "int"),
]


class Small:
    """The table, with the indexes of each kind in a copy of its own."""

    def __init__(self, spark: SparkSession, skipping: Skipping, folder: Path) -> None:
        self.spark, self.skipping, self.folder = spark, skipping, folder
        for name, function, type_ in PYTHON:
            spark.udf.register(name, F.udf(function, type_))
        lake = Lake(spark, skipping, folder / "files")
        for name, columns in FILES.items():
            indexed = {c: pa.array(columns[c], type_) for c, type_ in COLUMNS.items()}
            lake.file(f"{name}.parquet", {**indexed, "x": [1] * len(columns["i"])})
        self.files = lake.folder
        self.truth = Truth(skipping, self.frame(self.files))
        self.folders: dict[str, Path] = {}

    def frame(self, folder: Path) -> DataFrame:
        return self.spark.read.parquet(str(folder))

    def copy(self, kind: str, name: str) -> Path:
        """A copy of the files with a kind's indexes, made now."""
        folder = self.folder / name
        shutil.copytree(self.files, folder)
        for file in folder.iterdir():
            aged(file)
        self.skipping.table(str(folder)).create_index(*KINDS[kind])
        return folder

    def of(self, kind: str) -> Path:
        if kind not in self.folders:
            self.folders[kind] = self.copy(kind, kind)
        return self.folders[kind]

    def answers(self, folder: Path, bug: Bug, errors: bool = False) -> tuple[list[str], int]:
        """The wrong answers to a bug's predicates, and how many files they skip."""
        wrong, count = [], 0
        with settings_of(self.spark, bug.settings):
            for predicate in bug.predicates:
                plan = kept_files(self.skipping, self.frame(folder), predicate, errors)
                assert plan is not None, f"Spark leaves nothing of {predicate}"
                (matching,) = self.truth.matching([predicate])
                assert matching is not None, f"{predicate} raises an error"
                wrong += [f"{predicate} skips {file}" for file in plan[1] & matching]
                count += len(plan[1])
        return wrong, count


@pytest.fixture(scope="module")
def small(spark: SparkSession, skipping: Skipping, tmp_path_factory: pytest.TempPathFactory) -> Small:
    return Small(spark, skipping, tmp_path_factory.mktemp("planted"))


@pytest.mark.parametrize("kind", ["min_max", "value_list", "gap_list"])
@pytest.mark.parametrize("predicate", ["i <> 5", "NOT (i <=> 5)", "i NOT IN (5, 6)", "NOT flag", "NOT (i = 5 AND flag)", "s <> 'abc'"])
def test_negations_skip_files_that_hold_nothing_else(small: Small, kind: str, predicate: str) -> None:
    plan = kept_files(small.skipping, small.frame(small.of(kind)), predicate)
    assert plan and "constant.parquet" in plan[1]
    assert ("null_last.parquet" in plan[1]) == ("<=>" not in predicate)  # NULL is not 5 for <=> alone


@pytest.mark.parametrize("bug", AT_QUERY)
def test_a_bug_in_answering_is_noticed(small: Small, bug: Bug) -> None:
    folder = small.of(bug.kind)
    assert small.answers(folder, bug)[0] == []
    with planted(f"data_skip.{bug.module}", bug.line, bug.bug):
        assert small.answers(folder, bug)[0], "the bug is not noticed"


@pytest.mark.parametrize("bug", AT_INDEXING)
def test_a_bug_in_collecting_is_noticed(small: Small, bug: Bug, request: pytest.FixtureRequest) -> None:
    batch = 100 if "values.to_pylist()" in bug.bug else 2
    with collecting_here(batch):
        assert small.answers(small.copy(bug.kind, f"{request.node.callspec.id}-right"), bug)[0] == []
        with planted(f"data_skip.{bug.module}", bug.line, bug.bug):
            folder = small.copy(bug.kind, f"{request.node.callspec.id}-wrong")
    assert small.answers(folder, bug)[0], "the bug is not noticed"


@pytest.mark.parametrize("bug", LOSSES)
def test_a_line_that_only_saves_reading_is_missed(small: Small, bug: Bug, request: pytest.FixtureRequest) -> None:
    with collecting_here():
        wrong, skipped = small.answers(small.copy(bug.kind, f"{request.node.callspec.id}-loss-right"), bug)
        assert wrong == []
        with planted(f"data_skip.{bug.module}", bug.line, bug.bug):
            folder = small.copy(bug.kind, f"{request.node.callspec.id}-loss-wrong")
            assert small.answers(folder, bug, errors=True)[1] < skipped


# --- Freshness: a record speaks of one version of a file, read in one way ------------------------------------------------------


def other_size(path: Path, rows: pa.Table) -> None:
    """Another file with the same modification time."""
    moment = path.stat().st_mtime_ns
    pq.write_table(rows.replace_schema_metadata({"fill": "x" * 999}), path)
    os.utime(path, ns=(moment, moment))


def other_time(path: Path, rows: pa.Table) -> None:
    """Another file of the same size."""
    same_size(path, rows)
    aged(path, 1800)


def other_version(path: Path, rows: pa.Table) -> None:
    """Another file that looks the same."""
    moment = path.stat().st_mtime_ns
    same_size(path, rows)
    os.utime(path, ns=(moment, moment))


OLD, NEW = pa.table({"i": pa.array([*range(9)], pa.int32())}), pa.table({"i": pa.array([100], pa.int32())})
_PUT, _FIND = "slots.put(lines[i], new Integer(i))", '"\\t" + size + "\\t" + modificationTime'
JAVA: list[tuple[str, str, list[tuple[str, str]], Callable[[Path, pa.Table], None], bool]] = [
    (
        "identity without size",
        "KnownFiles",
        [(_PUT, 'slots.put(lines[i].replaceFirst("\\t[0-9]+\\t", "\\t"), new Integer(i))'), (_FIND, '"\\t" + modificationTime')],
        other_size,
        False,
    ),
    (
        "identity without modification time",
        "KnownFiles",
        [(_PUT, 'slots.put(lines[i].replaceFirst("\\t[0-9]+$", ""), new Integer(i))'), (_FIND, '"\\t" + size')],
        other_time,
        False,
    ),
    ("listed long ago, size ignored", "Freshness", [("now.size() == listed.getLen() && ", "")], other_size, True),
    (
        "listed long ago, modification time ignored",
        "Freshness",
        [(" && now.lastModifiedTime().toMillis() == listed.getModificationTime()", "")],
        other_time,
        True,
    ),
]


@pytest.mark.parametrize(("source", "lines", "change", "listed_before"), [pytest.param(*rest, id=name) for name, *rest in JAVA])
def test_a_bug_in_telling_versions_apart_is_noticed(
    source: str, lines: list[tuple[str, str]], change: Callable[[Path, pa.Table], None], listed_before: bool, lake: Lake, tmp_path: Path
) -> None:
    path = lake.file("a.parquet", OLD)
    lake.file("b.parquet", OLD)
    lake.index(MinMax("i"))
    with planted_java(lake.spark, {source: lines}, tmp_path) as (session, kept):
        frames = [spark.read.parquet(str(lake.folder)) for spark in (lake.spark, session)] if listed_before else []
        change(path, NEW)
        right, wrong = frames or [spark.read.parquet(str(lake.folder)) for spark in (lake.spark, session)]
        assert kept_files(lake.skipping, right, "i > 50")[:2] == ({"a.parquet"}, {"b.parquet"})
        assert "a.parquet" not in kept(wrong, "i > 50"), "the bug is not noticed"


@pytest.mark.parametrize("bug", [None, ("now - resolution <= key.modification_time <= now + _HOUR", "False")], ids=["right", "wrong"])
def test_indexing_a_file_that_may_change_unseen_is_noticed(bug: tuple[str, str] | None, lake: Lake) -> None:
    path = lake.file("a.parquet", OLD)
    aged(path, -60)  # dated so that it may be written again and look the same
    with planted("data_skip.building.indexing", *bug) if bug else nullcontext():
        lake.table().create_index(MinMax("i"))
    other_version(path, NEW)
    plan = kept_files(lake.skipping, lake.spark.read.parquet(str(lake.folder)), "i > 50")
    assert plan and ("a.parquet" in plan[1]) == (bug is not None)


@pytest.mark.parametrize("bug", [None, ("if old.get(key) != new.get(key):", "if False:")], ids=["right", "wrong"])
def test_using_records_that_another_reader_collected_is_noticed(bug: tuple[str, str] | None, lake: Lake) -> None:
    (lake.folder / "a.csv").write_text("1\n5\n")
    aged(lake.folder / "a.csv")
    lake.index(MinMax("i"), format="csv", schema="i int")
    frame = lake.spark.read.schema("i int").option("nullValue", "5").csv(str(lake.folder))
    with planted("data_skip.store.definition", *bug) if bug else nullcontext():
        plan = kept_files(lake.skipping, frame, "i IS NULL")
    assert plan and ("a.csv" in plan[1]) == (bug is not None)
