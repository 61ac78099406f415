"""The index of a table in its store: sessions at once, crashes, what cannot be read, other places, other tools, compaction."""

from __future__ import annotations

import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyspark.sql import SparkSession

import data_skip
from data_skip import BloomFilter, DataSkipError, DataSkipWarning, GapList, Hybrid, Index, MinMax, Prefix, Suffix, ValueList
from data_skip.store import FileKey, parts
from data_skip.store.definition import Definition
from tests.support import Lake, rows_of


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
    table._store._found()[0].append(dead, [1] * len(dead), {field: pa.array([{}] * len(dead), field.type)})
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


def test_the_root_of_a_table_with_an_index_is_that_of_its_path(lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not listed to know that: in whatever way the path is written, Spark's scans have that root, as every refresh compares."""
    folder = tmp_path / "a b" / "p=1"
    folder.mkdir(parents=True)
    table = lake.skipping.table(str(folder.parent), schema="x LONG, p LONG", format="parquet")
    lake.spark.range(3).withColumnRenamed("id", "x").write.mode("append").parquet(str(folder))
    table.create_index(MinMax("x"))
    plain = str(folder.parent)
    with monkeypatch.context() as patch:
        patch.setattr("data_skip.building.source.state_of", None)
        spelled = [lake.skipping.table(path) for path in (plain, f"{plain}/", plain.replace("/a b", "//a b"), f"file:{plain}")]
    for one in spelled:
        assert one.refresh().files_collected == 0
        assert one.read("snapshot").where("x = 1").count() == 1
    assert {one.root for one in spelled} == {table.root}
    shutil.rmtree(folder.parent)
    with pytest.raises(DataSkipError, match="cannot be read"):
        spelled[0].refresh()


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


@pytest.mark.long
def test_records_beyond_two_gigabytes(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrow's usual lists end there; all that an index keeps, and every filter, goes on with long offsets."""
    monkeypatch.setattr(parts, "MOST_AT_ONCE", 0)
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
