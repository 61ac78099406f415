"""Which file versions of a table are there: what a listing changes in what an index says of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from data_skip.clause import Mask
from data_skip.store import Snapshot
from data_skip.store.versions import KEYS_SCHEMA, Places, places_in, taken

Below = Callable[[pa.Table], Mask]
_WIDE = pa.schema([field.with_type(pa.large_string()) if field.name == "path" else field for field in KEYS_SCHEMA])


@dataclass(frozen=True)
class Generations:
    """Some file versions, each once, and the generation (see store/delta.py) of each."""

    keys: pa.Table  # as of versions.KEYS
    numbers: Places

    @classmethod
    def of(cls, snapshot: Snapshot | None) -> Generations:
        """Those of a version of an index; none where there is no index."""
        if snapshot is None:
            return cls(KEYS_SCHEMA.empty_table(), np.empty(0, dtype=np.int64))
        return cls(snapshot.keys, snapshot.generations)

    def __len__(self) -> int:
        return len(self.keys)

    def of_each(self, keys: pa.Table) -> Places:
        """The generation of each of some file versions; 0 of one that is not known."""
        at = places_in(self.keys, keys)
        return np.where(at < 0, 0, np.append(self.numbers, 0)[at])

    def changes(self, listed: pa.Table, below: Below) -> Generations:
        """The generation of each file version that is new, is gone, or is back.

        listed: those that are there, each once. below: which of those that seem gone lie below the table's root, and are there: a table
        that is read in part, as with `pathGlobFilter`, lists fewer. It lists all, and is asked only where some seem gone.
        """
        at = places_in(self.keys, listed)
        numbers = np.where(at < 0, -1, np.append(self.numbers, -1)[at])
        come = numbers % 2 == 1  # as are those that are not known
        gone = self.numbers % 2 == 0
        gone[at[at >= 0]] = False
        missing = np.flatnonzero(gone)
        if len(missing):
            missing = missing[~below(taken(self.keys, missing))]
        keys = [listed.filter(pa.array(come)), taken(self.keys, missing)]
        return Generations(_together(keys), np.concatenate([numbers[come], self.numbers[missing]]) + 1)

    def changed_by(self, changes: Generations) -> Generations:
        """These, but for some that are other ones, or new."""
        if not len(changes):
            return self
        at = places_in(self.keys, changes.keys)
        numbers, new = self.numbers.copy(), at < 0
        numbers[at[~new]] = changes.numbers[~new]
        return Generations(_together([self.keys, changes.keys.filter(pa.array(new))]), np.concatenate([numbers, changes.numbers[new]]))

    def only(self, some: Mask) -> Generations:
        """Some of these."""
        return self if some.all() else Generations(self.keys.filter(pa.array(some)), self.numbers[some])

    def are_of(self, *some: pa.Table) -> bool:
        """Whether any is of some file versions."""
        return any(bool((places_in(keys, self.keys) >= 0).any()) for keys in some)

    def but_of(self, keys: pa.Table) -> Generations:
        """These without those of some file versions."""
        others = places_in(keys, self.keys) < 0
        return self.only(others)

    def and_of(self, more: Generations) -> Generations:
        """These, and then others."""
        return Generations(_together([self.keys, more.keys]), np.concatenate([self.numbers, more.numbers]))


def _together(keys: list[pa.Table]) -> pa.Table:
    return pa.concat_tables([table.cast(_WIDE) for table in keys])
