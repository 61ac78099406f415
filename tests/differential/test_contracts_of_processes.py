"""The three contracts, while another process changes files and the index between any two steps of a query.

A step is a question of the JVM, before and after it is answered, and the running of what was planned. Each file holds rows of its own, so
that what a query gives says what it read: of every file of the table, as the contract has it, all rows that it asks for.

    DATA_SKIP_EXAMPLES=2000 pytest tests/differential/test_contracts_of_processes.py       more queries
"""

from __future__ import annotations

import multiprocessing
import os
import random
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from data_skip.planning.callback import Callback
from tests.differential import another_process
from tests.differential.another_process import ROWS
from tests.support import Lake

QUERIES = max(1, int(os.environ.get("DATA_SKIP_EXAMPLES", "500")) // 10)
NAMES = [f"{i}.parquet" for i in range(10)]
SPREAD = 200  # values of x
ASKED = 40  # of these by each part of a query
PLACED = {"write": 5, "delete": 1, "refresh": 4, "drop": 1, "compact": 1, "put together": 1, "vacuum": 1}

State = dict[str, int]  # which content each file has


class Moments:
    """A table, what the other process does to it, and all that was true since a query began."""

    def __init__(self, lake: Lake, other: ProcessPoolExecutor, seed: int) -> None:
        self.lake, self.other, self.draw = lake, other, random.Random(seed)
        self.first: dict[int, int] = {}  # of each content, its least x
        self.now: State = {}
        self.indexed: State | None = None  # as of the last version of the index; None where there is none
        self.states: list[State] = []
        self.versions: list[State | None] = []
        self.done: Counter[str] = Counter()
        self.steps: list[str] = []
        self.begun = int(time.time() * 1000) - 7_200_000
        for name in NAMES[:8]:
            self.write(name)
        self.operate("create")

    def begin(self) -> None:
        """A query begins."""
        self.states, self.versions = [dict(self.now)], [self.indexed]
        self.steps.append("query")

    def write(self, name: str) -> None:
        content = len(self.first)
        self.first[content] = self.draw.randrange(SPREAD)
        self.other.submit(another_process.write, str(self.lake.folder / name), content, self.first[content], self.begun + content).result()
        self.now[name] = content

    def change(self) -> None:
        """The other process does something."""
        what = "create" if self.indexed is None else self.draw.choices(list(PLACED), list(PLACED.values()))[0]
        name = self.draw.choice(NAMES)
        if what == "write":
            self.write(name)
        elif what == "delete":
            if name in self.now and len(self.now) > 3:
                self.other.submit(another_process.delete, str(self.lake.folder / name)).result()
                del self.now[name]
        else:
            self.operate(what)
        self.done[what] += 1
        self.steps.append(f"{what} {name if what in ('write', 'delete') else ''}")
        self.states.append(dict(self.now))
        self.versions.append(self.indexed)

    def operate(self, what: str) -> None:
        why = self.other.submit(another_process.do, str(self.lake.folder), what).result()
        assert not why, (why, self.steps)
        if what in ("create", "refresh"):
            self.indexed = dict(self.now)
        elif what == "drop":
            self.indexed = None

    def rows(self, content: int, start: int) -> int:
        """How many of its rows a part of a query asks for."""
        first = self.first[content]
        return len(range(max(first, start), min(first + ROWS, start + ASKED)))

    def explains(self, files: State, read: Counter[int], start: int) -> bool:
        """Whether rows are those of a table of these files, of which each is as it was at some moment since, or was then."""
        left = Counter(read)
        for name, content in files.items():
            since = {state[name] for state in self.states if name in state} | {content}
            seen = [c for c in since if left[c]]
            if any(left.pop(c) != self.rows(c, start) for c in seen) or len(seen) > 1:
                return False
            if not seen and all(self.rows(c, start) for c in since) and all(name in state for state in self.states):
                return False
        return not +left

    def may_fail(self, files: State) -> bool:
        """Whether a file was gone at some moment."""
        return any(name not in state for state in self.states for name in files)


@pytest.fixture(scope="module")
def other() -> Iterator[ProcessPoolExecutor]:
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
        yield process


@pytest.mark.long
@pytest.mark.parametrize("contract", ["listing", "snapshot", "bounded(0)"])
def test_rows_are_those_of_the_contract(lake: Lake, other: ProcessPoolExecutor, contract: str, monkeypatch: pytest.MonkeyPatch) -> None:
    moments = Moments(lake, other, seed=len(contract))
    answer = Callback.apply
    chance = 0.0

    def between(self: Callback, question: str, java: Any) -> str | None:
        for _ in range(2):
            if moments.draw.random() < chance:
                moments.change()
        found = answer(self, question, java)
        if moments.draw.random() < chance:
            moments.change()
        return found

    monkeypatch.setattr(Callback, "apply", between)
    table, listed = lake.table(), dict(moments.now)
    frame = table.read(contract)
    failed = skipped = exact = 0
    for _ in range(QUERIES):
        for _ in range(moments.draw.randrange(3)):
            moments.change()
        if contract == "listing" and (listed.keys() - moments.now.keys() or moments.draw.random() < 0.5):
            frame, listed = lake.spark.read.parquet(str(lake.folder)), dict(moments.now)
        starts = [moments.draw.randrange(SPREAD) for _ in range(2)]
        moments.begin()
        chance = moments.draw.choice([0.0, 0.0, 0.2, 0.4])
        try:
            found = parts(frame, starts, moments.change if moments.draw.random() < chance else None)
        except (PySparkException, Py4JJavaError) as error:
            found, why = None, str(error)
        chance = 0.0
        candidates: list[State | None] = {
            "listing": [listed],
            "snapshot": moments.versions,
            "bounded(0)": moments.states,
        }[contract]
        if found is None:
            failed += 1
            gone = None in moments.versions if contract != "listing" else False
            assert gone or any(files is None or moments.may_fail(files) for files in candidates), (why, moments.steps)
        else:
            read = [found[i] for i in range(2)]
            explained = [
                files for files in candidates if files is not None and all(moments.explains(files, read[i], starts[i]) for i in range(2))
            ]
            assert explained, (starts, read, candidates, moments.states, moments.first, moments.steps)
            exact += len(moments.states) == 1
            scans = lake.skipping.report().scans
            skipped += sum(scan.files_total - scan.files_read for scan in scans)
        if contract.startswith("bounded") and moments.indexed is not None:
            moments.operate("refresh")  # of which moment it was brought up to date is not known
    assert failed < QUERIES / 3 and exact > QUERIES / 4 and skipped > 4 * QUERIES, (failed, exact, skipped, moments.done)
    assert moments.done.keys() >= PLACED.keys(), moments.done


def parts(frame: DataFrame, starts: list[int], meanwhile: Callable[[], None] | None) -> dict[int, Counter[int]]:
    """Of each part of a query, how many rows of which contents it gives. meanwhile: is called once it is planned."""
    asked = [frame.where(f"x >= {start} AND x < {start + ASKED}").selectExpr("content", f"{i} AS part") for i, start in enumerate(starts)]
    query = asked[0].union(asked[1])
    query._jdf.queryExecution().executedPlan()
    if meanwhile is not None:
        meanwhile()
    found: dict[int, Counter[int]] = defaultdict(Counter)
    for row in query.collect():
        found[row.part][row.content] += 1
    return found
