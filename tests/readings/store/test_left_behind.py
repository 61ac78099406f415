"""The fifty-first reading, of the store's writers: what is decided on one version, one session or one table, and written on another."""

from __future__ import annotations

import os
import shutil
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from deltalake import DeltaTable
from deltalake.exceptions import CommitFailedError

import data_skip.table as table_module
from data_skip import DataSkipError, DataSkipWarning, MetricDistance, MinMax, Prefix, Table, ValueList, upkeep, versioned
from data_skip.building import indexing, recent
from data_skip.store import DeltaStore, FileKey, StoreError, ages, delta, vacuuming
from data_skip.store.layout import keys_of
from tests.support import Lake
from tests.test_store import READER, column, key, known, records

CSV: dict[str, Any] = {"format": "csv", "schema": "t timestamp"}


def before(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, run: Callable[[], object]) -> None:
    """Runs something once, before the next call of a function."""
    real = getattr(owner, name)

    def late(*args: Any, **options: Any) -> Any:
        monkeypatch.setattr(owner, name, real)
        run()
        return real(*args, **options)

    monkeypatch.setattr(owner, name, late)


def rows(table: Table) -> list[Any]:
    return sorted(row[0] for row in table.read("snapshot").select("x").collect())


def test_a_slow_compaction_leaves_a_file_that_is_back(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once another compaction has dropped its row, its generation begins anew."""
    path = lake.file("a.parquet", {"x": [1]})
    lake.file("b.parquet", {"x": [2]})
    one, two = lake.index(MinMax("x")), lake.table()
    away = path.rename(lake.folder.parent / "away")
    one.refresh()

    def meanwhile() -> None:
        two.compact()
        away.rename(path)
        two.refresh()

    before(monkeypatch, DeltaStore, "compact", meanwhile)
    one.compact()
    assert rows(two) == [1, 2]


def test_what_a_refresh_says_is_younger_than_what_it_is_written_on(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another one, which listed the table later, was undone until this one looked again, and for good where it was stopped before."""
    path = lake.file("a.parquet", {"x": [1]})
    lake.file("b.parquet", {"x": [2]})
    one, two = lake.index(MinMax("x")), lake.table()
    away = path.rename(lake.folder.parent / "away")

    def meanwhile() -> None:
        away.rename(path)
        lake.file("c.parquet", {"x": [3]})
        two.refresh()

    before(monkeypatch, delta, "write_deltalake", meanwhile)
    monkeypatch.setattr(indexing, "_agree", lambda *_, **__: None)
    one.refresh()
    assert rows(two) == [1, 2, 3]


def test_what_was_committed_before_it_was_stopped_is_looked_at_again(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another refresh, which listed the table later, found nothing to write: the index said already that the file is there."""
    path = lake.file("a.parquet", {"x": [1]})
    lake.file("b.parquet", {"x": [2]})
    table, other = lake.index(MinMax("x")), lake.table()
    away = path.rename(lake.folder.parent / "away")

    def meanwhile() -> None:
        away.rename(path)
        other.refresh()

    real = indexing._index_some

    def stopped(*args: Any, **options: Any) -> None:
        monkeypatch.setattr(indexing, "_index_some", real)
        real(*args, **options)
        raise KeyboardInterrupt

    before(monkeypatch, delta, "write_deltalake", meanwhile)
    monkeypatch.setattr(indexing, "_index_some", stopped)
    with pytest.raises(KeyboardInterrupt):
        table.refresh()
    assert rows(table) == [1, 2]


@pytest.mark.parametrize("refresh", [False, True])
def test_settings_that_are_changed_while_a_table_is_indexed(lake: Lake, monkeypatch: pytest.MonkeyPatch, refresh: bool) -> None:
    """As by another thread; or by the next line of the user's, while the library's own refreshes what is read by `bounded`."""
    lake.lines("a.csv", "2020-01-01 23:30:00")
    table = lake.table(**CSV)
    if refresh:
        table.create_index(MinMax("t"))
    lake.lines("b.csv", "2020-06-01 12:00:00")
    zone = str(lake.spark.conf.get("spark.sql.session.timeZone"))
    before(monkeypatch, indexing, "collect_files", lambda: lake.spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo"))
    try:
        table.refresh() if refresh else table.create_index(MinMax("hour(t)"), MinMax("t"))
    finally:
        lake.spark.conf.set("spark.sql.session.timeZone", zone)
    lake.view(**CSV)
    lake.check("t = TIMESTAMP'2020-06-01 12:00:00'", read=["b.csv"])
    lake.check("hour(t) = 23")


def test_a_function_that_is_registered_anew_while_a_table_is_indexed(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    lake.file("a.parquet", {"x": [1]})
    lake.file("b.parquet", {"x": [5]})
    lake.spark.udf.register("moved", versioned(lambda x: x + 100, 1), "int")
    before(monkeypatch, indexing, "collect_files", lambda: lake.spark.udf.register("moved", versioned(lambda x: x - 100, 1), "int"))
    table = lake.index(MinMax("moved(x)"))
    (least,) = {name for name in table.records().column_names if name.startswith("min_max")}
    assert sorted(record["min"] for record in table.records()[least].to_pylist()) == [101, 105]


def test_the_session_of_the_user_is_the_one_that_goes_on(lake: Lake) -> None:
    lake.file("a.parquet", {"x": [1]})

    def of_rdd() -> object:
        return lake.spark.sparkContext.parallelize([(1,)]).toDF(["x"]).sparkSession

    before = of_rdd()
    lake.index(MinMax("x"))
    assert of_rdd() is before


@pytest.mark.parametrize("index", [Prefix("s"), MetricDistance("s")])
def test_of_an_index_whose_parameters_are_chosen_there_is_one(lake: Lake, monkeypatch: pytest.MonkeyPatch, index: Any) -> None:
    """Two sessions that ensure it at once, and choose otherwise."""
    for i in range(6):
        lake.file(f"f{i}.parquet", {"s": [f"{i}abc{j}" for j in range(20)]})
    one, two = lake.table(), lake.table()

    def meanwhile() -> None:
        for i in range(40):
            lake.file(f"f{i}.parquet", {"s": [f"common-start-{i:03}-{j}" for j in range(40)]})
        two.ensure_index(index)

    before(monkeypatch, table_module, "index_files", meanwhile)
    one.ensure_index(index)
    assert len(one.describe().rows) == 1


def test_several_indexes_are_dropped_by_one_commit(lake: Lake) -> None:
    lake.file("a.parquet", {"x": [1], "y": [2], "z": [3]})
    table = lake.index(MinMax("x"), MinMax("y"), MinMax("z"))
    table.drop_index(MinMax("x"), MinMax("y"))
    step = table.history()[-1]
    assert step.action == "dropped" and sorted(step.indexes) == ["MinMax(x)", "MinMax(y)"]


def test_who_knows_no_index_of_a_table_cannot_say_how_old_it_is(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    lake.file("a.parquet", {"x": [1]})
    table = lake.index(ValueList("x"))
    monkeypatch.delitem(lake.skipping.catalog.knowledge.kinds, "ValueList")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataSkipWarning)
        with pytest.raises(DataSkipError, match="knows none of its indexes"):
            table.read("bounded(77)")


OTHER = {**READER, "options": {"header": "true"}}


@pytest.fixture
def store(tmp_path: Path) -> DeltaStore:
    made = DeltaStore(f"file:{tmp_path}/.data_skip/_/_/_")
    made.append([key("a")], [1], {column("x"): records(1)})
    return made


def make_anew(store: DeltaStore) -> None:
    shutil.rmtree(store.location)
    DeltaStore(store.uri).append([key("n")], [1], {column("x", OTHER): records(9)})


@pytest.mark.parametrize("noticed", [True, False])
def test_rows_that_were_written_for_an_index_in_whose_place_is_another(
    store: DeltaStore, monkeypatch: pytest.MonkeyPatch, noticed: bool
) -> None:
    """deltalake tells versions by their numbers, and the first records of an index are always version 1. Not noticed: as on S3."""
    before(monkeypatch, delta, "write_deltalake", lambda: make_anew(store))
    if noticed:
        with pytest.raises(StoreError, match="deleted meanwhile"):
            store.append([key("b")], [1], {column("x"): records(2)}, False)
    else:
        monkeypatch.setattr(DeltaStore, "_was_replaced", lambda *_: False)
        store.append([key("b")], [1], {column("x"): records(2)}, False)
    for reader in (store, DeltaStore(store.uri)):
        assert known(reader).keys() == {"n"}
    store.append([key("c")], [1], {column("x", OTHER): records(3)}, False)
    store.compact()
    assert known(DeltaStore(store.uri)).keys() == {"n", "c"}


@pytest.mark.parametrize("at", ["before", "after"])
def test_nothing_is_left_of_an_index_that_is_deleted_while_it_is_written(
    store: DeltaStore, monkeypatch: pytest.MonkeyPatch, at: str, tmp_path: Path
) -> None:
    """A part without a log was no index of data-skip, for good; and Spark creates no managed table where something is."""
    real = delta.write_deltalake

    def write(*args: Any, **options: Any) -> None:
        monkeypatch.undo()
        if at == "before":
            shutil.rmtree(tmp_path / ".data_skip")
            real(*args, **options)
        else:  # between the part and the commit, whose folder is there again
            real(*args, **options)
            for commit in sorted(Path(store.location, "_delta_log").iterdir())[:-1]:
                commit.unlink()

    monkeypatch.setattr(delta, "write_deltalake", write)
    with pytest.raises(StoreError, match="deleted meanwhile"):
        store.append([key("b")], [1], {column("x"): records(2)}, False)
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and (at == "before" or "_delta_log" in str(path))]
    if at == "before":
        assert not [*tmp_path.iterdir()]
        store.append([key("b")], [1], {column("x"): records(2)})
        assert known(store).keys() == {"b"}


def test_clocks_that_are_hours_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of a store whose clock tells seconds, and is that of another zone, may be written again in the second of its listing."""
    slept: list[float] = []
    monkeypatch.setattr(recent, "sleep", slept.append)
    now = time.time() * 1000
    for hours in (2, -14):
        recent.let_clocks_pass(keys_of([FileKey("s3://a", 1, int(now - hours * 3_600_000) // 1000 * 1000)]), now)
    assert slept == [1.0, 1.0]


def test_a_writer_that_slept_commits_no_file_that_vacuum_takes_for_old(store: DeltaStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """It wrote the file before, for the version after the one that it had read; that one is taken."""
    real, tried = delta.write_deltalake, []

    def write(target: Any, *args: Any, **options: Any) -> None:
        tried.append(target.version())
        if len(tried) == 1:
            old = Path(store.location, "part-00000-old.parquet")
            old.write_bytes(b"PAR1")
            os.utime(old, (time.time() - 7200,) * 2)
            assert DeltaStore(store.uri).vacuum(1) == [old.name]
        real(target, *args, **options)

    monkeypatch.setattr(delta, "write_deltalake", write)
    store.append([key("b")], [1], {column("x"): records(2)}, False)
    assert tried[1] > tried[0] and known(DeltaStore(store.uri)).keys() == {"a", "b"}
    assert "vacuumed" in [step.action for step in store.history()]


def test_what_another_writer_commits_while_vacuum_sleeps(store: DeltaStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its files are in no log that vacuum has read, and are old by the clock once it wakes."""
    never = Path(store.location, "part-00000-never.parquet")
    never.write_bytes(b"PAR1")
    real, asked = DeltaStore._old, []

    def _old(self: DeltaStore, table: Any, hours: int) -> list[str]:
        asked.append(hours)
        if len(asked) == 2:
            DeltaStore(store.uri).append([key("b")], [1], {column("x"): records(2)}, False)
            return real(self, table, 0)  # as by the clock two hours later
        return real(self, table, hours)

    os.utime(never, (time.time() - 7_200,) * 2)
    monkeypatch.setattr(DeltaStore, "_old", _old)
    assert DeltaStore(store.uri).vacuum(1) == [never.name]
    assert known(DeltaStore(store.uri)).keys() == {"a", "b"}


def test_old_files_that_may_not_be_deleted(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once all is committed and compacted: a refresh has not failed, nor has its compaction."""

    def refused(self: DeltaStore, names: list[str]) -> None:
        raise PermissionError(f"{names[0]} may not be deleted")

    monkeypatch.setattr(DeltaStore, "_delete", refused)
    monkeypatch.setattr(vacuuming, "_SWEPT_HOURS", 0)
    monkeypatch.setattr(upkeep, "_MOST_PARTS", 1)
    lake.file("a.parquet", {"x": [1]})
    table = lake.index(MinMax("x"))
    lake.file("b.parquet", {"x": [2]})
    with pytest.warns(
        DataSkipWarning, match=r"is up to date; the index at .* keeps files of old versions, which cannot all be deleted \(part-"
    ):
        assert table.refresh().files_collected == 1
    assert "compacted" in [step.action for step in table.history()]


def test_what_was_removed_a_moment_ago_by_a_clock_that_is_ahead(store: DeltaStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """A query of this moment needs it, though it was written long ago; deltalake tells by its own clock when it was removed."""
    never = Path(store.location, "part-00000-never.parquet")
    never.write_bytes(b"PAR1")
    for file in Path(store.location).rglob("*.*"):
        os.utime(file, (time.time() - 200 * 3_600,) * 2)
    before = {file.name for file in Path(store.location).glob("part-*")} - {never.name}
    store.append([key("b")], [1], {column("x"): records(2)}, False)
    store.compact()
    asked: list[float] = []
    real = DeltaTable.vacuum

    def vacuum(self: DeltaTable, hours: int | None = None, *args: Any, **options: Any) -> list[str]:
        asked.append(hours or 168)
        return real(self, max(0, (hours or 168) - 2), *args, **options | {"enforce_retention_duration": False})  # two hours ahead

    monkeypatch.setattr(DeltaTable, "vacuum", vacuum)
    monkeypatch.setattr(ages, "time", SimpleNamespace(time=lambda: time.time() + 7_200))
    assert DeltaStore(store.uri).vacuum(1) == [never.name]
    assert before <= {file.name for file in Path(store.location).glob("part-*")} and max(asked) <= 168


def test_a_mark_whose_answer_is_lost(store: DeltaStore, monkeypatch: pytest.MonkeyPatch) -> None:
    never = Path(store.location, "part-00000-never.parquet")
    never.write_bytes(b"PAR1")
    os.utime(never, (time.time() - 7_200,) * 2)
    real = DeltaTable.create_write_transaction

    def lost(*args: Any, **options: Any) -> None:
        real(*args, **options)
        raise OSError("no answer")

    monkeypatch.setattr(DeltaTable, "create_write_transaction", lost)
    assert DeltaStore(store.uri).vacuum(1) == [never.name] and not never.exists()


def test_an_index_that_was_put_back_is_of_no_known_age(lake: Lake) -> None:
    lake.file("a.parquet", {"x": [1]})
    table = lake.index(MinMax("x"))
    shutil.copytree(lake.folder / ".data_skip", lake.folder.parent / "copy")
    lake.file("b.parquet", {"x": [2]})
    frame = table.read("bounded(1000)")
    assert frame.count() == 2
    shutil.rmtree(lake.folder / ".data_skip")
    shutil.move(lake.folder.parent / "copy", lake.folder / ".data_skip")
    assert frame.count() == 2


def test_who_asked_for_a_refresh_is_not_told_that_a_compaction_failed(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    lake.file("a.parquet", {"x": [1]})
    table = lake.index(MinMax("x"))
    lake.file("b.parquet", {"x": [2]})

    def refused(*args: Any, **options: Any) -> None:
        raise CommitFailedError("another was faster")

    monkeypatch.setattr(delta, "transact", refused)
    monkeypatch.setattr(upkeep, "_MOST_PARTS", 1)
    with pytest.warns(DataSkipWarning, match="is up to date, but was not compacted"):
        assert table.refresh().files_collected == 1
    assert rows(table) == [1, 2]
    table.refresh()  # tries again, and says so no more: else that would be an error here


def test_the_partitions_that_a_catalog_knows_are_of_another_age_than_their_folder(lake: Lake) -> None:
    lake.file("p=1/a.parquet", {"x": [1]})
    lake.file("p=2/b.parquet", {"x": [2]})
    lake.spark.sql(f"CREATE TABLE part_of_it (x BIGINT, p INT) USING parquet PARTITIONED BY (p) LOCATION '{lake.folder}'")
    try:
        lake.spark.sql("ALTER TABLE part_of_it ADD PARTITION (p=1)")
        table = lake.index(MinMax("x"))
        assert lake.skipping.table("part_of_it").read("bounded(1000)").count() == 1
        lake.file("p=2/c.parquet", {"x": [3]})
        assert table.read("bounded(1000)").count() == 3
    finally:
        lake.spark.sql("DROP TABLE part_of_it")
