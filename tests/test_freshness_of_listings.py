"""A DataFrame, view or catalog table keeps its listing; files that change after it was made are read all the same."""

from __future__ import annotations

import os

from data_skip import MinMax
from tests.support import Lake, aged


def test_file_rewritten_in_place_after_the_listing_is_read(lake: Lake) -> None:
    lake.file("a.parquet", {"x": [1, 2]})
    lake.file("b.parquet", {"x": [100, 200]})
    lake.index(MinMax("x"))
    lake.view()  # lists the files now
    lake.check("x > 50", read=["b.parquet"])
    lake.file("a.parquet", {"x": [70, 2]})  # the view does not know
    lake.check("x > 50", read=["a.parquet", "b.parquet"])


def test_file_touched_after_the_listing_is_read_until_refresh(lake: Lake) -> None:
    path = lake.file("a.parquet", {"x": [1, 2]})
    lake.file("b.parquet", {"x": [100, 200]})
    table = lake.index(MinMax("x"))
    lake.view()
    os.utime(path, (1_000_000_000.5, 1_000_000_000.5))  # older than its record
    lake.check("x > 50", read=["a.parquet", "b.parquet"])
    table.refresh()
    lake.view()
    lake.check("x > 50", read=["b.parquet"])


def test_restored_file_is_skipped_again(lake: Lake) -> None:
    path = lake.file("a.parquet", {"x": [1, 2]})
    before = path.read_bytes(), path.stat().st_mtime
    lake.file("b.parquet", {"x": [100, 200]})
    lake.index(MinMax("x"))
    lake.view()
    lake.file("a.parquet", {"x": [70, 2]})
    path.write_bytes(before[0])
    os.utime(path, (before[1], before[1]))
    lake.check("x > 50", read=["b.parquet"])
    aged(path, seconds=7200)
    lake.check("x > 50", read=["a.parquet", "b.parquet"])
