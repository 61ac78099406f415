"""What things cost in requests: what the gate before the server counts."""

from __future__ import annotations

from collections import Counter

import pytest

from data_skip import MinMax
from tests.object_store.server import Request
from tests.object_store.table import Bucket

pytestmark = [pytest.mark.long, pytest.mark.object_store]


def told(name: str, requests: list[Request]) -> dict[str, int]:
    """How many requests there were of each kind, printed."""
    kinds = Counter(f"{request.whose} {request.what}{' index' if request.of_index else ''}" for request in requests)
    print(f"{name:34} {len(requests):5}  {dict(sorted(kinds.items()))}")
    return dict(kinds)


def test_budget(bucket: Bucket) -> None:
    bucket.numbers(count=200)
    with bucket.server.counted() as asked:
        table = bucket.index(MinMax("x"))
    told("create_index", asked)
    for request in asked:
        if request.of_index:
            print("      ", request)
    for name in ("first", "second", "third"):
        with bucket.server.counted() as asked:
            bucket.view()
            assert bucket.spark.sql("SELECT * FROM t WHERE x = 15 OR x = 1501").count() == 2
        told(f"{name} query", asked)
        for request in asked:
            if request.of_index:
                print("      ", request)
    with bucket.server.counted() as asked, bucket.skipping.disabled():
        bucket.view()
        assert bucket.spark.sql("SELECT * FROM t WHERE x = 15 OR x = 1501").count() == 2
    told("plain query", asked)
    snapshot = bucket.skipping.read(bucket.uri)
    for name in ("first", "second"):
        with bucket.server.counted() as asked:
            assert snapshot.where("x = 15 OR x = 1501").count() == 2
        told(f"{name} query in snapshot mode", asked)
    with bucket.server.counted() as asked:
        table.refresh()
    told("refresh of nothing", asked)
    for request in asked:
        print("      ", request)
    with bucket.server.counted() as asked:
        table.describe()
    told("describe", asked)
