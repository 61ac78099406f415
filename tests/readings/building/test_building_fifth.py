"""Building, read a fifth time: each test is a recipe that once lost rows, or made an index lie."""

from __future__ import annotations

import base64
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow.parquet import encryption

from data_skip import DataSkipError, MinMax, ValueList
from data_skip.store import FileKey, StoreError
from data_skip.store.definition import Definition
from data_skip.store.delta import DeltaStore
from data_skip.store.layout import definition_field
from tests.support import Lake, aged

RECORD = pa.struct([("min", pa.int64())])


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


@pytest.mark.parametrize("format", ["json", "csv"])
def test_a_column_that_has_the_name_of_our_own(lake: Lake, format: str) -> None:
    """Which we gave to the column of malformed records: Spark fills that itself, and takes it for no column of the files."""
    lake.text("a", "x,5\n" if format == "csv" else '{"data_skip_malformed": "x", "v": 5}\n')
    lake.text("b", "7\n" if format == "csv" else '{"v": 7}\n')
    reader: dict[str, Any] = {"format": format, "schema": "data_skip_malformed string, v int"}
    lake.index(ValueList("data_skip_malformed"), ValueList("v"), **reader)
    lake.view(**reader)
    of_b = ["b"] if format == "csv" else []  # malformed, since it lacks a column
    lake.query("SELECT * FROM t WHERE data_skip_malformed = 'x'", read=["a", *of_b])
    lake.query("SELECT * FROM t WHERE v IS NULL", read=of_b)
    lake.query("SELECT * FROM t WHERE v = 5", read=["a", *of_b])


class KeepsKeys(encryption.KmsClient):
    """A key is kept in the file, behind the name of the one that should protect it."""

    def __init__(self, connection: encryption.KmsConnectionConfig) -> None:
        super().__init__()

    def wrap_key(self, key: bytes, master: str) -> bytes:
        return base64.b64encode(key)

    def unwrap_key(self, wrapped: bytes, master: str) -> bytes:
        return base64.b64decode(wrapped)


def test_encrypted_columns_beside_a_plain_footer(lake: Lake) -> None:
    """pyarrow ended the process when it was asked for what the footer says of one."""
    rows = pa.table({"id": [1, 2], "secret": [3, 4]})
    keys = encryption.EncryptionConfiguration(footer_key="f", column_keys={"k": ["secret"]}, plaintext_footer=True)
    properties = encryption.CryptoFactory(KeepsKeys).file_encryption_properties(encryption.KmsConnectionConfig(), keys)
    with pq.ParquetWriter(lake.folder / "a", rows.schema, encryption_properties=properties) as writer:
        writer.write_table(rows)
    aged(lake.folder / "a")
    lake.file("b", {"id": [100], "secret": [5]})
    assert lake.table().create_index(MinMax("secret")).files_unreadable == 1
    report = lake.table().create_index(MinMax("id"))
    assert report.files_lifted == 1
    lake.view()
    lake.query("SELECT id FROM t WHERE id > 50", read=["b"])
    lake.query("SELECT id FROM t WHERE id < 50", read=["a"])


def collected(separator: str, *bounds: int) -> dict[pa.Field, pa.Array]:
    """Records of one index, by a reader of its own."""
    reader = {"format": "csv", "options": {"sep": separator}, "session": {}, "columns": []}
    field = definition_field("min_max__x", RECORD, Definition("MinMax", ("x",), {}, 1, (), reader))
    return {field: pa.array([{"min": bound} for bound in bounds], RECORD)}


@pytest.mark.parametrize("before", [[], [FileKey("a", 1, 1)]], ids=["empty", "filled"])
def test_an_index_that_was_deleted_and_made_anew_is_another(tmp_path: Path, before: list[FileKey]) -> None:
    """A session that knows the old one took the new one's commits for later ones of the old: records under another's definition."""
    place = tmp_path / "store"
    ours, theirs = DeltaStore(f"file:{place}"), DeltaStore(f"file:{place}")

    def separators() -> list[str]:
        snapshot = ours.snapshot()
        assert snapshot is not None
        return [definition.reader["options"]["sep"] for definition in snapshot.definitions.values()]

    ours.append(before, [1] * len(before), collected(",", *[5] * len(before)))
    assert separators() == [","]
    shutil.rmtree(place)
    theirs.append(before, [1] * len(before), collected(";", *[9] * len(before)))
    assert separators() == [";"], "of the same version"
    with pytest.raises(StoreError, match="created anew meanwhile, in another way"):
        ours.append([FileKey("c", 3, 3)], [1], collected(",", 3))
    assert separators() == [";"]
    shutil.rmtree(place)
    theirs = DeltaStore(f"file:{place}")
    theirs.append(before, [1] * len(before), collected("|", *[9] * len(before)))
    theirs.append([FileKey("b", 2, 2)], [1], collected("|", 7))
    assert separators() == ["|"]
    ours.append([FileKey("c", 3, 3)], [1], collected("|", 3))
    snapshot = theirs.snapshot()
    assert snapshot is not None
    assert {file.path for file in snapshot.files} == {*(file.path for file in before), "b", "c"}
