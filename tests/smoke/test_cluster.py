"""Clusters on this machine, with executors in processes of their own: one Spark session a process, so each has a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.smoke.on_cluster import PREDICATES
from tests.smoke.on_failing_cluster import FILES, ROWS
from tests.smoke.standalone import standalone

pytestmark = pytest.mark.long


def said(module: str, master: str, folder: Path, *more: str) -> dict[str, Any]:
    """What a module of this folder prints at last, that runs on a cluster."""
    folder.mkdir()
    command = [sys.executable, "-m", f"tests.smoke.{module}", master, str(folder), *more]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=600, cwd=Path(__file__).parents[2], check=False)
    assert ran.returncode == 0, ran.stderr[-3000:]
    found: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return found


def is_as_in_a_local_session(told: dict[str, Any]) -> None:
    """What executors are sent, and what only the driver has, differs from a local session, where all is one process."""
    assert not told["unknown"]
    assert told["direct"] == 8, "tasks did not read the files themselves"
    assert told["written"] == 6, "tasks did not write large records into files of the index"
    assert told["in_snapshot"] == 10
    for predicate in PREDICATES:
        equal, rows, read = told["found"][predicate]
        assert equal and rows and read < 8, (predicate, told["found"][predicate])
    rows, read, note, *_ = told["by_tasks"]
    assert (rows, read) == ([42], 1) and "were evaluated by 1 tasks in" in note, told["by_tasks"]


def test_executors_in_processes_of_their_own(tmp_path: Path) -> None:
    is_as_in_a_local_session(said("on_cluster", "local-cluster[2,1,1024]", tmp_path / "t"))


def test_a_master_and_two_workers(tmp_path: Path) -> None:
    """And executors that are killed, and tasks that run twice at a time: no record is lost, counted twice, or of half a file."""
    with standalone(tmp_path, workers=2) as master:
        is_as_in_a_local_session(said("on_cluster", master, tmp_path / "t"))
        told = said("on_failing_cluster", master, tmp_path / "failing")
    assert told["killed"] >= 1
    assert told["equal"]
    assert [(path, rows) for path, rows, *_ in told["records"]] == [(f"{i}.parquet", ROWS) for i in range(FILES)]


OTHER = "data_skip.indexes is not the same on this worker as on the driver"


@pytest.mark.parametrize(("have", "why"), [("another", OTHER), ("none", "No module named 'data_skip'")])
def test_workers_that_cannot_collect(tmp_path: Path, have: str, why: str) -> None:
    """Those of another version would collect records that mean something else: nothing is made, and the error says why."""
    told = said("on_other_workers", "local-cluster[1,1,1024]", tmp_path / "t", have)
    assert not told.pop("written")
    assert len(told) == 2
    for error in told.values():
        assert why in error
        assert "PYSPARK_PYTHON" in error
