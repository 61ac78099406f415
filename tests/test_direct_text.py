"""Files of CSV and JSON that Spark's tasks read by pyarrow: values are those that Spark reads. Where that is not sure, Spark reads them."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from data_skip import BloomFilter, GapList, Index, MinMax, Prefix, Suffix, ValueList
from data_skip.building import direct, text_batches
from data_skip.building.lifting import Part
from data_skip.building.plain import NotPlain
from data_skip.building.plain_text import TextReader
from data_skip.expression import Column
from log_skip import NGram
from tests.support import Lake, settings_of
from tests.test_direct import Everything, Once, by_both

TYPES = {
    **{"y": "tinyint", "n": "int", "l": "bigint", "d": "double", "s": "string", "b": "boolean"},
    **{"day": "date", "at": "timestamp", "more": "timestamp"},
}
CSV = {
    "plain": "-128,-2147483648,9223372036854775807,-0.0,a,true,0001-01-01,2024-01-01T23:59:59Z,1969-12-31 23:59:59.123456Z\n"
    + "127,007,-9223372036854775808,1e-30,  ü😀 ,false,9999-12-31,1000-06-30T00:00:00Z,1582-10-10 00:00:00.000001Z\n"
    + "-0,2147483647,5,5.,'q' {x},true,1582-10-10,9999-12-31T00:00:00Z,9999-12-31 23:59:59.999999Z\n",
    "empty": ",,,,,,,,\n\n" + ",,,,x,,,,",
    "quoted": '"1","2","3","4.5",",","true","2024-02-29","2024-01-01 00:00:00.123-17:59","2024-01-01T00:00:00Z"\n',
}
JSON = {
    "plain": '{"y": -128, "n": -2147483648, "l": 9223372036854775807, "d": 1e-30, "s": "a", "b": true, "day": "0001-01-01"}\n'
    '{"s":"\\t\\" ü😀\\\\\\/","at":"1000-06-30T00:00:00.123+02:00","more":"1582-10-10 00:00:00Z"}\n{}\n'
    '{"d": 9007199254740993, "n":-0, "b":false, "s": null, "more":"9999-12-31 23:59:59Z"}',
    "more": '{"s":"{\\n}","d":123456789012345678901234567890}\n{"d":0.1}\n',
}


def schema_of(types: dict[str, str]) -> str:
    return ", ".join(f"{name} {type_}" for name, type_ in types.items())


@pytest.mark.parametrize("format_", ["csv", "json"])
def test_values_are_those_that_spark_reads(lake: Lake, monkeypatch: pytest.MonkeyPatch, format_: str) -> None:
    types, files = TYPES, CSV if format_ == "csv" else JSON
    for name, content in files.items():
        lake.text(name, content)
        lake.bytes(f"{name}.gz", gzip.compress(content.encode()))
    indexes: list[Index] = [*map(Everything, types), *map(Once, ("l", "d", "s", "b", "at")), NGram("s"), Prefix("s", 2), Suffix("s", 1)]
    indexes += [kind(name) for kind in (MinMax, ValueList, GapList, BloomFilter) for name in types if name != "b"]
    report, _ = by_both(monkeypatch, lake.table(format=format_, schema=schema_of(types)), *indexes)
    assert (report.files_direct, report.why_by_spark) == (2 * len(files), "")


CSV_BY_SPARK = {
    **{"escape": b"1,a\\b\n", "quote": b'1,a"b\n', "two_quotes": b'1,"a""b"\n', "nothing": b'1,""\n', "no_end": b'1,"a\n2,b"\n'},
    **{
        "few": b"1\n",
        "many": b"1,a,b\n",
        "returns": b"1,a\r\n2,b\r\n",
        "zero": b"1,\0\n",
        "mark": b"\xef\xbb\xbf1,a\n",
    },
    **{
        "no_text": b"1,\xff\n",
        "half": "1,ü\n".encode("latin-1"),
        "blank": b"1,a\n  \n",
        "sign": b"+1,a\n",
        "hex": b"0x1F,a\n",
        "space": b" 1,a\n",
    },
    **{
        "arabic": "٣,a\n".encode(),
        "fraction": b"1.0,a\n",
        "large": b"3000000000,a\n",
        "word": b"x,a\n",
        "inner_mark": "1,a\n\ufeff2,b\n".encode(),
    },
}
JSON_BY_SPARK = {
    **{"more_lines": b'{"n":1,\n"s":"a"}\n', "two": b'{"n":1}{"n":2}\n', "list": b'[{"n":1},{"n":2}]\n', "twice": b'{"n":1,"n":2}\n'},
    **{
        "unicode": b'{"s":"\\ud800"}\n',
        "control": b'{"s":"\x01"}\n',
        "tab": b'{"s":"\t"}\n',
        "number": b'{"s":5}\n',
        "text": b'{"n":"5"}\n',
    },
    **{"fraction": b'{"n":1.0}\n', "large": b'{"n":3000000000}\n', "unknown": b'{"n":1,"z":{"n":7}}\n', "object": b'{"s":{"n":5}}\n'},
    **{
        "nan": b'{"d":NaN}\n',
        "huge": b'{"d":1e400}\n',
        "zero": b'{"d":-0}\n',
        "tiny": b'{"d":2.2250738585072012e-308}\n',
        "blank": b'{"n":1}\n \n',
    },
    **{
        "no_text": b'{"s":"\xff"}\n',
        "mark": b'\xef\xbb\xbf{"n":1}\n',
        "rest": b'{"n":1} x\n',
        "cut": b'{"n":1\n',
        "returns": b'{"n":1}\r\n',
    },
    **{"long": b'{"d":0.' + b"1" * 1000 + b"}\n", "blank_line": b'\n{"n":1}\n', "apostrophe": b"{'n':1}\n"},
}


@pytest.mark.parametrize("format_", ["csv", "json"])
def test_what_spark_reads(lake: Lake, monkeypatch: pytest.MonkeyPatch, format_: str) -> None:
    odd, usual, types = {
        "csv": (CSV_BY_SPARK, b"1,a\n", {"n": "int", "s": "string"}),
        "json": (JSON_BY_SPARK, b'{"n":1}\n', {"n": "int", "s": "string", "d": "double"}),
    }[format_]
    for name, content in {**odd, "usual": usual}.items():
        lake.bytes(name, content)
    report, _ = by_both(monkeypatch, lake.table(format=format_, schema=schema_of(types)), *map(Everything, types))
    assert report.files_direct == 1, report
    assert report.why_by_spark


@pytest.mark.parametrize(
    ("schema", "odd"),
    [
        ("n string", b"1\n \n"),
        ("n int, s string", b"1\ta\n\t\n"),  # a line of blanks is no row to Spark, though it has a separator
    ],
)
def test_what_pyarrow_takes_otherwise(lake: Lake, monkeypatch: pytest.MonkeyPatch, schema: str, odd: bytes) -> None:
    lake.bytes("odd", odd)
    lake.bytes("usual", b"1\ta\n" if "," in schema else b"1\n")
    report, rows = by_both(monkeypatch, lake.table(format="csv", schema=schema, options={"sep": "\t"}), Everything("n"))
    assert (len(rows), report.files_direct) == (2, 1)


DAYS = ("2024-1-2", "2024-02-30", "2024", "2024-01-02T00", "24-01-01", "+12024-01-01")
MOMENTS = (
    "2024-01-01T00:00:00.5Z",
    "2024-01-01",
    "2024-01-01T24:00:00Z",
    "2024-01-01 00:00:00+18:00",
    "12:00:00",
    "2024-01-01 00:00:00 UTC",
)


@pytest.mark.parametrize("format_", ["csv", "json"])
def test_times_that_spark_reads(lake: Lake, monkeypatch: pytest.MonkeyPatch, format_: str) -> None:
    for i, (day, moment) in enumerate(zip((*DAYS, *["2024-01-01"] * len(MOMENTS)), (*[""] * len(DAYS), *MOMENTS), strict=True)):
        lake.text(str(i), f"{day},{moment}\n" if format_ == "csv" else f'{{"day":"{day}","at":"{moment or "2024-01-01 00:00:00Z"}"}}\n')
    table = lake.table(format=format_, schema="day date, at timestamp")
    report, _ = by_both(monkeypatch, table, Everything("day"), Everything("at"))
    assert report.files_direct == 0
    for i in range(len(DAYS) + len(MOMENTS)):
        (lake.folder / str(i)).unlink()
    local = "2024-03-10 02:30:00"
    lake.text("local", f"2024-01-01,{local}\n" if format_ == "csv" else f'{{"day":"2024-01-01","at":"{local}"}}\n')
    for zone in ("America/New_York", "UTC"):
        with settings_of(lake.spark, {"spark.sql.session.timeZone": zone}):
            table = lake.table(format=format_, schema="day date, at timestamp")
            assert by_both(monkeypatch, table, Everything("at"))[0].files_direct == 0
            assert by_both(monkeypatch, table, Everything("day"))[0].files_direct == 1


def test_types_that_are_left_to_spark(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of so many digits, or as many with those of the fraction, pyarrow drops the first ones."""
    lake.lines("a", "1" + "0" * 300 + ",244292096208964265373907242149252.,16777217,2024")
    table = lake.table(format="csv", schema="short decimal(7,2), long decimal(38,10), fraction float, at timestamp_ntz")
    for name in ("short", "long", "fraction", "at"):
        assert by_both(monkeypatch, table, Everything(name))[0].files_direct == 0


def test_records_are_of_whole_lines_however_a_file_is_cut(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = "".join(f"{i},{'x' * (i % 7)}\n" for i in range(500))
    lake.text("a", f"n,s\n{lines}")
    lake.bytes("b.gz", gzip.compress(f"n,s\n{lines}\n".encode()))
    lake.text("no_rows", "n,s\n")
    lake.text("behind_a_blank", "\nn,s\n5,a\n")
    monkeypatch.setattr(direct, "_PART", 500)
    table = lake.table(format="csv", schema="n int, s string", options={"header": "true"})
    report, _ = by_both(monkeypatch, table, Everything("n"), ValueList("s"))
    assert (report.rows, report.files_direct) == (1001, 3)


def test_blocks_are_of_whole_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, reader = tmp_path / "a", TextReader("csv", (("n", "int"),), header=True)
    columns = [Column("int", None, ("n",))]
    content = b"\n".join([b"n", *(b"%d" % i for i in range(95, 130)), b"", b"7"])
    path.write_bytes(content)
    for block in (8, 9, 10, 11, 1 << 20):
        monkeypatch.setattr(text_batches, "_BLOCK", block)
        for parts in (1, 2, 3, 7, 50):
            found = [
                value
                for place in range(parts)
                for batch in text_batches.text_batches(path, Part(0, "a", len(content), 0, place, parts), columns, reader)
                for value in batch["n",].to_pylist()
            ]
            assert found == [*range(95, 130), 7], (block, parts)
    monkeypatch.setattr(text_batches, "_BLOCK", 4)
    path.write_bytes(b"n\n1234567890")
    with pytest.raises(NotPlain, match="a very long line"):
        list(text_batches.text_batches(path, Part(0, "a", 12, 0), columns, reader))


@pytest.mark.parametrize("name", ["a.bz2", "a.GZ", "a.deflate", "a.zst", "a.lz4", "a.snappy"])
def test_names_of_compressed_files(tmp_path: Path, name: str) -> None:
    """Spark decompresses them, whatever lies there."""
    path = tmp_path / name
    path.write_bytes(b"1\n")
    reader = TextReader("csv", (("n", "int"),))
    with pytest.raises(NotPlain, match="by its name"):
        next(text_batches.text_batches(path, Part(0, f"file:{path}", 2, 0), [Column("int", None, ("n",))], reader))


@pytest.mark.parametrize("mode", ["PERMISSIVE", "DROPMALFORMED"])
def test_what_is_malformed_elsewhere_in_a_line_of_csv(lake: Lake, mode: str) -> None:
    """Whatever columns a query asks for, a value is the same, or its row is left out."""
    lake.lines("a", "1,x,2024-01-01", ",5,yesterday")
    lake.lines("b", "2,6,2024-01-01", "3,-,")
    reader: dict[str, Any] = {"format": "csv", "schema": "n int, m int, day date"}
    report = lake.table(**reader, options={"mode": mode}).create_index(ValueList("n"))
    assert (report.files_direct, report.files_collected) == (2, 2)
    lake.view(**reader, mode=mode)
    lake.check("n = 1", ["a"])
    lake.check("n > 1", ["b"])
    for where in ("n IS NULL", "n = 1 AND m IS NULL", "m IS NULL", "n IS NULL AND m = 5", "n IS NULL AND day IS NULL", "n < 3 OR m = 5"):
        lake.check(where)


@pytest.mark.long
def test_how_a_table_is_read(lake: Lake) -> None:
    lake.lines("a", "1,a,2")

    def direct_files(schema: str = "n int, s string, m int", index: str = "n", **options: str) -> int:
        table = lake.table(format="csv", schema=schema, options=options)
        files = table.create_index(MinMax(index)).files_direct
        table.drop_index(MinMax(index))
        return files

    assert direct_files() == direct_files(mode="FAILFAST") == direct_files(inferSchema="true") == direct_files(header="false") == 1
    assert direct_files(sep=",") == direct_files(schema="n int, s boolean, m date") == 1
    assert direct_files(schema="n timestamp_ntz, s string, m int") == direct_files(schema="n binary, s string, m int") == 0
    assert direct_files(index="n + 1") == direct_files(schema="n int, s string, m int, _corrupt_record string") == 0
    for option in ("nullValue", "comment", "quote", "escape", "encoding", "timestampFormat", "enforceSchema", "unheardOf", "fs.x.impl"):
        assert direct_files(**{option: "utf-8" if option == "encoding" else "false" if option == "enforceSchema" else "a"}) == 0, option
    for setting, value in {"spark.sql.legacy.timeParserPolicy": "LEGACY", "spark.sql.csv.parser.columnPruning.enabled": "false"}.items():
        with settings_of(lake.spark, {setting: value}):
            assert direct_files() == 0, setting
