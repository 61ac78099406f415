"""Contracts, read again: what a query by the files of an index is asked beside its rows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from data_skip import MinMax
from data_skip.planning.bounded import Bounded
from tests.support import Lake, settings_of

SNAPSHOT = {"spark.data_skip.freshness": "snapshot"}


@pytest.fixture
def catalog(lake: Lake) -> Iterator[Lake]:
    """A table `c` of the catalog with the partitions a and b."""
    lake.spark.sql("DROP TABLE IF EXISTS c")
    for i, p in enumerate("ab"):
        lake.file(f"p={p}/{i}.parquet", {"x": [i]})
    lake.spark.sql(f"CREATE TABLE c (x LONG, p STRING) USING parquet PARTITIONED BY (p) LOCATION '{lake.folder}'")
    for p in "ab":
        lake.spark.sql(f"ALTER TABLE c ADD PARTITION (p = '{p}')")
    yield lake
    lake.spark.sql("DROP TABLE IF EXISTS c")


@pytest.mark.parametrize("elsewhere", [False, True])
def test_input_files_of_some_partitions(catalog: Lake, tmp_path: Path, elsewhere: bool) -> None:
    catalog.index(MinMax("x"))
    if elsewhere:
        catalog.spark.sql(f"ALTER TABLE c ADD PARTITION (p = 'e') LOCATION '{tmp_path}/e'")
    frame = catalog.spark.sql("SELECT x FROM c WHERE p = 'a' AND x = 0")
    with catalog.skipping.disabled():
        expected = frame.inputFiles()
    with settings_of(catalog.spark, SNAPSHOT):
        frame = catalog.spark.sql("SELECT x FROM c WHERE p = 'a' AND x = 0")
        assert [x for (x,) in frame.collect()] == [0]
        assert catalog.skipping.report().scans[0].contract == "snapshot 1"
        assert frame.inputFiles() == expected


@pytest.mark.parametrize("read", ["c", "t"])
def test_an_index_is_brought_up_to_date_once_for_all_scans_of_a_query(catalog: Lake, monkeypatch: pytest.MonkeyPatch, read: str) -> None:
    """Where a refresh takes longer than the index may be old, each scan waited for one of its own, and then the query."""
    catalog.index(MinMax("x"))
    catalog.view()
    refresh, refreshed = Bounded._refresh_by_one, []

    def one(self: Any) -> None:
        refreshed.append(self)
        refresh(self)

    monkeypatch.setattr(Bounded, "_refresh_by_one", one)
    with settings_of(catalog.spark, {"spark.data_skip.freshness": "bounded(0)"}):
        of_each = ", ".join(f"(SELECT count(*) FROM {read} WHERE x = {i})" for i in range(3))
        for table_is_new in (True, False):
            catalog.file(f"p=a/{table_is_new}.parquet", {"x": [2]})
            refreshed.clear()
            found = catalog.spark.sql(f"SELECT {of_each}, count(*) FROM {read} WHERE x < 9").collect()
            assert list(found[0]) == ([1, 1, 1, 3] if table_is_new else [1, 1, 2, 4])
            assert len(refreshed) == 1
        assert catalog.skipping.report().scans[-1].contract.startswith("bounded(0) ")


def test_what_users_have_cached_of_a_table_stays(catalog: Lake) -> None:
    """A listing that Spark keeps of the table is not believed; REFRESH TABLE would empty their caches, too, each time."""
    table = catalog.skipping.table("c")
    table.create_index(MinMax("x"))
    count, cached = "SELECT count(*) FROM c", catalog.spark.sql("SELECT count(*) FROM c").cache()
    assert cached.collect()[0][0] == 2
    kept = catalog.spark.sparkContext._jsc.getPersistentRDDs
    blocks = set(kept())
    catalog.file("p=a/new.parquet", {"x": [7]})
    with settings_of(catalog.spark, {"spark.data_skip.freshness": "bounded(0)"}):
        assert [x for (x,) in catalog.spark.sql("SELECT x FROM c WHERE x = 7").collect()] == [7]
    assert table.describe().files == 3 and len(table.files("x = 7")) == 1
    assert table.refresh().files_current == 3
    assert catalog.spark.sql(count).collect()[0][0] == 2 and set(kept()) == blocks
    cached.unpersist()


def test_a_table_that_somebody_has_cached_is_indexed(lake: Lake) -> None:
    """Of its files: not of what the cache holds, which may be older, and by no plan over that."""
    lake.file("a.parquet", {"x": [1, 2]})
    cached = lake.spark.read.parquet(str(lake.folder)).cache()
    assert cached.count() == 2
    lake.file("a.parquet", {"x": [101, 102, 103]})
    table = lake.index(MinMax("x"), MinMax("x * 2"))
    lake.file("b.parquet", {"x": [7]})
    assert table.refresh().files_collected == 1
    assert [tuple(row)[:2] for (row,) in table.metadata().orderBy("path").select("min_max__x").collect()] == [(101, 103), (7, 7)]
    assert [x for (x,) in table.read("bounded(0)").where("x * 2 = 14").collect()] == [7]
    cached.unpersist()
    lake.check("x * 2 = 204", {"a.parquet"})
