"""Where records live."""

from __future__ import annotations

from data_skip.store.delta import DeltaStore, FileKey, Snapshot, StoreError

__all__ = ["DeltaStore", "FileKey", "Snapshot", "StoreError"]
