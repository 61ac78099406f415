"""Bad input: a clear error that says what to do and nothing written, or nothing skipped and a report that says why."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import data_skip
from data_skip import DataSkipError, MinMax, Prefix, Skipping, ValueList
from tests.support import Lake


@pytest.fixture(scope="module")
def lake(spark: SparkSession, skipping: Skipping, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    lake = Lake(spark, skipping, tmp_path_factory.mktemp("errors") / "table")
    maps = pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int64()))
    lake.file("p=1/a.parquet", {"x": [1], "s": ["a"], "m": maps, "a": [[1]], "n": [{"b": 1}]})
    return lake


@pytest.mark.parametrize(
    ("index", "message"),
    [
        (MinMax("nowhere"), "MinMax.nowhere.*UNRESOLVED_COLUMN.*nowhere"),
        (MinMax("n.nowhere"), "n.nowhere"),
        (MinMax("x +"), "Spark does not understand 'x .'.*PARSE_SYNTAX_ERROR"),
        (MinMax("no_such_function(x)"), "no_such_function"),
        (MinMax("x + rand()"), "not deterministic .Rand."),
        (MinMax("uuid()"), "not deterministic .Uuid."),
        (MinMax("monotonically_increasing_id()"), "not deterministic"),
        (MinMax("spark_partition_id() + x"), "not deterministic"),
        (MinMax("input_file_name()"), "not deterministic"),
        (MinMax("1 + 1"), "constant"),
        (MinMax("current_date()"), "constant"),
        (MinMax("p"), "partition column p"),
        (MinMax("x + p"), "partition column p"),
        (MinMax("_metadata.file_path"), "no column of the files"),
        (ValueList("_metadata.file_block_start"), "no column of the files"),
        (MinMax("max(x)"), "more than an expression over one row|aggregate"),
        (MinMax("explode(a)"), "more than an expression over one row|generator"),
        (MinMax("row_number() OVER (ORDER BY x)"), "more than an expression over one row|window"),
        (MinMax("x + (SELECT max(id) FROM range(3))"), "subquery"),
        (MinMax("array(m)"), "map<.*> have no order"),
        (MinMax("m"), "map<.*> have no order"),
        (MinMax("n"), "struct<.*> have no order"),
        (MinMax("s COLLATE UNICODE"), "order of string collate UNICODE"),
        (ValueList("array(n)"), "cannot be listed"),
        (ValueList("named_struct('s', s COLLATE UNICODE)"), "struct<.*> cannot be listed; index a field"),
        (ValueList("map(x, s COLLATE UNICODE)"), "map<.*> cannot be listed"),
        (MinMax("named_struct('s', s COLLATE UNICODE)"), "struct<.*> have no order"),
        (Prefix("x"), "takes a string"),
        (Prefix("s COLLATE UTF8_LCASE"), "without collation"),
    ],
    ids=str,
)
def test_what_cannot_be_indexed_is_refused(lake: Lake, index: Any, message: str) -> None:
    with pytest.raises(DataSkipError, match=f"(?s){message}"):
        lake.table().create_index(MinMax("x"), index)
    assert not list(lake.folder.parent.rglob("[._]data_skip"))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MinMax(), "takes 1 SQL expression"),
        (lambda: MinMax("a", "b"), "takes 1 SQL expression"),
        (lambda: MinMax(""), "non-empty"),
        (lambda: MinMax(5), "non-empty strings, not 5"),  # type: ignore[arg-type]
        (lambda: Prefix("s", 0), "at least 1, not 0"),
        (lambda: Prefix("s", "4"), "whole number"),  # type: ignore[arg-type]
        (lambda: ValueList("s", limit=0), "at least 1"),
    ],
)
def test_parameters_of_indexes(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_tables_that_are_none(lake: Lake, tmp_path: Path) -> None:
    skipping, spark = lake.skipping, lake.spark
    empty, words = tmp_path / "empty", tmp_path / "words"
    empty.mkdir()
    words.mkdir()
    (words / "a.txt").write_text("hello\n")
    spark.range(3).createOrReplaceTempView("a_view")
    spark.read.parquet(str(lake.folder)).limit(1).createOrReplaceTempView("a_limit")
    for name, kwargs, message in (
        (str(tmp_path / "nowhere"), {}, "PATH_NOT_FOUND.*nowhere"),
        (str(empty), {}, "UNABLE_TO_INFER_SCHEMA.*there is no file that it would read"),
        (str(words), {}, "a.txt|Parquet|give format"),
        ("no_such_table", {}, "cannot be read"),
        ("a_view", {}, "no table of files"),
        ("a_limit", {}, "no table of files"),
        (str(lake.folder), {"format": "nonsense"}, "nonsense"),
        (str(lake.folder), {"format": "parquet", "schema": "x bigint,,"}, "Syntax error"),
        (f"{words},{empty}", {"format": "text"}, "PATH_NOT_FOUND"),
        (str(words), {"format": "binaryFile"}, "format 'binaryFile' is not supported.*parquet"),
    ):
        with pytest.raises(DataSkipError, match=f"(?s){message}"):
            skipping.table(name, **kwargs).create_index(MinMax("x"))
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a.txt", "empty", "words"]


def test_table_without_files_is_indexed_as_it_fills(lake: Lake, tmp_path: Path) -> None:
    other = Lake(lake.spark, lake.skipping, tmp_path / "filling")
    table = other.table(format="parquet", schema="x bigint")
    assert table.create_index(MinMax("x")).files_collected == 0
    other.file("a.parquet", {"x": [1]})
    other.view("filling", schema="x bigint")
    other.query("SELECT * FROM filling WHERE x > 5", read=["a.parquet"])
    assert table.refresh().files_collected == 1
    other.query("SELECT * FROM filling WHERE x > 5", read=[])
    lake.spark.catalog.dropTempView("filling")


def test_indexes_that_exist_or_do_not(lake: Lake) -> None:
    table = lake.table()
    with pytest.raises(DataSkipError, match=r"no index to refresh; create_index"):
        table.refresh()
    with pytest.raises(DataSkipError, match=r"has no index; create_index"):
        table.metadata()
    with pytest.raises(DataSkipError, match=r"create_index takes indexes"):
        table.create_index()
    with pytest.raises(DataSkipError, match=r"create_index takes indexes.*'x'"):
        table.create_index("x")  # type: ignore[arg-type]
    with pytest.raises(DataSkipError, match="asked for twice"):
        table.create_index(MinMax("x"), MinMax("x"))
    assert table.describe().version is None or not table.describe().rows
    table.create_index(MinMax("x"))
    version = table.describe().version
    with pytest.raises(DataSkipError, match=r"MinMax\(x\) exists already.*refresh\(\).*drop_index"):
        table.create_index(ValueList("s"), MinMax("x"))
    with pytest.raises(DataSkipError, match=r"has no ValueList\(s\).*describe"):
        table.drop_index(MinMax("x"), ValueList("s"))
    with pytest.raises(DataSkipError, match="does not understand 'nowhere = 1'"):
        table.files("nowhere = 1")
    assert table.describe().version == version
    table.drop_index(MinMax("x"))


def test_sessions_that_cannot_be_enabled(spark: SparkSession, skipping: Skipping, tmp_path: Path) -> None:
    with pytest.raises(DataSkipError, match="Spark Connect"):
        data_skip.enable(SimpleNamespace())  # type: ignore[arg-type]
    with pytest.raises(DataSkipError, match="index_root"):
        data_skip.enable(spark, index_root=str(tmp_path))
    for nowhere in ("", " ", 3):
        with pytest.raises(DataSkipError, match=f"index_root={nowhere!r} is no folder; give a path of this machine"):
            data_skip.enable(spark.newSession(), index_root=nowhere)  # type: ignore[arg-type]
    assert data_skip.enable(spark) is skipping
    other = spark.newSession()
    data_skip.disable(other)  # was never enabled: no error
    assert data_skip.enable(other, index_root=tmp_path / "indexes").index_root == str(tmp_path / "indexes")
    data_skip.disable(other)
