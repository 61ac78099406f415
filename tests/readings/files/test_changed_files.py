"""Files of a listing that are gone, come back, are written again, or have a folder in their place; and by which clock that is told."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from data_skip import MinMax, ValueList
from data_skip.building import recent
from data_skip.building.generations import Generations
from data_skip.spark.janino import load
from data_skip.spark.jvm import SOURCES
from data_skip.store import FileKey
from data_skip.store.layout import keys_of
from tests.readings.files.support import add_generation
from tests.support import Lake, settings_of
from tests.test_snapshots import values


def test_of_csv_too_a_file_that_is_skipped_may_be_gone(lake: Lake) -> None:
    """Of all files the sizes are asked, to tell whether files would be cut otherwise."""
    gone = lake.lines("a.csv", "1")
    lake.lines("b.csv", "9")
    frame = lake.index(MinMax("x"), format="csv", schema="x INT").read("snapshot").where("x = 9")
    gone.unlink()
    assert frame.count() == 1


def test_two_versions_of_a_file_are_read_once(lake: Lake) -> None:
    """As refreshes at one time may leave it, of which one listed the file before it was written again, the other after."""
    lake.file("a.parquet", {"x": [1]})
    table = lake.index(MinMax("x"))
    add_generation(table, -5000, 0)
    assert table.read("snapshot").count() == 1 and table.read("snapshot").where("x = 1").count() == 1


def test_a_folder_in_place_of_a_file_is_no_file(lake: Lake) -> None:
    path = lake.file("b.parquet", {"x": [1]})
    lake.file("a.parquet", {"x": [2]})
    table = lake.index(MinMax("x"))
    frame = table.read("snapshot")
    replace_by_folder(path)
    with pytest.raises((PySparkException, Py4JJavaError), match=r"b\.parquet is gone, .* Table\.refresh\(\)"):
        frame.collect()


def replace_by_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def test_what_is_asked_of_a_changed_file_is_as_it_is_now(lake: Lake) -> None:
    path = lake.file("a.parquet", {"x": [1]})
    lake.file("b.parquet", {"x": [2]})
    frame = lake.index(MinMax("x")).read("snapshot")
    lake.file("a.parquet", {"x": [1, 5, 6]})
    state = path.stat()
    for where in (
        f"_metadata.file_size = {state.st_size}",
        f"_metadata.file_modification_time = TIMESTAMP_MILLIS({state.st_mtime_ns // 1_000_000})",
        f"_metadata.file_name = 'a.parquet' AND _metadata.file_size = {state.st_size}",
    ):
        assert frame.where(where).count() == 3, where


def test_a_missing_file_is_ignored_by_an_option(lake: Lake) -> None:
    path = lake.file("b.parquet", {"x": [1]})
    lake.file("a.parquet", {"x": [2]})
    lake.index(MinMax("x"))
    frame = lake.table(format="parquet", options={"IGNOREmissingFiles": "TRUE"}).read("snapshot")
    path.unlink()
    assert [row.x for row in frame.collect()] == [2]


def test_a_changed_file_may_be_cut_otherwise(lake: Lake) -> None:
    """Of the version in the index it is known that it gives the same rows, however it is cut."""
    lake.text("a.csv", "x,1\n" * 1_250)
    lake.text("b.csv", "y,2\n" * 3_750)
    schema = "a string, s string"
    frame = lake.index(ValueList("a"), format="csv", schema=schema).read("snapshot").where("a = 'x'")
    with settings_of(lake.spark, {"spark.sql.files.minPartitionNum": "2", "spark.sql.files.openCostInBytes": str(1 << 10)}):
        assert frame.where("true").count() == 1_250
        assert [scan.files_read for scan in lake.skipping.report().scans] == [1]
        marked = "\ufeffx,1\n" * 1_250  # in the first line of a part the mark is none
        lake.text("a.csv", marked)
        plain = lake.spark.read.csv(str(lake.folder), schema).where("a = 'x'")
        with lake.skipping.disabled():
            expected = plain.count()
        assert frame.where("true").count() == expected
        assert [scan.files_read for scan in lake.skipping.report().scans] == [2]


def test_files_that_are_asked_for_at_once(lake: Lake) -> None:
    """As those of an object store are; a path without a scheme is of whatever file system is the default."""
    paths = [lake.file(f"{i}.parquet", {"x": list(range(10**i))}) for i in range(4)]
    gateway: Any = lake.spark.sparkContext._gateway
    java = gateway.jvm
    files_now = load(gateway, "data_skip", SOURCES).getClassLoader().loadClass("data_skip.FilesNow")
    (of,) = (method for method in files_now.getMethods() if method.getName() == "of")
    asked = java.java.util.ArrayList()
    for path in (*paths, lake.folder / "gone", lake.folder):
        asked.add(java.org.apache.hadoop.fs.Path(str(path)))
    values = gateway.new_array(java.Object, 2)
    values[0], values[1] = asked, java.org.apache.hadoop.conf.Configuration()
    found = of.invoke(None, values)
    assert [None if file is None else file.getLen() for file in found] == [*(path.stat().st_size for path in paths), None, None]


def test_a_file_that_is_back_again_and_again() -> None:
    file = FileKey("a", 1, 1)
    known = Generations.of(None)
    for generation in range(6):
        listed = keys_of([file] if generation % 2 == 0 else [])
        changes = known.changes(listed, lambda gone: np.zeros(len(gone), dtype=bool))
        assert (changes.keys.to_pylist(), changes.numbers.tolist()) == ([file._asdict()], [generation])
        known = known.changed_by(changes)
        assert len(known.changes(listed, lambda gone: np.zeros(len(gone), dtype=bool))) == 0


def test_a_file_that_is_gone_is_told_without_a_look_at_the_others(lake: Lake) -> None:
    """The error named the first file of the table that was gone, whether or not the query would read it; and each file was asked for."""
    for i in range(4):
        lake.file(f"p={i}/{i}.parquet", {"x": [i]})
    known = lake.index(MinMax("x")).read("snapshot")
    for i in (1, 2):
        (lake.folder / f"p={i}/{i}.parquet").unlink()
    with pytest.raises(Py4JJavaError, match=r"p=2/2\.parquet is gone, and stands in version"):
        known.where("x = 2").collect()
    assert values(known.where("x = 3")) == [3]


def test_folders_on_file_systems_whose_clocks_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that tells no more than seconds beside one that tells more: a file there may be written again in the second of its time."""
    slept: list[float] = []
    monkeypatch.setattr(recent, "sleep", slept.append)
    now = time.time() // 1000 * 1000 * 1000 + 500
    files = keys_of([FileKey("s3://p=1/a", 1, int(now - 500)), FileKey("s3://p=2/a", 1, int(now - 99))])
    assert recent.too_recent(files, now).tolist() == [True, False]
    recent.let_clocks_pass(files, now)
    assert slept == [1.0]


def test_a_time_of_whole_seconds_by_a_clock_that_tells_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One file in a thousand that is written has such a time; a local file system tells what comes after the milliseconds."""
    slept: list[float] = []
    monkeypatch.setattr(recent, "sleep", slept.append)
    second = time.time_ns() // 1_000_000_000 * 1_000_000_000
    for name, moment in {"fine": second + 12_345, "coarse": second}.items():
        (tmp_path / name).touch()
        os.utime(tmp_path / name, ns=(moment, moment))
    fine, coarse = (keys_of([FileKey(f"file:{tmp_path}/{name}", 0, second // 1_000_000)]) for name in ("fine", "coarse"))
    now = second / 1_000_000 + 500
    assert [recent.too_recent(one, now).tolist() for one in (fine, coarse)] == [[False], [True]]
    for one in (fine, coarse):
        recent.let_clocks_pass(one, now)
    assert slept == [0.01, 1.0]


def test_clocks_that_are_hours_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of a store whose clock tells seconds, and is that of another zone, may be written again in the second of its listing."""
    slept: list[float] = []
    monkeypatch.setattr(recent, "sleep", slept.append)
    now = time.time() * 1000
    for hours in (2, -14):
        recent.let_clocks_pass(keys_of([FileKey("s3://a", 1, int(now - hours * 3_600_000) // 1000 * 1000)]), now)
    assert slept == [1.0, 1.0]


def test_files_of_before_1970(lake: Lake) -> None:
    """Their times were rounded up, where Spark's listing rounds them down: they were never skipped."""
    os.utime(lake.file("a.parquet", {"x": [1]}), ns=(-1_500_000, -1_500_000))
    lake.index(MinMax("x"))
    lake.view()
    lake.check("x = 2", read=[])
