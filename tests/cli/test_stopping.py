"""Ctrl-C at any moment: the store is as before or complete, Spark ends, and the exit code says so."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer

from data_skip.cli.offline import LocalTable
from data_skip.cli.showing import STOPPED, STOPPING, telling
from tests.support import aged

SLOW = "aggregate(sequence(0L, 200000L + x), 0L, (a, v) -> a + v % 7)"  # a row takes a moment


def test_what_fails_once_it_was_pressed_fails_for_that(capsys: pytest.CaptureFixture[str]) -> None:
    """As a question to Spark that it met: py4j says that the answer is empty."""
    STOPPING.set()
    try:
        with pytest.raises(typer.Exit) as ended, telling(as_json=False, debug=False):
            raise OSError("answer is empty")
    finally:
        STOPPING.clear()
    assert ended.value.exit_code == STOPPED
    assert capsys.readouterr().err == "error: stopped; what was committed before stays, and nothing is half there\n"


def started(folder: Path, *indexes: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "data_skip.cli", "create", str(folder), "--files-per-commit", "2", "--conf", "spark.master=local[2]"]
    command += [part for index in indexes for part in ("-i", index)]
    env = {**os.environ, "PYSPARK_PYTHON": sys.executable}
    return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)


def children(pid: int) -> list[int]:
    found = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(child) for child in found.read_text().split()] if found.exists() else []


def is_running(pid: int) -> bool:
    status = Path(f"/proc/{pid}/stat")
    try:
        return status.read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.fixture
def table(tmp_path: Path) -> Path:
    folder = tmp_path / "it's a table"
    folder.mkdir()
    for i in range(8):
        pq.write_table(pa.table({"x": list(range(20))}), folder / f"{i}.parquet")
        aged(folder / f"{i}.parquet")
    return folder


@pytest.mark.long
@pytest.mark.parametrize("moment", [0.3, 1.0, 4.0, "first commit"])
def test_what_ctrl_c_leaves(table: Path, moment: float | str) -> None:
    process = started(table, "MinMax(x)", f"ValueList({SLOW})")
    begun, seen = time.monotonic(), set()
    while process.poll() is None and time.monotonic() - begun < 120:
        seen.update(children(process.pid))
        committed = (table / f".data_skip/_/_/_/_delta_log/{1:020}.json").exists()
        if committed if isinstance(moment, str) else time.monotonic() - begun > moment:
            break
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    out, err = process.communicate(timeout=60)
    assert process.returncode in (130, -signal.SIGINT), err  # the second before Python listens to it; a shell calls both 130
    assert out == "", err
    said = [line for line in err.splitlines() if not line.startswith("indexing ")]
    assert said in ([], ["error: stopped; what was committed before stays, and nothing is half there"])
    end = time.monotonic() + 20
    while any(map(is_running, seen)) and time.monotonic() < end:
        time.sleep(0.1)
    assert not any(map(is_running, seen)), "Spark goes on"
    known = LocalTable(str(table)).describe()
    if not isinstance(moment, str):
        assert known.version is None
        return
    assert 2 <= known.files_indexed < 8 and len(known.rows) == 2
    command = [sys.executable, "-m", "data_skip.cli", "ensure", str(table), "-i", "MinMax(x)"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    assert f"{8 - known.files_indexed} file" in done.stdout
    assert LocalTable(str(table)).describe().files_indexed == 8


@pytest.mark.long
def test_a_spark_that_does_not_start(table: Path) -> None:
    command = [sys.executable, "-m", "data_skip.cli", "refresh", str(table), "--master", "nonsense://"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert (run.returncode, run.stdout) == (1, "")
    assert run.stderr.startswith("error: Spark does not start: ") and "Master must" in run.stderr and run.stderr.count("\n") == 1
