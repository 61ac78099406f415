"""The file versions of an index, as its rows name them; and those of the next version of the index, for what was added alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from data_skip.store.keys_file import KeysFile
from data_skip.store.parts import merged
from data_skip.store.paths import Letters, refuse_numbers, refuse_paths
from data_skip.store.versions import KEYS, KEYS_SCHEMA, Places, distinct, mixed_of, places_in

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
    def of(cls, batches: Iterable[pa.RecordBatch], count: int, file: KeysFile | None = None) -> FileVersions:
        """Those of so many rows. ValueError for what no table has.

        file: where their keys are put while others are read, so that all are never in memory; None: they are kept there.
        """
        rows = _Rows(count)
        kept: list[pa.RecordBatch] = []
        put = kept.append if file is None else file.add
        for batch in batches:
            rows.add(batch)
            put(batch.select(KEYS))
        keys, places = distinct(_table(kept) if file is None else file.mapped(), rows.mixed)
        generations, recorded, counts, holds = rows.generations, rows.collected, rows.counts, None
        if places is not None:
            generations, recorded, holds = np.zeros(len(keys), dtype=np.int64), np.zeros(len(keys), dtype=bool), rows.collected
            np.maximum.at(generations, places, rows.generations)
            np.maximum.at(recorded, places, rows.collected)
            of_rows = pa.chunked_array([pa.array(counts, from_pandas=True)])
            counts = merged(of_rows, None, places, len(keys)).to_numpy(zero_copy_only=False)
        sizes = keys["size"].to_numpy()
        refuse_paths(keys["path"], rows.letters)
        refuse_numbers(sizes, generations)
        return cls(keys, places, holds, count, sizes, counts, generations, recorded, rows.letters)

    def and_of(self, rows: pa.Table) -> FileVersions:
        """These, and then those of further rows, some of which may be of the same: in all as `of` gives, for all rows."""
        more = FileVersions.of(rows.to_batches(), len(rows))
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


class _Rows:
    """What rows say, but for their keys, as they are read: of each the place is its own."""

    def __init__(self, count: int) -> None:
        self._at = 0
        self.mixed = np.empty(count, dtype=np.uint32)
        self.counts: npt.NDArray[Any] = np.empty(count, dtype=np.int64)
        self.generations = np.zeros(count, dtype=np.int64)  # which takes no memory as long as it is not written to
        self.collected = np.ones(count, dtype=bool)
        self.letters = Letters()

    def add(self, rows: pa.RecordBatch) -> None:
        """The next ones. ValueError for one that lacks a part of its key."""
        paths, sizes, times = (rows[name] for name in KEYS)
        if paths.null_count or sizes.null_count or times.null_count:
            raise ValueError("a row has no path, size or modification time")
        here = slice(self._at, self._at + len(rows))
        self._at = here.stop
        self.mixed[here] = mixed_of(sizes.to_numpy(), times.to_numpy())
        self.letters = self.letters.or_of(Letters.of(paths))
        counts = rows["row_count"]
        if counts.null_count:
            self.counts = self.counts.astype(float, copy=False)
        self.counts[here] = counts.to_numpy(zero_copy_only=False)
        for column, default, all_rows in (("generation", 0, self.generations), ("collected", True, self.collected)):
            if column in rows.schema.names and rows[column].null_count < len(rows):  # rows of earlier versions say nothing
                all_rows[here] = pc.fill_null(rows[column], default).to_numpy(zero_copy_only=False)


def _table(keys: list[pa.RecordBatch]) -> pa.Table:
    """Keys, the sizes and times of which nobody need copy again."""
    whole = pa.Table.from_batches(keys, KEYS_SCHEMA)
    return pa.table({name: whole[name] if name == "path" else whole[name].to_numpy() for name in KEYS})
