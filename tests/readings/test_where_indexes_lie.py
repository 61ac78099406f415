"""Where an index lies: no glob below the table meets it, whoever globs."""

from __future__ import annotations

import glob
import os
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from data_skip import DataSkipError, MinMax, ValueList
from data_skip.planning.catalog import Catalog
from data_skip.store import DeltaStore, Places
from data_skip.store.definition import Definition
from data_skip.store.delta import definition_field
from tests.support import Lake, aged


def lines(lake: Lake, folder: str = "") -> None:
    for name, words in (("a", "k"), ("b", "l")):
        path = lake.folder / folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{words}\n" * 5)
        aged(path)


def test_globs_below_a_table_do_not_meet_its_index(lake: Lake) -> None:
    lines(lake)
    lake.index(ValueList("value"), format="text")
    read = lake.spark.read
    for below in ("", "/*", "/**", "/?*"):
        assert read.text(f"{lake.folder}{below}").count() == 10, below
    assert len(glob.glob(f"{lake.folder}/**", recursive=True)) == 3
    assert [p for p in lake.folder.rglob("*") if p.name not in "ab"] == []
    assert len(ds.dataset(str(lake.folder), format="csv").files) == 2
    lake.view(format="text")
    lake.check("value = 'k'", read=["a"])


def test_globs_over_several_tables(lake: Lake) -> None:
    lines(lake, "day")
    lines(lake, "deep/p=1")
    for table in ("day", "deep", "deep/p=1"):
        place = lake.skipping.table(str(lake.folder / table), format="text")
        place.create_index(ValueList("value"))
        assert not Path(place.describe().location).is_relative_to(lake.folder / "deep")
    read = lake.spark.read
    assert read.text(f"{lake.folder}/*/").count() == 20
    assert read.text(f"{lake.folder}/*/*").count() == 20
    assert read.text(f"{lake.folder}/deep/*").count() == 10
    assert [p for p in glob.glob(f"{lake.folder}/**", recursive=True) if "data_skip" in p] == []


def test_an_index_survives_overwriting_and_serves_only_its_own_files(lake: Lake) -> None:
    lake.file("a.parquet", {"x": [1]})
    table = lake.index(MinMax("x"), ValueList("x"))
    lake.spark.range(5).selectExpr("id AS x").write.mode("overwrite").parquet(str(lake.folder))
    lake.view()
    assert lake.check("x = 77").files_read > 0
    for path in lake.folder.glob("part-*"):
        aged(path)
    assert table.refresh().files_collected > 0
    lake.view()
    lake.check("x = 77", read=[])
    # Another table in its place: none of its files is known, so that nothing "exists already", and nothing says how to read it.
    shutil.rmtree(lake.folder)
    lake.folder.mkdir()
    lines(lake)
    lake.index(ValueList("value"), format="text")
    shutil.rmtree(lake.folder)
    lake.file("b.parquet", {"x": [1]})
    lake.index(MinMax("x"))
    lake.view()
    lake.check("x = 77", read=[])


def test_an_index_inside_of_its_table_is_found(lake: Lake) -> None:
    """Where earlier versions kept it."""
    lake.file("a.parquet", {"x": [1]})
    lake.file("b.parquet", {"x": [100]})
    table = lake.index(MinMax("x"))
    shutil.move(table.describe().location, lake.folder / "_data_skip")
    lake.skipping.catalog._stores.clear()
    lake.view()
    lake.check("x > 50", read=["b.parquet"])
    lake.file("c.parquet", {"x": [7]})
    assert lake.table().refresh().files_collected == 1
    lake.view()
    lake.check("x > 50", read=["b.parquet"])
    with pytest.raises(DataSkipError, match="exists already"):
        lake.table().create_index(MinMax("x"))


def test_an_index_is_made_inside_where_nothing_may_be_written_beside(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    lake.file("a.parquet", {"x": [1]})
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path).is_relative_to(lake.folder))
    table = lake.index(MinMax("x"))
    assert Path(table.describe().location) == lake.folder / "_data_skip"
    lake.view()
    lake.check("x > 50", read=[])


def test_places_of_tables() -> None:
    catalog = Catalog(None)
    uris = {root: catalog.store(root).uri for root in ("s3a://b/t", "s3a://b", "file:/t", "file:/d/t/p=1", "file:/d/t", "file:/d/a%20b")}
    assert uris["s3a://b/t"] == "s3a://b/.data_skip/_t/_index"
    assert uris["s3a://b"] == "s3a://b/_data_skip"
    assert uris["file:/t"] == "file:/t/_data_skip"
    assert uris["file:/d/t"] == "file:/d/.data_skip/_t/_index"
    assert uris["file:/d/t/p=1"].startswith("file:/d/.data_skip/_t_p_1-")
    assert "%" not in uris["file:/d/a%20b"]


def test_a_first_commit_on_object_storage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A place seen to be empty is not asked again for a while; but whoever writes there must not believe that memory."""
    monkeypatch.setattr(DeltaStore, "location", f"file://{tmp_path}/index")
    store = DeltaStore("s3://elsewhere")
    assert store.snapshot() is None
    reader = {"format": "parquet", "options": {}, "columns": [], "session": {}}
    field = definition_field("min_max__x", pa.struct({"min": pa.int64()}), Definition("MinMax", ("x",), {}, 1, (), reader))
    store.append([], [], {field: pa.array([], field.type)})
    snapshot = store.snapshot()
    assert snapshot is not None and list(snapshot.definitions) == ["min_max__x"]


def test_a_place_beside_that_denies_is_left_for_the_one_inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from data_skip.store import StoreError

    denied, inside = f"file:{tmp_path}/beside", f"file:{tmp_path}/inside"
    append = DeltaStore.append

    def deny(self: DeltaStore, *what: object) -> None:
        if self.uri == denied:
            raise StoreError("403 AccessDenied")
        append(self, *what)  # type: ignore[arg-type]

    monkeypatch.setattr(DeltaStore, "append", deny)
    places = Places([denied, inside])
    reader = {"format": "parquet", "options": {}, "columns": [], "session": {}}
    field = definition_field("min_max__x", pa.struct({"min": pa.int64()}), Definition("MinMax", ("x",), {}, 1, (), reader))
    places.append([], [], {field: pa.array([], field.type)})
    assert places.location == f"{tmp_path}/inside" and places.snapshot() is not None
