"""Files that Spark's tasks read by pyarrow: values are, bit by bit, those that Spark reads; and files of which that is not sure, Spark reads."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Mapping
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from data_skip import BloomFilter, GapList, Hybrid, Index, IndexReport, MinMax, Prefix, Suffix, Table, ValueList
from data_skip.building import direct
from geo_skip import GeoBox, S2Covering
from log_skip import NGram
from tests.support import Lake, aged, settings_of

ROWS = 700


class Everything(Index):
    """All values of a file by their bits, with the types of their arrays."""

    fields = {"values": pa.list_(pa.string()), "types": pa.list_(pa.string()), "rows": pa.int64()}

    def collect(self, *values: pa.Array) -> dict[str, Any]:
        (array,) = values
        return {"values": [bits(value) for value in array.to_pylist()], "types": [str(array.type)], "rows": len(array)}

    def merge(self, a: dict[str, Any], b: dict[str, Any]) -> dict[str, Any]:
        return {"values": a["values"] + b["values"], "types": sorted({*a["types"], *b["types"]}), "rows": a["rows"] + b["rows"]}

    def finish(self, record: dict[str, Any]) -> dict[str, Any]:
        return {**record, "values": sorted(record["values"])}


class Once(Everything):
    """All distinct values."""

    distinct = True

    def collect(self, *values: pa.Array) -> dict[str, Any]:
        return super().collect(*values) | {"rows": 0}

    def finish(self, record: dict[str, Any]) -> dict[str, Any]:
        return {**record, "values": sorted({*record["values"]})}


def bits(value: Any) -> str:
    return struct.pack(">d", value).hex() if isinstance(value, float) else repr(value)


def by_both(monkeypatch: pytest.MonkeyPatch, table: Table, *indexes: Index) -> tuple[IndexReport, Any]:
    """The report of tasks that read; records are what those are that Spark reads, less the order of lists."""
    found, reports = [], []
    for by_spark in (False, True):
        with monkeypatch.context() as patched:
            if by_spark:
                patched.setattr(direct, "wanted", lambda *_: "it is not asked for")
                patched.setattr("data_skip.building.indexing._lift", lambda *_: {})
            reports.append(table.create_index(*indexes))
        rows = table.metadata().orderBy("path").collect()
        found.append([ordered(row.asDict(recursive=True)) for row in rows])
        table.drop_index(*indexes)
    assert found[0] == found[1]
    assert (reports[1].files_direct, reports[1].files_lifted, reports[1].unknown) == (0, 0, reports[0].unknown)
    return reports[0], found[0]


def ordered(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: ordered(part) for key, part in value.items()}
    return sorted(map(bits, value)) if isinstance(value, list) else bits(value)


def column(type_: pa.DataType, choose: Callable[[random.Random], Any], seed: int = 0) -> pa.Array:
    drawn = random.Random(seed)
    return pa.array([None if drawn.random() < 0.1 else choose(drawn) for _ in range(ROWS)], type_)


LAST = (1 << 63) - 1
COLUMNS = {
    "flag": column(pa.bool_(), lambda r: r.random() < 0.5),
    "tiny": column(pa.int8(), lambda r: r.randint(-128, 127)),
    "small": column(pa.int16(), lambda r: r.choice([-32768, 32767, r.randint(-9, 9)])),
    "number": column(pa.int32(), lambda r: r.choice([-(1 << 31), (1 << 31) - 1, r.randint(-9, 9)])),
    "large": column(pa.int64(), lambda r: r.choice([-LAST - 1, LAST, r.randint(-9, 9)])),
    "near": column(pa.float32(), lambda r: r.choice([0.0, -0.0, float("nan"), float("-inf"), r.random()])),
    "far": column(pa.float64(), lambda r: r.choice([0.0, -0.0, float("nan"), float("inf"), 5e-324, r.random()])),
    "text": column(pa.string(), lambda r: r.choice(["", "a", "ü" * r.randint(1, 5), "\0", f"t{r.randint(0, 999)}"])),
    "raw": column(pa.binary(), lambda r: r.choice([b"", b"\xff", r.randbytes(3)])),
    "day": column(pa.date32(), lambda r: date(r.randint(1901, 9999), 2, 28)),
    "moment": column(pa.timestamp("us", "Asia/Tokyo"), lambda r: datetime(r.randint(1902, 9999), 3, 1, 2, 3, 4, 5, timezone.utc)),
    "wall": column(pa.timestamp("us"), lambda r: datetime(r.randint(1902, 9999), 3, 1, 2, 3, 4, 5)),
    "price": column(pa.decimal128(7, 2), lambda r: Decimal(r.randint(-9999999, 9999999)).scaleb(-2)),
    "amount": column(pa.decimal128(18, 4), lambda r: Decimal(r.randint(-(10**18) + 1, 10**18 - 1)).scaleb(-4)),
    "wide": column(pa.decimal128(38, 0), lambda r: Decimal(r.randint(-(10**38) + 1, 10**38 - 1))),
    "lat": column(pa.float64(), lambda r: r.uniform(-90, 90)),
    "lng": column(pa.float32(), lambda r: r.uniform(-180, 180)),
    "nothing": pa.nulls(ROWS, pa.int32()),
    "same": pa.array(["x"] * ROWS),
}
ORDERED = [name for name in COLUMNS if name not in ("flag",)]
WRITTEN: Mapping[str, dict[str, Any]] = {
    "plain": {"use_dictionary": False, "compression": "NONE"},
    "groups": {"row_group_size": 100, "compression": "GZIP"},
    "pages": {"data_page_version": "2.0", "data_page_size": 128, "compression": "ZSTD"},
    "mixed": {"dictionary_pagesize_limit": 64, "data_page_size": 128, "write_batch_size": 16, "compression": "LZ4"},
    "numbers": {"store_decimal_as_integer": True, "version": "1.0"},
    "deltas": {
        "use_dictionary": False,
        "column_encoding": {"number": "DELTA_BINARY_PACKED", "large": "DELTA_BINARY_PACKED", "text": "DELTA_BYTE_ARRAY"}
        | {"raw": "DELTA_LENGTH_BYTE_ARRAY"},
    },
    "unknown": {"store_schema": False},
}


def test_values_are_those_that_spark_reads(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, options in WRITTEN.items():
        pq.write_table(pa.table(COLUMNS), lake.folder / f"{name}.parquet", **options)
        aged(lake.folder / f"{name}.parquet")
    lake.file("empty.parquet", pa.table(COLUMNS).slice(0, 0))
    indexes = [kind(name) for kind in (Everything, Once) for name in COLUMNS]
    report, rows = by_both(monkeypatch, lake.table(), *indexes)
    assert (report.files_direct, report.why_by_spark) == (len(WRITTEN) + 1, "")


def test_values_that_spark_wrote(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    source = lake.file("../source/a.parquet", pa.table({**COLUMNS, "day": pa.array([date(1400, 2, 28)] * ROWS)}))
    rows = lake.spark.read.parquet(str(source)).coalesce(1)
    with settings_of(lake.spark, {"spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS"}):
        lake.spark_file("snappy.parquet", rows, compression="snappy")
        for codec in ("gzip", "zstd", "lz4", "lz4_raw", "uncompressed"):
            small = {"parquet.block.size": "4000", "parquet.page.size": "256", "parquet.page.size.row.check.min": "50"}
            lake.spark_file(f"{codec}.parquet", rows, compression=codec, **small)
        lake.spark_file("v2.parquet", rows, **{"parquet.writer.version": "v2"})
        lake.spark_file("v2_plain.parquet", rows, **{"parquet.writer.version": "v2", "parquet.enable.dictionary": "false"})
    report, _ = by_both(monkeypatch, lake.table(), *(kind(name) for kind in (Everything, Once) for name in COLUMNS))
    assert (report.files_direct, report.why_by_spark) == (7, "column flag is compressed by UNKNOWN")  # as Hadoop frames LZ4


def test_records_of_all_indexes(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    for i in range(3):
        lake.file(
            f"{i}.parquet", {name: array.take(pa.array(np.random.default_rng(i).integers(0, ROWS, 50))) for name, array in COLUMNS.items()}
        )
    indexes: list[Index] = [MinMax(name) for name in COLUMNS] + [ValueList(name) for name in COLUMNS]
    indexes += [kind(name) for kind in (GapList, BloomFilter, Hybrid) for name in ORDERED]
    indexes += [
        Prefix("text", 2),
        Suffix("text", 1),
        NGram("text"),
        ValueList("text", limit=3),
        GeoBox("lat", "lng"),
        S2Covering("lat", "lng"),
    ]
    report, _ = by_both(monkeypatch, lake.table(), *indexes)
    assert report.files_direct == 3
