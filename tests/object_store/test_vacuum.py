"""What vacuum deletes in a bucket."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from data_skip import DataSkipError, MinMax
from tests.object_store.server import Request, Server
from tests.object_store.table import Bucket

pytestmark = [pytest.mark.long, pytest.mark.object_store]


@pytest.fixture
def orphan(bucket: Bucket) -> Path:
    """A file that a writer left who was killed, 200 hours ago."""
    bucket.numbers()
    bucket.index(MinMax("x"))
    part = bucket.folder / ".data_skip/_/_/_/part-00000-never.snappy.parquet"
    part.write_bytes(b"PAR1")
    os.utime(part, (time.time() - 200 * 3600,) * 2)
    return part


def versions(bucket: Bucket) -> list[str]:
    return [step.action for step in bucket.table().history()]


def test_what_was_left_behind(bucket: Bucket, orphan: Path) -> None:
    assert bucket.table().vacuum(100) == [orphan.name]
    assert not orphan.exists()
    assert bucket.table().vacuum(100) == []
    bucket.check("x = 1", read=1)


def test_without_the_right_to_delete(bucket: Bucket, server: Server, orphan: Path) -> None:
    """What was committed before is there."""
    with (
        server.refusing(lambda request: request.what in ("DELETE", "POST")),
        pytest.raises(DataSkipError, match="files of old versions, which cannot"),
    ):
        bucket.table().vacuum(100)
    assert orphan.exists()
    assert bucket.table().vacuum(100) == [orphan.name]
    bucket.check("x = 1", read=1)


def test_a_marker_of_the_folder(bucket: Bucket, server: Server, orphan: Path) -> None:
    """As tools make them, it is listed below the folder by a name of no letters."""
    orphan.unlink()

    def marked(request: Request, content: bytes) -> bytes:
        key = request.key.rstrip("/").encode() + b"/"
        if request.what != "LIST" or not key.endswith(b"/_/_/_/"):
            return content
        marker = b"<Contents><Key>%s</Key><LastModified>2020-01-01T00:00:00.000Z</LastModified><Size>0</Size></Contents>" % key
        return content.replace(b"<Contents>", marker + b"<Contents>", 1)

    before = versions(bucket)
    with server.altering(marked), server.counted() as requests:
        assert bucket.table().vacuum(100, dry_run=True) == []
        assert bucket.table().vacuum(100) == []
    assert versions(bucket) == before
    assert requests and not [request for request in requests if request.what in ("DELETE", "POST")]
