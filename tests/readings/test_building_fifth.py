"""Building, read a fifth time: each test is a recipe that once lost rows, or made an index lie."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from data_skip import DataSkipError, ValueList
from data_skip.building import binding
from data_skip.store import FileKey, StoreError
from data_skip.store.definition import Definition
from data_skip.store.delta import DeltaStore, definition_field
from tests.support import Lake

RECORD = pa.struct([("min", pa.int64())])


def test_csv_that_goes_back_to_a_delimiter_depends_on_the_columns_that_are_read(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """univocity looks for the delimiter in what it kept of a column's text, and of one that is not asked for it keeps none."""
    lake.text("a.csv", '287,"\',,"#1 1"\n')
    lake.text("b.csv", "5,u,v,w\n")
    reader: dict[str, Any] = {"format": "csv", "schema": "id int, a string, b string, c string"}
    options = {"unescapedQuoteHandling": "back_to_delimiter"}
    with pytest.raises(DataSkipError, match="columnPruning=false"):
        lake.index(ValueList("c"), options=options, **reader)
    for whole in ({"columnPruning": "False"}, {"multiLine": "true"}):
        table = lake.index(ValueList("c"), options=options | whole, **reader)
        lake.view(**reader, **options, **whole)
        lake.query("SELECT id, c FROM t WHERE c = '#1 1'", read=["a.csv"])
        table.drop_index(ValueList("c"))
    with monkeypatch.context() as patch:  # as data-skip collected before
        patch.setattr(binding, "unsure", lambda reader: "")
        lake.index(ValueList("c"), options=options, **reader)
    lake.view(**reader, **options)
    assert lake.spark.sql("SELECT id, c FROM t WHERE c IS NULL").count() == 1, "the recipe shows nothing"
    lake.query("SELECT id, c FROM t WHERE c IS NULL", read=["a.csv", "b.csv"])


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
