"""What the demo prints is aligned and claims no more than it saw."""

from __future__ import annotations

from dataclasses import replace

import pytest

from data_skip import QueryReport
from sample_data import printing
from sample_data.comparing import Outcome
from sample_data.queries import GEO_QUERIES

GOOD = Outcome(
    query=GEO_QUERIES[0],
    files_read=3,
    files_total=512,
    bytes_read=51_234,
    bytes_total=8_432_314,
    seconds_with=0.05,
    seconds_without=0.6,
    rows=1,
    rows_equal=True,
    report=QueryReport(""),
)


@pytest.mark.parametrize(
    ("outcome", "verdict"),
    [
        (GOOD, "yes"),
        (replace(GOOD, files_read=0), "yes"),
        (replace(GOOD, rows_equal=False), "NO"),
        (replace(GOOD, files_read=512), "yes, but nothing was skipped"),
        (replace(GOOD, files_read=0, files_total=0), "yes, but nothing was skipped"),
    ],
    ids=["good", "no file needed", "other rows", "every file read", "no scan seen"],
)
def test_a_query_passes_when_its_rows_are_equal_and_files_were_skipped(outcome: Outcome, verdict: str) -> None:
    assert printing.equality(outcome) == verdict
    assert outcome.passed == (verdict == "yes")


@pytest.mark.parametrize(
    ("read", "total", "share"),
    [(0, 512, "100.0 %"), (1, 100_000, "99.9 %"), (128, 512, "75.0 %"), (512, 512, "0.0 %"), (0, 0, "0.0 %")],
)
def test_all_is_skipped_only_when_nothing_is_read(read: int, total: int, share: str) -> None:
    assert printing.skipped(read, total) == share


def test_columns_are_aligned() -> None:
    assert printing.table([["a", "100"], ["long", "1"]], indent="").splitlines() == ["a      100", "long     1"]


def test_a_query_is_printed_with_its_numbers() -> None:
    text = printing.one(1, 9, GOOD)
    for part in ("1 of 9. ", "max(temp)", "512", "99.4 % skipped", "50.0 KiB", "12.0 times as fast", "rows equal: yes (1 row)"):
        assert part in text


def test_the_summary_has_a_line_for_each_query() -> None:
    lines = printing.summary([GOOD, GOOD]).strip().splitlines()
    assert len(lines) == 4
    assert len({len(line) for line in lines[1:]}) == 1
