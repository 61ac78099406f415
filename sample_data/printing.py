"""How the demo prints what it saw."""

from __future__ import annotations

from collections.abc import Sequence

from data_skip.planning.report import human
from sample_data.comparing import Outcome

WIDTH = 100


def heading(text: str) -> str:
    """A line of text with a rule up to the full width."""
    return f"\n── {text} ".ljust(WIDTH + 1, "─")


def table(rows: Sequence[Sequence[str]], indent: str = "   ") -> str:
    """Aligned columns: the first to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for first, *others in rows:
        cells = [first.ljust(widths[0])] + [text.rjust(width) for text, width in zip(others, widths[1:], strict=True)]
        lines.append((indent + "   ".join(cells)).rstrip())
    return "\n".join(lines)


def in_seconds(seconds: float) -> str:
    """A time in milliseconds, aligned well beside others of its kind."""
    return f"{seconds * 1000:,.0f} ms"


def skipped(read: int, total: int) -> str:
    """The share that was not read; never 100 % unless nothing was."""
    share = 100 * (total - read) / total if total else 0
    return f"{min(share, 99.9) if read else share:.1f} %"


def equality(outcome: Outcome) -> str:
    """Whether both ways gave the same rows, or why the query fails the demo."""
    if not outcome.rows_equal:
        return "NO"
    return "yes" if outcome.passed else "yes, but nothing was skipped"


def one(number: int, total: int, outcome: Outcome) -> str:
    """One query: its text, and what it read with and without skipping."""
    sql = "\n".join("   " + line for line in outcome.query.sql.strip().splitlines())
    numbers = table(
        [
            ["", "with skipping", "without", ""],
            [
                "files read",
                f"{outcome.files_read:,}",
                f"{outcome.files_total:,}",
                skipped(outcome.files_read, outcome.files_total) + " skipped",
            ],
            [
                "bytes read",
                human(outcome.bytes_read),
                human(outcome.bytes_total),
                skipped(outcome.bytes_read, outcome.bytes_total) + " skipped",
            ],
            [
                "time",
                in_seconds(outcome.seconds_with),
                in_seconds(outcome.seconds_without),
                f"{outcome.speedup:.1f} times as fast",
            ],
        ]
    )
    rows = f"   rows equal: {equality(outcome)} ({outcome.rows:,} row{'' if outcome.rows == 1 else 's'})"
    return "\n".join([heading(f"{number} of {total}. {outcome.query.title}"), sql, "", numbers, rows])


def summary(outcomes: Sequence[Outcome]) -> str:
    """All the queries, a line each."""
    rows = [["query", "files read", "of", "bytes read", "of", "time with", "without", "rows equal"]]
    for number, outcome in enumerate(outcomes, start=1):
        rows.append(
            [
                str(number),
                f"{outcome.files_read:,}",
                f"{outcome.files_total:,}",
                human(outcome.bytes_read),
                human(outcome.bytes_total),
                in_seconds(outcome.seconds_with),
                in_seconds(outcome.seconds_without),
                equality(outcome),
            ]
        )
    return heading("Summary") + "\n" + table(rows)
