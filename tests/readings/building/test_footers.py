"""What readers of formats, of values and of the contracts found: odd footers, padded text, NOT IN (), and an index that was put back."""

from __future__ import annotations

from datetime import date
from threading import Event, Timer

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark.sql.functions as F
import pytest

from data_skip import BloomFilter, GapList, Hybrid, Index, MinMax, ValueList
from data_skip.building.index_report import IndexReport
from data_skip.planning import bounded
from tests.support import Lake, aged, files_read


@pytest.mark.parametrize(
    ("index", "text", "odd"),
    [
        (MinMax("x"), b"parquet-cpp-arrow version", b"parquet-cpp-arrow versio\xff"),
        (BloomFilter("x"), b"parquet-cpp-arrow version", b"parquet-cpp-arrow versio\xff"),
        (MinMax("x"), b"unread", b"unrea\xff"),
        (ValueList("s.y"), b"unread", b"unrea\xff"),
        (MinMax("d"), b"9.9.9", b"9.9.\xff"),
    ],
)
def test_a_footer_with_names_that_are_no_text(lake: Lake, index: Index, text: bytes, odd: bytes) -> None:
    """Spark reads such a file; to index it beside others was a raw error, each time."""
    types = [("x", pa.int32()), ("d", pa.date32()), ("s", pa.list_(pa.struct([("y", pa.int32())]))), ("unread", pa.int32())]
    schema = pa.schema(types, {"org.apache.spark.version": "9.9.9"})
    for i in (1, 2):
        day = date(2020, 1, i)
        pq.write_table(pa.table({"x": [i], "d": [day], "s": [[{"y": i}]], "unread": [i]}, schema), lake.folder / f"{i}.parquet")
    path = lake.folder / "2.parquet"
    assert text in path.read_bytes()
    path.write_bytes(path.read_bytes().replace(text, odd))
    for file in lake.folder.glob("*.parquet"):
        aged(file)
    table = lake.skipping.table(str(lake.folder), schema="x int, d date, s array<struct<y: int>>")
    table.create_index(index)
    lake.file("3.parquet", {"x": pa.array([3], pa.int32())})
    assert table.refresh().files_collected == 1
    frame = lake.spark.read.schema("x int, d date, s array<struct<y: int>>").parquet(str(lake.folder))
    for where in ("x = 2", "d = DATE'2020-01-02'", "array_contains(s.y, 2)"):
        assert frame.where(where).count() == 1


def test_indicators_of_a_table_with_padded_text(lake: Lake) -> None:
    """Above its scan Spark hides which file a row is of."""
    lake.spark.sql("CREATE TABLE reading_padded (c CHAR(5), x INT) USING parquet")
    try:
        for i in range(3):
            lake.spark.sql(f"INSERT INTO reading_padded VALUES ('{i}', {i})")
        table = lake.skipping.table("reading_padded")
        table.create_index(MinMax("x"))
        assert table.indicators("x = 2").of_oracle == {"x = 2": 1.0}
    finally:
        lake.spark.sql("DROP TABLE reading_padded")


@pytest.mark.parametrize("index", [MinMax("x"), ValueList("x"), GapList("x"), Hybrid("x"), BloomFilter("x")])
def test_not_in_nothing(lake: Lake, index: Index) -> None:
    """Is true of NULL as well, where Spark's optimizer has not made a constant of it."""
    lake.file("null", {"x": pa.array([None], pa.int64())})
    lake.file("one", {"x": [1]})
    lake.index(index)
    lake.spark.conf.set("spark.sql.optimizer.excludedRules", "org.apache.spark.sql.catalyst.optimizer.OptimizeIn")
    try:
        frame = lake.view().where(~F.col("x").isin([]))
        assert "IN ()" in frame._jdf.queryExecution().optimizedPlan().toString()
        assert files_read(lake.skipping, frame, lake.folder) == {"null", "one"}
    finally:
        lake.spark.conf.unset("spark.sql.optimizer.excludedRules")


def test_options_of_a_reader_that_say_where_the_store_is(lake: Lake) -> None:
    """By which Spark may read files of the same names, sizes and times in another store; keys alone say nothing of that."""
    lake.file("a.parquet", {"x": [1]})
    lake.file("b.parquet", {"x": [2]})
    lake.index(MinMax("x"))
    for options, read in (
        ({"fs.s3a.access.key": "mine"}, {"b.parquet"}),
        ({"fs.s3a.endpoint": "http://other", "fs.s3a.impl.disable.cache": "true"}, {"a.parquet", "b.parquet"}),
        ({"fs.file.impl.disable.cache": "true"}, {"a.parquet", "b.parquet"}),
    ):
        frame = lake.spark.read.options(**options).parquet(str(lake.folder)).where("x = 2")
        assert files_read(lake.skipping, frame, lake.folder) == read, options


def test_an_index_that_was_put_back_while_it_was_compacted() -> None:
    """What the refresh had committed is gone, though it has not returned yet."""
    index, begun, go_on = {"version": 5}, Event(), Event()

    def refresh() -> IndexReport:
        index["version"] += 1
        if index["version"] == 7:
            begun.set()
            go_on.wait(10)
        return IndexReport("t", ["MinMax(x)"])

    kept = bounded.Bounded(1e9)
    kept.refreshed_by("t", refresh)
    kept.bring_up_to_date()
    assert index["version"] == 6 and not kept.was_put_back((6, "id", 0))
    kept._as_of -= 0.6e9  # old enough to be refreshed in the background
    kept.bring_up_to_date()
    begun.wait(10)
    index["version"] = 3
    assert kept.was_put_back((3, "id", 0))
    Timer(0.2, go_on.set).start()
    kept.bring_up_to_date()
    assert index["version"] == 4, "refreshed since"
