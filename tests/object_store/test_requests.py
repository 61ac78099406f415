"""What things cost in requests: what the gate before the server counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from data_skip import MinMax
from tests.object_store.server import Request
from tests.object_store.table import Bucket

pytestmark = [pytest.mark.long, pytest.mark.object_store]


def told(name: str, requests: list[Request]) -> Counter[str]:
    """How many requests there were of each kind, printed."""
    kinds = Counter(f"{request.what} index" if request.of_index else request.what for request in requests)
    print(f"\n{name:28} {len(requests):5}  {dict(sorted(kinds.items()))}", end="")
    return kinds


def of_index(kinds: Counter[str]) -> int:
    return sum(count for kind, count in kinds.items() if kind.endswith("index"))


def test_budget(bucket: Bucket) -> None:
    """A selective query of 200 files, of which it reads two."""
    bucket.numbers(count=200)

    def count(name: str, ask: Callable[[], object]) -> Counter[str]:
        with bucket.server.counted() as asked:
            ask()
        return told(name, asked)

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
