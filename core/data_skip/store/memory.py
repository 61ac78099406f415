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
        self._lock = threading.Lock()

    def used(self, owner: Owner, sizes: Iterable[tuple[str, int]], most: int) -> None:
        """Notes that records of these columns, and of so many bytes, were asked for; has those let go that are too much by now."""
        with self._lock:
            for column, size in sizes:
                self._held[owner.id, column] = (ref(owner), size)
                self._held.move_to_end((owner.id, column))
            for key in [key for key, (of, _) in self._held.items() if of() is None]:
                del self._held[key]
            gone = []
            total = sum(size for _, size in self._held.values())
            while total > most:
                (_, column), (of, size) = self._held.popitem(last=False)
                total -= size
                gone.append((of(), column))
        for holder, column in gone:
            if holder is not None:
                holder.let_go(column)

    def shared(self, owner: Owner, sizes: Iterable[tuple[str, int]]) -> None:
        """Notes that an owner holds records which another one holds as well: they count for both, and are let go by the other first."""
        with self._lock:
            self._held.update({(owner.id, column): (ref(owner), size) for column, size in sizes})


MEMORY = Memory()
