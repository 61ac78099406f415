"""What plain Spark says of a predicate, held against the files that planning keeps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from urllib.parse import unquote

from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from data_skip import Skipping
from data_skip.files.listing import Listing
from tests.differential.predicates import Predicate
from tests.support import FILE, at_hand

BATCH = 100
# Spark simplifies predicates before data-skip sees them; without these rules, its own rewritings have to be right.
UNSIMPLIFIED = {
    "spark.sql.optimizer.excludedRules": ",".join(
        f"org.apache.spark.sql.catalyst.optimizer.{rule}"
        for rule in (
            "BooleanSimplification",
            "NullPropagation",
            "OptimizeIn",
            "LikeSimplification",
            "UnwrapCastInBinaryComparison",
            "SimplifyBinaryComparison",
            "SimplifyConditionals",
            "ReplaceNullWithFalseInPredicate",
            "InferFiltersFromConstraints",
        )
    )
}


def kept_files(skipping: Skipping, frame: DataFrame, predicate: str, errors: bool = False) -> tuple[set[str], set[str], str] | None:
    """The names of the files that planning keeps, of those that it skips, and the clause; None where Spark leaves no predicate to the scan.

    AssertionError where a filter or a clause raises, unless that is expected: its files are kept, but nobody would skip them.
    """
    return _planned(skipping, frame.where(predicate), predicate, errors)


def _planned(skipping: Skipping, frame: DataFrame, predicate: str, errors: bool = False) -> tuple[set[str], set[str], str] | None:
    scans = skipping.jvm.scans(frame)
    if not scans:
        return None
    listing = Listing.now(scans[-1])
    report = skipping.decide(listing)
    assert errors or not report.errors, f"{predicate}: {report.errors}"
    kept, skipped = set(), set()
    for path, keep in zip(listing.paths, listing.keep, strict=True):
        (kept if keep else skipped).add(unquote(path.rsplit("/", 1)[-1]))
    return kept, skipped, report.clause


class Truth:
    """The files of a table that hold a row for which a predicate is true, as plain Spark evaluates it.

    Spark reads the rows once, without skipping. Over rows at hand its optimizer evaluates predicates by itself, with no job.
    """

    def __init__(self, skipping: Skipping, frame: DataFrame) -> None:
        self.skipping, self.frame = skipping, frame
        self.outcomes: Counter[str] = Counter()
        self.rows = at_hand(frame, "file_name")

    def skipped(self, predicates: Sequence[Predicate], number: int) -> Iterator[tuple[Predicate, set[str]]]:
        """For each predicate that Spark can evaluate the files that planning skips, asserting that none holds a matching row."""
        for start in range(0, len(predicates), BATCH):
            planned = [(p, plan) for p in predicates[start : start + BATCH] if (plan := self._plan(p)) is not None]
            matching = self.matching([p.sql for p, _ in planned])
            for (predicate, plan), files in zip(planned, matching, strict=True):
                self.outcomes["raised" if files is None else "compared"] += 1
                if files is None:
                    files = self._matching_one_by_one(predicate.sql, plan[1])
                if (wrong := files & plan[1]) and (wrong := wrong & self._run(predicate.sql)):
                    raise AssertionError(self._explained(predicate, wrong, number))
                yield predicate, plan[1]

    def _plan(self, predicate: Predicate) -> tuple[set[str], set[str], str] | None:
        try:
            frame = self.frame.where(predicate.sql)
        except AnalysisException:  # before data-skip is asked; there is no skipping while Spark analyses
            self.outcomes["refused"] += 1
            return None
        try:
            plan = _planned(self.skipping, frame, predicate.sql)
        except PySparkException:
            self.outcomes["refused"] += 1
            with self.skipping.disabled():
                try:
                    self.frame.where(predicate.sql)._jdf.queryExecution().optimizedPlan()
                except PySparkException:
                    return None
            raise  # only with skipping
        if plan is None:
            self.outcomes["constant"] += 1
        return plan

    def matching(self, predicates: list[str], of: str | None = None) -> list[set[str] | None]:
        """For each predicate the files (or that one file) with a row for which it is true; None where it raises an error."""
        if not predicates:
            return []
        columns = [F.expr(predicate).alias(f"p{i}") for i, predicate in enumerate(predicates)]
        try:
            found = (self.rows if of is None else self.rows.where(F.col(FILE) == of)).select(FILE, *columns).collect()
        except PySparkException:
            if len(predicates) == 1:
                return [None]
            half = len(predicates) // 2
            return self.matching(predicates[:half], of) + self.matching(predicates[half:], of)
        return [{unquote(row[0]) for row in found if row[i]} for i in range(1, len(predicates) + 1)]

    def _matching_one_by_one(self, predicate: str, skipped: set[str]) -> set[str]:
        """Those of some files whose rows match; a file whose rows raise an error is not among them: skipping may hide an error."""
        return {file for file in skipped if self.matching([predicate], of=file)[0]}

    def _run(self, predicate: str) -> set[str]:
        """The files that plain Spark finds when it runs the query. Its optimizer may know better than what it evaluates over rows at hand:

        around a change of clocks UnwrapCastInBinaryComparison takes `cast(at AS timestamp_ntz) <= x` for `at <= x`.
        """
        with self.skipping.disabled():
            return {unquote(row[0]) for row in self.frame.where(predicate).select("_metadata.file_name").distinct().collect()}

    def _explained(self, predicate: Predicate, wrong: set[str], number: int) -> str:
        """The smallest part of the predicate that is wrong as well."""
        for part in [*predicate.below(), predicate]:
            try:
                plan = kept_files(self.skipping, self.frame, part.sql)
            except PySparkException:
                continue
            bad = plan and plan[1] & (self.matching([part.sql])[0] or set())
            if plan and bad:
                return f"table {number}: {part} skips {sorted(bad)}, which hold matching rows; clause {plan[2]}"
        return f"table {number}: {predicate} skips {sorted(wrong)}, which hold matching rows"
