"""Contracts that a session's setting asks for, or the property of a table of the catalog."""

from __future__ import annotations

import random
import re
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

import data_skip
from data_skip import DataSkipError, MinMax, ScanReport
from data_skip.planning import bounded, callback
from data_skip.store import StoreError
from data_skip.table import Table
from tests.readings.files.support import earlier, refreshed_after_the_first_scan
from tests.support import Lake, rows_of, settings_of
from tests.test_snapshots import contents, values

FRESHNESS = "spark.data_skip.freshness"
SNAPSHOT = {FRESHNESS: "snapshot"}
LISTED = "Spark's listing is read, not by"


@pytest.fixture
def made(lake: Lake) -> Table:
    for i in range(6):
        lake.file(f"p={'ab'[i % 2]}/{i}.parquet", {"x": list(range(10 * i, 10 * i + 10))})
    return lake.index(MinMax("x"))


@pytest.fixture
def table(lake: Lake) -> Iterator[Callable[..., str]]:
    """Makes a table `c` of the catalog; partitions: those that the catalog knows, by their values; None: it has no such column."""

    def make(contract: str | None, partitions: str | None = None, folder: Path | None = None) -> str:
        columns = "x LONG" if partitions is None else "x LONG, p STRING"
        told = "" if contract is None else f"TBLPROPERTIES ('data_skip.freshness' = '{contract}')"
        parted = "" if partitions is None else "PARTITIONED BY (p)"
        lake.spark.sql(f"CREATE TABLE c ({columns}) USING parquet {parted} LOCATION '{folder or lake.folder}' {told}")
        for value in partitions or "":
            lake.spark.sql(f"ALTER TABLE c ADD PARTITION (p = '{value}')")
        return "c"

    lake.spark.sql("DROP TABLE IF EXISTS c")
    yield make
    lake.spark.sql("DROP TABLE IF EXISTS c")


def scan_of(lake: Lake) -> ScanReport:
    (scan,) = lake.skipping.report().scans
    return scan


def explained(frame: DataFrame) -> str:
    return str(frame.sparkSession._jvm.PythonSQLUtils.explainString(frame._jdf.queryExecution(), "formatted"))


def flat(lake: Lake) -> Table:
    for i in range(6):
        lake.file(f"{i}.parquet", {"x": list(range(10 * i, 10 * i + 10))})
    return lake.index(MinMax("x"))


def test_a_setting_of_the_session(lake: Lake, made: Table) -> None:
    frame = lake.view()
    lake.file("p=a/new.parquet", {"x": [42, 1000]})
    later = lake.view("u")  # of a listing that has the new file
    with settings_of(lake.spark, {FRESHNESS: " SnapShot "}):
        assert rows_of(later.where("x = 42")) == rows_of(frame.where("x = 42"))
        assert (scan_of(lake).contract, scan_of(lake).files_read, scan_of(lake).notes) == ("snapshot 1", 1, [])
        assert later.count() == 60
        scan = scan_of(lake)
        assert (scan.contract, scan.files_read, scan.clause, scan.predicates) == ("snapshot 1", 6, "", [])
        plan = explained(later.where("x = 42"))
        assert "snapshot: the files of version 1 of the index; skipping: MinMax(x) admits (x = 42L)" in plan, plan
        assert made.refresh().files_collected == 1  # which lists
        assert values(frame.where("x = 42")) == values(later.where("x = 42")) == [42, 42]
        assert values(lake.spark.read.parquet(str(lake.folder)).where("x = 42")) == [42, 42]
        made.drop_index(MinMax("x"))
        assert values(frame.where("x = 42")) == [42]
        assert "all indexes of the table were dropped" in str(lake.skipping.report())


def test_a_property_counts_before_the_setting(lake: Lake, table: Callable[..., str]) -> None:
    flat(lake)
    table("snapshot")
    lake.file("new.parquet", {"x": [42]})
    query = "SELECT x FROM c WHERE x = 42"
    assert values(lake.spark.sql(query)) == [42]
    assert scan_of(lake).contract == "snapshot 1"
    lake.spark.sql("CREATE OR REPLACE TEMP VIEW t AS SELECT * FROM c")
    assert values(lake.spark.sql("SELECT x FROM t WHERE x = 42")) == [42]
    assert values(lake.view().where("x = 42")) == [42, 42]  # by its path the table has no property
    lake.spark.sql("ALTER TABLE c SET TBLPROPERTIES ('data_skip.freshness' = 'listing')")
    with settings_of(lake.spark, SNAPSHOT):
        assert values(lake.spark.sql(query)) == [42, 42]
        assert (scan_of(lake).contract, scan_of(lake).notes) == ("listing", [])
        lake.spark.sql("ALTER TABLE c SET TBLPROPERTIES ('data_skip.freshness' = 'newest')")
        assert values(lake.spark.sql(query)) == [42, 42]
        assert f"{LISTED} the table's property data_skip.freshness=newest: it is no contract, as listing," in str(lake.skipping.report())
        lake.spark.sql("ALTER TABLE c UNSET TBLPROPERTIES ('data_skip.freshness')")
        assert values(lake.spark.sql(query)) == [42]


def test_one_dataframe_under_changing_settings(lake: Lake, made: Table) -> None:
    lake.file("p=a/new.parquet", {"x": [42]})
    frame = lake.view().where("x = 42")
    assert frame.count() == 2
    with settings_of(lake.spark, SNAPSHOT):
        assert frame.count() == 1
        with lake.skipping.disabled():
            assert frame.count() == 2
            assert "skipping was off" in str(lake.skipping.report())
        assert frame.count() == 1
        made.read().where("x > 0").collect()
    assert frame.count() == 2
    with settings_of(lake.spark, {FRESHNESS: "newest"}):
        assert frame.count() == 2
        told = f"{LISTED} {FRESHNESS}=newest: it is no contract, as listing, snapshot or bounded(60) are"
        assert told in str(lake.skipping.report())
        assert f"{told}; skipping: MinMax(x) admits" in explained(frame.where("true"))


@pytest.mark.long
def test_disable(lake: Lake) -> None:
    session = lake.spark.newSession()
    session.conf.set(FRESHNESS, "snapshot")
    lake.file("a.parquet", {"x": [1]})
    lake.index(MinMax("x"))
    lake.file("b.parquet", {"x": [2]})
    frame = session.read.parquet(str(lake.folder))
    data_skip.enable(session)
    assert frame.count() == 1
    data_skip.disable(session)
    assert frame.count() == 2


def globbed(lake: Lake) -> DataFrame:
    return lake.view(pathGlobFilter="*.parquet")


def young(lake: Lake) -> DataFrame:
    return lake.view(MODIFIEDAFTER="2000-01-01T00:00:00")


def recursive(lake: Lake) -> DataFrame:
    return lake.view(recursiveFileLookup="true")


def several(lake: Lake) -> DataFrame:
    return lake.spark.read.parquet(str(lake.folder / "p=a"), str(lake.folder / "p=b"))


def a_part(lake: Lake) -> DataFrame:
    return lake.spark.read.parquet(str(lake.folder / "p=a"))


def another_column(lake: Lake) -> DataFrame:
    shutil.rmtree(lake.folder / "p=a")
    shutil.rmtree(lake.folder / "p=b")
    lake.file("q=1/a.parquet", {"x": [42]})
    return lake.view()


def unreadable(lake: Lake) -> DataFrame:
    for path in (lake.folder / ".data_skip").rglob("*.json"):
        path.write_text("{")
    return lake.view()


@pytest.mark.parametrize(
    ("read", "why"),
    [
        (globbed, "pathGlobFilter chooses files"),
        pytest.param(young, "modifiedAfter chooses files", marks=pytest.mark.long),
        pytest.param(recursive, "recursiveFileLookup chooses files", marks=pytest.mark.long),
        (several, "it stands for 2 paths"),
        pytest.param(a_part, "no index at file:", marks=pytest.mark.long),
        pytest.param(another_column, r"have the partition columns struct<p:string> by version 1 .* struct<q:int>", marks=pytest.mark.long),
        pytest.param(unreadable, "the index at .* cannot be read", marks=pytest.mark.long),
    ],
)
@pytest.mark.parametrize("where", ["x = 42", "true"])
def test_what_is_not_followed_is_told(lake: Lake, made: Table, read: Callable[[Lake], DataFrame], why: str, where: str) -> None:
    lake.file("p=a/new.parquet", {"x": [42]})
    frame = read(lake).where(where)
    expected = rows_of(frame)
    with settings_of(lake.spark, SNAPSHOT):
        assert rows_of(frame.where("true")) == expected
        scan = scan_of(lake)
    assert scan.contract == "listing"
    (note,) = (note for note in scan.notes if note.startswith(f"{LISTED} {FRESHNESS}=snapshot: "))
    assert re.search(why, note), note


def test_without_an_index(lake: Lake) -> None:
    lake.file("a.parquet", {"x": [1]})
    frame = lake.view()
    with settings_of(lake.spark, SNAPSHOT):
        for query in (frame.where("x = 1"), frame):
            assert values(query) == [1]
            assert f"{LISTED} {FRESHNESS}=snapshot: no index at file:" in str(lake.skipping.report())
        assert "contract" not in str(lake.skipping.report())


@pytest.mark.long
def test_what_another_system_writes_and_an_index_of_an_earlier_data_skip(lake: Lake, made: Table) -> None:
    frame = lake.view()
    with settings_of(lake.spark, SNAPSHOT):
        frame.where("x = 42").write.format("noop").mode("overwrite").save()
        assert "only queries follow it, and those of which Spark writes files" in str(lake.skipping.report())
        earlier(made)
        assert values(frame.where("x = 42")) == [42]
        assert f"{LISTED} {FRESHNESS}=snapshot: an earlier data-skip refreshed it last" in str(lake.skipping.report())
        made.refresh()
        assert values(frame.where("x = 42")) == [42]
        assert scan_of(lake).contract.startswith("snapshot ")


@pytest.mark.long
def test_what_a_stream_wrote(lake: Lake, tmp_path: Path) -> None:
    """Its log says which files it has."""
    lake.file("a.parquet", {"x": [1]})
    out = tmp_path / "out"
    stream = lake.spark.readStream.schema("x LONG").parquet(str(lake.folder)).writeStream
    with settings_of(lake.spark, SNAPSHOT):
        stream.option("checkpointLocation", str(tmp_path / "check")).trigger(availableNow=True).start(str(out)).awaitTermination()
        lake.skipping.table(str(out)).create_index(MinMax("x"))
        assert values(lake.spark.read.parquet(str(out)).where("x = 1")) == [1]
        assert "its files are listed by MetadataLogFileIndex" in str(lake.skipping.report())


@pytest.mark.parametrize("partitions", [None, pytest.param("ab", marks=pytest.mark.long)])
def test_a_table_of_the_catalog_is_read_as_of_its_index(lake: Lake, table: Callable[..., str], partitions: str | None) -> None:
    for i in range(6):
        lake.file(f"p={'ab'[i % 2]}/{i}.parquet" if partitions else f"{i}.parquet", {"x": list(range(10 * i, 10 * i + 10))})
    known = lake.skipping.table(table(None, partitions))
    with pytest.raises(DataSkipError, match=r"no index .* create_index"):
        known.read("snapshot")
    known.create_index(MinMax("x"))
    frame = known.read("snapshot")
    plain = lake.spark.table("c")
    assert frame.schema == plain.schema and frame.select("c.x").count() == 60
    assert rows_of(frame.where("x IN (7, 42)")) == rows_of(plain.where("x IN (7, 42)"))
    assert (scan_of(lake).contract, scan_of(lake).files_read) == ("listing", 2)
    lake.file("p=a/new.parquet" if partitions else "new.parquet", {"x": [42]})
    lake.spark.sql("REFRESH TABLE c")
    assert values(lake.spark.table("c").where("x = 42")) == [42, 42]
    assert values(frame.where("x = 42")) == [42]
    assert (scan_of(lake).contract, scan_of(lake).files_read) == ("snapshot 1", 1)
    known.refresh()
    assert values(frame.where("x = 42")) == [42, 42]
    assert values(known.read("bounded(60)").where("x = 42")) == [42, 42]
    with settings_of(lake.spark, SNAPSHOT), pytest.raises(DataSkipError, match="is no contract"):
        known.read("newest")


def test_the_catalog_says_which_partitions_there_are(lake: Lake, made: Table, table: Callable[..., str]) -> None:
    table("snapshot", "ab")

    def found(contract: str) -> set[tuple[int, str]]:
        rows = lake.spark.sql("SELECT x, p FROM c WHERE x IN (7, 17) OR x > 1000").collect()
        assert scan_of(lake).contract == contract
        return {(row.x, row.p) for row in rows}

    assert found("snapshot 1") == {(7, "a"), (17, "b")}
    lake.spark.sql("ALTER TABLE c DROP PARTITION (p = 'b')")
    assert list((lake.folder / "p=b").iterdir())
    assert found("snapshot 1") == {(7, "a")}
    lake.spark.sql(f"ALTER TABLE c ADD PARTITION (p = 'z') LOCATION '{lake.folder}/p=a'")
    assert found("snapshot 1") == {(7, "a"), (7, "z")}
    lake.file("../elsewhere/e.parquet", {"x": [1005]})
    lake.spark.sql(f"ALTER TABLE c ADD PARTITION (p = 'e') LOCATION '{lake.folder.parent}/elsewhere'")
    assert found("listing") == {(7, "a"), (7, "z"), (1005, "e")}
    assert f"elsewhere, and the index tells of files below file:{lake.folder} alone" in str(lake.skipping.report())
    with pytest.raises(DataSkipError, match="the index tells of files below"):
        lake.skipping.table("c").read("snapshot")
    assert values(lake.spark.sql("SELECT x FROM c WHERE p = 'a' AND x = 7")) == [7]  # of which no file lies there
    assert scan_of(lake).contract == "snapshot 1"
    both = "SELECT x FROM c WHERE p = 'a' AND x = 7 UNION ALL SELECT x FROM c WHERE x > 1000"
    assert values(lake.spark.sql(both)) == [7, 1005]
    assert [scan.contract for scan in lake.skipping.report().scans] == ["listing", "listing"]  # of one version, both


def test_an_index_is_no_older_than_a_setting_says(lake: Lake, made: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(bounded, "now", lambda: now)
    frame = lake.view().where("x >= 1000")
    with settings_of(lake.spark, {FRESHNESS: "Bounded( 60 )"}):
        assert values(frame) == []
        assert scan_of(lake).contract == "bounded(60) 1"
        lake.file("p=a/1000.parquet", {"x": [1000]})
        now += 20
        assert values(frame.where("true")) == []
        now += 100
        assert values(frame.where("true")) == [1000]
        monkeypatch.setattr(data_skip.store.places.Places, "append_as_of", Mock(side_effect=StoreError("disk full")))
        lake.file("p=a/1001.parquet", {"x": [1001]})
        now += 100
        assert values(lake.view().where("x >= 1000")) == [1000, 1001]
        why = f"{LISTED} {FRESHNESS}=Bounded( 60 ): it is older than 60 s and cannot be refreshed: disk full"
        assert why in scan_of(lake).notes


@pytest.mark.long
def test_a_file_that_is_gone(lake: Lake, made: Table) -> None:
    frame = lake.view()
    (lake.folder / "p=a/4.parquet").unlink()
    with settings_of(lake.spark, SNAPSHOT):
        assert values(frame.where("x = 7")) == [7]
        with pytest.raises(Exception, match=r"p=a/4\.parquet is gone, .* Table\.refresh\(\)"):
            frame.where("x = 42").collect()
        made.refresh()
        assert frame.count() == 50


def test_all_scans_of_a_query_read_one_version(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    lake.file("a.parquet", {"x": [1]})
    table = lake.index(MinMax("x"))
    one, other, third = lake.view(), lake.view(), table.read("snapshot")
    lake.view("u")
    second = other.where("x > (SELECT min(x) - count(*) FROM u)").selectExpr("x + 0 AS b")
    pairs = one.selectExpr("x AS a").crossJoin(second).crossJoin(third.selectExpr("-x AS c"))
    with settings_of(lake.spark, SNAPSHOT):
        asked = refreshed_after_the_first_scan(lake, table, monkeypatch)
        assert len(pairs.collect()) == 1 and asked
        assert pairs.count() == 8
        assert [scan.contract for scan in lake.skipping.report().scans] == ["snapshot 2"] * 3  # that of `read` has no WHERE


@pytest.mark.long
def test_all_scans_of_what_is_no_execution_read_one_version(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """As of `rdd`; whenever a file is added, and the index refreshed."""
    lake.file("a.parquet", {"x": [1]})
    table = lake.index(MinMax("x"))
    last = callback._last_snapshot
    for after in range(1, 7):
        asked: list[str] = []

        def refreshed(root: str, java: Any, catalog: Any, after: int = after, asked: list[str] = asked) -> str:
            told = last(root, java, catalog)
            asked.append(root)
            if len(asked) == after:
                lake.file(f"{after}.parquet", {"x": [1]})
                beside = threading.Thread(target=table.refresh)
                beside.start()
                beside.join()
            return told

        monkeypatch.setattr(callback, "_last_snapshot", refreshed)
        files = table.describe().files
        pairs = lake.view().selectExpr("x AS a").crossJoin(lake.view().selectExpr("x + 0 AS b"))
        with settings_of(lake.spark, SNAPSHOT):
            assert pairs.rdd.count() in (files**2, (files + 1) ** 2)
        assert len(asked) >= 2  # as it is planned, and as files are listed


@pytest.mark.parametrize("partitions", [None, pytest.param("ab", marks=pytest.mark.long)])
def test_writes(lake: Lake, table: Callable[..., str], partitions: str | None) -> None:
    """What a query writes where it reads is by Spark's listing: it would lose the files that the index does not know."""
    spark, into = lake.spark, "c" if partitions is None else "c PARTITION (p)"
    names = [f"p={'ab'[i % 2]}/{i}.parquet" if partitions else f"{i}.parquet" for i in range(4)]
    for i, name in enumerate(names):
        lake.file(name, {"x": [i]})
    known = lake.skipping.table(table("snapshot", partitions))
    known.create_index(MinMax("x"))
    columns = "x, p" if partitions else "x"
    values_ = "(10, 'a')" if partitions else "(10)"
    count = "SELECT count(*) AS x FROM c"
    spark.sql(f"INSERT INTO c VALUES {values_}")
    assert values(spark.sql(count)) == [4]  # until a refresh
    spark.sql("ANALYZE TABLE c COMPUTE STATISTICS")
    assert "ANALYZE counts the files that are there" in str(lake.skipping.report())
    assert "5 rows" in str(spark.sql("DESCRIBE EXTENDED c").where("col_name = 'Statistics'").collect())
    spark.sql("DROP TABLE IF EXISTS copied")
    spark.sql("CREATE TABLE copied USING parquet AS SELECT * FROM c WHERE x >= 0")
    assert scan_of(lake).contract.startswith("snapshot ")
    assert spark.table("copied").count() == 4
    spark.sql("DROP TABLE copied")
    with pytest.raises(PySparkException, match=r"(?i)overwrite.*being read|UNSUPPORTED_OVERWRITE"):
        spark.sql(f"INSERT OVERWRITE c SELECT {columns} FROM c")
    spark.sql(f"INSERT INTO c SELECT {columns} FROM c WHERE x > 9")
    assert "the query writes where it reads, and might lose files" in str(lake.skipping.report())
    known.refresh()
    assert values(spark.sql("SELECT x FROM c")) == [0, 1, 2, 3, 10, 10]
    if partitions:
        spark.sql(f"INSERT INTO c VALUES {values_}")
        with settings_of(spark, {"spark.sql.sources.partitionOverwriteMode": "dynamic"}):
            spark.sql(f"INSERT OVERWRITE {into} SELECT {columns} FROM c")
        assert "the query writes where it reads" in str(lake.skipping.report())
        known.refresh()
        assert values(spark.sql("SELECT x FROM c")) == [0, 1, 2, 3, 10, 10, 10]
    spark.sql(f"INSERT OVERWRITE c VALUES {values_}")  # which deletes the index, too
    assert values(spark.sql("SELECT x FROM c")) == [10]


@pytest.mark.long
def test_what_is_cached_is_by_listing(lake: Lake, made: Table, table: Callable[..., str]) -> None:
    """Spark caches it anew after each INSERT, and a query that overwrites what it reads is given it."""
    spark = lake.spark
    table("snapshot", "ab")
    spark.sql("CACHE TABLE c")
    spark.sql("INSERT INTO c VALUES (1000, 'a')")
    assert values(spark.sql("SELECT x FROM c WHERE x > 100")) == [1000]
    with settings_of(spark, {"spark.sql.sources.partitionOverwriteMode": "dynamic"}):
        spark.sql("INSERT OVERWRITE c PARTITION (p) SELECT x, p FROM c")
    spark.sql("UNCACHE TABLE c")
    with lake.skipping.disabled():
        assert spark.table("c").count() == 61
    assert any(
        "what is cached may be read by queries that write" in note for r in lake.skipping.reports() for s in r.scans for note in s.notes
    )


@pytest.mark.long
def test_a_table_is_overwritten_of_which_a_partition_lies_in_the_folder_that_is_read(
    lake: Lake, made: Table, table: Callable[..., str], tmp_path: Path
) -> None:
    table(None, "", tmp_path / "other")
    lake.spark.sql(f"ALTER TABLE c ADD PARTITION (p = 'b') LOCATION '{lake.folder}/p=b'")
    lake.file("p=b/new.parquet", {"x": [1000]})
    lake.view()
    settings = SNAPSHOT | {"spark.sql.sources.partitionOverwriteMode": "dynamic"}
    with settings_of(lake.spark, settings):
        lake.spark.sql("INSERT OVERWRITE c PARTITION (p) SELECT x, p FROM t WHERE p = 'b'")
    assert "the query writes where it reads" in str(lake.skipping.report())
    assert values(lake.spark.sql("SELECT x FROM c WHERE x > 100")) == [1000]


def discovered(lake: Lake) -> int:
    metrics: Any = lake.spark._jvm.org.apache.spark.metrics.source.HiveCatalogMetrics
    return int(metrics.METRIC_FILES_DISCOVERED().getCount())


def test_nothing_is_listed(lake: Lake, made: Table, table: Callable[..., str]) -> None:
    """Of a table of the catalog Spark keeps what it has listed, once; of partitions that the catalog knows, data-skip lists none."""
    frame = lake.view()
    table("snapshot", "ab")
    before = discovered(lake)
    with settings_of(lake.spark, SNAPSHOT):
        assert values(frame.where("x = 42")) == [42]
        assert values(lake.skipping.table("c").read("snapshot").where("p = 'a' AND x = 42")) == [42]
        assert discovered(lake) - before <= 6  # `skipping.table` looks at the table
        before = discovered(lake)
        read = lake.skipping.table("c").read("snapshot")
        assert discovered(lake) == before
        assert values(read.where("p = 'a' AND x = 42")) == [42] and read.count() == 60
        assert discovered(lake) == before
        lake.spark.sql("SELECT x FROM c WHERE p = 'a' AND x = 42").collect()
        before = discovered(lake)
        assert values(lake.spark.sql("SELECT x FROM c WHERE p = 'a' AND x = 42")) == [42]
        assert discovered(lake) == before


@pytest.mark.long
@pytest.mark.parametrize("schema", [None, "x LONG, p STRING", "p INT, x LONG", "x LONG"])
def test_columns_are_those_that_spark_has_found(lake: Lake, schema: str | None) -> None:
    lake.file("p=01/a.parquet", {"x": [1]})
    table = lake.index(MinMax("x"))
    lake.file("p=2/b.parquet", {"x": [2], "y": [3]})
    for merge in ("false", "true"):
        frame = lake.view(schema=schema, mergeSchema=merge)
        expected = rows_of(frame.where("x = 1"))
        with settings_of(lake.spark, SNAPSHOT):
            assert rows_of(frame.where("x > 0")) == expected
            assert scan_of(lake).contract == "snapshot 1"
    table.refresh()
    with settings_of(lake.spark, SNAPSHOT):
        assert rows_of(frame.where("x > 0")) == rows_of(lake.view(schema=schema, mergeSchema="true"))
    lake.file("p=abc/c.parquet", {"x": [4]})
    table.refresh()
    with settings_of(lake.spark, SNAPSHOT):
        before = rows_of(frame.where("x < 9"))
        assert "contract" in str(lake.skipping.report()) or f"{LISTED} {FRESHNESS}=snapshot" in str(lake.skipping.report())
        assert sum(before.values()) == (3 if scan_of(lake).contract != "listing" else 2)


@pytest.mark.long
@pytest.mark.parametrize("contract", ["snapshot", "bounded(0)"])
@pytest.mark.parametrize("way", ["setting", "property", "partitions"])
def test_any_order_of_changes(lake: Lake, made: Table, table: Callable[..., str], way: str, contract: str) -> None:
    """As of test_snapshots, by each way to ask for a contract. What lies in no partition of the catalog is of no table."""
    draw = random.Random(f"{way} {contract}")
    lake.file("p=c/c.parquet", {"x": [0]})
    made.refresh()
    partitions = "ab" if way == "partitions" else "abc"
    if way != "setting":
        table(contract, partitions)
    of_last = contents(lake.folder)

    def write() -> None:
        i = draw.randrange(8)
        start = draw.randrange(60)
        lake.file(f"p={draw.choice('abc')}/{i}.parquet", {"x": list(range(start, start + draw.randrange(9, 11)))})

    def remove() -> None:
        files = sorted(lake.folder.glob("p=*/[0-9].parquet"))
        if len(files) > 1:
            draw.choice(files).unlink()

    frame = lake.view()
    for _ in range(12):
        for _ in range(draw.randrange(3)):
            draw.choice([write, remove])()
        if draw.random() < 0.6:
            made.refresh()
            of_last = contents(lake.folder)
        now = contents(lake.folder)
        if contract != "snapshot":
            of_last = now
        elif any(of_last[name] != now.get(name) for name in of_last):
            continue  # what a query then gives depends on which files it reads
        start = draw.randrange(60)
        where = f"x >= {start} AND x < {start + 15}"
        kept = {name: found for name, found in of_last.items() if name[2] in partitions}
        with settings_of(lake.spark, {FRESHNESS: contract} if way == "setting" else {}):
            query = frame.where(where) if way == "setting" else lake.spark.sql(f"SELECT x FROM c WHERE {where}")
            assert values(query) == sorted(x for found in kept.values() for x in found if start <= x < start + 15)
            scan = scan_of(lake)
            assert scan.contract.startswith(f"{contract} "), scan
            assert scan.files_read <= sum(any(start - 10 <= x < start + 15 for x in found) for found in kept.values())
