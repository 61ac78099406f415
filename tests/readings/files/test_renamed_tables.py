"""The fifty-third reading: parts of one folder, a folder that is a table's no longer, and what a killed writer left of an index at rest."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from data_skip import DataSkipError, MinMax
from tests.readings.store.test_put_back import passing, xs
from tests.support import Lake, settings_of

FRESHNESS = "spark.data_skip.freshness"


def test_who_reads_folders_that_are_no_partitions_has_an_age_of_his_own(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was refreshed by who does not read them was taken for all of it."""
    passes = passing(monkeypatch)
    lake.file("a.parquet", {"x": [1]})
    lake.file("sub/b.parquet", {"x": [2]})
    deep = lake.table(format="parquet", options={"recursiveFileLookup": "true"})
    deep.create_index(MinMax("x"))
    flat, whole = lake.table(format="parquet").read("bounded(5)"), deep.read("bounded(5)")
    assert (xs(flat), xs(whole)) == ([1], [1, 2])
    lake.file("sub/c.parquet", {"x": [3]})
    for _ in range(2):
        passes()
        assert (xs(flat.select("x")), xs(whole.select("x"))) == ([1], [1, 2, 3])


@pytest.fixture
def parted(lake: Lake) -> Any:
    lake.file("p=1/a.parquet", {"x": [1]})
    lake.file("p=2/b.parquet", {"x": [2]})
    for name, parts in {"all_parts": (1, 2), "one_part": (2,)}.items():
        lake.spark.sql(f"CREATE TABLE {name} (x BIGINT, p INT) USING parquet PARTITIONED BY (p) LOCATION '{lake.folder}'")
        for part in parts:
            lake.spark.sql(f"ALTER TABLE {name} ADD PARTITION (p={part})")
    lake.index(MinMax("x"))
    yield lake
    for name in ("all_parts", "one_part"):
        lake.spark.sql(f"DROP TABLE {name}")


@pytest.mark.parametrize("other", ["parquet.`{folder}`", "one_part"])
def test_parts_of_a_folder_in_one_query(parted: Lake, monkeypatch: pytest.MonkeyPatch, other: str) -> None:
    """The version that the first was given was also given to the second, which had not been refreshed for it."""
    passes = passing(monkeypatch)
    sql = f"SELECT x FROM all_parts UNION ALL SELECT x FROM {other.format(folder=parted.folder)}"
    with settings_of(parted.spark, {FRESHNESS: "bounded(5)"}):
        assert parted.spark.sql(sql).count() == (4 if "folder" in other else 3)
        for i in range(3):
            parted.file(f"p=2/{i}.parquet", {"x": [10 + i]})
            passes()
            with parted.skipping.disabled():
                expected = xs(parted.spark.sql(sql))
            assert xs(parted.spark.sql(sql)) == expected and expected.count(10 + i) == 2


def test_what_a_killed_writer_left_of_an_index_at_rest(lake: Lake) -> None:
    """How long nobody has written was taken for how far clocks are apart: it was told, and never deleted."""
    lake.file("a.parquet", {"x": [1]})
    table = lake.index(MinMax("x"))
    folder = Path(lake.folder, ".data_skip/_/_/_")
    left = folder / "part-00000-killed.snappy.parquet#1"
    left.write_bytes(b"PAR1")
    for path in folder.rglob("*"):
        os.utime(path, (time.time() - 10 * 86_400,) * 2)
    assert table.vacuum(1, dry_run=True) == [left.name] == table.vacuum(1)
    assert not left.exists()


@pytest.mark.parametrize("name", ["v1", "a b", "100%", "ü+1"])
def test_a_table_that_lies_elsewhere_by_now(lake: Lake, name: str, tmp_path: Path) -> None:
    """The index of where it lay was dropped, and it was said that it was done."""
    for folder in (f"{name}", f"{name}-new"):
        lake.spark.range(1, 2).selectExpr("id AS x").write.parquet(f"{tmp_path}/{folder}")
        lake.skipping.table(f"{tmp_path}/{folder}").create_index(MinMax("x"))
    lake.spark.sql(f"CREATE TABLE moved (x BIGINT) USING parquet LOCATION '{tmp_path}/{name}'")
    try:
        table = lake.skipping.table("moved")
        assert xs(table.read("snapshot")) == [1]
        lake.spark.sql(f"ALTER TABLE moved SET LOCATION '{tmp_path}/{name}-new'")
        for step in (lambda: table.drop_index(MinMax("x")), lambda: table.read("snapshot"), lambda: table.read("bounded(5)")):
            with pytest.raises(DataSkipError, match="no longer at"):
                step()
        assert len(lake.skipping.table(f"{tmp_path}/{name}").describe().rows) == 1
        lake.skipping.table("moved").drop_index(MinMax("x"))
        assert len(lake.skipping.table(f"{tmp_path}/{name}-new").describe().rows) == 0
    finally:
        lake.spark.sql("DROP TABLE moved")


def test_a_table_in_whose_place_is_a_view(lake: Lake) -> None:
    lake.file("a.parquet", {"x": [1]})
    lake.index(MinMax("x"))
    lake.spark.sql(f"CREATE TABLE was_table (x BIGINT) USING parquet LOCATION '{lake.folder}'")
    table = lake.skipping.table("was_table")
    lake.spark.sql("DROP TABLE was_table")
    lake.spark.sql(f"CREATE VIEW was_table AS SELECT x FROM parquet.`{lake.folder}`")
    try:
        with pytest.raises(DataSkipError, match="but a view"):
            table.read("snapshot")
    finally:
        lake.spark.sql("DROP VIEW was_table")


def test_a_bounded_frame_of_a_table_that_was_renamed(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its name of before was taken for a path, of nothing; nobody else reads it."""
    passes = passing(monkeypatch)
    lake.file("a.parquet", {"x": [1]})
    lake.index(MinMax("x"))
    lake.spark.sql(f"CREATE TABLE named (x BIGINT) USING parquet LOCATION '{lake.folder}'")
    try:
        frame = lake.skipping.table("named").read("bounded(5)")
        assert xs(frame.select("x")) == [1]
        lake.spark.sql("ALTER TABLE named RENAME TO named_anew")
        lake.file("b.parquet", {"x": [2]})
        passes()
        assert xs(frame.select("x")) == [1, 2]
    finally:
        lake.spark.sql("DROP TABLE IF EXISTS named")
        lake.spark.sql("DROP TABLE IF EXISTS named_anew")


@pytest.mark.parametrize("broken", [1, 12])
def test_files_that_cannot_be_read_keep_no_refresh_from_what_else_is_new(lake: Lake, monkeypatch: pytest.MonkeyPatch, broken: int) -> None:
    """A killed writer left it, and nobody reads it: each refresh failed, and what is read by the files of the index with it."""
    passes = passing(monkeypatch)
    for i in (1, 2):
        lake.file(f"p=1/{i}.parquet", {"x": [i]})
    table = lake.index(MinMax("x"))
    snapshot, bounded = (table.read(contract).where("p = 1").select("x") for contract in ("snapshot", "bounded(5)"))
    (lake.folder / "p=9").mkdir()
    for i in range(broken):
        lake.bytes(f"p=9/half{i}.parquet", b"PAR1half")
    for report in (table.refresh(), table.refresh()):
        assert (report.files_collected, report.files_unreadable) == (0, broken)
    (lake.folder / "p=1/1.parquet").unlink()
    lake.file("p=1/3.parquet", {"x": [3]})
    table.refresh()
    assert xs(snapshot) == [2, 3]
    lake.file("p=1/4.parquet", {"x": [4]})
    passes()
    assert xs(bounded) == [2, 3, 4]
    for path in (lake.folder / "p=1").iterdir():
        path.unlink()
    lake.file("p=1/5.parquet", {"x": [5]})
    assert table.refresh().files_collected == 1
    refreshed = table.ensure_index(MinMax("x")).refreshed
    assert refreshed is not None and refreshed.files_unreadable == broken


def test_a_compaction_of_an_index_without_indexes_is_told_as_one(lake: Lake) -> None:
    lake.file("a.parquet", {"x": [1]})
    table = lake.index(MinMax("x"))
    table.drop_index(MinMax("x"))
    table.compact()
    assert [step.action for step in table.history()][2:] == ["dropped", "compacted"]


def test_files_that_stand_for_themselves_beside_others_of_a_partition(parted: Lake) -> None:
    """Spark reads a file whose name begins with `_` where that has a `=`: it hid all others of its folder, or they hid it."""
    for name in ("_c=1", "_c=2", "_c"):
        parted.file(f"p=2/{name}.parquet", {"x": [int(name[-1]) + 2 if "=" in name else 9]})
    table = parted.skipping.table("all_parts")
    table.refresh()
    assert xs(table.read("listing")) == xs(table.read("snapshot")) == xs(table.read("bounded(5)")) == [1, 2, 3, 4]


@pytest.mark.parametrize("folders", [("_v2/p=1", ".v3/p=2"), ("p=1._COPYING_", "v._COPYING_/p=2")])
def test_partitions_in_folders_that_spark_does_not_list(parted: Lake, folders: tuple[str, str]) -> None:
    """A refresh of the folder took their files for gone, and who reads the folder by the files of the index was given them."""
    parted.file(f"{folders[0]}/c.parquet", {"x": [3]})
    hidden = parted.file(f"{folders[1]}/d.parquet", {"x": [4]})
    for part, folder in enumerate(folders, 1):
        parted.spark.sql(f"ALTER TABLE all_parts PARTITION (p={part}) SET LOCATION '{parted.folder}/{folder}'")
    by_name, by_path = parted.skipping.table("all_parts"), parted.table()
    by_name.refresh()
    for _ in range(2):
        assert xs(by_name.read("snapshot").select("x")) == [3, 4]
        assert xs(by_path.read("snapshot").select("x")) == [1, 2]
        by_path.refresh()
    hidden.unlink()
    by_path.refresh()
    assert xs(by_name.read("snapshot").select("x")) == [3]
