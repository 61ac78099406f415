"""What an index is made of, and kept by: expressions, as trees of Spark, and parameters, which are neither rounded nor changed."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pyarrow as pa
import pyspark.sql.functions as F
import pytest
from pyspark.sql.types import DoubleType, IntegerType, StructField, StructType

from data_skip import BloomFilter, DataSkipError, Hybrid, Index, MetricDistance, MinMax, Prefix, Suffix, ValueList, versioned
from data_skip.building import binding
from data_skip.expression import Call, decode
from data_skip.planning.bound import usable
from data_skip.sample import Sample
from data_skip.store.definition import Definition
from tests.support import Lake, files_read, rows_of
from tests.test_store import READER


def test_an_origin_is_not_rounded_to_the_type_of_its_column(lake: Lake) -> None:
    lake.spark.udf.register("apart", versioned(lambda a, b: None if a is None or b is None else abs(float(a) - float(b)), 1), DoubleType())
    lake.file("a.parquet", {"n": pa.array([1, 2], pa.int32()), "x": pa.array([0.1, 1], pa.float32()), "s": ["1", "2"]})
    lake.file("b.parquet", {"n": pa.array([40, 50], pa.int32()), "x": pa.array([7, 8], pa.float32()), "s": ["a", None]})
    for column, origin in {"n": 2.5, "x": 0.1}.items():
        with pytest.raises(DataSkipError, match=r"the origin .* is no value of type"):
            lake.index(MetricDistance(column, origin=origin, metric="apart"))
    with pytest.raises(DataSkipError, match="no value of type string"):
        lake.index(MetricDistance("s", origin=1))
    with pytest.raises(DataSkipError, match="no value of type int"):
        lake.index(MetricDistance("n", origin=1 << 40, metric="apart"))
    lake.index(MetricDistance("n", origin=2, metric="apart"), MetricDistance("cast(n AS double)", origin=2.5, metric="apart"))
    lake.check("apart(n, 2.5D) <= 0.5", read=["a.parquet"])
    lake.check("apart(cast(n AS double), 2.5D) <= 0.5", read=["a.parquet"])


@pytest.mark.parametrize("index", [Prefix("value"), Suffix("value"), MetricDistance("value")], ids=str)
def test_a_file_with_other_text_is_merely_unknown(lake: Lake, index: Index) -> None:
    latin = pa.Array.from_buffers(pa.string(), 2, pa.array([b"caf\xe9", b"zz"], pa.binary()).buffers())
    lake.file("a.parquet", {"value": ["abc", "abd"], "n": [1, 2]})
    lake.file("b.parquet", {"value": ["xyzxyz", "xywxyw"], "n": [3, 4]})
    lake.file("c.parquet", {"value": latin, "n": [5, 6]})
    lake.index(index, MinMax("n"))
    where = "levenshtein(value, 'abc') <= 1" if isinstance(index, MetricDistance) else "value = 'abc'"
    assert lake.reads(where, "n = 1") == [{"a.parquet", "c.parquet"}, {"a.parquet"}]


class _Unfit(Index):
    def __init__(self, expression: str, size: int | None = None) -> None:
        super().__init__(expression, size=size)

    def fitted(self, sample: Sample) -> Index:
        raise ZeroDivisionError(str(sample.files))


def test_an_index_that_cannot_choose_says_so(lake: Lake) -> None:
    lake.file("a.parquet", {"n": [1, 2]})
    with pytest.raises(DataSkipError, match=r"_Unfit\(n\) cannot choose its open parameters .* ZeroDivisionError: 1; give them"):
        lake.index(_Unfit("n"))


def test_dates_of_timestamps_where_sql_means_local_ones(lake: Lake) -> None:
    hour, day = 3_600_000_000, 24 * 3_600_000_000
    for i, name in enumerate("abc"):
        moments: Any = [(19723 + i) * day + h * hour for h in (6, 12, 23, 26)]
        lake.file(f"{name}.parquet", {"t": pa.array(moments, pa.timestamp("us", "UTC")), "n": pa.array(moments, pa.timestamp("us"))})
    settings = {"spark.sql.session.timeZone": "America/New_York", "spark.sql.timestampType": "TIMESTAMP_NTZ"}
    before = {name: lake.spark.conf.get(name) for name in settings}
    try:
        for name, value in settings.items():
            lake.spark.conf.set(name, value)
        lake.index(MinMax("cast(t AS date)"), ValueList("cast(n AS date)"))
        times = ("2024-01-01 20:00:00", "2024-01-02 03:00:00", "2024-01-02 21:00:00")
        wheres = [
            f"{c} {op} timestamp_{kind}'{time}'" for time in times for c, kind in (("t", "ltz"), ("n", "ntz")) for op in ("=", "<", ">=")
        ]
        read = lake.reads(*wheres, "cast(t AS date) = date'2024-01-02'")
        assert read[-1] == {"b.parquet"}
        assert any(len(files) < 3 for files in read)
    finally:
        for name, value in before.items():
            lake.spark.conf.set(name, value)


_DEFAULTS = {"CURRENT_DEFAULT": "5", "EXISTS_DEFAULT": "5"}  # as the schema of a table with a DEFAULT has them


def test_functions_that_fill_in_a_default(lake: Lake) -> None:
    """An index over the same function without it was taken for one of this: rows were lost."""
    for name, a in (("a", 1), ("b", 2)):
        lake.file(name, {"j": [f'{{"a": {a}}}'], "c": [str(a)]})
    calls = [f"to_json(from_{kind}({kind[0]}, 'a int, b int'))" for kind in ("json", "csv")]
    lake.index(*map(ValueList, calls))
    frame = lake.view()
    for call in calls:
        lake.check(f"""{call} = '{{"a":1}}'""", read=["a"])
    schema = StructType([StructField("a", IntegerType()), StructField("b", IntegerType(), metadata=_DEFAULTS)])
    for given in (F.from_json("j", schema), F.from_csv("c", F.lit(schema.json()))):
        query = frame.where(F.to_json(given) == '{"a":1,"b":5}')
        assert files_read(lake.skipping, query, lake.folder) == {"a", "b"}
        assert rows_of(query) == {"Row(j='{\"a\": 1}', c='1')": 1}


@pytest.mark.parametrize("sql", ["concat(current_database(), s)", "datediff(current_date(), t)", "concat(current_user(), s)"])
def test_an_expression_that_asks_when_or_where_it_is_run(lake: Lake, sql: str) -> None:
    """An index of it served no query, and stopped each refresh of the table in another database, or on another day."""
    lake.file("a.parquet", {"s": ["a"], "t": pa.array([1], pa.date32())})
    with pytest.raises(DataSkipError, match="when, by whom or where it is run"):
        lake.table().create_index(ValueList(sql))


COLUMN = {"id": 0, "name": "AttributeReference", "type": "int", "column": "x", "partition": False}
MANY = {"values": [{"int": str(i)} for i in range(11)]}
IN_MANY = {"id": 1, "name": "InSet", "type": "boolean", "deterministic": True, "children": [COLUMN], "parameters": MANY}


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
