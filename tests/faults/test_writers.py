"""Eight processes, and four hundred commits on one store."""

from __future__ import annotations

from pathlib import Path

import pytest

from data_skip.store import DeltaStore
from tests.faults.commands import NOTHING, state
from tests.faults.matrix import Matrix
from tests.faults.server import Process

pytestmark = pytest.mark.faults

WRITERS, COMMITS = 8, 50


@pytest.mark.parametrize("where", ["local", "s3"])
def test_many_writers(matrix: Matrix, nursery: Process, tmp_path: Path, where: str) -> None:
    """All begin where there is nothing; one of each ten commits puts together what is there."""
    matrix.server.ask("reset", "")
    place = f"file:{tmp_path}/index" if where == "local" else matrix.server.calm
    store = DeltaStore(str(place)) if where == "local" else matrix.calm()
    assert state(store) == NOTHING
    tasks = [["compacts" if j % 10 == 9 else f"add w{i}-{j} {'xy'[i % 2]}" for j in range(COMMITS)] for i in range(WRITERS)]
    pids = [nursery.ask("fork", place, commands) for commands in tasks]
    nursery.ask("go", *pids)
    assert [nursery.ask("wait", pid) for pid in pids] == [0] * WRITERS
    found = state(store)
    files = {file.path: known for file, _, _, known in found.files}
    assert files == {f"w{i}-{j}": {"xy"[i % 2]} for i in range(WRITERS) for j in range(COMMITS) if j % 10 != 9}
    assert found.version == WRITERS * COMMITS  # and none is there twice
