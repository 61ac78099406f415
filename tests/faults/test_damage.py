"""A store on a full disk, in a folder that may not be written, and whose files are cut, swapped, deleted, foreign or of a later layout."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from data_skip.store import DeltaStore, StoreError, delta
from tests.faults.commands import BEGINNINGS, COMMANDS, State, add, is_done, run, state
from tests.faults.server import Process

pytestmark = pytest.mark.faults


def store_in(folder: Path) -> DeltaStore:
    return DeltaStore(f"file:{folder}/index")


def made(folder: Path, start: str) -> None:
    for name, make in BEGINNINGS if start else []:
        make(store_in(folder))
        if name == start:
            break


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of half a megabyte."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512k", "none", str(folder)], capture_output=True, text=True)
    if mounted.returncode:
        pytest.skip(f"no file system can be mounted here: {mounted.stderr}")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def refused(folder: Path, command: str) -> str:
    try:
        run(store_in(folder), command)
    except StoreError as error:
        return str(error)
    return ""


def holds(folder: Path, command: str, before: State, said: str) -> None:
    """What was refused is not there, or not known to be refused; what was acknowledged is."""
    found = state(store_in(folder))
    is_as_before = found == before or not found.indexes
    if not said:
        assert is_done(command, found), (command, found)
    else:
        assert is_as_before or ("may have been" in said and is_done(command, found)), (command, said, found)
        assert "index_root" in said, said


@pytest.mark.parametrize("command", COMMANDS)
def test_full_disk(small_disk: Path, command: str) -> None:
    """With so many kilobytes left; once there is room again, all goes on."""
    outcomes = set()
    for left in range(0, 44, 4):
        made(small_disk, COMMANDS[command].start)
        before = state(store_in(small_disk))
        filling = small_disk / "filling"
        free = os.statvfs(small_disk)
        filling.write_bytes(b"0" * max(0, free.f_bavail * free.f_frsize - left * 1024))
        said = refused(small_disk, command)
        outcomes.add(bool(said))
        holds(small_disk, command, before, said)
        filling.unlink()
        run(store_in(small_disk), command)
        assert is_done(command, state(store_in(small_disk)))
        shutil.rmtree(small_disk / "index")
    assert outcomes == {False, True}


@pytest.mark.parametrize("command", COMMANDS)
def test_files_that_may_not_grow(tmp_path: Path, nursery: Process, command: str) -> None:
    """Of a quota, beyond so many bytes a file."""
    ended = set()
    for most in (1, 500, 1000, 2000, 3000, 5000, 100_000):
        made(tmp_path, COMMANDS[command].start)
        before = state(store_in(tmp_path))
        pid = nursery.ask("fork", f"file:{tmp_path}/index", [command], most)
        nursery.ask("go", pid)
        code = nursery.ask("wait", pid)
        ended.add(code)
        holds(tmp_path, command, before, "may have been written or not; index_root" if code else "")
        run(store_in(tmp_path), command)
        assert is_done(command, state(store_in(tmp_path)))
        shutil.rmtree(tmp_path / "index")
    assert ended == {0, 1}


@pytest.mark.parametrize("command", COMMANDS)
def test_read_only_folder(small_disk: Path, command: str) -> None:
    made(small_disk, COMMANDS[command].start)
    before = state(store_in(small_disk))
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    said = refused(small_disk, command)
    assert "cannot be written" in said and "index_root" in said
    assert state(store_in(small_disk)) == before


def damages(folder: Path) -> Iterator[tuple[str, Callable[[Path], object]]]:
    """What may happen to each file of a store, as functions of a copy of it."""
    files = sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    for file in files:
        content = (folder / file).read_bytes()
        yield f"{file} is deleted", lambda to, file=file: (to / file).unlink()
        for size in sorted({0, 1, len(content) // 2, len(content) - 1}):
            yield f"{file} is cut to {size}", lambda to, file=file, size=size: os.truncate(to / file, size)
        yield f"{file} is random", lambda to, file=file: (to / file).write_bytes(os.urandom(3000))
        lines = content.split(b"\n") if file.suffix == ".json" else []
        for i in range(len(lines)):
            left = b"\n".join(lines[:i] + lines[i + 1 :])
            yield f"{file} has no line {i}", lambda to, file=file, left=left: (to / file).write_bytes(left)
        for other in files:
            if other.suffix == file.suffix and other != file:
                yield f"{file} is {other}", lambda to, file=file, other=other: shutil.copy(folder / other, to / file)
        if file.suffix == ".json":
            later = content.replace(b'data_skip.layout\\":\\"1', b'data_skip.layout\\":\\"2')
            yield f"{file} is of a later layout", lambda to, file=file, later=later: (to / file).write_bytes(later)
            yield f"{file} is deep", lambda to, file=file: (to / file).write_bytes(b'{"add":' * 5000)
    yield "all records are gone", lambda to: [path.unlink() for path in to.glob("*.parquet")]
    yield "the log is gone", lambda to: shutil.rmtree(to / "_delta_log")
    yield "there is a file in its place", lambda to: (shutil.rmtree(to), to.write_text("mine"))


@pytest.mark.parametrize("checkpoint", [False, True])
def test_damaged_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, checkpoint: bool) -> None:
    """What is read is true, whatever is missing; else the error says what to do. So it is with what is written then."""
    if checkpoint:
        monkeypatch.setitem(delta._CONFIGURATION, "delta.checkpointInterval", "3")
    good = tmp_path / "good"
    made(good, "refreshed")
    run(store_in(good), "compact")
    for files in "d", "e f":
        add(store_in(good), files, "xy", declare=False)
    counts = {"as before": 0, "in part": 0, "refused": 0}
    before = state(store_in(good))
    for i, (what, damage) in enumerate(damages(good / "index")):
        folder = tmp_path / str(i)
        shutil.copytree(good, folder)
        damage(folder / "index")
        for then in ("read", "write", "read"):
            try:
                if then == "write":
                    add(store_in(folder), "q", "x", declare=True)
                else:
                    counts["as before" if state(store_in(folder)) == before else "in part"] += 1
            except StoreError as error:
                counts["refused"] += 1
                assert str(folder) in str(error) and ";" in str(error), (what, then, str(error))
            except BaseException as error:
                raise AssertionError(f"{what}, {then}: {type(error).__name__}: {error}") from error
        shutil.rmtree(folder)
    print(counts)
