"""What a query by a contract writes where it reads: by another name of the folder, a link, a stream, a checkpoint, or another system."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import DataFrame

from data_skip import MinMax
from tests.readings.files.support import SNAPSHOT
from tests.readings.support import xs
from tests.support import Lake, settings_of
from tests.test_snapshots import values

SETTINGS = {"spark.data_skip.freshness": "snapshot", "spark.sql.sources.partitionOverwriteMode": "dynamic"}
WRITES = "the query writes where it reads, and might lose files"


def written(rows: DataFrame, folder: str) -> None:
    rows.where("x > 1").write.mode("overwrite").partitionBy("p").parquet(folder)


def two_partitions(lake: Lake) -> None:
    for p in "ab":
        lake.file(f"p={p}/0.parquet", {"x": [1, 2]})


def new_file(lake: Lake) -> None:
    """One that the index does not know."""
    lake.file("p=a/1.parquet", {"x": [3]})


def test_by_a_mount(lake: Lake, tmp_path: Path) -> None:
    """As by viewfs; so are `s3:` and `s3a:` names of one bucket."""
    two_partitions(lake)
    lake.index(MinMax("x"))
    new_file(lake)
    mounted = f"mounted{abs(hash(str(tmp_path)))}"
    with settings_of(lake.spark, {**SETTINGS, f"fs.viewfs.mounttable.{mounted}.link./t": f"file:{lake.folder}"}):
        rows = lake.spark.read.parquet(str(lake.folder))
        written(rows, str(tmp_path / "elsewhere"))
        assert lake.skipping.report().scans[0].contract.startswith("snapshot ")
        written(rows, f"viewfs://{mounted}/t")
        assert WRITES in str(lake.skipping.report())
    assert values(lake.spark.read.parquet(str(lake.folder))) == [2, 2, 3]


def test_of_folders_that_are_links(lake: Lake, tmp_path: Path) -> None:
    two_partitions(lake)
    linked = tmp_path / "linked"
    linked.mkdir()
    for folder in lake.folder.iterdir():
        (linked / folder.name).symlink_to(folder)
    lake.skipping.table(str(linked)).create_index(MinMax("x"))
    new_file(lake)
    with settings_of(lake.spark, SETTINGS):
        written(lake.spark.read.parquet(str(linked)), str(lake.folder))
        assert WRITES in str(lake.skipping.report())
    assert values(lake.spark.read.parquet(str(lake.folder))) == [2, 2, 3]


@pytest.mark.parametrize("by_batch", [True, False])
def test_by_a_stream(lake: Lake, tmp_path: Path, by_batch: bool) -> None:
    """`foreachBatch` is given rows of which no plan tells whence they are; other sinks of Spark add what they are given."""
    two_partitions(lake)
    lake.index(MinMax("x"))
    new_file(lake)
    lake.spark.createDataFrame([("a",)], "p string").write.parquet(str(tmp_path / "stream"))
    with settings_of(lake.spark, SETTINGS):
        told = lake.spark.readStream.schema("p string").parquet(str(tmp_path / "stream"))
        rows = told.join(lake.spark.read.parquet(str(lake.folder)), "p").select("x", "p").where("x > 1").writeStream
        rows = rows.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True)
        if by_batch:
            rows = rows.foreachBatch(lambda batch, _: written(batch, str(lake.folder)))
        else:
            rows = rows.format("memory").queryName("of_a_stream")
        rows.start().awaitTermination()
    if by_batch:
        assert values(lake.spark.read.parquet(str(lake.folder))) == [1, 2, 2, 3]
    else:
        assert values(lake.spark.table("of_a_stream")) == [2]


def test_what_a_command_of_another_system_writes_is_by_listing(lake: Lake) -> None:
    """It may lay its table over the folder that it reads, of which files that the index does not know would be lost."""
    lake.file("a.parquet", {"x": [1, 2]})
    lake.index(MinMax("x"))
    lake.file("b.parquet", {"x": [3]})
    database, rows = "jdbc:derby:memory:commands;create=true", lake.view().where("x > 1")
    with settings_of(lake.spark, {"spark.data_skip.freshness": "snapshot"}):
        rows.write.jdbc(database, "written", mode="overwrite")
        assert "only queries follow it, and those of which Spark writes files" in str(lake.skipping.report())
        explained = lake.spark.sql("EXPLAIN FORMATTED SELECT x FROM t WHERE x > 1").collect()  # which a command makes as well
        assert "only queries follow it" not in str(explained)
        assert "snapshot" in str(explained)
        assert values(lake.spark.sql("SELECT x FROM t WHERE x > 1")) == [2]
    assert values(lake.spark.read.jdbc(database, "written")) == [2, 3]


CHECKPOINTS: dict[str, Callable[[DataFrame], DataFrame]] = {
    "local": lambda frame: frame.localCheckpoint(),
    "reliable": lambda frame: frame.checkpoint(),
}


@pytest.mark.parametrize("how", [*CHECKPOINTS])
def test_what_is_overwritten_by_a_checkpoint_of_it_is_read_by_listing(lake: Lake, tmp_path: Path, how: str) -> None:
    """Files that the index did not know were lost: Spark sees no scan in the query that writes."""
    lake.file("0.parquet", {"x": [1]})
    known = lake.index(MinMax("x"))
    lake.file("1.parquet", {"x": [2]})
    lake.spark.sparkContext.setCheckpointDir(str(tmp_path / "checkpoints"))
    lake.view()
    with settings_of(lake.spark, SNAPSHOT):
        assert values(lake.spark.table("t")) == [1]
        held = CHECKPOINTS[how](lake.spark.table("t"))
        assert any("a checkpoint may be read by queries that write" in note for s in lake.skipping.report().scans for note in s.notes)
        held.write.mode("overwrite").format("parquet").save(known.root)
    assert values(lake.spark.read.parquet(known.root)) == [1, 2]


def test_a_query_that_writes_where_it_reads_by_a_link(lake: Lake) -> None:
    """It lost the files that the index does not know."""
    lake.file("p=1/a.parquet", {"x": [1]})
    lake.index(MinMax("x"))
    lake.file("p=1/b.parquet", {"x": [2]})
    link = lake.folder.parent / "link"
    link.symlink_to(lake.folder)
    with settings_of(lake.spark, SNAPSHOT | {"spark.sql.sources.partitionOverwriteMode": "dynamic"}):
        frame = lake.spark.read.parquet(str(link)).where("x > 0")
        assert xs(frame.select("x")) == [1]
        frame = lake.spark.read.parquet(str(link)).where("x > 0")
        frame.write.mode("overwrite").partitionBy("p").parquet(str(lake.folder))
    with lake.skipping.disabled():
        assert xs(lake.spark.read.parquet(str(lake.folder)).select("x")) == [1, 2]
