"""What making an index with large records costs: by tasks that write them into files of the index, and through the driver.

    make bench BENCH=large_records      or      python -m benchmarks.large_records [files [texts of each]]

A ValueList over a column of different texts, so that a record takes as much as the file. Each way in a process of its own, in turn: the
seconds, those of the driver's CPU, and the memory that Python's driver takes at most, beside what it had before; and their ratios.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import data_skip
from benchmarks.overhead import date_back, session
from data_skip import ValueList
from data_skip.building.task_parts import TaskParts

REPEATS = 3
INDEX = ".data_skip"
SHOWN = {"seconds": "{:.1f} s", "cpu": "{:.1f} s", "memory": "{:.0f} MB", "commits": "{:.0f}"}


def main(files: int, texts: int) -> None:
    """Prints a line for each figure."""
    with tempfile.TemporaryDirectory() as folder:
        for i in range(files):
            path = Path(folder, f"{i:06}.parquet")
            pq.write_table(pa.table({"s": [f"a text that is another one: {i} {n}" for n in range(texts)]}), path)
            date_back(path)
        size = sum(path.stat().st_size for path in Path(folder).iterdir())
        print(f"{files:,} files of {texts:,} texts, {size / 1e6:,.0f} MB")
        told = [(ran(folder, "tasks"), ran(folder, "driver")) for _ in range(REPEATS)]
    print(f"{'':10} {'by tasks':>12} {'by the driver':>14} {'ratio':>8}")
    for name, form in SHOWN.items():
        tasks, driver = (statistics.median(one[way][name] for one in told) for way in (0, 1))
        print(f"{name:10} {form.format(tasks):>12} {form.format(driver):>14} {tasks / max(driver, 1e-9):>8.2f}")


def ran(folder: str, way: str) -> dict[str, float]:
    """One run in a new process."""
    shutil.rmtree(f"{folder}/{INDEX}", ignore_errors=True)
    done = subprocess.run([sys.executable, "-m", "benchmarks.large_records", way, folder], capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def make(folder: str, way: str) -> None:
    """Makes the index, and prints what that took."""
    spark = session()
    skipping = data_skip.enable(spark)
    spark.range(1).mapInPandas(lambda frames: frames, "id long").collect()  # workers are there
    if way == "driver":
        TaskParts.on = classmethod(lambda *_: None)  # type: ignore[assignment, method-assign]
    before, start, cpu = peak(), time.perf_counter(), time.process_time()
    table = skipping.table(folder)
    table.create_index(ValueList("s", limit=1_000_000))
    taken = {"seconds": time.perf_counter() - start, "cpu": time.process_time() - cpu, "memory": peak() - before}
    print(json.dumps({**taken, "commits": len(table.history())}))
    sys.stdout.flush()
    spark.stop()


def peak() -> float:
    """MB that this process has taken at most."""
    lines = Path(f"/proc/{os.getpid()}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 1024


if __name__ == "__main__":
    if sys.argv[1:2] in (["tasks"], ["driver"]):
        make(sys.argv[2], sys.argv[1])
    else:
        main(*(map(int, sys.argv[1:])) if sys.argv[1:] else (1_500, 5_000))
