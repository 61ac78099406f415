"""BloomFilter takes the filters that lie in footers, where they are its own, instead of reading."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame

from data_skip import BloomFilter, Hybrid, ValueList
from data_skip.building.collect import physical
from data_skip.expression import Column
from data_skip.footer import Footer
from data_skip.indexes.split_block import (
    bitset,
    folded,
    hash_values,
)
from tests.indexes.bloom_kinds import KINDS, column
from tests.support import Lake, aged


def spark_written(lake: Lake, rows: DataFrame, name: str = "t.parquet", **options: str) -> Path:
    """A file with Bloom filters of all its columns."""
    filters = {f"parquet.bloom.filter.enabled#{c}": "true" for c in rows.columns}
    ndv = {f"parquet.bloom.filter.expected.ndv#{c}": "1000" for c in rows.columns}
    lake.spark.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
    try:
        return lake.spark_file(name, rows, **{"parquet.enable.dictionary": "false", **filters, **ndv, **options})
    finally:
        lake.spark.conf.unset("spark.sql.parquet.outputTimestampType")


def bitsets_of(path: Path, name: str, kind: str) -> list[bytes]:
    """The bitsets that lie in a file, as lifting finds them when it makes none smaller."""
    record = BloomFilter(name, fpp=1e-300).lift(Footer(path, pq.read_metadata(path)), (Column(kind, None, (name,)),))
    assert record is not None, name
    return list(record["bitsets"])


SPARK_KINDS = {
    "tinyint": "cast(id % 200 - 100 AS tinyint)",
    "smallint": "cast(id - 500 AS smallint)",
    "int": "cast(id - 500 AS int)",
    "bigint": "id * 9007199254740993",
    "float": "cast(id / 7 - 50 AS float)",
    "double": "if(id = 3, double('NaN'), if(id = 4, double('-0.0'), id / 7))",
    "string": "concat('ä😀', if(id = 0, '', repeat(cast(id AS string), 20)))",
    "binary": "unhex(hex(id))",
    "date": "date_add(DATE'1969-01-01', cast(id AS int))",
    "timestamp": "timestamp_micros(id * 1000003 - 5000000)",
    "timestamp_ntz": "cast(timestamp_micros(id * 1000003) AS timestamp_ntz)",
    "decimal(9,1)": "cast(id / 10 - 50 AS decimal(9,1))",
    "decimal(18,1)": "cast(id / 10 - 50 AS decimal(18,1))",
    "decimal(19,1)": "cast(id / 10 - 50 AS decimal(19,1))",
    "decimal(38,1)": "cast(-id / 10 AS decimal(38,1))",
}


def test_bitsets_equal_those_that_spark_writes(lake: Lake) -> None:
    rows = lake.spark.range(0, 1000, 1, 1).selectExpr(*(f"{sql} AS {column(kind)}" for kind, sql in SPARK_KINDS.items()))
    path = spark_written(lake, rows)
    values = pq.read_table(path)
    for kind in SPARK_KINDS:
        (written,) = bitsets_of(path, column(kind), kind)
        hashes = hash_values(physical(values[column(kind)].combine_chunks()))
        assert bitset(hashes, len(written) // 32) == written, kind
        smaller = folded(written, 0.01)
        assert len(smaller) < len(written) or kind != "tinyint"
        assert bitset(hashes, len(smaller) // 32) == smaller, kind


def test_bitsets_equal_those_that_pyarrow_writes(tmp_path: Path) -> None:
    """Its dates and times are of no calendar that is known, so these are not lifted."""
    kinds = {column(kind): (kind, values) for kind, values in KINDS.items() if not kind.startswith(("date", "timestamp"))}
    table = pa.table({name: pa.array([*values[:4], None], type_) for name, (_, (type_, values, _, _)) in kinds.items()})
    options = {name: {"ndv": 100, "fpp": 0.05} for name in kinds}
    pq.write_table(table, tmp_path / "t.parquet", bloom_filter_options=options, store_decimal_as_integer=True)
    for name, (kind, _) in kinds.items():
        (written,) = bitsets_of(tmp_path / "t.parquet", name, kind)
        assert bitset(hash_values(table[name].combine_chunks()), len(written) // 32) == written, name


def test_lifts_the_filters_of_row_groups_instead_of_reading(lake: Lake) -> None:
    """The adaptive writer gives row groups filters of different sizes."""
    adaptive = {"parquet.bloom.filter.adaptive.enabled": "true", "parquet.block.size": "40000", "parquet.page.size.row.check.min": "100"}
    for i in range(3):
        rows = lake.spark.range(i * 10_000, i * 10_000 + 7_000, 1, 1).selectExpr(
            "id", "concat('n', id) AS s", "if(id % 5 = 0, NULL, id) AS n"
        )
        spark_written(lake, rows, f"{i}.parquet", **adaptive)
    report = lake.table().create_index(BloomFilter("id"), BloomFilter("s"), BloomFilter("n"))
    assert report.files_lifted == report.files_collected == 3
    assert report.rows == 21_000
    assert "3 of them were not read" in str(report)
    record = lake.table().metadata().first()
    sizes = [len(bits) for bits in record[BloomFilter("s").column]["bitsets"]]
    assert len(sizes) > 2
    assert len(set(sizes)) > 1
    for column_, value, file in (("id", "13", 0), ("s", "'n16999'", 1), ("n", "26999", 2)):
        lake.check(f"{column_} = {value}", read=[f"{file}.parquet"])
    lake.check("s IS NULL", read=[])
    lake.check("n IS NULL", read=["0.parquet", "1.parquet", "2.parquet"])
    lake.table().create_index(BloomFilter("upper(s)"), BloomFilter("id", fpp=0.02))
    assert lake.table().describe().files_indexed == 3


@pytest.mark.long
def test_reads_where_a_footer_does_not_hold_all_that_is_asked(lake: Lake) -> None:
    values = {
        "v": list(range(100)),
        "w": list(range(100)),
        "u": pa.array(range(100), pa.uint32()),
        "day": pa.array(range(100)).cast(pa.int32()).cast(pa.date32()),
    }
    path = lake.file("with.parquet", values)
    pq.write_table(pa.table(values), path, bloom_filter_options={"v": {"ndv": 100}, "u": {"ndv": 100}, "day": {"ndv": 100}})
    aged(path)
    lake.file("without.parquet", {name: pa.concat_arrays([pa.array(a)[50:]]) for name, a in values.items()})
    table = lake.table()
    assert table.create_index(BloomFilter("v")).files_lifted == 1
    assert table.create_index(BloomFilter("v", fpp=0.02), BloomFilter("w")).files_lifted == 0  # not all have filters
    assert table.create_index(BloomFilter("v", fpp=0.03), ValueList("v")).files_lifted == 0  # not all can be lifted
    assert table.create_index(BloomFilter("u"), BloomFilter("day")).files_lifted == 0  # other values than lie in the file, or perhaps
    assert table.create_index(BloomFilter("v + 1")).files_lifted == 0
    assert table.create_index(Hybrid("v")).files_lifted == 0
    lake.check("v = 7", read=["with.parquet"])
    lake.check("u = 7", read=["with.parquet"])
    lake.check("day = DATE'1970-01-08'", read=["with.parquet"])
    lake.check("v = 77", read=["with.parquet", "without.parquet"])


@pytest.mark.parametrize("damage", ["header", "size", "full", "empty", "cut"])
def test_does_not_lift_what_is_damaged_or_of_no_use(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"v": range(100)}), path, bloom_filter_options={"v": {"ndv": 100}})
    expression = (Column("bigint", None, ("v",)),)
    metadata = pq.read_metadata(path)
    index = BloomFilter("v")
    assert index.lift(Footer(path, metadata), expression) is not None
    offset, length = (getattr(metadata.row_group(0).column(0), f"bloom_filter_{what}") for what in ("offset", "length"))
    data = bytearray(path.read_bytes())
    at, bits = offset + 15, length - 15  # the header takes 15 bytes here
    if damage == "header":
        data[offset + 5] ^= 1
    elif damage == "size":
        data[offset + 1] ^= 2
    elif damage == "cut":
        data = data[: at + bits // 2]
    else:
        data[at : at + bits] = (b"\xff" if damage == "full" else b"\0") * bits
    path.write_bytes(data)
    assert index.lift(Footer(path, metadata), expression) is None
