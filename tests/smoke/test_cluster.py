"""A cluster on this machine, with executors in processes of their own: one Spark session a process, so it has a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.smoke.on_cluster import PREDICATES

pytestmark = pytest.mark.long


def test_executors_in_processes_of_their_own(tmp_path: Path) -> None:
    """What they are sent, and what only the driver has, differs from a local session, where all is one process."""
    command = [sys.executable, "-m", "tests.smoke.on_cluster", str(tmp_path)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=600, cwd=Path(__file__).parents[2], check=False)
    assert ran.returncode == 0, ran.stderr[-3000:]
    told = json.loads(ran.stdout.splitlines()[-1])
    assert not told["unknown"]
    assert told["direct"] == 8, "tasks did not read the files themselves"
    assert told["in_snapshot"] == 10
    for predicate in PREDICATES:
        equal, rows, read = told["found"][predicate]
        assert equal and rows and read < 8, (predicate, told["found"][predicate])
