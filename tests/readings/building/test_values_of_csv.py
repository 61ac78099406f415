"""Values of CSV that depend on which columns are read, on values and lines before, or on how much a parser buffers: quotes, escapes."""

from __future__ import annotations

from typing import Any

import pytest

from data_skip import DataSkipError, ValueList
from data_skip.building.lines import EVERY_LINE, odd_lines
from data_skip.store.reader import unsure
from tests.support import Lake, settings_of

SQL = "spark.sql."
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


def test_types_of_a_variant_depend_on_the_lines_before() -> None:
    """Spark 4.1 reads variants from CSV: what is no number makes the next number a text, up to the end of a part of a file."""
    reader: dict[str, Any] = {"format": "csv", "session": {}, "options": {}, "columns": [["v", "variant", None, None]]}
    assert "read the column as a STRING" in unsure(reader)
    assert unsure({**reader, "format": "json"}) == ""


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


ALL = {"columnPruning": "False"}
LINES = {  # options, and a line of which `c` is another value where `a` is left out
    "back": ({"unescapedQuoteHandling": "back_to_delimiter"}, '1,"\',,"#1 1"', "#1 1"),
    "separator": ({"sep": "||"}, '1||"\'||#"||x||y', "y"),
    "escaped escape": ({}, '1,"a\\\\",",x",y', "y"),
    "empty": ({"escape": '"'}, '1,"",",x",y', "y"),
}


@pytest.mark.parametrize("case", LINES)
def test_csv_that_is_taken_apart_otherwise_with_fewer_columns(lake: Lake, case: str) -> None:
    """univocity looks for an end in what it kept of a column's text, of one that is left out it keeps none, and passes over escapes."""
    options, line, value = LINES[case]
    first, plain = (options.get("sep", ",").join(values) for values in ("0uvw", "2uvw"))
    lake.lines("odd.csv", first, line)  # the parser leaves out columns from its second record on
    lake.lines("plain.csv", plain)
    reader: dict[str, Any] = {"format": "csv", "schema": "id int, a string, b string, c string"}
    with lake.skipping.disabled():
        both = [lake.view(**reader, **options, **o).select("b", "c").where("id = 1").collect() for o in (ALL, {})]
    assert both[0] != both[1], "the recipe shows nothing"
    refused = case in ("back", "separator")
    if refused:
        with pytest.raises(DataSkipError, match="columnPruning=false"):
            lake.index(ValueList("b"), ValueList("c"), options=options, **reader)
    else:
        report = lake.table(options=options, **reader).create_index(ValueList("b"), ValueList("c"))
        assert report.files_refused == 1
        lake.view(**reader, **options)
        for column, row in (("b", both[1][0].b), ("c", both[1][0].c)):
            lake.query(f"SELECT b, c FROM t WHERE {column} <=> {row!r}".replace("None", "NULL"), read=["odd.csv"])
        lake.table(options=options, **reader).drop_index(ValueList("b"), ValueList("c"))
    lake.index(ValueList("b"), ValueList("c"), options=options | ALL, **reader)
    lake.view(**reader, **options, **ALL)
    lake.query(f"SELECT b, c FROM t WHERE c <=> {value!r}".replace("None", "NULL"), read=["odd.csv"])


def test_fields_of_from_csv_depend_on_the_records_before(lake: Lake) -> None:
    """As the reader of files: from its second record on, it passes over the fields that are not asked for."""
    lake.file("a", {"s": ["0,0,0", LINES["escaped escape"][1].removeprefix("1,")]})
    lake.file("b", {"s": ["1,1,1"]})
    lake.index(ValueList("s"))
    lake.view()
    parsed = "from_csv(s, 'a string, b string, c string')"
    lake.query(f"SELECT * FROM t WHERE {parsed}.b = 'x\"'", read=["a", "b"])
    lake.query(f"SELECT * FROM t WHERE {parsed} = named_struct('a', '1', 'b', '1', 'c', '1')", read=["b"])
    with pytest.raises(DataSkipError, match="not deterministic"):
        lake.index(ValueList(f"{parsed}.b"))


ODD_LINE = ',",x",y'  # behind quoted text that univocity does not take for its end


def test_columns_that_are_left_out_of_several_lines(lake: Lake) -> None:
    """Spark asks for all columns of multi-line CSV, for univocity's sake, but where an option says otherwise."""
    reader: dict[str, Any] = {"format": "csv", "schema": "id int, a string, b string, c string"}
    lake.lines("odd.csv", "0,u,v,w", '1,"a\\\\"' + ODD_LINE)
    lake.lines("plain.csv", "2,u,v,w")
    pruned = {"multiLine": "true", "columnPruning": "True"}
    lake.index(ValueList("b"), options={"multiLine": "true"}, **reader)
    lake.view(**reader, **pruned)
    lake.query("SELECT b FROM t WHERE b = 'x\"'", read=["odd.csv", "plain.csv"])
    lake.view(**reader, multiLine="true")
    lake.query("SELECT b FROM t WHERE b = ',x'", read=["odd.csv"])
    with pytest.raises(DataSkipError, match="columnPruning=true with multiLine=true"):
        lake.index(ValueList("c"), options=pruned, **reader)


@pytest.mark.parametrize(("escape", "type_", "text"), [("e", "boolean", "truee"), ("5", "int", "155"), (" ", "double", "1.5  ")])
def test_an_escape_that_the_value_of_no_text_shows(lake: Lake, escape: str, type_: str, text: str) -> None:
    """A number, or true, may be written with an escape at its end."""
    reader: dict[str, Any] = {"format": "csv", "schema": f"id int, a {type_}, b string, c string"}
    lake.lines("odd.csv", "0,,v,w", f'1,"{text}"' + ODD_LINE)
    assert lake.table(**reader, options={"escape": escape}).create_index(ValueList("b")).files_refused == 1
    lake.view(**reader, escape=escape)
    lake.query("SELECT b FROM t WHERE b = 'x\"'", read=["odd.csv"])


def test_an_escape_with_which_no_number_ends(lake: Lake) -> None:
    reader: dict[str, Any] = {"format": "csv", "schema": "id int, a int, b string"}
    lake.lines("a.csv", "0,1,v", "1,,w")
    lake.index(ValueList("b"), **reader)
    lake.view(**reader)
    lake.query("SELECT b FROM t WHERE b = 'x'", read=[])


def test_options_that_are_text_are_told_apart_by_their_letters(lake: Lake) -> None:
    """Of flags, true and TRUE are one; of texts that stand for NULL they are two."""
    lake.text("a.csv", "s,v\nTRUE,1\n")
    lake.text("b.csv", "s,v\nx,2\n")
    reader: dict[str, Any] = {"format": "csv", "schema": "s string, v int"}
    lake.index(ValueList("s"), options={"header": "TRUE", "nullValue": "TRUE"}, **reader)
    lake.view(**reader, header="true", nullValue="true")
    lake.query("SELECT * FROM t WHERE s = 'TRUE'", read=["a.csv", "b.csv"])
    lake.view(**reader, header="true", nullValue="TRUE")
    lake.query("SELECT * FROM t WHERE s = 'TRUE'", read=[])
    lake.text("c.csv", "s,v\ntrue,3\n")
    lake.skipping.table(str(lake.folder)).refresh()  # reads as the index was collected
    lake.view(**reader, header="true", nullValue="TRUE")
    lake.query("SELECT * FROM t WHERE s = 'true'", read=["c.csv"])
