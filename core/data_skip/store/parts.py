"""The records of an index that takes more memory than there is for it: some file versions at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from data_skip.store.row_groups import Group, OpenedFile, RowGroups, StoredFile
from data_skip.store.versions import Places

Flags = npt.NDArray[np.bool_]
Fields = Mapping[str, Sequence[str]]  # of the records of each index
LEAST_PART = 1 << 24  # bytes: to read less at a time takes longer, and spares nothing that counts
MOST_AT_ONCE = 1 << 30  # of records in one array: Arrow's usual lists, text and bytes end at 2 GB


@dataclass(frozen=True)
class Part:
    """Some file versions, and where rows of theirs lie."""

    versions: Places  # ascending
    groups: list[int]


@dataclass(frozen=True)
class Piece:
    """What another process is told of a part: file versions that follow one another are numbered from the first of them on."""

    first: int  # its place in the snapshot
    asked: Flags
    numbers: list[int]  # of the row groups, in the snapshot
    groups: list[Group]  # in these files
    paths: list[str]
    places: Places | None  # of each row that of its file version, -1 where it is not asked for; None: each row is of its own

    def rows(self, schema: pa.Schema, opened: Callable[[str], Any]) -> Rows:
        """Its rows. schema: of the records that are read; opened: what opens a path."""
        files: list[StoredFile] = [OpenedFile(path, opened) for path in self.paths]
        holds = None if self.places is None else self.places >= 0
        return Rows(RowGroups(files, schema, self.groups), self.places, holds)


class Rows:
    """Of which file version each row of an index is."""

    def __init__(self, groups: RowGroups, places: Places | None, holds: Flags | None) -> None:
        """places: of each row the place of its version; None: its own. holds: which rows may hold records; None: all."""
        self.groups, self._places, self._holds = groups, places, holds

    def versions_of(self, groups: Flags, count: int) -> Flags:
        """Which of so many file versions have a row in some row groups."""
        found = np.zeros(count, dtype=bool)
        for group in np.flatnonzero(groups).tolist():
            found[self._places_of(group)] = True
        return found

    def with_records(self, column: str, count: int) -> Flags:
        """Which of so many file versions have a record of an index."""
        found = np.zeros(count, dtype=bool)
        for group in range(self.groups.count):
            found[self._places_of(group)[self.groups.with_records(group, column)]] = True
        return found

    def parts(self, fields: Fields, asked: Flags, most: int, by_footers: bool = False) -> Iterator[Part]:
        """The file versions that are asked for, so many at a time as take `most` bytes while they are read.

        But LEAST_PART at least, and a row group of each index. by_footers: as far as footers tell, which takes no look at texts: they may
        take a few times as much.
        """
        most = max(most, LEAST_PART)
        size = self.groups.least_bytes_of if by_footers else partial(self.groups.bytes_of, rough=most)
        spans = {
            group: (places.min(), places.max()) for group in range(self.groups.count) if len(places := self._asked_of(group, asked)[1])
        }
        numbers = np.array([*spans], dtype=np.int64)
        low, high = np.array([*spans.values()], dtype=np.int64).reshape(-1, 2).T
        sizes = np.array([sum(size(group, column, names) for column, names in fields.items()) for group in spans])
        begins = np.concatenate([[0], np.unique(low)[1:], [len(asked)]])
        at = 0
        while at < len(begins) - 1:
            start, end = begins[at], at + 1
            while end + 1 < len(begins) and sizes[(low < begins[end + 1]) & (high >= start)].sum() <= most:
                end += 1
            versions = start + np.flatnonzero(asked[start : begins[end]])
            if len(versions):
                yield Part(versions, numbers[(low < begins[end]) & (high >= start)].tolist())
            at = end

    def records(self, part: Part, fields: Fields, asked: Flags) -> dict[str, pa.StructArray]:
        """The records of the file versions of a part, null where there is none."""
        found = [(group, *self._asked_of(group, asked)) for group in part.groups]
        inside = [(places >= part.versions[0]) & (places <= part.versions[-1]) for _, _, places in found]
        groups = [group for (group, _, _), are in zip(found, inside, strict=True) if are.any()]
        starts = self.groups.starts
        rows, places, begin = [], [], 0
        for (group, of_group, versions), are in zip(found, inside, strict=True):
            if are.any():
                rows.append(begin + of_group[are])
                places.append(np.searchsorted(part.versions, versions[are]))
                begin += int(starts[group + 1] - starts[group])
        chosen, of_versions = (np.concatenate([np.empty(0, dtype=np.int64), *parts]) for parts in (rows, places))
        return {
            column: merged(self.groups.read(groups, column, names), chosen, of_versions, len(part.versions))
            for column, names in fields.items()
        }

    def piece(self, part: Part, asked: Flags) -> Piece:
        """A part, for another process."""
        first, end = int(part.versions[0]), int(part.versions[-1]) + 1
        rows = []
        for group in part.groups:
            found, versions = self._asked_of(group, asked)
            inside = (versions >= first) & (versions < end)
            places = np.full(len(self._places_of(group)), -1, dtype=np.int32)
            places[found[inside]] = versions[inside] - first
            rows.append(places)
        all_places = np.concatenate([np.empty(0, dtype=np.int32), *rows])
        own = len(all_places) == end - first and bool((all_places == np.arange(end - first)).all())
        files, groups = self.groups.where(part.groups)
        return Piece(first, asked[first:end], part.groups, groups, [file.path for file in files], None if own else all_places)

    def _places_of(self, group: int) -> Places:
        start, end = self.groups.starts[group : group + 2]
        return np.arange(start, end) if self._places is None else self._places[start:end]

    def _asked_of(self, group: int, asked: Flags) -> tuple[Places, Places]:
        """Which rows of a row group may hold records that are asked for, and of which file versions."""
        start, end = self.groups.starts[group : group + 2]
        places = self._places_of(group)
        chosen = asked[places]
        if self._holds is not None:
            chosen &= self._holds[start:end]
        rows = np.flatnonzero(chosen)
        return rows, places[rows]


def merged(rows: pa.ChunkedArray, chosen: Places | None, places: Places | None, count: int) -> pa.Array:
    """From one value a row to one a file version: any that is not null.

    chosen: of which rows; None: all. places: of which version each of these is; None: each row of its own.
    """
    values = joined(rows)
    if places is None:
        return values
    chosen = np.arange(len(values)) if chosen is None else chosen
    valid = values.is_valid().to_numpy(zero_copy_only=False)[chosen]
    winner = np.full(count, -1, dtype=np.int64)
    winner[places[valid]] = chosen[valid]
    if count == len(values) and (winner == np.arange(count)).all():
        return values
    return values.take(pa.array(winner, mask=winner < 0))


def joined(rows: pa.ChunkedArray) -> pa.Array:
    """All values as one array."""
    if rows.nbytes > MOST_AT_ONCE:
        rows = rows.cast(_with_long_offsets(rows.type))
    if rows.num_chunks == 1:
        return rows.chunk(0)
    return pa.concat_arrays(rows.chunks) if rows.num_chunks else pa.array([], rows.type)


def _with_long_offsets(type_: pa.DataType) -> pa.DataType:
    """The type with room for more than 2 GB of values in an array."""
    if pa.types.is_struct(type_):
        return pa.struct([field.with_type(_with_long_offsets(field.type)) for field in type_])
    if pa.types.is_list(type_):
        return pa.large_list(type_.value_field.with_type(_with_long_offsets(type_.value_type)))
    return {pa.string(): pa.large_string(), pa.binary(): pa.large_binary()}.get(type_, type_)
