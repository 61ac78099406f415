"""How long a decision may take: what is known by then decides, and what is not known keeps its files."""

from __future__ import annotations

import math
from time import perf_counter

SETTING = "spark.data_skip.decideSeconds"


class Deadline:
    """Some seconds from now: half of them to find clauses, and half, from when these are found, to evaluate and explain them."""

    def __init__(self, seconds: float, latest: float = math.inf) -> None:
        """latest: the moment of time.perf_counter() when the time is up in any case."""
        self.seconds, self._latest = seconds, latest
        self._late = False  # whether something was left undone
        self.next_half()

    def next_half(self) -> None:
        """There is time again, half of all that there was."""
        self._end = min(perf_counter() + self.seconds / 2, self._latest)

    def is_over(self) -> bool:
        """Whether the time is up: whoever asks leaves undone what is to come."""
        over = perf_counter() >= self._end
        self._late |= over
        return over

    @property
    def end(self) -> float:
        """The moment of time.perf_counter() when it is."""
        return self._end

    @property
    def note(self) -> str:
        """For people, that something was left undone; "" where nothing was."""
        late = f"deciding was ended after {self.seconds / 2:g} s, half of {SETTING}: what was not known by then keeps its files"
        return late if self._late else ""
