"""The contract `snapshot`: the files of a table are those of its index's last version."""

from __future__ import annotations

import os
import random
import threading
from collections.abc import Callable
from pathlib import Path
from unittest.mock import Mock

import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame

from data_skip import DataSkipError, MinMax
from data_skip.planning import bounded
from data_skip.store import StoreError
from data_skip.table import Table
from tests.support import Lake, rows_of, settings_of

WHERE = "x BETWEEN 20 AND 29 OR p = 'b' AND x > 95"


@pytest.fixture
def made(lake: Lake) -> Table:
    for i in range(10):
        lake.file(f"p={'ab'[i % 2]}/{i}.parquet", {"x": list(range(10 * i, 10 * i + 10)), "s": [f"{i}"] * 10})
    return lake.index(MinMax("x"))


def values(frame: DataFrame) -> list[int]:
    return sorted(row.x for row in frame.select("x").collect())


def files_read(lake: Lake) -> int:
    (scan,) = lake.skipping.report().scans
    assert scan.contract.startswith("snapshot "), scan
    return scan.files_read


def test_skips_and_gives_the_rows_of_a_listing(lake: Lake, made: Table) -> None:
    frame = made.read("snapshot")
    listed = lake.view()
    assert frame.schema == listed.schema
    for where in (WHERE, "p = 'a'", "p > 'a' AND x < 12", "x < 0", "true", "p = 'a' AND s = '4'", "p || s = 'b3' OR x = 4"):
        assert rows_of(frame.where(where)) == rows_of(listed.where(where)), where
    assert values(frame.where(WHERE)) == [*range(20, 30), 96, 97, 98, 99]
    assert files_read(lake) == 2
    assert frame.count() == 100


def test_the_contract_is_told(lake: Lake, made: Table) -> None:
    frame = lake.skipping.read(made.root).where("x = 42")
    assert values(frame) == [42]
    version = made.describe().version
    assert f"contract snapshot {version}: files as of that version of its index" in str(lake.skipping.report())
    plan = _explained(frame)
    assert f"snapshot: the files of version {version} of the index" in plan
    assert "skipping: MinMax(x) admits (x = 42L)" in plan
    made.read().where("x = 42").collect()
    assert ", contract" not in str(lake.skipping.report())


def _explained(frame: DataFrame) -> str:
    return str(frame.sparkSession._jvm.PythonSQLUtils.explainString(frame._jdf.queryExecution(), "formatted"))


def test_new_files_are_seen_after_refresh(lake: Lake, made: Table) -> None:
    frame = made.read("snapshot")
    lake.file("p=c/new.parquet", {"x": [42, 1000], "s": ["n", "n"]})
    assert values(frame.where("x = 42")) == [42]
    assert values(made.read().where("x = 42")) == [42, 42]
    made.refresh()
    assert values(frame.where("x = 42")) == [42, 42]
    assert files_read(lake) == 2
    assert values(frame.where("p = 'c'")) == [42, 1000]


def test_an_index_is_never_older_than_asked_for(lake: Lake, made: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(bounded, "now", lambda: now)
    frame = made.read("bounded(60)").where("x >= 1000")
    assert values(frame) == []

    def later(seconds: float) -> list[int]:
        nonlocal now
        now += seconds
        return values(frame.where("true"))

    lake.file("p=a/1000.parquet", {"x": [1000], "s": ["n"]})
    assert later(29) == []
    assert "contract bounded(60) 1" in str(lake.skipping.report())
    assert later(62) == [1000]  # 91 s old: waited for
    lake.file("p=a/1001.parquet", {"x": [1001], "s": ["n"]})
    assert later(50) == [1000]  # refreshed meanwhile
    for thread in threading.enumerate():
        if thread.name == "data-skip refresh":
            thread.join()
    assert later(0) == [1000, 1001]
    monkeypatch.setattr(made._store, "append_as_of", Mock(side_effect=StoreError("disk full")))
    lake.file("p=a/1002.parquet", {"x": [1002], "s": ["n"]})
    with pytest.raises(Exception, match="older than 60 s and cannot be refreshed: disk full; read the table without freshness='bounded"):
        later(121)
    monkeypatch.undo()
    monkeypatch.setattr(bounded, "now", lambda: now)
    assert later(121) == [1000, 1001, 1002]


def test_a_file_that_is_too_young_to_be_collected_is_of_the_table(lake: Lake, made: Table) -> None:
    frame = made.read("snapshot")
    path = lake.file("p=a/0.parquet", {"x": [42, 1000], "s": ["n", "n"]})
    path.touch()
    assert made.refresh().files_too_recent in (0, 1)  # the file may have grown old enough
    assert values(frame.where("x IN (0, 42)")) == [42, 42]


def test_a_file_that_changed_is_read_as_it_is(lake: Lake, made: Table) -> None:
    frame = made.read("snapshot")
    lake.file("p=a/4.parquet", {"x": [7, 40], "s": ["longer than before", "b"]})
    assert values(frame.where("x < 50 AND x >= 40")) == [40]
    assert values(frame.where("x = 7")) == [7]  # not in the file that held none in this version
    made.refresh()
    assert values(frame.where("x = 7")) == [7, 7]
    assert made.describe().files_indexed == 10


def test_a_file_that_is_gone(lake: Lake, made: Table) -> None:
    frame = made.read("snapshot")
    (lake.folder / "p=a/4.parquet").unlink()
    assert values(frame.where("x = 7")) == [7]
    for query in (frame, frame.where("x = 42")):
        with pytest.raises(Exception, match=r"p=a/4\.parquet is gone, .* Table\.refresh\(\)"):
            query.collect()
    lake.spark.conf.set("spark.sql.files.ignoreMissingFiles", "true")
    try:
        assert values(frame.where("x IN (42, 50)")) == [50]
    finally:
        lake.spark.conf.unset("spark.sql.files.ignoreMissingFiles")
    made.refresh()
    assert frame.count() == 90
    assert values(frame.where("x IN (42, 50)")) == [50]


def test_a_refresh_of_a_part_leaves_the_rest(lake: Lake, made: Table) -> None:
    lake.skipping.table(made.root, options={"pathGlobFilter": "[0-4].parquet"}).refresh()
    assert made.read("snapshot").count() == 100


@pytest.mark.parametrize("options", [{"pathGlobFilter": "[0-4].parquet"}, {"modifiedAfter": "2100-01-01T00:00:00"}])
def test_an_index_that_was_made_of_a_part_lists_the_rest(lake: Lake, options: dict[str, str]) -> None:
    """Files that an option leaves out were none of the table's, to all who did not name it."""
    for i in range(10):
        lake.file(f"p={'ab'[i % 2]}/{i}.parquet", {"x": list(range(10 * i, 10 * i + 10))})
    if "modifiedAfter" in options:
        for i in range(5):
            os.utime(lake.folder / f"p={'ab'[i % 2]}/{i}.parquet", (4_200_000_000, 4_200_000_000))
    lake.skipping.table(str(lake.folder), format="parquet", options=options).create_index(MinMax("x"))
    with settings_of(lake.spark, {"spark.data_skip.freshness": "snapshot"}):
        assert values(lake.spark.read.parquet(str(lake.folder)).where("x IN (42, 77)")) == [42, 77]
    assert files_read(lake) == 6  # of which nothing is known, and the one with 42
    lake.file("p=a/new.parquet", {"x": [77]})
    table = lake.skipping.table(str(lake.folder), format="parquet", options=options)
    table.refresh()  # sees what it leaves out, too
    assert values(lake.skipping.read(str(lake.folder), "snapshot").where("x = 77")) == [77, 77]
    lake.skipping.table(str(lake.folder)).refresh()
    assert values(lake.skipping.read(str(lake.folder), "snapshot").where("x = 77")) == [77, 77]
    assert files_read(lake) == 2


def test_without_skipping(lake: Lake, made: Table) -> None:
    frame = made.read("snapshot")
    with lake.skipping.disabled():
        assert values(frame.where("x = 42")) == [42]


def test_small_sides_are_not_run_of_files_that_may_change(lake: Lake, made: Table) -> None:
    keys = made.read("snapshot").where("x = 42").select("x")
    assert values(lake.view().join(keys, "x")) == [42]
    assert "reads another source than a fixed list of files" in str(lake.skipping.report())


def test_what_is_refused(lake: Lake, made: Table) -> None:
    for freshness in (None, 60):
        with pytest.raises(DataSkipError, match=f"freshness={freshness} is no contract"):
            made.read(freshness)  # type: ignore[arg-type]
    with pytest.raises(DataSkipError, match="freshness='newest' is no contract"):
        made.read("newest")
    with pytest.raises(DataSkipError, match="pathGlobFilter chooses files"):
        lake.skipping.table(made.root, options={"pathGlobFilter": "a*"}).read("snapshot")
    with pytest.raises(DataSkipError, match=r"give schema="):
        lake.skipping.table(made.root, format="json", schema=None).read("snapshot")
    frame = made.read("snapshot")
    made.drop_index(MinMax("x"))
    with pytest.raises(Exception, match="all indexes of the table were dropped; read the table without freshness='snapshot'"):
        frame.collect()
    with pytest.raises(DataSkipError, match=r"no index .* create_index"):
        made.read("snapshot")
    with pytest.raises(DataSkipError, match="no index"):
        lake.skipping.read(lake.file("other/a.parquet", {"x": [1]}).parent)


def test_any_order_of_changes(lake: Lake, made: Table) -> None:
    """What other processes do to the files is seen as of the last refresh, whatever happened between any two steps."""
    draw = random.Random(7)
    frame = made.read("snapshot")
    of_last = contents(lake.folder)

    def write() -> None:
        i = draw.randrange(12)
        start = draw.randrange(100)
        lake.file(f"p={draw.choice('abc')}/{i}.parquet", {"x": list(range(start, start + 10)), "s": ["w"] * draw.randrange(10, 11)})

    def remove() -> None:
        files = sorted(lake.folder.glob("p=*/*.parquet"))
        if len(files) > 1:
            draw.choice(files).unlink()

    for _ in range(12):
        steps: list[Callable[[], None]] = [write, remove]
        for _ in range(draw.randrange(3)):
            draw.choice(steps)()
        if draw.random() < 0.6:
            made.refresh()
            of_last = contents(lake.folder)
        now = contents(lake.folder)
        if any(of_last[name] != now.get(name) for name in of_last):
            continue  # what a query then gives depends on which files it reads
        start = draw.randrange(100)
        expected = sorted(x for values in of_last.values() for x in values if start <= x < start + 15)
        assert values(frame.where(f"x >= {start} AND x < {start + 15}")) == expected
        assert files_read(lake) <= sum(any(start - 10 <= x < start + 15 for x in found) for found in of_last.values())


def contents(folder: Path) -> dict[str, list[int]]:
    return {str(path.relative_to(folder)): pq.ParquetFile(path).read(["x"])["x"].to_pylist() for path in folder.glob("p=*/*.parquet")}
