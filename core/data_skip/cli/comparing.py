"""Runs one query with skipping and without, and compares the rows."""

from __future__ import annotations

import statistics
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from hashlib import blake2b
from typing import Any

from data_skip.cli.showing import sentence, table
from data_skip.errors import DataSkipError
from data_skip.planning.report import QueryReport, human
from data_skip.session import Skipping
from data_skip.spark.errors import SPARK_ERRORS
from data_skip.spark.jvm import is_command


@dataclass(frozen=True)
class Compared:
    """One query, run both ways. failed: why it fails with skipping, where it does not without."""

    rows: int
    rows_equal: bool
    seconds_with: float
    seconds_without: float
    report: QueryReport
    failed: str = ""

    def as_json(self) -> dict[str, Any]:
        """With the same keys in each version."""
        read, total = self._sums()
        return {
            "rows": self.rows,
            "rows_equal": self.rows_equal,
            "with": {"files": read[0], "bytes": read[1], "seconds": round(self.seconds_with, 3)},
            "without": {"files": total[0], "bytes": total[1], "seconds": round(self.seconds_without, 3)},
            "scans": [asdict(scan) for scan in self.report.scans],
            "failed": self.failed,
        }

    def as_table(self) -> object:
        """For people."""
        read, total = self._sums()
        seconds = self.seconds_with, self.seconds_without
        return table(
            ["", "with skipping", "without", ""],
            [
                ["files read", f"{read[0]:,}", f"{total[0]:,}", _skipped(read[0], total[0])],
                ["bytes read", human(read[1]), human(total[1]), _skipped(read[1], total[1])],
                ["seconds", f"{seconds[0]:.2f}", f"{seconds[1]:.2f}", f"{seconds[1] / max(seconds[0], 1e-3):.1f} times as fast"],
                ["rows", f"{self.rows:,}", "the same" if self.rows_equal else "OTHERS", ""],
            ],
            right=(1, 2, 3),
        )

    def _sums(self) -> tuple[Sequence[int], Sequence[int]]:
        scans = self.report.scans
        read = sum(scan.files_read for scan in scans), sum(scan.bytes_read for scan in scans)
        return read, (sum(scan.files_total for scan in scans), sum(scan.bytes_total for scan in scans))


def _skipped(read: int, total: int) -> str:
    share = 100 * (total - read) / total if total else 0
    return f"{min(share, 99.9) if read else share:.1f} % skipped"


def compare(skipping: Skipping, sql: str, repeats: int) -> Compared:
    """Runs a query once each way for its rows, then `repeats` times each way, in turns, for the median time.

    The times are those of the first runs where repeats is 0. An error of Spark where the query fails without skipping, too. DataSkipError
    for a statement that does something, before it does: it would be done twice.
    """
    if is_command(skipping.spark, sql):
        raise DataSkipError(f"{' '.join(sql.split())[:60]!r} is no query but a command, which would be run once each way; give a SELECT")
    before = skipping.report().execution_id
    failed, rows, first = "", None, 0.0
    try:
        rows, first = _run(skipping, sql)
    except SPARK_ERRORS as error:
        failed = sentence(error)
    report = skipping.report()
    with skipping.disabled():
        expected, first_without = _run(skipping, sql)
    times, times_without = [], []
    for _ in range(0 if failed else repeats):
        times.append(_run(skipping, sql)[1])
        with skipping.disabled():
            times_without.append(_run(skipping, sql)[1])
    return Compared(
        rows=expected.total(),
        rows_equal=rows == expected,
        seconds_with=statistics.median(times or [first]),
        seconds_without=statistics.median(times_without or [first_without]),
        report=report if report.execution_id != before else QueryReport(""),
        failed=failed,
    )


def _run(skipping: Skipping, sql: str) -> tuple[Counter[bytes], float]:
    """The rows, whatever their order, by digests of what they show, since NaN is no equal of itself; and the seconds that they took."""
    begun = time.perf_counter()
    rows = skipping.spark.sql(sql).collect()
    seconds = time.perf_counter() - begun
    return Counter(blake2b(repr(row).encode("utf-8", "surrogatepass"), digest_size=16).digest() for row in rows), seconds
