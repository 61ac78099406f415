"""How much of an index is read: commits that are deep or large, logs that are long, values that are wide, within what memory."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from data_skip.store import DeltaStore, FileKey, StoreError, delta, guard
from data_skip.store.definition import Definition
from data_skip.store.layout import definition_field
from data_skip.store.sizes import refuse_large
from tests.readings.store.support import log_of, store_that_was_read
from tests.readings.support import log_folder, store_of_two_indexes
from tests.test_security import READER as FORGED_READER
from tests.test_security import RECORD, TREE, Forged, added, forged
from tests.test_store import READER, column, key, known, records

__all__ = ["forged", "store_of_two_indexes", "store_that_was_read"]  # fixtures


@pytest.mark.parametrize("text", ["DEEP", '{"numRecords":1,"minValues":{"path":DEEP}}', '"' + "DEEP", '{"a":DEEP}" x'])
@pytest.mark.parametrize("how", ["plain", "escaped", "twice", "in one line", "checkpoint"])
def test_deep_statistics(forged: Forged, text: str, how: str) -> None:
    """They are a text in a commit, whose brackets did not count, and deltalake parses them: of a hundred thousand the process ended."""
    statistics = text.replace("DEEP", "[" * 200 + "]" * 200)
    action = added("x.parquet")
    action["add"]["stats"] = statistics
    commit = json.dumps(action)
    if how == "escaped":
        commit = commit.replace("[", "\\u005b").replace("stats", "\\u0073tats")
    if how == "twice":
        commit = commit.replace('"stats"', '"stats": "{}", "stats"')[:-1] + ', "add": null}'
    if how == "in one line":
        commit = '{"metaData": null} ' + commit
    forged.commit(commit)
    if how == "checkpoint":
        forged.commit({"add": action["add"] | {"stats": '{"numRecords":1}'}})
        next(forged.log.glob(f"{2:020}.json")).write_text('{"commitInfo":{}}')
        DeltaTable(forged.store.location).create_checkpoint()
        path = next(forged.log.glob("*.checkpoint.parquet"))
        rows = pq.read_table(path)
        actions = rows.to_pylist()
        for found in actions:
            if found["add"]:
                found["add"]["stats"] = statistics
        pq.write_table(pa.Table.from_pylist(actions, rows.schema), path)
    forged.refused("nested more than")


def test_text_in_a_definition_may_have_brackets(forged: Forged) -> None:
    definition = Definition("MinMax", ("x RLIKE '" + "[" * 300 + "'",), {}, 1, (TREE,), FORGED_READER)
    forged.store.append([FileKey("b", 10, 1)], [1], {definition_field("min_max__y", RECORD, definition): pa.array([{"min": 1}], RECORD)})
    assert set(forged.read()) == {"min_max__x", "min_max__y"}


def test_commits_of_very_many_parts(forged: Forged, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "_MOST_PARTS", 1000)
    forged.commit({"commitInfo": {"x": [1] * 500}}, {"commitInfo": {"x": "," * 5000}})
    assert forged.read() is not None
    forged.commit({"commitInfo": {"x": [1] * 1500}})
    forged.refused("parts, at most")


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


@pytest.fixture
def store(tmp_path: Path) -> DeltaStore:
    return DeltaStore(f"file:{tmp_path}/_data_skip")


def test_to_look_at_a_commit_takes_little_memory() -> None:
    """A text of some megabytes took a hundred times as many."""
    code = (
        "import resource\n"
        "from data_skip.store import guard\n"
        "guard._refuse_deep(b'{}')\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        f"for text in (b'x' * {1 << 23}, rb'\\\"' * {1 << 22}):\n"
        "    guard._refuse_deep(b'{\"a\": \"' + text + b'\"}')\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
    )
    took = int(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
    assert took < 200_000  # kB


@pytest.mark.parametrize(
    ("content", "deep"),
    [
        ({"a": "[" * 200}, False),
        ({"a": '\\"[' * 200}, False),
        ({"a": "\\", "b": [[[["]]]]]"]]]]}, False),
        ({"\\": json.loads("[" * 102 + "]" * 102)}, True),
        ({'"': json.loads("[" * 102 + '"]"' + "]" * 102)}, True),
    ],
)
@pytest.mark.parametrize("chunk", [1, 7, 1 << 22])
def test_what_is_deep(content: Any, deep: bool, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "_CHUNK", chunk)
    for text in (json.dumps(content), '{"a": 1}\n' + json.dumps(content) + "\n"):
        if deep:
            with pytest.raises(ValueError, match="deep"):
                guard._refuse_deep(text.encode())
        else:
            guard._refuse_deep(text.encode())


def test_many_commits_that_declare_much(store: DeltaStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Indexes of the columns of a wide table of text, made one after the other: each commit names all that there are."""
    wide = {**READER, "columns": [[f"column_{i}", "int", None, None] for i in range(100)]}
    monkeypatch.setattr(guard, "MOST_LOG", 1 << 18)
    monkeypatch.setattr(delta, "_MOST_SINCE", 1 << 16, raising=False)
    for i in range(12):
        store.append([key("a")], [1], {column(f"x{i}", wide): records(i)})
    store.drop("x3")
    assert len(known(DeltaStore(store.uri))["a"]) == 3 + 11


def test_more_definitions_than_are_read_are_not_written(store: DeltaStore, monkeypatch: pytest.MonkeyPatch) -> None:
    store.append([key("a")], [1], {column("x"): records(1)})
    wide = {**READER, "columns": [[f"column_{i}", "int", None, None] for i in range(100)]}
    monkeypatch.setattr(delta, "_MOST_DECLARED", 1 << 15, raising=False)
    monkeypatch.setattr(guard, "MOST_COMMIT", 1 << 15, raising=False)
    with pytest.raises(StoreError, match="nothing was written"):
        store.append([key("a")], [1], {column(f"x{i}", wide): records(i) for i in range(10)})
    assert known(DeltaStore(store.uri)) == known(store)
    store.append([key("b")], [1], {column("x"): records(2)}, declare=False)
    assert set(known(DeltaStore(store.uri))) == {"a", "b"}


@pytest.mark.parametrize(("length", "rows"), [(1 << 20, 600), (20, 1 << 14)])
def test_values_of_a_fixed_length_may_be_long(length: int, rows: int) -> None:
    """Each was taken for a decimal of 16 bytes: a dictionary holds it once."""
    values = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), pa.array([b"x" * length], pa.binary(length)))
    table = pa.table({"a": values.cast(pa.binary(length))})
    file = io.BytesIO()
    pq.write_table(table, file, dictionary_pagesize_limit=1 << 24)
    read = pa.BufferReader(file.getvalue())
    assert refuse_large(read, None, 1 << 40) >= length * rows
    with pytest.raises(ValueError, match="bytes of memory"):
        refuse_large(read, None, length * rows - 1)


def test_decimals_take_what_they_take() -> None:
    file = io.BytesIO()
    pq.write_table(pa.table({"a": pa.array(range(1000), pa.decimal128(12, 0))}), file)
    assert refuse_large(pa.BufferReader(file.getvalue()), None, 1 << 16) >= 16_000


def test_history_reads_no_more_than_what_may_be_read(
    store_that_was_read: DeltaStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Commits before a checkpoint are not looked at when an index is opened."""
    monkeypatch.setattr(guard, "_MOST_PARTS", 60)
    assert [step.action for step in store_that_was_read.history()] == ["made", "created", "added", "added"]
    log = log_of(store_that_was_read, 2)
    DeltaTable(store_that_was_read.location).create_checkpoint()
    log.write_text(f'{log.read_text()}\n{{"commitInfo":{{"x":[{"1," * 100}1]}}}}')
    assert [step.action for step in store_that_was_read.history()] == ["made", "created", "unknown", "added"]
    log.rename(tmp_path / "elsewhere")
    log.symlink_to(tmp_path / "elsewhere")
    assert store_that_was_read._log(2) == b""


def test_logs_take_no_more_memory_than_there_is(store_that_was_read: DeltaStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """A gigabyte of log was read, whatever the memory, and all of it at once."""
    size = sum(log_of(store_that_was_read, version).stat().st_size for version in range(4))
    monkeypatch.setattr(guard, "most_bytes", lambda: size * 3)
    assert DeltaStore(store_that_was_read.uri).snapshot() is not None
    monkeypatch.setattr(guard, "most_bytes", lambda: size * 3 - 3)
    with pytest.raises(StoreError, match=f"{size:,} bytes since its last checkpoint, at most {size - 1:,}"):
        DeltaStore(store_that_was_read.uri).snapshot()


def test_history_reads_no_more_than_a_log_may_have(store_of_two_indexes: DeltaStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commits before a checkpoint are not looked at before, and there may be any number of them."""
    sizes = [path.stat().st_size for path in sorted(log_folder(store_of_two_indexes).glob("*.json"))]
    monkeypatch.setattr(delta, "MOST_LOG", sum(sizes[-2:]))
    assert [step.version for step in store_of_two_indexes.history()] == [2, 3]
