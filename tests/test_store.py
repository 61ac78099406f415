"""The store: crashes, writers at once, foreign and newer folders, other places, compaction."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from deltalake.exceptions import CommitFailedError
from pyspark.sql import SparkSession

import data_skip
from data_skip import BloomFilter, DataSkipError, DataSkipWarning, GapList, Hybrid, Index, MinMax, Prefix, Suffix, ValueList
from data_skip.store import DeltaStore, FileKey, StoreError, delta
from data_skip.store.definition import Definition
from data_skip.store.delta import definition_field
from tests.support import Lake, rows_of

READER = {"format": "parquet", "options": {}, "columns": [], "settings": {}}
RECORD = pa.struct({"min": pa.int64()})


def column(name: str, reader: dict[str, Any] = READER) -> pa.Field:
    tree = {"id": 0, "name": "AttributeReference", "type": "bigint", "column": name, "partition": False}
    return definition_field(name, RECORD, Definition("MinMax", (name,), {}, 1, (tree,), reader))


def records(*values: int | None) -> pa.Array:
    return pa.array([{"min": value} for value in values], RECORD)


def key(name: str, version: int = 1) -> FileKey:
    return FileKey(name, 10, version)


def known(store: DeltaStore) -> dict[str, dict[str, Any]]:
    snapshot = store.snapshot()
    assert snapshot is not None
    return {row.pop("path"): row for row in snapshot.to_arrow().to_pylist()}


@pytest.fixture
def store(tmp_path: Path) -> DeltaStore:
    return DeltaStore(f"file:{tmp_path}/_data_skip")


def test_append_drop_and_compact(store: DeltaStore) -> None:
    assert store.snapshot() is None
    store.append([key("a"), key("b")], [5, None], {column("x"): records(1, 2)})
    store.append([key("a"), key("b")], [5, 7], {column("y"): records(3, None)})
    store.append([key("a", 2)], [6], {column("x"): records(10), column("y"): records(30)})
    snapshot = store.snapshot()
    assert snapshot is not None and set(snapshot.definitions) == {"x", "y"}
    assert snapshot.files == [key("a"), key("b"), key("a", 2)] or set(snapshot.files) == {key("a"), key("b"), key("a", 2)}
    assert snapshot.collected(["x", "y"]).all()
    store.compact({key("a")})
    after = known(store)
    assert after["a"] == {"size": 10, "modification_time": 2, "row_count": 6, "x": {"min": 10}, "y": {"min": 30}}
    assert after["b"]["x"] == {"min": 2} and after["b"]["y"] == {"min": None}
    store.drop("x")
    assert set(known(store)["a"]) == {"size", "modification_time", "row_count", "y"}
    # Without an index nobody knows what its rows were counted with.
    store.drop("y")
    snapshot = store.snapshot()
    assert snapshot is not None and snapshot.files == [] and not snapshot.definitions
    store.append([key("a", 2)], [1], {column("x"): records(4)})
    assert known(store)["a"]["row_count"] == 1


def test_crash_before_the_commit_leaves_the_last_snapshot(store: DeltaStore, monkeypatch: pytest.MonkeyPatch) -> None:
    store.append([key("a")], [1], {column("x"): records(1)})
    before = known(store)

    def crash(*_: Any, **__: Any) -> None:
        Path(store.location, "part-99999.parquet").write_bytes(b"half of a file")
        raise OSError("no space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(delta, "write_deltalake", crash)
        for write in (
            lambda: store.append([key("b")], [1], {column("x"): records(2)}),
            lambda: store.drop("x"),
            lambda: store.compact(set()),
        ):
            with pytest.raises(StoreError, match="no space"):
                write()
    for fresh in (store, DeltaStore(store.uri)):
        assert known(fresh) == before
    store.append([key("b")], [1], {column("x"): records(2)})
    assert set(known(store)) == {"a", "b"}


def test_crash_after_creation_leaves_an_index_without_indexes(store: DeltaStore, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(delta, "write_deltalake", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            store.append([key("a")], [1], {column("x"): records(1)})
    snapshot = DeltaStore(store.uri).snapshot()
    assert snapshot is not None and not snapshot.definitions and snapshot.files == []
    store.append([key("a")], [1], {column("x"): records(1)})
    assert known(store)["a"]["x"] == {"min": 1}


def test_temporary_log_files_of_a_crash_are_no_commit(store: DeltaStore) -> None:
    store.append([key("a")], [1], {column("x"): records(1)})
    log = Path(store.location, "_delta_log")
    (log / "_commit_1234.json.tmp").write_text("{")
    (log / "00000000000000000009.json.tmp").write_text("{")
    assert set(known(DeltaStore(store.uri))) == {"a"}


def test_writers_in_threads_lose_nothing(store: DeltaStore) -> None:
    """Eight stores, as eight sessions have them, that all begin with no index."""

    def write(i: int) -> None:
        DeltaStore(store.uri).append([key(f"f{i}")], [i], {column(f"c{i % 4}"): records(i)})

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(16)))
    found = known(store)
    assert set(found) == {f"f{i}" for i in range(16)}
    assert [found[f"f{i}"][f"c{i % 4}"] for i in range(16)] == [{"min": i} for i in range(16)]


def test_a_folder_in_which_another_writer_is_about_to_create_the_index_holds_none(store: DeltaStore) -> None:
    log = Path(store.location, "_delta_log")
    log.mkdir(parents=True)
    (log / "_commit_of_another.json.tmp").write_text("{}")
    assert store.snapshot() is None
    store.append([key("f")], [1], {column("c"): records(1)})
    assert set(known(store)) == {"f"}


def test_writers_in_processes_lose_nothing(store: DeltaStore) -> None:
    script = (
        "import sys; from tests.test_store import *\n"
        "i = int(sys.argv[2]); s = DeltaStore(sys.argv[1])\n"
        "for j in range(3): s.append([key(f'f{i}-{j}')], [1], {column(f'c{i}'): records(j)})\n"
    )
    workers = [subprocess.Popen([sys.executable, "-c", script, store.uri, str(i)], stderr=subprocess.PIPE) for i in range(3)]
    errors = [worker.communicate(timeout=1800)[1].decode()[-2000:] for worker in workers]
    assert [worker.returncode for worker in workers] == [0, 0, 0], errors
    found = known(store)
    assert set(found) == {f"f{i}-{j}" for i in range(3) for j in range(3)}
    assert all(found[f"f{i}-{j}"][f"c{i}"] == {"min": j} for i in range(3) for j in range(3))


def test_drop_and_compact_beside_another_writer(store: DeltaStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other one writes between the moment that a rewrite read the index and its commit."""
    store.append([key("a")], [1], {column("x"): records(1), column("y"): records(2)})
    original = delta.write_deltalake
    turns = [
        lambda other: other.append([key("b")], [1], {column("y"): records(3)}),  # more records
        lambda other: other.append([key("b")], [1], {column("z"): records(4)}),  # another index
    ]

    def write(target: Any, *args: Any, mode: str, **kwargs: Any) -> None:
        if mode == "overwrite" and turns:
            turns.pop(0)(DeltaStore(store.uri))
        original(target, *args, mode=mode, **kwargs)

    monkeypatch.setattr(delta, "write_deltalake", write)
    store.drop("x")
    store.compact(set())
    assert not turns
    found = known(store)
    assert set(found) == {"a", "b"} and "x" not in found["a"]
    assert (found["a"]["y"], found["b"]["y"], found["b"]["z"]) == ({"min": 2}, {"min": 3}, {"min": 4})


def test_index_that_another_made_anew_meanwhile_takes_no_records_of_the_old(store: DeltaStore) -> None:
    store.append([key("a")], [1], {column("x"): records(1)})
    other = DeltaStore(store.uri)
    other.drop("x")
    other.append([key("a")], [2], {column("x", {**READER, "options": {"header": "true"}}): records(5)})
    with pytest.raises(StoreError, match="created anew"):
        store.append([key("b")], [1], {column("x"): records(2)})
    assert set(known(store)) == {"a"}


def test_two_that_create_at_once_and_read_otherwise_do_not_both_commit(store: DeltaStore) -> None:
    """Each saw no index; but the row counts of one would skip files for the other."""
    other = DeltaStore(store.uri)
    assert store.snapshot() is None and other.snapshot() is None
    other.append([key("a")], [0], {column("y", {**READER, "options": {"header": "true"}}): records(None)})
    with pytest.raises(StoreError, match=r"created meanwhile, .*header"):
        store.append([key("a")], [1], {column("x"): records(1)})
    assert known(store) == {"a": {"size": 10, "modification_time": 1, "row_count": 0, "y": {"min": None}}}


def test_writer_that_never_wins_says_so(store: DeltaStore, monkeypatch: pytest.MonkeyPatch) -> None:
    store.append([key("a")], [1], {column("x"): records(1)})

    def conflict(*_: Any, **__: Any) -> None:
        raise CommitFailedError("always another")

    monkeypatch.setattr(delta, "write_deltalake", conflict)
    with pytest.raises(StoreError, match="always another"):
        store.append([key("b")], [1], {column("x"): records(2)})


def test_sessions_at_once_on_one_table(lake: Lake) -> None:
    for i in range(4):
        lake.file(f"f{i}.parquet", {"x": [i], "y": [-i], "s": [f"s{i}"]})
    jobs = [MinMax("x"), MinMax("y"), ValueList("s"), Prefix("s", 1)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda index: lake.table().create_index(index), jobs))
    lake.view()
    lake.check("x = 2 AND y = -2 AND s = 's2'", read=["f2.parquet"])
    assert {row["index"].split("(")[0] for row in lake.table().describe().rows} == {"MinMax", "ValueList", "Prefix"}
    lake.file("g.parquet", {"x": [50], "y": [50], "s": ["g"]})
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: lake.table().refresh(), range(3)))
    lake.view()
    lake.check("x > 40", read=["g.parquet"])
    lake.check("y = 0", read=["f0.parquet"])
    assert lake.table().describe().files_indexed == 5
    lake.table().drop_index(MinMax("x"), ValueList("s"))
    lake.check("x > 40", read=[f"f{i}.parquet" for i in range(4)] + ["g.parquet"])
    lake.check("y = 0", read=["f0.parquet"])


def test_crash_while_indexing_leaves_the_index_of_before(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    lake.file("a.parquet", {"x": [1]})
    with monkeypatch.context() as patched:
        patched.setattr("data_skip.store.delta.write_deltalake", lambda *_, **__: (_ for _ in ()).throw(OSError("killed")))
        with pytest.raises(DataSkipError, match="killed"):
            lake.table().create_index(MinMax("x"))
    lake.view()
    lake.check("x > 5", read=["a.parquet"])
    lake.index(MinMax("x"))
    lake.check("x > 5", read=[])
    lake.file("b.parquet", {"x": [2]})
    with monkeypatch.context() as patched:
        patched.setattr("data_skip.store.delta.write_deltalake", lambda *_, **__: (_ for _ in ()).throw(OSError("killed")))
        with pytest.raises(DataSkipError, match="killed"):
            lake.table().refresh()
    lake.view()
    lake.check("x > 5", read=["b.parquet"])
    assert lake.table().refresh().files_collected == 1
    lake.check("x > 5", read=[])


def test_refresh_compacts_once_dead_rows_outnumber_the_living(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    lake.file("a.parquet", {"x": [1]})
    lake.file("b.parquet", {"x": [100]})
    table = lake.index(MinMax("x"))
    snapshot = table._store.snapshot()
    assert snapshot is not None
    dead = [FileKey(f"gone{i}.parquet", 1, 1) for i in range(1200)]
    field = snapshot.fields["min_max__x"]
    table._store.append(dead, [1] * len(dead), {field: pa.array([{}] * len(dead), field.type)})
    table.refresh()
    assert table.metadata().count() == 2
    lake.view()
    lake.check("x > 50", read=["b.parquet"])


@pytest.mark.parametrize("damage", ["no log", "broken log", "lost records", "foreign delta", "file", "newer", "words"])
def test_folders_that_cannot_be_read(lake: Lake, damage: str, caplog: pytest.LogCaptureFixture) -> None:
    lake.file("a.parquet", {"x": [1]})
    lake.file("b.parquet", {"x": [100]})
    lake.index(MinMax("x"))
    place = Path(lake.table().describe().location)
    if damage == "no log":
        shutil.rmtree(place / "_delta_log")
    elif damage == "broken log":
        for commit in (place / "_delta_log").glob("*.json"):
            commit.write_text("{nonsense")
    elif damage == "lost records":
        for part in place.glob("*.parquet"):
            part.unlink()
    elif damage == "newer":
        for commit in (place / "_delta_log").glob("*.json"):
            commit.write_text(commit.read_text().replace('data_skip.layout\\":\\"1', 'data_skip.layout\\":\\"2'))
            assert 'data_skip.layout\\":\\"1' not in commit.read_text()
    else:
        shutil.rmtree(place)
        if damage == "foreign delta":
            write_deltalake(str(place), pa.table({"path": ["a"], "size": [1]}))
        elif damage == "file":
            place.write_text("not a folder")
        else:
            place.mkdir()
            (place / "notes.txt").write_text("mine")
    kept = sorted(path.name for path in place.rglob("*"))
    lake.skipping.catalog._stores.clear()  # as a new session finds it
    lake.view()
    scan = lake.check("x > 50", read=["a.parquet", "b.parquet"], errors=True)
    if damage != "file":
        assert any(str(place) in error for error in scan.errors), scan
        expected = "upgrade data-skip" if damage == "newer" else "no index of data-skip|cannot be read.*delete the folder"
        with pytest.raises(DataSkipError, match=f"(?s){expected}"):
            lake.table().create_index(MinMax("x"))
        with pytest.raises(DataSkipError):
            lake.table().refresh()
    else:
        with pytest.raises(DataSkipError, match=r"\.data_skip"):
            lake.table().create_index(MinMax("x"))
    assert sorted(path.name for path in place.rglob("*")) == kept


class MaxLength(Index):
    """A kind that only this session knows."""

    fields = {"longest": pa.int32()}

    def collect(self, *values: pa.Array) -> dict[str, Any]:
        return {"longest": max((len(v) for v in values[0].to_pylist() if v is not None), default=None)}

    def merge(self, a: dict[str, Any], b: dict[str, Any]) -> dict[str, Any]:
        return {"longest": max(a["longest"], b["longest"])}


def test_kinds_and_versions_that_the_session_does_not_know(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    lake.file("a.parquet", {"x": [1], "s": ["a"]})
    lake.file("b.parquet", {"x": [100], "s": ["bbb"]})
    table = lake.index(MinMax("x"), MaxLength("s"), ValueList("x"))
    lake.view()
    kinds = lake.skipping.catalog.knowledge.kinds
    monkeypatch.delitem(kinds, "MaxLength")
    monkeypatch.setattr(ValueList, "version", 2)
    scan = lake.check("x > 50 AND s > ''", read=["b.parquet"])
    assert any("no loaded plugin knows MaxLength" in note for note in scan.notes)
    assert any("version 1 of ValueList, this is 2" in note for note in scan.notes)
    lake.file("c.parquet", {"x": [1000], "s": ["c"]})
    with pytest.warns(DataSkipWarning, match="MaxLength|ValueList"):
        assert table.refresh().files_collected == 1
    lake.view()
    lake.check("x > 500", read=["c.parquet"])
    described = str(table.describe())
    assert "no loaded plugin knows MaxLength" in described and "version 1" in described
    table.drop_index(ValueList("x"))
    table.create_index(ValueList("x"))
    lake.check("x = 100", read=["b.parquet"])
    # Old records of a kind with parameters that its class no longer takes.
    monkeypatch.setattr(MinMax, "__init__", lambda self: None)
    lake.check("x = 100", read=["b.parquet"])


def test_index_root_elsewhere(spark: SparkSession, tmp_path: Path) -> None:
    session = spark.newSession()
    for setting in ("spark.sql.parquet.filterPushdown", "spark.sql.session.timeZone"):
        session.conf.set(setting, spark.conf.get(setting))
    skipping = data_skip.enable(session, index_root=str(tmp_path / "in dexes"))
    try:
        for name in ("one", "two", "with%20escape"):
            lake = Lake(session, skipping, tmp_path / name)
            lake.file("a.parquet", {"x": [1]})
            lake.file("b.parquet", {"x": [100]})
            lake.index(MinMax("x"))
            assert not list(tmp_path.rglob("[._]data_skip"))
            session.read.parquet(*[str(path) for path in lake.folder.glob("*.parquet")]).createOrReplaceTempView("t")
            lake.check("x > 50", read=["b.parquet"])
            lake.file("c.parquet", {"x": [7]})
            assert lake.table().refresh().files_collected == 1
        assert len(list((tmp_path / "in dexes").iterdir())) == 3
    finally:
        data_skip.disable(session)
    assert len(session.sql("SELECT * FROM t WHERE x > 50").collect()) == 1


def test_table_in_a_folder_that_deltalake_misreads_is_refused(lake: Lake) -> None:
    other = Lake(lake.spark, lake.skipping, lake.folder / "a%20b")
    other.file("a.parquet", {"x": [1]})
    with pytest.raises(DataSkipError, match="index_root"):
        other.table().create_index(MinMax("x"))
    other.view()
    other.check("x > 5", read=["a.parquet"])
    assert not (lake.folder / "a b").exists() and not list(lake.folder.parent.rglob("[._]data_skip"))


def test_the_store_is_a_table_that_others_can_read(lake: Lake) -> None:
    lake.file("a b.parquet", {"x": [1, None], "s": ["k", "l"]})
    table = lake.index(MinMax("x"), Suffix("s", 1))
    rows = DeltaTable(table.describe().location).to_pyarrow_table().to_pylist()
    assert [row["path"] for row in rows] == ["a%20b.parquet"]
    assert rows[0]["row_count"] == 2 and rows[0]["min_max__x"]["null_count"] == 1
    assert rows_of(table.metadata().select("path", "size")) == rows_of(
        lake.spark.createDataFrame([("a%20b.parquet", (lake.folder / "a b.parquet").stat().st_size)], "path string, size long")
    )
    definition = next(iter(table._store.snapshot().definitions.values()))  # type: ignore[union-attr]
    assert json.loads(definition.to_json())["kind"] == "MinMax"
    assert Definition.from_json(definition.to_json()).same_as(definition)
    assert np.array_equal(table._store.snapshot().row_counts, [2])  # type: ignore[union-attr]


def test_records_beyond_two_gigabytes(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrow's usual lists end there; all that an index keeps, and every filter, goes on with long offsets."""
    monkeypatch.setattr(delta, "_MOST_BYTES", 0)
    for i in range(3):
        lake.file(f"{i}.parquet", {"n": [10 * i, 10 * i + 1], "s": [f"a{i}", f"b{i}"]})
    indexes = [GapList("n"), BloomFilter("n"), ValueList("s"), Hybrid("n"), Prefix("s", 2), Suffix("s", 2)]
    lake.index(*indexes)
    for index in indexes:
        table = lake.table()
        table.drop_index(*indexes)
        table.create_index(index)
        lake.check("n = 11 AND s = 'b1'", read=["1.parquet"])
        assert len(table.metadata().collect()) == 3
        indexes = [index]
