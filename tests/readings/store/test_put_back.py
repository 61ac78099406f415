"""The fifty-second reading: tables that are renamed, and indexes that are deleted, or put back from a copy, while they are written."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from data_skip import DataSkipError, MinMax, Table, ValueList
from data_skip.building.index_report import IndexReport
from data_skip.planning import bounded
from data_skip.planning.catalog import Catalog
from data_skip.spark.object_stores import ObjectStores
from data_skip.store import DeltaStore, StoreError, delta, left_behind
from tests.readings.store.test_left_behind import before
from tests.support import Lake
from tests.test_store import column, key, known, records


def another(lake: Lake, **read: Any) -> Table:
    """The table, as another session knows it."""
    catalog = Catalog(None, ObjectStores(lake.spark))
    return Table.open(
        lake.spark, lake.skipping.jvm, catalog, str(lake.folder), read.get("format"), read.get("schema"), read.get("options", {})
    )


def passing(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Once what it gives is called, all that is bounded is too old."""
    moment = 0.0
    monkeypatch.setattr(bounded, "now", lambda: moment)

    def passes() -> None:
        nonlocal moment
        moment += 10_000

    return passes


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    return passing(monkeypatch)


def xs(frame: Any) -> list[int]:
    return sorted(row.x for row in frame.collect())


@pytest.fixture
def in_catalog(lake: Lake) -> Any:
    """A table of the catalog is renamed, and another one is given its name."""
    lake.file("a.parquet", {"x": [1]})
    lake.index(MinMax("x"))
    spark = lake.spark
    spark.sql(f"CREATE TABLE was_first (x BIGINT) USING parquet LOCATION '{lake.folder}'")
    yield lambda: spark.sql("ALTER TABLE was_first RENAME TO was_renamed")
    for name in ("was_first", "was_renamed"):
        spark.sql(f"DROP TABLE IF EXISTS {name}")


def test_another_table_of_the_name(lake: Lake, in_catalog: Callable[[], None], clock: Callable[[], None], tmp_path: Path) -> None:
    """It was refreshed in place of the one that is read, which stayed as it was."""
    assert xs(lake.skipping.table("was_first").read("bounded(5)")) == [1]
    in_catalog()
    lake.spark.range(100, 101).toDF("x").write.parquet(f"{tmp_path}/new")
    lake.skipping.table(f"{tmp_path}/new").create_index(MinMax("x"))
    lake.spark.sql(f"CREATE TABLE was_first (x BIGINT) USING parquet LOCATION '{tmp_path}/new'")
    lake.file("b.parquet", {"x": [2]})
    clock()
    assert xs(lake.skipping.table("was_renamed").read("bounded(5)")) == [1, 2]
    lake.file("c.parquet", {"x": [3]})
    clock()
    assert xs(lake.table().read("bounded(5)")) == [1, 2, 3]


def test_a_table_that_was_renamed(lake: Lake, in_catalog: Callable[[], None], clock: Callable[[], None]) -> None:
    """Those who read it by its path, or by its name of now, could not refresh it."""
    assert xs(lake.skipping.table("was_first").read("bounded(5)")) == [1]
    frame = lake.table().read("bounded(5)")
    in_catalog()
    lake.file("b.parquet", {"x": [2]})
    clock()
    assert xs(frame.select("x")) == [1, 2]
    lake.file("c.parquet", {"x": [3]})
    clock()
    assert xs(lake.skipping.table("was_renamed").read("bounded(5)")) == [1, 2, 3]


def test_by_whom_an_index_is_refreshed(clock: Callable[[], None]) -> None:
    """By who did so last, where that fails by the others, and where all fail the query is told why."""
    index, asked, gone = bounded.Bounded(5), [], {"first"}

    def by(name: str) -> Callable[[], IndexReport]:
        def refresh() -> IndexReport:
            asked.append(name)
            if name in gone:
                raise DataSkipError(f"{name} is gone")
            return IndexReport(name, ["MinMax(x)"])

        return refresh

    for name in ("first", "second", "second"):
        index.refreshed_by(name, by(name))
    for _ in range(2):
        clock()
        index.bring_up_to_date()
    assert asked == ["first", "second", "second"]
    gone.add("second")
    clock()
    with pytest.raises(DataSkipError, match=r"cannot be refreshed: first is gone"):
        index.bring_up_to_date()


def test_a_copy_that_was_put_back_and_written_beyond_what_was_seen(lake: Lake) -> None:
    lake.file("a.parquet", {"x": [1], "y": [1], "z": [1]})
    table = lake.index(MinMax("x"), MinMax("y"), MinMax("z"))
    shutil.copytree(lake.folder / ".data_skip", lake.folder.parent / "copy")
    lake.file("b.parquet", {"x": [2], "y": [2], "z": [2]})
    frame = table.read("bounded(1000)")
    assert xs(frame.select("x")) == [1, 2]
    put_back(lake)
    other = another(lake)
    for name in "yz":
        other.drop_index(MinMax(name))
    assert xs(frame.select("x")) == [1, 2]


def put_back(lake: Lake) -> None:
    shutil.rmtree(lake.folder / ".data_skip")
    shutil.copytree(lake.folder.parent / "copy", lake.folder / ".data_skip")


def test_a_drop_on_a_copy_that_was_put_back(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """And was refreshed up to the same version: its rows stayed, without a column being declared, for the next who declares it."""
    read = {"format": "csv", "schema": "x int", "options": {"header": "true"}}
    lake.lines("a.csv", "5", "6")
    table = lake.table(**read)
    table.create_index(MinMax("x"))
    shutil.copytree(lake.folder / ".data_skip", lake.folder.parent / "copy")
    lake.lines("b.csv", "1", "7", "8")
    table.refresh()

    def meanwhile() -> None:
        put_back(lake)
        another(lake, **read).refresh()

    before(monkeypatch, delta, "write_deltalake", meanwhile)
    with pytest.raises(StoreError, match="put back from a copy"):
        table.drop_index(MinMax("x"))
    assert len(table.describe().rows) == 1
    table.drop_index(MinMax("x"))
    lake.table(format="csv", schema="x int", options={"header": "false"}).create_index(MinMax("x"))
    lake.view(format="csv", schema="x int", header="false")
    lake.check("x = 1", read=["b.csv"])


@pytest.mark.parametrize("what", ["create", "drop"])
def test_definitions_for_an_index_in_whose_place_is_another(lake: Lake, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    """They took over its log: what the other session had made was lost, though acknowledged."""
    lake.file("a.parquet", {"x": [1], "y": [1]})
    table = lake.index(MinMax("x"), MinMax("y"))

    def meanwhile() -> None:
        shutil.rmtree(lake.folder / ".data_skip")
        lake.file("b.parquet", {"x": [2], "y": [2]})
        another(lake).create_index(ValueList("x"))

    before(monkeypatch, delta, "write_deltalake", meanwhile)
    with pytest.raises(StoreError, match="deleted meanwhile"):
        table.create_index(ValueList("y")) if what == "create" else table.drop_index(MinMax("y"))
    assert [row["index"] for row in lake.table().describe().rows] == ["ValueList(x, limit=10000)"]
    assert xs(lake.table().read("snapshot")) == [1, 2]
    assert another(lake).refresh().files_collected == 0


@pytest.fixture
def store(tmp_path: Path) -> DeltaStore:
    made = DeltaStore(f"file:{tmp_path}/.data_skip/_/_/_")
    for name in "abc":
        made.append([key(name)], [1], {column("x"): records(1)})
    return made


def test_a_copy_that_is_being_put_back_is_left_alone(store: DeltaStore, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Its records come before its log."""
    shutil.copytree(tmp_path / ".data_skip", tmp_path / "copy")

    def begin() -> None:
        shutil.rmtree(tmp_path / ".data_skip")
        os.makedirs(store.location)
        for part in (tmp_path / "copy/_/_/_").glob("*.parquet"):
            shutil.copy2(part, store.location)

    before(monkeypatch, delta, "write_deltalake", begin)
    with pytest.raises(StoreError, match="put back from a copy"):
        store.append([key("d")], [1], {column("x"): records(2)}, False)
    shutil.copytree(tmp_path / "copy/_/_/_/_delta_log", Path(store.location, "_delta_log"))
    assert known(DeltaStore(store.uri)).keys() == {"a", "b", "c"}
    assert len([*Path(store.location).glob("*.parquet")]) == 3


def test_a_commit_on_which_others_have_built_stays(store: DeltaStore, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without it nobody could read the log."""
    shutil.copytree(tmp_path / ".data_skip", tmp_path / "copy")
    real = delta.write_deltalake

    def write(*args: Any, **options: Any) -> None:
        monkeypatch.setattr(delta, "write_deltalake", real)
        (tmp_path / ".data_skip").rename(tmp_path / "before")
        shutil.copytree(tmp_path / "copy", tmp_path / ".data_skip")
        real(*args, **options)
        DeltaStore(store.uri).append([key("e")], [1], {column("x"): records(3)}, False)

    monkeypatch.setattr(delta, "write_deltalake", write)
    with pytest.raises(StoreError, match="put back from a copy"):
        store.append([key("d")], [1], {column("x"): records(2)}, False)
    assert {"a", "b", "c", "e"} <= known(DeltaStore(store.uri)).keys()


def test_who_commits_a_version_touches_its_file_once_more(store: DeltaStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """deltalake links it, and deletes the other link."""
    snapshot = store.snapshot()
    assert snapshot is not None
    commit = Path(store.location, "_delta_log", f"{snapshot.version:020}.json")

    def touch() -> None:
        os.link(commit, f"{commit}#1")
        os.unlink(f"{commit}#1")

    before(monkeypatch, delta, "write_deltalake", touch)
    store.append([key("d")], [1], {column("x"): records(2)}, False)
    assert "d" in known(store)


def test_a_file_that_is_being_written_is_not_left_over(store: DeltaStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the store's clock, behind which this machine's is not."""
    written = Path(store.location, "part-00000-being-written.parquet#1")
    written.write_bytes(b"PAR1")
    clock = Path(store.location).parent / "clock"
    clock.touch()
    for path in (clock, written, *Path(store.location, "_delta_log").iterdir()):
        old = path.stat().st_mtime - 7000
        os.utime(path, (old, old))
    monkeypatch.setattr(left_behind, "TemporaryFile", lambda dir: clock.open())
    assert DeltaStore(store.uri).vacuum(1) == [] and written.exists()
