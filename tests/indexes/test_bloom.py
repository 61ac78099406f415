"""BloomFilter: bit for bit Parquet's own, never wrong, and as selective as the specification says."""

from __future__ import annotations

import re
import struct
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import xxhash
from pyspark.sql import DataFrame, SparkSession

from data_skip import BloomFilter, DataSkipError, Hybrid, ValueList
from data_skip.building.collect import physical
from data_skip.expression import Column
from data_skip.footer import Footer
from data_skip.indexes.split_block import (
    any_may_hold,
    bits_per_value,
    bitset,
    blocks_for,
    blocks_of,
    decimal_bytes,
    false_positives,
    folded,
    hash_values,
    may_hold,
)
from data_skip.testing import check_index
from tests.support import Lake, aged

NAN = float("nan")
SPEC = {0.1: 6.0, 0.01: 10.5, 0.001: 16.9, 0.0001: 26.4, 0.00001: 41.0}  # the specification's table, Sizing an SBBF


@pytest.mark.parametrize(("fpp", "bits"), SPEC.items())
def test_sizes_are_those_of_the_specification(fpp: float, bits: float) -> None:
    assert bits_per_value(fpp) == pytest.approx(bits, rel=0.01)


@pytest.mark.parametrize(("hashes", "expected"), [(26_214, 0.0126), (52_428, 0.18), (13_107, 0.0004)])
def test_probabilities_are_those_of_the_specification(hashes: int, expected: float) -> None:
    assert false_positives(1024 * 256 / hashes) == pytest.approx(expected, rel=0.05)


@pytest.mark.parametrize("fpp", [0.1, 0.01, 0.001])
def test_false_positives_stay_within_a_fifth_of_the_specification(fpp: float) -> None:
    held, probes = 20_000, 200_000
    numbers = np.random.default_rng(7).permutation(np.arange(held + probes, dtype=np.int64))
    filter_ = bitset(hash_values(pa.array(numbers[:held])), blocks_for(held, fpp))
    asked = hash_values(pa.array(numbers[held:]))
    words = blocks_of(pa.array([filter_]))
    assert may_hold(words, np.array([0]), np.array([len(words)]), asked).mean() < 1.2 * fpp


def test_a_block_is_set_and_asked_as_the_pseudocode_does() -> None:
    salts = [0x47B6137B, 0x44974D91, 0x8824AD5B, 0xA2B7289D, 0x705495C7, 0x2DF1424B, 0x9EFC4947, 0x5C6BFB31]
    hashes, blocks = hash_values(pa.array([f"v{i}" for i in range(50)])), 7
    words = [[0] * 8 for _ in range(blocks)]
    for h in hashes.tolist():
        block = words[((h >> 32) * blocks) >> 32]
        for i, salt in enumerate(salts):
            block[i] |= 1 << (((h & 0xFFFFFFFF) * salt & 0xFFFFFFFF) >> 27)
    assert bitset(hashes, blocks) == b"".join(struct.pack("<8I", *block) for block in words)


@pytest.mark.parametrize(
    ("array", "plain"),
    [
        (pa.array([-3, None, 7], pa.int8()), [struct.pack("<i", -3), struct.pack("<i", 7)]),
        (pa.array([-300], pa.int16()), [struct.pack("<i", -300)]),
        (pa.array([1 << 30]).cast(pa.int32()), [struct.pack("<i", 1 << 30)]),
        (pa.array([-(1 << 60)]), [struct.pack("<q", -(1 << 60))]),
        (pa.array([0.1, -0.0], pa.float32()), [struct.pack("<f", 0.1), struct.pack("<f", -0.0)]),
        (pa.array([0.1, NAN]), [struct.pack("<d", 0.1), struct.pack("<d", NAN)]),
        (pa.array(["", "ä😀", "x" * 100]), [b"", "ä😀".encode(), b"x" * 100]),
        (pa.array([b"\xff\x00"]), [b"\xff\x00"]),
        (pa.array([Decimal("-1.10")], pa.decimal128(9, 2)), [struct.pack("<i", -110)]),
        (pa.array([Decimal("-1.10")], pa.decimal128(18, 2)), [struct.pack("<q", -110)]),
        (pa.array([None, Decimal("-1.10")], pa.decimal128(19, 2)), [(-110).to_bytes(9, "big", signed=True)]),
        (pa.array([Decimal(10**37)], pa.decimal128(38, 0)), [(10**37).to_bytes(16, "big", signed=True)]),
    ],
    ids=lambda value: str(value.type) if isinstance(value, pa.Array) else "",
)
def test_hashes_are_xxh64_of_the_plain_encoding(array: pa.Array, plain: list[bytes]) -> None:
    expected = list(map(xxhash.xxh64_intdigest, plain))
    assert hash_values(array).tolist() == expected
    padded = pa.concat_arrays([array[:1], array])
    assert hash_values(padded.slice(1)).tolist() == expected


@pytest.mark.parametrize("digits", range(1, 39))
def test_decimals_take_as_many_bytes_as_in_spark(digits: int) -> None:
    fewest = next(n for n in range(1, 20) if 2 ** (8 * n - 1) - 1 >= 10**digits - 1)
    assert decimal_bytes(digits) == fewest


def test_what_a_bitset_answers_where_something_is_unknown() -> None:
    (value,) = (hash_values(pa.array(["a"])),)
    holds, other = bitset(value, 2), bytes(64)
    lists = [[holds], [other], [other, holds], [], None, [None], [None, holds], [b"short"], [b""], [b"short", other], [bytes(32), holds]]
    answers = any_may_hold(pa.array(lists, pa.list_(pa.binary())), value).to_pylist()
    assert answers == [True, False, True, False, None, None, True, None, None, None, True]
    sliced = pa.array([None, *lists], pa.list_(pa.binary())).slice(1)
    assert any_may_hold(sliced, value).to_pylist() == answers
    assert any_may_hold(pa.chunked_array([sliced]), value).to_pylist() == answers
    assert any_may_hold(pa.array(lists, pa.list_(pa.binary())), value[:0]).to_pylist() == [
        *(False, False, False, False, None, None, None, None, None, None, False)
    ]


def test_many_values_of_many_files_are_asked_in_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    hashes = hash_values(pa.array(range(3000)))
    lists = pa.array([[bitset(hashes[i : i + 1], 4)] for i in range(0, 3000, 100)], pa.list_(pa.binary()))
    at_once = any_may_hold(lists, hashes[2050:])
    monkeypatch.setattr("data_skip.indexes.split_block._MOST_PROBES", 64)
    assert any_may_hold(lists, hashes[2050:]) == at_once
    assert at_once.to_pylist()[21:] == [True] * 9
    assert sum(any_may_hold(lists, hashes[2001:2002]).to_pylist()) <= 1


def test_merged_in_any_order_a_record_holds_all_values() -> None:
    index = BloomFilter("v")
    batches = [pa.array([*range(i, i + 500), None]) for i in range(0, 4000, 250)]
    records = [index.collect(batch) for batch in batches]
    forward = records[0]
    for record in records[1:]:
        forward = index.merge(forward, record)
    backward = records[-1]
    for record in records[-2::-1]:
        backward = index.merge(record, backward)
    whole = index.finish(index.collect(pa.concat_arrays(batches)))
    assert index.finish(forward) == index.finish(backward) == whole == index.finish(whole)
    assert len(whole["bitsets"][0]) == 32 * blocks_for(4250, 0.01)


def test_a_file_of_too_many_values_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("data_skip.indexes.bloom.MOST_VALUES", 10)
    index = BloomFilter("v")
    merged = index.merge(index.collect(pa.array(range(8))), index.collect(pa.array(range(5, 9))))
    assert index.finish(merged)["bitsets"] is not None
    over = index.merge(merged, index.collect(pa.array(range(100, 110))))
    assert index.finish(over) == {"bitsets": None, "has_null": False}
    assert index.finish(index.merge(over, merged)) == {"bitsets": None, "has_null": False}


MOMENT = datetime(2024, 5, 17, 12, 30, 1, 234567, tzinfo=timezone.utc)
KINDS: dict[
    str, tuple[pa.DataType, list[Any], str, str]
] = {  # values (the first two of one file, the others of another), the predicates of both
    "tinyint": (pa.int8(), [-7, 3, 5, 7], "v = 3", "v IN (5Y, 100Y)"),
    "smallint": (pa.int16(), [-700, 300, 500, 700], "v = 300", "v = 500"),
    "int": (pa.int32(), [-70_000, 3, 5, 7], "v = -70000", "v IN (5, 100, NULL)"),
    "bigint": (pa.int64(), [9007199254740993, 3, 9007199254740992, 7], "v = 9007199254740993", "v <=> 9007199254740992"),
    "float": (pa.float32(), [0.1, -0.0, 0.5, 2.5], "v = 0", "v = float('0.5')"),
    "double": (pa.float64(), [0.1, 0.0, 1e300, float("inf")], "v = double('-0.0')", "v = double('inf')"),
    "string": (pa.string(), ["", "Jaipur", "ä😀", "x" * 300], "v = ''", "v IN ('ä😀', 'other')"),
    "binary": (pa.binary(), [b"", b"\xff\x00", b"a", b"b"], "v = X'FF00'", "v = X'61'"),
    "date": (
        pa.date32(),
        [date(1969, 12, 31), date(2024, 2, 29), date(2024, 3, 1), date(9999, 1, 1)],
        "v = DATE'2024-02-29'",
        "v = '2024-03-01'",
    ),
    "timestamp": (
        pa.timestamp("us", "UTC"),
        [MOMENT, MOMENT.replace(year=1969), MOMENT.replace(year=2000), MOMENT.replace(year=2001)],
        "v = TIMESTAMP'2024-05-17 12:30:01.234567Z'",
        "v = TIMESTAMP'2000-05-17 12:30:01.234567Z'",
    ),
    "timestamp_ntz": (
        pa.timestamp("us"),
        [MOMENT.replace(tzinfo=None), MOMENT.replace(tzinfo=None, year=1969), datetime(2000, 1, 1), datetime(2001, 1, 1)],
        "v = TIMESTAMP_NTZ'2024-05-17 12:30:01.234567'",
        "v = TIMESTAMP_NTZ'2000-01-01 00:00:00'",
    ),
    "decimal(9,2)": (
        pa.decimal128(9, 2),
        [Decimal("1.10"), Decimal("-2.00"), Decimal("5.00"), Decimal("7.01")],
        "v = 1.1",
        "v IN (5, 7.02)",
    ),
    "decimal(18,2)": (pa.decimal128(18, 2), [Decimal("1.10"), Decimal("-2.00"), Decimal("5.00"), Decimal("7.01")], "v = -2", "v = 7.01BD"),
    "decimal(38,2)": (pa.decimal128(38, 2), [Decimal("1.10"), Decimal("-2.00"), Decimal("5.00"), Decimal("7.01")], "v = -2", "v = 7.01BD"),
}


def column(kind: str) -> str:
    return re.sub(r"\W+", "_", kind)


def test_skips_by_equality_of_every_type(lake: Lake) -> None:
    first = {column(kind): pa.array([*values[:2], None], type_) for kind, (type_, values, _, _) in KINDS.items()}
    second = {column(kind): pa.array(values[2:], type_) for kind, (type_, values, _, _) in KINDS.items()}
    lake.file("first.parquet", first)
    lake.file("second.parquet", second)
    lake.file("nulls.parquet", {name: pa.nulls(2, array.type) for name, array in second.items()})
    lake.index(*(BloomFilter(name, fpp=1e-6) for name in first))
    assert lake.view().dtypes == [(column(kind), kind) for kind in KINDS]
    for kind, (_, _, of_first, of_second) in KINDS.items():
        lake.check(of_first.replace("v ", f"{column(kind)} "), read=["first.parquet"])
        lake.check(of_second.replace("v ", f"{column(kind)} "), read=["second.parquet"])
    lake.check("double = 0 OR string = 'ä😀'", read=["first.parquet", "second.parquet"])
    lake.check("string IS NULL", read=["first.parquet", "nulls.parquet"])
    lake.check("NOT (string = '')", read=["first.parquet", "second.parquet"])
    lake.check("NOT (string <=> '')", read=["first.parquet", "second.parquet", "nulls.parquet"])


def test_a_long_in_list_and_expressions(lake: Lake) -> None:
    for i in range(6):
        lake.file(f"{i}.parquet", {"n": list(range(i, 6000, 6)), "s": [f"Name {j}" for j in range(i, 6000, 6)]})
    lake.index(BloomFilter("n", fpp=1e-6), BloomFilter("upper(s)", fpp=1e-6))
    lake.view()
    many = ", ".join(str(n) for n in range(100_000, 103_000))
    lake.check(f"n IN ({many})", read=[])
    lake.check(f"n IN ({many}, 13)", read=["1.parquet"])
    lake.check("upper(s) = 'NAME 14'", read=["2.parquet"])
    lake.check("n NOT IN (1, 2)", read=[f"{i}.parquet" for i in range(6)])
    lake.check("n < 0", read=[f"{i}.parquet" for i in range(6)])
    lake.check("s = 'Name 14'", read=[f"{i}.parquet" for i in range(6)])


def test_nan_is_never_skipped(lake: Lake) -> None:
    lake.file("nan.parquet", {"v": [1.0, NAN]})
    lake.file("other.parquet", {"v": [2.0, 3.0]})
    lake.index(BloomFilter("v"))
    lake.check("v = double('NaN')", read=["nan.parquet", "other.parquet"])
    lake.check("v IN (double('NaN'), 100D)", read=["nan.parquet", "other.parquet"])
    lake.check("v = 1", read=["nan.parquet"])


@pytest.mark.parametrize("sql", ["n > 1", "named_struct('n', n)", "s COLLATE UTF8_LCASE"])
def test_refuses_what_is_not_hashed(lake: Lake, sql: str) -> None:
    lake.file("a.parquet", {"n": [1, 2], "s": ["a", "b"]})
    with pytest.raises(DataSkipError, match="do not hash"):
        lake.index(BloomFilter(sql))


@pytest.mark.parametrize("fpp", [0, 1, -0.1, NAN])
def test_refuses_what_is_no_probability(fpp: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        BloomFilter("v", fpp=fpp)


NUMBERS = [{"v": v} for v in (-1.0, 0.0, -0.0, 1.5, 7.0, 99.0, None, NAN, float("inf"), None, 3.0, -50.0)]
SERVED = [
    "v = 0",
    "v = double('-0.0')",
    "v <=> 7",
    "v IN (1.5D, 99D, NULL)",
    "v <=> NULL",
    "v IS NULL OR v = 99",
    "v = 3 AND v > 1",
    "v IS NOT NULL",
]
NOT_SERVED = ["v = double('NaN')", "NOT (v = 7)", "v NOT IN (1.5D, 99D)", "NOT (v <=> 7)", "v BETWEEN 2 AND 8", "v > 1"]


def test_is_sound_on_numbers(spark: SparkSession) -> None:
    checked = check_index(BloomFilter("v"), NUMBERS, [*SERVED, *NOT_SERVED], spark)
    assert all(checked.skipped[predicate] for predicate in SERVED), checked
    of_nulls = set(checked.skipped["v IS NOT NULL"])
    assert not any(set(checked.skipped[predicate]) - of_nulls for predicate in NOT_SERVED), checked


def test_is_sound_on_strings(spark: SparkSession) -> None:
    words = ["", "Rome", "Roma", "😀 smile", "50%", "a_b", None, "ro", None, "x" * 300, "\uffee"]
    served = ["city = 'Rome'", "city IN ('Rome', '', NULL)", "city <=> '😀 smile'", "city IS NULL", "city LIKE 'Rome'"]
    checked = check_index(BloomFilter("city"), [{"city": c} for c in words], [*served, "city LIKE 'R%'", "NOT (city = 'Rome')"], spark)
    assert all(checked.skipped[predicate] for predicate in served), checked


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


def test_a_file_that_several_tasks_read_has_one_filter_of_the_right_size(lake: Lake) -> None:
    rows = lake.spark.range(0, 20_000, 1, 1).selectExpr("id % 10000 AS id")
    lake.spark_file("t.parquet", rows, **{"parquet.block.size": "20000", "parquet.page.size.row.check.min": "100"})
    lake.file("other.parquet", {"id": [-1]})
    lake.spark.conf.set("spark.sql.files.maxPartitionBytes", "16000")
    try:
        assert lake.view().where("id >= 0").rdd.getNumPartitions() > 2
        table = lake.index(BloomFilter("id"))
    finally:
        lake.spark.conf.unset("spark.sql.files.maxPartitionBytes")
    sizes = {row["path"]: [len(bits) for bits in row[BloomFilter("id").column]["bitsets"]] for row in table.metadata().collect()}
    assert sizes == {"t.parquet": [32 * blocks_for(10_000, 0.01)], "other.parquet": [32]}
    lake.check("id = 9999", read=["t.parquet"])
