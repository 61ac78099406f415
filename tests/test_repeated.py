"""A scan that is planned again as it was is not decided again; whatever may matter decides it anew."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from pyspark.sql import functions as F

import data_skip
from data_skip import MinMax, versioned
from data_skip.expression import calls_others, decode
from data_skip.planning import callback, repeated
from data_skip.spark.errors import SPARK_ERRORS
from tests.support import Lake, aged, rows_of, settings_of

SQL = "SELECT * FROM t WHERE x < 15 AND s >= 'a1'"
Decided = Callable[[str], int]


@pytest.fixture
def decided(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> Decided:
    """How often a query is decided whose rows are those without skipping."""
    judged: list[Any] = []
    judge = callback.judge
    monkeypatch.setattr(callback, "judge", lambda *given, **more: judged.append(given) or judge(*given, **more))
    for i in range(4):
        lake.file(f"p={i % 2}/f{i}.parquet", {"x": [10 * i, 10 * i + 1], "s": [f"a{i}", f"b{i}"]})
    lake.index(MinMax("x"), MinMax("s"))
    lake.view("t")
    known = "SELECT * FROM t WHERE x = 0"  # of the first listing by a version of an index too much is asked

    def count(sql: str) -> int:
        with lake.skipping.disabled():
            expected = rows_of(lake.spark.sql(sql))
        lake.spark.sql(known).collect()
        judged.clear()
        assert rows_of(lake.spark.sql(sql)) == expected
        return len(judged)

    return count


def test_what_is_planned_again_is_not_decided_again(lake: Lake, decided: Decided) -> None:
    assert decided(SQL) == 1 and decided(SQL) == 0
    first, again = [report for report in lake.skipping.reports() if report.scans and report.scans[0].files_read == 2][-2:]
    assert again.execution_id != first.execution_id and first.scans[0].files_skipped == 2
    for scan in (first.scans[0], again.scans[0]):
        assert scan.milliseconds > 0 and scan.pictured is not None
        scan.milliseconds = 0
    assert again.scans == first.scans and [p.files_skipped_alone for p in again.scans[0].predicates][:2] == [2, 0]


@pytest.mark.parametrize("sql", ["SELECT * FROM t WHERE x < 15", "SELECT * FROM t WHERE x < 16", "SELECT s FROM t WHERE x < 15"])
def test_another_query_is_another(decided: Decided, sql: str) -> None:
    assert decided(SQL) == 1 and decided(sql) == 1 and decided(SQL) == 0


def test_files_that_come_change_and_go(lake: Lake, decided: Decided) -> None:
    for change in (
        lambda: lake.file("p=0/new.parquet", {"x": [3], "s": ["a"]}),
        lambda: lake.file("p=1/f3.parquet", {"x": [4], "s": ["a"]}),
        lambda: (lake.folder / "p=0/f0.parquet").unlink(),
        lambda: aged(lake.folder / "p=0/f2.parquet", 9000),
    ):
        decided(SQL)
        change()
        lake.view("t")
        assert decided(SQL) == 1
        assert decided(SQL) == 0


def test_a_file_that_changed_since_it_was_listed(lake: Lake, decided: Decided) -> None:
    listed = lake.spark.sql(SQL)
    assert decided(SQL) == 1
    aged(lake.folder / "p=1/f3.parquet", 9000)  # which the view has not listed anew
    assert decided(SQL) == 1 and lake.skipping.report().scans[0].files_skipped == 1
    assert listed.count() == 3


def test_another_version_of_the_index(lake: Lake, decided: Decided) -> None:
    decided(SQL)
    lake.file("p=0/new.parquet", {"x": [3, 99], "s": ["a", "b"]})
    lake.table().refresh()
    lake.view("t")
    assert decided(SQL) == 1 and decided(SQL) == 0
    lake.table().drop_index(MinMax("x"), MinMax("s"))
    assert decided(SQL) == 0 and lake.skipping.report().scans[0].files_skipped == 0


def test_records_that_are_kept_no_more(lake: Lake, decided: Decided) -> None:
    decided(SQL)
    [(_, snapshot)] = lake.skipping.catalog.find([f"file:{lake.folder}"])
    snapshot.let_go(MinMax("x").column)
    assert decided(SQL) == 0
    scan = lake.skipping.report().scans[0]
    assert scan.files_skipped == 2 and any("not known any more" in note for note in scan.notes)


def test_what_was_planned_before_skipping_was_taken_out(lake: Lake, decided: Decided) -> None:
    assert decided(SQL) == 1 and decided(SQL) == 0
    session = lake.spark.newSession()
    other = data_skip.enable(session)
    for _ in range(3):
        session.read.parquet(str(lake.folder)).where("x < 15").collect()
    assert other.report().scans[0].files_skipped == 2
    planned = session.read.parquet(str(lake.folder)).where("x < 15")
    planned._jdf.queryExecution().executedPlan()
    data_skip.disable(session)
    (lake.folder / "p=0/f0.parquet").unlink()
    with pytest.raises(SPARK_ERRORS):
        planned.collect()


def test_reports_of_more_decisions_than_are_kept(lake: Lake, decided: Decided, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are told as far as they are known; the rows are the same."""
    monkeypatch.setattr(repeated, "_MOST", 1)
    assert decided(SQL) == 1 and decided("SELECT s FROM t WHERE x < 14") == 1 and decided(SQL) == 0
    assert lake.skipping.report().execution_id


def test_settings_and_what_is_known_of_indexes(lake: Lake, decided: Decided) -> None:
    decided(SQL)
    with settings_of(lake.spark, {"spark.sql.session.timeZone": "Asia/Kolkata"}):
        assert decided(SQL) == 1
    assert decided(SQL) == 0
    lake.skipping.catalog.knowledge = replace(lake.skipping.catalog.knowledge)
    assert decided(SQL) == 1


def test_what_sparks_own_functions_give_is_asked_once(lake: Lake, decided: Decided) -> None:
    for where in ("x + 1 = 12", "x % 7 = 4", "substring(s, 1, 2) = 'a1'", "date_add(date'2020-01-01', int(x)) = date'2020-01-12'"):
        sql = f"SELECT * FROM t WHERE {where}"
        assert decided(sql) == 1
        assert decided(sql) == 0, where
        assert lake.skipping.report().scans[0].files_skipped > 0, where
        decided(sql)
        with settings_of(lake.spark, {"spark.sql.ansi.enabled": "false"}):
            assert decided(sql) == 1, where


@pytest.mark.parametrize("where", ["plus_one(x) = 12", "p + x = 11"])
def test_what_others_are_asked_about_is_asked_again(lake: Lake, decided: Decided, where: str) -> None:
    lake.spark.udf.register("plus_one", F.udf(versioned(lambda x: x + 1, 1), "long"))
    lake.index(MinMax("plus_one(x)"))
    sql = f"SELECT * FROM t WHERE {where}"
    assert decided(sql) >= 1
    assert lake.skipping.report().scans[0].files_skipped > 0
    assert decided(sql) >= 1


@pytest.mark.parametrize(
    ("called_on", "parameters", "others"),
    [
        ({"int": "7"}, {}, False),
        ({"text": "JP8="}, {}, True),
        ({"opaque": '["users.Function",7]'}, {}, True),  # of a catalog: Spark invokes a method of it
        ({"array": [{"opaque": "?CalendarInterval@1@2"}]}, {}, True),
        ({"int": "7"}, {"options": {"rowValidationXSDPath": "/some.xsd"}}, True),
        ({"int": "7"}, {"function": "?Lambda@1@2"}, True),
        ({"int": "7"}, {"code": "a digest of a jar"}, True),
    ],
)
def test_what_is_of_others(called_on: Any, parameters: Any, others: bool) -> None:
    constant = {"id": 1, "type": "any", "value": called_on}
    tree = {"id": 0, "type": "bigint", "name": "Invoke", "children": [constant], "parameters": parameters, "deterministic": True}
    assert calls_others([decode(tree)]) == others
