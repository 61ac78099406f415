"""What things cost in requests: what the gate before the server counts."""

from __future__ import annotations

import os
import shutil
import time
from collections import Counter
from collections.abc import Callable

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from data_skip import MinMax, ValueList
from tests.object_store.server import Request
from tests.object_store.table import Bucket
from tests.support import settings_of

Count = Callable[[str, Callable[[], object]], Counter[str]]
pytestmark = [pytest.mark.long, pytest.mark.object_store]


def told(name: str, requests: list[Request]) -> Counter[str]:
    """How many requests there were of each kind, printed."""
    kinds = Counter(f"{request.what} index" if request.of_index else request.what for request in requests)
    size, of_index = (sum(request.bytes for request in requests if request.of_index or not only) for only in (False, True))
    print(f"\n{name:28} {len(requests):5}  {size:10,} bytes, {of_index:,} of the index  {dict(sorted(kinds.items()))}", end="")
    return kinds


def of_index(kinds: Counter[str]) -> int:
    return sum(count for kind, count in kinds.items() if kind.endswith("index"))


@pytest.fixture
def count(bucket: Bucket) -> Count:
    """Does something that has a name, and counts its requests."""

    def counted(name: str, ask: Callable[[], object]) -> Counter[str]:
        with bucket.server.counted() as asked:
            ask()
        return told(name, asked)

    return counted


def test_budget(bucket: Bucket, count: Count) -> None:
    """A selective query of 200 files, of which it reads two."""
    bucket.numbers(count=200)

    def query() -> None:
        bucket.view()
        assert bucket.spark.sql("SELECT * FROM t WHERE x = 15 OR x = 1501").count() == 2

    def plain() -> None:
        with bucket.skipping.disabled():
            query()

    with bucket.server.counted() as asked:
        table = bucket.index(MinMax("x"))
    told("create_index", asked)
    first = count("first query", query)
    place = table._store._stores[0]._place
    place._seen_at -= 20  # as if it were later than what is believed
    second = count("second query", query)
    third = count("a query soon after", query)
    without = count("plain query", plain)
    snapshot = bucket.skipping.read(bucket.uri)
    count("first query by snapshot", lambda: snapshot.where("x = 15 OR x = 1501").count())
    place._seen_at -= 20
    by_snapshot = count("second query by snapshot", lambda: snapshot.where("x = 15 OR x = 1501").count())
    refresh = count("refresh of nothing", table.refresh)
    count("describe", table.describe)

    assert of_index(first) <= 10
    assert of_index(second) <= 1
    assert of_index(third) <= 1
    assert second["LIST"] <= without["LIST"] + 1  # whether files are what Spark listed
    assert second.total() - without["LIST"] <= 10 + 7 * 2
    assert without.total() > 1000
    assert by_snapshot["LIST"] == by_snapshot["LIST index"] == 0
    assert of_index(by_snapshot) <= 2  # whether it is the last one, and no other of that number
    assert by_snapshot.total() <= 10 + 7 * 2
    assert of_index(refresh) <= 20


def test_a_query_by_a_setting_lists_nothing(bucket: Bucket, count: Count) -> None:
    """Spark has listed the files once, when the DataFrame was made."""
    bucket.numbers(count=50)
    table = bucket.index(MinMax("x"))
    frame = bucket.spark.read.parquet(bucket.uri)
    with settings_of(bucket.spark, {"spark.data_skip.freshness": "snapshot"}):
        count("first query by a setting", lambda: frame.where("x = 15 OR x = 401").count())
        table._store._stores[0]._place._seen_at -= 20
        second = count("second query by a setting", lambda: frame.where("x = 15 OR x = 401").count())
    assert bucket.skipping.report().scans[-1].contract == "snapshot 1"
    assert second["LIST"] == second["LIST index"] == 0
    assert of_index(second) <= 3  # that there is one, and twice as of test_budget
    assert second.total() <= 11 + 7 * 2


def test_what_commands_cost(bucket: Bucket, count: Count) -> None:
    """The table of docs/operations.md."""
    bucket.numbers(count=200)

    def query() -> int:
        bucket.view()
        return bucket.spark.sql("SELECT * FROM t WHERE x = 15 OR x = 1501").count()

    def later() -> None:
        for store in bucket.skipping.catalog._stores.values():
            store._stores[0]._place._seen_at -= 20

    count("create_index(MinMax)", lambda: bucket.index(MinMax("x")))
    count("create_index(ValueList)", lambda: bucket.index(ValueList("s")))
    table = bucket.table()
    bucket.skipping.catalog.forget()
    table._store = bucket.skipping.catalog.store(table.root)
    first = count("first query of a session", query)
    later()
    second = count("a later query", query)
    count("refresh of nothing", table.refresh)
    bucket.file("200.parquet", {"x": [2000], "s": ["c"]})
    count("refresh of a new file", table.refresh)
    count("describe", table.describe)
    count("metadata", lambda: table.metadata().count())
    count("files", lambda: table.files("x = 15"))
    count("drop_index", lambda: table.drop_index(ValueList("s")))
    assert of_index(first) <= 24 and of_index(second) <= 1


@pytest.mark.parametrize("contract", ["listing", "snapshot"])
def test_ten_thousand_files(bucket: Bucket, contract: str) -> None:
    """A query that reads n of them: at most 10 + 7 n requests besides LISTs, of which it takes no more than Spark's own.

    Plain Spark takes 62,000 requests.

    The index is made where the server keeps the files, of which names, sizes and times are the same, so in seconds.
    """
    files = 10_000
    moment = int(time.time()) - 7200  # S3 tells times in seconds
    for i in range(files):
        path = bucket.folder / f"{i}.parquet"
        pq.write_table(pa.table({"x": [10 * i, 10 * i + 1]}), path)
        os.utime(path, (moment, moment))
    report = bucket.skipping.table(str(bucket.folder)).create_index(MinMax("x"))
    assert report.files_collected == files
    where = " OR ".join(f"x = {10 * i}" for i in (7, 5003, 9999))

    with bucket.server.counted() as asked:
        frame = bucket.skipping.read(bucket.uri) if contract == "snapshot" else bucket.view()
    opened = told(f"a DataFrame by {contract}", asked)
    assert opened.total() <= 36 and of_index(opened) <= 16  # whatever the number of files

    def query() -> Counter[str]:
        with bucket.server.counted() as asked:
            assert frame.where(where).count() == 3
        assert bucket.skipping.report().scans[-1].files_read == 3
        return told("query", asked)

    bucket.skipping.catalog.forget()
    first = query()
    bucket.skipping.catalog.store(bucket.uri)._stores[0]._place._seen_at -= 20
    second = query()
    # Two LISTs, three GETs for each of two commits, and its records: deltalake asks for a commit twice. For a snapshot it is opened twice.
    assert of_index(first) <= (20 if contract == "snapshot" else 13)
    assert of_index(second) <= (2 if contract == "snapshot" else 1)
    assert second.total() - second["LIST"] <= 10 + 7 * 3
    if contract == "snapshot":
        assert second["LIST"] == second["LIST index"] == 0
    else:
        assert second["LIST"] <= opened["LIST"]  # whether files are still those that Spark listed: a thousand by each LIST


def test_many_folders(bucket: Bucket) -> None:
    """Whether files are what Spark listed is asked of their folders, each once."""
    for p in range(20):
        for i in range(2):
            bucket.file(f"p={p}/{i}.parquet", {"x": [100 * p + i]})
    bucket.index(MinMax("x"))
    bucket.view()
    frame = bucket.spark.sql("SELECT * FROM t WHERE x = 300")
    with bucket.server.counted() as asked:
        assert frame.count() == 1
    assert told("query of 20 folders", asked)["LIST"] <= 20
    assert bucket.skipping.report().scans[-1].files_read == 1
    bucket.file("p=4/0.parquet", {"x": [300]}, age=3600)  # rewritten since Spark listed it
    assert bucket.spark.sql("SELECT * FROM t WHERE x = 300").count() == 2


def test_a_query_that_is_run_again_and_again_sees_what_others_have_indexed(bucket: Bucket) -> None:
    """What the JVM knows of decisions is by the version of the index that was the last one when it was looked for: not for good."""
    bucket.numbers()
    bucket.index(MinMax("x"))
    index, others = bucket.folder / ".data_skip", bucket.server.folder / "others"
    earlier = set(index.rglob("*"))
    bucket.index(ValueList("s"))
    shutil.copytree(index, others)
    for path in set(index.rglob("*")) - earlier:
        path.unlink()
    bucket.skipping.catalog.forget()

    def read() -> int:
        bucket.view()
        assert bucket.spark.sql("SELECT * FROM t WHERE x < 35 AND s = 'b21' OR x = -1").count() == 0
        return bucket.skipping.report().scans[-1].files_read

    assert [read() for _ in range(4)] == [4, 4, 4, 4]
    shutil.copytree(others, index, dirs_exist_ok=True)  # as by another machine
    for places in bucket.skipping.catalog._stores.values():
        places._stores[0]._place._seen_at -= 20  # as if it were later than what is believed
    assert read() == 0
