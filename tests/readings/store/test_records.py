"""Which records an index has, and how they are read: of earlier versions, without some fields, of other rows than a footer says."""

from __future__ import annotations

import math
import re
import shutil
import tracemalloc
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import fs

from data_skip import DataSkipWarning, MinMax, ValueList
from data_skip.clause import Field
from data_skip.planning.catalog import Catalog
from data_skip.planning.deadline import Deadline
from data_skip.planning.in_parts import part_by_part
from data_skip.store import DeltaStore, StoreError, parts, paths, snapshot
from data_skip.store import reader as store_reader
from data_skip.store.row_groups import RowGroups
from data_skip.table import Table
from tests.readings.store.support import READER_OF_CSV, empty_store
from tests.support import Lake
from tests.test_added import append, files, read
from tests.test_store import column, key, records, store

__all__ = ["empty_store", "store"]  # fixtures
CSV_OF_TEXTS: dict[str, Any] = {"format": "csv", "schema": "x STRING, s STRING"}


def test_an_index_that_an_earlier_data_skip_declared_in_other_words(lake: Lake) -> None:
    """Delta merges no column with another text about it."""
    lake.file("a.parquet", {"x": [1]})
    table = lake.index(MinMax("x"))
    for commit in Path(table.describe().location, "_delta_log").glob("*.json"):
        commit.write_text(commit.read_text().replace('\\\\\\"session\\\\\\"', '\\\\\\"settings\\\\\\"'))
    lake.skipping.catalog._stores.clear()
    lake.file("b.parquet", {"x": [100]})
    table = lake.table()
    snapshot = table._store.snapshot()
    assert snapshot is not None and b"settings" in str(snapshot.fields["min_max__x"].metadata).encode()
    assert table.refresh().files_collected == 1
    table.create_index(ValueList("x"))
    table.drop_index(ValueList("x"))
    lake.view()
    lake.check("x > 50", read=["b.parquet"])


def test_a_refresh_of_indexes_of_which_the_session_knows_none(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    lake.lines("a.csv", "k,l")
    table = lake.index(ValueList("x"), **CSV_OF_TEXTS)
    lake.lines("b.csv", "m,n")
    monkeypatch.delitem(lake.skipping.catalog.knowledge.kinds, "ValueList")
    with pytest.warns(DataSkipWarning, match="ValueList"):
        assert table.refresh().indexes == []
    assert table.metadata().count() == 1


def test_a_refresh_that_finds_nothing_new_commits_nothing(lake: Lake) -> None:
    lake.file("a.parquet", {"x": [1]})
    table = lake.index(MinMax("x"))
    version = table.describe().version
    assert table.refresh().files_current == 1 and table.describe().version == version


def test_records_that_are_gone_are_an_error_of_the_index(empty_store: DeltaStore) -> None:
    empty_store.append([key("a")], [1], {column("x", READER_OF_CSV): records(1)})
    snapshot = empty_store.snapshot()
    assert snapshot is not None
    for part in Path(empty_store.location).glob("*.parquet"):
        part.unlink()
    with pytest.raises(StoreError, match=r"cannot be read.*delete the folder"):
        snapshot.records(["x"])


def test_a_table_sees_what_others_did_on_object_storage(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Queries may believe for a while what was seen there; `Table` looks at the index as it is."""
    monkeypatch.setattr(DeltaStore, "location", property(lambda self: "file://" + self.uri.removeprefix("file:")))
    lake.file("a.parquet", {"x": [1]})
    table = lake.table()
    assert table.describe().version is None
    other = Table(lake.spark, lake.skipping.jvm, Catalog(None), table._source, table.root)
    other.create_index(MinMax("x"))
    other.drop_index(MinMax("x"))
    other.create_index(MinMax("x"))
    assert table.refresh().files_current == 1
    shutil.rmtree(lake.folder / ".data_skip")
    assert table.describe().version is None
    other.create_index(MinMax("x"))
    assert table.describe().version == 1 and table.describe().files_indexed == 1
    table.drop_index(MinMax("x"))
    assert other.describe().rows == []


def test_an_index_is_read_by_no_objects_of_python(empty_store: DeltaStore) -> None:
    """Threads of Arrow give those back after a read: a process that ended meanwhile was aborted, of deltalake's one in two."""
    empty_store.append([key("a")], [1], {column("x", READER_OF_CSV): records(1)})
    snapshot = empty_store.snapshot()
    assert snapshot is not None and isinstance(snapshot._dataset.filesystem, fs.SubTreeFileSystem)


def test_paths_are_looked_through_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of very many files are one array, mapped from a file: what is made of them meanwhile would take as much memory again."""
    monkeypatch.setattr(paths, "_ROWS", 1000)
    names = pa.chunked_array([pa.array([f"date=2024-01-{i % 28}/part-{i:050}" for i in range(50_000)], pa.large_string())])
    letters = paths.Letters.of(names.chunk(0))
    assert letters.slash
    tracemalloc.start()
    try:
        paths.refuse_paths(names, letters)
        assert tracemalloc.get_traced_memory()[1] < names.nbytes // 10
    finally:
        tracemalloc.stop()
    for place in (999, 1000, 49_999):
        wrong = pa.chunked_array([pa.concat_arrays([names.chunk(0)[:place], pa.array(["a/../b"], pa.large_string())])])
        with pytest.raises(ValueError, match="no path below the root"):
            paths.refuse_paths(wrong, letters)


def test_a_footer_that_tells_of_other_rows_than_there_are(store: DeltaStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """As of a disk that forgets a bit. Arrow reads what there is; the rows after it would be taken for those of the next file versions."""
    monkeypatch.setattr(parts, "LEAST_PART", 1)
    append(store, range(77))
    (damaged,) = Path(store.location).glob("*.parquet")
    append(store, range(77, 90))
    wanted = Field("x", "min", "") > 50
    truth = {file for file in read(store).files if int(file.path.rpartition("/")[2]) > 50}
    whole, told = damaged.read_bytes(), pq.read_metadata(damaged)
    start = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    of_rows = 0
    for place in (match.start() for match in re.finditer(rb"\x9a\x01", whole) if match.start() > start):  # 77, as Thrift has it
        for more in (b"\x9c\x01", b"\x98\x01"):
            damaged.write_bytes(whole[:place] + more + whole[place + 2 :])
            now = pq.read_metadata(damaged)
            of_rows += now.num_rows != told.num_rows or now.row_group(0).num_rows != 77
            for most in (0, 1 << 20):
                with suppress(StoreError):
                    snapshot = read(DeltaStore(store.uri))
                    columns = snapshot.records(["x"]) if most else {}
                    found = part_by_part(wanted, snapshot, columns, np.ones(snapshot.count, dtype=bool), most, Deadline(math.inf))
                    assert truth <= {file for file, may_match in zip(snapshot.files, found, strict=True) if may_match}
    assert of_rows == 4


def test_which_records_there_are_is_told_by_one_field(store: DeltaStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """A refresh asks for that, and read the whole index: of one that takes more than half of the memory it failed."""
    type_ = pa.struct([("values", pa.list_(pa.string())), ("nulls", pa.int64()), ("text", pa.string())])
    of = {name: column(name).with_type(type_) for name in "xy"}
    some = [None, {}, {"values": ["a" * 99]}, {"values": [], "nulls": 1, "text": "b" * 99}, {"text": "c" * 99}]
    for i, name in enumerate("xxyxy"):
        records = [some[(i * j) % 5] for j in range(40)]
        store.append(files(*range(i * 9, i * 9 + 40)), [1] * 40, {of[name]: pa.array(records, type_)})
    whole = read(DeltaStore(store.uri))
    expected = {of: whole.collected(of).tolist() for of in ("x", "y", "xy")}
    assert len({*map(tuple, expected.values())}) == 3 and 0 < sum(expected["xy"]) < len(expected["xy"])
    monkeypatch.setattr(snapshot, "_READ_WHOLE", 0)
    asked: list[Sequence[str]] = []
    real = RowGroups.read

    def noted(self: RowGroups, groups: Sequence[int], column: str, fields: Sequence[str]) -> pa.ChunkedArray:
        asked.append(fields)
        return real(self, groups, column, fields)

    monkeypatch.setattr(RowGroups, "read", noted)
    found = read(DeltaStore(store.uri))
    assert {of: found.collected(of).tolist() for of in expected} == expected
    assert ["nulls"] in asked and {*map(len, asked)} == {1} and not found.keeps("x")


def test_of_a_field_that_a_file_lacks_nothing_is_told(store: DeltaStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """As of an index whose records have one more by now: it takes least, and all older files were collected anew by each refresh."""
    types = [pa.struct([("text", pa.string())]), pa.struct([("text", pa.string()), ("more", pa.int64())])]
    for i, type_ in enumerate(types):
        records = pa.array([{"text": "a"}, None, {"text": "b"}], type_)
        store.append(files(*range(3 * i, 3 * i + 3)), [1] * 3, {column("x").with_type(type_): records})
    expected = read(DeltaStore(store.uri)).collected("x").tolist()
    assert sum(expected) == 4
    monkeypatch.setattr(snapshot, "_READ_WHOLE", 0)
    assert read(DeltaStore(store.uri)).collected("x").tolist() == expected


def test_records_that_are_let_go_while_they_are_asked_for(lake: Lake) -> None:
    """Another query of another index may do that at any moment."""
    lake.file("0.parquet", {"x": [1], "s": ["s"]})
    snapshot = lake.index(MinMax("x"), ValueList("s"))._store.snapshot()
    assert snapshot is not None

    class Going(dict):  # type: ignore[type-arg]
        def __contains__(self, column: object) -> bool:
            there = super().__contains__(column)
            snapshot.let_go(str(column))
            return there

    expected = snapshot.records(snapshot.definitions, 1 << 30)
    snapshot._records = Going(snapshot._records)
    assert snapshot.records(snapshot.definitions, 1 << 30) == expected
    snapshot.companions.append(object())
    snapshot.let_go(MinMax("x").column)
    assert not snapshot.companions and not snapshot.keeps([MinMax("x").column])


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
