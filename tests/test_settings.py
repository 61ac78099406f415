"""The settings of data-skip, as people write them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from py4j.java_gateway import JavaGateway

import data_skip
from data_skip import DataSkipError, MinMax
from tests.support import Lake, settings_of


@pytest.mark.parametrize(("text", "skips"), [("TRUE", True), (" true ", True), ("1", True), ("on", True), ("False", False), ("off", False)])
def test_enabled(lake: Lake, text: str, skips: bool) -> None:
    for i in range(2):
        lake.file(f"{i}.parquet", {"x": [i]})
    lake.index(MinMax("x"))
    lake.view()
    with settings_of(lake.spark, {"spark.data_skip.enabled": text}):
        assert [row.x for row in lake.spark.sql("SELECT * FROM t WHERE x = 1").collect()] == [1]
        report = lake.skipping.report()
    assert [scan.files_skipped for scan in report.scans] == [1] * skips


def test_disabled_in_two_threads_that_leave_in_the_order_in_which_they_came(lake: Lake) -> None:
    spark = lake.spark
    first, second = lake.skipping.disabled(), lake.skipping.disabled()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert spark.conf.get("spark.data_skip.enabled") == "false"
    second.__exit__(None, None, None)
    assert spark.conf.get("spark.data_skip.enabled", None) is None
    with settings_of(spark, {"spark.data_skip.enabled": "TRUE"}):
        with lake.skipping.disabled():
            assert spark.conf.get("spark.data_skip.enabled") == "false"
        assert spark.conf.get("spark.data_skip.enabled") == "TRUE"


def test_what_is_known_of_stopped_sessions_is_forgotten(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    lake.file("0.parquet", {"x": [0]})
    lake.index(MinMax("x"))
    session = lake.spark.newSession()
    other = data_skip.enable(session)
    assert other.table(str(lake.folder)).files(where="x = 1") == []
    assert other.catalog._stores and other in data_skip.session._sessions.values()
    for module in (data_skip.session, data_skip.spark.jvm):
        monkeypatch.setattr(module, "stopped", lambda known: known is session)
    assert data_skip.enable(lake.spark) is lake.skipping
    assert not other.catalog._stores and other not in data_skip.session._sessions.values()
    with pytest.raises(DataSkipError, match="was stopped; make another"):
        data_skip.enable(session)
    monkeypatch.undo()
    assert data_skip.enable(session) is not other
    data_skip.disable(session)


def test_the_report_after_a_query_without_skipping_is_not_of_the_one_before(lake: Lake) -> None:
    lake.file("0.parquet", {"x": [0]})
    lake.index(MinMax("x"))
    lake.view()
    lake.spark.sql("SELECT * FROM t WHERE x = 1").collect()
    before = lake.skipping.report()
    assert before.scans[0].files_skipped == 1
    with lake.skipping.disabled():
        lake.spark.sql("SELECT * FROM t WHERE x = 1").collect()
    report = lake.skipping.report()
    assert int(report.execution_id) > int(before.execution_id) and report.scans == []
    assert "skipping was off" in str(report)
    lake.spark.sql("SELECT * FROM t WHERE x = 1").collect()
    assert lake.skipping.report().scans[0].files_skipped == 1


def test_threads_that_are_not_pinned_are_refused() -> None:
    """They know no settings of the query: a date_format under legacy policy lost its row."""
    context = SimpleNamespace(master="yarn", _jsc=True, _gateway=JavaGateway())  # as PySpark makes it with PYSPARK_PIN_THREAD=false
    session: Any = SimpleNamespace(_jsparkSession=SimpleNamespace(sessionUUID=lambda: "not pinned"), sparkContext=context)
    with pytest.raises(DataSkipError, match=r"PYSPARK_PIN_THREAD=false.*unset PYSPARK_PIN_THREAD"):
        data_skip.enable(session)
