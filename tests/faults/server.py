"""The S3 in a process of its own, since deltalake holds Python's lock while it asks for some things; and what tests tell it."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable
from typing import Any

from data_skip.store import DeltaStore, StoreError
from tests.faults.commands import run, store_by, without_environment
from tests.faults.s3 import OLD, S3, Fault, Object, Request


class Plan:
    """Which request fails, how, and what happens meanwhile."""

    def __init__(
        self,
        s3: S3,
        writer: Callable[[str], str],
        number: int,
        kind: str = "",
        after: bool = False,
        lasting: bool = False,
        other: str = "",
        kill: int = 0,
        command: str = "",
    ) -> None:
        """writer: does what has that name, and says why not. number: of the request, from 0. lasting: whether it fails when sent again.

        kill: the process that ends by it. command: nothing, as a Case has it.
        """
        self._s3, self._number, self._fault, self._lasting, self._other, self._kill = s3, number, Fault(kind, after), lasting, other, kill
        self._writer = writer
        self._failing: tuple[str, str] | None = None
        self._lock = threading.Lock()
        self._met: Request | None = None
        self._error = ""
        self._over = threading.Event()

    def meet(self, request: Request, after: bool) -> Fault | None:
        with self._lock:
            first = self._met is None and len(self._s3.met) > self._number and self._s3.met[self._number] == request
            if first and after == self._fault.after:
                self._met = request
                self._failing = (request.what, request.key)
        if after != self._fault.after:
            return None
        if first:
            try:
                self._happen()
            finally:
                self._over.set()
        elif not (self._lasting and self._failing == (request.what, request.key)):
            return None
        return self._fault if self._fault.kind else None

    def _happen(self) -> None:
        if self._kill:
            os.kill(self._kill, signal.SIGKILL)
        if self._other:
            self._error = self._writer(self._other)

    def told(self) -> list[Any]:
        """The request that was met, and what the second writer was refused; once it is done."""
        if self._met is not None:
            self._over.wait(60)
        return [self._met, self._error]


class Service:
    """What a test may ask of the process."""

    def __init__(self) -> None:
        self.s3 = S3()
        self.states: dict[str, dict[str, Object]] = {"": {}}
        self.plan: Plan | None = None
        self._other = Process("writer", str(self.s3.calm))
        self._other.ask("write", "")

    def _writer(self, what: str) -> str:
        return str(self._other.ask("write", what))

    def ports(self) -> list[int]:
        return [self.s3.port, self.s3.calm]

    def save(self, name: str) -> None:
        """Keeps what is there, and lets it look old."""
        self.states[name] = {key: found._replace(modified=OLD) for key, found in self.s3.objects.items()}

    def put(self, key: str, text: str) -> None:
        self.s3.objects[key] = Object(text.encode(), OLD)

    def reset(self, name: str) -> None:
        self.s3.reset(self.states[name])

    def fail(self, **plan: Any) -> None:
        self.plan = Plan(self.s3, self._writer, **plan)
        self.s3.met = []
        self.s3.meet = self.plan.meet

    def calm_down(self) -> list[Any]:
        """Nothing fails any more: what the plan tells."""
        self.s3.meet = lambda request, after: None
        return self.plan.told() if self.plan else [None, ""]

    def met(self) -> list[Any]:
        return self.s3.met

    def keys(self) -> list[str]:
        return sorted(self.s3.objects)


class Process:
    """A process that answers questions: lines of JSON."""

    def __init__(self, *arguments: str) -> None:
        command = [sys.executable, "-m", "tests.faults.server", *arguments]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, what: str, *arguments: Any, **named: Any) -> Any:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(json.dumps([what, arguments, named]) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def stop(self) -> None:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.close()
        self._process.wait(30)
        self._process.stdout.close()


class Server(Process):
    """A process with a Service."""

    def __init__(self) -> None:
        super().__init__("s3")
        self.port, self.calm = self.ask("ports")


class Writer:
    """What the process of the second writer does: it has to be another one, since one that waits for an answer may hold Python's lock."""

    def __init__(self, port: str) -> None:
        self._port = int(port)

    def write(self, what: str) -> str:
        """Why not; "" once it is done."""
        if not what:
            return ""
        try:
            run(store_by(self._port, {}), what)
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        return ""


class Nursery:
    """Starts processes at once, which have all that they need: it asks deltalake nothing itself, whose threads would not be there."""

    def __init__(self) -> None:
        self._doors: dict[int, int] = {}

    def fork(self, place: str | int, commands: list[str], most: int = 0) -> int:
        """A process that waits for `go`, and ends with 0 once all is done, 1 where the store refuses something.

        most: bytes to which it may have a file grow.
        """
        inner, outer = os.pipe()
        pid = os.fork()
        if pid:
            os.close(inner)
            self._doors[pid] = outer
            return pid
        os.close(outer)
        os.read(inner, 1)
        if most:
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
        code = 2
        try:
            store = DeltaStore(place) if isinstance(place, str) else store_by(place, {})
            for command in commands:
                run(store, command)
            code = 0
        except StoreError as error:
            code = 1
            print(error, file=sys.stderr, flush=True)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)

    def go(self, *pids: int) -> None:
        for pid in pids:
            os.write(self._doors[pid], b"1")

    def wait(self, pid: int) -> int:
        """With what it ended; -9 where it was killed."""
        os.close(self._doors.pop(pid))
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def main(kind: str, *arguments: str) -> None:
    without_environment()
    service = {"s3": Service, "writer": Writer, "nursery": Nursery}[kind](*arguments)
    for line in sys.stdin:
        what, arguments, named = json.loads(line)
        print(json.dumps(getattr(service, what)(*arguments, **named)), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
