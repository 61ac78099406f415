"""The claims lab: what monotone.py claims of functions, held against what a Spark job gives of boundary values.

For each type of column, settings and zone, one job evaluates some hundred functions of families.py over sorted boundary values. Then, as
for files of a table, whose answers must never exclude what the job found:

- *windows*: of stretches of neighbouring values, ranges.py is told the ends only, and asked whether the function may give there what the
  job gave somewhere between them. So conditions, cuts and slack of a claim are tried as they are used.
- *preimages*: of values that the job gave, preimage.py is asked where the function gives them, less, or more.

A function that Spark refuses, or of which nothing is claimed, is passed over. `make claims` asks of more values, constants and zones:
DATA_SKIP_CLAIMS times as many as the tests.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.classic.column import Column

from data_skip import Skipping
from data_skip.clause import Computed, Field
from data_skip.data_types import FRACTIONAL, arrow_type, is_decimal
from data_skip.expression import Call, Expression, Literal
from data_skip.proofs.narrowing import rule_of
from data_skip.proofs.preimage import preimage, value_at
from data_skip.proofs.ranges import Bounds, WhereConstant, within_ranges
from data_skip.proofs.value_set import ValueSet
from data_skip.spark.bridge import Scan
from tests.claims.families import functions, literal, ordinals, texts

ARROW = {"date": pa.date32(), "timestamp": pa.timestamp("us", "UTC"), "timestamp_ntz": pa.timestamp("us")}
_OPERATORS = ("EqualTo", "NotEqualTo", "LessThan", "GreaterThanOrEqual")
_BATCH = 60  # functions that are planned together


@dataclass
class Findings:
    """What came out: false claims, in words, and how much was asked."""

    wrong: list[str] = field(default_factory=list)
    asked: int = 0
    claimed: set[str] = field(default_factory=set)  # Catalyst classes (of casts, from and to) of which something is claimed


class Lab:
    """One type of column under the session's settings."""

    def __init__(
        self, spark: SparkSession, skipping: Skipping, folder: Path, type_: str, zone: str, size: int, random: Random, around: str = ""
    ) -> None:
        self.spark, self.skipping, self.type, self.random, self.size = spark, skipping, type_, random, size
        self.folder = folder
        self.values = _values(type_, zone, random, size, around)  # in order, NaN last
        self.numbers = len(self.values) - (1 if type_ in FRACTIONAL else 0)
        self.other = np.array(random.choices(range(self.numbers), k=len(self.values)))  # of column u, where it stands in v
        shown = pa.array(self.values, arrow_type(type_))
        shown = shown.view(ARROW[type_]) if type_ in ARROW else shown
        folder.mkdir(parents=True)
        pq.write_table(pa.table({"id": range(len(shown)), "v": shown, "u": shown.take(pa.array(self.other))}), folder / "values.parquet")
        self.frame = spark.read.parquet(str(folder))

    def run(self, constants: int, first: int, step: int, about: str = "") -> Findings:
        """The functions of the type whose SQL matches `about`, each with so many constants: from the first of them, one in `step`."""
        found = Findings()
        chosen = [sql for sql in functions(self.type, self.random, constants) if re.search(about, sql)][first::step]
        asked = [(sql, kind) for sql in chosen if (kind := self._result_type(sql)) is not None]
        for start in range(0, len(asked), _BATCH):
            batch = asked[start : start + _BATCH]
            answers = self._job([sql for sql, _ in batch])
            self._judge(batch, answers, found)
        return found

    def _result_type(self, sql: str) -> str | None:
        try:
            return str(self.frame.selectExpr(sql).schema[0].dataType.simpleString())
        except PySparkException:
            return None

    def _job(self, sqls: list[str]) -> list[tuple[pa.Array, np.ndarray[Any, Any]]]:
        """What Spark gives of each row, in Spark's own representation; and where it raises no error."""
        columns = [tried(self.spark, text) for sql in sqls for text in (sql, f"({sql}) IS NULL")]
        rows = self.frame.select("id", *(column.alias(f"c{i}") for i, column in enumerate(columns))).toArrow().sort_by("id")
        found = [_stored(rows[f"c{i}"].combine_chunks()) for i in range(len(columns))]
        return [(values, valid.is_valid().to_numpy(zero_copy_only=False)) for values, valid in zip(found[::2], found[1::2], strict=True)]

    def _judge(self, batch: list[tuple[str, str]], answers: list[tuple[pa.Array, np.ndarray[Any, Any]]], found: Findings) -> None:
        kinds = list(dict.fromkeys(kind for _, kind in batch))
        constants = [self._constants(kind, values) for (_, kind), (values, _) in zip(batch, answers, strict=True)]
        with_results = self._empty(kinds)
        parts = [f"({sql}) <=> w{kinds.index(kind)}" for sql, kind in batch]
        parts += [f"({sql}) = {text}" for (sql, _), chosen in zip(batch, constants, strict=True) for _, text in chosen]
        scan = self.skipping.jvm.scans(with_results.where(f"xxhash64({', '.join(parts)}) = 0"))[-1]
        nodes = iter(scan.predicate.children[0].children)
        for (sql, _), (values, valid) in zip(batch, answers, strict=True):
            self._windows(sql, next(nodes), scan, values, valid, found)
        for (sql, _), chosen, (values, valid) in zip(batch, constants, answers, strict=True):
            for place, _ in chosen:
                self._preimages(sql, next(nodes), scan, values, valid, place, found)

    def _empty(self, kinds: list[str]) -> DataFrame:
        """A table with columns v, u, and for the results of each type, w0, w1, ..."""
        path = f"{self.folder}-{self.random.getrandbits(60)}"
        nulls = [f"cast(NULL AS {kind}) AS w{i}" for i, kind in enumerate(kinds)]
        self.frame.selectExpr("v", "u", *nulls).where("false").write.parquet(path)
        return self.spark.read.parquet(path)

    def _windows(self, sql: str, node: Expression, scan: Scan, results: pa.Array, valid: np.ndarray[Any, Any], found: Findings) -> None:
        """Windows around values of v and u: the result that a job gives of them may be there."""
        if not isinstance(node, Call) or node.name != "EqualNullSafe":
            return  # simplified
        known = {part: _BOUNDS for part in node.walk() if not part.children and not isinstance(part, Literal)}
        clause = within_ranges(node, known, scan, sql)
        if not isinstance(clause, Computed):
            return
        if not isinstance(clause, WhereConstant):
            found.claimed.update(_claimed(node[0], scan))
        rows = np.flatnonzero(valid)
        order = [str(part) for part in dict.fromkeys(node.walk()) if part in known]
        columns = [array for name in order for array in self._bounds(name, rows, results)]
        may = pc.fill_null(clause.function(*columns), True).to_numpy(zero_copy_only=False)
        found.asked += len(rows)
        for row in rows[~may][:1]:
            where = [self.values[row], self.values[self.other[row]]]
            window = [(column[int(np.flatnonzero(~may)[0])].as_py()) for column in columns[:2]]
            found.wrong.append(f"{sql} of {where} is {results[int(row)]}, not within {window} [{(~may).sum()} of {len(rows)}]")

    def _bounds(self, name: str, rows: np.ndarray[Any, Any], results: pa.Array) -> list[pa.Array]:
        """What an index would tell of the files: low, high, and how many values, NULLs, NaNs."""
        if name not in ("v", "u"):
            of_rows = results.take(pa.array(rows))
            is_nan = pc.fill_null(pc.is_nan(of_rows), False) if pa.types.is_floating(of_rows.type) else pa.array(np.zeros(len(rows), bool))
            of_rows = pc.if_else(is_nan, None, of_rows)
            return [
                of_rows,
                of_rows,
                *(pc.cast(c, pa.int64()) for c in (of_rows.is_valid(), pc.invert(pc.or_(of_rows.is_valid(), is_nan)), is_nan)),
            ]
        places = rows if name == "v" else self.other[rows]
        random = np.random.default_rng(self.random.getrandbits(32))
        before, after = (2 ** random.integers(0, 12, len(rows)) // 2 for _ in range(2))
        near = random.random(len(rows)) < 0.5
        before, after = np.where(near, np.minimum(before, 1), before), np.where(near, np.minimum(after, 1), after)
        stored = pa.array(self.values, arrow_type(self.type))
        ends = [np.clip(at, 0, self.numbers - 1) for at in (places - before, places + after)]
        nan = pa.array((places >= self.numbers).astype(np.int64))
        ones = pa.array(np.ones(len(rows), np.int64))
        return [*(stored.take(pa.array(end)) for end in ends), ones, pa.array(np.zeros(len(rows), np.int64)), nan]

    def _constants(self, kind: str, results: pa.Array) -> list[tuple[int, str]]:
        """Some rows, and their results in SQL."""
        places = [i for i in self.random.sample(range(len(results)), min(20, len(results))) if results[i].is_valid]
        found = []
        for place in places:
            try:
                arrow_type(kind)
                found.append((place, literal(results[place].as_py(), kind)))
            except (KeyError, OverflowError):
                continue
        return found[: 1 + self.size // 2000]

    def _preimages(
        self, sql: str, node: Expression, scan: Scan, results: pa.Array, valid: np.ndarray[Any, Any], place: int, found: Findings
    ) -> None:
        """Where the function compares with the result of one row, as preimage.py has it, and as the job's results have it."""
        if not isinstance(node, Call) or node.name != "EqualTo" or not isinstance(node[1], Literal):
            return
        targets = {part for part in node.walk() if str(part) == "v"}
        if len(targets) != 1 or any(str(part) == "u" for part in node.walk()):
            return
        (target,) = targets
        ranks = pc.rank(results, tiebreaker="dense").to_numpy().astype(np.int64)
        known = valid & results.is_valid().to_numpy(zero_copy_only=False)
        truths = (ranks == ranks[place], ranks != ranks[place], ranks < ranks[place], ranks >= ranks[place])
        for operator, truth in zip(_OPERATORS, truths, strict=True):
            allowed = preimage(operator, node[0], node[1], target, scan)
            if allowed is None:
                continue
            lost = np.flatnonzero(truth & known & ~self._within(allowed))
            found.asked += len(self.values)
            if len(lost):
                value, result = self.values[int(lost[0])], results[int(lost[0])]
                found.wrong.append(f"{sql} of {value} is {result}, {operator} {results[place]}, but not in its preimage [{len(lost)}]")

    def _within(self, allowed: ValueSet) -> np.ndarray[Any, Any]:
        inside = np.zeros(len(self.values), dtype=bool)
        numbers = self.values[: self.numbers]
        for part in allowed.intervals:
            low = 0 if part.low is None else (bisect_left if part.low_closed else bisect_right)(numbers, part.low)
            high = self.numbers if part.high is None else (bisect_right if part.high_closed else bisect_left)(numbers, part.high)
            inside[low:high] = True
        inside[self.numbers :] = allowed.nan
        return inside


_BOUNDS = Bounds(*(Field("lab", name, name) for name in ("low", "high", "values", "nulls", "nans")))


def tried(spark: SparkSession, sql: str) -> Column:
    """NULL where Spark raises an error."""
    jvm: Any = spark._jvm
    parsed = spark._jsparkSession.sessionState().sqlParser().parseExpression(sql)
    return Column(jvm.org.apache.spark.sql.classic.ExpressionUtils.column(jvm.org.apache.spark.sql.catalyst.expressions.TryEval(parsed)))


def _values(type_: str, zone: str, random: Random, size: int, around: str) -> list[Any]:
    if type_ == "boolean":
        return [False, True]
    if type_ in ("string", "binary"):
        found = texts(random, size)
        return found if type_ == "string" else [text.encode() for text in found]
    values = [value_at(ordinal, type_) for ordinal in ordinals(type_, zone, random, size, around)]
    return [*values, float("nan")] if type_ in FRACTIONAL else values


def _stored(array: pa.Array) -> pa.Array:
    """An array in Spark's own representation."""
    if pa.types.is_timestamp(array.type):
        return array.view(pa.int64())
    return array.view(pa.int32()) if pa.types.is_date32(array.type) else array


def _claimed(function: Expression, scan: Scan) -> Iterator[str]:
    for part in function.walk():
        if isinstance(part, Call) and rule_of(part, scan) is not None:
            yield f"{_kind(part.operands[0].type)} to {_kind(part.type)}" if part.name == "Cast" else part.name


def _kind(type_: str) -> str:
    if type_ in FRACTIONAL:
        return "fractional"
    return "decimal" if is_decimal(type_) else "integral" if type_ in ("tinyint", "smallint", "int", "bigint") else type_
