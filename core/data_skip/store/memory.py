"""The records that a process keeps in memory, so that the next query need not read them: those asked for last, up to a budget."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable
from typing import Protocol
from weakref import ref


class Owner(Protocol):
    """Whoever holds records by their column."""

    id: str

    def let_go(self, column: str) -> None:
        """Keeps the records of a column no longer."""


class Memory:
    """Who holds which records: the order in which they were asked for, and their bytes."""

    def __init__(self) -> None:
        self._held: OrderedDict[tuple[str, str], tuple[ref[Owner], int]] = OrderedDict()
        self._total = 0
        self._lock = threading.Lock()

    def used(self, owner: Owner, sizes: Iterable[tuple[str, int]], most: int) -> None:
        """Notes that records of these columns, and of so many bytes, were asked for; has those let go that are too much by now."""
        gone = []
        with self._lock:
            if self._note(owner, sizes):
                self._forget_the_dead()
            while self._total > most:
                (_, column), (of, size) = self._held.popitem(last=False)
                self._total -= size
                gone.append((of(), column))
        for holder, column in gone:
            if holder is not None:
                holder.let_go(column)

    def shared(self, owner: Owner, sizes: Iterable[tuple[str, int]]) -> None:
        """Notes that an owner holds records which another one holds as well: they count for both, and are let go by the other first."""
        with self._lock:
            self._note(owner, sizes)

    def _note(self, owner: Owner, sizes: Iterable[tuple[str, int]]) -> bool:
        """Puts records behind all others; whether some were not there."""
        known, of = len(self._held), ref(owner)
        for column, size in sizes:
            _, before = self._held.pop((owner.id, column), (of, 0))
            self._held[owner.id, column] = (of, size)
            self._total += size - before
        return len(self._held) > known

    def _forget_the_dead(self) -> None:
        """An owner that is followed by another one lets go of its records by itself."""
        for key in [key for key, (of, _) in self._held.items() if of() is None]:
            self._total -= self._held.pop(key)[1]


MEMORY = Memory()
