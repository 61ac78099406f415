"""Two writers of one commit: nobody overwrites the other."""

from __future__ import annotations

import threading

import pytest

from data_skip import MinMax, ValueList
from data_skip.spark.object_stores import ObjectStores
from data_skip.store import FileKey
from data_skip.store.delta import DeltaStore
from tests.object_store.server import Request
from tests.object_store.table import Bucket

pytestmark = [pytest.mark.long, pytest.mark.object_store]


def test_commits_of_one_version(bucket: Bucket) -> None:
    bucket.numbers()
    table = bucket.index(MinMax("x"))
    snapshot = table._store.snapshot()
    assert snapshot is not None
    both = threading.Barrier(2, timeout=60)
    met: list[Request] = []

    def wait_for_the_other(request: Request) -> None:
        if request.what == "PUT" and request.key.endswith(f"{snapshot.version + 1:020}.json") and len(met) < 2:
            met.append(request)
            both.wait()

    stores = [DeltaStore(table._store.uri, ObjectStores(bucket.spark)) for _ in range(2)]
    field, records = snapshot.fields["min_max__x"], snapshot.records(["min_max__x"])["min_max__x"][:1]
    failures: list[Exception] = []

    def write(i: int) -> None:
        try:
            stores[i].append([FileKey(f"new{i}.parquet", 1, 1)], [1], {field.with_type(records.type): records}, declare=False)
        except Exception as error:
            failures.append(error)

    bucket.server.before = wait_for_the_other
    try:
        threads = [threading.Thread(target=write, args=(i,)) for i in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
    finally:
        bucket.server.before = lambda request: None
    assert failures == []
    assert len(met) == 2, "the two did not write the same version"
    last = DeltaStore(table._store.uri, ObjectStores(bucket.spark)).snapshot()
    assert last is not None
    assert last.version == snapshot.version + 2
    assert {"new0.parquet", "new1.parquet"} <= {key.path for key in last.files}


def test_indexes_that_are_made_at_once(bucket: Bucket) -> None:
    bucket.numbers()
    failures: list[Exception] = []

    def make(index: MinMax | ValueList) -> None:
        try:
            bucket.table().create_index(index)
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=make, args=(index,)) for index in (MinMax("x"), ValueList("s"))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert failures == []
    assert {row["index"] for row in bucket.table().describe().rows} == {"MinMax(x)", "ValueList(s, limit=10000)"}
    bucket.check("x = 15", read=1)
    bucket.check("s = 'b15'", read=1)


@pytest.mark.parametrize("status", [409, 412])
def test_who_is_refused_before_the_other_is_there(bucket: Bucket, status: int) -> None:
    """S3 tells the second of two writers that there is a conflict while the first one's file cannot be listed yet."""
    bucket.numbers()
    refused: list[str] = []

    def conflict(request: Request) -> int:
        if request.what != "PUT" or not request.key.endswith(".json") or request.key in refused:
            return 0
        refused.append(request.key)
        return status

    with bucket.server.refusing(conflict):
        table = bucket.index(MinMax("x"))
    assert len(refused) == 2, "the empty index, and the records"
    assert table.describe().files_indexed == 4
    bucket.check("x = 15", read=1)
