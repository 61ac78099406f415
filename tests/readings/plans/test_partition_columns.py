"""Columns of partitions: they may be named in another case than in the folders, and their values are taken beside those of the indexes."""

from __future__ import annotations

import pytest

from data_skip import DataSkipError, DataSkipWarning, MinMax, ValueList
from tests.support import Lake, files_read, settings_of

BY_SPARK = "Spark has pruned the partitions itself"


@pytest.fixture
def regions(lake: Lake) -> Lake:
    """Two files of each of two regions, x from 0 to 39."""
    for i in range(4):
        lake.file(f"region={'ab'[i // 2]}/{i}.parquet", {"x": list(range(10 * i, 10 * i + 10))})
    lake.index(MinMax("x"))
    lake.view()
    return lake


@pytest.mark.parametrize("name", ["region", "Region", "REGION"])
def test_a_partition_column_in_another_case(regions: Lake, name: str) -> None:
    regions.check(f"{name} = 'a' OR x = 35", {"region=a/0.parquet", "region=a/1.parquet", "region=b/3.parquet"})
    regions.check(f"{name} = 'a' AND x = 5 OR {name} = 'b' AND x = 5", {"region=a/0.parquet"})
    report = regions.check(f"{name} = 'a'", {"region=a/0.parquet", "region=a/1.parquet"})
    assert (report.files_read, report.files_total) == (2, 2)
    assert {predicate.why_not for predicate in report.predicates} == {BY_SPARK}
    report = regions.check(f"{name} = 'a' AND X > 5 AND x < 8", {"region=a/0.parquet"})
    assert (report.files_read, report.files_total) == (1, 2)


def test_a_partition_column_in_another_case_by_snapshot(regions: Lake) -> None:
    regions.skipping.read(str(regions.folder), "snapshot").createOrReplaceTempView("t")
    report = regions.check("REGION = 'a' AND x = 5", {"region=a/0.parquet"})
    assert (report.files_read, report.files_total) == (1, 2)


def test_a_schema_in_another_case_than_the_folders(regions: Lake) -> None:
    regions.view(schema="x bigint, REGION string")
    regions.check("region = 'a' OR x = 35")
    report = regions.check("Region = 'a'")
    assert (report.files_read, report.files_total) == (2, 2)


def test_no_index_over_a_partition_column_in_another_case(regions: Lake) -> None:
    with pytest.raises(DataSkipError, match="'REGION' reads the partition column region"):
        regions.table().create_index(MinMax("REGION"))


def test_case_that_matters(lake: Lake) -> None:
    with settings_of(lake.spark, {"spark.sql.caseSensitive": "true"}):
        for i in range(4):
            lake.file(f"region={'ab'[i // 2]}/{i}.parquet", {"REGION": list(range(10 * i, 10 * i + 10))})
        lake.index(MinMax("REGION"))
        lake.view()
        lake.check("REGION = 5", {"region=a/0.parquet"})
        lake.check("region = 'a' OR REGION = 35", {"region=a/0.parquet", "region=a/1.parquet", "region=b/3.parquet"})


def test_partition_columns_of_few_listed_files(lake: Lake) -> None:
    """Their records are taken with those of the index."""
    for p in range(20):
        for i in range(2):
            lake.file(f"p={p}/{i}.parquet", {"x": [10 * i, 10 * i + p]})
    lake.index(MinMax("x"))
    lake.view()
    lake.query("SELECT * FROM t WHERE p IN (13, 14) AND (p = 13 AND x = 23 OR p = 14 AND x = 999)", ["p=13/1.parquet"])


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
