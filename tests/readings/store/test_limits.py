"""What the twenty-first reading found false."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from data_skip import MinMax
from data_skip.building.remote_files import RemoteFiles
from data_skip.store import DeltaStore, StoreError, delta, guard
from data_skip.store.storage_options import StorageOptions, storage_options
from tests.support import Lake
from tests.test_store import READER, column, key, known, records


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


class Told:
    """Hadoop, of which only what the user says to deltalake is of interest."""

    def __init__(self, **overrides: str) -> None:
        self.overrides = overrides

    def told(self, *_: Any) -> dict[str, Any]:
        found = {"fs.s3a.endpoint": "http://one:9000"}
        return {"set": found, "overrides": self.overrides, "file_system": "org.apache.hadoop.fs.s3a.S3AFileSystem"}


@pytest.mark.parametrize(
    ("override", "of_hadoop"),
    [
        ("aws_endpoint", False),
        ("aws_access_key_id", False),
        ("proxy_url", False),
        ("azure_storage_use_emulator", False),
        ("google_base_url", False),
        ("aws_region", True),
        ("timeout", True),
        ("max_retries", True),
        ("backoff_config.init_backoff", True),
    ],
)
def test_what_only_deltalake_is_told_may_lead_elsewhere(override: str, of_hadoop: bool) -> None:
    """Then a file of the same name and size may lie there, with other rows than Spark reads."""
    told: Any = Told(**{override: "two"})
    assert storage_options("s3a://bucket/a", told).of_hadoop == of_hadoop
    assert storage_options("s3a://bucket/a", Told()).of_hadoop  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "aws_endpoint", "AZURE_STORAGE_USE_EMULATOR", "ENDPOINT"])
def test_where_tasks_run_the_environment_may_lead_elsewhere(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://x")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://x")
    options = {"aws_endpoint": "http://127.0.0.1:9", "aws_allow_http": "true", "aws_region": "us-east-1"}
    files = RemoteFiles("s3a://bucket/a", StorageOptions(options), {"s3a://bucket/a/x": 10})
    files.opened("s3a://bucket/a/x")
    monkeypatch.setenv(name, "http://127.0.0.1:10")
    files = RemoteFiles("s3a://bucket/a", StorageOptions(options), {"s3a://bucket/a/x": 10})
    with pytest.raises(OSError, match=name):
        files.opened("s3a://bucket/a/x")


def test_a_table_of_text_with_very_many_columns(lake: Lake) -> None:
    """All of them are read, to see what cannot be: as a chain of a thousand calls that ended the stack of Spark's thread."""
    names = [f"c{i}" for i in range(1500)]
    for i in range(2):
        lake.text(f"{i}.csv", ",".join([str(i)] * len(names)) + "\n")
    schema = ", ".join(f"{name} INT" for name in names)
    lake.table(format="csv", schema=schema).create_index(MinMax("c7"))
    frame = lake.spark.read.schema(schema).csv(str(lake.folder)).select("c7").where("c7 = 1")
    assert frame.count() == 1
    assert lake.skipping.report().scans[-1].files_read == 1
