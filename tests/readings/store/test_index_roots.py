"""What a reader of the store's operations found: where indexes may lie, who may look at them, what others do to their files."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from data_skip import DataSkipError, MinMax, Skipping
from data_skip.building import indexing
from data_skip.building.index_report import IndexReport
from data_skip.planning import bounded
from data_skip.planning.catalog import Catalog, places_of
from data_skip.store import DeltaStore, StoreError
from data_skip.store.environment import asks_otherwise, with_endpoint
from data_skip.store.storage_options import StorageOptions
from tests.support import Lake
from tests.test_store import READER, column, key, records, store

__all__ = ["store"]


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


def test_a_copy_is_not_swept_again_and_again(store: DeltaStore, tmp_path: Path) -> None:
    """Its files are younger than what its log says of them."""
    old = time.time() - 20 * 86_400
    for version in (1, 2):
        store.append([key("a", version)], [1], {column("x"): records(1)})
    store.compact()
    log = Path(store.location) / "_delta_log"
    for commit in log.glob("*.json"):
        commit.write_text(commit.read_text().replace('"deletionTimestamp":', f'"deletionTimestamp":{int(old * 1000)},"was":'))
    for file in Path(store.location).rglob("*"):
        os.utime(file, (old, old))
    shutil.copytree(store.location, tmp_path / "copy", copy_function=shutil.copy)
    copy = DeltaStore(f"file:{tmp_path}/copy")
    before = copy.snapshot()
    assert copy.vacuum(24, dry_run=True) == copy.vacuum(24) == []
    assert before is not None and copy.snapshot() is before
    told = store.vacuum(24, dry_run=True)
    assert len(told) == 2 and sorted(store.vacuum(24)) == sorted(told)


def test_what_others_may_do_to_its_log(store: DeltaStore) -> None:
    """A month of it was kept, each commit of which is looked at by whoever opens it."""
    store.append([key("a")], [1], {column("x"): records(1)})
    assert DeltaTable(store.location).metadata().configuration["delta.logRetentionDuration"] == "interval 8 days"


def test_the_endpoint_of_s3_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """For deltalake it goes before the endpoint that it is given."""
    options = {"aws_endpoint": "http://127.0.0.1:1", "aws_region": "x"}
    assert with_endpoint(options) == options
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:2")
    assert with_endpoint(options) == options | {"aws_endpoint_url_s3": "http://127.0.0.1:1"}
    assert with_endpoint({"aws_region": "x"}) == {"aws_region": "x"}


def test_a_log_that_was_copied_onto_that_of_a_copy(store: DeltaStore, tmp_path: Path) -> None:
    """Its commits, and those that only the copy had, are of one table: records were read by the definition of the other."""
    store.append([key("a")], [1], {column("x"): records(1)})
    copy = DeltaStore(f"file:{tmp_path}/copy")
    shutil.copytree(store.location, copy.location)
    copy.drop("x")
    copy.append([key("a")], [1], {column("x", READER | {"options": {"mergeSchema": "true"}}): records(2)})
    assert copy.snapshot() is not None
    store.append([key("b")], [1], {column("x"): records(3)})
    shutil.copytree(store.location, copy.location, dirs_exist_ok=True)
    with pytest.raises(StoreError, match="has records of x by another definition, as in a log that was copied"):
        DeltaStore(copy.uri).snapshot()


def test_a_table_that_cannot_be_listed_once_it_is_indexed(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was committed is told."""
    lake.file("a.parquet", {"x": [1]})

    def fails(*_: Any, **__: Any) -> None:
        raise DataSkipError("the files of t cannot be listed")

    monkeypatch.setattr(indexing, "_agree", fails)
    with pytest.raises(DataSkipError, match=r"cannot be listed; 1 file is indexed, refresh\(\) goes on"):
        lake.table().create_index(MinMax("x"))


def test_what_is_told_of_deltalake(monkeypatch: pytest.MonkeyPatch) -> None:
    options = StorageOptions({"aws_secret_access_key": "secret"})
    assert options.shown("Generic S3 error\n   \x1b[31m\u21b3\x1b[0m Error of secret") == "Generic S3 error Error of ***"


def test_another_identity_of_azure(monkeypatch: pytest.MonkeyPatch) -> None:
    """deltalake takes that of the environment before the one of the machine."""
    assert not asks_otherwise({"azure_client_id": "x"}, "abfss")
    monkeypatch.setenv("AZURE_CLIENT_SECRET", "of the environment")
    assert asks_otherwise({"azure_client_id": "x"}, "abfss") == "AZURE_CLIENT_SECRET"
    assert not asks_otherwise({"azure_client_secret": "y"}, "abfss")


def test_a_relative_index_root_is_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A notebook goes to another folder."""
    monkeypatch.chdir(tmp_path)
    catalog = Catalog("indexes")
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    assert catalog.index_root == "indexes" and catalog.store("file:/t").uri.startswith(f"{tmp_path}/indexes/")
    assert Catalog("s3a://b/x").store("file:/t").uri.startswith("s3a://b/x/")


def test_a_table_that_was_moved(lake: Lake) -> None:
    """Commands worked at the old place, without a word."""
    lake.file("a.parquet", {"x": [1]})
    lake.index(MinMax("x"))
    lake.spark.sql(f"CREATE TABLE was_moved (x BIGINT) USING parquet LOCATION '{lake.folder}'")
    try:
        table = lake.skipping.table("was_moved")
        table.history()
        lake.spark.sql(f"ALTER TABLE was_moved SET LOCATION '{lake.folder.parent / 'elsewhere'}'")
        for command in (table.compact, table.vacuum, table.history):
            with pytest.raises(DataSkipError, match="ask for it again"):
                command()
    finally:
        lake.spark.sql("DROP TABLE was_moved")


def test_a_refresh_that_takes_long_to_fail_is_not_tried_by_each_query(monkeypatch: pytest.MonkeyPatch) -> None:
    """As of one who may not write, who collects all new files first."""
    moment, tried = [1000.0], [0]
    monkeypatch.setattr(bounded, "now", lambda: moment[0])

    def refresh() -> IndexReport:
        tried[0] += 1
        moment[0] += 7
        raise DataSkipError("cannot be written")

    kept = bounded.Bounded(3600)
    kept.refreshed_by("t", refresh)
    for _ in range(3):
        with pytest.raises(DataSkipError, match=r"older than 3600 s and cannot be refreshed: cannot be written"):
            kept.bring_up_to_date()
    assert tried == [1]
    moment[0] += 61
    with pytest.raises(DataSkipError):
        kept.bring_up_to_date()
    assert tried == [2]
    kept.refreshed_by("another way", lambda: IndexReport("t", ["MinMax(x)"]))  # which is tried at once
    kept.bring_up_to_date()
    assert tried == [3]


def test_an_index_that_is_put_back_after_a_refresh_in_the_background(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the query had seen that began the refresh was there again: that counted as what the refresh left."""
    moment = [1000.0]
    monkeypatch.setattr(bounded, "now", lambda: moment[0])
    first, second = (1, "table", frozenset({"a"}), ""), (2, "table", frozenset({"a", "b"}), "")
    last = [first]
    kept = bounded.Bounded(20, lambda: last[0])
    kept.refreshed_by("t", lambda: IndexReport("t", ["MinMax(x)"]))
    kept.bring_up_to_date()
    assert not kept.was_put_back(first)
    moment[0] += 15
    last[0] = second
    kept.bring_up_to_date()
    running = kept._running
    if running is not None:
        running.join()
    assert kept.was_put_back(first), "by a copy"
    assert not kept.was_put_back(first)
