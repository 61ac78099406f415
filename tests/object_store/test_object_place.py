"""What an index on an object store is asked, and how often; the store is a folder here, and Spark a stub."""

from __future__ import annotations

import math
import shutil
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from data_skip.planning.catalog import Catalog
from data_skip.store import FileKey, StoreError, opened
from data_skip.store.definition import Definition
from data_skip.store.delta import DeltaStore
from data_skip.store.layout import definition_field
from data_skip.store.memory import MEMORY

RECORD = pa.struct({"min": pa.int64()})
READER = {"format": "parquet", "options": {}, "columns": [], "session": {}}
FIELD = definition_field("min_max__x", RECORD, Definition("MinMax", ("x",), {}, 1, (), READER))


class Spark:
    """Notes what it is asked."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.held: list[str] = []
        self.told_apart: list[str] = []
        self.overrides = {"aws_secret_access_key": "the/secret"}

    def told(self, uri: str, keys: Iterable[str], secrets: Iterable[str]) -> Mapping[str, Any]:
        return {"set": {}, "overrides": self.overrides}

    def holds(self, uri: str) -> bool:
        self.held.append(uri.rsplit("/", 1)[1])
        return (self.folder / "_delta_log" / self.held[-1]).exists()

    def identity(self, uri: str) -> str | None:
        self.told_apart.append(uri.rsplit("/", 1)[1])
        commit = self.folder / "_delta_log" / self.told_apart[-1]
        return str(commit.stat().st_ino) if commit.exists() else None

    def listed(self, uri: str) -> list[tuple[str, int, str]]:
        found = (self.folder / "_delta_log").glob("*")
        return [(path.name, path.stat().st_size, str(path.stat().st_ino)) for path in found if path.is_file()]

    def contents(self, uri: str, files: Sequence[tuple[str, int]]) -> list[bytes]:
        return [(self.folder / "_delta_log" / name).read_bytes()[:size] for name, size in files]

    def delete(self, uri: str, names: Sequence[str]) -> None:
        for name in names:
            (self.folder / name).unlink()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [1000.0]
    monkeypatch.setattr("data_skip.store.object_place.now", lambda: now[0])
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
    assert files(store, believed=2.0) == {"a"}  # what it said is true, and somebody may be about to make it anew
    clock[0] += 3
    assert files(store, believed=2.0) == {"a"}
    clock[0] += 61
    assert files(store, believed=2.0) == set()
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

    monkeypatch.setattr("data_skip.store.opened.DeltaTable", refuse)
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


def test_one_more_question_tells_whether_the_last_version_is_another_one(spark: Spark, clock: list[float]) -> None:
    store = DeltaStore("s3://elsewhere", spark)
    append(store, "a")
    assert files(store) == {"a"}
    spark.told_apart.clear()
    assert files(store) == files(store, believed=2.0) == {"a"}
    assert spark.told_apart == ["00000000000000000001.json"]
    folder = spark.folder.rename(spark.folder.with_name("before"))
    append(DeltaStore("s3://elsewhere", spark), "b")
    assert folder.is_dir()  # so that no number of a file is used again
    assert files(store, believed=2.0) == {"a"}
    assert files(store) == {"b"}
    assert files(store, believed=2.0) == {"b"}


def test_an_index_that_was_made_anew_while_it_was_opened_is_told_apart(
    spark: Spark, clock: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    store = DeltaStore("s3://elsewhere", spark)
    append(store, "a")
    store.look_again()
    table = opened.DeltaTable

    def opens(*arguments: Any, **options: Any) -> Any:
        monkeypatch.setattr(opened, "DeltaTable", table)
        found = table(*arguments, **options)
        spark.folder.rename(spark.folder.with_name("before"))
        append(DeltaStore("s3://elsewhere", spark), "b")
        return found

    first = store.snapshot()
    assert first is not None
    store._place._looked_at = -math.inf
    monkeypatch.setattr(opened, "DeltaTable", opens)
    assert store.snapshot() is first
    assert files(store) == {"b"}


def test_an_answer_that_somebody_else_waits_for_is_no_older_than_what_is_believed(
    spark: Spark, clock: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    store = DeltaStore("s3://elsewhere", spark)
    append(store, "a")
    store.look_again()
    answering, asked = threading.Event(), []

    def told(*_: object) -> Mapping[str, Any]:
        asked.append(threading.current_thread())
        answering.wait(60)
        return {"set": {}, "overrides": {}}

    monkeypatch.setattr(spark, "told", told)
    asking = [threading.Thread(target=lambda: store.snapshot(10.0, until=time.perf_counter() + 60))]
    asking[0].start()
    while (first := store._asked) is None or not asked:
        time.sleep(0.01)
    assert [first.answers(believed) for believed in (0.0, 5.0, 10.0, math.inf)] == [False, False, True, True]
    clock[0] += 11
    assert [first.answers(believed) for believed in (10.0, 20.0)] == [False, True]
    asking.append(threading.Thread(target=lambda: store.snapshot(0.0, until=time.perf_counter() + 60)))
    asking[1].start()
    while store._asked is first:
        time.sleep(0.01)
    answering.set()
    for thread in asking:
        thread.join(60)
    assert not first.answers(math.inf)  # it is known
    assert store._asked is None


def test_where_hadoop_may_not_look_it_is_not_asked(spark: Spark, clock: list[float]) -> None:
    spark.overrides = {"aws_endpoint": "https://elsewhere"}
    store = DeltaStore("s3://elsewhere", spark)
    append(store, "a")
    assert files(store) == {"a"}
    append(DeltaStore("s3://elsewhere", spark), "b")
    clock[0] += 3
    assert files(store, believed=2.0) == {"a", "b"}
    assert spark.held == spark.told_apart == []


def test_an_answer_is_waited_for_until_a_moment(spark: Spark, monkeypatch: pytest.MonkeyPatch) -> None:
    store = DeltaStore("s3://elsewhere", spark)
    append(store, "a")
    store.look_again()
    answering, asked = threading.Event(), []

    def told(*_: object) -> Mapping[str, Any]:
        asked.append(threading.current_thread())
        answering.wait(60)
        return {"set": {}, "overrides": {}}

    monkeypatch.setattr(spark, "told", told)
    start = time.perf_counter()
    for wait in (0.2, 60.0):  # what somebody has waited for in vain, nobody waits for
        with pytest.raises(StoreError, match="in the time in which files are chosen"):
            store.snapshot(until=time.perf_counter() + wait)
    assert time.perf_counter() - start < 30
    assert len(asked) == 1
    answering.set()
    asked[0].join(60)
    found = store.snapshot(10.0, until=time.perf_counter() - 1)  # it is known by now
    assert found is not None
    assert {key.path for key in found.files} == {"a"}
    assert len(asked) == 1


def test_records_are_waited_for_until_a_moment(spark: Spark, monkeypatch: pytest.MonkeyPatch) -> None:
    store = DeltaStore("s3://elsewhere", spark)
    append(store, "a")
    found = store.snapshot()
    assert found is not None
    answering, read, reads = threading.Event(), found._read_records, []

    def late(columns: list[str]) -> dict[str, pa.StructArray]:
        reads.append(threading.current_thread())
        answering.wait(60)
        return read(columns)

    monkeypatch.setattr(found, "_read_records", late)
    for wait in (0.2, 60.0):
        with pytest.raises(StoreError, match="have not come in the time in which files are chosen"):
            found.records(["min_max__x"], 1 << 20, time.perf_counter() + wait)
    answering.set()
    reads[0].join(60)
    assert (found.id, "min_max__x") in MEMORY._held  # what came late is counted as what came in time
    assert found.records(["min_max__x"], 1 << 20, time.perf_counter() - 1)["min_max__x"].to_pylist() == [{"min": 1}]
    assert len(reads) == 1


@pytest.mark.parametrize(
    ("index_root", "expected"),
    [
        ("s3a://lake/my indexes", "s3a://lake/my%20indexes/"),
        ("s3a://lake/a#1?b", "s3a://lake/a%231%3Fb/"),
        ("gs://lake//ü/[x]+&=:/", "gs://lake/ü/%5Bx%5D+&=:/"),
        ("abfss://box@account.dfs.core.windows.net/50%", "abfss://box@account.dfs.core.windows.net/50%25/"),
        ("s3://lake", "s3://lake/"),
        ("s3://lake/", "s3://lake/"),
        ("/lake/a #b", "/lake/a #b/"),
        ("file:///lake/a%20b", "file:///lake/a%20b/"),
    ],
)
def test_a_root_of_indexes_is_written_as_a_path(index_root: str, expected: str) -> None:
    assert Catalog(index_root).store("s3a://lake/t").uri.startswith(f"{expected}s3a_lake_t-")


def test_where_hadoop_cannot_tell_all_is_looked_at(spark: Spark, clock: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    store = DeltaStore("s3://elsewhere", spark)
    append(store, "a")
    assert files(store) == {"a"}
    append(DeltaStore("s3://elsewhere", spark), "b")
    monkeypatch.setattr(spark, "holds", lambda uri: None)
    clock[0] += 3
    assert files(store, believed=2.0) == {"a", "b"}


def test_an_index_is_opened_anew_by_other_credentials(spark: Spark, clock: list[float]) -> None:
    store = DeltaStore("s3://elsewhere", spark)
    append(store, "a")
    first = store.snapshot(believed=1000.0)
    clock[0] += 61
    assert store.snapshot(believed=1000.0) is first
    spark.overrides = {"aws_secret_access_key": "the next"}
    clock[0] += 61
    assert store.snapshot(believed=1000.0) is not first


def test_a_place_that_deltalake_misreads_is_not_asked(tmp_path: Path) -> None:
    spark = Spark(tmp_path)
    spark.told = None  # type: ignore[assignment]
    assert DeltaStore("s3a://lake/a%2520b/.data_skip", spark).snapshot() is None
    with pytest.raises(TypeError):
        DeltaStore("s3a://lake/a%20b/.data_skip", spark).snapshot()
