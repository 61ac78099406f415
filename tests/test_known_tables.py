"""What Python has said of tables' indexes, the JVM says by itself: until the indexes, or what is known of them, are others."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from data_skip import DataSkipError, MinMax
from data_skip.planning.callback import Callback
from data_skip.store import DeltaStore, Places, StoreError
from tests.support import Lake, rows_of

Read = Callable[[str], tuple[int, int]]


@pytest.fixture
def read(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> Read:
    """How many files a query reads, by its report, whose rows are those without skipping, and how often Python is asked of indexes."""
    asked: list[str] = []
    apply = Callback.apply

    def noted(self: Callback, question: str, java: object) -> str | None:
        asked.append(question.partition("\n")[0])
        return apply(self, question, java)

    monkeypatch.setattr(Callback, "apply", noted)
    for i in range(3):
        lake.file(f"{i}.parquet", {"x": [i], "y": [10 * i]})
    lake.view()

    def read(where: str) -> tuple[int, int]:
        sql = f"SELECT * FROM t WHERE {where}"
        with lake.skipping.disabled():
            expected = rows_of(lake.spark.sql(sql))
        asked.clear()
        assert rows_of(lake.spark.sql(sql)) == expected
        (scan,) = lake.skipping.report().scans
        return scan.files_read, asked.count("indexed")

    return read


def _settled(read: Read, *queries: str) -> None:
    """After these nothing more is found out: as that each file has a value of a column, of which the JVM is told anew."""
    for query in (*queries, *queries):
        read(query)


def _another(lake: Lake) -> DeltaStore:
    """The store, as another process sees it."""
    return DeltaStore(lake.table().describe().location)


def test_a_table_without_an_index_and_with_one(lake: Lake, read: Read) -> None:
    assert read("x = 1") == (3, 1) and read("x = 2") == (3, 0)
    lake.table().create_index(MinMax("x"))
    assert read("x = 1") == (1, 1)
    assert read("y = 10") == (3, 1) and read("y = 20") == (3, 0), "the first learnt that each file has a value of x"
    assert read("x = 2") == (1, 0)
    assert [report.scans[0].files_read for report in lake.skipping.reports()[-4:]] == [1, 3, 3, 1]


def test_what_another_process_commits(lake: Lake, read: Read) -> None:
    lake.index(MinMax("x"), MinMax("y"))
    _settled(read, "x = 1", "y = 10")
    assert read("x = 0") == (1, 0)
    _another(lake).drop("min_max__x")
    assert read("x = 0") == (3, 1) and read("x = 2") == (3, 0)
    assert read("y = 0") == (1, 0)
    _another(lake).compact()
    assert read("y = 20")[0] == 1
    _another(lake).drop("min_max__y")
    assert read("y = 0") == (3, 1) and read("y = 10") == (3, 0)


def test_an_index_that_is_deleted_made_anew_and_moved(lake: Lake, read: Read) -> None:
    table = lake.index(MinMax("x"))
    place = Path(table.describe().location)
    _settled(read, "x = 1")
    assert read("x = 0") == (1, 0)
    shutil.move(place, lake.folder / "_data_skip")  # where it was kept before
    assert read("x = 0") == (1, 1)
    _settled(read, "x = 1")
    assert read("x = 2") == (1, 0)
    lake.skipping.catalog.forget()  # which believed that of the first place
    shutil.rmtree(lake.folder / "_data_skip")
    assert read("x = 0") == (3, 1) and read("x = 2") == (3, 0)
    lake.file("1.parquet", {"x": [7, 1], "y": [1, 1]})
    lake.view()
    read("x = 0")
    lake.table().create_index(MinMax("x"))  # of the same version as the first
    assert read("x = 7")[0] == 1


def test_a_log_that_is_written_anew_under_its_version(lake: Lake, read: Read) -> None:
    """Of the same length and time: what tells it is the file itself."""
    location = lake.index(MinMax("x")).describe().location
    _settled(read, "x = 1")
    assert read("x = 0") == (1, 0)
    last = sorted(Path(location, "_delta_log").glob("*.json"))[-1]
    told, before = last.read_bytes(), last.stat()
    last.unlink()
    last.write_bytes(told)
    os.utime(last, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert read("x = 0") == (1, 1)


def test_a_partition_that_is_given_an_index(lake: Lake, read: Read) -> None:
    """Of what is read the nearest index counts: that of the table no longer, once a folder below it has one."""
    lake.file("p=1/a.parquet", {"x": [1], "y": [1]})
    lake.file("p=1/b.parquet", {"x": [2], "y": [2]})
    lake.index(MinMax("x"))
    part = str(lake.folder / "p=1")
    lake.spark.read.parquet(part).createOrReplaceTempView("t")
    _settled(read, "x = 2")
    assert read("x = 1") == (1, 0) and read("y = 1") == (2, 0)
    with pytest.warns(UserWarning, match="is a partition of a table"):
        lake.skipping.table(part).create_index(MinMax("y"))
    assert read("y = 1") == (1, 1)
    _settled(read, "y = 1")
    assert read("y = 2") == (1, 0)


def test_an_index_that_cannot_be_read(lake: Lake, read: Read) -> None:
    location = Path(lake.index(MinMax("x")).describe().location)
    _settled(read, "x = 1")
    assert read("x = 0") == (1, 0)
    version = sorted(location.glob("_delta_log/*.json"))[-1]
    later = version.with_name(f"{int(version.stem) + 1:020}.json")
    later.write_text("no commit")
    assert read("x = 0") == (3, 1) and read("x = 0") == (3, 1), "each time anew"
    later.unlink()
    assert read("x = 0")[0] == 1
    with pytest.raises(DataSkipError, match="exists already"):
        lake.table().create_index(MinMax("x"))


def test_a_place_that_cannot_be_looked_at(lake: Lake, read: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    """As of a folder that others may not see, before that of the index: it is looked for each time, and files are skipped."""
    lake.index(MinMax("x"))

    def watched(self: Places, snapshot: object) -> None:
        raise StoreError("no")

    monkeypatch.setattr(Places, "watched", watched)
    _settled(read, "x = 1")
    assert read("x = 0") == (1, 1) and read("x = 2") == (1, 1)
