"""What the twentieth reading found false of object stores."""

from __future__ import annotations

import logging
import os
import shutil
import time
from collections.abc import Iterator

import pytest

import data_skip
from data_skip import MinMax
from data_skip.planning.callback import Callback
from tests.object_store.server import SECRET, Request
from tests.object_store.table import Bucket

pytestmark = [pytest.mark.long, pytest.mark.object_store]


@pytest.fixture
def other_session(bucket: Bucket) -> Iterator[data_skip.Skipping]:
    """A session that has seen nothing yet."""
    session = bucket.spark.newSession()
    yield data_skip.enable(session)
    data_skip.disable(session)


@pytest.mark.parametrize("root", ["a#1", "b?1", "c [1]"])
def test_index_root_is_written_as_a_path(bucket: Bucket, root: str) -> None:
    """Of a URI `#1` is no part of the path: there all tables would have one index, and a file of another table may look the same."""
    moment = time.time() - 7200
    for name, first in (("one", 0), ("two", 100)):
        os.utime(bucket.file(f"{name}/0.parquet", {"x": [first, first + 1]}), (moment, moment))
    assert len({path.stat().st_size for path in bucket.folder.rglob("*.parquet")}) == 1
    session = bucket.spark.newSession()
    skipping = data_skip.enable(session, index_root=f"{bucket.uri}/{root}")
    try:
        skipping.table(f"{bucket.uri}/one").create_index(MinMax("x"))
        assert session.read.parquet(f"{bucket.uri}/two").where("x = 100").count() == 1
        assert session.read.parquet(f"{bucket.uri}/one").where("x = 100").count() == 0
        assert skipping.report().scans[-1].files_read == 0
        assert len(list(bucket.folder.glob("[abc]*/*/_delta_log"))) == 1
    finally:
        data_skip.disable(session)


@pytest.mark.parametrize("late", ["_delta_log", ".parquet"])
def test_a_store_that_does_not_answer(bucket: Bucket, other_session: data_skip.Skipping, late: str) -> None:
    """Files are chosen in the time that they may take, and what came late is of use to the next query."""
    bucket.numbers()
    bucket.index(MinMax("x"))
    session = other_session.spark
    session.conf.set("spark.data_skip.decideSeconds", "1")
    frame = session.read.parquet(bucket.uri).where("x = 15")

    def wait(request: Request) -> None:
        if request.of_index and request.whose == "deltalake" and late in request.key:
            time.sleep(6)

    bucket.server.before = wait
    try:
        for most in (4, 3):
            start = time.perf_counter()
            assert frame.count() == 1
            assert time.perf_counter() - start < most
            frame = session.read.parquet(bucket.uri).where("x = 15")
        assert other_session.report().scans[-1].files_read == 4
        assert "in the time in which files are chosen" in str(other_session.report())
    finally:
        bucket.server.before = lambda request: None
    end = time.perf_counter() + 60
    while other_session.report().scans[-1].files_read == 4 and time.perf_counter() < end:
        time.sleep(1)
        session.read.parquet(bucket.uri).where("x = 15").count()
    assert other_session.report().scans[-1].files_read == 1


def test_a_snapshot_is_of_an_index_that_was_made_anew(bucket: Bucket, other_session: data_skip.Skipping) -> None:
    bucket.numbers()
    bucket.index(MinMax("x"))
    snapshot = other_session.read(bucket.uri).where("x = 15")
    assert snapshot.count() == 1
    shutil.rmtree(bucket.folder / ".data_skip")
    bucket.file("9.parquet", {"x": [15], "s": ["b15"]})
    bucket.index(MinMax("x"))
    assert snapshot.count() == 2


def test_keys_given_to_a_reader_do_not_cross(bucket: Bucket, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither in what Python asks, which py4j logs, nor in what the JVM tells with its questions."""
    bucket.numbers()
    bucket.index(MinMax("x"))
    questions, answer = [], Callback.apply

    def told_with(self: Callback, question: str, java: object) -> str | None:
        questions.append(question)
        return answer(self, question, java)

    monkeypatch.setattr(Callback, "apply", told_with)
    frame = bucket.spark.read.options(**{"fs.s3a.secret.key": SECRET, "FS.s3a.session.token": "a-token"}).parquet(bucket.uri)
    with caplog.at_level(logging.DEBUG):
        frame.where("x = 15").collect()
        told = str(bucket.skipping.report())
    assert bucket.skipping.report().scans[-1].files_read == 1
    crossed = "\n".join([caplog.text, *questions])
    assert "fs.s3a.secret.key" in crossed
    assert SECRET not in crossed + told and "a-token" not in crossed + told


def test_files_that_are_read_by_their_names(bucket: Bucket) -> None:
    """Whether they are what was listed is asked of them: their folder may hold a million others."""
    bucket.numbers()
    bucket.index(MinMax("x"))
    for i in range(1200):
        (bucket.folder / f"{i}.other").write_text("")
    with bucket.server.counted() as asked:
        assert bucket.spark.read.parquet(f"{bucket.uri}/0.parquet", f"{bucket.uri}/1.parquet").where("x = 15").count() == 1
    assert bucket.skipping.report().scans[-1].files_read == 1
    assert [request for request in asked if request.what == "LIST" and request.key.rstrip("/") == bucket.folder.name] == []


def test_where_the_store_is_may_be_said_to_deltalake_alone(bucket: Bucket, other_session: data_skip.Skipping) -> None:
    """Then Hadoop is not asked for what lies there, which it may look for in vain for minutes."""
    bucket.numbers()
    session = bucket.spark.newSession()
    skipping = data_skip.enable(session, index_root="s3a://nowhere/indexes")
    (bucket.server.bucket.parent / "nowhere").mkdir()
    bucket.spark.sparkContext._jsc.hadoopConfiguration().set("fs.s3a.bucket.nowhere.endpoint", "http://127.0.0.1:9")
    session.conf.set("spark.data_skip.storage.aws_endpoint", f"http://127.0.0.1:{bucket.server.port}")
    try:
        skipping.table(bucket.uri).create_index(MinMax("x"))
        for store in (store for places in skipping.catalog._stores.values() for store in places._stores):
            store._place._seen_at -= 20  # as if it were later than what is believed
        start = time.perf_counter()
        assert session.read.parquet(bucket.uri).where("x = 15").count() == 1
        assert skipping.report().scans[-1].files_read == 1
        assert time.perf_counter() - start < 2.5
    finally:
        data_skip.disable(session)


def test_what_lies_above_a_table_may_be_hidden(bucket: Bucket, other_session: data_skip.Skipping, caplog: pytest.LogCaptureFixture) -> None:
    """As where a user may see one prefix of a bucket: a table without an index is left to Spark, and nobody is warned."""
    for i in range(2):
        bucket.file(f"plain/{i}.parquet", {"x": [i]})
        bucket.file(f"parts/p=1/{i}.parquet", {"x": [i]})

    def read(path: str) -> str:
        assert other_session.spark.read.parquet(f"{bucket.uri}/{path}").where("x = 1").count() == 1
        return str(other_session.report())

    def refused(request: Request) -> bool:
        return request.of_index and not request.key.startswith(shown)

    with bucket.server.refusing(refused), caplog.at_level(logging.WARNING, "data_skip"):
        shown = f"{bucket.folder.name}/plain"
        assert "no index" in read("plain")
        assert "no index" in read("plain/1.parquet")
        assert caplog.records == []
        other_session.catalog.forget()
        shown = f"{bucket.folder.name}/plain/1.parquet"
        assert "cannot be read" in read("plain/1.parquet")  # by whoever may see a part of a table alone
        shown = f"{bucket.folder.name}/parts/p=1"
        assert "cannot be read" in read("parts/p=1")


@pytest.mark.parametrize(("names", "what"), [((), "LIST"), (("/0.parquet", "/1.parquet"), "HEAD")])
def test_what_cannot_be_looked_at_again_is_read(bucket: Bucket, names: tuple[str, ...], what: str) -> None:
    bucket.numbers()
    bucket.index(MinMax("x"))
    listed = bucket.spark.read.parquet(*(f"{bucket.uri}{name}" for name in names or ("",))).where("x = 15")
    assert listed.count() == 1
    assert bucket.skipping.report().scans[-1].files_read == 1
    bucket.file("0.parquet", {"x": [15], "s": ["a15"]}, age=3600)
    asked = Request(what, bucket.folder.name + (names[0] if names else "/"), "spark")
    refused: list[Request] = []

    def once(request: Request) -> bool:
        if request != asked or refused:
            return False
        refused.append(request)
        return True

    with bucket.server.refusing(once):
        assert listed.select("x").count() == 2  # planned anew, over the same listing
    assert refused
