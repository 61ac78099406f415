"""Which file versions of a table are there: what a listing changes in what an index says of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet

from data_skip.store import FileKey

Below = Callable[[AbstractSet[FileKey]], AbstractSet[FileKey]]


def changes(known: Mapping[FileKey, int], listed: AbstractSet[FileKey], below: Below) -> dict[FileKey, int]:
    """The generation (see store/delta.py) of each file version that is new, is gone, or is back.

    known: the generation of each that the index has. below: which of those that seem gone lie below the table's root, and perhaps others:
    a table that is read in part, as with `pathGlobFilter`, lists fewer. It lists all, and is asked only where some seem gone.
    """
    there = {file: known.get(file, -1) + 1 for file in listed if known.get(file, 1) % 2}
    missing = {file for file, generation in known.items() if generation % 2 == 0} - listed
    gone = missing - below(missing) if missing else missing
    return there | {file: known[file] + 1 for file in gone}
