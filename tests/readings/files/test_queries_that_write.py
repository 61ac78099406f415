"""What a query by a contract writes where it reads: by another name of the folder, through a link, and by way of a stream."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import DataFrame

from data_skip import MinMax
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
