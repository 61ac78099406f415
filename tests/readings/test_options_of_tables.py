"""Which files an index lists, where options say which are read: those of a table of the catalog, and of who reads more than was listed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from data_skip import DataSkipError, MinMax
from tests.readings.test_fiftysecond import xs
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


def test_who_reads_folders_that_were_not_listed(lake: Lake) -> None:
    """By `snapshot` they had no files."""
    lake.file("a.parquet", {"x": [1]})
    lake.file("sub/b.parquet", {"x": [2]})
    lake.table(format="parquet").create_index(MinMax("x"))
    deep = lake.table(format="parquet", options={"recursiveFileLookup": "true"})
    with pytest.raises(DataSkipError, match="recursiveFileLookup=true reads files that the last refresh"):
        deep.read("snapshot")
    assert xs(deep.read("bounded(60)")) == [1, 2]
