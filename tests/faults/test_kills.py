"""The process that writes is killed: at each request, before and after it takes effect, and at any time."""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from data_skip.store import DeltaStore
from tests.faults.commands import BEGINNINGS, COMMANDS, State, add, is_done, run, state
from tests.faults.matrix import READS, Matrix
from tests.faults.server import Process

pytestmark = pytest.mark.faults

MOMENTS = 40  # of each command on a local file system


def goes_on(command: str, before: State, fresh: Callable[[], DeltaStore], what: str) -> None:
    """What a killed command left is what was, or what was to be, or an index without indexes; and all goes on from there."""
    found = state(fresh())
    assert found == before or not found.indexes or is_done(command, found), (what, found)
    run(fresh(), command)
    found = state(fresh())
    assert is_done(command, found), (what, found)
    if found.indexes:
        add(fresh(), "q", "".join(sorted(found.indexes)), declare=False)
        assert "q" in {file.path for file, *_ in state(fresh()).files}, what


@pytest.mark.parametrize("command", COMMANDS)
def test_at_every_request(matrix: Matrix, nursery: Process, command: str) -> None:
    start = COMMANDS[command].start
    points = [
        (i, after)
        for i, request in enumerate(matrix.requests(command))
        for after in ([False] if request.startswith(READS) else [False, True])
    ]
    for number, after in points:
        matrix.server.ask("reset", start)
        before = state(matrix.calm())
        pid = nursery.ask("fork", matrix.server.port, [command])
        matrix.server.ask("fail", number=number, kind="cut", after=after, kill=pid)
        nursery.ask("go", pid)
        ended = nursery.ask("wait", pid)
        matrix.server.ask("calm_down")
        what = f"{command}, killed by request {number}, {'after' if after else 'before'} it took effect"
        assert ended == -signal.SIGKILL, f"{what}: it ended with {ended}"
        goes_on(command, before, matrix.calm, what)
    print({"command": command, "kills": len(points)})


@pytest.mark.parametrize("command", COMMANDS)
def test_at_any_time(nursery: Process, tmp_path: Path, command: str) -> None:
    start, chance = COMMANDS[command].start, random.Random(17)
    first = DeltaStore(f"file:{tmp_path}/first")
    for name, make in BEGINNINGS if start else []:
        make(first)
        if name == start:
            break
    before = state(first)
    killed, takes = 0, 0.0
    for i in range(MOMENTS + 3):
        folder = tmp_path / str(i)
        if start:
            shutil.copytree(tmp_path / "first", folder)
        pid = nursery.ask("fork", f"file:{folder}", [command])
        nursery.ask("go", pid)
        begun = time.monotonic()
        if i >= 3:  # which are only measured
            time.sleep(chance.uniform(0, takes))
            os.kill(pid, signal.SIGKILL)
        ended = nursery.ask("wait", pid)
        takes = min(takes or 60.0, time.monotonic() - begun) if i < 3 else takes
        assert ended in (0, -signal.SIGKILL)
        killed += ended == -signal.SIGKILL
        goes_on(command, before, partial(DeltaStore, f"file:{folder}"), f"{command}, killed at moment {i}")
    print({"command": command, "killed": killed, "of": MOMENTS})
