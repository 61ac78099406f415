"""Sessions that create, drop, refresh and compact indexes of one table, in every order, also within one another, while files change.

Another process drops, compacts and vacuums beside them; indexes are deleted and made anew otherwise; tables are dropped.
After each step one of them, by one of two readers, reads all files that hold a row which it asks for; every session sees the index that
is there, and that is what was acknowledged: no index and no record is missing, or back. What fails says so with a DataSkipError.

    DATA_SKIP_EXAMPLES=2000 pytest tests/differential/test_sessions.py       more orders
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import random
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

import data_skip
from data_skip import DataSkipError, Index, MinMax, Skipping, ValueList
from data_skip.store import FileKey, delta
from data_skip.store.delta import DeltaStore
from data_skip.store.layout import BASE, OF_TABLE
from data_skip.table import Table
from tests.support import aged, files_read

ORDERS = max(1, int(os.environ.get("DATA_SKIP_EXAMPLES", "500")) // 125)
STEPS = 10
INDEXES: list[Index] = [MinMax("x"), ValueList("x"), ValueList("s")]
READERS: list[dict[str, str]] = [{"header": "true"}, {"header": "false"}]  # a header is a row of 4 and "s" for the second
ASKED: list[tuple[str, Callable[[int | None, str], bool]]] = [
    ("x = 1", lambda x, s: x == 1),
    ("x > 2", lambda x, s: x is not None and x > 2),
    ("s = 's'", lambda x, s: s == "s"),
]

NAMES = ["a.csv", "b.csv", "c.csv"]
KEYS = {*BASE.names, OF_TABLE.name}
Operation = tuple[str, int, int, int, bool]
# Where others may come between: before a writer looks at the index, before it takes up the version that it saw, before it commits.
MOMENTS: list[tuple[Any, str]] = [(DeltaStore, "_retried"), (DeltaStore, "_at"), (delta, "write_deltalake")]

_elsewhere: dict[str, DeltaStore] = {}  # of the other process


def elsewhere(uri: str, what: str, column: str) -> None:
    """What a process without Spark does to an index."""
    store = _elsewhere.setdefault(uri, DeltaStore(uri))
    if what == "drop":
        store.drop(column)
    elif what == "compact":
        store.compact()
    elif what == "put together":
        store.put_together()
    elif store.snapshot() is not None:
        DeltaTable(store.location).vacuum(0, dry_run=False, enforce_retention_duration=False)


class Sessions:
    """Two sessions, two readers of one folder of CSV files, and tables that a session opened once and goes on using."""

    number = 0  # of writes: no two are of the same moment

    def __init__(self, sessions: tuple[Skipping, Skipping], other: ProcessPoolExecutor, folder: Path, seed: int) -> None:
        self.sessions, self.other, self.folder, self.random = sessions, other, folder, random.Random(seed)
        self.files: dict[str, list[int]] = {}
        self.opened: dict[tuple[int, int], Table] = {}
        self.held: dict[str, set[FileKey]] = {}  # what was acknowledged: the indexes there are, and of which files they hold records
        self.read = 0  # by which reader
        self.store = DeltaStore(sessions[0].catalog.store(f"file:{folder}").uri)
        self.steps: list[str] = [f"order {seed}"]
        self.skipped = self.done = 0  # files, operations that were not refused
        self.write("a.csv", [1])
        self.write("b.csv", [3, 4])
        self.run(("create", 0, 0, 0, False))

    def step(self) -> None:
        values = [self.random.randint(0, 4) for _ in range(self.random.randint(1, 2))]
        name = self.random.choice(NAMES)
        what = self.random.choices(["write", "delete", "overwrite", "nothing"], [10, 1, 1, 4])[0]
        self.steps.append(f"{what} {name} {values}")
        if what == "delete":
            self.delete(name)
        elif what == "overwrite":
            self.overwrite(values)
        elif what == "write":
            self.write(name, values)
        self.operate(self.operation(), self.meanwhile() if self.random.random() < 0.7 else [])
        self.is_as_acknowledged()
        self.every_file_with_a_row_is_read(self.random.choice(self.sessions), self.random.choice(READERS))

    def operation(self) -> Operation:
        """Mostly one that is not refused."""
        what = self.random.choices(
            ["create", "drop", "refresh", "compact", "put together"], [4, 3, 6, 1, 1] if self.held else [1, 0, 0, 0, 0]
        )[0]
        fitting = [i for i, index in enumerate(INDEXES) if (index.column in self.held) == (what == "drop")]
        reader = self.read if self.held and self.random.random() < 0.9 else self.random.randrange(2)
        return what, self.random.choice(fitting or [0]), self.random.randrange(2), reader, self.random.random() < 0.5

    def meanwhile(self) -> list[Operation]:
        """What others do: an operation, or an index made anew by another reader, once it was dropped or its folder deleted."""
        one = self.operation()
        what = self.random.choices(["any", "drop", "delete", "elsewhere"], [3, 3, 3, 1])[0]
        if what == "any":
            return [one]
        if what == "elsewhere":
            return [(self.random.choice(["drop elsewhere", "compact elsewhere", "put together elsewhere", "vacuum elsewhere"]), *one[1:])]
        gone: list[Operation] = [("drop", i, one[2], 0, False) for i in range(3)] if what == "drop" else [("delete", 0, 0, 0, False)]
        return [*gone, ("create", self.random.randrange(3), one[2], self.random.randrange(2), False)]

    def write(self, name: str, values: list[int]) -> None:
        type(self).number += 1
        self.folder.mkdir(exist_ok=True)
        (self.folder / name).write_text("4,s\n" + "".join(f"{value},t{value}\n" for value in values))
        aged(self.folder / name, 7200.0 - self.number)
        self.files[name] = values

    def delete(self, name: str) -> None:
        if len(self.files) > 1 and self.files.pop(name, None) is not None:
            (self.folder / name).unlink()

    def overwrite(self, values: list[int]) -> None:
        """As mode("overwrite") does, or DROP TABLE and another one in its place: with the index."""
        shutil.rmtree(self.folder)
        self.files, self.held = {}, {}
        self.write("a.csv", values)

    def operate(self, operation: Operation, meanwhile: list[Operation]) -> None:
        with self.others_come_between(meanwhile) if meanwhile else contextlib.nullcontext():
            self.run(operation)

    def run(self, operation: Operation) -> None:
        what, number, session, reader, again = operation
        self.steps.append(str(operation))
        column, begun = INDEXES[number].column, set(self.held)
        with contextlib.suppress(DataSkipError):
            if what.endswith("elsewhere"):
                self.other.submit(elsewhere, self.store.uri, what.split()[0], column).result()
            elif what == "delete":
                shutil.rmtree(self.folder / ".data_skip", ignore_errors=True)
            else:
                if not again or (session, reader) not in self.opened:
                    self.opened[session, reader] = self.sessions[session].table(str(self.folder), **self.reader(reader))
                collected = self.run_by(self.opened[session, reader], what, INDEXES[number])
                assert not collected or what == "create" or reader == self.read, self.steps
            self.done += 1
            if what == "delete":
                self.held = {}
            elif what.startswith("drop"):
                self.held.pop(column, None)
            elif what == "create":
                self.held[column], self.read = self.versions(), reader
            elif what == "refresh":
                self.held.update({column: self.versions() for column in begun & set(self.held)})

    def run_by(self, table: Table, what: str, index: Index) -> int:
        """How many files were collected."""
        if what == "create":
            return table.create_index(index).files_collected
        if what == "refresh":
            return table.refresh().files_collected
        if what == "drop":
            table.drop_index(index)
        elif what == "compact":
            table.compact()
        else:
            table._store.put_together()
        return 0

    @contextlib.contextmanager
    def others_come_between(self, meanwhile: list[Operation]) -> Iterator[None]:
        # Delta tells by its version alone whether a table is still the same: between the last look and the commit none is deleted.
        deleted = any(what == "delete" for what, *_ in meanwhile)
        pending, (owner, name) = [meanwhile], self.random.choice(MOMENTS[:-1] if deleted else MOMENTS)
        self.steps.append(f"before {name}: {meanwhile}")
        original = getattr(owner, name)

        def late(*args: Any, **kwargs: Any) -> Any:
            if pending:
                version = self.version()
                for operation in pending.pop():
                    self.run(operation)
                while 0 <= self.version() < version and self.random.random() < 0.9:
                    self.store.compact()  # an index that was made anew is another one, though its version is the same
            return original(*args, **kwargs)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(owner, name, late)
            yield

    def version(self) -> int:
        snapshot = DeltaStore(self.store.uri).snapshot()
        return snapshot.version if snapshot else -1

    def versions(self) -> set[FileKey]:
        found = {name: (self.folder / name).stat() for name in self.files}
        return {FileKey(name, stat.st_size, stat.st_mtime_ns // 1_000_000) for name, stat in found.items()}

    def is_as_acknowledged(self) -> None:
        snapshot = DeltaStore(self.store.uri).snapshot()
        assert set(snapshot.definitions if snapshot else ()) == set(self.held), self.steps
        for part in DeltaTable(self.store.location).file_uris() if snapshot else ():  # none holds what the next who declares it would find
            assert set(pq.read_schema(part).names) <= {*KEYS, *self.held} and self.held, self.steps
        for column, held in self.held.items():
            assert snapshot is not None
            assert snapshot.definitions[column].reader["options"]["header"] == READERS[self.read]["header"], self.steps
            found = {file for file, is_held in zip(snapshot.files, snapshot.collected([column]), strict=True) if is_held}
            assert held & self.versions() <= found, (column, self.steps)
        for skipping in self.sessions:
            seen = skipping.catalog.store(f"file:{self.folder}").snapshot()
            assert (seen and seen.said) == (snapshot and snapshot.said), self.steps

    def every_file_with_a_row_is_read(self, skipping: Skipping, reader: dict[str, str]) -> None:
        frame = skipping.spark.read.options(**reader).schema("x INT, s STRING").csv(str(self.folder))
        for where, holds in ASKED:
            header = [] if reader["header"] == "true" else [(4, "s")]
            rows = {name: [*header, *((value, f"t{value}") for value in values)] for name, values in self.files.items()}
            needed = {name for name, found in rows.items() if any(holds(x, s) for x, s in found)}
            read = files_read(skipping, frame.where(where), self.folder)
            assert needed <= read, (where, reader, self.steps)
            self.skipped += len(self.files) - len(read)

    @staticmethod
    def reader(number: int) -> dict[str, Any]:
        return {"format": "csv", "schema": "x INT, s STRING", "options": READERS[number]}


@pytest.mark.long
def test_no_order_loses_a_row(spark: SparkSession, skipping: Skipping, tmp_path: Path) -> None:
    other = spark.newSession()
    for setting in ("spark.sql.session.timeZone", "spark.sql.shuffle.partitions", "spark.sql.files.minPartitionNum"):
        other.conf.set(setting, spark.conf.get(setting))
    sessions = (skipping, data_skip.enable(other))
    skipped = done = 0
    try:
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
            for seed in range(ORDERS):
                order = Sessions(sessions, process, tmp_path / str(seed), seed)
                for _ in range(STEPS):
                    order.step()
                skipped, done = skipped + order.skipped, done + order.done
    finally:
        data_skip.disable(other)
    assert done > ORDERS * STEPS // 3 and skipped > ORDERS * STEPS // 4, f"{done} operations and {skipped} skipped files show nothing"
