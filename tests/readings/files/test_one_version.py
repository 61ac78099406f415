"""All scans of a query read one version of an index, which is brought up to date for them once; and what is cached stays."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from data_skip import DataSkipError, MinMax
from data_skip.planning import callback
from data_skip.planning.bounded import Bounded
from data_skip.spark.janino import load
from data_skip.spark.jvm import SOURCES
from data_skip.table import Table
from tests.readings.files.support import SNAPSHOT, parted, passing, refreshed_after_the_first_scan, same
from tests.readings.support import xs
from tests.support import Lake, rows_of, settings_of

__all__ = ["parted"]  # fixtures


def test_a_predicate_on_the_names_of_files_reads_no_others(lake: Lake) -> None:
    for i in range(4):
        lake.file(f"p=1/{i} ü.parquet", {"x": [i]})
    lake.index(MinMax("x"))
    wheres = {"_metadata.file_name = '2%20ü.parquet'": 1, "_metadata.file_path LIKE '%/2%' AND x = 2": 1, "_metadata.file_size > 0": 4}
    for where, read in wheres.items():
        frame = same(lake, where).where(where)
        frame.collect()
        scan = frame._jdf.queryExecution().executedPlan().collectLeaves().head()
        assert scan.metrics().apply("numFiles").value() == read
    plain = lake.spark.read.parquet(str(lake.folder))
    assert sorted(frame.inputFiles()) == sorted(plain.inputFiles())
    told = "_metadata.*", "input_file_name()"
    assert rows_of(lake.table().read("snapshot").selectExpr(*told)) == rows_of(plain.selectExpr(*told))


def test_all_scans_of_a_query_read_one_version(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    lake.file("a.parquet", {"x": [1]})
    table = lake.index(MinMax("x"))
    one, other = table.read("snapshot"), table.read("snapshot")
    pairs = one.selectExpr("x AS a").crossJoin(other.selectExpr("x + 0 AS b"))
    asked = refreshed_after_the_first_scan(lake, table, monkeypatch)
    assert len(pairs.collect()) == 1 and asked
    assert pairs.count() == 4


def test_what_fails_is_told(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    lake.file("a.parquet", {"x": [1]})
    table = lake.index(MinMax("x"))
    frame = table.read("snapshot")

    def full(*_: Any) -> str:
        raise OSError("no space left")

    monkeypatch.setattr(callback, "_last_snapshot", full)
    with pytest.raises((PySparkException, Py4JJavaError), match="no space left"):
        frame.collect()
    with pytest.raises(DataSkipError, match="no space left"):
        table.read("snapshot")


def test_tables_of_one_query_have_a_version_each(lake: Lake) -> None:
    for name, x in (("a", 1), ("b", 2)):
        lake.file(f"{name}/1.parquet", {"x": [x]})
        lake.skipping.table(str(lake.folder / name)).create_index(MinMax("x"))
    one, other = (lake.skipping.read(lake.folder / name) for name in "ab")
    assert [row.x for row in one.union(other).orderBy("x").collect()] == [1, 2]


@pytest.mark.parametrize("run", [lambda frame: frame.rdd.count(), lambda frame: len(frame.collect())])
def test_all_scans_of_a_query_that_is_no_execution_read_one_version(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, run: Callable[[DataFrame], int]
) -> None:
    """As of `rdd`, `foreach` and `foreachPartition`, which Spark runs without a number of their own."""
    lake.file("a.parquet", {"x": [1]})
    table = lake.index(MinMax("x"))
    one, other = table.read("snapshot"), table.read("snapshot")
    pairs = one.selectExpr("x AS a").crossJoin(other.where("x > (SELECT -1)").selectExpr("x + 0 AS b"))
    asked = refreshed_after_the_first_scan(lake, table, monkeypatch)
    assert run(pairs) == 1 and asked
    assert run(pairs.where("true")) == 4
    with lake.skipping.disabled():
        assert run(pairs.where("a > 0")) == 4


def test_what_a_query_was_given_that_has_ended_is_given_to_no_other(lake: Lake) -> None:
    """A thread that is started in a query, as in `foreachBatch`, keeps its number also once that has ended."""
    lake.file("a.parquet", {"x": [1]})
    table = lake.index(MinMax("x"))
    lake.spark.range(1).collect()
    context, key = lake.spark.sparkContext, "spark.sql.execution.id"
    context.setLocalProperty(key, "0")
    try:
        assert [table.read("snapshot").rdd.count(), len(table.read("snapshot").inputFiles())] == [1, 1]
        lake.file("b.parquet", {"x": [2]})
        table.refresh()
        assert [table.read("snapshot").rdd.count(), len(table.read("snapshot").inputFiles())] == [2, 2]
    finally:
        context.setLocalProperty(key, None)  # type: ignore[arg-type]


def test_what_a_query_was_given_is_forgotten_when_it_ends(lake: Lake) -> None:
    """Each version that is kept is one of all files of a table."""
    lake.file("a.parquet", {"x": [1]})
    frame = lake.index(MinMax("x")).read("snapshot")
    gateway: Any = lake.spark.sparkContext._gateway
    known = load(gateway, "data_skip", SOURCES).getClassLoader().loadClass("data_skip.KnownFiles")
    queries = known.getMethod("queries", gateway.new_array(gateway.jvm.Class, 0))
    for _ in range(3):
        assert frame.where("x = 1").count() == 1
    lake.spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    assert queries.invoke(None, gateway.new_array(gateway.jvm.Object, 0)) == 0


FRESHNESS = "spark.data_skip.freshness"


@pytest.mark.parametrize("other", ["parquet.`{folder}`", "one_part"])
def test_parts_of_a_folder_in_one_query(parted: Lake, monkeypatch: pytest.MonkeyPatch, other: str) -> None:
    """The version that the first was given was also given to the second, which had not been refreshed for it."""
    passes = passing(monkeypatch)
    sql = f"SELECT x FROM all_parts UNION ALL SELECT x FROM {other.format(folder=parted.folder)}"
    with settings_of(parted.spark, {FRESHNESS: "bounded(5)"}):
        assert parted.spark.sql(sql).count() == (4 if "folder" in other else 3)
        for i in range(3):
            parted.file(f"p=2/{i}.parquet", {"x": [10 + i]})
            passes()
            found = xs(parted.spark.sql(sql))
            for name in ("all_parts", "one_part"):
                parted.spark.catalog.refreshTable(name)
            with parted.skipping.disabled():
                assert found == xs(parted.spark.sql(sql)) and found.count(10 + i) == 2


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
    """Files are looked at as they are now. REFRESH TABLE would empty users' caches, and show them files that they do not see else."""
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
    assert xs(catalog.spark.sql("SELECT x FROM c WHERE x = 7")) == []
    assert catalog.spark.sql(count).collect()[0][0] == 2 and set(kept()) == blocks
    cached.unpersist()


@pytest.mark.parametrize("partitioned", [False, True])
def test_what_a_session_keeps_of_a_table_stays(lake: Lake, partitioned: bool) -> None:
    """Who asked of a table had Spark list it anew: its queries saw files of others, and what was made before not the next INSERT."""
    spark = lake.spark
    columns = "(x BIGINT, p INT) USING parquet PARTITIONED BY (p)" if partitioned else "(x BIGINT, p INT) USING parquet"
    spark.sql(f"CREATE TABLE held {columns} LOCATION '{lake.folder}'")
    asked: list[Callable[[Table], Any]] = [
        lambda table: table,
        lambda table: table.ensure_index(MinMax("x")),
        lambda table: table.describe(),
        lambda table: table.files("x = 1"),
        lambda table: table.refresh(),
        lambda table: table.indicators("x = 1"),
    ]
    other = spark.newSession()
    try:
        other.sql("INSERT INTO held VALUES (0, 1)")
        assert len(lake.skipping.table("held").files("x = 0")) == 1
        other.sql("INSERT INTO held VALUES (1, 1)")
        assert xs(spark.sql("SELECT x FROM held WHERE x >= 0")) == [0, 1], "which the session lists now for the first time"
        for i, ask in enumerate(asked):
            spark.table("held").createOrReplaceTempView("t")
            listed = xs(spark.sql("SELECT x FROM t WHERE x > 0"))
            assert len(listed) == 2 * i + 1
            other.sql(f"INSERT INTO held VALUES ({10 + i}, 1)")
            ask(lake.skipping.table("held"))
            assert xs(spark.sql("SELECT x FROM t WHERE x > 0")) == xs(spark.sql("SELECT x FROM held WHERE x > 0")) == listed
            spark.sql(f"INSERT INTO held VALUES ({i + 2}, 1)")
            assert xs(spark.sql("SELECT x FROM t WHERE x > 0")) == sorted([*listed, 10 + i, i + 2])
    finally:
        spark.sql("DROP TABLE held")


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
