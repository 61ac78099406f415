"""Which files an index lists, where others are read: by options, those of a table of the catalog too, and by patterns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from data_skip import DataSkipError, MinMax
from tests.readings.store.test_put_back import xs
from tests.support import Lake, settings_of


@pytest.fixture
def in_catalog(lake: Lake) -> Any:
    """Makes a table `chosen` of the catalog, by whose options files whose names begin with `a` are read."""

    def make() -> None:
        lake.spark.sql(f"CREATE TABLE chosen (x BIGINT) USING parquet OPTIONS (pathGlobFilter 'a*') LOCATION '{lake.folder}'")

    lake.spark.sql("DROP TABLE IF EXISTS chosen")
    yield make
    lake.spark.sql("DROP TABLE IF EXISTS chosen")


def test_an_index_that_is_made_by_a_table_of_the_catalog_with_options(lake: Lake, in_catalog: Callable[[], None]) -> None:
    """The files that the table's own options leave out were none of the folder's, to all who read that by its path."""
    for i in range(6):
        lake.file(f"{'ab'[i % 2]}{i}.parquet", {"x": [i]})
    in_catalog()
    table = lake.skipping.table("chosen")
    table.create_index(MinMax("x"))
    with settings_of(lake.spark, {"spark.data_skip.freshness": "snapshot"}):
        assert xs(lake.spark.read.parquet(str(lake.folder)).where("x IN (2, 3)")) == [2, 3]
        (scan,) = lake.skipping.report().scans
        assert (scan.contract, scan.files_total, scan.files_read) == ("snapshot 1", 6, 4)
        lake.file("b7.parquet", {"x": [3]})
        table.refresh()
        assert xs(lake.spark.read.parquet(str(lake.folder)).where("x IN (2, 3)")) == [2, 3, 3]


def test_folders_that_the_catalog_alone_takes_for_partitions(lake: Lake) -> None:
    """Of a table with options all files of its folder are listed, in which Spark may find no partitions that go together."""
    for folder in ("one/p=1", "other/p=2", "q=3"):
        lake.file(f"{folder}/a.parquet", {"x": [1, 2]})
    with in_folders(lake, "p INT", {1: "one/p=1", 2: "other/p=2"}, "OPTIONS (pathGlobFilter 'a*')"):
        assert lake.skipping.table("parted").create_index(MinMax("x")).files_collected == 2
        assert xs(lake.spark.table("parted").where("x > 1 AND p < 3")) == [2, 2]


@contextmanager
def in_folders(lake: Lake, column: str, folders: dict[int, str], options: str) -> Iterator[None]:
    """A table `parted` of the catalog, with partitions in these folders."""
    lake.spark.sql("DROP TABLE IF EXISTS parted")
    table = f"CREATE TABLE parted (x BIGINT, {column}) USING parquet {options} PARTITIONED BY ({column.split()[0]})"
    lake.spark.sql(f"{table} LOCATION '{lake.folder}'")
    for value, folder in folders.items():
        lake.spark.sql(f"ALTER TABLE parted ADD PARTITION ({column.split()[0]} = {value}) LOCATION '{lake.folder}/{folder}'")
    try:
        yield
    finally:
        lake.spark.sql("DROP TABLE parted")


def test_who_reads_folders_that_were_not_listed(lake: Lake) -> None:
    """By `snapshot` they had no files."""
    lake.file("a.parquet", {"x": [1]})
    lake.file("sub/b.parquet", {"x": [2]})
    lake.table(format="parquet").create_index(MinMax("x"))
    deep = lake.table(format="parquet", options={"recursiveFileLookup": "true"})
    with pytest.raises(DataSkipError, match="recursiveFileLookup=true reads files that the last refresh"):
        deep.read("snapshot")
    assert xs(deep.read("bounded(60)")) == [1, 2]


def test_a_pattern_that_meets_what_a_stream_wrote(lake: Lake) -> None:
    """Spark heeds the stream's log where the folder is named, and no pattern is."""
    Lake(lake.spark, lake.skipping, lake.folder.parent / "source").file("a.parquet", {"x": [1]})
    stream = lake.spark.readStream.schema("x long").parquet(str(lake.folder.parent / "source")).writeStream
    stream = stream.option("checkpointLocation", str(lake.folder.parent / "c")).trigger(availableNow=True)
    stream.start(str(lake.folder)).awaitTermination()
    lake.file("beside.parquet", {"x": [2]})
    pattern = f"{str(lake.folder)[:-1]}[{str(lake.folder)[-1]}]"
    with pytest.raises(DataSkipError, match="is a pattern, by which the log of the stream"):
        lake.skipping.table(pattern).create_index(MinMax("x"))
    lake.index(MinMax("x"))
    for contract in ("snapshot", "bounded(0)"):
        with settings_of(lake.spark, {"spark.data_skip.freshness": contract}):
            assert xs(lake.spark.read.parquet(pattern).where("x > 0")) == [1, 2]
            (scan,) = lake.skipping.report().scans
            assert scan.contract == "listing" and any("a stream wrote the folder" in note for note in scan.notes)
