"""The twenty-sixth reading: one index taken for another of the same table, and one reader's refresh for another's."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from deltalake import DeltaTable
from pyspark.errors import PySparkException

from data_skip import DataSkipError, MinMax
from data_skip.planning.callback import _last_snapshot
from data_skip.planning.catalog import places_of
from data_skip.store import DeltaStore, StoreError, opened
from data_skip.store.delta import rows_of
from data_skip.store.layout import keys_of
from tests.support import Lake
from tests.test_store import column, key, records


def files(store: Any) -> set[str]:
    snapshot = store.snapshot()
    return {file.path for file in snapshot.files} if snapshot else set()


def test_an_index_of_an_earlier_time_is_not_taken_for_one_that_cannot_be_read(tmp_path: Path) -> None:
    """`snapshot` left out the files that it lacks; what was committed to it was there no more, once the other one could be read again."""
    root = f"file:{tmp_path}"
    now, earlier = places_of(root, None, None)._stores
    earlier.append([key("a")], [1], {column("x"): records(1)})
    for name in "ab":
        now.append([key(name)], [1], {column("x"): records(1)})
    damage = Path(now.location) / "_delta_log" / f"{9:020}.checkpoint.{1:010}.{2:010}.parquet"
    damage.write_text("another's")
    found = places_of(root, None, None)
    with pytest.raises(StoreError, match="cannot be read"):
        found.snapshot()
    with pytest.raises(StoreError, match="cannot be read"):
        found.append_as_of(lambda _: rows_of(keys_of([key("c")]), [1], {column("x"): records(1)}))
    assert files(earlier) == {"a"}
    damage.unlink()
    assert files(found) == {"a", "b"}


def test_an_index_that_is_put_back_while_it_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Up to the same version, with other files: what had been opened was taken for it, until the next commit."""
    store = DeltaStore(f"file:{tmp_path}/.data_skip/_/_/_")
    store.append([key("a")], [1], {column("x"): records(1)})
    log, turns = Path(store.location) / "_delta_log", [1]
    shutil.copytree(log, tmp_path / "copy")
    store.append([key("b")], [1], {column("x"): records(1)})

    def replaced(*asked: Any, **options: Any) -> DeltaTable:
        table = DeltaTable(*asked, **options)
        if turns:
            turns.clear()
            shutil.rmtree(log)
            shutil.copytree(tmp_path / "copy", log)
            DeltaStore(store.uri).append([key("c")], [1], {column("x"): records(1)})
        return table

    monkeypatch.setattr(opened, "DeltaTable", replaced)
    reader = DeltaStore(store.uri)
    assert files(reader) == {"a", "b"}
    assert files(reader) == {"a", "c"}


def test_an_index_of_an_earlier_data_skip_is_no_listing_for_a_query_either() -> None:
    """Which was refused when the table was read, and not when such an index had come into its place since."""
    catalog, java = Mock(bounded={}), Mock()
    catalog.store.return_value.snapshot.return_value = Mock(
        is_listing=False, definitions={"x": Mock(reader={"options": {}, "session": {}})}, id="id", version=1
    )
    said = _last_snapshot("file:/t\nsnapshot\n", java, catalog)
    assert said is not None
    assert said.startswith("\nan earlier data-skip")
    java.know.assert_not_called()


def test_who_cannot_refresh_an_index_keeps_nobody_else_from_it(lake: Lake) -> None:
    """The first who asked for a contract refreshed the index for all, also where it was read in a way in which it was not collected."""
    (lake.folder / "a.csv").write_text("1,2\n3,4\n")
    table = lake.table(format="csv", schema="x INT, y INT")
    table.create_index(MinMax("x"))
    with pytest.raises((DataSkipError, PySparkException), match="cannot be refreshed"):
        lake.table(format="csv", schema="x STRING, y INT").read("bounded(60)")
    (lake.folder / "b.csv").write_text("5,6\n")
    assert sorted(row.x for row in table.read("bounded(60)").collect()) == [1, 3, 5]
