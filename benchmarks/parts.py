"""Clauses over an index that takes more memory than `spark.data_skip.records.maxBytes`: what a decision takes, by budget.

    make bench BENCH=parts      or      python -m benchmarks.parts [files [bytes of the budget]]

An index of so many files that do not exist, in the order in which they were listed, which says nothing of their values, and again after
compaction, which sorts by MinMax: of a number (MinMax: four longs of it are written), and of ten names (ValueList). Each decision in a
process of its own, which has the snapshot at hand, and nothing read of the records: its time, and the memory that it takes beyond that,
at most. "whole" reads all records of the columns at once, as with a budget that they fit in; "in parts" the driver reads them part by
part; "in tasks" those of a local session of Spark do, which is there already, and has not run a task yet: their memory is not counted.
Queries have tasks do it where there are more cores, and more to read. "again": a second decision.
"""

from __future__ import annotations

import math
import subprocess
import sys
import tempfile
import time
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from data_skip.clause import Clause, Computed, Field, Mask, Records, survivors
from data_skip.indexes.distinct import owners
from data_skip.planning import in_tasks as tasks
from data_skip.planning.deadline import Deadline
from data_skip.planning.in_parts import part_by_part
from data_skip.planning.in_tasks import Tasks, Told
from data_skip.store import DeltaStore, FileKey, Snapshot
from data_skip.store.definition import Definition
from data_skip.store.layout import definition_field

FILES, BUDGET = 2_000_000, 1 << 26
A_COMMIT = 500_000
READER = {"format": "parquet", "options": {}, "columns": [], "settings": {}}
COUNTS = ("value_count", "null_count", "nan_count")
NUMBER = pa.struct({"min": pa.int64(), "max": pa.int64(), **dict.fromkeys(COUNTS, pa.int64())})
NAMES = pa.struct({"values": pa.list_(pa.string()), "has_null": pa.bool_()})


def main(files: int, budget: int) -> None:
    """Prints a line a decision."""
    with tempfile.TemporaryDirectory() as folder:
        store = DeltaStore(f"file:{folder}/_data_skip")
        for start in range(0, files, A_COMMIT):
            append(store, np.arange(start, min(start + A_COMMIT, files)), files)
        print(f"{files:,} files, a budget of {budget / 2**20:g} MiB, an index of {size_of(Path(folder)) / 2**20:,.0f} MiB on disk")
        measure_all(folder, budget)
        start_of = time.perf_counter()
        store.compact(("x", "min"))
        print(f"compacted in {time.perf_counter() - start_of:.1f} s")
        measure_all(folder, budget)


def measure_all(folder: str, budget: int) -> None:
    """Each decision in a process of its own."""
    for clause in CLAUSES:
        for how in HOW:
            subprocess.run([sys.executable, "-m", "benchmarks.parts", folder, clause, how, str(budget)], check=True)


def measure(folder: str, name: str, how: str, most: int) -> None:
    """One decision, and a second one."""
    snapshot = DeltaStore(f"file:{folder}/_data_skip").snapshot()
    assert snapshot is not None
    clause = CLAUSES[name](snapshot.count)
    decide = HOW[how]
    if decide is in_tasks:
        SparkSession.builder.master("local[*]").config("spark.ui.enabled", "false").getOrCreate().sparkContext.setLogLevel("ERROR")
    before = resident("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # what has been the most is forgotten
    start = time.perf_counter()
    kept = decide(clause, snapshot, most)
    cold = time.perf_counter() - start
    peak = resident("VmHWM") - before
    start = time.perf_counter()
    decide(clause, snapshot, most)
    again = time.perf_counter() - start
    print(f"  {name:<8} {how:<9} {cold:6.2f} s, again {again:6.2f} s, {peak / 2**20:6,.0f} MiB, {kept.sum():,} files are left", flush=True)


def whole(clause: Clause, snapshot: Snapshot, most: int) -> Mask:
    """As where the records fit into the budget; they are not kept."""
    return survivors(clause, Records(snapshot.records({field.index for field in clause.fields()})), snapshot.count)


def in_parts(clause: Clause, snapshot: Snapshot, most: int) -> Mask:
    """As where they do not."""
    return part_by_part(clause, snapshot, {}, snapshot.listed, most, Deadline(math.inf))


def in_tasks(clause: Clause, snapshot: Snapshot, most: int) -> Mask:
    """As where Spark's tasks evaluate them."""
    deadline = Deadline(1e6)
    tasks._LEAST_PIECES = -(10**6)  # however little there is, and however few cores
    first = Tasks(None, may_run=True)
    may_match = first.survivors(clause, "", snapshot, {}, snapshot.listed, most, deadline)
    if first.job is None:
        return may_match
    listing = Ran()
    first.job.hand_over(listing, 0.0, deadline)
    return Tasks(Told.of(listing.told), may_run=False).survivors(clause, "", snapshot, {}, snapshot.listed, most, deadline)


class Ran:
    """In place of a Listing of the JVM: runs the job that is handed over to it."""

    def handOver(self, found: Any, seconds: float, known: str) -> None:
        answers = [b64encode(bytes(answer)).decode() for answer in found.collect()]
        self.told = {"known": known, "found": answers, "why": "", "seconds": 0.0}


HOW: dict[str, Callable[[Clause, Snapshot, int], Mask]] = {"whole": whole, "in parts": in_parts, "in tasks": in_tasks}


def number(files: int) -> Clause:
    """x = the number of the file in the middle."""
    return (Field("x", "min", "x") <= 100 * (files // 2) + 7) & (Field("x", "max", "x") >= 100 * (files // 2) + 7)


def names(files: int) -> Clause:
    """One name that a file has."""
    wanted = pa.array([name_of(files // 2, 3)])

    def holds(values: pa.ListArray) -> pa.BooleanArray:
        found = np.zeros(len(values), dtype=bool)
        found[owners(values)[pa.compute.is_in(values.flatten(), wanted).to_numpy(zero_copy_only=False)]] = True
        return pa.array(found)

    return Computed("a name", (Field("s", "values", "s"),), holds, pure=True)


CLAUSES: dict[str, Callable[[int], Clause]] = {"number": number, "names": names, "both": lambda files: number(files) & names(files)}


def append(store: DeltaStore, of: np.ndarray, files: int) -> None:
    """Files whose numbers lie anywhere."""
    places = (of * 7_919) % files  # each once, where that has no common factor with the number of files
    low = 100 * places
    numbers = [low, low + 99, np.full(len(of), 100), np.zeros(len(of), dtype=int), np.zeros(len(of), dtype=int)]
    ten = pa.array([name_of(place, i) for place in places.tolist() for i in range(10)])
    lists = pa.ListArray.from_arrays(pa.array(np.arange(0, len(ten) + 1, 10, dtype=np.int32)), ten)
    records = {
        field("x", NUMBER, "MinMax"): pa.StructArray.from_arrays([pa.array(part, pa.int64()) for part in numbers], fields=list(NUMBER)),
        field("s", NAMES, "ValueList"): pa.StructArray.from_arrays([lists, pa.array(np.zeros(len(of), dtype=bool))], fields=list(NAMES)),
    }
    store.append([FileKey(f"part-{i:08}.parquet", 1_000_000 + i, 1_700_000_000_000 + i) for i in of.tolist()], [100] * len(of), records)


def name_of(place: int, i: int) -> str:
    """One of ten of a file."""
    return f"customer {(place * 10 + i) * 2_654_435_761 % (1 << 32):08x}"


def field(name: str, type_: pa.DataType, kind: str) -> pa.Field:
    """The column of an index."""
    tree = {"id": 0, "name": "AttributeReference", "type": "bigint", "column": name, "partition": False}
    return definition_field(name, type_, Definition(kind, (name,), {}, 1, (tree,), READER))


def resident(line: str) -> int:
    """Bytes of memory of this process: VmRSS now, VmHWM at most."""
    return next(int(found.split()[1]) for found in Path("/proc/self/status").read_text().splitlines() if found.startswith(line)) * 1024


def size_of(folder: Path) -> int:
    """Bytes of all files in a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*.parquet"))


if __name__ == "__main__":
    if len(sys.argv) > 3:
        measure(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
    else:
        given = [int(argument) for argument in sys.argv[1:]]
        main(*(given + [FILES, BUDGET][len(given) :]))
