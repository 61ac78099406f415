"""What a new process waits for until its first query has run: plain Spark, and with data-skip, for the first time and ever after.

    make bench BENCH=starting      or      python benchmarks/starting.py [repetitions]

Each process starts Spark, reads one table of eight files with a WHERE on its index, and ends. "first": nothing is kept yet of what is
compiled of data-skip, its Java and its Python (a PYTHONPYCACHEPREFIX of its own); "later": it is (spark/janino.py). Seconds from the start
of the session to the rows, and of the CPU, of the whole process with its JVM; medians, each kind in turn.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import data_skip
from benchmarks.overhead import session, write
from data_skip import MinMax

KINDS = ("plain", "first", "later")


def main(repetitions: int) -> None:
    """Prints the table."""
    found: dict[str, list[tuple[float, float]]] = {kind: [] for kind in KINDS}
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "table"
        write(table, 8)
        _in_a_process("index", table, f"{folder}/kept")
        for i in range(repetitions):
            for kind in KINDS:
                found[kind].append(_in_a_process(kind, table, f"{folder}/{i}" if kind == "first" else f"{folder}/kept"))
    print(f"{'':<8} {'seconds':>8} {'of plain':>9} {'CPU':>8} {'of plain':>9}")
    plain = [statistics.median(column) for column in zip(*found["plain"], strict=True)]
    for kind, measured in found.items():
        seconds, cpu = (statistics.median(column) for column in zip(*measured, strict=True))
        print(f"{kind:<8} {seconds:>6.2f} s {seconds / plain[0]:>9.2f} {cpu:>6.2f} s {cpu / plain[1]:>9.2f}")


def _in_a_process(kind: str, table: Path, kept: str) -> tuple[float, float]:
    """kept: where Python keeps what it has compiled. The seconds, and those of the CPU."""
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": kept, "PYTHONDONTWRITEBYTECODE": ""}
    command = [sys.executable, "-m", "benchmarks.starting", kind, str(table)]
    done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    seconds, cpu = json.loads(done.stdout.splitlines()[-1])
    return seconds, cpu


def _started(kind: str, table: str) -> None:
    """Prints what a process of a kind takes."""
    start = time.perf_counter()
    spark = session()
    gateway: Any = spark.sparkContext._gateway
    if kind != "plain":
        skipping = data_skip.enable(spark)
        if kind == "index":
            skipping.table(table).create_index(MinMax("id"))
    rows = spark.read.parquet(table).where("id = 3").collect()
    assert len(rows) == 1
    seconds = time.perf_counter() - start
    spark.stop()
    jvm = gateway.proc
    jvm.stdin.close()  # by which it ends
    jvm.wait()
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    print(json.dumps([seconds, sum(one.ru_utime + one.ru_stime for one in used)]))


if __name__ == "__main__":
    if len(sys.argv) == 3:
        _started(*sys.argv[1:])
    else:
        main(int(sys.argv[1]) if len(sys.argv) == 2 else 3)
