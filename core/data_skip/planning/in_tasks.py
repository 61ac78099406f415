"""A clause over records that take more memory than there is for them, evaluated by Spark's tasks: each reads a piece of the index.

Inside of a callback the pieces are laid out, and the job is made; the JVM runs it between two callbacks (EvaluationJob.java), and tells
what tasks found with the question that it asks again. What they say of a file version stays true then: the predicate is the same. Of what
they say nothing, the driver says it part by part, as where there are no tasks.
"""

from __future__ import annotations

import json
import pickle
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark import cloudpickle

from data_skip.building.remote_files import NOWHERE, RemoteFiles
from data_skip.building.same_code import Code
from data_skip.clause import Clause, Mask
from data_skip.planning.deadline import Deadline
from data_skip.planning.evaluating import A_PART, Opener, locally, portable, reader, remotely
from data_skip.planning.in_parts import evaluate, fields_of, part_by_part
from data_skip.spark.errors import first_line
from data_skip.spark.evaluation import cores, evaluation
from data_skip.store import Snapshot
from data_skip.store.parts import Piece, Rows

# What a job has to spare the driver: it evaluates so many pieces before workers that have to be started have begun. And it does as much at
# once as so many tasks, since it reads by several threads, and has looked at the files before.
_LEAST_PIECES, _AS_MANY_TASKS = 20, 3
_DRIVER = "the driver, and not by tasks"


class Tasks:
    """What Spark's tasks have found for a decision, or are to find."""

    def __init__(self, told: Told | None, may_run: bool) -> None:
        """told: what they have found; may_run: whether they may be asked, once."""
        self.told, self._may_run = told, may_run and told is None
        self.job: Job | None = None  # that they are to run before the decision is made again: nothing else is known until then
        self.notes: list[str] = []

    def survivors(
        self,
        clause: Clause,
        root: str,
        snapshot: Snapshot,
        columns: Mapping[str, pa.StructArray],
        listed: Mask,
        most_bytes: int,
        deadline: Deadline,
    ) -> Mask:
        """As `part_by_part`: by what tasks have found, as far as that goes. root: of the table."""

        def offer(rest: Clause, rows: Rows, listed: Mask, may_match: Mask) -> bool:
            job = job_of(rest, snapshot, rows, listed, may_match)
            if isinstance(job, Job):
                self.job = job
            elif job:
                self._note(root, _DRIVER, job)
            return self.job is not None

        if self.told is None or self.told.snapshot != snapshot.id:
            return part_by_part(clause, snapshot, columns, listed, most_bytes, deadline, *([offer] if self._may_run else []))
        may_match, evaluated = self.told.learn(snapshot, deadline.end)
        tasks = f"{self.told.tasks} tasks in {self.told.seconds:.1f} s"
        self._note(root, *((_DRIVER, snapshot.why_no_tasks) if snapshot.why_no_tasks else (tasks,)))
        left = listed & ~evaluated
        if (left & may_match).any():
            evaluate(clause, snapshot, columns, left, may_match, most_bytes, deadline)
        return may_match

    def _note(self, root: str, by: str, why: str = "") -> None:
        self.notes.append(f"records of {root} were evaluated by {by}{': ' if why else ''}{why}")


@dataclass(frozen=True)
class Job:
    """What tasks are to find of one index. may_match: what is known before."""

    snapshot: Snapshot
    may_match: Mask
    pieces: list[Piece]
    tasks: int
    read: Callable[[Iterable[Piece]], Iterator[bytes]]

    def hand_over(self, listing: Any, start: float, deadline: Deadline) -> None:
        """To a Listing of the JVM, which runs it for half of the time that is left: the other half is for what tasks leave undone."""
        known = {"snapshot": self.snapshot.id, "may_match": b64encode(np.packbits(self.may_match).tobytes()).decode()}
        told = json.dumps({**known, "tasks": self.tasks, "start": start, "end": deadline.end})
        listing.handOver(evaluation(self.read, self.pieces, self.tasks), max(0.0, deadline.end - perf_counter()) / 2, told)


@dataclass(frozen=True)
class Told:
    """What tasks have found. start, end: when the decision began, and when its time is up, as of time.perf_counter()."""

    snapshot: str
    start: float
    end: float
    tasks: int
    seconds: float
    _may_match: str
    _why: str  # "" where the job has not failed
    _found: Sequence[str]

    @classmethod
    def of(cls, told: Mapping[str, Any] | None) -> Told | None:
        """From what EvaluationJob.java tells; None where no job was run."""
        if told is None:
            return None
        known = json.loads(told["known"])
        seen = known["snapshot"], known["start"], known["end"], known["tasks"], told["seconds"], known["may_match"]
        return cls(*seen, first_line(told["why"]), told["found"])

    def learn(self, snapshot: Snapshot, until: float) -> tuple[Mask, Mask]:
        """Which file versions may match, and of which tasks have said so. The snapshot is told why tasks are not asked again soon."""
        may_match = np.unpackbits(np.frombuffer(b64decode(self._may_match), dtype=np.uint8), count=snapshot.count) == 1
        evaluated, groups, why = np.zeros(snapshot.count, dtype=bool), snapshot.rows_in_groups(until).groups, self._why
        for found in self._found:
            answer: dict[str, Any] = pickle.loads(b64decode(found))
            if answer["why"]:
                why = why or answer["why"]
                continue
            of_piece = slice(answer["first"], answer["first"] + answer["count"])
            may_match[of_piece] &= np.unpackbits(answer["bits"], count=answer["count"]) == 1
            evaluated[of_piece] = True
            for (column, field), numbers in answer["without_nan"].items():
                groups.have_no_nan(column, field, numbers)
        snapshot.why_no_tasks = snapshot.options.shown(why)
        return may_match, evaluated


def job_of(clause: Clause, snapshot: Snapshot, rows: Rows, listed: Mask, may_match: Mask) -> Job | str:
    """The job that evaluates a clause over the records of file versions that may match; or why there is none, "" where none is worth it."""
    asked, fields = listed & may_match, fields_of(clause)
    stored = {column: names for column, names in fields.items() if column in snapshot.definitions}
    parts, at_once = list(rows.parts(stored, asked, A_PART, by_footers=True)), cores()
    tasks = min(len(parts), at_once)  # no more: to start one takes half as long as a piece, and more on a busy machine
    if tasks == 0 or len(parts) * (1 - _AS_MANY_TASKS / at_once) < _LEAST_PIECES:
        return ""
    if snapshot.why_no_tasks:
        return snapshot.why_no_tasks
    if len(stored) < len(fields):
        return "the clause asks for partitions as well"
    alone = portable(clause)
    if alone is None:
        return "the clause asks Spark, or code that is not said to be pure"
    pieces = [rows.piece(part, asked) for part in parts]
    opener = _opener(snapshot, rows, pieces)
    if opener is None:
        return "tasks may find another index there than the driver"
    try:
        pickled = cloudpickle.dumps(alone)
        code = Code.of_pickled(pickled)
    except Exception as error:
        return f"the clause cannot be sent to them ({type(error).__name__})"
    read = reader(pickled, fields, rows.groups.schema_of(fields), opener, code)
    return Job(snapshot, may_match, pieces, tasks, read)


def _opener(snapshot: Snapshot, rows: Rows, pieces: Sequence[Piece]) -> Opener | None:
    """What opens the files of an index in a task; None where these may be others than here."""
    if "://" not in snapshot.location:
        return locally(snapshot.location)
    files, _ = rows.groups.where([number for piece in pieces for number in piece.numbers])
    sizes = {f"{snapshot.location}/{file.path}": file.open().size() for file in files}
    remote = RemoteFiles(snapshot.location, snapshot.options, sizes) if snapshot.options.of_hadoop else NOWHERE
    return remotely(remote) if all(map(remote.has, sizes)) else None
