"""A standalone cluster on this machine: a master and workers, each a process, on ports of the loopback that are free."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyspark

_SECONDS = 60
_EXECUTOR = b"CoarseGrainedExecutorBackend"


@contextmanager
def standalone(folder: Path, workers: int) -> Iterator[str]:
    """Within, the URL of its master. folder: for logs, and what executors write."""
    with ExitStack() as running:
        master = running.enter_context(_daemon("master.Master", folder / "master.log", "--webui-port", "0"))
        url = _told(master, r"(spark://\S+:\d+)")
        for i in range(workers):
            place = folder / f"worker{i}"
            options = ("--cores", "1", "--memory", "1g", "--webui-port", "0", "--work-dir", str(place), url)
            _told(
                running.enter_context(_daemon("worker.Worker", folder / f"worker{i}.log", *options)), "Successfully registered with master"
            )
        yield url


@contextmanager
def _daemon(name: str, log: Path, *options: str) -> Iterator[Path]:
    command = [f"{Path(pyspark.__file__).parent}/bin/spark-class", f"org.apache.spark.deploy.{name}", "--host", "127.0.0.1", "--port", "0"]
    with log.open("wb") as out:
        process = subprocess.Popen([*command, *options], stdout=out, stderr=out, start_new_session=True)
    try:
        yield log
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _told(log: Path, pattern: str) -> str:
    """What a daemon says of itself once it runs."""
    end = time.monotonic() + _SECONDS
    while time.monotonic() < end:
        if found := re.search(pattern, log.read_text()):
            return found[0]
        time.sleep(0.2)
    raise TimeoutError(f"{pattern} is not said:\n{log.read_text()[-2000:]}")


def kill_an_executor(application: str) -> bool:
    """Kills one executor of an application at once, as a machine that fails; whether there was one."""
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0") if entry.name.isdigit() else []
        except OSError:
            continue
        if application.encode() in words and any(word.endswith(_EXECUTOR) for word in words):
            os.kill(int(entry.name), signal.SIGKILL)
            return True
    return False
