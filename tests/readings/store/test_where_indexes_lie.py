"""Where an index lies: no glob below the table meets it, whoever globs."""

from __future__ import annotations

import glob
import shutil
import subprocess
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from data_skip import DataSkipError, MinMax, ValueList
from data_skip.store import DeltaStore
from data_skip.store.definition import Definition
from data_skip.store.layout import definition_field
from tests.support import Lake, aged, files_read


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
    for below in ("", "/*", "/**", "/?*", "/{*,a}"):
        assert read.text(f"{lake.folder}{below}").count() == 10, below
    assert read.option("recursiveFileLookup", "true").text(f"{lake.folder}/*").count() == 10
    assert sorted(glob.glob(f"{lake.folder}/**", recursive=True)) == [f"{lake.folder}/", f"{lake.folder}/a", f"{lake.folder}/b"]
    assert subprocess.run(["bash", "-c", f"cat {lake.folder}/* | wc -l"], capture_output=True, check=True).stdout.strip() == b"10"
    assert len(ds.dataset(str(lake.folder), format="csv").files) == 2
    lake.view(format="text")
    lake.check("value = 'k'", read=["a"])


def test_globs_below_a_table_with_partitions(lake: Lake) -> None:
    lines(lake, "p=1/q=1")
    lines(lake, "p=1/q=2")
    lake.skipping.table(str(lake.folder / "p=1" / "q=2"), format="text").create_index(ValueList("value"))
    lake.index(ValueList("value"), format="text")
    for below in ("", "/*", "/*/*", "/*/*/*", "/p=*/*", "/*/q=2/*", "/p=1/q=2/*"):
        assert lake.spark.read.text(f"{lake.folder}{below}").count() == (10 if "q=2" in below else 20), below
    assert [path for path in glob.glob(f"{lake.folder}/**", recursive=True) if "data_skip" in path] == []


def test_a_table_whose_scheme_is_written_in_other_letters(lake: Lake) -> None:
    """Hadoop takes it for the same, and lists files by its own: none lay below the root, so that no index was made, nor used."""
    for i in range(2):
        lake.file(f"{i}.parquet", {"x": [i]})
    written = f"FILE:{lake.folder}"
    assert lake.skipping.table(written).create_index(MinMax("x")).files_collected == 2
    assert lake.skipping.table(written).describe().location == lake.table().describe().location
    for path in (written, str(lake.folder)):
        for frame in (lake.spark.read.parquet(path), lake.skipping.table(path).read("snapshot")):
            assert files_read(lake.skipping, frame.where("x = 1"), lake.folder) == {"1.parquet"}, path


def test_an_index_where_it_was_kept_before_is_found(lake: Lake) -> None:
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
