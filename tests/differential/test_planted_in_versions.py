"""The tests would notice that a record is taken for one of another version of its file, or of another way to read it."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from data_skip import MinMax
from tests.differential.planting import planted, planted_java
from tests.differential.truth import kept_files
from tests.support import Lake, aged, same_size


def other_size(path: Path, rows: pa.Table) -> None:
    """Another file with the same modification time."""
    moment = path.stat().st_mtime_ns
    pq.write_table(rows.replace_schema_metadata({"fill": "x" * 999}), path)
    os.utime(path, ns=(moment, moment))


def other_time(path: Path, rows: pa.Table) -> None:
    """Another file of the same size."""
    same_size(path, rows)
    aged(path, 1800)


def other_version(path: Path, rows: pa.Table) -> None:
    """Another file that looks the same."""
    moment = path.stat().st_mtime_ns
    same_size(path, rows)
    os.utime(path, ns=(moment, moment))


OLD, NEW = pa.table({"i": pa.array([*range(9)], pa.int32())}), pa.table({"i": pa.array([100], pa.int32())})
_HASH, _SIZE, _TIME = (
    "size * 31 + modificationTime",
    "size(slot) == size && ",
    "modificationTime(slot) == modificationTime && ",
)
JAVA: list[tuple[str, str, list[tuple[str, str]], Callable[[Path, pa.Table], None], bool]] = [
    (
        "identity without size",
        "KnownFiles",
        [(_HASH, "modificationTime"), (_SIZE, "")],
        other_size,
        False,
    ),
    (
        "identity without modification time",
        "KnownFiles",
        [(_HASH, "size"), (_TIME, "")],
        other_time,
        False,
    ),
    ("listed long ago, size ignored", "Freshness", [("now.size() == listed.getLen() && ", "")], other_size, True),
    (
        "listed long ago, modification time ignored",
        "Freshness",
        [(" && now.lastModifiedTime().toInstant().toEpochMilli() == listed.getModificationTime()", "")],
        other_time,
        True,
    ),
]


@pytest.mark.parametrize(("source", "lines", "change", "listed_before"), [pytest.param(*rest, id=name) for name, *rest in JAVA])
def test_a_bug_in_telling_versions_apart_is_noticed(
    source: str, lines: list[tuple[str, str]], change: Callable[[Path, pa.Table], None], listed_before: bool, lake: Lake, tmp_path: Path
) -> None:
    path = lake.file("a.parquet", OLD)
    lake.file("b.parquet", OLD)
    lake.index(MinMax("i"))
    with planted_java(lake.spark, {source: lines}, tmp_path) as (session, kept):
        frames = [spark.read.parquet(str(lake.folder)) for spark in (lake.spark, session)] if listed_before else []
        change(path, NEW)
        right, wrong = frames or [spark.read.parquet(str(lake.folder)) for spark in (lake.spark, session)]
        assert kept_files(lake.skipping, right, "i > 50")[:2] == ({"a.parquet"}, {"b.parquet"})
        assert "a.parquet" not in kept(wrong, "i > 50"), "the bug is not noticed"


@pytest.mark.parametrize(
    "bug", [None, ("return recent & (coarse | (now - _TICK <= times))", "return recent & False")], ids=["right", "wrong"]
)
def test_indexing_a_file_that_may_change_unseen_is_noticed(bug: tuple[str, str] | None, lake: Lake) -> None:
    path = lake.file("a.parquet", OLD)
    aged(path, -60)  # dated so that it may be written again and look the same
    with planted("data_skip.building.recent", *bug) if bug else nullcontext():
        lake.table().create_index(MinMax("i"))
    other_version(path, NEW)
    plan = kept_files(lake.skipping, lake.spark.read.parquet(str(lake.folder)), "i > 50")
    assert plan and ("a.parquet" in plan[1]) == (bug is not None)


@pytest.mark.parametrize("bug", [None, ("if old.get(key) != new.get(key):", "if False:")], ids=["right", "wrong"])
def test_using_records_that_another_reader_collected_is_noticed(bug: tuple[str, str] | None, lake: Lake) -> None:
    lake.text("a.csv", "1\n5\n")
    lake.index(MinMax("i"), format="csv", schema="i int")
    frame = lake.spark.read.schema("i int").option("nullValue", "5").csv(str(lake.folder))
    with planted("data_skip.store.reader", *bug) if bug else nullcontext():
        plan = kept_files(lake.skipping, frame, "i IS NULL")
    assert plan and ("a.csv" in plan[1]) == (bug is not None)
