"""What Python is told of a query, and what Spark's JVM keeps for it to be asked about."""

from __future__ import annotations

import gc
from collections import deque
from typing import Any

import pytest

from data_skip import MinMax
from data_skip.files.listing import Listing
from data_skip.planning import callback, decide
from data_skip.planning.report import Reports
from data_skip.spark import kept
from data_skip.spark.janino import load
from data_skip.spark.jvm import SOURCES
from tests.support import Lake, aged, rows_of

SQL = "SELECT * FROM t WHERE x > 50"


def _lake(lake: Lake) -> None:
    for i in range(3):
        lake.file(f"{i}.parquet", {"x": [100 * i, 100 * i + 1]})
    lake.index(MinMax("x"))
    lake.view()


def _kept(lake: Lake) -> int:
    """How many objects are kept."""
    gateway: Any = lake.spark.sparkContext._gateway
    loader = load(gateway, "data_skip", SOURCES).getClassLoader()
    return int(gateway.jvm.java.lang.Class.forName("data_skip.Kept", True, loader).getMethod("count", None).invoke(None, None))


def _kept_of_no_report(lake: Lake) -> int:
    """How many are kept for these two queries, and with records."""
    lake.skipping.reports()  # all of which it was told
    lake.skipping._callback.reports = Reports(lake.skipping._callback._decided_again)
    gc.collect()
    lake.spark.sql(SQL).collect()
    lake.spark.sql(SQL).collect()
    lake.skipping._callback.reports.take()  # which says what is gone
    return _kept(lake)


def test_what_no_report_needs_is_let_go(lake: Lake) -> None:
    _lake(lake)
    with_records = _kept_of_no_report(lake)  # of whatever tables the session has read
    for _ in range(6):
        lake.skipping.catalog.changed()  # so that Python is asked
        lake.spark.sql(SQL).collect()
    assert _kept(lake) >= with_records + 6
    assert _kept_of_no_report(lake) <= with_records + 2
    assert lake.skipping.report().scans[0].predicates[0].files_skipped_alone == 1


def test_a_look_at_indexes_that_fails(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """The JVM keeps nothing for its report, which failed then, and hears later of what is gone."""
    _lake(lake)
    with_records = _kept_of_no_report(lake)
    for _ in range(6):
        lake.spark.sql(SQL).collect()
    lake.skipping.reports()  # all of which it was told
    lake.skipping._callback.reports = Reports(lake.skipping._callback._decided_again)
    gc.collect()
    lake.skipping.catalog.changed()
    with monkeypatch.context() as failing:
        failing.setattr(callback, "_indexed", lambda *given: 1 / 0)
        assert len(lake.spark.sql(SQL).collect()) == 4
    assert lake.skipping.report().scans == []
    assert _kept_of_no_report(lake) <= with_records + 2


def test_nothing_is_kept_for_a_python_that_answers_nothing(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    _lake(lake)
    lake.spark.sql(SQL).collect()
    before = _kept(lake)
    monkeypatch.setattr(lake.skipping._callback, "_catalog", None)
    assert len(lake.spark.sql(SQL).collect()) == 4
    assert _kept(lake) <= before


def test_the_jvm_is_asked_nothing_where_it_was_told_enough(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    _lake(lake)
    lake.spark.sql(SQL).collect()  # from now on it is told which files are listed
    monkeypatch.setattr(lake.skipping.jvm, "kept", lambda number: pytest.fail("it was asked"))
    assert sorted(row.x for row in lake.spark.sql(SQL).collect()) == [100, 101, 200, 201]
    monkeypatch.undo()
    (scan,) = lake.skipping.report().scans
    assert (scan.files_read, scan.files_skipped, scan.rows_kept) == (2, 1, 4)


def test_a_file_that_has_changed_since_it_was_listed(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """The JVM finds that out after the answer: then it has Python take the files away, and tell of it, as if it had answered nothing."""
    _lake(lake)
    lake.spark.sql(SQL).collect()
    taken: list[bool] = []
    take_away = decide.take_away

    def noted(judgement: Any) -> Any:
        found = take_away(judgement)
        taken.append(found.at_once)
        return found

    monkeypatch.setattr(callback, "take_away", noted)
    lake.file("0.parquet", {"x": [70, 2]})
    with lake.skipping.disabled():
        expected = rows_of(lake.spark.sql(SQL))
    assert rows_of(lake.spark.sql(SQL)) == expected
    assert taken == [False, True]
    (scan,) = lake.skipping.report().scans
    assert (scan.files_read, scan.files_skipped) == (3, 0)


def test_an_answer_that_cannot_be_followed_is_asked_for_once_more(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    _lake(lake)
    lake.spark.sql(SQL).collect()
    asked: list[bool] = []
    of = Listing.of

    def noted(*given: Any) -> Listing:
        found = of(*given)
        asked.append(found.is_answered)
        return found

    monkeypatch.setattr(Listing, "of", noted)
    monkeypatch.setattr(decide, "told", lambda snapshot, versions: "unknown AAAA")
    assert sorted(row.x for row in lake.spark.sql(SQL).collect()) == [100, 101, 200, 201]
    assert asked == [True, False]
    assert lake.skipping.report().scans[0].files_skipped == 1


def test_settings_of_hadoop_as_they_are_set_and_taken_away(lake: Lake) -> None:
    """What is set of a library that reads files counts as it is at each listing; what was set to its default as well."""
    _lake(lake)
    hadoop: Any = lake.spark.sparkContext._jsc.hadoopConfiguration()
    key = "parquet.block.size"

    def told() -> str | None:
        (scan,) = lake.skipping.jvm.scans(lake.spark.sql(SQL))
        return scan.settings[0].get(key)

    assert told() is None
    for value in ("7", "8"):
        hadoop.set(key, value)
        assert told() == value
    hadoop.unset(key)
    assert told() is None
    resource = lake.folder.parent / "site.xml"
    resource.write_text(f"<configuration><property><name>{key}</name><value>9</value></property></configuration>")
    try:
        hadoop.addResource(lake.spark._jvm.org.apache.hadoop.fs.Path(str(aged(resource))))  # type: ignore[union-attr]
        assert told() == "9"
        hadoop.set(key, "10")
        assert told() == "10"
    finally:
        resource.write_text("<configuration/>")
        hadoop.unset(key)
        hadoop.reloadConfiguration()
    assert told() is None


def test_queries_that_ask_at_once_what_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """What one of them has seen the other one takes: it raised an IndexError, and the query read all files."""

    class Taken(deque[str]):
        def __bool__(self) -> bool:
            return True

    monkeypatch.setattr(kept, "_GONE", Taken(["1", "2"]))
    assert kept.gone() == "1,2"
