"""Building, read a seventh time, text alone: each test is a recipe that once lost rows, or could not be indexed."""

from __future__ import annotations

from typing import Any

import pytest

from data_skip import MinMax, ValueList
from data_skip.building.lines import EVERY_LINE, odd_lines
from data_skip.store import reader as store_reader
from data_skip.store.reader import unsure
from tests.support import Lake, settings_of

SQL = "spark.sql."
SMALL_PARTS = {f"{SQL}files.openCostInBytes": "1"}
ODD = '",",x",y'  # behind text that ends with an escape: univocity goes on, where the column is left out, and gives x" to the next one

# The type of the column, options and settings by which a text is a value, and that text: the value does not show how it ends.
HIDDEN: dict[str, tuple[str, dict[str, str], dict[str, str], str]] = {
    "date": ("date", {}, {}, "2020-01-01T\\\\"),
    "date of a pattern": (*("date", {"dateFormat": "yyyy-MM-dd"}, {f"{SQL}legacy.timeParserPolicy": "LEGACY"}, "2020-01-01\\\\"),),
    "binary": ("binary", {}, {}, "a\\\\"),
    "string": ("string", {"escape": " "}, {}, "x  "),
    "empty number": ("int", {"escape": '"', "emptyValue": "07"}, {}, ""),
    "escaped by another": ("string", {"charToEscapeQuoteEscaping": "|"}, {}, "a|\\"),
}


@pytest.mark.parametrize("case", HIDDEN)
def test_values_that_do_not_show_how_their_text_ends(lake: Lake, case: str) -> None:
    type_, options, settings, text = HIDDEN[case]
    lake.lines("odd.csv", "0,,v,w", f'1,"{text}{ODD}')
    lake.lines("plain.csv", "2,,v,w")
    reader: dict[str, Any] = {"format": "csv", "schema": f"id int, a {type_}, b string, c string"}
    with settings_of(lake.spark, settings):
        lake.index(ValueList("b"), ValueList("c"), options=options, **reader)
        lake.view(**reader, **options)
        with lake.skipping.disabled():
            (row,) = lake.spark.sql("SELECT b FROM t WHERE b <> 'v'").collect()
            (whole,) = lake.spark.sql("SELECT * FROM t WHERE b <> 'v'").collect()
        assert row.b != whole.b, "the recipe shows nothing"
        lake.query(f"SELECT b FROM t WHERE b = '{row.b}'", read=["odd.csv"])
        lake.query("SELECT b FROM t WHERE b = 'q'", read=["odd.csv"])


def test_a_column_of_the_files_that_the_folders_hide(lake: Lake) -> None:
    """Of a partition column that lies in the files as well, no query reads the text."""
    for p, line in (("1", f'1,"a\\\\{ODD}'), ("2", "2,,v,w")):
        (lake.folder / f"p={p}").mkdir()
        lake.lines(f"p={p}/a.csv", "id,p,b,c", "0,,v,w", line)
    options = {"header": "true"}
    lake.index(ValueList("b"), format="csv", options=options)
    lake.view(format="csv", **options)
    lake.query("SELECT b FROM t WHERE b = 'x\"'", read=["p=1/a.csv"])


def test_zeros_where_nothing_escapes(lake: Lake) -> None:
    """univocity's parser takes a zero for what stands for no escape, no quote and nothing before."""
    lake.lines("odd.csv", "0,u,v,w", '1,"a\0"",",b","q"')
    lake.lines("plain.csv", "2,u,v,w")
    reader: dict[str, Any] = {"format": "csv", "schema": "id int, a string, b string, c string"}
    lake.index(ValueList("b"), options={"escape": ""}, **reader)
    lake.view(**reader, escape="")
    lake.query("SELECT b FROM t WHERE b = ',b'", read=["odd.csv"])


def test_a_last_value_that_is_blank_depends_on_the_value_before(lake: Lake) -> None:
    """Whether it is empty or missing: on what the parser kept of the quoted value before, or of the line before."""
    reader: dict[str, Any] = {"format": "csv", "schema": "id int, a string, b string"}
    options = {"ignoreLeadingWhiteSpace": "true", "nullValue": "NA"}
    lake.lines("odd.csv", "0,u,v", '1,"a\\"b", ')
    lake.lines("plain.csv", "2,u,v")
    lake.index(ValueList("b"), options=options, **reader)
    lake.view(**reader, **options)
    lake.query("SELECT b FROM t WHERE b IS NULL", read=["odd.csv"])
    lake.query("SELECT * FROM t WHERE b = ''", read=["odd.csv"])
    lake.table(options=options, **reader).drop_index(ValueList("b"))
    lake.index(ValueList("b"), options={"ignoreLeadingWhiteSpace": "true"}, **reader)  # where an empty value is NULL, too
    lake.view(**reader, ignoreLeadingWhiteSpace="true")
    lake.query("SELECT b FROM t WHERE b = 'q'", read=[])


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


def test_a_line_feed_in_a_line(lake: Lake) -> None:
    """It ends a record, where two characters separate lines, and the next line is read from behind where it was found."""
    reader: dict[str, Any] = {"format": "csv", "schema": "id int, a string, b string"}
    options = {"lineSep": "\r\n"}
    lake.text("odd.csv", "0,u,v\r\n1,u,\nvwxyz\r\n22222222,m,n\r\n")
    lake.text("plain.csv", "0,u,v\r\n")
    assert lake.table(options=options, **reader).create_index(ValueList("b")).files_refused == 1
    lake.view(**reader, **options)
    lake.query("SELECT * FROM t WHERE b = 'q'", read=["odd.csv"])


def test_how_much_a_parser_buffers(lake: Lake) -> None:
    """univocity has two ways to take a value apart, by whether all of it lies in its buffer: one loses what escapes an escape."""
    reader: dict[str, Any] = {"format": "csv", "schema": "id int, a string, b string"}
    options = {"charToEscapeQuoteEscaping": "|"}
    lake.lines("a.csv", '1,"b|a|c",v')
    lake.lines("b.csv", '2,"u",v')
    lake.index(ValueList("a"), options=options, **reader)
    lake.view(**reader, **options)
    lake.query("SELECT * FROM t WHERE a = 'b|a|c'", read=["a.csv"])
    with settings_of(lake.spark, {f"{SQL}csv.parser.inputBufferSize": "5"}):
        lake.view(**reader, **options)
        assert lake.spark.table("t").where("a = 'bac'").count() == 1, "the recipe shows nothing"
        lake.query("SELECT * FROM t WHERE a = 'bac'", read=["a.csv", "b.csv"])


@pytest.mark.parametrize("format", ["csv", "json"])
def test_a_time_without_a_date_in_a_zone_of_its_own(lake: Lake, format: str) -> None:
    """It is of today in that zone, which is another day here: yesterday's, or tomorrow's."""
    for hours in (-18, -12, 12, 18):
        for hour in (1, 23):
            text = f"{hour:02}:00:00{hours:+03}:00"
            lake.lines(f"undated {hours} {hour}", text if format == "csv" else f'{{"t": "{text}"}}')
    lake.lines("dated", "2020-01-01 01:00:00-18:00" if format == "csv" else '{"t": "2020-01-01 01:00:00-18:00"}')
    assert lake.table(format=format, schema="t timestamp").create_index(MinMax("t")).files_undated == 8


def test_types_of_a_variant_depend_on_the_lines_before() -> None:
    """Spark 4.1 reads variants from CSV: what is no number makes the next number a text, up to the end of a part of a file."""
    reader: dict[str, Any] = {"format": "csv", "session": {}, "options": {}, "columns": [["v", "variant", None, None]]}
    assert "read the column as a STRING" in unsure(reader)
    assert unsure({**reader, "format": "json"}) == ""


@pytest.mark.parametrize("format", ["csv", "json"])
def test_a_column_with_a_backtick(lake: Lake, format: str) -> None:
    lake.lines("a", "1,x" if format == "csv" else '{"id": 1, "a`b": "x"}')
    lake.lines("b", "2,y" if format == "csv" else '{"id": 2, "a`b": "y"}')
    reader: dict[str, Any] = {"format": format, "schema": "id int, `a``b` string"}
    lake.index(MinMax("id"), ValueList("`a``b`"), **reader)
    lake.view(**reader)
    lake.query("SELECT * FROM t WHERE id = 2", read=["b"])
    lake.query("SELECT * FROM t WHERE `a``b` = 'x'", read=["a"])


def test_quotes_that_escape_quotes_beside_empty_values(lake: Lake) -> None:
    """Only text of nothing but quotes is passed over otherwise: values without quotes may be missing."""
    reader: dict[str, Any] = {"format": "csv", "schema": "id int, a string, b string"}
    texts = {"plain": '1,,"say ""x"" twice"', "odd": '1,"",v', "quotes": '1,"""""",v', "first": '1,"""x"" was said",v'}
    for name, line in texts.items():
        lake.lines(name, "0,u,w", line)
    lake.index(ValueList("b"), options={"escape": '"'}, **reader)
    lake.view(**reader, escape='"')
    lake.query("SELECT b FROM t WHERE b = 'q'", read=["odd", "quotes"])


@pytest.mark.parametrize("encoding", ["UTF-8", "ISO-8859-1", "utf-16", "UTF-16LE", "GBK", "what", "cp037"])
def test_lines_of_encodings(encoding: str) -> None:
    reader: dict[str, Any] = {"format": "csv", "session": {}, "columns": [], "options": {"encoding": encoding}}
    odd = odd_lines(reader)
    assert (odd == EVERY_LINE) == (encoding in ("what", "cp037")), "where ASCII is something else, nothing is known of lines"
    assert odd_lines({**reader, "options": {"encoding": encoding, "multiline": "true"}}) == []
    assert odd_lines({**reader, "format": "json"}) == []


@pytest.mark.parametrize("encoding", ["UTF-16LE", "UTF-16BE"])
def test_escapes_of_wide_characters(lake: Lake, encoding: str) -> None:
    reader: dict[str, Any] = {"format": "csv", "schema": "id int, a string, b string, c string"}
    options = {"encoding": encoding, "lineSep": "\n"}
    lake.text("odd.csv", f'0,,v,w\n1,"a\\\\{ODD}\n', encoding)
    lake.text("plain.csv", "2,,v,w\n", encoding)
    lake.index(ValueList("b"), options=options, **reader)
    lake.view(**reader, **options)
    lake.query("SELECT b FROM t WHERE b = 'x\"'", read=["odd.csv"])
    lake.query("SELECT b FROM t WHERE b = ',x'", read=["odd.csv"])


def test_records_by_other_rules_of_what_is_doubtful_are_not_used(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """An earlier data-skip took lines for sure that are not."""
    for i in range(2):
        lake.lines(f"{i}.csv", f"{i},a")
    with monkeypatch.context() as earlier:
        earlier.setattr(store_reader, "_DOUBTS", store_reader._DOUBTS - 1)
        lake.index(MinMax("x"), format="csv", schema="x INT, s STRING")
    lake.view(format="csv", schema="x INT, s STRING")
    (note,) = lake.check("x = 1", read={"0.csv", "1.csv"}).notes
    assert "collected by another data-skip" in note
