"""Contracts, read again: what a query by the files of an index is asked beside its rows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from data_skip import MinMax
from tests.support import Lake, settings_of

SNAPSHOT = {"spark.data_skip.freshness": "snapshot"}


@pytest.fixture
def catalog(lake: Lake) -> Iterator[Lake]:
    """A table `c` of the catalog with the partitions a and b."""
    lake.spark.sql("DROP TABLE IF EXISTS c")
    for i, p in enumerate("ab"):
        lake.file(f"p={p}/{i}.parquet", {"x": [i]})
    lake.spark.sql(f"CREATE TABLE c (x LONG, p STRING) USING parquet PARTITIONED BY (p) LOCATION '{lake.folder}'")
    for p in "ab":
        lake.spark.sql(f"ALTER TABLE c ADD PARTITION (p = '{p}')")
    yield lake
    lake.spark.sql("DROP TABLE IF EXISTS c")


@pytest.mark.parametrize("elsewhere", [False, True])
def test_input_files_of_some_partitions(catalog: Lake, tmp_path: Path, elsewhere: bool) -> None:
    catalog.index(MinMax("x"))
    if elsewhere:
        catalog.spark.sql(f"ALTER TABLE c ADD PARTITION (p = 'e') LOCATION '{tmp_path}/e'")
    frame = catalog.spark.sql("SELECT x FROM c WHERE p = 'a' AND x = 0")
    with catalog.skipping.disabled():
        expected = frame.inputFiles()
    with settings_of(catalog.spark, SNAPSHOT):
        frame = catalog.spark.sql("SELECT x FROM c WHERE p = 'a' AND x = 0")
        assert [x for (x,) in frame.collect()] == [0]
        assert catalog.skipping.report().scans[0].contract == "snapshot 1"
        assert frame.inputFiles() == expected
