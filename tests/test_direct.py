"""Files that Spark's tasks read by pyarrow: values are, bit by bit, those that Spark reads. Where that is not sure, Spark reads them."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from data_skip import BloomFilter, DataSkipError, GapList, Hybrid, Index, IndexReport, MinMax, Prefix, Suffix, Table, ValueList
from data_skip.building import direct
from data_skip.building.file_records import Wanted
from data_skip.building.plain import why_not_in
from data_skip.expression import Column
from data_skip.footer import Footer
from geo_skip import GeoBox, S2Covering
from log_skip import NGram
from tests.support import Lake, aged, settings_of

ROWS = 300


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
                patched.setattr(direct, "wanted", lambda *_: (Wanted([], [], {}), "it is not asked for"))
                patched.setattr("data_skip.building.one_pass._lift", lambda *_: {})
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
    report, _ = by_both(monkeypatch, lake.table(), *map(Everything, COLUMNS), *map(Once, ("large", "near", "far", "text", "raw", "flag")))
    assert (report.files_direct, report.why_by_spark) == (len(WRITTEN) + 1, "")


@pytest.mark.long
def test_values_that_spark_wrote(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    source = lake.file("../source/a.parquet", pa.table({**COLUMNS, "day": pa.array([date(1400, 2, 28)] * ROWS)}))
    rows = lake.spark.read.parquet(str(source)).coalesce(1)
    with settings_of(lake.spark, {"spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS"}):
        lake.spark_file("snappy.parquet", rows, compression="snappy")
        for codec in ("gzip", "zstd", "lz4", "lz4_raw"):
            small = {"parquet.block.size": "4000", "parquet.page.size": "256", "parquet.page.size.row.check.min": "50"}
            lake.spark_file(f"{codec}.parquet", rows, compression=codec, **small)
        lake.spark_file("v2.parquet", rows, **{"parquet.writer.version": "v2"})
        lake.spark_file("v2_plain.parquet", rows, **{"parquet.writer.version": "v2", "parquet.enable.dictionary": "false"})
    report, _ = by_both(monkeypatch, lake.table(), *map(Everything, COLUMNS), *map(Once, ("large", "text")))
    assert (report.files_direct, report.why_by_spark) == (6, "column flag is compressed by UNKNOWN")  # as Hadoop frames LZ4


def test_records_of_all_indexes(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["tiny", "large", "near", "text", "raw", "day", "moment", "price", "nothing"]
    for i in range(2):
        chosen = pa.array(np.random.default_rng(i).integers(0, ROWS, 50))
        lake.file(f"{i}.parquet", {name: COLUMNS[name].take(chosen) for name in [*names, "lat", "lng"]})
    indexes: list[Index] = [kind(name) for kind in (MinMax, ValueList, GapList, BloomFilter) for name in names]
    indexes += [Prefix("text", 2), Suffix("text", 1), NGram("text"), Hybrid("text", threshold=3), ValueList("large", limit=3)]
    report, _ = by_both(monkeypatch, lake.table(), *indexes, GeoBox("lat", "lng"), S2Covering("lat", "lng"))
    assert report.files_direct == 2


NOON = pa.array([5, 7], pa.timestamp("us", "UTC"))
CENTS = pa.array([Decimal("1.25"), None], pa.decimal128(12, 2))
BY_SPARK: Mapping[str, tuple[str, pa.Array, pa.Array | None]] = {  # the table's type, what lies as it says, and what does not
    "of_less_bits": ("bigint", pa.array([1, 2]), pa.array([1, None], pa.int32())),
    "a_date_as_a_moment": ("timestamp_ntz", NOON.cast(pa.timestamp("us")), pa.array([0, 1], pa.date32())),
    "without_a_sign": ("bigint", pa.array([1, 2]), pa.array([1, 3_000_000_000], pa.uint32())),
    "half_of_a_double": ("double", pa.array([0.1, 0.2]), pa.array([0.1, 0.2], pa.float32())),
    "a_narrower_decimal": ("decimal(12,2)", CENTS, CENTS.cast(pa.decimal128(9, 2))),
    "bytes": ("string", pa.array(["a", "b"]), pa.array([b"b", b"c"])),
    "milliseconds": ("timestamp", NOON, pa.array([5, 6], pa.timestamp("ms", "UTC"))),
    "without_a_zone": ("timestamp", NOON, NOON.cast(pa.timestamp("us"))),
    "an_old_date": ("date", pa.array([date(1901, 1, 1)] * 2), pa.array([None, date(1900, 12, 31)])),
    "an_old_moment": ("timestamp", NOON, pa.array([0, -(10**17)], pa.timestamp("us", "UTC"))),
    "a_time_of_pyarrow": ("bigint", pa.array([1, 2]), pa.array([1, 2], pa.duration("us"))),
    "no_such_column": ("bigint", pa.array([1, 2]), None),
    "Other_Letters": ("bigint", pa.array([1, 2]), None),
}


def test_what_spark_reads(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each file is as the table says but for one column, or for how it is written."""
    usual = {name: array for name, (_, array, _) in BY_SPARK.items()}
    lake.file("usual.parquet", usual)
    for name, (_, array, odd) in BY_SPARK.items():
        others = {other: column for other, column in usual.items() if other != name}
        more = {name.lower(): array} if name == "Other_Letters" else {name: odd} if odd is not None else {}
        lake.file(f"{name}.parquet", others | more)
    pq.write_table(pa.table(usual), lake.folder / "int96.parquet", use_deprecated_int96_timestamps=True)
    aged(lake.folder / "int96.parquet")
    schema = ", ".join(f"{name} {type_}" for name, (type_, _, _) in BY_SPARK.items())
    report, rows = by_both(monkeypatch, lake.table(schema=schema), *map(Everything, BY_SPARK))
    assert (len(rows), report.files_direct) == (len(BY_SPARK) + 2, 1)
    assert report.why_by_spark


def test_an_encoding_that_spark_does_not_read(tmp_path: Path) -> None:
    path, column = tmp_path / "a.parquet", Column("double", None, ("v",))
    for encoding, why in (("PLAIN", ""), ("BYTE_STREAM_SPLIT", "column v is encoded by BYTE_STREAM_SPLIT")):
        pq.write_table(pa.table({"v": [0.5]}), path, column_encoding={"v": encoding}, use_dictionary=False)
        assert why_not_in(Footer(path, pq.read_metadata(path)), [column]) == why


@pytest.mark.long
def test_how_a_table_is_read(lake: Lake) -> None:
    lake.file("a.parquet", {"v": ["a", "b"], "n": [1, 2], "s": [{"x": 1}, None], "a": [[1], None]})
    table, index = lake.table(), ValueList("v")

    def direct_files(*indexes: Index, **given: Any) -> int:
        made = lake.table(**given) if given else table
        files = made.create_index(*indexes).files_direct
        made.drop_index(*indexes)
        return files

    assert direct_files(index) == direct_files(ValueList("s.x")) == direct_files(index, MinMax("n")) == 1
    assert direct_files(ValueList("upper(v)")) == direct_files(ValueList("a")) == direct_files(ValueList("n + 1")) == 0
    for option in ("mergeSchema", "datetimeRebaseMode"):
        assert direct_files(index, format="parquet", options={option: "true" if option == "mergeSchema" else "LEGACY"}) == 1, option
    for option in ("fs.file.impl.disable.cache", "unheardOf", "parquet.encryption.kms.instance.id"):
        assert direct_files(index, format="parquet", options={option: ""}) == 0, option
    for setting, files in {
        "spark.sql.caseSensitive": 1,
        "spark.sql.parquet.fieldId.read.enabled": 1,
        "spark.sql.legacy.charVarcharAsString": 0,
    }.items():
        with settings_of(lake.spark, {setting: "true"}):
            assert direct_files(index) == files, setting
    other = lake.file("../other/a.parquet", {"v": ["a"]}).parent
    assert lake.skipping.table(str(other)).create_index(index).files_direct == 1
    lake.spark.read.parquet(str(other)).write.orc(str(other / "orc"))
    assert lake.skipping.table(str(other / "orc"), format="orc").create_index(index).why_by_spark == ""


class Failing(Index):
    """Some of its files are too much for it."""

    fields = {"rows": pa.int64()}

    def collect(self, *values: pa.Array) -> dict[str, Any]:
        return {"rows": 1 // (values[0][0].as_py() - 1)}

    def merge(self, a: dict[str, Any], b: dict[str, Any]) -> dict[str, Any]:
        return {"rows": a["rows"] + b["rows"]}


def test_errors_are_those_of_the_index(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    lake.file("a.parquet", {"n": [1]})
    lake.file("b.parquet", {"n": [2]})
    report, _ = by_both(monkeypatch, lake.table(), Failing("n"), ValueList("n"))
    assert report.files_direct == 2
    assert "ZeroDivisionError" in report.unknown["Failing(n)"]


def test_what_tasks_and_spark_read_of_the_same_files(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    for i in range(3):
        lake.file(f"{i}.parquet", {"n": [i, None, i + 10], "s": ["a", "b", str(i)]})
    lake.file("odd.parquet", {"n": pa.array([5], pa.int32()), "s": ["z"]})
    report, _ = by_both(
        monkeypatch, lake.table(schema="n bigint, s string"), ValueList("upper(s)"), MinMax("n"), ValueList("n % 7"), ValueList("s")
    )
    assert (report.files_direct, report.files_collected, report.rows) == (3, 4, 10)
    assert "ValueList(upper(s))" in report.why_by_spark
    with pytest.raises(DataSkipError, match="cannot be read"):  # by Spark, none of them
        lake.table(schema="n bigint, s string").create_index(ValueList("s"), ValueList("CAST(s AS INT)"))


def test_one_large_file_is_read_by_several_tasks(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    pq.write_table(pa.table({"n": list(range(1000)), "s": ["x"] * 1000}), lake.folder / "a.parquet", row_group_size=300)
    aged(lake.folder / "a.parquet")
    lake.file("b.parquet", {"n": [5], "s": ["y"]})
    monkeypatch.setattr(direct, "_PART", 500)
    report, _ = by_both(monkeypatch, lake.table(), Everything("n"), ValueList("s"), GapList("n"))
    assert (report.files_direct, report.rows) == (2, 1001)


def test_workers_that_cannot_read(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    lake.file("a.parquet", {"n": [1]})

    def broken(*_: Any) -> Callable[[Any], Iterator[bytes]]:
        def run(_: Any) -> Iterator[bytes]:
            raise ImportError("no pyarrow here")

        return run

    monkeypatch.setattr(direct, "_reader", broken)
    report = lake.table().create_index(ValueList("n"))
    assert (report.files_direct, report.files_collected) == (0, 1)
    assert "no pyarrow here" in report.why_by_spark


@pytest.mark.parametrize("kind", [MinMax, Everything])
def test_a_name_with_a_dot_leaves_other_columns_to_tasks(lake: Lake, monkeypatch: pytest.MonkeyPatch, kind: type[Index]) -> None:
    """One such column had Spark read all of them, and the report say that it does not lie in the file as what it lies there as."""
    for i in range(2):
        lake.file(f"{i}.parquet", {"a.b": [float(i), None], "x": [i, 7], "a": [{"b": i}, None]})
    report, _ = by_both(monkeypatch, lake.table(), kind("x"), kind("`a.b`"))
    assert (report.files_direct, report.files_lifted, report.why_by_spark) == (2, 0, "there is a dot in the name of `a.b`")
    report, _ = by_both(monkeypatch, lake.table(), kind("`a.b`"))
    assert (report.files_direct, report.why_by_spark) == (0, "there is a dot in the name of `a.b`")
