"""The store, read once more: files of several file systems."""

from __future__ import annotations

import time

import pytest

from data_skip.building import indexing
from data_skip.store import FileKey


def test_folders_on_file_systems_whose_clocks_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that tells no more than seconds beside one that tells more: a file there may be written again in the second of its time."""
    slept: list[float] = []
    monkeypatch.setattr(indexing, "sleep", slept.append)
    now = time.time() // 1000 * 1000 * 1000 + 500
    coarse, fine = FileKey("p=1/a", 1, int(now - 500)), FileKey("p=2/a", 1, int(now - 99))
    assert indexing._too_recent_files([coarse, fine, None], now) == {coarse}
    indexing._let_clocks_pass([coarse, fine], now)
    assert slept == [1.0]
