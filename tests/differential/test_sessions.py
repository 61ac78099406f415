"""Sessions that create, drop, refresh and compact indexes of one table, in every order, also within one another, while files change.

After each step every session, by every reader, reads all files that hold a row which it asks for; what fails says so with a DataSkipError.

    DATA_SKIP_EXAMPLES=2000 pytest tests/differential/test_sessions.py       more orders
"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import data_skip
from data_skip import DataSkipError, Index, MinMax, Skipping, ValueList
from data_skip.store import StoreError
from data_skip.store.delta import DeltaStore
from data_skip.table import Table
from tests.support import aged, files_read

ORDERS = max(1, int(os.environ.get("DATA_SKIP_EXAMPLES", "500")) // 125)
STEPS = 12
INDEXES: list[Index] = [MinMax("x"), ValueList("x"), ValueList("s")]
READERS: list[dict[str, str]] = [{"header": "true"}, {"header": "false"}]  # a header is a row of NULL and "s" for the second
ASKED: list[tuple[str, Callable[[int | None, str], bool]]] = [
    ("x = 1", lambda x, s: x == 1),
    ("x > 2", lambda x, s: x is not None and x > 2),
    ("s = 's'", lambda x, s: s == "s"),
]

NAMES = ["a.csv", "b.csv", "c.csv"]
Operation = tuple[str, int, int, int, bool]


class Sessions:
    """Two sessions, two readers of one folder of CSV files, and tables that a session opened once and goes on using."""

    number = 0  # of writes: no two are of the same moment

    def __init__(self, sessions: tuple[Skipping, Skipping], folder: Path, seed: int) -> None:
        self.sessions, self.folder, self.random = sessions, folder, random.Random(seed)
        self.files: dict[str, list[int]] = {}
        self.opened: dict[tuple[int, int], Table] = {}
        self.steps: list[str] = [f"order {seed}"]
        self.skipped = self.done = 0  # files, operations that were not refused
        self.write("a.csv", [1])
        self.write("b.csv", [3, 4])
        self.run(("create", 0, 0, 0, False))

    def step(self) -> None:
        values = [self.random.randint(0, 4) for _ in range(self.random.randint(1, 2))]
        name = self.random.choice(NAMES)
        what = self.random.choices(["write", "delete", "overwrite", "operate"], [3, 1, 1, 12])[0]
        self.steps.append(f"{what} {name} {values}")
        if what == "write":
            self.write(name, values)
        elif what == "delete":
            self.delete(name)
        elif what == "overwrite":
            self.overwrite(values)
        else:
            self.operate(self.operation(), self.operation() if self.random.random() < 0.3 else None)
        self.every_file_with_a_row_is_read()

    def operation(self) -> Operation:
        what = self.random.choices(["create", "drop", "refresh", "compact"], [4, 2, 3, 1])[0]
        reader = int(self.random.random() < 0.3)  # of the second, all files are refused that have a header
        return what, self.random.randrange(3), self.random.randrange(2), reader, self.random.random() < 0.5

    def write(self, name: str, values: list[int]) -> None:
        type(self).number += 1
        self.folder.mkdir(exist_ok=True)
        (self.folder / name).write_text("x,s\n" + "".join(f"{value},t{value}\n" for value in values))
        aged(self.folder / name, 7200.0 - self.number)
        self.files[name] = values

    def delete(self, name: str) -> None:
        if len(self.files) > 1 and self.files.pop(name, None) is not None:
            (self.folder / name).unlink()

    def overwrite(self, values: list[int]) -> None:
        """As mode("overwrite") does: with the index."""
        shutil.rmtree(self.folder)
        self.files = {}
        self.write("a.csv", values)

    def operate(self, operation: Operation, meanwhile: Operation | None) -> None:
        """meanwhile: an operation that is done as the other one is about to commit."""
        with self.before_the_commit(meanwhile) if meanwhile else contextlib.nullcontext():
            self.run(operation)

    def run(self, operation: Operation) -> None:
        what, number, session, reader, again = operation
        self.steps.append(str(operation))
        with contextlib.suppress(DataSkipError, StoreError):
            if not again or (session, reader) not in self.opened:
                table = self.sessions[session].table(str(self.folder), **self.reader(reader))
                self.opened[session, reader] = table
            table = self.opened[session, reader]
            if what == "create":
                table.create_index(INDEXES[number])
            elif what == "drop":
                table.drop_index(INDEXES[number])
            elif what == "refresh":
                table.refresh()
            else:
                snapshot = table._store.snapshot()
                table._store.compact(set(snapshot.files if snapshot else ()) - table._state().list_again())
            self.done += 1

    @contextlib.contextmanager
    def before_the_commit(self, meanwhile: Operation) -> Iterator[None]:
        pending = [meanwhile]

        def late(method: Callable[..., Any]) -> Callable[..., Any]:
            def run(store: DeltaStore, *args: Any) -> Any:
                if pending:
                    self.run(pending.pop())
                return method(store, *args)

            return run

        with pytest.MonkeyPatch.context() as patch:
            for name in ("append", "_rewrite"):
                patch.setattr(DeltaStore, name, late(getattr(DeltaStore, name)))
            yield

    def every_file_with_a_row_is_read(self) -> None:
        for skipping in self.sessions:
            for reader in READERS:
                frame = skipping.spark.read.options(**reader).schema("x INT, s STRING").csv(str(self.folder))
                for where, holds in ASKED:
                    header = [] if reader["header"] == "true" else [(None, "s")]
                    rows = {name: [*header, *((value, f"t{value}") for value in values)] for name, values in self.files.items()}
                    needed = {name for name, found in rows.items() if any(holds(x, s) for x, s in found)}
                    read = files_read(skipping, frame.where(where), self.folder)
                    assert needed <= read, (where, reader, self.steps)
                    self.skipped += len(self.files) - len(read)

    @staticmethod
    def reader(number: int) -> dict[str, Any]:
        return {"format": "csv", "schema": "x INT, s STRING", "options": READERS[number]}


def test_no_order_loses_a_row(spark: SparkSession, skipping: Skipping, tmp_path: Path) -> None:
    other = spark.newSession()
    for setting in ("spark.sql.session.timeZone", "spark.sql.shuffle.partitions", "spark.sql.files.minPartitionNum"):
        other.conf.set(setting, spark.conf.get(setting))
    sessions = (skipping, data_skip.enable(other))
    skipped = done = 0
    try:
        for seed in range(ORDERS):
            order = Sessions(sessions, tmp_path / str(seed), seed)
            for _ in range(STEPS):
                order.step()
            skipped, done = skipped + order.skipped, done + order.done
    finally:
        data_skip.disable(other)
    assert done > ORDERS * STEPS // 3 and skipped > ORDERS * STEPS, f"{done} operations and {skipped} skipped files show nothing"
