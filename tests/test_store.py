"""The store alone: crashes, writers at once, drop and compaction beside them."""

from __future__ import annotations

import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake.exceptions import CommitFailedError

from data_skip.store import DeltaStore, FileKey, StoreError, delta
from data_skip.store.definition import Definition
from data_skip.store.layout import definition_field

READER = {"format": "parquet", "options": {}, "columns": [], "settings": {}}
RECORD = pa.struct({"min": pa.int64()})


def column(name: str, reader: dict[str, Any] = READER) -> pa.Field:
    tree = {"id": 0, "name": "AttributeReference", "type": "bigint", "column": name, "partition": False}
    return definition_field(name, RECORD, Definition("MinMax", (name,), {}, 1, (tree,), reader))


def records(*values: int | None) -> pa.Array:
    return pa.array([{"min": value} for value in values], RECORD)


def key(name: str, version: int = 1) -> FileKey:
    return FileKey(name, 10, version)


def known(store: DeltaStore) -> dict[str, dict[str, Any]]:
    snapshot = store.snapshot()
    assert snapshot is not None
    return {row.pop("path"): row for row in snapshot.to_arrow().to_pylist()}


@pytest.fixture
def store(tmp_path: Path) -> DeltaStore:
    return DeltaStore(f"file:{tmp_path}/_data_skip")


def test_append_drop_and_compact(store: DeltaStore) -> None:
    assert store.snapshot() is None
    store.append([key("a"), key("b")], [5, None], {column("x"): records(1, 2)})
    store.append([key("a"), key("b")], [5, 7], {column("y"): records(3, None)})
    store.append([key("a", 2)], [6], {column("x"): records(10), column("y"): records(30)})
    snapshot = store.snapshot()
    assert snapshot is not None and set(snapshot.definitions) == {"x", "y"}
    assert snapshot.files == [key("a"), key("b"), key("a", 2)] or set(snapshot.files) == {key("a"), key("b"), key("a", 2)}
    assert snapshot.collected(["x", "y"]).all()
    store.append([key("a")], [None], {column("x"): records(None)}, generations=[1])
    store.compact()
    after = known(store)
    assert after["a"] == {"size": 10, "modification_time": 2, "row_count": 6, "x": {"min": 10}, "y": {"min": 30}}
    assert after["b"]["x"] == {"min": 2} and after["b"]["y"] == {"min": None}
    store.drop("x")
    assert set(known(store)["a"]) == {"size", "modification_time", "row_count", "y"}
    # Without an index nobody knows what its rows were counted with.
    store.drop("y")
    snapshot = store.snapshot()
    assert snapshot is not None and snapshot.files == [] and not snapshot.definitions
    store.append([key("a", 2)], [1], {column("x"): records(4)})
    assert known(store)["a"]["row_count"] == 1


def test_crash_before_the_commit_leaves_the_last_snapshot(store: DeltaStore, monkeypatch: pytest.MonkeyPatch) -> None:
    store.append([key("a")], [1], {column("x"): records(1)})
    before = known(store)

    def crash(*_: Any, **__: Any) -> None:
        Path(store.location, "part-99999.parquet").write_bytes(b"half of a file")
        raise OSError("no space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(delta, "write_deltalake", crash)
        for write in (
            lambda: store.append([key("b")], [1], {column("x"): records(2)}),
            lambda: store.drop("x"),
            lambda: store.compact(),
        ):
            with pytest.raises(StoreError, match="no space"):
                write()
    for fresh in (store, DeltaStore(store.uri)):
        assert known(fresh) == before
    store.append([key("b")], [1], {column("x"): records(2)})
    assert set(known(store)) == {"a", "b"}


def test_crash_after_creation_leaves_an_index_without_indexes(store: DeltaStore, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(delta, "write_deltalake", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            store.append([key("a")], [1], {column("x"): records(1)})
    snapshot = DeltaStore(store.uri).snapshot()
    assert snapshot is not None and not snapshot.definitions and snapshot.files == []
    store.append([key("a")], [1], {column("x"): records(1)})
    assert known(store)["a"]["x"] == {"min": 1}


def test_temporary_log_files_of_a_crash_are_no_commit(store: DeltaStore) -> None:
    store.append([key("a")], [1], {column("x"): records(1)})
    log = Path(store.location, "_delta_log")
    (log / "_commit_1234.json.tmp").write_text("{")
    (log / "00000000000000000009.json.tmp").write_text("{")
    assert set(known(DeltaStore(store.uri))) == {"a"}


def test_writers_in_threads_lose_nothing(store: DeltaStore) -> None:
    """Eight stores, as eight sessions have them, that all begin with no index."""

    def write(i: int) -> None:
        DeltaStore(store.uri).append([key(f"f{i}")], [i], {column(f"c{i % 4}"): records(i)})

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(16)))
    found = known(store)
    assert set(found) == {f"f{i}" for i in range(16)}
    assert [found[f"f{i}"][f"c{i % 4}"] for i in range(16)] == [{"min": i} for i in range(16)]


def test_a_folder_in_which_another_writer_is_about_to_create_the_index_holds_none(store: DeltaStore) -> None:
    log = Path(store.location, "_delta_log")
    log.mkdir(parents=True)
    (log / "_commit_of_another.json.tmp").write_text("{}")
    assert store.snapshot() is None
    store.append([key("f")], [1], {column("c"): records(1)})
    assert set(known(store)) == {"f"}


def test_writers_in_processes_lose_nothing(store: DeltaStore) -> None:
    script = (
        "import sys; from tests.test_store import *\n"
        "i = int(sys.argv[2]); s = DeltaStore(sys.argv[1])\n"
        "for j in range(3): s.append([key(f'f{i}-{j}')], [1], {column(f'c{i}'): records(j)})\n"
    )
    workers = [subprocess.Popen([sys.executable, "-c", script, store.uri, str(i)], stderr=subprocess.PIPE) for i in range(3)]
    errors = [worker.communicate(timeout=1800)[1].decode()[-2000:] for worker in workers]
    assert [worker.returncode for worker in workers] == [0, 0, 0], errors
    found = known(store)
    assert set(found) == {f"f{i}-{j}" for i in range(3) for j in range(3)}
    assert all(found[f"f{i}-{j}"][f"c{i}"] == {"min": j} for i in range(3) for j in range(3))


def test_drop_and_compact_beside_another_writer(store: DeltaStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other one writes between the moment that a rewrite read the index and its commit."""
    store.append([key("a")], [1], {column("x"): records(1), column("y"): records(2)})
    original = delta.write_deltalake
    turns = [
        lambda other: other.append([key("b")], [1], {column("y"): records(3)}),  # more records
        lambda other: other.append([key("b")], [1], {column("z"): records(4)}),  # another index
    ]

    def write(target: Any, *args: Any, mode: str, **kwargs: Any) -> None:
        if mode == "overwrite" and turns:
            turns.pop(0)(DeltaStore(store.uri))
        original(target, *args, mode=mode, **kwargs)

    monkeypatch.setattr(delta, "write_deltalake", write)
    store.drop("x")
    store.compact()
    assert not turns
    found = known(store)
    assert set(found) == {"a", "b"} and "x" not in found["a"]
    assert (found["a"]["y"], found["b"]["y"], found["b"]["z"]) == ({"min": 2}, {"min": 3}, {"min": 4})


def test_index_that_another_made_anew_meanwhile_takes_no_records_of_the_old(store: DeltaStore) -> None:
    store.append([key("a")], [1], {column("x"): records(1)})
    other = DeltaStore(store.uri)
    other.drop("x")
    other.append([key("a")], [2], {column("x", {**READER, "options": {"header": "true"}}): records(5)})
    with pytest.raises(StoreError, match="created anew"):
        store.append([key("b")], [1], {column("x"): records(2)})
    assert set(known(store)) == {"a"}


def test_two_that_create_at_once_and_read_otherwise_do_not_both_commit(store: DeltaStore) -> None:
    """Each saw no index; but the row counts of one would skip files for the other."""
    other = DeltaStore(store.uri)
    assert store.snapshot() is None and other.snapshot() is None
    other.append([key("a")], [0], {column("y", {**READER, "options": {"header": "true"}}): records(None)})
    with pytest.raises(StoreError, match=r"created meanwhile, .*header"):
        store.append([key("a")], [1], {column("x"): records(1)})
    assert known(store) == {"a": {"size": 10, "modification_time": 1, "row_count": 0, "y": {"min": None}}}


def test_error_after_the_commit_is_no_failure(store: DeltaStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer that is lost, or a checkpoint that cannot be written; another drops the index meanwhile, and dropped it stays."""
    original, turns = delta.write_deltalake, [OSError("cut"), CommitFailedError("it exists")]

    def write(*arguments: Any, **told: Any) -> None:
        original(*arguments, **told)
        if turns and told["mode"] == "append":
            error = turns.pop()
            DeltaStore(store.uri).drop("x")
            raise error

    monkeypatch.setattr(delta, "write_deltalake", write)
    for _ in range(2):
        store.append([key("a")], [1], {column("x"): records(1)})
        snapshot = store.snapshot()
        assert snapshot is not None and not snapshot.definitions


def test_commits_that_a_machine_lost_with_its_power(store: DeltaStore) -> None:
    """deltalake takes an empty file for a commit of nothing."""
    store.append([key("a")], [1], {column("x"): records(1)})
    store.append([key("b")], [1], {column("x"): records(2)})
    Path(store.location, "_delta_log", f"{2:020}.json").write_bytes(b"")
    with pytest.raises(StoreError, match=r"2\.json is empty"):
        DeltaStore(store.uri).snapshot()


def test_writer_that_never_wins_says_so(store: DeltaStore, monkeypatch: pytest.MonkeyPatch) -> None:
    store.append([key("a")], [1], {column("x"): records(1)})

    def conflict(*_: Any, **__: Any) -> None:
        raise CommitFailedError("always another")

    monkeypatch.setattr(delta, "write_deltalake", conflict)
    with pytest.raises(StoreError, match="always another"):
        store.append([key("b")], [1], {column("x"): records(2)})


def test_keys_are_written_without_dictionaries(store: DeltaStore, tmp_path: Path) -> None:
    """No two are equal: behind a dictionary of them, reading takes three times as long."""
    store.append([key(f"file {i}") for i in range(100)], [1] * 100, {column("x"): records(*[i // 50 for i in range(100)])})
    (written,) = tmp_path.rglob("part-*.parquet")
    group = pq.read_metadata(written).row_group(0)
    encodings = {found.path_in_schema: found.encodings for found in map(group.column, range(group.num_columns))}
    assert not any("DICTIONARY" in encoding for name in ("path", "size", "modification_time") for encoding in encodings[name])
    assert any("DICTIONARY" in encoding for encoding in encodings["x.min"])


def first_of(paths: list[str], recursive: bool) -> str | None:
    """As Snapshot.first, path by path."""
    found = [path for path in paths if path.rpartition("/")[2] not in ("_metadata", "_common_metadata")]
    if not recursive and not any("=" in path.rpartition("/")[0] for path in found):
        found = [path for path in found if "/" not in path]
    return min(found, key=lambda path: unquote(path).encode("utf-16-be"), default=None)


@pytest.mark.parametrize("folders", [["", "a/"], ["", "b=1/", "b=%2525/c/"], ["b=%F0%9F%9A%80/", "b=%EF%BC%A1/"]])
@pytest.mark.parametrize("names", [["x=1", "y"], ["_metadata", "a_metadata", "_metadata2"], ["_common_metadata", "%C3%A9", "z", "%01"]])
def test_first_file_and_summaries(store: DeltaStore, folders: list[str], names: list[str]) -> None:
    """Of all parts of several commits, in each of which another one may be the only one with a folder or a summary."""
    paths = [folder + name for folder in folders for name in names]
    for path in random.Random(0).sample(paths, len(paths)):
        store.append([key(path)], [1], {column("x"): records(1)})
    snapshot = store.snapshot()
    assert snapshot is not None
    assert snapshot.has_summary == any(path.rpartition("/")[2] in ("_metadata", "_common_metadata") for path in paths)
    for recursive in (False, True):
        assert snapshot.first(recursive) == first_of(paths, recursive)
