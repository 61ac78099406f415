"""Files on S3 that tasks read themselves: their records are those that Spark makes, at a few requests a file."""

from __future__ import annotations

import io
import os
import pickle
import time
from collections import Counter
from pathlib import Path
from threading import Lock
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from data_skip import BloomFilter, MinMax, Prefix, ValueList
from data_skip.building import direct, remote_files
from data_skip.building.remote_files import RemoteFile, RemoteFiles
from data_skip.store.storage_options import StorageOptions
from tests.object_store.server import Request
from tests.object_store.table import Bucket
from tests.test_direct import ordered

long = pytest.mark.long
on_s3 = pytest.mark.object_store
INDEXES = (MinMax("x"), MinMax("s"), ValueList("x"), BloomFilter("s"), Prefix("s", 2))


def records(bucket: Bucket) -> tuple[Any, list[dict[str, Any]]]:
    table = bucket.table()
    report = table.create_index(*INDEXES)
    found = [ordered(row.asDict(recursive=True)) for row in table.metadata().orderBy("path").collect()]
    table.drop_index(*INDEXES)
    return report, found


@long
@on_s3
def test_records_are_those_of_spark(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    bucket.numbers(count=6, rows=3000)
    bucket.file("deep.parquet", {"x": [1, None], "s": ["Ä", None]})
    bucket.file("a b%.parquet", {"x": [7], "s": ["odd name"]})
    report, found = records(bucket)
    assert (report.files_direct, report.files_collected) == (7, 8)
    monkeypatch.setattr(direct, "_PART", 4000)
    assert records(bucket)[1] == found
    monkeypatch.setattr(remote_files, "SCHEMES", ())
    by_spark, expected = records(bucket)
    assert by_spark.files_direct == 0
    assert found == expected


@long
@on_s3
def test_requests(bucket: Bucket) -> None:
    """A footer is one request; columns that lie side by side are one more."""
    bucket.numbers(count=40)
    with bucket.server.counted() as asked:
        report = bucket.table().create_index(MinMax("x"))
    assert report.files_lifted == 40
    assert Counter(request.what for request in asked if request.whose == "deltalake" and not request.of_index) == {"GET": 40}
    bucket.numbers(count=4, rows=100_000)
    with bucket.server.counted() as asked:
        report = bucket.table().create_index(ValueList("x", limit=5), MinMax("s"))
    assert report.files_direct == 40
    assert Counter(request.what for request in asked if request.whose == "deltalake" and not request.of_index)["GET"] <= 40 + 4 * 4


@long
@on_s3
def test_a_file_that_changes_meanwhile_has_no_record(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    bucket.numbers()
    read = direct.read

    def meanwhile(*arguments: Any) -> Any:
        bucket.file("1.parquet", {"x": [77], "s": ["new"]}, age=600)
        return read(*arguments)

    monkeypatch.setattr(direct, "read", meanwhile)
    report = bucket.table().create_index(ValueList("x"))
    assert (report.files_direct, report.files_too_recent) == (3, 1)
    bucket.check("x = 77", read=1)
    bucket.check("x = 15", read=1)


@long
@on_s3
def test_what_cannot_be_read_so_spark_reads(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    bucket.numbers()

    options = {"aws_access_key_id": "nobody", "aws_secret_access_key": "hidden", "retry_timeout": "1s"}
    told = direct.storage_options
    monkeypatch.setattr(direct, "storage_options", lambda *asked: StorageOptions({**told(*asked), **options}))
    report, _ = records(bucket)
    assert (report.files_direct, report.files_collected) == (0, 4)
    assert "hidden" not in str(report)


@long
@on_s3
def test_a_file_that_is_no_parquet(bucket: Bucket) -> None:
    bucket.numbers()
    bucket.text("broken.parquet", "PAR1 no more PAR1")
    report = bucket.table().create_index(ValueList("x"))
    assert (report.files_direct, report.files_unreadable) == (4, 1)


class Requests:
    """A file of which each read is counted."""

    def __init__(self, content: bytes) -> None:
        self.content, self.asked = content, 0

    def read_at(self, length: int, offset: int) -> bytes:
        self.asked += 1
        return self.content[offset : offset + length]

    def close(self) -> None:
        pass


@pytest.mark.parametrize("size", [0, 1, 65_535, 65_536, 65_537, 200_000])
def test_any_part_of_a_remote_file(size: int) -> None:
    content = os.urandom(size)
    requests = Requests(content)
    file, plain = RemoteFile(requests, size), io.BytesIO(content)
    for offset, whence, length in [(0, 0, 10), (-8, 2, 4), (-8, 2, 100), (5, 1, 3), (65_536, 0, 70_000), (size, 0, 1), (0, 0, -1)]:
        if whence != 2 or size >= 8:
            assert file.seek(offset, whence) == plain.seek(offset, whence)
            assert file.read(length) == plain.read(length)
            assert file.tell() == plain.tell()
    if size <= 65_536:
        assert requests.asked == min(size, 1)
    requests.content = content[: size // 2]
    if size > 1:
        with pytest.raises(OSError, match="came"):
            RemoteFile(requests, size).read(-1)


def test_a_remote_file_as_pyarrow_reads_it(tmp_path: Path) -> None:
    columns = pa.table({"x": range(50_000), "s": [f"{i:09}" for i in range(50_000)]})
    pq.write_table(columns, tmp_path / "0.parquet", row_group_size=20_000)
    content = (tmp_path / "0.parquet").read_bytes()
    with RemoteFile(Requests(content), len(content)) as file:
        assert pq.read_table(file, pre_buffer=True) == columns


def test_which_files_are_remote() -> None:
    files = RemoteFiles("s3a://bucket/a%20table", StorageOptions({"aws_secret_access_key": "hidden"}))
    assert files.has("s3a://bucket/a%20table/p=1/x-0.snappy.parquet")
    for other in (
        "s3a://bucket/a%20table",
        "s3a://bucket/b/x",
        "s3a://bucket/a%20table/a%20b",
        "s3a://bucket/a%20table//x",
        "file:/x",
        "s3a://bucket/a%20table/../x",
    ):
        assert not files.has(other)
    for scheme in ("hdfs", "file", "http"):
        assert not RemoteFiles(f"{scheme}://a/b", StorageOptions({})).has(f"{scheme}://a/b/x")
    assert pickle.loads(pickle.dumps(files)) == files
    assert "hidden" not in repr(files)


@long
@on_s3
def test_requests_are_made_side_by_side(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that takes its time is asked for several files at once."""
    bucket.numbers(count=32)
    lock, now, most = Lock(), [0], [0]

    def slowly(request: Request) -> None:
        if request.whose == "deltalake" and request.key.endswith(".parquet") and not request.of_index:
            with lock:
                now[0] += 1
                most[0] = max(most[0], now[0])
            time.sleep(0.1)
            with lock:
                now[0] -= 1

    monkeypatch.setattr(bucket.server, "before", slowly)
    bucket.index(MinMax("x"))
    assert most[0] >= 8
