"""Tables that are renamed, moved, or give their name or folder to others, and by whom their indexes are refreshed."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from data_skip import DataSkipError, MinMax
from data_skip.building.index_report import IndexReport
from data_skip.planning import bounded
from tests.readings.files.support import passing
from tests.readings.support import xs
from tests.support import Lake, rows_of


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    return passing(monkeypatch)


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


def test_a_table_that_was_moved_is_another_place(lake: Lake) -> None:
    """The files of the new location must not get records in the index of the old one."""
    places = [lake.folder / "here", lake.folder / "there"]
    for place, x in zip(places, (1, 2), strict=True):
        place.mkdir()
        pq.write_table(pa.table({"x": [x]}), place / "file")
        os.utime(place / "file", (1_700_000_000.123,) * 2)
    spark = lake.spark
    spark.sql(f"CREATE TABLE again_moved (x BIGINT) USING parquet LOCATION '{places[0]}'")
    try:
        table = lake.skipping.table("again_moved")
        spark.sql(f"ALTER TABLE again_moved SET LOCATION '{places[1]}'")
        with pytest.raises(DataSkipError, match="no longer at"):
            table.create_index(MinMax("x"))
        lake.skipping.table("again_moved").create_index(MinMax("x"))
        assert rows_of(spark.table("again_moved").where("x = 1")) == {}
        assert rows_of(spark.read.parquet(str(places[0])).where("x = 1")) == {"Row(x=1)": 1}
    finally:
        spark.sql("DROP TABLE again_moved")


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
