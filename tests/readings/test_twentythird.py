"""What the twenty-third reading found false."""

from __future__ import annotations

import io
import os
import shutil
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from data_skip.store import FileKey
from data_skip.store.sizes import refuse_large
from tests.test_security import DEEP, Forged, forged

__all__ = ["forged"]  # a fixture


@pytest.mark.parametrize("name", ["99999999999999999999", "٩" * 20, "00000000000000000001", "09999999999999999999"])
def test_a_checkpoint_that_deltalake_takes_for_none_hides_no_commits(forged: Forged, name: str) -> None:
    """Commits before it were not looked at, and deltalake read them: the process ended."""
    log = forged.log / f"{1:020}.json"
    log.write_text(f'{log.read_text()}\n{{"add":{{"path":"a","stats":{DEEP}}}}}')
    (forged.log / f"{name}.checkpoint.parquet").write_bytes(b"" if name.startswith("0000") else b"x" * 100)
    forged.refused(r"nested more than|its log Parquet")


def test_an_empty_checkpoint_does_no_harm(forged: Forged) -> None:
    """As of a machine that lost its power."""
    (forged.log / f"{1:020}.checkpoint.parquet").touch()
    assert forged.read() is not None


@pytest.mark.parametrize("where", ["elsewhere", "up", "file:", "inside"])
def test_checkpoints_that_name_further_files(forged: Forged, where: str) -> None:
    """deltalake reads what a checkpoint calls its sidecars, wherever they lie, and however large they are."""
    forged.add(FileKey("b", 10, 1))
    DeltaTable(forged.store.location).create_checkpoint()
    assert forged.read() is not None
    path = next(forged.log.glob("*.checkpoint.parquet"))
    rows = pq.read_table(path)
    actions = rows.to_pylist()
    elsewhere = forged.place.parents[4] / "elsewhere.parquet"
    adds = [{"add": action["add"]} for action in actions if action["add"]]
    pq.write_table(pa.Table.from_pylist(adds, pa.schema([rows.schema.field("add")])), elsewhere)
    sidecars = forged.log / "_sidecars"
    sidecars.mkdir()
    shutil.copy(elsewhere, sidecars / "a.parquet")
    up = os.path.relpath(elsewhere, sidecars)
    named = {"elsewhere": str(elsewhere), "up": up, "file:": f"file://{elsewhere}", "inside": "a.parquet"}
    sidecar = {"path": named[where], "sizeInBytes": elsewhere.stat().st_size, "modificationTime": 0, "tags": None}
    others = [action for action in actions if not action["add"]]
    pq.write_table(pa.Table.from_pylist([*others, {"sidecar": sidecar}], rows.schema), path)
    for commit in forged.log.glob("*.json"):
        commit.unlink()
    assert len(DeltaTable(forged.store.location).file_uris()) == 2
    forged.refused("names further files")


@pytest.mark.parametrize("name", ["a", "a.b", "a.b.c", ".a"])
def test_a_name_with_dots_takes_what_it_takes(name: str) -> None:
    """It was taken for another column, which nobody asked for."""
    text = pa.DictionaryArray.from_arrays(pa.array([0] * 1000, pa.int32()), pa.array(["x" * 100_000]))
    file = io.BytesIO()
    pq.write_table(pa.table({name: pa.StructArray.from_arrays([text], names=["min"]), "other": [1] * 1000}), file)
    source: Any = pa.BufferReader(file.getvalue())
    assert refuse_large(source, [name], 1 << 40) >= 100_000_000
    with pytest.raises(ValueError, match="of memory"):
        refuse_large(source, [name], 1 << 20)
    assert refuse_large(source, ["other"], 1 << 20) < 1 << 20
