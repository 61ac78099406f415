"""BloomFilter: never wrong, and serves equality of every type that it hashes."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from data_skip import BloomFilter, DataSkipError
from data_skip.indexes.split_block import (
    blocks_for,
)
from data_skip.testing import check_index
from tests.indexes.bloom_kinds import KINDS, column
from tests.support import Lake

NAN = float("nan")


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


@pytest.mark.parametrize("fpp", [0, 1, -0.1, NAN, "0.1", None])
def test_refuses_what_is_no_probability(fpp: Any) -> None:
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


@pytest.mark.long
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
