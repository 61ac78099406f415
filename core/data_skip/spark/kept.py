"""What the JVM keeps for a callback, and is asked by its number: see Kept.java."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from typing import Any

_GONE: deque[str] = deque()  # numbers of what nobody holds here any more, of which the JVM has not been told


class Kept:
    """An object of the JVM that may never be asked anything: it is brought here by its number once it is."""

    def __init__(self, number: str, find: Callable[[str], Any]) -> None:
        self._number, self._find = number, find

    @cached_property
    def java(self) -> Any:
        """The object. LookupError where the JVM keeps it no more."""
        found = self._find(self._number)
        if found is None:
            raise LookupError("Spark's JVM keeps nothing more of it")
        return found

    def __del__(self) -> None:
        _GONE.append(self._number)


def gone() -> str:
    """The numbers, separated by commas, of what the JVM need not keep any more: to be told to it once."""
    numbers = []
    with suppress(IndexError):  # where there are no more, or another query's thread has taken the last one
        while True:
            numbers.append(_GONE.popleft())
    return ",".join(numbers)
