"""Stores of indexes with no commits, one, or three."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from data_skip import Table
from data_skip.planning.catalog import Catalog
from data_skip.spark.object_stores import ObjectStores
from data_skip.store import DeltaStore
from tests.support import Lake
from tests.test_store import column, key, records


@pytest.fixture
def store_of_one(tmp_path: Path) -> DeltaStore:
    made = DeltaStore(f"file:{tmp_path}/.data_skip/_/_/_")
    made.append([key("a")], [1], {column("x"): records(1)})
    return made


def another(lake: Lake, **read: Any) -> Table:
    """The table, as another session knows it."""
    catalog = Catalog(None, ObjectStores(lake.spark))
    return Table.open(
        lake.spark, lake.skipping.jvm, catalog, str(lake.folder), read.get("format"), read.get("schema"), read.get("options", {})
    )


@pytest.fixture
def store_of_three(tmp_path: Path) -> DeltaStore:
    made = DeltaStore(f"file:{tmp_path}/.data_skip/_/_/_")
    for name in "abc":
        made.append([key(name)], [1], {column("x"): records(1)})
    return made


READER_OF_CSV: dict[str, Any] = {"format": "csv", "options": {}, "columns": [], "session": {}}


@pytest.fixture
def empty_store(tmp_path: Path) -> DeltaStore:
    return DeltaStore(f"file:{tmp_path}/index")


@pytest.fixture
def store_that_was_read(tmp_path: Path) -> DeltaStore:
    """An index of three commits with records, which was looked at."""
    made = DeltaStore(f"file:{tmp_path}/.data_skip/_/_/_")
    for name in "abc":
        made.append([key(name)], [1], {column("x"): records(1)})
    assert made.snapshot() is not None
    return made


def log_of(store: DeltaStore, version: int) -> Path:
    return Path(store.location) / "_delta_log" / f"{version:020}.json"
