"""TRAPS, section J: files that change, how they are told apart, and reader options."""

from __future__ import annotations

import os
import shutil
import time
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from data_skip import DataSkipError, MinMax, ValueList
from data_skip.building import indexing
from tests.support import Lake, aged

LOW, HIGH = {"x": [1, 2]}, {"x": [100, 200]}


def test_j1_j2_j3_j5_new_rewritten_and_restored_files(lake: Lake) -> None:
    low = lake.file("low.parquet", LOW)
    high = lake.file("high.parquet", HIGH)
    gone = lake.file("gone.parquet", HIGH)
    table = lake.index(MinMax("x"), ValueList("x"))
    lake.view()
    lake.check("x > 50", read=["high.parquet", "gone.parquet"])
    # J1: a file that the index does not know.
    lake.file("new.parquet", LOW)
    lake.view()
    lake.check("x > 50", read=["high.parquet", "gone.parquet", "new.parquet"])
    # J3: rewritten with another size and the modification time of before.
    before = low.stat().st_mtime_ns
    lake.file("low.parquet", {"x": [1, 2, 3, 777]})
    os.utime(low, ns=(before, before))
    lake.view()
    assert low.stat().st_mtime_ns == before
    lake.check("x > 500", read=["low.parquet", "new.parquet"])
    # J5: rewritten, and older than the index.
    lake.file("high.parquet", {"x": [5, 6]})
    os.utime(high, (1_000_000_000.5, 1_000_000_000.5))
    gone.unlink()
    lake.view()
    lake.check("x < 50", read=["low.parquet", "high.parquet", "new.parquet"])
    # J2: after a refresh each is known in its new version.
    report = table.refresh()
    assert (report.files_collected, report.files_current) == (3, 0)
    lake.view()
    lake.check("x > 500", read=["low.parquet"])
    lake.check("x = 5", read=["high.parquet"])
    assert table.refresh().files_collected == 0


def test_j4_same_size_within_the_same_second(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    path = lake.text("a.csv", "10\n")
    lake.text("b.csv", "20\n")
    table = lake.index(MinMax("x"), format="csv", schema="x int")
    moment = path.stat().st_mtime_ns
    path.write_text("77\n")
    os.utime(path, ns=(moment, moment + 1_000_000))  # a millisecond later
    lake.view(format="csv", schema="x int")
    lake.check("x = 77", read=["a.csv"])
    # A file as young as the resolution of the clock is not collected yet, nor is one of this second where the clock knows only seconds.
    second = int(time.time())
    clock = SimpleNamespace(time=lambda: second + 0.005, perf_counter=time.perf_counter)
    monkeypatch.setattr(indexing, "time", clock)
    os.utime(path, ns=(second * 10**9, second * 10**9 + 1_000_000))
    assert table.refresh().files_too_recent == 1
    lake.view(format="csv", schema="x int")
    lake.check("x = 78", read=["a.csv"])
    clock.time = lambda: second + 0.9
    os.utime(path, (second, second))
    os.utime(lake.folder / "b.csv", (second - 3600, second - 3600))
    assert table.refresh().files_too_recent == 1
    lake.view(format="csv", schema="x int")
    path.write_text("55\n")
    os.utime(path, (second, second))
    lake.check("x = 55", read=["a.csv"])
    clock.time = lambda: second + 1.1
    assert table.refresh().files_collected == 1
    lake.view(format="csv", schema="x int")
    lake.check("x = 56", read=[])


def test_j7_paths_that_differ_in_their_escapes_or_folders_only(lake: Lake) -> None:
    names = ["a b", "a%20b", "d1/part", "d2/part", "a+b", "a#b", "ü", "u\u0308", "名前", "a=b", "x?y", "[z]", "a%2Fb", "tab\there", "{q}"]
    for i, name in enumerate(names):
        lake.file(f"{name}.parquet", {"x": [i]})
    options = {"recursiveFileLookup": "true"}
    lake.index(MinMax("x"), options=options, format="parquet")
    lake.view(**options)
    for i, name in enumerate(names):
        lake.check(f"x = {i}", read=[f"{name}.parquet"])
    lake.check("x = 99", read=[])


def test_j7_root_folders_with_odd_names_and_other_spellings(lake: Lake) -> None:
    for name in ("my table 50% ü", "p=1", "#1"):
        other = Lake(lake.spark, lake.skipping, lake.folder / name)
        other.file("low.parquet", LOW)
        other.file("high.parquet", HIGH)
        other.index(MinMax("x"))
        for spelling in (str(other.folder), f"{other.folder}/", f"{other.folder}/*.parquet", f"{lake.folder}/../table/{name}"):
            lake.spark.read.parquet(spelling).createOrReplaceTempView("t")
            assert lake.check("x > 50").files_read == 1, spelling
    lake.spark.read.parquet(f"file://{lake.folder / 'p=1'}").createOrReplaceTempView("t")
    assert lake.check("x > 50").files_read == 1
    lake.spark.read.parquet(str(lake.folder / "p=1" / "low.parquet"), str(lake.folder / "p=1" / "high.parquet")).createOrReplaceTempView(
        "t"
    )
    assert lake.check("x > 50").files_read == 1
    link = lake.folder / "link"
    link.symlink_to(lake.folder / "p=1")
    lake.spark.read.parquet(str(link)).createOrReplaceTempView("t")
    assert lake.check("x > 50").files_read == 1


def test_j8_other_bucket_or_scheme(lake: Lake) -> None:
    places = {lake.skipping.catalog.store(root).uri for root in ("s3a://A/x", "s3a://B/x", "hdfs://A/x", "file:/x")}
    assert len(places) == 4


def test_j9_file_that_changes_while_it_is_collected(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    lake.file("a.parquet", LOW)
    lake.file("b.parquet", LOW)
    collect = indexing.collect_files

    def and_change(*args: Any) -> Any:
        found = collect(*args)
        lake.file("a.parquet", {"x": [1, 2, 300]})
        return found

    monkeypatch.setattr(indexing, "collect_files", and_change)
    report = lake.table().create_index(MinMax("x"), ValueList("x"))  # of MinMax alone, footers tell enough
    assert (report.files_collected, report.files_too_recent) == (1, 1)
    lake.view()
    lake.check("x > 50", read=["a.parquet"])

    def and_delete(*args: Any) -> Any:
        found = collect(*args)
        (lake.folder / "a.parquet").unlink()
        return found

    monkeypatch.setattr(indexing, "collect_files", and_delete)
    assert lake.table().refresh().files_collected == 0
    lake.view()
    lake.check("x > 50", read=[])


def test_j11_j12_j13_other_options_and_schemas(lake: Lake) -> None:
    lake.text("a.csv", "10;NA\n9;b\n")
    lake.text("b.csv", "7;c\n8;d\n")
    schema = "x int, s string"
    lake.index(MinMax("x"), MinMax("s"), format="csv", schema=schema, options={"sep": ";", "nullValue": "NA"})
    lake.view(format="csv", schema=schema, sep=";", nullValue="NA")
    lake.check("s IS NULL", read=["a.csv"])
    lake.check("x < 9", read=["b.csv"])
    lake.view(format="csv", schema=schema, SEP=";", nullvalue="NA")  # names of options in another case mean the same
    lake.check("x < 9", read=["b.csv"])
    for other, where in (
        ({"sep": ";"}, "s = 'NA'"),
        ({"sep": ";", "nullValue": "c"}, "s IS NULL"),
        ({"sep": ",", "nullValue": "NA"}, "x IS NULL"),
        ({"sep": ";", "nullValue": "NA", "header": "true"}, "x < 9"),
        ({"sep": ";", "nullValue": "NA", "comment": "7"}, "x < 9"),
        ({"sep": ";", "nullValue": "NA", "multiLine": "true"}, "x < 9"),
    ):
        lake.view(format="csv", schema=schema, **other)
        assert lake.check(where, read=["a.csv", "b.csv"]).notes
    for other_schema, where in (("s string, x string", "x = 'NA'"), ("x string, s string", "x < '8'"), ("x int", "x < 9")):
        lake.view(format="csv", schema=other_schema, sep=";", nullValue="NA")
        lake.check(where, read=["a.csv", "b.csv"])
    with pytest.raises(DataSkipError, match="collected with"):
        lake.table(format="csv", schema=schema, options={"sep": ";"}).refresh()
    with pytest.raises(DataSkipError, match="collected alike"):
        lake.table(format="csv", schema=schema, options={"sep": ";"}).create_index(ValueList("x"))


def test_j11_a_header_makes_no_file_empty_for_those_who_read_it(lake: Lake) -> None:
    """A file of one line has no row for one reader and a row for another."""
    lake.text("one.csv", "5\n")
    lake.text("two.csv", "7\n8\n")
    table = lake.index(MinMax("x"), format="csv", schema="x int", options={"header": "true"})
    lake.view(format="csv", schema="x int", header="true")
    lake.check("x > 0", read=["two.csv"])
    lake.view(format="csv", schema="x int")
    lake.check("x = 5", read=["one.csv", "two.csv"])
    # Nor does what was counted then live on in an index that is created anew.
    table.drop_index(MinMax("x"))
    lake.index(MinMax("x"), format="csv", schema="x int")
    lake.check("x = 5", read=["one.csv"])


def test_j14_types_are_those_of_the_table_not_of_each_file(lake: Lake) -> None:
    lake.text("a.csv", "10\n9\n")
    lake.text("b.csv", "zz\nyy\n")
    lake.index(MinMax("_c0"), format="csv", options={"inferSchema": "true"})
    lake.view(format="csv", inferSchema="true")
    lake.check("_c0 = '10'", read=["a.csv"])
    lake.check("_c0 < 'a'", read=["a.csv"])
    lake.spark.read.option("inferSchema", "true").csv(str(lake.folder / "a.csv")).createOrReplaceTempView("t")
    lake.check("_c0 > 9", read=["a.csv"])


@pytest.mark.parametrize("mode", ["PERMISSIVE", "DROPMALFORMED"])
def test_j15_j16_malformed_records_keep_their_file(lake: Lake, mode: str) -> None:
    lake.text("bad.csv", "1,10\nabc,20\n3\n")
    lake.text("good.csv", "7,70\n8,80\n")
    schema = "x int, y int"
    report = lake.table(format="csv", schema=schema, options={"mode": mode}).create_index(MinMax("x"), MinMax("y"))
    assert report.files_refused == 1
    assert "1 file holds malformed records" in str(report) and "it is always read (bad.csv)" in str(report)
    lake.view(format="csv", schema=schema, mode=mode)
    for where in ("x IS NULL", "y IS NULL", "x > 100", "y = 20", "NOT (x < 100)"):
        lake.check(where, read=["bad.csv"])
        lake.query(f"SELECT y FROM t WHERE {where}", read=["bad.csv"])
        lake.query(f"SELECT count(*) FROM t WHERE {where}", read=["bad.csv"])
    lake.check("x = 7", read=["bad.csv", "good.csv"])
    lake.view(format="csv", schema=schema, mode="DROPMALFORMED" if mode == "PERMISSIVE" else "PERMISSIVE")
    lake.check("x IS NULL", read=["bad.csv", "good.csv"])


def test_j17_footers_without_statistics(lake: Lake) -> None:
    for name, columns in (("low", LOW), ("high", HIGH)):
        pq.write_table(pa.table(columns), lake.folder / f"{name}.parquet", write_statistics=False)
        aged(lake.folder / f"{name}.parquet")
    lake.index(MinMax("x"))
    lake.view()
    lake.check("x > 50", read=["high.parquet"])
    lake.check("x IS NULL", read=[])


def test_j20_hidden_and_selected_files(lake: Lake) -> None:
    lake.file("a.parquet", LOW)
    lake.file("b.parquet", HIGH)
    lake.file("_hidden.parquet", HIGH)
    lake.file(".hidden.parquet", HIGH)
    lake.file("sub/c.parquet", LOW)
    lake.file("sub/d.parquet", HIGH)
    lake.index(MinMax("x"), format="parquet", options={"pathGlobFilter": "a*"})
    lake.view(pathGlobFilter="a*")
    lake.check("x > 50", read=[])
    lake.view(pathGlobFilter="*.parquet", recursiveFileLookup="true")
    lake.check("x > 50", read=["b.parquet", "sub/c.parquet", "sub/d.parquet"])
    lake.table(options={"recursiveFileLookup": "true"}).refresh()
    lake.view(recursiveFileLookup="true")
    lake.check("x > 50", read=["b.parquet", "sub/d.parquet"])
    lake.view(schema="x bigint", recursiveFileLookup="true", modifiedBefore="2001-01-01T00:00:00")
    assert lake.check("x > 50").files_total == 0


def test_j21_empty_files(lake: Lake) -> None:
    schema = pa.schema([("x", pa.int64()), ("f", pa.float64())])
    lake.file("rows0.parquet", schema.empty_table())
    with pq.ParquetWriter(lake.folder / "groups0.parquet", schema):
        pass
    aged(lake.folder / "groups0.parquet")
    lake.file("low.parquet", pa.table({"x": [1], "f": [None]}, schema=schema))
    lake.file("high.parquet", pa.table({"x": [100], "f": [1.5]}, schema=schema))
    lake.index(MinMax("x"), ValueList("x"), MinMax("f"))
    lake.view()
    for where, read in {"x > 50": ["high.parquet"], "f IS NULL": ["low.parquet"], "x IS NULL": [], "x = 1 OR f = 1.5": None}.items():
        lake.check(where, read=read)
    csv = Lake(lake.spark, lake.skipping, lake.folder.parent / "csv")
    csv.text("empty.csv", "")
    csv.text("blank.csv", "\n\n")
    csv.text("some.csv", "1\n")
    csv.index(MinMax("x"), format="csv", schema="x int")
    csv.view(format="csv", schema="x int")
    csv.check("x = 1", read=["some.csv"])
    csv.check("x IS NULL", read=[])


def test_j22_corrupt_and_missing_files(lake: Lake) -> None:
    bad = lake.file("bad.parquet", HIGH)
    content = bad.read_bytes()
    bad.write_bytes(content[: len(content) // 2])
    aged(bad)
    lake.spark.conf.set("spark.sql.files.ignoreCorruptFiles", "true")
    try:
        with pytest.raises(DataSkipError, match=r"cannot be read.*nothing was written"):
            lake.table(format="parquet", schema="x bigint", options={"ignoreCorruptFiles": "true"}).create_index(MinMax("x"))
        assert not list(lake.folder.parent.rglob("[._]data_skip"))
        lake.file("low.parquet", LOW)
        moment = bad.stat().st_mtime
        shutil.move(bad, lake.folder.parent / "away")
        table = lake.index(MinMax("x"))
        bad.write_bytes(content[: len(content) // 2])
        os.utime(bad, (moment, moment))
        lake.view(schema="x bigint")
        lake.check("x > 50", read=["bad.parquet"])
        bad.write_bytes(content)
        os.utime(bad, (moment, moment))
        lake.view(schema="x bigint")
        lake.check("x > 50", read=["bad.parquet"])
        table.refresh()
        lake.check("x < 50", read=["low.parquet"])
    finally:
        lake.spark.conf.unset("spark.sql.files.ignoreCorruptFiles")


def test_j23_table_recreated_elsewhere_under_its_name(lake: Lake) -> None:
    spark = lake.spark
    here, there = (Lake(spark, lake.skipping, lake.folder / name) for name in ("here", "there"))
    here.file("a.parquet", LOW)
    there.file("a.parquet", HIGH)
    shutil.copystat(here.folder / "a.parquet", there.folder / "a.parquet")
    try:
        spark.sql(f"CREATE TABLE j23 (x BIGINT) USING parquet LOCATION '{here.folder}'")
        lake.skipping.table("j23").create_index(MinMax("x"))
        here.query("SELECT * FROM j23 WHERE x > 50", read=[])
        spark.sql("DROP TABLE j23")
        spark.sql(f"CREATE TABLE j23 (x BIGINT) USING parquet LOCATION '{there.folder}'")
        there.query("SELECT * FROM j23 WHERE x > 50", read=["a.parquet"])
        # A folder that was copied with its index and its times is the same table in another place.
        shutil.copytree(here.folder, lake.folder / "copy")
        lake.spark.read.parquet(str(lake.folder / "copy")).createOrReplaceTempView("t")
        assert lake.check("x > 50").files_read == 0
    finally:
        spark.sql("DROP TABLE IF EXISTS j23")


def test_j23_partitions_that_lie_elsewhere(lake: Lake) -> None:
    spark = lake.spark
    try:
        spark.sql(f"CREATE TABLE j23p (x BIGINT, p INT) USING parquet PARTITIONED BY (p) LOCATION '{lake.folder}'")
        lake.file("p=1/low.parquet", LOW)
        lake.file("p=1/high.parquet", HIGH)
        away = Lake(spark, lake.skipping, lake.folder.parent / "away")
        away.file("low.parquet", LOW)
        spark.sql("ALTER TABLE j23p ADD PARTITION (p = 1)")
        spark.sql(f"ALTER TABLE j23p ADD PARTITION (p = 2) LOCATION '{away.folder}'")
        lake.skipping.table("j23p").create_index(MinMax("x"))
        for where, total, read in (("x > 50", 3, 2), ("x > 50 AND p = 1", 2, 1), ("x > 50 AND p = 2", 1, 1)):
            scan = lake.query(f"SELECT * FROM j23p WHERE {where}").scans[-1]
            assert (scan.files_total, scan.files_read) == (total, read), where
    finally:
        spark.sql("DROP TABLE IF EXISTS j23p")
