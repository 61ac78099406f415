"""What files of several rooms share: something that is run before a call, the rows of a table, an index of three commits."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from data_skip import Table
from data_skip.store import DeltaStore
from tests.test_store import column, key, records


def before(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, run: Callable[[], object]) -> None:
    """Runs something once, before the next call of a function."""
    real = getattr(owner, name)

    def late(*args: Any, **options: Any) -> Any:
        monkeypatch.setattr(owner, name, real)
        run()
        return real(*args, **options)

    monkeypatch.setattr(owner, name, late)


def printed_by(module: str, folder: Path) -> Any:
    """What a module prints at last, which runs in a process of its own: JSON."""
    command = [sys.executable, "-m", f"tests.readings.{module}", str(folder)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert ran.returncode == 0, ran.stderr[-3000:]
    return json.loads(ran.stdout.splitlines()[-1])


def rows(table: Table) -> list[Any]:
    return sorted(row[0] for row in table.read("snapshot").select("x").collect())


def xs(frame: Any) -> list[int]:
    return sorted(row.x for row in frame.collect())


@pytest.fixture
def store_of_two_indexes(tmp_path: Path) -> DeltaStore:
    """Two indexes, of two commits, and a third commit with records."""
    made = DeltaStore(f"file:{tmp_path}/.data_skip/_/_/_")
    made.append([key("a")], [5], {column("x"): records(1)})
    made.append([key("a")], [5], {column("y"): records(1)})
    made.append([key("b")], [5], {column("x"): records(1), column("y"): records(2)}, False)
    return made


def log_folder(store: DeltaStore) -> Path:
    return Path(store.location) / "_delta_log"


def old(path: Path, content: bytes = b"PAR1") -> Path:
    path.write_bytes(content)
    os.utime(path, (time.time() - 1000 * 3600,) * 2)
    return path
