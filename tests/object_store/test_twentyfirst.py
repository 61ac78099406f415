"""What the twenty-first reading found false of object stores."""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import data_skip
from data_skip import ValueList
from data_skip.building import direct
from data_skip.store.storage_options import StorageOptions
from tests.object_store.server import free_port
from tests.object_store.table import Bucket

pytestmark = [pytest.mark.long, pytest.mark.object_store]


@pytest.fixture
def other_store(bucket: Bucket) -> Iterator[str]:
    """Another S3, which answers with what lies in a folder `other` beside, whatever the bucket."""
    root = bucket.folder / "other"

    class Files(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            content = (root / Path(self.path).name).read_bytes()
            asked = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers["Range"])
            assert asked is not None
            start, end = int(asked[1]), min(int(asked[2]) + 1, len(content))
            self.send_response(206)
            for name, value in {
                "Content-Length": str(end - start),
                "Content-Range": f"bytes {start}-{end - 1}/{len(content)}",
                "ETag": '"a"',
                "Last-Modified": "Mon, 23 Nov 2020 07:10:25 GMT",
            }.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content[start:end])

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Files)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


def test_files_of_another_store_are_not_taken_for_those_of_spark(bucket: Bucket, other_store: str, tmp_path: Path) -> None:
    """Options that deltalake alone is told are of the store of indexes; files of the same names and sizes may lie there."""
    moment = time.time() - 7200
    for i in range(2):
        for folder, x in (("table", 10 * i), ("other", 100 + i)):
            os.utime(bucket.file(f"{folder}/{i}.parquet", {"x": [x, x + 1]}), (moment, moment))
    assert len({path.stat().st_size for path in bucket.folder.rglob("*.parquet")}) == 1
    session = bucket.spark.newSession()
    skipping = data_skip.enable(session, index_root=str(tmp_path))
    session.conf.set("spark.data_skip.storage.aws_endpoint", other_store)
    try:
        skipping.table(f"{bucket.uri}/table").create_index(ValueList("x"))
        assert session.read.parquet(f"{bucket.uri}/table").where("x = 11").count() == 1
        assert skipping.report().scans[-1].files_read == 1
    finally:
        data_skip.disable(session)


def test_a_store_that_tasks_do_not_reach(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each request waits for as long as it is tried again: some do, and not one for each file."""
    bucket.numbers(count=100)
    told = direct.storage_options
    nowhere = {"aws_endpoint": f"http://127.0.0.1:{free_port()}", "retry_timeout": "2s"}
    monkeypatch.setattr(direct, "storage_options", lambda *asked: StorageOptions({**told(*asked), **nowhere}))
    start = time.perf_counter()
    report = bucket.table().create_index(ValueList("x"))
    assert time.perf_counter() - start < 20
    assert (report.files_direct, report.files_collected) == (0, 100)
    bucket.check("x = 15", read=1)
