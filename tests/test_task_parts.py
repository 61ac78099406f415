"""Large records stay where tasks have made them: in files of the index, which the driver commits by their names."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from data_skip import Index, MinMax, ValueList
from data_skip.building import chunks, indexing, task_parts
from data_skip.building.collect import Collected
from data_skip.building.task_parts import TaskParts
from data_skip.store import DeltaStore
from tests.support import Lake

FILES = 8


@pytest.fixture
def large(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> Lake:
    """Files whose records are taken for large ones: the first two are collected by the driver, then as many, and then the rest."""
    monkeypatch.setattr(chunks, "FIRST", 2)
    monkeypatch.setattr(chunks, "_MOST_BYTES", 2_500)
    for i in range(FILES):
        lake.file(f"{i}.parquet", {"s": [f"a long text {i} {j}" for j in range(50)], "x": [i, *[i + 0.5] * 49]})
    return lake


def indexed(lake: Lake, *indexes: Index) -> None:
    report = lake.table().create_index(*(indexes or (ValueList("s"), MinMax("x"))))
    assert (report.files_collected, report.rows) == (FILES, 50 * FILES)
    lake.view()


def written_by_tasks(lake: Lake) -> int:
    """The rows of those files of the index that tasks have written and a commit names."""
    place = Path(lake.table().describe().location)
    log = "".join(path.read_text() for path in (place / "_delta_log").glob("*.json"))
    footers = [pq.read_metadata(path) for path in place.glob("*.parquet") if path.name in log]
    return sum(footer.num_rows for footer in footers if footer.created_by.startswith("parquet-cpp-arrow"))


def check(lake: Lake, text: str = "s") -> None:
    for i in (0, 5, FILES - 1):
        lake.check(f"{text} = 'a long text {i} 7'", read=[f"{i}.parquet"])
    check_all_collected(lake)


def check_all_collected(lake: Lake) -> None:
    report = lake.table().refresh()
    assert (report.files_collected, report.files_current) == (0, FILES)


def test_tasks_that_read_files_write_parts(large: Lake) -> None:
    indexed(large)
    assert written_by_tasks(large) == FILES - 2
    assert len(large.table().history()) == 1 + 3, "2, 2 and 4 files"
    large.check("x = 6", read=["6.parquet"])
    large.check("x = 6.5", read=["6.parquet"])
    check(large)


def test_tasks_that_spark_reads_for_write_parts(large: Lake) -> None:
    indexed(large, ValueList("concat(s, '')"))
    assert written_by_tasks(large) == FILES - 2
    check(large, text="concat(s, '')")


def test_parts_are_compacted(large: Lake) -> None:
    indexed(large)
    large.table().compact()
    assert len(large.table().history()) == 5
    check(large)


def stored(lake: Lake) -> pa.Table:
    snapshot = lake.table()._store.snapshot()
    assert snapshot is not None
    return snapshot.to_arrow().sort_by("path").combine_chunks()


def test_parts_have_records_of_all_types(large: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same ones as the driver writes."""
    sql = ["CAST(x AS DECIMAL(20, 3))", "CAST('2024-01-01' AS DATE) + CAST(x AS INT)", "CAST(s AS BINARY)", "x > 3", "TIMESTAMP_SECONDS(x)"]
    indexes = [MinMax(one) for one in sql] + [ValueList(one) for one in sql]
    indexed(large, *indexes)
    assert written_by_tasks(large) == FILES - 2
    for where in (f"{sql[0]} = 5", f"{sql[1]} = DATE '2024-01-06'", f"{sql[2]} = CAST('a long text 5 7' AS BINARY)"):
        assert 0 < large.check(where).files_read < 3
    large.check(f"{sql[4]} = TIMESTAMP_SECONDS(5)", read=["5.parquet"])
    before = stored(large)
    large.table().drop_index(*indexes)
    monkeypatch.undo()
    large.index(*indexes)
    assert stored(large).equals(before)


def collecting(monkeypatch: pytest.MonkeyPatch, meanwhile: Callable[[dict[int, Collected]], None]) -> None:
    """What happens once files have been collected, and before that is committed."""
    run = indexing.collect_files

    def collect_files(*arguments: Any) -> Any:
        found = run(*arguments)
        meanwhile(found)
        return found

    monkeypatch.setattr(indexing, "collect_files", collect_files)


def test_files_that_change_meanwhile(large: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """The others' records are read back."""

    def change(found: dict[int, Collected]) -> None:
        if any(file.part for file in found.values()):
            large.file("7.parquet", {"s": ["changed"], "x": [100.0]})

    collecting(monkeypatch, change)
    report = large.table().create_index(ValueList("s"))
    assert report.files_too_recent == 1
    large.view()
    for i in (0, 5):
        large.check(f"s = 'a long text {i} 7'", read=[f"{i}.parquet", "7.parquet"])
    large.check("s = 'changed'", read=["7.parquet"])


@pytest.mark.parametrize("one", [False, True])
def test_files_of_which_is_found_later_that_they_are_refused(large: Lake, monkeypatch: pytest.MonkeyPatch, one: bool) -> None:
    """One alone: the other records of its part are read back, and committed beside the parts that are as they were."""

    def refuse(found: dict[int, Collected]) -> None:
        for file in [file for file in found.values() if file.part][: 1 if one else FILES]:
            file.refused = True

    collecting(monkeypatch, refuse)
    report = large.table().create_index(ValueList("s"))
    assert (report.files_collected, report.files_refused) == (FILES, 2 if one else FILES - 2)
    assert written_by_tasks(large) == (FILES - 2 if one else 0)
    assert report.files_refused <= large.check("s = 'a long text 0 7'").files_read <= report.files_refused + 1
    check_all_collected(large)


@pytest.mark.parametrize("what", ["dropped", "of another table", "late", "elsewhere", "vanished"])
def test_what_cannot_be_committed_as_it_was_written(large: Lake, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    """Records are read back, or collected by the driver: each way all are there in the end."""
    other = large.skipping.table(str(large.folder))

    def meanwhile(found: dict[int, Collected]) -> None:
        parts = {file.part for file in found.values() if file.part}
        if collected or not parts:
            return
        collected.append(len(found))
        if what == "dropped":
            other.drop_index(MinMax("x"))
        elif what == "late":
            monkeypatch.setattr(task_parts, "_SECONDS", -1.0)
            other.compact()
        elif what == "of another table":
            monkeypatch.setattr(TaskParts, "fit", lambda *_: False)
        elif what == "vanished":
            for part in parts:
                os.unlink(f"{other.describe().location}/{part.name}")

    collected: list[int] = []
    collecting(monkeypatch, meanwhile)
    if what == "elsewhere":
        monkeypatch.setattr(TaskParts, "are_there", lambda *_: False)
    table = large.table()
    report = table.create_index(ValueList("s"), MinMax("x"))
    assert report.files_collected == FILES
    assert collected
    large.view()
    check(large)
    if what != "dropped":
        large.check("x = 6", read=["6.parquet"])


def test_where_tasks_cannot_write(large: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where they have no right to: the driver is sent the records."""
    on = TaskParts.on

    def nowhere(*arguments: Any) -> TaskParts | None:
        found = on(*arguments)
        assert found is not None
        return replace(found, location=f"{found.location}/nowhere")

    monkeypatch.setattr(TaskParts, "on", nowhere)
    indexed(large)
    assert (written_by_tasks(large), len(large.table().history())) == (0, 1 + 4)
    check(large)


@pytest.mark.parametrize("what", ["vacuumed", "being vacuumed", "put back", "made anew", "not cast"])
def test_parts_that_are_lost_once_they_were_seen(large: Lake, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    """All is collected again. An index would be left that names files which are not there; or the command would fail, as it did not before.

    Vacuumed: this machine slept for two hours before it commits, which counts as no time, and another one has called them left behind.
    """
    other, on, are_there, written = large.skipping.table(str(large.folder)), TaskParts.on, TaskParts.are_there, TaskParts._written
    done: list[str] = []
    lost: list[Path] = []

    def place() -> Path:
        return Path(other.describe().location)

    def earlier(*paths: Path) -> None:
        for path in paths:
            os.utime(path, (time.time() - 7200, time.time() - 7200))

    def begun(*arguments: Any) -> TaskParts | None:
        if not done:
            earlier(*place().glob("_delta_log/*"))
            shutil.copytree(place(), large.folder.parent / "copy")
        return on(*arguments)

    def seen(parts: TaskParts, found: Any) -> bool:
        files = [*found]
        names = {file.part.name for file in files if file.part}
        if not are_there(parts, files) or done or not names:
            return False
        done.append(what)
        if "vacuumed" in what:
            earlier(*(place() / name for name in names))
            with monkeypatch.context() as patched:
                if what == "being vacuumed":
                    patched.setattr(DeltaStore, "_delete", lambda *_: None)
                assert names <= set(other.vacuum(1))
            lost.extend(place() / name for name in names)
        elif what == "not cast":
            files[0].refused = True
            monkeypatch.setattr(TaskParts, "_written", lambda *_: written(*_) if not done else pa.array(["x"]).cast(pa.int64()))
        else:
            folder = place()
            shutil.rmtree(folder)
            if what == "put back":
                shutil.move(large.folder.parent / "copy", folder)
            else:
                large.skipping.table(str(large.folder)).create_index(ValueList("s"), files_per_commit=1)
        return True

    monkeypatch.setattr(TaskParts, "on", begun)
    monkeypatch.setattr(TaskParts, "are_there", seen)
    report = large.table().create_index(ValueList("s"))
    assert done
    for path in lost:
        path.unlink(missing_ok=True)
    assert report.files_collected == FILES
    other._store.look_again()
    large.view()
    check(large)


def test_no_more_is_read_back_than_the_driver_can_hold(large: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a table that is written to, some file of each part may have changed: that were all records which tasks collect in ten minutes."""
    at_a_time: list[int] = []

    def refuse(found: dict[int, Collected]) -> None:
        at_a_time.append(len(found))
        if len(found) == 4:
            next(iter(found.values())).refused = True

    collecting(monkeypatch, refuse)
    monkeypatch.setattr(task_parts, "_READ_BACK", 0)
    indexed(large)
    assert at_a_time[:3] == [2, 2, 4]
    assert sum(at_a_time[3:]) == 4 and max(at_a_time[3:]) <= 2
    assert written_by_tasks(large) == 2
    check(large)
