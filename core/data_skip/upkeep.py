"""Upkeep of an index: what a refresh leaves behind is brought in order once it is worth it."""

from __future__ import annotations

import warnings
from collections.abc import Mapping

import pyarrow as pa

from data_skip.errors import DataSkipWarning
from data_skip.index import Index
from data_skip.planning.bound import usable
from data_skip.planning.catalog import Catalog
from data_skip.store import Places, Snapshot, StoreError
from data_skip.store.layout import NotDeletedError
from data_skip.store.rewriting import Order
from data_skip.store.row_groups import field_type, has_ends

_FEW_ROWS = 1_000  # of an index: to drop some of them is not worth a commit
_MOST_PARTS = 100  # small files of an index, of which each takes a third of a millisecond to open


def keep_up(store: Places, catalog: Catalog, name: str, root: str) -> None:
    """Drops the rows of files that are gone or changed, or were told in several commits, once they are half as many as the others.

    Rows that were added a few at a time are put together: each query of a new session opens all files of the index.

    name, root: of the table. DataSkipWarning where that fails: what was committed before is there all the same.
    """
    snapshot = store.snapshot()
    if snapshot is None:
        return
    has_dead = snapshot.rows > 1.5 * int(snapshot.listed.sum()) + _FEW_ROWS
    if not has_dead and not snapshot.has_small_parts(_MOST_PARTS):
        return
    try:
        if has_dead:
            store.compact(order_of(snapshot, catalog.knowledge.kinds))
        else:
            store.put_together()
        catalog.not_compacted.discard(root)
    except NotDeletedError as error:
        warnings.warn(f"the index of {name} is up to date; {error}", DataSkipWarning, stacklevel=3)
    except StoreError as error:
        if root not in catalog.not_compacted:  # told once: where memory lacks, each refresh would
            catalog.not_compacted.add(root)
            message = f"the index of {name} is up to date, but was not compacted, which each refresh() tries again: {error}"
            warnings.warn(message, DataSkipWarning, stacklevel=3)


def order_of(snapshot: Snapshot, kinds: Mapping[str, type[Index]]) -> Order | None:
    """By which field rows are sorted: the smallest value of the first index whose records tell it."""
    for column, definition in snapshot.definitions.items():
        index = usable(definition, kinds)
        ends = index.extents[0] if isinstance(index, Index) and index.extents else None
        type_ = field_type(pa.schema([snapshot.fields[column]]), column, ends[0]) if ends else None
        if ends and type_ is not None and has_ends(type_) and not pa.types.is_boolean(type_):
            return column, ends[0]
    return None
