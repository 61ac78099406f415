"""Tables of other systems are refused by whatever path or name they are asked for, by a sentence that says whose they are."""

from __future__ import annotations

import deltalake
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from data_skip import DataSkipError, MinMax, Skipping
from tests.support import Lake, aged, settings_of


@pytest.fixture
def delta(lake: Lake) -> Lake:
    """A table of Delta in the lake's folder, by two columns, of which a row was deleted."""
    rows = pa.table({"x": [1, 2, 3, 4], "p": [1, 1, 2, 2], "q": [0, 0, 0, 0]})
    deltalake.write_deltalake(str(lake.folder), rows, partition_by=["p", "q"])
    deltalake.DeltaTable(str(lake.folder)).delete("x = 1")
    for file in lake.folder.glob("p=*/q=*/*.parquet"):
        aged(file)
    return lake


@pytest.mark.parametrize("part", ["p=1/q=0", "p=1", "p=[1]/q=0", "../*", "../*/p=1", "p={1}/"])
def test_parts_and_patterns_of_a_table_of_delta(delta: Lake, skipping: Skipping, part: str) -> None:
    part = part.replace("../*", f"../{delta.folder.name[:-1]}*")
    with pytest.raises(DataSkipError, match=r"is a table of Delta.*Be warned: format='parquet' would read"):
        skipping.table(f"{delta.folder}/{part}")
    skipping.table(f"{delta.folder}/{part}", format="parquet").create_index(MinMax("x"))
    with pytest.raises(DataSkipError, match="is a table of Delta"):  # by its index no more than without
        skipping.table(f"{delta.folder}/{part}")


def test_a_partition_of_files(lake: Lake, skipping: Skipping) -> None:
    lake.file("p=1/q=0/a.parquet", {"x": [1]})
    for part in ("p=1/q=0", "p=1", "p=*", ""):
        assert skipping.table(f"{lake.folder}/{part}").root.endswith(part.replace("*", "1").rstrip("/") or lake.folder.name)


def test_a_format_that_takes_no_schema(lake: Lake, skipping: Skipping) -> None:
    """As Delta's: what is wrong with it is said, and nothing of a schema that nobody has given."""
    lake.file("a.parquet", {"x": [1]})
    with pytest.raises(DataSkipError, match=r"cannot be read: noop is not a valid Spark SQL Data Source"):
        skipping.table(str(lake.folder), format="noop")
    default = settings_of(lake.spark, {"spark.sql.sources.default": "noop"})
    with default, pytest.raises(DataSkipError, match=r"cannot be read: noop is not a valid Spark SQL Data Source"):
        skipping.table(str(lake.folder))


def test_a_table_of_the_catalog(lake: Lake, skipping: Skipping, spark: SparkSession) -> None:
    """Of Delta, the catalog tells a format by the class of its reader."""
    lake.text("a.libsvm", "1 1:2.0\n")
    (lake.folder / "_delta_log").mkdir()
    spark.sql(f"CREATE TABLE of_others USING libsvm LOCATION '{lake.folder}'")
    try:
        with pytest.raises(DataSkipError, match=r"^'of_others' is a table of Delta, .* so query it without$"):
            skipping.table("of_others")
    finally:
        spark.sql("DROP TABLE of_others")
