"""Where records live."""

from __future__ import annotations

from data_skip.store.delta import DeltaStore, FileKey, Snapshot, StoreError
from data_skip.store.places import Places

__all__ = ["DeltaStore", "FileKey", "Places", "Snapshot", "StoreError"]
