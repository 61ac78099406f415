"""How index records are kept, read a ninth time: each test is a recipe that once gave other rows, or lost what another session did."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pytest
from pyarrow import fs

from data_skip import DataSkipError, DataSkipWarning, MinMax, ValueList
from data_skip.building import indexing, one_pass
from data_skip.building.source import files_below
from data_skip.planning.catalog import Catalog
from data_skip.store import DeltaStore, FileKey, StoreError, delta
from data_skip.store.layout import keys_of
from data_skip.table import Table
from tests.support import Lake, settings_of
from tests.test_store import column, key, known, records

CSV: dict[str, Any] = {"format": "csv", "schema": "x STRING, s STRING"}
READER: dict[str, Any] = {"format": "csv", "options": {}, "columns": [], "session": {}}
HEADER = {**READER, "options": {"header": "true"}}


@pytest.fixture
def store(tmp_path: Path) -> DeltaStore:
    return DeltaStore(f"file:{tmp_path}/index")


def before(monkeypatch: pytest.MonkeyPatch, mode: str, *others: Callable[[], Any]) -> None:
    """What others do as the next writes of a mode are about to begin: the version is chosen on which they are committed."""
    original, turns = delta.write_deltalake, list(others)

    def write(target: Any, *args: Any, **kwargs: Any) -> None:
        if kwargs["mode"] == mode and turns:
            turns.pop(0)()
        original(target, *args, **kwargs)

    monkeypatch.setattr(delta, "write_deltalake", write)


def test_records_that_are_added_while_their_index_is_dropped_are_dropped(store: DeltaStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Delta commits an overwrite beside an append: the row would stay, with a column that the next who declares it finds."""
    store.append([key("a")], [1], {column("x", READER): records(1)})
    before(monkeypatch, "overwrite", lambda: DeltaStore(store.uri).append([key("b")], [0], {column("x", READER): records(3)}))
    store.drop("x")
    assert known(store) == {}
    store.append([key("a")], [2], {column("x", HEADER): records(7)})
    assert known(store) == {"a": {"size": 10, "modification_time": 1, "row_count": 2, "x": {"min": 7}}}


def test_an_index_that_is_dropped_beside_a_refresh_and_made_anew_otherwise(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same, as rows."""
    lake.lines("a.csv", "7,s", "5,t")
    table = lake.index(MinMax("x"), **CSV, options={"header": "true"})
    lake.lines("b.csv", "9,t", "1,t")
    before(monkeypatch, "overwrite", lambda: lake.table(**CSV, options={"header": "true"}).refresh())
    table.drop_index(MinMax("x"))
    lake.table(**CSV, options={"header": "false"}).create_index(MinMax("x"))
    lake.view(**CSV, header="false")
    lake.check("x = '9'", read=["b.csv"])


def test_a_refresh_does_not_bring_back_an_index_that_was_dropped_meanwhile(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    lake.file("a.parquet", {"x": [1], "y": [1]})
    table = lake.index(MinMax("x"), MinMax("y"))
    lake.file("b.parquet", {"x": [2], "y": [2]})
    before(monkeypatch, "append", lambda: lake.table().drop_index(MinMax("x")))
    table.refresh()
    assert [(row["index"], row["files"]) for row in table.describe().rows] == [("MinMax(y)", 2)]
    lake.file("c.parquet", {"x": [3], "y": [3]})
    before(monkeypatch, "append", lambda: lake.table().drop_index(MinMax("y")))
    with pytest.raises(DataSkipError, match="dropped meanwhile"):
        table.refresh()
    assert table.describe().rows == []


def test_a_refresh_does_not_bring_back_an_index_that_was_deleted_meanwhile(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    lake.file("a.parquet", {"x": [1]})
    table = lake.index(MinMax("x"))
    lake.file("b.parquet", {"x": [2]})
    listed = indexing.index_files

    def late(*args: Any) -> Any:
        shutil.rmtree(lake.folder / ".data_skip")
        return listed(*args)

    monkeypatch.setattr("data_skip.table.index_files", late)
    with pytest.raises(DataSkipError, match="deleted meanwhile"):
        table.refresh()
    assert not (lake.folder / ".data_skip").exists()


def test_a_table_that_is_dropped_while_it_is_indexed_stays_dropped(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else there would be a folder again, and Spark creates no managed table where one is."""
    lake.file("a.parquet", {"x": [1]})
    lift = one_pass.lift

    def late(*args: Any) -> Any:
        found = lift(*args)
        shutil.rmtree(lake.folder)
        return found

    monkeypatch.setattr(one_pass, "lift", late)
    with pytest.raises(DataSkipError, match="deleted meanwhile"):
        lake.table().create_index(MinMax("x"))
    assert not lake.folder.exists()


def test_indexes_of_sessions_that_cut_files_into_other_parts(lake: Lake) -> None:
    """Where a header lies behind comments it is a row of a later part: so one session's count of rows is not the other's."""
    lake.text("a.csv", "# a comment\n" * 4000 + "x,s\n")
    lake.text("b.csv", "x,s\n" + "y,2\n" * 60_000)
    reader = {**CSV, "options": {"header": "true", "comment": "#"}}
    lake.index(ValueList("s"), **reader)
    with settings_of(lake.spark, {"spark.sql.files.openCostInBytes": str(1 << 14), "spark.sql.files.minPartitionNum": "100"}):
        with pytest.raises(DataSkipError, match="openCostInBytes"):
            lake.table(**reader).create_index(ValueList("x"))
        lake.view(**CSV, header="true", comment="#")
        lake.query("SELECT * FROM t WHERE x = 'x'", read=["a.csv", "b.csv"])


def with_dead_rows(table: Table) -> Table:
    snapshot = table._store.snapshot()
    assert snapshot is not None
    field = snapshot.fields["min_max__x"]
    dead = [FileKey(f"gone{i}.parquet", 1, 1) for i in range(1200)]
    table._store._found()[0].append(dead, [1] * len(dead), {field: pa.array([{}] * len(dead), field.type)})
    return table


def test_compaction_keeps_records_of_files_that_this_table_does_not_read(lake: Lake) -> None:
    """Options, as catalogs and partitions, leave out files that others read."""
    for name in ("a", "b", "c"):
        lake.file(f"{name}.parquet", {"x": [1]})
    with_dead_rows(lake.index(MinMax("x")))
    lake.file("d.parquet", {"x": [100]})
    lake.table(options={"pathGlobFilter": "d*"}).refresh()
    snapshot = lake.table()._store.snapshot()
    assert snapshot is not None and {file.path for file in snapshot.files} == {f"{name}.parquet" for name in "abcd"}


def test_every_file_below_a_root(lake: Lake) -> None:
    folder = lake.folder / "a [b]{c}*%20ä"
    files = [Lake(lake.spark, lake.skipping, folder).file(name, {"x": [1]}) for name in ("a.parquet", "p=1/b.parquet", "q/r/c d.parquet")]
    paths = [quote(str(path.relative_to(folder))).replace("%3D", "=") for path in files]
    there = [FileKey(path, file.stat().st_size, file.stat().st_mtime_ns // 1_000_000) for path, file in zip(paths, files, strict=True)]
    asked = keys_of([*there, there[0]._replace(size=1), FileKey("gone", 1, 1)])
    found = files_below(lake.spark, lake.skipping.jvm, f"file:{quote(str(folder))}", asked)
    assert found.tolist() == [True, True, True, False, False]


def test_compaction_keeps_records_of_files_that_came_meanwhile(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    lake.file("a.parquet", {"x": [1]})
    table = with_dead_rows(lake.index(MinMax("x")))
    compact = DeltaStore.compact

    def late(store: DeltaStore, *order: Any) -> None:
        monkeypatch.undo()
        lake.file("b.parquet", {"x": [100]})
        lake.table().refresh()
        compact(store, *order)

    monkeypatch.setattr(DeltaStore, "compact", late)
    table.refresh()
    assert table.describe().files_indexed == 2 and table.metadata().count() == 2


def test_an_index_that_an_earlier_data_skip_declared_in_other_words(lake: Lake) -> None:
    """Delta merges no column with another text about it."""
    lake.file("a.parquet", {"x": [1]})
    table = lake.index(MinMax("x"))
    for commit in Path(table.describe().location, "_delta_log").glob("*.json"):
        commit.write_text(commit.read_text().replace('\\\\\\"session\\\\\\"', '\\\\\\"settings\\\\\\"'))
    lake.skipping.catalog._stores.clear()
    lake.file("b.parquet", {"x": [100]})
    table = lake.table()
    snapshot = table._store.snapshot()
    assert snapshot is not None and b"settings" in str(snapshot.fields["min_max__x"].metadata).encode()
    assert table.refresh().files_collected == 1
    table.create_index(ValueList("x"))
    table.drop_index(ValueList("x"))
    lake.view()
    lake.check("x > 50", read=["b.parquet"])


def test_a_refresh_of_indexes_of_which_the_session_knows_none(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    lake.lines("a.csv", "k,l")
    table = lake.index(ValueList("x"), **CSV)
    lake.lines("b.csv", "m,n")
    monkeypatch.delitem(lake.skipping.catalog.knowledge.kinds, "ValueList")
    with pytest.warns(DataSkipWarning, match="ValueList"):
        assert table.refresh().indexes == []
    assert table.metadata().count() == 1


def test_a_refresh_that_finds_nothing_new_commits_nothing(lake: Lake) -> None:
    lake.file("a.parquet", {"x": [1]})
    table = lake.index(MinMax("x"))
    version = table.describe().version
    assert table.refresh().files_current == 1 and table.describe().version == version


def test_records_that_are_gone_are_an_error_of_the_index(store: DeltaStore) -> None:
    store.append([key("a")], [1], {column("x", READER): records(1)})
    snapshot = store.snapshot()
    assert snapshot is not None
    for part in Path(store.location).glob("*.parquet"):
        part.unlink()
    with pytest.raises(StoreError, match=r"cannot be read.*delete the folder"):
        snapshot.records(["x"])


def test_an_index_with_fewer_versions_at_the_same_place(store: DeltaStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Deleted and made anew after a writer has looked, and before it takes up the version that it saw."""
    for i in range(3):
        store.append([key(f"a{i}")], [1], {column("x", READER): records(1)})
    refuse = DeltaStore._refuse_another

    def late(self: DeltaStore, *args: Any) -> None:
        refuse(self, *args)
        monkeypatch.undo()
        shutil.rmtree(store.location)
        DeltaStore(store.uri).append([key("b")], [1], {column("x", READER): records(2)})

    monkeypatch.setattr(DeltaStore, "_refuse_another", late)
    store.append([key("c")], [1], {column("x", READER): records(3)})
    assert set(known(store)) == {"b", "c"}


def test_an_index_with_fewer_versions_on_object_storage(store: DeltaStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DeltaStore, "location", property(lambda self: "file://" + self.uri.removeprefix("file:")))
    for i in range(3):
        store.append([key(f"a{i}")], [1], {column("x", READER): records(1)})
    shutil.rmtree(store.uri.removeprefix("file:"))
    DeltaStore(store.uri).append([key("b")], [1], {column("x", READER): records(2)})
    assert set(known(store)) == {"b"}


def test_a_table_sees_what_others_did_on_object_storage(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Queries may believe for a while what was seen there; `Table` looks at the index as it is."""
    monkeypatch.setattr(DeltaStore, "location", property(lambda self: "file://" + self.uri.removeprefix("file:")))
    lake.file("a.parquet", {"x": [1]})
    table = lake.table()
    assert table.describe().version is None
    other = Table(lake.spark, lake.skipping.jvm, Catalog(None), table._source, table.root)
    other.create_index(MinMax("x"))
    other.drop_index(MinMax("x"))
    other.create_index(MinMax("x"))
    assert table.refresh().files_current == 1
    shutil.rmtree(lake.folder / ".data_skip")
    assert table.describe().version is None
    other.create_index(MinMax("x"))
    assert table.describe().version == 1 and table.describe().files_indexed == 1
    table.drop_index(MinMax("x"))
    assert other.describe().rows == []


def test_an_index_is_read_by_no_objects_of_python(store: DeltaStore) -> None:
    """Threads of Arrow give those back after a read: a process that ended meanwhile was aborted, of deltalake's one in two."""
    store.append([key("a")], [1], {column("x", READER): records(1)})
    snapshot = store.snapshot()
    assert snapshot is not None and isinstance(snapshot._dataset.filesystem, fs.SubTreeFileSystem)
