"""Patterns of dates and times, as in date_format: within which period their text orders as time does."""

from __future__ import annotations

import re
from dataclasses import dataclass

# From the longest to the shortest, of fixed width; and the period within which all that are longer are constant.
_FIELDS = ("yyyy", "MM", "dd", "HH", "mm", "ss", "S")
_PERIODS = ("", "year", "month", "day", "hour", "minute")
# Fewer than three S are no fixed width where spark.sql.legacy.timeParserPolicy is LEGACY.
_PART = re.compile(r"yyyy(?!y)|MM(?!M)|dd(?!d)|HH(?!H)|mm(?!m)|ss(?!s)|(?P<fraction>S{3,6}(?!S))|(?P<constant>[-/.:, _]|'[^']*')")


@dataclass(frozen=True)
class Pattern:
    """`period`: within which its text goes up with time, "" for always. `clock`: whether it tells more than the day."""

    period: str
    clock: bool


def parse_pattern(text: str) -> Pattern | None:
    """What is known of a pattern; None: nothing.

    Its first field begins a run that goes on without a gap to ever shorter ones: `MM/dd/yyyy` goes up within a year, in which yyyy is
    constant. `yyyy` without `MM` before `dd` never does.
    """
    fields, place = [], 0
    while place < len(text):
        part = _PART.match(text, place)
        if part is None:
            return None
        place = part.end()
        if part["constant"] is None:
            fields.append(_FIELDS.index("S" if part["fraction"] else part[0]))
    if not fields or fields[0] >= len(_PERIODS):
        return None
    run = fields[0]
    for field in fields[1:]:
        if field > run + 1:
            return None
        run = max(run, field)
    return Pattern(_PERIODS[fields[0]], run > _FIELDS.index("dd"))
