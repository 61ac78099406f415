"""Maps: indexes over map_keys, map_values and single keys."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from data_skip import BloomFilter, MinMax, Skipping, ValueList
from tests.support import Lake, files_read

MAP = pa.map_(pa.string(), pa.int64())
ALL = {"low", "high", "other", "none"}


@pytest.fixture(scope="module")
def lake(spark: SparkSession, skipping: Skipping, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    lake = Lake(spark, skipping, tmp_path_factory.mktemp("maps") / "table")
    maps = {
        "low": [{"k": 1, "l": 2}, {"k": 3}],
        "high": [{"k": 100}, {"l": 200, "k": 150}],
        "other": [{"o": 1, "p": None}, {"q": 100}],
        "none": [None, {}],
    }
    for name, values in maps.items():
        m = pa.array([None if v is None else list(v.items()) for v in values], MAP)
        lake.file(name, {"m": m, "w": m, "i": [1, 2]})
    lake.index(MinMax("map_values(m)"), ValueList("map_keys(m)"), MinMax("w['k']"), BloomFilter("map_keys(w)"))
    lake.view()
    yield lake
    spark.catalog.dropTempView("t")


@pytest.mark.parametrize(
    ("where", "read"),
    [
        ("m['k'] = 1", {"low"}),
        ("m['k'] > 50", {"high"}),
        ("element_at(m, 'k') = 100", {"high"}),
        ("m['k'] IS NULL", ALL),
        ("coalesce(m['k'], 500) > 300", ALL),
        ("m['k'] IS NOT NULL", {"low", "high"}),
        ("map_contains_key(m, 'o')", {"other"}),
        ("array_contains(map_keys(m), 'l')", {"low", "high"}),
        ("array_contains(map_values(m), 200)", {"high"}),
        ("exists(map_values(m), v -> v > 100)", {"high"}),
        ("exists(map_entries(m), e -> e.key LIKE 'o%' AND e.value < 50)", {"other"}),
        ("m['x'] = 1", set()),
        ("w['k'] = 2", {"low"}),
        ("element_at(w, 'k') > 120", {"high"}),
        ("w['k'] IS NULL", {"other", "none"}),
        ("element_at(w, 'q') = 100", {"other"}),
        ("map_contains_key(w, 'zz')", set()),
    ],
)
def test_predicates_about_maps(lake: Lake, where: str, read: set[str]) -> None:
    lake.check(where, read=read)


def test_columns_of_the_dataframe_api(lake: Lake) -> None:
    m = F.col("m")
    for column, read in (
        (m["k"] > 50, {"high"}),
        (F.element_at(m, "k") == 100, {"high"}),
        (m.getItem("k").isNotNull(), {"low", "high"}),
        (F.map_contains_key(m, "o"), {"other"}),
        (F.array_contains(F.map_values(m), 200), {"high"}),
        (F.exists(F.map_entries(m), lambda e: e["key"].like("o%") & (e["value"] < 50)), {"other"}),
    ):
        assert files_read(lake.skipping, lake.spark.table("t").where(column), lake.folder) == read, column


def test_exploded_maps(lake: Lake) -> None:
    lake.query("SELECT i, k, v FROM t LATERAL VIEW explode(m) e AS k, v WHERE k = 'o'", read={"other"})
    lake.query("SELECT i, k, v FROM t LATERAL VIEW explode(m) e AS k, v WHERE v > 150", read={"high"})
    lake.query("SELECT i, k, v FROM t LATERAL VIEW OUTER explode(m) e AS k, v WHERE k = 'o' AND v < 5", read={"other"})
    lake.query("SELECT i, k, v FROM t LATERAL VIEW OUTER explode(m) e AS k, v WHERE v IS NULL")
