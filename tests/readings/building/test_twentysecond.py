"""What the twenty-second reading found false."""

from __future__ import annotations

import copy
import io
import threading
import time
from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from data_skip import BloomFilter, DataSkipError, Hybrid, Index, MinMax
from data_skip.building import binding
from data_skip.building.remote_files import RemoteFiles
from data_skip.expression import Call, decode
from data_skip.planning.bound import usable
from data_skip.store.definition import Definition
from data_skip.store.layout import StoreError
from data_skip.store.sizes import refuse_large
from data_skip.store.snapshot import Snapshot
from data_skip.store.storage_options import StorageOptions, storage_options
from tests.test_store import READER

COLUMN = {"id": 0, "name": "AttributeReference", "type": "int", "column": "x", "partition": False}
MANY = {"values": [{"int": str(i)} for i in range(11)]}
IN_MANY = {"id": 1, "name": "InSet", "type": "boolean", "deterministic": True, "children": [COLUMN], "parameters": MANY}


class Told:
    """Hadoop, of which some keys are set."""

    def __init__(self, **keys: str) -> None:
        self._keys = {f"fs.s3a.{key.replace('__', '.')}": value for key, value in keys.items()}

    def told(self, _: str, keys: Iterable[str], secrets: Iterable[str]) -> dict[str, Any]:
        asked = {*keys, *secrets}
        told = {"set": {key: value for key, value in self._keys.items() if key in asked}, "overrides": {}}
        return {**told, "file_system": "org.apache.hadoop.fs.s3a.S3AFileSystem"}


@pytest.mark.parametrize(
    ("bucket", "leads"), [("bucket", "arn:aws:s3:eu-west-1:123456789012:accesspoint/other"), ("another", ""), ("bucket", "")]
)
def test_an_access_point_may_lead_to_another_bucket(bucket: str, leads: str) -> None:
    """S3A asks it for all that a bucket's name stands for; deltalake asks the bucket of that name, which may be anybody's."""
    told: Any = Told(**{f"bucket__{bucket}__accesspoint__arn": leads})
    found = storage_options("s3a://bucket/a", told)
    assert (found.of_hadoop, found.say_where) == (not leads, bool(leads))


def test_an_access_point_of_another_bucket_does_not_count() -> None:
    told: Any = Told(bucket__another__accesspoint__arn="arn:aws:s3:eu-west-1:123456789012:accesspoint/other")
    found = storage_options("s3a://bucket/a", told)
    assert found.of_hadoop and not found.say_where


@pytest.mark.parametrize("name", ["AZURE_USE_FABRIC_ENDPOINT", "use_fabric_endpoint", "AWS_PROXY_URL", "PROXY_URL"])
def test_another_host_by_the_environment(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "true" if "FABRIC" in name.upper() else "http://127.0.0.1:10")
    root = "abfss://files@account.dfs.core.windows.net/a"
    files = RemoteFiles(root, StorageOptions({"azure_storage_account_key": "YQ=="}), {f"{root}/x": 10})
    with pytest.raises(OSError, match=name):
        files.opened(f"{root}/x")


def test_a_tree_is_decoded_as_often_as_one_likes() -> None:
    """An index over `x IN (...)` of more than ten constants was a KeyError: they were taken out of what was to be kept."""
    tree = copy.deepcopy(IN_MANY)
    first = decode(tree)
    assert tree == IN_MANY
    assert decode(tree) == first
    assert isinstance(first, Call) and len(first.children) == 12
    definition = Definition("MinMax", ("x IN (0, 1)",), {}, 1, (tree,), {**READER, "session": {}})
    assert definition.bound_expressions == (first,)
    assert Definition.from_json(definition.to_json()).bound_expressions == (first,)


class _Spark:
    """What binds an expression to a table of one column, with one tree whatever is asked."""

    schema = (type("Field", (), {"dataType": None}),)

    def __init__(self, tree: Any) -> None:
        self.tree = tree
        self.description = self.settings = None

    def select(self, *_: Any) -> _Spark:
        return self

    def expression(self, _: Any) -> Any:
        return self.tree

    def alias(self, _: str) -> _Spark:
        return self

    def why_not_evaluated(self, _: str) -> str:
        return ""

    def mixes_environments(self, _: Any) -> bool:
        return False

    def mistakes(self, _: Any) -> bool:
        return False

    def asks_who_and_when(self, _: Any) -> bool:
        return False

    def reader(self, _: Any) -> dict[str, Any]:
        return {"format": "parquet", "options": {}, "columns": [], "session": {}}


def _bound(index: Index, tree: Any, monkeypatch: pytest.MonkeyPatch) -> binding.Binding:
    spark: Any = _Spark(tree)
    monkeypatch.setattr(binding.F, "expr", lambda _: spark)
    monkeypatch.setattr(binding, "Reading", lambda *_: spark)
    monkeypatch.setattr(binding, "why_unsteady_as_read", lambda *_: "")
    monkeypatch.setattr(binding, "unsure", lambda _: "")
    monkeypatch.setattr(binding, "_record_type", lambda *_: pa.struct([("any", pa.null())]))
    return binding.bind(index, spark, spark, spark)


def test_many_constants_are_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    tree = copy.deepcopy(IN_MANY)
    assert _bound(MinMax("x IN (0, 1)"), tree, monkeypatch).definition.trees == (IN_MANY,)


@pytest.mark.parametrize(("deep", "sql", "why"), [(250, "x", "deep"), (3000, "x", "deep"), (1, "x + " * 20_000 + "x", "expressions=")])
def test_what_the_store_does_not_take_is_refused_before_files_are_read(
    deep: int, sql: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was a ValueError, after all files were read."""
    tree: Any = COLUMN
    for i in range(deep):
        tree = {"id": i, "name": "UnaryMinus", "type": "int", "deterministic": True, "children": [tree]}
    with pytest.raises(DataSkipError, match=why) as refused:
        _bound(MinMax(sql), tree, monkeypatch)
    assert len(str(refused.value)) < 500


@pytest.mark.parametrize(("length", "rows"), [(1 << 20, 600), (20, 1 << 14)])
def test_values_of_a_fixed_length_may_be_long(length: int, rows: int) -> None:
    """Each was taken for a decimal of 16 bytes: a dictionary holds it once."""
    values = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), pa.array([b"x" * length], pa.binary(length)))
    table = pa.table({"a": values.cast(pa.binary(length))})
    file = io.BytesIO()
    pq.write_table(table, file, dictionary_pagesize_limit=1 << 24)
    read = pa.BufferReader(file.getvalue())
    assert refuse_large(read, None, 1 << 40) >= length * rows
    with pytest.raises(ValueError, match="bytes of memory"):
        refuse_large(read, None, length * rows - 1)


def test_decimals_take_what_they_take() -> None:
    file = io.BytesIO()
    pq.write_table(pa.table({"a": pa.array(range(1000), pa.decimal128(12, 0))}), file)
    assert refuse_large(pa.BufferReader(file.getvalue()), None, 1 << 16) >= 16_000


def test_records_that_failed_too_late_are_asked_for_again() -> None:
    """Whoever asked next, however much later, was told the error of then, and read all files."""
    snapshot = Snapshot.__new__(Snapshot)
    snapshot.location = "s3://bucket/a"
    snapshot._lock, snapshot._asking = threading.Lock(), threading.Lock()
    snapshot._records, snapshot._asked, snapshot._sizes = {}, {}, {}
    slow = threading.Event()

    def fails(columns: list[str]) -> dict[str, pa.StructArray]:
        slow.wait()
        raise StoreError("the store did not answer")

    found = {"x": pa.array([{"min": 1}])}
    snapshot._begun = {}
    snapshot._read_records = fails  # type: ignore[method-assign]
    with pytest.raises(StoreError, match="have not come in the time"):
        snapshot.records(["x"], until=time.perf_counter())
    slow.set()
    while snapshot._asked:
        time.sleep(0.001)
    snapshot._read_records = lambda columns: found  # type: ignore[method-assign]
    assert snapshot.records(["x"], until=time.perf_counter() + 10)["x"].to_pylist() == [{"min": 1}]
    assert not snapshot._asked


class Words(Index):
    """Whose author takes whatever JSON keeps in another form."""

    fields = {"least": pa.int32()}

    def __init__(self, *expressions: str, words: Any = ()) -> None:
        super().__init__(*expressions, words=words)


@pytest.mark.parametrize(
    "index",
    [BloomFilter("x", fpp=np.float64(0.02)), Hybrid("x", fpp=np.float64(0.02)), Words("x", words=("a", ("b",))), Words("x", words={1: 2})],
)
def test_an_index_is_the_same_once_it_was_kept(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its column had a name of what was given, and was looked for by what was kept: it was made, and never used."""
    definition = _bound(index, copy.deepcopy(COLUMN), monkeypatch).definition
    again = usable(Definition.from_json(definition.to_json()), {type(index).__name__: type(index)})
    assert isinstance(again, Index)
    assert (again, again.column, again.parameters) == (index, index.column, index.parameters)


def test_parameters_that_cannot_be_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DataSkipError, match="JSON"):
        _bound(Words("x", words={"a"}), COLUMN, monkeypatch)
