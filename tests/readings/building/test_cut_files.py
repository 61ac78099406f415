"""Where files are cut into parts: a header, a byte order mark or a separator of lines may be another thing in another part."""

from __future__ import annotations

from typing import Any

import pytest

from data_skip import DataSkipError, MinMax, Prefix, ValueList
from data_skip.building import one_pass
from data_skip.store.reader import unsure
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
    """What a malformed record gives depends on no other line."""
    lake.text("malformed.csv", "x,1,2,3\n" * 1_250)
    lake.text("plain.csv", "y,2\n" * 3_750)
    assert lake.table(**CSV).create_index(ValueList("a")).files_refused == 1
    with settings_of(lake.spark, PARTS):
        lake.view(**CSV)
        lake.query("SELECT count(*) FROM t WHERE a = 'x'", read=["malformed.csv"])


PASSED_OVER = {  # options, and a line of which `b` is another value where `a` is left out
    "escaped escape": ({}, '1,"u\\\\",",x",y'),
    "empty": ({"escape": '"'}, '1,"",",x",y'),
    "escaped by another": ({"charToEscapeQuoteEscaping": "|"}, '1,"u|\\",",x",y'),
    "zero": ({"escape": ""}, '1,"u\0"",",x","y"'),
}


@pytest.mark.parametrize("case", PASSED_OVER)
def test_columns_are_left_out_from_the_second_record_of_a_part_on(lake: Lake, case: str) -> None:
    """So the first one of a part has other values: where files are skipped, one that is read would have one more of these."""
    options, line = PASSED_OVER[case]
    lake.lines("odd.csv", *[line] * 1_250)
    lake.lines("plain.csv", *["2,uuuuuuu,v,w"] * 3_750)
    reader: dict[str, Any] = {"format": "csv", "schema": "id int, a string, b string, c string"}
    assert lake.table(options=options, **reader).create_index(MinMax("id")).files_refused == 1
    frame = lake.view(**reader, **options)
    assert frame.where("id = 1").select("id", "b").distinct().count() == 2, "the recipe shows nothing"
    lake.query("SELECT b, count(*) FROM t WHERE id = 1 GROUP BY b", read=["odd.csv"])
    with settings_of(lake.spark, PARTS):
        lake.view(**reader, **options)
        report = lake.query("SELECT b, count(*) FROM t WHERE id = 1 GROUP BY b", read=["odd.csv", "plain.csv"])
        assert "cut into other parts" in report.scans[-1].notes[-1]


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


def test_a_separator_of_lines_that_overlaps_itself(lake: Lake) -> None:
    """`a|||b` has the lines `a` and `|b`, or, where the file is cut at the second bar, `a` and `b`."""
    lake.text("a.txt", "a|||b||c")
    for separator in ("||", "aba"):
        with pytest.raises(DataSkipError, match="is found in it again"):
            lake.index(ValueList("value"), format="text", options={"lineSep": separator})
        with pytest.raises(DataSkipError, match="is found in it again"):
            lake.index(ValueList("v"), format="json", schema="v string", options={"lineSep": separator})
    lake.index(Prefix("value", 1), format="text", options={"lineSep": "||", "wholetext": "true"})
    lake.view(format="text", lineSep="||", wholetext="true")
    lake.query("SELECT * FROM t WHERE value LIKE 'b%'", read=[])


def test_a_header_beyond_the_first_part_of_a_file_is_a_row(lake: Lake) -> None:
    """Spark leaves out the header in the part that begins a file: where that holds nothing but comments, the header is a row."""
    lake.text("a.csv", "# a comment that is rather long\n\nname,v\nx,1\n")
    lake.text("b.csv", "name,v\nq,5\n")
    reader: dict[str, Any] = {"schema": "name string, v string", "format": "csv"}
    options = {"header": "true", "comment": "#"}
    lake.index(ValueList("name"), options=options, **reader)
    for size in (8, 20):
        with settings_of(lake.spark, {"spark.sql.files.maxPartitionBytes": str(size), "spark.sql.files.openCostInBytes": "1"}):
            lake.view(**reader, **options)
            lake.query("SELECT * FROM t WHERE name = 'name'", read=["a.csv", "b.csv"])
    lake.view(**reader, **options)
    lake.query("SELECT * FROM t WHERE name = 'name'", read=[])


def test_the_parts_of_a_file_depend_on_how_many_there_are(lake: Lake) -> None:
    """Few files are cut into smaller parts: then the first of them may lack the header, which is a row. Here with no setting changed."""
    lake.text("a.csv", f"#{'c' * 60_000}\nname,v\nx,1\n")
    lake.text("b.csv", "name,v\n" + f"{'q' * 60},5\n" * 1_000)
    reader: dict[str, Any] = {"schema": "name string, v string", "format": "csv"}
    options = {"header": "true", "comment": "#"}
    cost = "spark.sql.files.openCostInBytes"
    with settings_of(lake.spark, {cost: "16384", "spark.sql.files.minPartitionNum": "2"}):
        lake.index(ValueList("name"), options=options, **reader)
        (lake.folder / "b.csv").unlink()
        lake.text("c.csv", "name,v\nr,5\n")
        lake.skipping.table(str(lake.folder)).refresh()
        lake.view(**reader, **options)
        for where in ("name = 'name'", "name = 'other'"):  # without c.csv, a.csv would be cut otherwise
            lake.query(f"SELECT * FROM t WHERE {where}", read=["a.csv", "c.csv"])
    with settings_of(lake.spark, {cost: "0"}), pytest.raises(DataSkipError, match="may cut a CSV file before its header"):
        lake.index(ValueList("v"), options=options, **reader)


SEPARATORS = {  # how one is written, and whether each of its bytes but the first is another than that
    "aab": ({}, False),
    "abac": ({}, False),
    "ab": ({}, True),
    "\r\n": ({}, True),
    "abb": ({}, True),
    "\n": ({"charset": "UTF-16LE"}, True),
    "\u2020": ({"encoding": "utf-16le"}, False),
    "\u3030": ({"encoding": "UTF-16BE"}, False),
    "\u2021": ({"encoding": "UTF-16"}, True),
    "\t": ({"encoding": "UTF-32"}, False),
    ";": ({"encoding": "what"}, False),
}


@pytest.mark.parametrize("separator", SEPARATORS)
def test_separators_whose_beginning_is_in_them_again(separator: str) -> None:
    """Which of a file's bytes Hadoop takes for one depends on where the parts begin and end in which it is read."""
    options, steady = SEPARATORS[separator]
    texts = {"linesep": separator, **options}
    reader: dict[str, Any] = {"format": "csv", "session": {}, "columns": [], "options": texts}
    assert (unsure(reader) == "") == steady
    assert unsure({**reader, "format": "text", "options": {"wholetext": "true", **texts}}) == ""


def test_lines_of_parts(lake: Lake) -> None:
    """In `aaab` there is an `aab`, but where a part ends behind `aa`."""
    line, separator = f"{'x' * 48}aaab{'y' * 50}", {"lineSep": "aab"}
    lake.text("a", line + "aabz")
    lake.text("b", "xaby")
    with pytest.raises(DataSkipError, match="lineSep='aab' is found in it again"):
        lake.index(ValueList("value"), format="text", options=separator)
    lake.index(ValueList("value"), format="text", options={"lineSep": "ab"})
    lake.view(format="text", lineSep="ab")
    lake.query("SELECT * FROM t WHERE value = 'y'", read=["b"])
    frame = lake.view(format="text", **separator)
    assert "y" * 50 in {row.value for row in frame.collect()}
    with settings_of(lake.spark, {"spark.sql.files.maxPartitionBytes": "50", "spark.sql.files.openCostInBytes": "1"}):
        assert line in {row.value for row in lake.view(format="text", **separator).collect()}, "the recipe shows nothing"


SMALL_PARTS = {f"{SQL}files.openCostInBytes": "1"}
# What is read of a file that is cut between two lines: schema, options, lines, and a value that is there only then.
CUT = {
    "mark": ("a string, id int", {}, ["u,1", "\ufeffx,2"], "a = 'x'"),
    "mark, all columns": ("a string, id int", {"columnPruning": "false"}, ["u,1", "\ufeffx,2"], "a = 'x'"),
    "blank": (
        *("a string, b string", {"ignoreLeadingWhiteSpace": "true", "nullValue": "NA", "columnPruning": "false"}),
        *(["u,v", '"u","v"', ", "], "b IS NULL"),
    ),
}


@pytest.mark.parametrize("case", CUT)
def test_the_first_line_of_a_part(lake: Lake, case: str) -> None:
    schema, options, lines, where = CUT[case]
    lake.lines("odd.csv", *lines)
    lake.lines("plain.csv", lines[0])
    reader: dict[str, Any] = {"format": "csv", "schema": schema}
    lake.index(ValueList("a"), *([ValueList("b")] if "b " in schema else []), options=options, **reader)
    with settings_of(lake.spark, SMALL_PARTS | {f"{SQL}files.maxPartitionBytes": "3"}):
        lake.view(**reader, **options)
        assert lake.spark.table("t").where(where).count() == 1, "the recipe shows nothing"
        lake.query(f"SELECT * FROM t WHERE {where}", read=["odd.csv"])
        lake.query("SELECT * FROM t WHERE a = 'other'", read=["odd.csv"])


CSV_OF_TEXTS: dict[str, Any] = {"format": "csv", "schema": "x STRING, s STRING"}


def test_indexes_of_sessions_that_cut_files_into_other_parts(lake: Lake) -> None:
    """Where a header lies behind comments it is a row of a later part: so one session's count of rows is not the other's."""
    lake.text("a.csv", "# a comment\n" * 4000 + "x,s\n")
    lake.text("b.csv", "x,s\n" + "y,2\n" * 60_000)
    reader = {**CSV_OF_TEXTS, "options": {"header": "true", "comment": "#"}}
    lake.index(ValueList("s"), **reader)
    with settings_of(lake.spark, {"spark.sql.files.openCostInBytes": str(1 << 14), "spark.sql.files.minPartitionNum": "100"}):
        with pytest.raises(DataSkipError, match="openCostInBytes"):
            lake.table(**reader).create_index(ValueList("x"))
        lake.view(**CSV_OF_TEXTS, header="true", comment="#")
        lake.query("SELECT * FROM t WHERE x = 'x'", read=["a.csv", "b.csv"])


PART_SIZE = "spark.sql.files.maxPartitionBytes"
OPEN_COST = "spark.sql.files.openCostInBytes"


def test_a_session_is_left_as_it_is_while_its_files_are_cut_to_be_indexed(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a header may move, files are cut as small as may be. The session's other threads are not to see that: one that creates an
    index would note it as how its files are read, and one that reads would read other rows."""
    spark, other = lake.spark, Lake(lake.spark, lake.skipping, lake.folder.parent / "other")
    reader: dict[str, Any] = {"format": "csv", "schema": "x INT", "options": {"header": "true", "comment": "#"}}
    for one in (lake, other):
        one.text("a.csv", "x\n" + "1\n" * 20_000)
        one.text("b.csv", "x\n" + "2\n" * 20_000)
    seen: list[str] = []
    collect = one_pass.collect

    def beside(*args: Any) -> Any:
        if not seen:
            seen.append(spark.conf.get(PART_SIZE))
            other.index(MinMax("x"), **reader)
        return collect(*args)

    monkeypatch.setattr(one_pass, "collect", beside)
    with settings_of(spark, {OPEN_COST: str(1 << 14)}):
        before = spark.conf.get(PART_SIZE)
        lake.index(MinMax("x"), **reader)
        assert seen == [before] == [spark.conf.get(PART_SIZE)]
        for one in (lake, other):
            one.view(format="csv", schema="x INT", header="true", comment="#")
            one.query("SELECT DISTINCT x FROM t WHERE x = 1", read=["a.csv"])
