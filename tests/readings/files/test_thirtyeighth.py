"""The thirty-eighth reading: contracts, and files that are gone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame

from data_skip import MinMax
from tests.support import Lake, settings_of
from tests.test_snapshots import values

SNAPSHOT = {"spark.data_skip.freshness": "snapshot"}
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


def test_a_file_that_is_gone_is_told_without_a_look_at_the_others(lake: Lake) -> None:
    """The error named the first file of the table that was gone, whether or not the query would read it; and each file was asked for."""
    for i in range(4):
        lake.file(f"p={i}/{i}.parquet", {"x": [i]})
    known = lake.index(MinMax("x")).read("snapshot")
    for i in (1, 2):
        (lake.folder / f"p={i}/{i}.parquet").unlink()
    with pytest.raises(Py4JJavaError, match=r"p=2/2\.parquet is gone, and stands in version"):
        known.where("x = 2").collect()
    assert values(known.where("x = 3")) == [3]


def test_folders_whose_values_are_of_another_type_since(lake: Lake) -> None:
    """Spark's own error about a cast said nothing of what to do."""
    lake.file("p=1/0.parquet", {"x": [1]})
    table = lake.index(MinMax("x"))
    held = table.read("snapshot")
    lake.file("p=z/1.parquet", {"x": [2]})
    table.refresh()
    with pytest.raises(Py4JJavaError, match=r"have the partition columns others .*; read it anew"):
        held.where("x > 0").collect()
    assert values(table.read("snapshot").where("x > 0")) == [1, 2]
