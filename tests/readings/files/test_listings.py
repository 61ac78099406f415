"""Which files an index lists, where others are read: by options, those of a table of the catalog too, patterns, filters, odd folders."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from data_skip import DataSkipError, MinMax, ValueList
from data_skip.store.definition import Definition
from tests.readings.files.support import SNAPSHOT, parted
from tests.readings.support import xs
from tests.support import Lake, rows_of, settings_of

__all__ = ["parted"]  # fixtures


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


OF_WRITERS = {"partitionOverwriteMode": "dynamic", "parquet.compression": "zstd", "maxRecordsPerFile": "9"}  # the first of all of Hive


@pytest.mark.parametrize("indexed_with", [{}, OF_WRITERS], ids=["by the path", "by the table"])
def test_options_by_which_a_table_is_written(lake: Lake, indexed_with: dict[str, str]) -> None:
    """An index that was made by the path served no query of the table, nor the other way; and tasks did not read its files themselves."""
    for i in range(3):
        lake.file(f"f{i}.parquet", {"x": [10 * i, 10 * i + 1]})
    report = lake.table(format="parquet", options=indexed_with).create_index(ValueList("x"))
    assert not report.why_by_spark
    for options in ({}, OF_WRITERS, {**OF_WRITERS, "parquet.compression": "snappy"}):
        lake.view(**options)
        lake.check("x = 11", ["f1.parquet"])


def test_options_of_writers_that_an_index_has_noted(lake: Lake) -> None:
    """As indexes of tables of Hive did: they serve, and are brought up to date."""
    lake.file("f0.parquet", {"x": [1]})
    table = lake.index(MinMax("x"))
    [(_, snapshot)] = lake.skipping.catalog.find([table.root])
    (now,) = snapshot.definitions.values()
    then = Definition(
        now.kind, now.expressions, now.parameters, now.version, now.trees, {**now.reader, "options": {"partitionoverwritemode": "DYNAMIC"}}
    )
    assert then.reader != now.reader
    assert Definition.from_json(then.to_json()) == now


FILTER = "org.apache.parquet.hadoop.util.HiddenFileFilter"  # of Hadoop's path filters one that is there


@pytest.mark.parametrize("key", ["mapreduce.input.pathFilter.class", "mapred.input.pathFilter.class"])
def test_path_filters_of_hadoop(lake: Lake, key: str) -> None:
    """They choose files, by two names: an index that was made, or refreshed, under one was read as if it were of all files."""
    lake.file("a.parquet", {"x": [1]})
    lake.file("_k=2.parquet", {"x": [2]})
    with settings_of(lake.spark, {key: FILTER}):
        table = lake.index(MinMax("x"))
    with pytest.raises(DataSkipError, match="chooses files"):
        table.read("snapshot")
    with settings_of(lake.spark, SNAPSHOT):
        assert xs(lake.spark.read.parquet(str(lake.folder)).where("x > 0").select("x")) == [1, 2]
        assert "chooses files" in str(lake.skipping.report())
    table.drop_index(MinMax("x"))
    lake.index(MinMax("x"))
    assert xs(table.read("snapshot").select("x")) == [1, 2]
    with settings_of(lake.spark, {key: FILTER}):
        with pytest.raises(DataSkipError, match="was collected"):
            table.refresh()
        with pytest.raises(DataSkipError, match="chooses files"):
            lake.skipping.table(str(lake.folder), schema="x long").read("snapshot")
        with settings_of(lake.spark, SNAPSHOT):
            assert xs(lake.spark.read.parquet(str(lake.folder)).where("x > 0").select("x")) == [1]


def test_files_beside_those_of_a_streams_log(lake: Lake) -> None:
    """A setting has Spark list them, and an index that was made with or without it was read by the others."""
    source, key = lake.folder.parent / "source", "spark.sql.streaming.fileStreamSink.ignoreMetadata"
    Lake(lake.spark, lake.skipping, source).file("a.parquet", {"x": [1]})
    stream = (
        lake.spark.readStream.schema("x long").parquet(str(source)).writeStream.option("checkpointLocation", str(lake.folder.parent / "c"))
    )
    stream.trigger(availableNow=True).start(str(lake.folder)).awaitTermination()
    lake.file("beside.parquet", {"x": [2]})
    read = lambda: xs(lake.spark.read.parquet(str(lake.folder)).where("x > 0").select("x"))  # noqa: E731
    lake.index(MinMax("x"))
    with settings_of(lake.spark, SNAPSHOT | {key: "true"}):
        assert read() == [1, 2]
        with pytest.raises(DataSkipError, match="chooses files"):
            lake.table().read("snapshot")
    lake.table().drop_index(MinMax("x"))
    with settings_of(lake.spark, {key: "true"}):
        lake.index(MinMax("x"))
    with settings_of(lake.spark, SNAPSHOT):
        assert read() == [1]
    with pytest.raises(DataSkipError, match="chooses files"):
        lake.table().read("snapshot")


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


AT_ONCE = {"spark.sql.sources.useListFilesFileSystemList": "file"}  # as S3A is by default


def test_folders_of_a_store_that_is_listed_at_once(lake: Lake) -> None:
    """Spark then looks at whole paths, and leaves out other ones than where it lists folder by folder."""
    for number, folder in enumerate(("k=a", "k=b._COPYING_", "k=c")):
        lake.file(f"{folder}/f.parquet", {"x": [number]})
    with settings_of(lake.spark, AT_ONCE):
        table = lake.index(MinMax("x"))
        snapshot, listing = table.read("snapshot"), lake.view()
        for where, count in (("x >= 0", 3), ("x = 1", 1), ("x <> 1", 2), ("k = 'b._COPYING_'", 1)):
            assert rows_of(snapshot.where(where)) == rows_of(listing.where(where))
            assert snapshot.where(where).count() == count
        assert snapshot.where("x = 1").count() == 1
        read = lake.skipping.report().scans[-1]
        assert (read.files_read, read.files_total) == (1, 3)
    assert rows_of(table.read("snapshot")) == rows_of(lake.view())  # of what Spark does not list the index may tell
