"""Building, read an eighth time: each test is a recipe that once gave other rows with skipping than without."""

from __future__ import annotations

from typing import Any

import pytest

from data_skip import MinMax, ValueList
from tests.support import Lake, settings_of

SQL = "spark.sql."
PARTS = {f"{SQL}files.minPartitionNum": "2", f"{SQL}files.openCostInBytes": str(1 << 10)}  # the more bytes are read, the larger
LARGER = PARTS | {f"{SQL}files.openCostInBytes": str(1 << 14)}  # the least that a header may lie in
CSV: dict[str, Any] = {"format": "csv", "schema": "a string, s string"}
MARKED = "\ufeffx,1\n" * 1_250  # in the first line of a part the mark is none


@pytest.mark.parametrize("indexed", [True, False])
def test_a_file_that_is_cut_otherwise_where_others_are_skipped(lake: Lake, indexed: bool) -> None:
    """Spark's parts are as large as the bytes of all that it reads allow, and what a line gives may depend on where a part begins."""
    lake.text("plain.csv", "y,2\n" * 3_750)
    if indexed:
        lake.text("odd.csv", MARKED)
    table = lake.index(ValueList("a"), **CSV)
    lake.text("odd.csv", MARKED)
    with settings_of(lake.spark, PARTS):
        lake.view(**CSV)
        report = lake.query("SELECT count(*) FROM t WHERE a = 'x'", read=["odd.csv", "plain.csv"])
        assert "cut into other parts" in report.scans[-1].notes[-1]
        table.refresh()
        lake.query("SELECT count(*) FROM t WHERE a = 'x'", read=["odd.csv", "plain.csv"])
    lake.query("SELECT count(*) FROM t WHERE a = 'x'", read=["odd.csv"])  # in one part, with the other file and without


def test_files_that_are_surely_the_same_may_be_cut_otherwise(lake: Lake) -> None:
    lake.text("a.csv", "x,1\n" * 1_250)
    lake.text("b.csv", "y,2\n" * 3_750)
    table = lake.index(ValueList("a"), **CSV)
    with settings_of(lake.spark, PARTS):
        lake.view(**CSV)
        lake.query("SELECT count(*) FROM t WHERE a = 'x'", read=["a.csv"])
        lake.text("small.csv", "x,3\n" * 10)  # what is new is not cut
        lake.view(**CSV)
        lake.query("SELECT count(*) FROM t WHERE a = 'x'", read=["a.csv", "small.csv"])
        lake.text("new.csv", "x,3\n" * 3_750)
        lake.view(**CSV)
        lake.query("SELECT count(*) FROM t WHERE a = 'x'", read=["a.csv", "b.csv", "new.csv", "small.csv"])
        table.refresh()
        lake.query("SELECT count(*) FROM t WHERE a = 'x'", read=["a.csv", "new.csv", "small.csv"])


def test_refused_files_may_be_cut_otherwise(lake: Lake) -> None:
    """What a malformed record gives, and text that another query passes over otherwise, depends on no other line."""
    lake.text("malformed.csv", "x,1,2,3\n" * 1_250)
    lake.text("quoted.csv", '"x\\\\",1\n' * 1_900)
    lake.text("plain.csv", "y,2\n" * 3_750)
    assert lake.table(**CSV).create_index(ValueList("a")).files_refused == 2
    with settings_of(lake.spark, PARTS):
        lake.view(**CSV)
        lake.query("SELECT count(*) FROM t WHERE a = 'x'", read=["malformed.csv", "quoted.csv"])


def test_which_partitions_are_read_may_be_known_later(lake: Lake) -> None:
    """A join chooses partitions once it runs: how large the parts are then is not known while files are chosen."""
    for p, name, text in ((1, "odd.csv", MARKED), (1, "plain.csv", "y,2\n" * 3_750), (2, "large.csv", "y,2\n" * 56_250)):
        (lake.folder / f"p={p}").mkdir(exist_ok=True)
        lake.text(f"p={p}/{name}", text)
    lake.index(ValueList("a"), **CSV)
    settings = PARTS | {f"{SQL}files.maxPartitionBytes": "12500", f"{SQL}optimizer.dynamicPartitionPruning.reuseBroadcastOnly": "false"}
    with settings_of(lake.spark, settings):
        lake.view(**CSV)
        lake.spark.createDataFrame([(1, "k")], "q int, k string").cache().createOrReplaceTempView("dim")
        lake.query("SELECT count(*) FROM t JOIN dim ON p = q WHERE a = 'x' AND k = 'k'")
        lake.query("SELECT count(*) FROM t WHERE a = 'x'")
        lake.spark.catalog.dropTempView("dim")


@pytest.mark.parametrize("encoding", ["UTF-8", "ISO-8859-1", "UTF-16LE"])
@pytest.mark.parametrize("comment", ["#", "Ä"])
def test_a_header_that_is_cut_off_where_others_are_skipped(lake: Lake, encoding: str, comment: str) -> None:
    """A header is left out in the first part only."""
    options = {"header": "true", "comment": comment, "encoding": encoding, **({"lineSep": "\n"} if "16" in encoding else {})}
    lake.text("odd.csv", f"{comment} {'comment' * 20}\n" * 250 + "a,s\n" + "1,t\n" * 10, encoding)
    lake.text("plain.csv", "a,s\n" + f"{'2' * 60},u\n" * 1_000, encoding)
    with settings_of(lake.spark, LARGER):
        lake.index(ValueList("a"), ValueList("s"), options=options, **CSV)
        lake.view(**CSV, **options)
        lake.query("SELECT * FROM t WHERE s = 's'")
        lake.query("SELECT * FROM t WHERE s = 't'")


def test_a_header_behind_few_comments(lake: Lake) -> None:
    options = {"header": "true", "comment": "#"}
    lake.text("a.csv", "# comment\n\n \n" * 100 + " a,s\n" + f"{'1' * 60},t\n" * 1_250)
    lake.text("b.csv", "a,s\n" + f"{'2' * 60},u\n" * 1_000)
    with settings_of(lake.spark, LARGER):
        assert lake.table(options=options, **CSV).create_index(MinMax("s")).files_refused == 0
        lake.view(**CSV, **options)
        lake.query("SELECT * FROM t WHERE s = 't'", read=["a.csv"])
