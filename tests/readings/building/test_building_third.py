"""Building, read a third time: each test is a recipe that once lost rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pytest

from data_skip import DataSkipError, MinMax, Prefix, ValueList
from tests.support import Lake, settings_of

STRUCT = pa.struct([("b", pa.int64())])


def test_a_column_with_a_dot_is_no_field_in_a_footer(lake: Lake) -> None:
    """A file without the struct `s` has a column `s.b`, whose path in the footer is that of the field: its bounds were taken for it."""
    lake.file("field", {"k": [1], "s": pa.array([{"b": 1}], STRUCT)})
    lake.file("column", {"k": [2], "s.b": [100]})
    schema = "k bigint, s struct<b: bigint>"
    report = lake.table(schema=schema, format="parquet").create_index(MinMax("s.b"))
    assert report.files_lifted == 1
    lake.view(schema=schema)
    for where, read in (("s.b IS NULL", "column"), ("coalesce(s.b, 0) = 0", "column"), ("s.b = 1", "field")):
        lake.query(f"SELECT k FROM t WHERE {where}", read=[read])
    lake.query("SELECT k FROM t WHERE s.b = 100", read=[])


@contextmanager
def locale(lake: Lake, tag: str) -> Iterator[None]:
    java: Any = lake.spark._jvm
    locales = java.java.util.Locale
    before = locales.getDefault()
    locales.setDefault(locales.forLanguageTag(tag))
    try:
        yield
    finally:
        locales.setDefault(before)


def test_the_language_of_the_machine_makes_other_capitals(lake: Lake) -> None:
    lake.file("small", {"s": ["éi"]})
    lake.file("large", {"s": ["ÉI"]})
    with locale(lake, "tr"):
        lake.index(ValueList("upper(s)"), MinMax("s"))
    lake.view()
    lake.query("SELECT * FROM t WHERE upper(s) = 'ÉI'", read=["small", "large"])
    lake.query("SELECT * FROM t WHERE s = 'éi'", read=["small"])  # what is no function has no language
    with locale(lake, "tr"):
        lake.query("SELECT * FROM t WHERE upper(s) = 'ÉİI'", read=[])


def test_another_java_makes_other_text(lake: Lake) -> None:
    """Since its version 19, Java writes some doubles with fewer digits (JDK-4511638); Unicode's tables grow as well."""
    lake.file("a", {"x": [2e-3]})
    lake.index(ValueList("cast(x AS string)"))
    lake.check("cast(x AS string) = 'x'", read=[])
    java: Any = lake.spark._jvm
    system, key = java.java.lang.System, "java.specification.version"
    before = system.getProperty(key)
    system.setProperty(key, "999")
    try:
        lake.check("cast(x AS string) = 'x'", read=["a"])
    finally:
        system.setProperty(key, before)


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
