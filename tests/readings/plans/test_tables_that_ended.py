"""What a process that runs for weeks keeps of the tables that it asks for: of those that were asked for last."""

from __future__ import annotations

import gc
from pathlib import Path
from weakref import ref

import pytest

from data_skip.planning import catalog as catalogs
from data_skip.planning.catalog import Catalog


def test_of_tables_those_are_kept_that_were_asked_for_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogs, "MOST_STORES", 3)
    catalog = Catalog(None)
    held = catalog.store(f"file:{tmp_path}/0")
    others = [ref(catalog.store(f"file:{tmp_path}/{i}")) for i in range(1, 10)]
    gc.collect()
    assert [other() is not None for other in others] == [False] * 6 + [True] * 3
    assert catalog.store(f"file:{tmp_path}/0") is held, "a table that somebody holds is asked of by what it writes with"


def test_of_one_query_all_tables_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a query of many partitions by their paths would look for each anew."""
    monkeypatch.setattr(catalogs, "MOST_STORES", 3)
    catalog, roots = Catalog(None), [f"file:{tmp_path}/t/p={i}" for i in range(20)]
    catalog.find(roots)
    first = [ref(catalog.store(root)) for root in roots]
    gc.collect()
    catalog.find(roots)
    assert [catalog.store(root) for root in roots] == [one() for one in first]
