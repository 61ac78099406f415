"""Records that take more memory than there is for them, evaluated by Spark's tasks: the same answers as where the driver evaluates them."""

from __future__ import annotations

import functools
import importlib
import math
import pickle
import time
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark import cloudpickle

from data_skip import BloomFilter, GapList, MinMax, Prefix, ScanReport, ValueList
from data_skip.building.same_code import Code
from data_skip.clause import ALWAYS_TRUE, Clause, Computed, Groups, Mask, Named, all_of, any_of
from data_skip.planning import evaluating, in_tasks
from data_skip.planning.deadline import Deadline
from data_skip.planning.evaluating import portable
from data_skip.planning.in_tasks import Job, Tasks, Told
from data_skip.spark.bridge import Scan
from data_skip.store import DeltaStore, Snapshot, new_parts, parts
from data_skip.store import snapshot as snapshots
from data_skip.store.clock import now
from data_skip.store.parts import Piece
from tests.support import Lake, settings_of
from tests.test_cancelling import by_group, ended, wait_for_a_job
from tests.test_parts import DOUBLE, LONG, filled, in_parts, numbered, opened, random_clause, store, whole  # noqa: F401

Read = Callable[[Iterable[Piece]], Iterator[bytes]]
SMALL = {"spark.data_skip.records.maxBytes": "1"}


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Row groups of few rows, each a piece, and no job too small."""
    monkeypatch.setattr(new_parts, "_MOST_IN_GROUP", 2)
    monkeypatch.setattr(new_parts, "_LEAST_IN_GROUP", 1)
    monkeypatch.setattr(parts, "LEAST_PART", 0)
    monkeypatch.setattr(evaluating, "A_PART", 0)
    monkeypatch.setattr(in_tasks, "A_PART", 0)
    monkeypatch.setattr(in_tasks, "_LEAST_PIECES", -1000)
    monkeypatch.setattr(in_tasks, "cores", lambda: 2)


class Handed:
    """In place of a Listing of the JVM: what is handed over to it is run at once, as another process would."""

    def __init__(self) -> None:
        self.told: dict[str, Any] = {}

    def handOver(self, found: tuple[Read, Sequence[Piece]], seconds: float, known: str) -> None:
        read, pieces = cloudpickle.loads(cloudpickle.dumps(found[0])), pickle.loads(pickle.dumps(found[1]))
        answers = [answer for piece in pieces for answer in read([piece])]
        self.told = {"known": known, "found": [b64encode(answer).decode() for answer in answers], "why": "", "seconds": 0.1}


def handed_over(job: Job) -> dict[str, Any]:
    listing = Handed()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(in_tasks, "evaluation", lambda read, pieces, tasks: (read, pieces))
        job.hand_over(listing, 0.0, Deadline(math.inf))
    return listing.told


def decided(tasks: Tasks, clause: Clause, snapshot: Snapshot, listed: Mask, at_hand: Sequence[str] = ()) -> Mask:
    return tasks.survivors(clause, "file:/t", snapshot, snapshot.records(at_hand), listed, 0, Deadline(math.inf))


def by_tasks(clause: Clause, snapshot: Snapshot, listed: Mask, at_hand: Sequence[str] = ()) -> Mask:
    first = Tasks(None, may_run=True)
    found = decided(first, clause, snapshot, listed, at_hand)
    if first.job is None:
        assert not first.notes, first.notes
        return found
    told = handed_over(first.job)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Snapshot, "records_by_part", lambda *_: pytest.fail("the driver read records"))
        second = Tasks(Told.of(told), may_run=True)
        found = decided(second, clause, snapshot, listed, at_hand)
    assert second.notes == [f"records of file:/t were evaluated by {first.job.tasks} tasks in 0.1 s"]
    return found


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in (1, 2, 3))])
def test_tasks_say_what_parts_do_and_all_records_at_once(store: DeltaStore, seed: int) -> None:  # noqa: F811
    random, jobs = Random(seed), 0
    filled(store, random)
    for order in (None, ("x", "long"), ("y", "text")):
        if order:
            store.compact(order)
        snapshot, beside, apart = opened(store), opened(store), opened(store)
        listed = np.array([random.random() < 0.9 for _ in range(snapshot.count)])
        for _ in range(6 if seed == 0 else 40):
            clause, at_hand = random_clause(random), random.choice([(), (), ("x",), ("y",)])
            found = by_tasks(clause, snapshot, listed, at_hand)
            jobs += bool(found[listed].any())
            assert found.tolist() == in_parts(clause, apart, listed, 0, at_hand).tolist(), (seed, order, str(clause))
            assert found[listed].tolist() == whole(clause, beside)[listed].tolist(), (seed, order, str(clause))
    assert jobs > (8 if seed == 0 else 60)


@pytest.mark.usefixtures("small")
def test_what_tasks_see_of_nan_spares_row_groups_the_next_time(store: DeltaStore) -> None:  # noqa: F811
    numbers = [float(i) for i in range(20)]
    numbers[7] = math.nan
    numbered(store, 20, double=numbers)
    snapshot, everything = opened(store), np.ones(20, dtype=bool)
    pieces = []
    for _ in range(2):
        tasks = Tasks(None, may_run=True)
        decided(tasks, DOUBLE > 16.5, snapshot, everything)
        assert tasks.job is not None
        pieces.append(len(tasks.job.pieces))
        found = decided(Tasks(Told.of(handed_over(tasks.job)), may_run=True), DOUBLE > 16.5, snapshot, everything)
        assert np.flatnonzero(found).tolist() == [7, 17, 18, 19]
    assert pieces == [4, 2]
    groups = snapshot.rows_in_groups().groups
    assert np.flatnonzero(~(DOUBLE > 100.0).rules_out(Groups(groups.count, groups.ends))).tolist() == [1]


NONE = Computed("none", (LONG,), lambda x: pc.less(x, 0), pure=True)


@pytest.mark.usefixtures("small")
def test_what_some_tasks_could_not_the_driver_evaluates(store: DeltaStore, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    """And tasks are not asked again of this snapshot, for some minutes."""
    numbered(store, 20)
    snapshot, everything = opened(store), np.ones(20, dtype=bool)
    tasks = Tasks(None, may_run=True)
    decided(tasks, NONE, snapshot, everything)
    assert tasks.job is not None
    told = handed_over(tasks.job)
    told["found"][3] = b64encode(pickle.dumps({"why": "OSError: gone"})).decode()
    again = Tasks(Told.of(told), may_run=True)
    assert not decided(again, NONE, snapshot, everything).any()
    assert again.notes == ["records of file:/t were evaluated by the driver, and not by tasks: OSError: gone"]
    later = Tasks(None, may_run=True)
    assert not decided(later, NONE, snapshot, everything).any()
    assert later.job is None and later.notes == again.notes
    monkeypatch.setattr(snapshots, "now", lambda: now() + 301)
    decided(later, NONE, snapshot, everything)
    assert later.job is not None


@pytest.mark.usefixtures("small")
def test_what_another_snapshot_was_asked_about_says_nothing_of_this_one(store: DeltaStore) -> None:  # noqa: F811
    numbered(store, 20)
    tasks, everything = Tasks(None, may_run=True), np.ones(20, dtype=bool)
    decided(tasks, NONE, opened(store), everything)
    assert tasks.job is not None
    told, other = Told.of(handed_over(tasks.job)), opened(store)
    again = Tasks(told, may_run=True)
    assert not decided(again, LONG > 100, other, everything).any()
    assert decided(again, LONG >= 0, other, everything).all()
    assert again.job is None


def test_a_few_pieces_are_evaluated_by_the_driver(store: DeltaStore, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    monkeypatch.setattr(in_tasks, "A_PART", 0)
    monkeypatch.setattr(in_tasks, "_LEAST_PIECES", 4)
    numbered(store, 50)
    for cores, pieces, asked in (
        (10**6, 4, False),
        (15, 5, True),
        (6, 8, True),
        (6, 7, False),
        (3, 9, False),
        (1, 9, False),
        (0, 9, False),
    ):
        monkeypatch.setattr(in_tasks, "cores", lambda cores=cores: cores)
        tasks = Tasks(None, may_run=True)
        decided(tasks, NONE, opened(store), np.arange(50) < 5 * pieces)
        assert (tasks.job is not None) == asked and not tasks.notes


class Odd(Clause):
    """Of a plugin."""


def test_which_clauses_are_known_to_be_the_same_anywhere() -> None:
    impure = Computed("code", (LONG,), lambda x: pc.less(x, 0))
    for alone in (LONG > 3, NONE, Named("words", NONE), all_of([NONE, LONG > 3]), any_of([NONE, Named("words", LONG > 3)])):
        assert portable(alone) is not None
    for other in (impure, Named("words", impure), all_of([NONE, impure]), any_of([LONG > 3, Named("", impure)]), Odd(), ALWAYS_TRUE):
        assert portable(other) is None
        assert portable(any_of([NONE, Named("", other)])) is None


@pytest.mark.parametrize("how", ["partial", "wrapped", "module", "plain"])
def test_code_of_a_plugin_is_compared_however_a_clause_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    """A worker's other version of what a partial calls answered in place of the driver's, and files were lost."""
    (tmp_path / "plugin_of_clauses.py").write_text("def below(x, limit=10):\n    return x\n")
    monkeypatch.syspath_prepend(tmp_path)
    plugin = importlib.import_module("plugin_of_clauses")

    @functools.wraps(pc.less)
    def wrapped(x: pa.Array) -> Any:
        return plugin.below(x)

    below = plugin.below
    chosen = {"partial": functools.partial(below, limit=1), "wrapped": wrapped, "module": lambda x: plugin.below(x), "plain": below}[how]
    code = Code.of_pickled(cloudpickle.dumps(Computed("below", (LONG,), chosen, pure=True)))
    assert "plugin_of_clauses" in code.digests and "functools" not in code.digests
    code.check()


@pytest.mark.usefixtures("small")
def test_what_holds_the_scan_is_not_sent(store: DeltaStore) -> None:  # noqa: F811
    """Though somebody says that it is pure."""
    scan = Scan()
    clause = Computed("asks", (LONG,), lambda x: pc.less(x, len(scan.roots)), pure=True)
    numbered(store, 20)
    snapshot, everything = opened(store), np.ones(20, dtype=bool)
    tasks = Tasks(None, may_run=True)
    scan.roots = []
    assert not decided(tasks, clause, snapshot, everything).any()
    assert tasks.job is None and "cannot be sent" in tasks.notes[0]


@pytest.fixture
def tall(lake: Lake, small: None) -> Lake:
    """Each file of one value of x, but for one of NULL and one of NaN; indexes are made apart."""
    for i in range(6):
        lake.file(f"p={i % 2}/{i}.parquet", {"x": [float(i)] * 3, "y": [i, i + 1, None], "s": [f"s{i}", f"t{i}", None]})
    lake.file("p=0/null.parquet", {"x": pa.nulls(3, pa.float64()), "y": [100] * 3, "s": ["u"] * 3})
    lake.file("p=1/nan.parquet", {"x": [math.nan] * 3, "y": [200] * 3, "s": ["v"] * 3})
    lake.index(MinMax("x"), ValueList("s"), GapList("y"))
    lake.index(MinMax("y"), BloomFilter("s"), Prefix("s", 2))
    lake.file("p=0/6.parquet", {"x": [6.0], "y": [6], "s": ["s6"]})
    lake.table().refresh()
    lake.view()
    return lake


def run(lake: Lake, where: str) -> ScanReport:
    """The report of a query that ran, with the rows as without skipping."""
    return lake.query(f"SELECT * FROM t WHERE {where}").scans[-1]


def ran_by(report: ScanReport) -> str:
    (note,) = [note for note in report.notes if "were evaluated by" in note]
    return note.partition("were evaluated by ")[2]


QUERIES = {  # how many files each reads
    "x > 5.5": 2,
    "x = 3 OR s = 't5'": 2,
    "s IN ('s1', 't6')": 1,
    "y > 1000": 0,
    "y IS NULL AND x < 2": 2,
    "x = 3 AND p = 1": 1,
}


@pytest.mark.long
def test_queries_are_the_same_by_tasks(tall: Lake) -> None:
    with settings_of(tall.spark, {**SMALL, "spark.data_skip.decideSeconds": "60"}):  # a busy machine starts workers slowly
        for where, read in QUERIES.items():
            report = run(tall, where)
            assert report.files_read == read, report
            assert not read or "tasks in" in ran_by(report), report  # what statistics rule out is not read


def test_a_query_runs_one_job_more_of_which_nobody_sees_anything(tall: Lake) -> None:
    """But its note: it is of the user's group, has one report, and changes nothing of the thread."""
    context, sql = tall.spark.sparkContext, "SELECT y, s FROM t WHERE s LIKE 'v%'"
    context.setJobGroup("tasks", "of a user")
    context.addJobTag("mine")
    try:
        with settings_of(tall.spark, SMALL), tall.skipping.disabled():
            expected, alone, before = tall.spark.sql(sql).collect(), jobs(tall), {of.execution_id for of in tall.skipping.reports()}
        with settings_of(tall.spark, SMALL):
            assert tall.spark.sql(sql).collect() == expected
        report = tall.skipping.report().scans[-1]
        assert report.files_read == 1 and "tasks in" in ran_by(report), report
        assert jobs(tall) == 2 * alone + 1 and len({of.execution_id for of in tall.skipping.reports()} - before) == 1
        assert context.getLocalProperty("spark.job.description") == "of a user"
        assert set(context.getJobTags()) == {"mine"}
    finally:
        context.clearJobTags()
        for name in ("spark.jobGroup.id", "spark.job.description", "spark.job.interruptOnCancel"):
            context.setLocalProperty(name, None)  # type: ignore[arg-type]


def jobs(lake: Lake) -> int:
    return len(lake.spark.sparkContext.statusTracker().getJobIdsForGroup("tasks"))


@pytest.mark.parametrize(
    ("where", "read", "why"),
    [
        ("upper(s) = 'S6'", 1, "the clause asks Spark"),
        ("x < y + 1 AND x > 3.5", 3, "the clause asks Spark"),
        ("(x = 3 AND p = 1) OR (x = 4 AND p = 0)", 2, "partitions"),
    ],
)
def test_what_is_not_known_to_be_pure_stays_on_the_driver(tall: Lake, where: str, read: int, why: str) -> None:
    with settings_of(tall.spark, SMALL):
        report = run(tall, where)
    assert report.files_read == read, report
    assert ran_by(report).startswith("the driver, and not by tasks: ") and why in ran_by(report)


def slow(read: Any, seconds: float) -> Any:
    def run(pieces: Iterable[Piece]) -> Iterator[bytes]:
        import time

        time.sleep(seconds)
        yield from read(pieces)

    return run


def broken(*_: Any) -> Any:
    def run(pieces: Iterable[Piece]) -> Iterator[bytes]:
        raise RuntimeError("this worker is broken")

    return run


def of_another_version(*_: Any) -> Code:
    return Code({"data_skip": "another"})


FAILURES: Mapping[str, tuple[Any, str, Any]] = {
    "this worker is broken": (in_tasks, "reader", broken),
    "OtherCode: data_skip is not the same on this worker as on the driver": (Code, "of_pickled", of_another_version),
    "ValueError: of no job": (in_tasks, "evaluation", lambda *_: (_ for _ in ()).throw(ValueError("of no job"))),
}


@pytest.mark.parametrize("why", [*FAILURES])
def test_where_tasks_fail_the_driver_evaluates(tall: Lake, monkeypatch: pytest.MonkeyPatch, why: str) -> None:
    monkeypatch.setattr(*FAILURES[why])
    with settings_of(tall.spark, SMALL):
        for _ in range(2):
            report = run(tall, "x = 3 AND y = 4")
            assert report.files_read == 1 and not report.errors
            assert ran_by(report).startswith("the driver, and not by tasks: ") and why in ran_by(report)


@pytest.mark.long
def test_the_time_of_tasks_is_a_part_of_that_of_the_decision(tall: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    read = evaluating.reader
    monkeypatch.setattr(in_tasks, "reader", lambda *given: slow(read(*given), 30))
    with settings_of(tall.spark, {**SMALL, "spark.data_skip.decideSeconds": "5"}):  # a quarter of what is left
        start = time.monotonic()
        report = run(tall, "x = 3 AND y = 4")
    assert time.monotonic() - start < 20
    assert report.files_read == 1, report
    assert "they took longer than 1" in ran_by(report) and 900 < report.milliseconds < 4000


def test_a_user_cancels_tasks_with_the_query(tall: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    read = evaluating.reader
    monkeypatch.setattr(in_tasks, "reader", lambda *given: slow(read(*given), 30))
    with ThreadPoolExecutor(1) as thread, settings_of(tall.spark, {**SMALL, "spark.data_skip.decideSeconds": "100"}):
        cancel = thread.submit(by_group, tall.spark).result()
        query = thread.submit(lambda: tall.spark.sql("SELECT * FROM t WHERE x = 3 AND y = 4").collect())
        wait_for_a_job(tall.spark)
        assert "SPARK_JOB_CANCELLED" in ended(query, cancel)


def test_files_that_tasks_cannot_read_are_read_by_the_driver(store: DeltaStore, small: None, tmp_path: Path) -> None:  # noqa: F811
    """As where the index lies on the driver's own disk."""
    numbered(store, 20)
    snapshot, everything = opened(store), np.ones(20, dtype=bool)
    tasks = Tasks(None, may_run=True)
    decided(tasks, NONE, snapshot, everything)
    assert tasks.job is not None
    folder = Path(store.location)
    folder.rename(tmp_path / "elsewhere")
    told = handed_over(tasks.job)
    (tmp_path / "elsewhere").rename(folder)
    again = Tasks(Told.of(told), may_run=True)
    assert not decided(again, NONE, snapshot, everything).any()
    assert "FileNotFoundError" in again.notes[0]


@pytest.mark.usefixtures("small")
def test_tasks_read_no_more_at_once_than_a_process_may(store: DeltaStore, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    numbered(store, 20)
    tasks = Tasks(None, may_run=True)
    decided(tasks, NONE, opened(store), np.ones(20, dtype=bool))
    assert tasks.job is not None
    piece, schema = tasks.job.pieces[0], pa.schema([("x", pa.struct([("long", pa.int64())]))])
    rows = piece.rows(schema, evaluating.locally(store.location)(piece.paths))
    monkeypatch.setattr(evaluating, "most_bytes", lambda: 3)
    with pytest.raises(ValueError, match="bytes of memory"):
        evaluating.evaluated(NONE, piece, rows, {"x": ["long"]})
