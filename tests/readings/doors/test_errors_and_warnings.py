"""What a first-time user met: partitions named in another case, the stack of Java in a warning, functions of logs registered again."""

from __future__ import annotations

import logging

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

import log_skip
from data_skip import DataSkipError, MinMax, ValueList
from data_skip.errors import in_a_sentence
from log_skip.extractors import Extractor
from tests.support import Lake, settings_of

BY_SPARK = "Spark has pruned the partitions itself"


@pytest.fixture
def regions(lake: Lake) -> Lake:
    """Two files of each of two regions, x from 0 to 39."""
    for i in range(4):
        lake.file(f"region={'ab'[i // 2]}/{i}.parquet", {"x": list(range(10 * i, 10 * i + 10))})
    lake.index(MinMax("x"))
    lake.view()
    return lake


@pytest.mark.parametrize("name", ["region", "Region", "REGION"])
def test_a_partition_column_in_another_case(regions: Lake, name: str) -> None:
    regions.check(f"{name} = 'a' OR x = 35", {"region=a/0.parquet", "region=a/1.parquet", "region=b/3.parquet"})
    regions.check(f"{name} = 'a' AND x = 5 OR {name} = 'b' AND x = 5", {"region=a/0.parquet"})
    report = regions.check(f"{name} = 'a'", {"region=a/0.parquet", "region=a/1.parquet"})
    assert (report.files_read, report.files_total) == (2, 2)
    assert {predicate.why_not for predicate in report.predicates} == {BY_SPARK}
    report = regions.check(f"{name} = 'a' AND X > 5 AND x < 8", {"region=a/0.parquet"})
    assert (report.files_read, report.files_total) == (1, 2)


def test_a_partition_column_in_another_case_by_snapshot(regions: Lake) -> None:
    regions.skipping.read(str(regions.folder), "snapshot").createOrReplaceTempView("t")
    report = regions.check("REGION = 'a' AND x = 5", {"region=a/0.parquet"})
    assert (report.files_read, report.files_total) == (1, 2)


def test_a_schema_in_another_case_than_the_folders(regions: Lake) -> None:
    regions.view(schema="x bigint, REGION string")
    regions.check("region = 'a' OR x = 35")
    report = regions.check("Region = 'a'")
    assert (report.files_read, report.files_total) == (2, 2)


def test_no_index_over_a_partition_column_in_another_case(regions: Lake) -> None:
    with pytest.raises(DataSkipError, match="'REGION' reads the partition column region"):
        regions.table().create_index(MinMax("REGION"))


def test_case_that_matters(lake: Lake) -> None:
    with settings_of(lake.spark, {"spark.sql.caseSensitive": "true"}):
        for i in range(4):
            lake.file(f"region={'ab'[i // 2]}/{i}.parquet", {"REGION": list(range(10 * i, 10 * i + 10))})
        lake.index(MinMax("REGION"))
        lake.view()
        lake.check("REGION = 5", {"region=a/0.parquet"})
        lake.check("region = 'a' OR REGION = 35", {"region=a/0.parquet", "region=a/1.parquet", "region=b/3.parquet"})


def test_what_java_says_is_told_without_its_stack(spark: SparkSession) -> None:
    assert spark._jvm is not None
    with pytest.raises(Py4JJavaError) as raised:
        spark._jvm.java.util.Optional.empty().get()
    assert in_a_sentence(raised.value) == "java.util.NoSuchElementException: No value present"
    with pytest.raises(Py4JJavaError) as raised:
        spark._jvm.java.util.Objects.checkIndex(3, 0)
    assert in_a_sentence(raised.value) == "IndexOutOfBoundsException: Index 3 out of bounds for length 0"
    assert in_a_sentence(ValueError("of Python")) == "ValueError: of Python"


def test_a_warning_is_a_sentence(lake: Lake, caplog: pytest.LogCaptureFixture) -> None:
    for name, text in {"short": "cba", "long": "a" * 20_000}.items():
        lake.file(name, {"s": [text], "n": [len(text)]})
    lake.index(ValueList("s"), ValueList("n"))
    ordered = "exists(split(s, ''), x -> exists(split(s, ''), y -> x > y))"  # each two letters are compared
    lake.check("n < 9", {"short"})  # the index is at hand, then
    with caplog.at_level(logging.WARNING, "data_skip"), settings_of(lake.spark, {"spark.data_skip.decideSeconds": "1"}):
        report = lake.query(f"SELECT n FROM t WHERE n < 9 AND {ordered}", errors=True).scans[-1]
    (error,) = report.errors
    assert "IllegalStateException: Spark evaluates this of some value for more than 0.5 s: " in error
    assert f"data-skip keeps the files of {report.table} that it is unsure of: {error}" in caplog.messages
    assert not [text for text in [error, *caplog.messages] if "\n" in text or "Py4JJavaError" in text or "\tat " in text]


@pytest.mark.parametrize("table", ["one", "another"])  # the folder's name is of it
def test_what_fails_over_each_table_is_warned_of(
    lake: Lake, table: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> None:
        raise ValueError("broken on purpose")

    monkeypatch.setattr("data_skip.indexes.min_max.satisfying", broken)
    lake.file("a", {"x": [1]})
    lake.index(MinMax("x"))
    lake.view()
    for _ in range(2):
        report = lake.query("SELECT * FROM t WHERE x = 2", ["a"], errors=True).scans[-1]
    assert report.errors and all(error.endswith("ValueError: broken on purpose") for error in report.errors)
    warnings = {f"data-skip keeps the files of {report.table} that it is unsure of: {error}" for error in report.errors}
    assert sorted(caplog.messages) == sorted(warnings)


def test_a_log_is_read_again_without_registering_again(spark: SparkSession, lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    registered: list[str] = []
    monkeypatch.setattr(Extractor, "register", lambda self, spark: registered.append(self.name))
    session = spark.newSession()
    with pytest.raises(Exception, match="access_log_"):  # nothing was registered
        log_skip.read_access_log(session, str(lake.folder))
    assert "access_log_ip" in registered
    registered.clear()
    with pytest.raises(Exception, match="access_log_"):
        log_skip.read_access_log(session, str(lake.folder))
    assert not registered
    log_skip.register(session)
    assert "access_log_ip" in registered
