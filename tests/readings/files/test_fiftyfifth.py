"""What the fifty-fifth reading found false, of refreshes beside an index that is made anew, and of contracts that a setting asks for."""

from __future__ import annotations

import os
import shutil
from contextlib import nullcontext
from typing import Any

import pytest

import data_skip.table
from data_skip import DataSkipError, Index, MinMax, ValueList
from tests.readings.store.test_put_back import xs
from tests.support import Lake, settings_of

BY_SNAPSHOT = {"spark.data_skip.freshness": "snapshot"}


@pytest.mark.parametrize("other", [MinMax("x"), ValueList("x")])
def test_an_index_made_anew_up_to_the_same_version_during_a_refresh(lake: Lake, monkeypatch: pytest.MonkeyPatch, other: Index) -> None:
    """A refresh that found nothing to write took it for the version that it had read, and knew of files that the new one does not."""
    lake.file("a.parquet", {"x": [1]})
    last = lake.file("b.parquet", {"x": [2]})
    table = lake.index(MinMax("x"))
    index_files, elsewhere = data_skip.table.index_files, lake.folder.parent / "b"

    def meanwhile(*given: Any, **named: Any) -> Any:
        monkeypatch.undo()
        shutil.rmtree(lake.folder / ".data_skip")
        os.rename(last, elsewhere)
        lake.skipping.table(str(lake.folder)).create_index(other)
        os.rename(elsewhere, last)
        return index_files(*given, **named)

    monkeypatch.setattr("data_skip.table.index_files", meanwhile)
    with nullcontext() if other == MinMax("x") else pytest.raises(DataSkipError, match="dropped meanwhile"):
        table.refresh()
    lake.table().refresh()
    assert xs(table.read("snapshot")) == [1, 2]


def test_times_of_folders_by_the_zone_in_which_they_were_listed(lake: Lake) -> None:
    """By a contract that a setting asks for they were read again, in the zone of the query."""
    for day in (1, 2):
        lake.file(f"t=2024-01-0{day} 00%3A00%3A00/a.parquet", {"x": [day]})
    lake.index(MinMax("x"))
    reader = lake.spark.read.option("timeZone", "UTC")
    frames = [lake.spark.read.parquet(str(lake.folder)), reader.parquet(str(lake.folder))]
    with settings_of(lake.spark, BY_SNAPSHOT | {"spark.sql.session.timeZone": "Asia/Tokyo"}):
        for frame, is_followed in zip(frames, (False, True), strict=True):
            assert xs(frame.where("t = timestamp'2024-01-02 00:00:00Z' AND x > 0").select("x")) == [2]
            assert ("option timeZone says it" in str(lake.skipping.report())) != is_followed


def test_a_query_that_writes_where_it_reads_by_a_link(lake: Lake) -> None:
    """It lost the files that the index does not know."""
    lake.file("p=1/a.parquet", {"x": [1]})
    lake.index(MinMax("x"))
    lake.file("p=1/b.parquet", {"x": [2]})
    link = lake.folder.parent / "link"
    link.symlink_to(lake.folder)
    with settings_of(lake.spark, BY_SNAPSHOT | {"spark.sql.sources.partitionOverwriteMode": "dynamic"}):
        frame = lake.spark.read.parquet(str(link)).where("x > 0")
        assert xs(frame.select("x")) == [1]
        frame = lake.spark.read.parquet(str(link)).where("x > 0")
        frame.write.mode("overwrite").partitionBy("p").parquet(str(lake.folder))
    with lake.skipping.disabled():
        assert xs(lake.spark.read.parquet(str(lake.folder)).select("x")) == [1, 2]


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
    with settings_of(lake.spark, BY_SNAPSHOT):
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
        with settings_of(lake.spark, BY_SNAPSHOT):
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
    with settings_of(lake.spark, BY_SNAPSHOT | {key: "true"}):
        assert read() == [1, 2]
        with pytest.raises(DataSkipError, match="chooses files"):
            lake.table().read("snapshot")
    lake.table().drop_index(MinMax("x"))
    with settings_of(lake.spark, {key: "true"}):
        lake.index(MinMax("x"))
    with settings_of(lake.spark, BY_SNAPSHOT):
        assert read() == [1]
    with pytest.raises(DataSkipError, match="chooses files"):
        lake.table().read("snapshot")
