"""Building, read a sixth time: each test is a recipe that once lost rows, or would have."""

from __future__ import annotations

from typing import Any

import pytest

from data_skip import DataSkipError, MinMax, ValueList
from data_skip.store.reader import unsure
from tests.support import Lake, aged, settings_of

ODD = ',",x",y'  # behind quoted text that univocity does not take for its end


def test_columns_that_are_left_out_of_several_lines(lake: Lake) -> None:
    """Spark asks for all columns of multi-line CSV, for univocity's sake, but where an option says otherwise."""
    reader: dict[str, Any] = {"format": "csv", "schema": "id int, a string, b string, c string"}
    lake.lines("odd.csv", "0,u,v,w", '1,"a\\\\"' + ODD)
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
    lake.lines("odd.csv", "0,,v,w", f'1,"{text}"' + ODD)
    assert lake.table(**reader, options={"escape": escape}).create_index(ValueList("b")).files_refused == 1
    lake.view(**reader, escape=escape)
    lake.query("SELECT b FROM t WHERE b = 'x\"'", read=["odd.csv"])


def test_an_escape_with_which_no_number_ends(lake: Lake) -> None:
    reader: dict[str, Any] = {"format": "csv", "schema": "id int, a int, b string"}
    lake.lines("a.csv", "0,1,v", "1,,w")
    lake.index(ValueList("b"), **reader)
    lake.view(**reader)
    lake.query("SELECT b FROM t WHERE b = 'x'", read=[])


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


def test_how_json_is_written_is_what_to_json_gives(lake: Lake) -> None:
    """Of a NULL in a column that has a default."""
    sql, key, written = lake.spark.sql, "spark.sql.jsonGenerator.writeNullIfWithDefaultValue", "to_json(struct(a, b))"
    sql(f"CREATE TABLE defaults (a int, b int DEFAULT 5) USING parquet LOCATION '{lake.folder}'")
    try:
        sql("INSERT INTO defaults VALUES (1, NULL)")
        for path in lake.folder.glob("part-*"):
            aged(path)
        lake.skipping.table("defaults").create_index(ValueList(written), MinMax("a"))
        without = f"SELECT * FROM defaults WHERE {written} = '{{\"a\":1}}'"
        assert lake.query(without).scans[-1].files_read == 0
        with settings_of(lake.spark, {key: "false"}):
            assert lake.query(without).scans[-1].files_read == 1
            assert lake.query("SELECT * FROM defaults WHERE a = 2").scans[-1].files_read == 0
    finally:
        sql("DROP TABLE defaults")
