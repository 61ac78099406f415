"""Hybrid: a value list of few values, a Bloom filter of many (Extensible Data Skipping, IV-E)."""

from __future__ import annotations

from itertools import permutations

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from data_skip import DataSkipError, Hybrid
from data_skip.indexes.hybrid import threshold_for
from data_skip.testing import check_index
from tests.support import Lake


def test_a_file_has_either_a_list_or_a_filter_and_is_skipped_by_it(lake: Lake) -> None:
    lake.file("few.parquet", {"n": [1, 2, 3, None], "s": ["Rome", "Oslo", "Rome", None]})
    lake.file("many.parquet", {"n": list(range(100, 200)), "s": [f"city {i}" for i in range(100)]})
    lake.file("other.parquet", {"n": list(range(300, 400)), "s": [f"town {i}" for i in range(100)]})
    table = lake.index(Hybrid("n", threshold=10, fpp=1e-6), Hybrid("s", threshold=10, fpp=1e-6))
    rows = {row["path"]: row for row in table.metadata().collect()}
    for path, listed in (("few.parquet", True), ("many.parquet", False)):
        (record,) = (v for k, v in rows[path].asDict().items() if k.startswith("hybrid__s"))
        assert (record["values"] is not None, record["bitsets"] is not None) == (listed, not listed)
    lake.check("n = 150", read=["many.parquet"])
    lake.check("n IN (3, 350)", read=["few.parquet", "other.parquet"])
    lake.check("s = 'city 7'", read=["many.parquet"])
    lake.check("s <=> 'Rome'", read=["few.parquet"])
    lake.check("s LIKE '%ome'", read=["few.parquet", "many.parquet", "other.parquet"])
    lake.check("s LIKE '%ity%'", read=["many.parquet", "other.parquet"])  # the list knows, the filters do not
    lake.check("n > 3 AND s IS NOT NULL", read=["many.parquet", "other.parquet"])
    lake.check("NOT (n = 150)", read=["few.parquet", "many.parquet", "other.parquet"])
    lake.check("s IS NULL", read=["few.parquet"])
    lake.check("upper(s) = 'X'", read=["many.parquet", "other.parquet"])


def test_overflow_is_sticky_in_every_order_of_merging() -> None:
    index = Hybrid("v", threshold=5)
    batches = [pa.array([1, 2, 3]), pa.array([4, None]), pa.array([5, 6, 7]), pa.array([1])]
    for order in permutations(batches):
        record = index.collect(order[0])
        for batch in order[1:]:
            record = index.merge(record, index.collect(batch))
        finished = index.finish(record)
        assert finished["values"] is None
        assert len(finished["bitsets"]) == 1
        assert finished["has_null"] is True
        assert index.finish(finished) == finished
    few = index.finish(index.merge(index.collect(batches[0]), index.collect(batches[1])))
    assert few == {"values": [1, 2, 3, 4], "bitsets": None, "has_null": True}
    assert index.finish(few) == few


@pytest.mark.long
def test_is_sound_as_a_list_as_a_filter_and_as_both(spark: SparkSession) -> None:
    words = ["", "Rome", "Roma", "Jaipur", "😀 smile", "50%", "a_b", None, "ro", None, "x" * 300]
    equal = ["city = 'Rome'", "city IN ('Rome', '', NULL)", "city <=> 'ro'", "city IS NULL", "city = 'Rome' OR city IS NULL"]
    others = ["NOT (city = 'Rome')", "city NOT IN ('Rome')", "city LIKE '%a'", "NOT (city <=> 'ro')", "length(city) > 4", "city > 'S'"]
    for threshold in (1, 3, 100):
        checked = check_index(Hybrid("city", threshold=threshold), [{"city": c} for c in words], [*equal, *others], spark)
        assert all(checked.skipped[predicate] for predicate in (equal if threshold == 1 else [*equal, *others])), checked


def test_the_threshold_is_that_of_the_paper() -> None:
    assert threshold_for(64_000_000, 64) == pytest.approx(10_088, abs=1)
    with pytest.raises(ValueError, match="a list is always smaller"):
        threshold_for(64_000_000, 1)


def test_refuses_what_it_cannot_be(lake: Lake) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        Hybrid("v", threshold=0)
    with pytest.raises(ValueError, match="between 0 and 1"):
        Hybrid("v", fpp=2)
    lake.file("a.parquet", {"v": [True]})
    with pytest.raises(DataSkipError, match="do not hash"):
        lake.index(Hybrid("v"))
