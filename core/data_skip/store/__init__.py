"""Where records live."""

from __future__ import annotations

from data_skip.store.delta import DeltaStore
from data_skip.store.layout import FileKey, StoreError
from data_skip.store.opened import Watched
from data_skip.store.places import Places
from data_skip.store.snapshot import Snapshot

__all__ = ["DeltaStore", "FileKey", "Places", "Snapshot", "StoreError", "Watched"]
