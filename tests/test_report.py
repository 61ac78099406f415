"""The report: numbers, reasons, queries that run at once, and the last hundred."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from functools import partial
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from data_skip import IndexReport, MinMax, Prefix, Skipping
from data_skip.planning.report import KEPT_REPORTS, PredicateReport, QueryReport, ScanReport, human, shorten
from tests.support import Lake


def _rows(*numbers: int) -> dict[str, Any]:
    """Some numbers; the rest is the same in every file."""
    count = len(numbers)
    rest = {"mixed": [0, 100, 50][:count], "at": [datetime(2023, 5, 1), datetime(2024, 2, 1), datetime(2023, 6, 1)][:count]}
    return {"x": list(numbers), **rest, "a": [0] * count, "list": [[1]] * count, "c": [{"d": "e"}] * count}


@pytest.fixture(scope="module")
def lake(spark: SparkSession, skipping: Skipping, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    lake = Lake(spark, skipping, tmp_path_factory.mktemp("report") / "table")
    for i in range(5):
        lake.file(f"p={i % 2}/f{i}.parquet", {**_rows(10 * i, 10 * i + 1), "y": [i, i], "s": [f"a{i}", f"b{i}"]})
    lake.index(MinMax("x"), Prefix("s", 2), MinMax("mixed"), MinMax("at"))
    lake.file("p=0/new.parquet", {**_rows(1, 2, 3), "y": [0, 0, 0], "s": ["", "", ""]})
    lake.view("numbers")
    return lake


def size(lake: Lake, *names: str) -> int:
    return sum((lake.folder / name).stat().st_size for name in names)


def test_numbers(lake: Lake) -> None:
    scan = lake.query("SELECT * FROM numbers WHERE x >= 30 AND s LIKE 'a%'").scans[0]
    assert (scan.files_total, scan.files_read, scan.files_skipped, scan.files_unknown) == (6, 3, 3, 1)
    assert (scan.rows_known, scan.rows_kept) == (10, 4)
    names = ["p=1/f3.parquet", "p=0/f4.parquet", "p=0/new.parquet"]
    everything = sum(path.stat().st_size for path in lake.folder.rglob("p=*/*.parquet"))
    assert (scan.bytes_total, scan.bytes_read, scan.bytes_skipped) == (everything, size(lake, *names), everything - size(lake, *names))
    alone = {predicate.predicate: predicate.files_skipped_alone for predicate in scan.predicates}
    assert alone["(numbers.x >= 30L)"] == 3
    assert alone["startswith(numbers.s, 'a')"] == 0
    assert scan.milliseconds > 0 and scan.table.endswith("/table")
    assert "MinMax(x)" in scan.clause and "Prefix(s" in scan.clause


def test_numbers_are_those_of_the_partitions_that_spark_reads(lake: Lake) -> None:
    scan = lake.query("SELECT * FROM numbers WHERE p = 1 AND x < 25").scans[0]
    assert (scan.files_total, scan.files_read, scan.files_unknown, scan.rows_known, scan.rows_kept) == (2, 1, 0, 4, 2)
    assert scan.bytes_total == size(lake, "p=1/f1.parquet", "p=1/f3.parquet")
    table = lake.table()
    assert [path.rsplit("/", 1)[1] for path in table.files("p = 1 AND x < 25")] == ["f1.parquet"]
    assert len(table.files()) == 6


def test_reasons(lake: Lake) -> None:
    lake.spark.createDataFrame([(1,)], "v long").createOrReplaceTempView("one")
    plus = F.udf(lambda x: x + 1, "long")
    lake.spark.udf.register("plus_one", plus)
    for where, predicate, reason in (  # where fewer than three indexes would serve, one of another test's may be told as well
        ("y = 1", "(numbers.y = 1L)", "no index on y; MinMax(y) or ValueList(y) or BloomFilter(y) would serve it"),
        ("y > 1", "(numbers.y > 1L)", "no index on y; MinMax(y) or ValueList(y)"),
        ("x + y > 7", "((numbers.x + numbers.y) > 7L)", "no index on y; MinMax(y)"),
        ("hash(x, y) = 7", "hash", "no index on y"),
        ("rand() + x >= 0 AND x > 5", "rand", "Rand is not deterministic"),
        ("x > (SELECT max(v) FROM one)", "scalarsubquery", "result of a subquery"),
        ("p = 1 AND x = 1", "p = 1", "Spark has pruned the partitions itself"),
        ("plus_one(plus_one(x)) = 5", "plus_one", "no filter of MinMax(x) serves it"),
        ("s LIKE '%b%'", "contains(numbers.s, 'b')", "no filter of Prefix(s, length=2) serves it; ValueList(s)"),
        ("s LIKE '%b' AND x > 0", "endswith(numbers.s, 'b')", "serves it; ValueList(s) or Suffix(s)"),
        ("a = 3", "(numbers.a = 3L)", "no index on a; MinMax(a) or ValueList(a)"),
        (
            "array_contains(list, 7L)",
            "array_contains",
            "no index on list; MinMax(list) or ValueList(list)",
        ),
        ("c.d LIKE '%x%'", "contains", "no index on c.d; ValueList(c.d)"),
        ("x > 5 OR y = 1", "(numbers.y = 1L)", "no index on y"),
    ):
        scan = lake.query(f"SELECT * FROM numbers WHERE {where}").scans[0]
        reasons = [p.why_not for p in scan.predicates if predicate in p.predicate.lower() or predicate in p.predicate]
        assert any(reason in why for why in reasons), f"{where}\n{scan}"
        assert all(bool(p.clause) != bool(p.why_not) for p in scan.predicates)


def test_of_an_index_that_is_not_used_is_said_why(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MinMax, "version", MinMax.version + 1)
    scan = lake.query("SELECT * FROM numbers WHERE x = 3 AND y = 1").scans[0]
    why_not = {line.predicate: line.why_not for line in scan.predicates}
    version = f"MinMax(x) is not used: collected by version {MinMax.version - 1} of MinMax, this is {MinMax.version}; "
    assert why_not["(numbers.x = 3L)"].startswith(version) and "would serve" not in why_not["(numbers.x = 3L)"]
    assert why_not["(numbers.y = 1L)"].startswith("no index on y; MinMax(y)")


OVERLAP = "values overlap everywhere"


def test_a_clause_that_skips_nothing_says_why(lake: Lake) -> None:
    for where, reason in (
        ("x > -5", "every file may hold a match"),
        ("abs(x) + 1 > 0", "every file may hold a match"),
        ("hash(x) = 5", "hash(numbers.x) is not monotone, and no file holds one value only; a ValueList would serve it"),
        (
            "x % 2 = 0",
            "each file may hold a match: (numbers.x % 2L) is monotone between multiples of 2 only, and files hold values of more",
        ),
        ("mixed = 50", f"{OVERLAP} (poor layout): one lies in the range of 100% of the files, which are not sorted by it"),
        ("mixed + 1 > 50", f"{OVERLAP} (poor layout)"),
        (
            "month(at) = 5",
            "each file may hold a match: month(CAST(numbers.at AS DATE)) is monotone within a year only, and files hold values",
        ),
    ):
        scan = lake.query(f"SELECT * FROM numbers WHERE {where}").scans[0]
        assert scan.predicates[0].why_none.startswith(reason), str(scan)
        assert f"skips 0 alone: {reason}" in str(scan)
        assert {"every file holds a value", ""} >= {p.why_none for p in scan.predicates[1:]}


def test_no_index_and_other_readers_are_noted(lake: Lake) -> None:
    bare = Lake(lake.spark, lake.skipping, lake.folder.parent / "bare")
    bare.file("a.parquet", {"x": [1]})
    bare.view("bare")
    scan = bare.query("SELECT * FROM bare WHERE x > 5").scans[0]
    assert any("no index at" in note and "create_index" in note for note in scan.notes)
    assert scan.files_read == 1 and scan.files_unknown == 1


def test_every_scan_of_a_query_is_reported(lake: Lake) -> None:
    report = lake.query("SELECT a.x FROM numbers a JOIN numbers b ON a.x = b.x + 10 WHERE a.x > 35 AND b.x < 5")
    assert sorted(scan.files_read for scan in report.scans) == [2, 2]
    assert lake.query("SELECT x FROM numbers WHERE x > 35 UNION ALL SELECT x FROM numbers WHERE x < 5").execution_id != report.execution_id
    sub = lake.query("SELECT (SELECT max(x) FROM numbers WHERE x < 15) m, y FROM numbers WHERE x > 35")
    assert sorted(scan.files_read for scan in sub.scans) == [2, 3]


def test_queries_at_once_keep_their_reports_apart(lake: Lake) -> None:
    def run(i: int) -> tuple[int, int]:
        return i % 5, lake.spark.sql(f"SELECT * FROM numbers WHERE x = {10 * (i % 5)} AND {i} = {i}").count()

    before = {report.execution_id for report in lake.skipping.reports()}
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(run, range(24)))
    assert all(count == 1 for _, count in results)
    new = [report for report in lake.skipping.reports() if report.execution_id not in before]
    assert len(new) == 24
    wanted = sorted(f"{10 * (i % 5)}L" for i in range(24))
    found = []
    for report in new:
        (scan,) = report.scans
        assert (scan.files_total, scan.files_read) == (6, 2)
        found.append(next(p.predicate for p in scan.predicates if "=" in p.predicate).split("= ")[1].rstrip(")"))
    assert sorted(found) == wanted


def test_the_last_hundred_are_kept(lake: Lake) -> None:
    from data_skip.planning.report import Reports

    reports = Reports()
    for i in range(KEPT_REPORTS + 50):
        reports.add(str(i), 1, partial(lambda i: [ScanReport(f"t{i}")], i))
    assert [report.execution_id for report in reports.all()] == [str(i) for i in range(50, KEPT_REPORTS + 50)]
    reports.add("149", 1, lambda: [ScanReport("again")])
    reports.add("149", 2, lambda: [ScanReport("other scan")])
    assert [scan.table for scan in reports.all()[-1].scans] == ["again", "other scan"]


def test_printing() -> None:
    scan = ScanReport("file:/t", 1000, 10, 5_000_000, 3000, 10_000, 100, 7, "MinMax(x) admits (x > 1)")
    scan.predicates = [PredicateReport("(x > 1)", "MinMax(x) admits (x > 1)", 990), PredicateReport("(y = 2)", why_not="no index on y")]
    scan.notes, scan.errors = ["a note"], ["filter m.f: ValueError: bad"]
    text = str(QueryReport("5", [scan]))
    for part in (
        "query 5",
        "10 read of 1,000, 990 skipped",
        "7 without",
        "4.8 MiB",
        "skips 990 alone",
        "not used: no index on y",
        "a note",
        "bad",
    ):
        assert part in text, text
    assert "no query" in str(QueryReport(""))
    assert human(1536) == "1.5 KiB" and human(12) == "12 B"
    assert shorten("a" * 100) == "a" * 69 + "..." and shorten("a\n b") == "a b"


def test_failing_filter_keeps_the_files_and_is_named(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ValueError("broken on purpose")

    monkeypatch.setattr("data_skip.indexes.min_max.satisfying", broken)
    scan = lake.query("SELECT * FROM numbers WHERE x > 34", errors=True).scans[0]
    assert scan.files_read == 6
    assert any("in_range" in error and "broken on purpose" in error for error in scan.errors)


def test_a_long_clause_is_cut_where_it_is_shown_as_text(lake: Lake) -> None:
    where = " OR ".join(f"x + {i} = 3" for i in range(50))
    scan = lake.query(f"SELECT * FROM numbers WHERE {where}").scans[0]
    (line,) = [line for line in str(scan).splitlines() if line.startswith("  clause ")]
    assert len(scan.clause) > 2_000 and len(line) < 1_020 and line.endswith("...")
    assert "x + 49" in scan.clause and "x + 49" in scan._repr_html_()


def test_one_is_no_plural_and_the_first_files_are_named() -> None:
    report = IndexReport("t", ["MinMax(x)"], files_collected=1, rows=1, files_lifted=1, files_unreadable=1, files_undated=1)
    for paths in (["a.csv"], ["b.csv", "c.csv"], ["d.csv"]):
        report.refuse(paths)
    said = str(report)
    assert "1 file with 1 row collected" in said and not re.search(r"\b1 (files|rows|of them were)", said)
    assert "4 files hold malformed records" in said and "they are always read (a.csv, b.csv, c.csv, ...)" in said
