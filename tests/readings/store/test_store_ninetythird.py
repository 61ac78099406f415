"""How an index is kept while writers are stopped in the midst of a commit: each test is what one of them left behind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from data_skip.store import DeltaStore, StoreError, delta
from tests.faults.commands import COMMANDS, add, state


@pytest.mark.parametrize("command", ["refresh", "drop", "compact"])
def test_a_copy_that_was_put_back_and_looks_as_what_was_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    """`rm -r` and `cp -a` give files the inodes and times of before: the commit named a file that was deleted, and nobody could read it."""
    store = DeltaStore(f"file:{tmp_path}/index")
    add(store, "a b", "xy", declare=True)
    add(store, "c", "xy", declare=False, gone="a")
    before = state(store)
    real = delta.write_deltalake

    def write(*args: Any, **options: Any) -> None:
        there = {*Path(store.location).glob("*.parquet")}
        real(*args, **options)
        for part in {*Path(store.location).glob("*.parquet")} - there:
            part.unlink()

    with monkeypatch.context() as patch, pytest.raises(StoreError, match="put back from a copy"):
        patch.setattr(delta, "write_deltalake", write)
        COMMANDS[command].run(store)
    assert state(DeltaStore(store.uri)) == before
    COMMANDS[command].run(store)
    assert state(DeltaStore(store.uri)) != before
