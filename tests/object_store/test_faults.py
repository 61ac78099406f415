"""Answers that are lost or say that something failed, end to end on S3A: tests/faults/ has all of them at the level of the store."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from data_skip import DataSkipError, MinMax, ValueList
from tests.object_store.server import Request
from tests.object_store.table import Bucket
from tests.support import rows_of

pytestmark = [pytest.mark.long, pytest.mark.object_store]

PATIENCE = {"max_retries": "1", "backoff_config.init_backoff": "1ms", "timeout": "5s"}


@pytest.fixture(autouse=True)
def little_patience(bucket: Bucket) -> Iterator[None]:
    for name, value in PATIENCE.items():
        bucket.spark.conf.set(f"spark.data_skip.storage.{name}", value)
    yield
    for name in PATIENCE:
        bucket.spark.conf.unset(f"spark.data_skip.storage.{name}")


def commits(status: int) -> Callable[[Request], int]:
    """Of each commit to an index the first answer says that."""
    met: set[str] = set()

    def instead(request: Request) -> int:
        is_first = request.what == "PUT" and request.of_index and request.key.endswith(".json") and request.key not in met
        met.add(request.key if request.what == "PUT" else "")
        return status if is_first else 0

    return instead


@pytest.mark.parametrize("status", [412, *(pytest.param(status, marks=pytest.mark.faults) for status in (409, 500, 503))])
def test_commits_whose_answer_is_lost(bucket: Bucket, status: int) -> None:
    bucket.numbers()
    table = bucket.table()
    with bucket.server.answering(commits(status)):
        table.create_index(MinMax("x"))
    with bucket.server.answering(commits(status)):
        table.create_index(ValueList("s"))
    assert table.describe().version == 2
    bucket.check("x = 15", read=1)
    bucket.file("4.parquet", {"x": [100], "s": ["b100"]})
    with bucket.server.answering(commits(status)):
        assert table.refresh().files_collected == 1
    assert (table.describe().version, table.describe().files_indexed) == (3, 5)
    bucket.check("x = 100", read=1)
    with bucket.server.answering(commits(status)):
        table.drop_index(MinMax("x"))
    assert table.describe().version == 4
    bucket.check("x = 100", read=5)
    bucket.check("s = 'b100'", read=1)


@pytest.mark.faults
def test_queries_whose_requests_to_the_index_fail(bucket: Bucket, caplog: pytest.LogCaptureFixture) -> None:
    """Each of them, once and for good: rows are the same, and where nothing is skipped the report says why."""
    bucket.numbers()
    bucket.index(MinMax("x"))
    sql = "SELECT * FROM t WHERE x = 15"
    bucket.view()
    with bucket.skipping.disabled():
        expected = rows_of(bucket.spark.sql(sql))

    def run() -> int:
        """The files that are read by a session that has asked nothing before."""
        bucket.skipping.catalog.forget()
        bucket.view()
        assert rows_of(bucket.spark.sql(sql)) == expected
        return bucket.skipping.report().scans[-1].files_read

    with bucket.server.counted() as asked:
        assert run() == 1
    keys = {(request.what, request.key) for request in asked if request.of_index and request.whose == "deltalake"}
    outcomes = set()
    for key in sorted(keys):
        for status in (409, 412, 500, 503):
            for lasting in (False, True):
                met: list[Request] = []

                def instead(request: Request, key=key, status=status, lasting=lasting, met=met) -> int:
                    if (request.what, request.key) != key or (met and not lasting):
                        return 0
                    met.append(request)
                    return status

                with bucket.server.answering(instead):
                    read = run()
                assert met
                outcomes.add(read)
                errors = bucket.skipping.report().scans[-1].errors
                told = read == 1 or any(why in errors[0] for why in ("cannot be read", "has not been found in the time"))  # of retries
                assert told, (key, status, lasting, read, errors)
    assert outcomes == {1, 4}
    assert run() == 1


@pytest.mark.faults
def test_commands_that_are_refused_say_so(bucket: Bucket) -> None:
    bucket.numbers()
    table = bucket.index(MinMax("x"))
    bucket.file("4.parquet", {"x": [100], "s": ["b100"]})
    with (
        bucket.server.answering(lambda request: 500 * (request.what == "PUT" and request.of_index and "part-" in request.key)),
        pytest.raises(DataSkipError, match=r"cannot be written.*index_root"),
    ):
        table.refresh()
    bucket.check("x = 100", read=1)
    assert table.refresh().files_collected == 1
    bucket.check("x = 100", read=1)
