"""Errors and warnings that users meet: sentences without the stack of Java; and what fails in a plugin keeps the files."""

from __future__ import annotations

import logging
from threading import Thread
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from data_skip import DataSkipError, DataSkipWarning, MinMax, ValueList
from data_skip.errors import in_a_sentence
from data_skip.planning import callback
from geo_skip import GeoBox
from tests.support import Lake, rows_of, settings_of


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


def test_what_no_format_would_cure(lake: Lake) -> None:
    with pytest.raises(DataSkipError, match="PATH_NOT_FOUND") as error:
        lake.skipping.table(str(lake.folder / "nope")).create_index(MinMax("x"))
    assert "give format" not in str(error.value)


class Panic(BaseException):
    """As what PyO3 makes of a panic."""


def test_what_ends_a_thread_keeps_the_files(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a panic in the Rust of a plugin's filter: the query failed, or waited for ever, where another thread than its own answers."""
    for i in range(2):
        lake.file(f"f{i}.parquet", {"x": [i]})
    lake.index(MinMax("x"))

    def panicked(*_: Any, **__: Any) -> Any:
        raise Panic("index out of bounds")

    frame = lake.view().where("x = 1")
    found: list[Any] = []
    with monkeypatch.context() as patched:
        patched.setattr(callback, "judge", panicked)
        query = Thread(target=lambda: found.extend(rows_of(frame)), daemon=True)
        query.start()
        query.join(60)
    assert len(found) == 1
    lake.check("x = 1", ["f1.parquet"])


def test_a_warning_that_is_raised_is_itself(lake: Lake) -> None:
    lake.file("0.parquet", {"lng": [100.0], "lat": [1.0]})
    with pytest.raises(DataSkipWarning, match="if lng and lat were swapped by mistake"):
        lake.index(GeoBox("lng", "lat"))
