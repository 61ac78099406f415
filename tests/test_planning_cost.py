"""What planning asks, and how often: of a table with many indexes, and of a predicate with many parts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from data_skip import MinMax, ScanReport, ValueList
from data_skip.files.listing import Listing
from data_skip.planning.callback import Callback
from data_skip.spark.bridge import Scan
from tests.support import Lake


def test_only_indexes_of_the_predicates_columns_are_looked_at(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    for i in range(3):
        lake.file(f"{i}.parquet", {"x": [i], "y": [i]})
    lake.index(MinMax("x"), MinMax("y"))
    monkeypatch.setattr(MinMax, "version", 1000)  # none can be used
    (note,) = lake.check("x = 1").notes
    assert "MinMax(x)" in note


def test_any_index_tells_which_files_have_no_rows(lake: Lake) -> None:
    lake.file("rows.parquet", {"x": [1], "y": [1]})
    lake.file("empty.parquet", {"x": pa.array([], pa.int64()), "y": pa.array([], pa.int64())})
    lake.index(MinMax("y"))
    lake.check("x = 1", read={"rows.parquet"})


def _wrapped(lake: Lake, sql: str) -> int:
    """Runs a query twice, whose rows are those without skipping; of how many of its scans Python chooses the files the second time."""
    lake.query(sql)
    plan = lake.spark.sql(sql)._jdf.queryExecution().optimizedPlan()
    lake.query(sql)
    scans = [leaf for leaf in _leaves(plan) if leaf.getClass().getSimpleName() == "LogicalRelation"]
    return sum("SkippingFileIndex" in scan.relation().location().getClass().getSimpleName() for scan in scans)


def _leaves(plan: Any) -> Iterator[Any]:
    found = plan.collectLeaves()
    yield from (found.apply(i) for i in range(found.size()))


def test_a_scan_that_no_index_may_serve_stays_as_it_is(lake: Lake) -> None:
    for i in range(3):
        lake.file(f"{i}.parquet", {"x": [i], "y": [i], "s": [{"z": i}]})
    lake.index(MinMax("x"), MinMax("s.z"))
    lake.view()
    lake.spark.range(3).createOrReplaceTempView("keys")
    assert _wrapped(lake, "SELECT * FROM t WHERE y = 1 AND y + 1 > 0") == 0
    (scan,) = lake.skipping.report().scans
    assert (scan.files_total, scan.files_unknown, scan.files_read) == (3, 0, 3)
    assert any("no index on y" in line.why_not for line in scan.predicates)
    assert _wrapped(lake, "SELECT * FROM t JOIN keys ON t.y = keys.id") == 0
    for served in ("x = 1", "y = 1 AND x >= 1", "y = 1 OR x > 5", "s.z = 1", "x IS NULL", "y + x > 1"):
        assert _wrapped(lake, f"SELECT * FROM t WHERE {served}") == 1, served
        assert [scan.files_total for scan in lake.skipping.report().scans] == [3]
    assert _wrapped(lake, "SELECT t.y, u.y FROM t JOIN t AS u ON t.y = u.y WHERE t.x = 1") == 1


def test_python_is_asked_once_of_each_index_and_once_of_each_listing(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Scans that stay as they are are asked about by whoever looks at the report."""
    for i in range(3):
        lake.file(f"{i}.parquet", {"x": [i], "y": [i]})
    lake.index(MinMax("x"))
    lake.view()
    kind, asked = type(lake.skipping._callback), []
    answer = kind.apply

    def told(self: Callback, question: str, java: object) -> str | None:
        if question != "connect":  # once of each thread
            asked.append(question.partition("\n")[0])
        return answer(self, question, java)

    monkeypatch.setattr(kind, "apply", told)
    query = "SELECT a.x FROM t AS a JOIN t AS b ON a.y = b.y JOIN t AS c ON b.y = c.y WHERE a.x = 1 AND b.y > 0 AND c.y > 0"
    assert lake.spark.sql(query).collect() == [(1,)]
    assert asked == ["indexed", "list"]
    assert sorted(scan.files_read for scan in lake.skipping.report().scans) == [1, 3, 3]
    assert lake.spark.sql("SELECT x FROM t WHERE y = 1").collect() == [(1,)]
    assert asked == ["indexed", "list", "indexed"], "since it was found that each file has a value of x"
    assert lake.spark.sql("SELECT x FROM t WHERE y = 2").collect() == [(2,)]
    assert asked == ["indexed", "list", "indexed"], "the log is as it was"
    assert [scan.files_read for scan in lake.skipping.report().scans] == [3]
    lake.table().create_index(MinMax("y"))
    assert lake.spark.sql("SELECT x FROM t WHERE y = 1").collect() == [(1,)]
    assert asked == ["indexed", "list", "indexed", "indexed", "list"]
    assert [scan.files_read for scan in lake.skipping.report().scans] == [1]


def test_a_scan_that_is_asked_for_values_which_every_file_has(lake: Lake) -> None:
    """`IS NOT NULL`, as Spark asks of the keys of each join: it is left once an index has said that of every file, until that changes."""
    for i in range(3):
        lake.file(f"{i}.parquet", {"x": [i, None], "y": [i, i]})
    table = lake.index(MinMax("x"), MinMax("y"))
    lake.view()
    query = "SELECT * FROM t WHERE x IS NOT NULL"
    assert _wrapped(lake, query) == 0, "the first one finds out"
    assert [(scan.files_total, scan.files_read) for scan in lake.skipping.report().scans] == [(3, 3)]
    assert _wrapped(lake, f"{query} AND y = 1") == 1
    lake.file("null.parquet", {"x": pa.nulls(2, pa.int64()), "y": [1, 1]})
    table.refresh()
    lake.view()
    for _ in range(3):
        assert _wrapped(lake, query) == 1
        assert [(scan.files_total, scan.files_read) for scan in lake.skipping.report().scans] == [(4, 3)]


def test_an_empty_file_is_skipped_whatever_is_asked(lake: Lake) -> None:
    lake.file("rows.parquet", {"x": [1], "y": [1]})
    lake.file("empty.parquet", {"x": pa.array([], pa.int64()), "y": pa.array([], pa.int64())})
    lake.index(MinMax("y"))
    lake.view()
    assert _wrapped(lake, "SELECT * FROM t WHERE x = 1") == 1
    assert [scan.files_read for scan in lake.skipping.report().scans] == [1]


def test_of_very_many_indexed_columns_none_is_told(lake: Lake) -> None:
    lake.file("0.parquet", {f"c{i}": [i] for i in range(102)})
    lake.index(*(MinMax(f"c{i}") for i in range(101)))
    lake.view()
    assert _wrapped(lake, "SELECT * FROM t WHERE c101 = 1") == 1


def test_long_answers_are_sent_at_once(lake: Lake) -> None:
    """An answer beyond 8 kB waits for 40 ms, by Nagle's algorithm, unless its connection is told otherwise."""
    lake.file("0.parquet", {f"a_column_with_a_long_name_{i}": [i] for i in range(100)})
    lake.index(MinMax("a_column_with_a_long_name_0"))
    lake.check("a_column_with_a_long_name_0 = 1", read=set())
    client = lake.spark.sparkContext._gateway.java_gateway_server.getCallbackClient()
    assert client.getPerThreadConnection().getSocket().getTcpNoDelay()


def test_of_each_leaf_spark_is_asked_once(lake: Lake) -> None:
    """Of NULL and of the values, though a leaf is decided with the others, and alone for the report."""
    for i in range(3):
        lake.file(f"{i}.parquet", {"s": [f"a{i}", f"b{i}"]})
    lake.index(ValueList("s"))
    scan = _scan(lake, " AND ".join(f"s NOT LIKE '%{i}b%'" for i in range(20)))
    questions = []
    evaluator = scan.evaluator

    class Counting:
        def evaluate(self, *question: object) -> object:
            questions.append(question)
            return evaluator.evaluate(*question)

        def sql(self, number: int) -> str:
            return str(evaluator.sql(number))

    scan.evaluator = Counting()
    assert not lake.skipping.decide(Listing.now(scan)).errors
    assert len(questions) == 2 * 20


def test_a_thousand_predicates(lake: Lake) -> None:
    """Their text for the report is no tree as deep as they are many; of the first ones only it says which index would serve them."""
    for i in range(3):
        lake.file(f"{i}.parquet", {"s": [f"a{i}", f"b{i}"], "t": ["x", "y"]})
    lake.index(ValueList("s"))
    report = _planned(lake, " AND ".join(f"s NOT LIKE '%a{i}%'" for i in range(1000)))
    assert not report.errors
    assert report.files_read == 0 or "more" in report.clause
    report = _planned(lake, " AND ".join(f"md5(t) > '{i}'" for i in range(30)))
    advised = [line.why_not for line in report.predicates if "would serve it" in line.why_not]
    assert 1 <= len(advised) <= 10


def test_a_column_that_doubles_at_each_step_is_left_where_it_is(lake: Lake) -> None:
    """Its predicates would have 3 to the power of 30 leaves: Spark's CollapseProject does not put one step into the next either."""
    for i in range(3):
        lake.file(f"{i}.parquet", {"s": [f"a{i}", f"b{i}"]})
    lake.index(ValueList("s"))
    lake.spark.range(3).selectExpr("concat('a', id) AS k").createOrReplaceTempView("keys")

    def filters(steps: int) -> list[object]:
        frame = lake.view()
        for i in range(steps):
            frame = frame.selectExpr(f"CASE WHEN length(s) > {i} THEN concat(trim(s), '') ELSE s END AS s")
        frame.createOrReplaceTempView("cleaned")
        scans = lake.skipping.jvm.scans(lake.spark.sql("SELECT s FROM cleaned JOIN keys ON s <=> k"))
        return [runtime_filter for scan in scans for runtime_filter in scan.description["runtime_filters"]]

    assert filters(3)
    assert not filters(30)


def _scan(lake: Lake, where: str) -> Scan:
    (scan,) = lake.skipping.jvm.scans(lake.view().where(where))
    return scan


def _planned(lake: Lake, where: str) -> ScanReport:
    return lake.skipping.decide(Listing.now(_scan(lake, where)))


def test_a_query_asks_little_and_its_report_the_rest(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each question between the JVM and Python costs as much as evaluating a clause; the words of a report need most of them."""
    for i in range(4):
        lake.file(f"{i}.parquet", {"x": [i, i + 10], "s": [f"a{i}"] * 2})
    lake.index(MinMax("x"), ValueList("s"))
    frame = lake.view().where("x > 12 AND (s > 'a1' OR x <> 3) AND x IS NOT NULL")
    frame.count()  # the snapshot's file versions are handed over once
    client, asked = type(lake.spark.sparkContext._gateway._gateway_client), []
    send = client.send_command
    callbacks = lake.skipping._callback
    decide = type(callbacks)._decide

    def counted(self: object, command: str, *more: object, **options: object) -> object:
        asked.append(command)
        return send(self, command, *more, **options)

    def decided(self: object, *arguments: object) -> object:
        asked.clear()
        answer = decide(self, *arguments)
        questions.append([command for command in asked if not command.startswith("m")])  # m: what Python has let go of
        return answer

    questions: list[list[str]] = []
    monkeypatch.setattr(client, "send_command", counted)
    monkeypatch.setattr(type(callbacks), "_decide", decided)
    assert frame.count() == 1
    assert questions == [[]]
    asked.clear()
    (scan,) = lake.skipping.report().scans
    assert (scan.files_read, len(scan.predicates)) == (1, 4)
    assert len(asked) > 4


def test_without_an_index_the_plan_is_left_as_it_is(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """One question a query, whatever its number of scans; what its report says is found once it is looked at."""
    for i in range(3):
        lake.file(f"{i}.parquet", {"x": [i]})
    lake.view("untouched")
    callbacks, questions = lake.skipping._callback, []
    apply = type(callbacks).apply

    def counted(self: object, question: str, java: object) -> object:
        questions.append(question.split("\n")[0])
        return apply(self, question, java)

    monkeypatch.setattr(type(callbacks), "apply", counted)
    query = "SELECT a.x FROM untouched a JOIN untouched b ON a.x = b.x WHERE a.x > 0 AND b.x < (SELECT max(x) FROM untouched WHERE x > 1)"
    assert lake.spark.sql(query).count() == 1
    assert questions == ["indexed"]
    scans = lake.skipping.report().scans
    assert len(scans) == 4  # the sub-query is asked of both sides
    assert all(scan.files_read == scan.files_total == 3 and "no index at" in scan.notes[0] for scan in scans)
