"""One command with one failure, perhaps with a second writer in between; and what must hold then, whatever happened."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple
from unittest import mock

from data_skip.store import DeltaStore, StoreError, delta, vacuuming
from tests.faults.commands import BEGINNINGS, COMMANDS, OTHERS, PATIENCE, TWO_COMMITS, State, add, is_done, run, state, store_by
from tests.faults.s3 import FAILURES
from tests.faults.server import Server

READS = ("GET", "HEAD", "LIST")


class Case(NamedTuple):
    """A command whose request of that number fails; kind "" if only a second writer comes in between."""

    command: str
    number: int
    kind: str
    after: bool
    lasting: bool
    other: str

    def __str__(self) -> str:
        when = "after it took effect" if self.after else "before it took effect"
        more = f"{', each time' if self.lasting else ''}{f', while another {self.other}' if self.other else ''}"
        return f"{self.command}: request {self.number}: {self.kind or 'nothing'} {when}{more}"


class Outcome(NamedTuple):
    """What a command said: "" that it is done, or why it is refused."""

    refused: str
    met: str


class Matrix:
    """The server, and from which states commands start."""

    def __init__(self, configuration: Mapping[str, str] | None = None) -> None:
        """configuration: of the Delta tables that are made."""
        self.configuration = dict(configuration or {})
        self.patience = PATIENCE
        self.server = Server()
        self.outcomes: Counter[str] = Counter()
        self._requests: dict[str, list[str]] = {}
        self._ends: dict[tuple[str, ...], State] = {}
        self.server.ask("save", "")
        for name, make in BEGINNINGS:
            with self.configured():
                make(self.calm())
            self.server.ask("save", name)

    @contextmanager
    def configured(self) -> Iterator[None]:
        """Within, what is made is made so in this process."""
        kept = 0 if "delta.deletedFileRetentionDuration" in self.configuration else vacuuming._SWEPT_HOURS
        with mock.patch.dict(delta._CONFIGURATION, self.configuration), mock.patch.object(vacuuming, "_SWEPT_HOURS", kept):
            yield

    def calm(self) -> DeltaStore:
        """The index by the door at which nothing fails."""
        return store_by(self.server.calm, {})

    def requests(self, command: str) -> list[str]:
        """What a command asks, where nothing fails: `PUT t/index/...`."""
        if command not in self._requests:
            self.server.ask("reset", COMMANDS[command].start)
            self._run(command)
            self._requests[command] = [f"{what} {key}" for _, what, key in self.server.ask("met")]
        return self._requests[command]

    def _run(self, command: str, other: str = "") -> str:
        """Why it was refused. While another writes nobody loses patience, or the command would go on in the midst of that."""
        patience = {**PATIENCE, "timeout": "2s"} if other and self.patience is PATIENCE else self.patience
        try:
            with self.configured():
                run(store_by(self.server.port, patience), command)
        except StoreError as error:
            return str(error)
        return ""

    def _end(self, *steps: str) -> State:
        """What is there after some commands, one after the other, of which the first is a state."""
        if steps not in self._ends:
            self.server.ask("reset", steps[0])
            for step in steps[1:]:
                with self.configured():
                    run(self.calm(), step)
            self._ends[steps] = state(self.calm())
        return self._ends[steps]

    def _counted(self, found: State, case: Case) -> State:
        """Without its version, which counts what was swept away as well, where that is, and of two commits may have the first."""
        of_two = TWO_COMMITS & {case.command, case.other}
        return found._replace(version=0) if self.configuration or of_two else found

    def _ends_of(self, case: Case, refused: bool) -> set[State]:
        """What may be there: as if the command had been run before the other's, or after; or, if it was refused, not at all."""
        start, other = COMMANDS[case.command].start, [case.other] if case.other else []
        starts = [start, *COMMANDS[case.command].halves]
        ends = {self._end(start, case.command, *other), *(self._end(begun, *other, case.command) for begun in starts)}
        ends |= {self._end(begun, *other) for begun in starts if refused}
        return {self._counted(end, case) for end in ends}

    def cases(self, command: str) -> Iterator[Case]:
        """Every failure of every request; of requests that only read there is no after."""
        others = [*OTHERS]
        for number, request in enumerate(self.requests(command)):
            reads = request.startswith(READS)
            for other in others:
                yield Case(command, number, "", False, False, other)
            for i, kind in enumerate(FAILURES):
                for after in [kind == "cut"] if reads else [False, True]:
                    yield Case(command, number, kind, after, False, "")
                    yield Case(command, number, kind, after, True, "")
                    for other in [others[(number + i) % len(others)]] if reads else others:
                        yield Case(command, number, kind, after, False, other)

    def check(self, case: Case) -> Outcome:
        """Runs a case, and holds what must be true then."""
        for refused in (False, True):
            self._ends_of(case, refused)
        self.server.ask("reset", COMMANDS[case.command].start)
        self.server.ask("fail", **case._asdict())
        refused = self._run(case.command, case.other)
        met, error = self.server.ask("calm_down")
        assert not error, f"{case}: the other one was refused: {error}"
        found = self._counted(state(self.calm()), case)
        ends = self._ends_of(case, bool(refused)) if met or not case.other else {found}
        assert found in ends, f"{case}\n{refused or 'acknowledged'}\n{self._told(found, ends)}"
        if refused or not self.requests(case.command)[case.number].startswith(READS):
            self._goes_on(case)
        self.outcomes["refused" if refused else "done"] += 1
        return Outcome(refused, " ".join(map(str, met or [])))

    def _goes_on(self, case: Case) -> None:
        """The same command again, and a refresh after it, do what they say."""
        again = self._run(case.command)
        found = state(self.calm())
        assert not again and is_done(case.command, found), f"{case}\nagain: {again}\n{found}"
        if found.indexes:
            add(self.calm(), "q", "".join(sorted(found.indexes)), declare=False)
            assert {file.path for file, *_ in state(self.calm()).files} == {"q", *(file.path for file, *_ in found.files)}, case

    def _told(self, found: State, ends: set[State]) -> str:
        def shown(said: State) -> str:
            files = ", ".join(f"{f.path}@{f.modification_time}:{g}:{c}:{''.join(sorted(i))}" for f, g, c, i in sorted(said.files, key=str))
            return f"version {said.version} {sorted(said.indexes)} {files}"

        return "\n".join([f"found    {shown(found)}", *(f"expected {shown(end)}" for end in ends)])
