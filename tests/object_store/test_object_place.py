"""What an index on an object store is asked, and how often; the store is a folder here, and Spark a stub."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from data_skip.store import FileKey, StoreError
from data_skip.store.definition import Definition
from data_skip.store.delta import DeltaStore
from data_skip.store.snapshot import definition_field

RECORD = pa.struct({"min": pa.int64()})
READER = {"format": "parquet", "options": {}, "columns": [], "session": {}}
FIELD = definition_field("min_max__x", RECORD, Definition("MinMax", ("x",), {}, 1, (), READER))


class Spark:
    """Notes what it is asked."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.held: list[str] = []
        self.overrides = {"aws_secret_access_key": "the/secret"}

    def told(self, uri: str, keys: Iterable[str], secrets: Iterable[str]) -> Mapping[str, Any]:
        return {"set": {}, "overrides": self.overrides}

    def holds(self, uri: str) -> bool:
        self.held.append(uri.rsplit("/", 1)[1])
        return (self.folder / "_delta_log" / self.held[-1]).exists()

    def listed(self, uri: str) -> list[tuple[str, int, int]]:
        found = (self.folder / "_delta_log").glob("*")
        return [(path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in found if path.is_file()]

    def contents(self, uri: str, files: Sequence[tuple[str, int]]) -> list[bytes]:
        return [(self.folder / "_delta_log" / name).read_bytes()[:size] for name, size in files]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [1000.0]
    monkeypatch.setattr("data_skip.store.object_place.time.monotonic", lambda: now[0])
    return now


@pytest.fixture
def spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Spark:
    monkeypatch.setattr(DeltaStore, "location", f"file://{tmp_path}/index")
    return Spark(tmp_path / "index")


def append(store: DeltaStore, name: str) -> None:
    store.append([FileKey(name, 1, 1)], [1], {FIELD: pa.array([{"min": 1}], RECORD)})


def files(store: DeltaStore, believed: float = 0.0) -> set[str]:
    snapshot = store.snapshot(believed)
    return {key.path for key in snapshot.files} if snapshot else set()


def test_one_question_tells_whether_there_is_a_later_version(spark: Spark, clock: list[float]) -> None:
    store, other = DeltaStore("s3://elsewhere", spark), DeltaStore("s3://elsewhere", spark)
    append(store, "a")
    assert files(store) == files(other) == {"a"}
    first = store.snapshot()
    spark.held.clear()
    assert store.snapshot() is first
    assert spark.held == ["00000000000000000002.json"]
    assert store.snapshot(believed=2.0) is first
    clock[0] += 3
    assert store.snapshot(believed=2.0) is first
    assert len(spark.held) == 2

    append(other, "b")
    assert files(other, believed=2.0) == {"a", "b"}  # who writes does not believe what was before
    assert files(store) == {"a", "b"}


def test_an_index_that_was_made_anew_is_seen_after_a_minute(spark: Spark, clock: list[float]) -> None:
    store = DeltaStore("s3://elsewhere", spark)
    append(store, "a")
    assert files(store) == {"a"}
    shutil.rmtree(spark.folder)
    assert files(store) == {"a"}  # what it said is true, and somebody may be about to make it anew
    clock[0] += 61
    assert files(store) == set()
    append(DeltaStore("s3://elsewhere", spark), "b")
    assert files(store) == set()
    clock[0] += 31
    assert files(store) == {"b"}
    shutil.rmtree(spark.folder)
    store.look_again()
    assert files(store) == set()


def test_what_cannot_be_read_is_not_asked_at_once_again(spark: Spark, clock: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []

    def refuse(*_: object, **options: Any) -> None:
        opened.append(options["storage_options"]["aws_secret_access_key"])
        raise OSError("403 \x1b[31m\u21b3\x1b[0m\n signed by the%2Fsecret, the/secret")

    monkeypatch.setattr("data_skip.store.delta.DeltaTable", refuse)
    store = DeltaStore("s3://elsewhere", spark)
    for _ in range(3):
        with pytest.raises(StoreError, match=r"\(403 signed by \*\*\*, \*\*\*\); it is read with Spark's .* index_root") as raised:
            store.snapshot()
        assert raised.value.__cause__ is None
        assert raised.value.__suppress_context__ or raised.value.__context__ is None
    assert opened == ["the/secret"]
    spark.overrides = {"aws_secret_access_key": "the next"}
    clock[0] += 61
    with pytest.raises(StoreError):
        store.snapshot()
    assert opened == ["the/secret", "the next"]
    with pytest.raises(StoreError, match="cannot be"):
        append(store, "a")
