"""What readers of the building of indexes and of the store's writers found: counts of NULLs in footers, links, `~`; and the claims lab."""

from __future__ import annotations

import base64
import os
import shutil
import zlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from data_skip import BloomFilter, DataSkipError, DataSkipWarning, MinMax, ValueList
from data_skip.footer import Footer
from data_skip.planning.catalog import Catalog, places_of
from data_skip.store import DeltaStore, StoreError, delta
from tests.support import Lake, aged, files_read, settings_of

# items: list<struct<price: bigint>>, [[{1}], []], by pyarrow 25.0.1: its footer counts no NULL, and two values.
BY_ARROW_25 = (
    "c-oaxu};G<5Iq~$WMJuVku7D&(x^yoMUk>)VPjyZ7+6shEMX~WgA?GN82J`Hh;u?jB`T!aC;R;F{O<YW?aloL0Sy|1f*gr5Q4xo6sEGY|F)WXu^EoX67Hop1"
    "q`#!>C@K4glqSI01;7+Sq3ax!?5bzmlqd*TaK+sd<Xp{MZ<`J|%DaMcbD>1-x*mB5p4-|sb{9^=omuN$Wg!+i(I$h0m=_Xs;6g&<4@Q<n#Yw%;35IubC@!VW"
    "2KB$xx1+v6)1+opaZvD+6(=?7pkgLKKZL#oY4I12MHbNp%d{>1%d72IRokvg@AvQNoAsUB@6zjheYM_blK_yxBQbC3Lwo}Vf;r&"
)


@pytest.mark.parametrize("index", [MinMax("items.price"), BloomFilter("items.price")])
def test_nulls_of_lists_of_structs(lake: Lake, index: MinMax | BloomFilter) -> None:
    """Arrow 12 to 25 counts no NULL for an array without elements (apache/arrow#51097), so such a file was skipped."""
    path = lake.folder / "a.parquet"
    path.write_bytes(zlib.decompress(base64.b85decode(BY_ARROW_25)))
    aged(path)
    assert lake.table().create_index(index).files_lifted == 0
    lake.view()
    lake.check("forall(items.price, p -> p > 100)", read=["a.parquet"])
    lake.check("NOT exists(items.price, p -> p < 100)", read=["a.parquet"])
    lake.check("exists(items.price, p -> p = 100)", read=[])


@pytest.mark.parametrize("name", ["at=01%3A00", "a[b", "a\x7fb"])
def test_a_link_to_a_folder_that_deltalake_misreads(lake: Lake, name: str) -> None:
    """deltalake follows links first. Version 0 was written, and each query told of an index that cannot be read."""
    real = lake.folder.parent / name
    lake.folder.rename(real)
    lake.folder.symlink_to(real)
    lake.file("a.parquet", {"x": [1]})
    with pytest.raises(DataSkipError, match=r"deltalake cannot read nor write .*index_root"):
        lake.table().create_index(MinMax("x"))
    assert not list(lake.folder.glob(".data_skip/**/*.json"))
    lake.view()
    lake.spark.sql("SELECT * FROM t WHERE x = 2").collect()
    assert "cannot be read" not in str(lake.skipping.report())


def test_an_index_that_comes_to_such_a_name(lake: Lake) -> None:
    """A refresh of the copy wrote a version that could not be read, in the midst of what was of the other."""
    table, copy = Lake(lake.spark, lake.skipping, lake.folder / "a b"), lake.folder / "a%20b"
    table.file("a.parquet", {"x": [1]})
    table.index(MinMax("x"))
    shutil.copytree(table.folder, copy)
    aged(copy / "a.parquet")
    moved = Lake(lake.spark, lake.skipping, copy)
    moved.file("b.parquet", {"x": [2]})
    log = sorted(file.name for file in copy.rglob("*.json"))
    for attempt in (moved.table().refresh, moved.table().compact, lambda: moved.table().drop_index(MinMax("x"))):
        with pytest.raises(DataSkipError, match="rename it"):
            attempt()
    assert sorted(file.name for file in copy.rglob("*.json")) == log
    moved.view()
    assert moved.spark.sql("SELECT * FROM t WHERE x = 2").count() == 1


@pytest.mark.parametrize("index_root", ["hdfs:/indexes", "s3a:/bucket/indexes", "file:indexes"])
def test_an_index_root_that_is_no_place(index_root: str) -> None:
    with pytest.raises(DataSkipError, match="is no folder"):
        Catalog(index_root)


def test_a_forked_process(lake: Lake) -> None:
    """It was told to delete an index that is well."""
    lake.file("a.parquet", {"x": [1]})
    location = lake.index(MinMax("x")).describe().location
    told = lake.folder.parent / "told"
    if (child := os.fork()) == 0:
        try:
            DeltaStore(location).snapshot()
        except StoreError as error:
            told.write_text(str(error))
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert "spawn" in told.read_text() and "delete" not in told.read_text()


def test_a_footer_that_tells_what_another_writer_counted() -> None:
    """parquet-mr's rewriter copies counts, and writes itself in as who created the file."""

    def told(created_by: str, **said: str) -> tuple[bool, bool]:
        metadata = SimpleNamespace(created_by=created_by, metadata={key.encode(): text.encode() for key, text in said.items()})
        footer = Footer(Path("a.parquet"), metadata)  # type: ignore[arg-type]
        return footer._counts_nulls(of_lists=False), footer._counts_nulls(of_lists=True)

    spark, mr, arrow = {"org.apache.spark.version": "4.0.1"}, "parquet-mr version 1.15.2 (build x)", "parquet-cpp-arrow version 26.0.1"
    assert told(mr, **spark) == (True, True)
    assert told(mr) == told(mr, **spark, **{"ARROW:schema": "x"}) == told(arrow) == told(arrow, **spark) == (True, False)
    assert told(mr, **spark, **{"original.created.by": arrow}) == told("parquet-mr version 1.8.3 (build x)", **spark) == (False, False)


@pytest.mark.parametrize("index_root", ["~/indexes", "FILE:{home}/indexes", "indexes"])
def test_where_an_index_root_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, index_root: str) -> None:
    """As the user's shell has it, to all libraries, whatever the folder is later in which the process is."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    store = places_of("file:/table", index_root.format(home=tmp_path), None)
    monkeypatch.chdir("/")
    assert store.snapshot() is None
    assert Path(store.location).parents[0] == tmp_path / "indexes"


def test_files_of_what_holds_nowhere(lake: Lake) -> None:
    lake.file("a.parquet", {"x": [1]})
    lake.index(MinMax("x"))
    assert lake.table().files("false") == lake.table().files("x = 1 AND x = 2") == []
    assert len(lake.table().files("true")) == 1


def test_an_error_of_a_map_that_is_caught(lake: Lake) -> None:
    """By Spark's own fault the pairs before it are in the map of the job's next row, too: 'b:1' has two there."""
    lake.file("a.parquet", {"s": ["z:1,z:2", "b:1"]})
    lake.file("0.parquet", {"s": ["b:1"]})
    lake.index(ValueList("s"))
    wheres = [f"try_add(DATE'2020-01-01', size(str_to_map(s))) = DATE'2020-01-0{day}'" for day in (2, 3)]
    assert lake.reads(*wheres, "s = 'z:1,z:2'")[2] == {"a.parquet"}


def test_an_index_of_a_partition_that_was_dropped(lake: Lake) -> None:
    """It hid the table's, for ever."""
    for i in range(3):
        lake.file(f"p={i % 2}/{i}.parquet", {"x": [i]})
    lake.index(MinMax("x"))
    part = lake.skipping.table(str(lake.folder / "p=0"))
    with pytest.warns(DataSkipWarning, match="is a partition of a table that has an index"):
        part.create_index(ValueList("x"))
    part.drop_index(ValueList("x"))
    frame = lake.spark.read.parquet(str(lake.folder / "p=0"))
    assert files_read(lake.skipping, frame.where("x = 2"), lake.folder) == {"p=0/2.parquet"}


def test_what_sql_reports_while_skipping_is_off(lake: Lake) -> None:
    """Its own query was the last one for which it was off, so it told of one before."""
    lake.file("a.parquet", {"x": [1]})
    lake.index(MinMax("x"))
    lake.view()
    lake.spark.sql("SELECT * FROM t WHERE x = 1").collect()
    with settings_of(lake.spark, {"spark.data_skip.enabled": "false"}):
        lake.spark.sql("SELECT * FROM t WHERE x = 2").collect()
        (row,) = lake.spark.sql("SELECT * FROM data_skip_report()").collect()
    assert row.table is None and "skipping was off" in row.notes[0]


def test_files_of_before_1970(lake: Lake) -> None:
    """Their times were rounded up, where Spark's listing rounds them down: they were never skipped."""
    os.utime(lake.file("a.parquet", {"x": [1]}), ns=(-1_500_000, -1_500_000))
    lake.index(MinMax("x"))
    lake.view()
    lake.check("x = 2", read=[])


def test_which_columns_are_read_otherwise(lake: Lake) -> None:
    lake.text("a.csv", "1,2,3\n")
    lake.index(MinMax("a"), format="csv", schema="a INT, b INT, c INT")  # type: ignore[arg-type]
    lake.view(format="csv", schema="a INT, b STRING, c INT")
    lake.spark.sql("SELECT * FROM t WHERE a = 5").collect()
    assert "collected with columns b integer, the query reads b string" in str(lake.skipping.report())


def test_what_no_format_would_cure(lake: Lake) -> None:
    with pytest.raises(DataSkipError, match="PATH_NOT_FOUND") as error:
        lake.skipping.table(str(lake.folder / "nope")).create_index(MinMax("x"))
    assert "give format" not in str(error.value)


def test_a_link_that_is_turned_while_an_index_is_written(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was told that nothing was written, which was, to the folder of before."""
    first, second = lake.folder.parent / "first", lake.folder.parent / "second"
    lake.folder.rename(first)
    second.mkdir()
    lake.folder.symlink_to(first)
    lake.file("a.parquet", {"x": [1]})
    lake.index(MinMax("x"))
    lake.file("b.parquet", {"x": [2]})
    write = delta.write_deltalake

    def turned(*args: Any, **more: Any) -> None:
        write(*args, **more)
        lake.folder.unlink()
        lake.folder.symlink_to(second)

    monkeypatch.setattr(delta, "write_deltalake", turned)
    with pytest.raises(DataSkipError, match=r"turned to another folder meanwhile; what was written, if anything, is in .*first"):
        lake.table().refresh()
    assert lake.skipping.table(str(first)).describe().files_indexed == 2
    assert not list(second.iterdir())
