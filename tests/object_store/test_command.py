"""The command on a table of an object store: the index is looked at, cleaned and tried with Spark's credentials."""

from __future__ import annotations

import json
import os
import time
from typing import Any

import pytest
from deltalake.fs import DeltaStorageHandler
from typer.testing import CliRunner

from data_skip import MinMax, ValueList
from data_skip.cli.app import app
from tests.object_store.table import Bucket

pytestmark = [pytest.mark.long, pytest.mark.object_store]


def told(*arguments: str, code: int = 0) -> Any:
    result = CliRunner().invoke(app, [*arguments, "--json"])
    assert result.exit_code == code, result.output
    return json.loads(result.stdout)


def test_a_table_in_a_bucket(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    place, deleted = bucket.folder / ".data_skip/_/_/_", []

    def delete(_: DeltaStorageHandler, name: str) -> None:  # S3Proxy does not know how deltalake asks for it
        deleted.append(name)
        (place / name).unlink()

    monkeypatch.setattr(DeltaStorageHandler, "delete_file", delete)
    bucket.numbers()
    assert told("create", bucket.uri, "-i", "MinMax(x)")["files_collected"] == 4
    bucket.file("4.parquet", {"x": [99], "s": ["z"]})
    assert told("ensure", bucket.uri, "-i", "MinMax(x)", "-i", "ValueList(s)")["refreshed"]["files_collected"] == 1
    assert told("describe", bucket.uri)["files_indexed"] == 5
    steps = told("history", bucket.uri)["commits"]
    assert [step["action"] for step in steps] == ["created", "added", "created", "made"]
    assert [step["indexes"] for step in steps] == [["ValueList(s, limit=10000)"], [], ["MinMax(x)"], []]
    assert steps == told("history", bucket.uri)["commits"] and all(step["rows"] for step in steps[:-1])
    assert told("files", bucket.uri, "-w", "x = 99")["files_read"] == 1
    checks = told("doctor", bucket.uri)["checks"]
    assert {check["state"] for check in checks if check["name"].startswith("s3a://")} == {"ok"}
    assert len(deleted) == 1
    assert not [path for path in place.rglob("*") if "tried" in str(path) and path.is_file()]
    part = place / "part-00000-never.snappy.parquet"
    part.write_bytes(b"PAR1")
    os.utime(part, (time.time() - 200 * 3600,) * 2)
    assert told("vacuum", bucket.uri, "--dry-run")["deleted"] == [part.name]
    assert told("compact", bucket.uri)["version"] == 4
    bucket.skipping.catalog.forget()
    bucket.check("x = 99 AND s = 'z'", read=1)


def test_rights_that_lack(bucket: Bucket) -> None:
    bucket.numbers()
    bucket.index(MinMax("x"), ValueList("s"))
    with bucket.server.refusing(lambda request: request.what == "PUT"):
        checks = {check["name"]: check for check in told("doctor", bucket.uri, code=3)["checks"]}
    assert checks[f"{bucket.uri}: rights"]["state"] == "failed"
    assert "cannot be written" in checks[f"{bucket.uri}: rights"]["found"]
