"""Where indexes may be kept, and who may look at them: roots that are no place, inside of a table, relative, or not to be seen."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from data_skip import DataSkipError, MinMax, Skipping
from data_skip.cli.offline import LocalTable
from data_skip.planning.catalog import Catalog, places_of
from data_skip.store import DeltaStore, StoreError
from tests.support import Lake
from tests.test_store import column, key, records, store

__all__ = ["store"]  # fixtures


@pytest.mark.parametrize(
    ("root", "index_root", "inside"),
    [
        ("file:/lake/t", "/lake/t", True),
        ("file:/lake/t", "file:///lake/t/indexes", True),
        ("file:/lake/t", "/lake/t/p=0/", True),
        ("file:/lake/t", "/lake/t/_x=1", True),
        ("file:/lake/t", "/lake/t/_indexes", False),
        ("file:/lake/t", "/lake/t/a/.indexes/b", False),
        ("file:/lake/t", "/lake", False),
        ("file:/lake/t", "/lake/t2", False),
        ("s3a://lake/a%20b", "s3://lake/a b/x", True),
        ("s3a://lake/t", "s3a://lake/u", False),
        ("s3a://lake/t", "S3A://lake/u/../t/x", True),
        ("s3a://lake", "s3a://lake/indexes", True),
        ("abfss://c@a.dfs.core.windows.net/t", "abfs://c@a.dfs.core.windows.net/t/x", True),
        ("hdfs://n/t", "hdfs://n:8020/t/x", True),
        ("file:/lake/Pe%20%2541", "/lake/Pe %41/x", True),
    ],
)
def test_no_index_is_made_in_its_table(root: str, index_root: str, inside: bool) -> None:
    """Nobody could read the table any more: its folders were others than those of partitions."""
    assert bool(places_of(root, index_root, None)._why_none) == inside


def test_an_index_root_in_the_table(lake: Lake, skipping: Skipping, monkeypatch: pytest.MonkeyPatch) -> None:
    lake.file("p=0/a.parquet", {"x": [1]})
    link = lake.folder.parent / "link"
    link.symlink_to(lake.folder)
    (lake.folder.parent / "elsewhere").mkdir()
    (lake.folder / "out").symlink_to(lake.folder.parent / "elsewhere")  # which Spark follows as it lists
    for index_root in (f"{lake.folder}/indexes", f"{link}/indexes", f"{lake.folder}/out"):
        monkeypatch.setattr(skipping.catalog, "_indexes", index_root)
        monkeypatch.setattr(skipping.catalog, "_stores", {})
        with pytest.raises(DataSkipError, match=r"lies in the table .*; name a folder outside"):
            lake.table().create_index(MinMax("x"))
        assert sorted(os.listdir(lake.folder)) == ["out", "p=0"]


@pytest.mark.parametrize("of", ["", "_delta_log", "_delta_log/00000000000000000002.json"])
def test_an_index_that_may_not_be_seen_is_there(store: DeltaStore, monkeypatch: pytest.MonkeyPatch, of: str) -> None:
    """It counted as none, and as current; and who may not read it was told to delete it."""
    for version in (1, 2):
        store.append([key("a", version)], [1], {column("x"): records(1)})
    reader = DeltaStore(store.uri)
    if of.endswith(".json"):
        assert reader.snapshot() is not None
        store.append([key("b")], [1], {column("x"): records(1)})
        of = "_delta_log/00000000000000000003.json"
    stat, listing = os.stat, os.scandir

    def denied(path: Any, *more: Any, **named: Any) -> Any:
        if isinstance(path, str) and path.startswith(f"{store.location}/{of}".rstrip("/")):
            raise PermissionError(13, "Permission denied", path)
        return stat(path, *more, **named)

    def unlisted(path: Any) -> Any:
        if isinstance(path, str) and path.startswith(store.location):
            raise PermissionError(13, "Permission denied", path)
        return listing(path)

    monkeypatch.setattr(os, "stat", denied)
    monkeypatch.setattr(os, "scandir", unlisted)
    for asked in (reader.snapshot, reader.history, lambda: reader.snapshot(0.0, time.perf_counter() + 60)):
        with pytest.raises(StoreError, match=r"Permission denied.*; ask for the right to read it"):
            asked()
    for write in (reader.compact, lambda: reader.vacuum(24)):
        with pytest.raises(StoreError, match="Permission denied"):
            write()


def test_a_query_of_an_index_that_may_not_be_seen(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    for i in range(2):
        lake.file(f"{i}.parquet", {"x": [i]})
    lake.index(MinMax("x"))
    stat = os.stat
    denied = [True]

    def asked(path: Any, *more: Any, **named: Any) -> Any:
        if denied[0] and isinstance(path, str) and ".data_skip" in path:
            raise PermissionError(13, "Permission denied", path)
        return stat(path, *more, **named)

    monkeypatch.setattr(os, "stat", asked)
    lake.check("x = 1", read=["0.parquet", "1.parquet"], errors=True)
    assert "ask for the right to read it" in str(lake.skipping.report())
    denied[0] = False
    lake.check("x = 1", read=["1.parquet"])


def test_a_relative_index_root_is_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A notebook goes to another folder."""
    monkeypatch.chdir(tmp_path)
    catalog = Catalog("indexes")
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    assert catalog.index_root == "indexes" and catalog.store("file:/t").uri.startswith(f"{tmp_path}/indexes/")
    assert Catalog("s3a://b/x").store("file:/t").uri.startswith("s3a://b/x/")


@pytest.mark.parametrize("index_root", ["hdfs:/indexes", "s3a:/bucket/indexes", "file:indexes"])
def test_an_index_root_that_is_no_place(index_root: str) -> None:
    with pytest.raises(DataSkipError, match="is no folder"):
        Catalog(index_root)


@pytest.mark.parametrize("index_root", ["/", "file:/", "s3a://", "file://localhost/indexes"])
def test_an_index_root_that_names_no_folder(index_root: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The root of all was taken for none, and indexes lay beside the data; others for folders called `file:`, `s3a:` and `localhost`."""
    monkeypatch.chdir(tmp_path)
    for name_it in (Catalog, lambda index_root: LocalTable(str(tmp_path), index_root)):
        with pytest.raises(DataSkipError, match="is no folder"):
            name_it(index_root)


@pytest.mark.parametrize("index_root", ["~/indexes", "FILE:{home}/indexes", "indexes"])
def test_where_an_index_root_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, index_root: str) -> None:
    """As the user's shell has it, to all libraries, whatever the folder is later in which the process is."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    store = places_of("file:/table", index_root.format(home=tmp_path), None)
    monkeypatch.chdir("/")
    assert store.snapshot() is None
    assert Path(store.location).parents[0] == tmp_path / "indexes"


@pytest.fixture
def work_place(spark: SparkSession, tmp_path: Path) -> Iterator[Path]:
    """The folder to which paths are relative, in Spark."""
    files = spark._jvm.org.apache.hadoop.fs.FileSystem.get(spark._jsparkSession.sessionState().newHadoopConf())  # type: ignore[union-attr]
    before = files.getWorkingDirectory()
    files.setWorkingDirectory(spark._jvm.org.apache.hadoop.fs.Path(str(tmp_path)))  # type: ignore[union-attr]
    yield tmp_path
    files.setWorkingDirectory(before)


@pytest.mark.parametrize("name", ["web-logs", "of two words", "a.b.c.d", "x;y"])
def test_a_folder_whose_name_no_table_can_have(lake: Lake, skipping: Skipping, work_place: Path, name: str) -> None:
    """The catalog does not say that it has no such table: it fails."""
    lake.folder.rename(work_place / name)
    lake.folder = work_place / name
    lake.file("a.parquet", {"x": [1]})
    lake.file("b.parquet", {"x": [2]})
    assert skipping.table(name).create_index(MinMax("x")).files_collected == 2
    lake.check("x = 1", read=["a.parquet"])
