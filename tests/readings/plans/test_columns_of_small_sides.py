"""A small side that is run for its keys alone reads the columns that the query reads: what one is made of may depend on the others."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from data_skip import MinMax, Skipping
from tests.support import Lake

ODD = '{"a":55,"b":{"c":tru}}\n{"a":73,"b":{"c":true}}\n'  # a is kept where b is read as well; else the record is NULL
NESTED = "<r><row><b><c>1</c></b><a>55</a></row><row><a>73</a><b>2</b></row></r>"  # a is NULL where b is read as well, else 55
LACKING = {
    "struct": ("s STRUCT<a: BIGINT, n: BIGINT>", pa.struct([("a", pa.int64())]), {"a": 7}),
    "array": ("s ARRAY<STRUCT<a: BIGINT, n: BIGINT>>", pa.list_(pa.struct([("a", pa.int64())])), [{"a": 7}]),
    "map": ("s MAP<STRING, STRUCT<a: BIGINT, n: BIGINT>>", pa.map_(pa.string(), pa.struct([("a", pa.int64())])), [("k", {"a": 7})]),
}
KEYS = {
    "struct": "if(d.s IS NULL, 15, 55 + coalesce(d.s.n, 0))",
    "array": "if(d.s.n IS NULL, 15, 55)",
    "map": "if(map_values(d.s).n IS NULL, 15, 55)",
}


@pytest.fixture(scope="module")
def numbers(spark: SparkSession, skipping: Skipping, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    """Ten numbers a file, x from 0 to 79; and small sides: texts with an odd record, and files that lack a field n."""
    folder = tmp_path_factory.mktemp("columns_of_small_sides")
    lake = Lake(spark, skipping, folder / "numbers")
    for i in range(8):
        pad = [f"{(i * 97 + j) * 2654435761 % 2**64:x}" for j in range(400)]
        lake.file(f"{i}.parquet", {"x": [10 * i + j % 10 if i or j % 10 else None for j in range(400)], "pad": pad})
    lake.index(MinMax("x"))
    lake.view("numbers")
    texts = {
        "odd": ("json", ODD, "a BIGINT, b STRUCT<c: BOOLEAN>"),
        "of_maps": ("json", ODD, "a BIGINT, b MAP<STRING, BOOLEAN>"),
        "nested": ("xml", NESTED, "a BIGINT, b INT"),
    }
    for name, (format_, text, schema) in texts.items():
        (folder / name).write_text(text)
        spark.read.format(format_).schema(schema).option("rowTag", "row").load(str(folder / name)).createOrReplaceTempView(f"side_{name}")
    for name, (schema, type_, value) in LACKING.items():
        side = Lake(spark, skipping, folder / f"{name}s")
        side.file("0.parquet", {"s": pa.array([value], type_), "w": [1]})
        spark.read.schema(f"{schema}, w BIGINT").parquet(str(side.folder)).createOrReplaceTempView(f"side_{name}")
    yield lake
    for name in ("numbers", *(f"side_{name}" for name in (*texts, *LACKING))):
        spark.catalog.dropTempView(name)


@pytest.mark.parametrize("side", ["odd", "of_maps", "nested"])
@pytest.mark.parametrize("equal", ["=", "<=>"])
def test_a_record_of_text_with_an_odd_value(numbers: Lake, side: str, equal: str) -> None:
    """Of the record a was found to be NULL, where b was not read for the keys; or the other way round."""
    scan = numbers.query(f"SELECT x, b FROM numbers JOIN side_{side} ON x {equal} a").scans[-1]
    assert scan.files_read <= 2, scan


@pytest.mark.parametrize("side", LACKING)
@pytest.mark.parametrize("columns", ["x", "x, d.w", "x, d.s"])
def test_a_field_that_a_file_lacks(numbers: Lake, side: str, columns: str) -> None:
    """The struct was found to be NULL, as nothing was read of it that the file has. By which fields maps are read, nothing is sure."""
    scans = numbers.query(
        f"SELECT {columns} FROM numbers JOIN side_{side} d ON x = {KEYS[side]}"
    ).scans  # in the order in which Spark lists them
    assert [scan.files_read for scan in scans if scan.table.endswith("numbers")] == [1 if side != "map" else 8], scans


def test_what_asks_for_columns_is_not_told(numbers: Lake) -> None:
    report = numbers.query("SELECT x, b FROM numbers JOIN side_odd ON x = a WHERE b IS NOT NULL")
    assert "xxhash64" not in str(report)
