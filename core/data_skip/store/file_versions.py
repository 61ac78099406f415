"""The file versions of an index, as its rows name them; and those of the next version of the index, for what was added alone."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from data_skip.store.parts import merged
from data_skip.store.paths import Letters, refuse_numbers, refuse_paths
from data_skip.store.versions import Places, distinct, places_in

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class FileVersions:
    """The different file versions that some rows of an index are of, in the order in which they first occur, and what rows say of them."""

    keys: pa.Table  # as of `versions.KEYS`
    places: Places | None  # of each row that of its version; None: each row is of its own
    holds: Flags | None  # which rows may hold records; None: all
    rows: int
    sizes: npt.NDArray[np.int64]
    row_counts: npt.NDArray[Any]  # NaN where none is known
    generations: npt.NDArray[np.int64]
    recorded: Flags  # whether a file version was collected, or is but known to be there
    letters: Letters  # of all paths, listed or not

    @classmethod
    def of(cls, rows: pa.Table) -> FileVersions:
        """Those of some rows. ValueError for what no table has."""
        with ThreadPoolExecutor(1) as beside:  # while all is ordered, which leaves a core
            looked = beside.submit(Letters.of, rows["path"])
            keys, places = distinct(rows)
            letters = looked.result()
        count = len(keys)
        generations, recorded = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=bool)
        collected = _said(rows, "collected", True)
        _raise_to(generations, places, _said(rows, "generation", 0))
        _raise_to(recorded, places, collected)
        sizes = keys["size"].to_numpy()
        refuse_paths(keys["path"], letters)
        refuse_numbers(sizes, generations)
        counts = merged(rows["row_count"], None, places, count).to_numpy(zero_copy_only=False)
        holds = None if places is None else collected
        return cls(keys, places, holds, len(rows), sizes, counts, generations, recorded, letters)

    def and_of(self, rows: pa.Table) -> FileVersions:
        """These, and then those of further rows, some of which may be of the same: in all as `of` gives, for all rows."""
        more = FileVersions.of(rows)
        at = places_in(self.keys, more.keys)
        new, count = at < 0, len(self.keys)
        at[new] = count + np.arange(np.count_nonzero(new))
        added = more.keys.filter(pa.array(new))
        sizes, counts, generations, recorded = (
            np.concatenate([ours, theirs[new]])
            for ours, theirs in (
                (self.sizes, more.sizes),
                (self.row_counts, more.row_counts),
                (self.generations, more.generations),
                (self.recorded, more.recorded),
            )
        )
        met = at < count
        np.maximum.at(generations, at[met], more.generations[met])
        np.maximum.at(recorded, at[met], more.recorded[met])
        refuse_numbers(sizes, generations)
        known = met & ~np.isnan(more.row_counts.astype(float))
        counts[at[known]] = more.row_counts[known]
        places, holds = None, None
        if self.places is not None or more.places is not None or met.any():
            places = np.concatenate([self._all_places, at[more._all_places]])
            holds = np.concatenate([self._all_holds, more._all_holds])
        keys = pa.concat_tables([self.keys, added.cast(self.keys.schema)])
        letters = self.letters.or_of(more.letters)
        return FileVersions(keys, places, holds, self.rows + more.rows, sizes, counts, generations, recorded, letters)

    @property
    def _all_places(self) -> Places:
        return np.arange(self.rows) if self.places is None else self.places

    @property
    def _all_holds(self) -> Flags:
        return self.recorded if self.holds is None else self.holds


def _said(rows: pa.Table, column: str, default: Any) -> npt.NDArray[Any]:
    """What rows say; `default` where one says nothing, as in rows of earlier versions."""
    if column not in rows.schema.names:
        return np.full(len(rows), default)
    return pc.fill_null(rows[column], default).to_numpy()


def _raise_to(largest: npt.NDArray[Any], places: Places | None, said: npt.NDArray[Any]) -> None:
    """Of each file version the largest value that one of its rows says."""
    if places is None:
        largest[:] = said
    else:
        np.maximum.at(largest, places, said)
