"""Reports: made when they are looked at, what they keep until then, and what they say of a query, one thing a line."""

from __future__ import annotations

import gc
import time
from hashlib import sha256
from typing import Any

import pytest
from pyspark.sql import functions as F

from data_skip import MinMax, ScanReport, ValueList
from data_skip.planning import callback
from data_skip.planning.decide import Decided
from data_skip.spark.bridge import Scan
from data_skip.store import Snapshot
from tests.support import Lake, settings_of


@pytest.fixture
def indexed(lake: Lake) -> Lake:
    for i in range(4):
        pad = "".join(sha256(f"{i} {j}".encode()).hexdigest() for j in range(200))
        lake.file(f"{i}.parquet", {"x": [i, i + 10], "s": [f"a{i}"] * 2, "lines\n": [1, 2], "pad": [pad, ""]})
    lake.index(MinMax("x"), ValueList("s"))
    lake.view("indexed")
    bare = Lake(lake.spark, lake.skipping, lake.folder.parent / "bare")
    bare.file("0.parquet", {"id": [1, 2, 3], "one": [1, 1, 1]})
    bare.view("bare")
    return lake


def test_a_reason_of_several_lines_is_that_of_one_join(indexed: Lake) -> None:
    """Else the joins behind it were told the reasons of those before, and one was run that may give other rows when it is run again."""
    sql = (
        "SELECT count(*) FROM indexed JOIN bare a ON x DIV 1 = a.id JOIN (SELECT id FROM bare LIMIT 3) b ON x = b.id"
        " JOIN bare c ON indexed.`lines\n` = c.one WHERE s > 'a' AND a.one > 0 AND c.one > 0"
    )
    (scan,) = (scan for scan in indexed.query(sql).scans if scan.table.endswith("/table"))
    notes = {note.split(" = ")[1].split(".")[0]: note for note in scan.notes}
    assert "was run first" in notes["a"]
    assert "Limit may give other rows" in notes["b"] and "no index on lines" in notes["c"]


def test_a_query_that_asks_nothing_of_rows_is_none_of_ours(indexed: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """It asks Python nothing, and the report stays that of the last query with a WHERE, though Spark has forgotten the plans since."""
    assert indexed.spark.sql("SELECT * FROM indexed WHERE x > 12").count() == 1
    known, asked = indexed.skipping.report().execution_id, []
    apply = callback.Callback.apply
    monkeypatch.setattr(callback.Callback, "apply", lambda self, question, java: asked.append(question) or apply(self, question, java))
    for aggregate in ("max(id)", "min(id)"):
        assert len(indexed.spark.sql(f"SELECT {aggregate}, (SELECT max(x) FROM indexed) FROM bare").collect()) == 1
    assert asked == []
    indexed.spark._jvm.System.gc()
    assert indexed.skipping.report().execution_id == known


def test_a_table_that_was_dropped_since(indexed: Lake) -> None:
    indexed.spark.sql("CREATE TABLE dropped (x INT, p INT) USING parquet PARTITIONED BY (p)")
    try:
        indexed.spark.sql("INSERT INTO dropped VALUES (1, 1)")
        assert indexed.spark.sql("SELECT * FROM dropped WHERE x > 0").count() == 1
    finally:
        indexed.spark.sql("DROP TABLE dropped")
    (scan,) = indexed.skipping.reports()[-1].scans
    assert scan.table.endswith("/dropped") and "cannot be found" in scan.notes[0]


def test_the_numbers_are_right_where_words_cannot_be_made(indexed: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(*_: object) -> str:
        raise OSError("the JVM is gone")

    assert indexed.spark.sql("SELECT * FROM indexed WHERE s LIKE '%3' AND x > 2").count() == 2
    monkeypatch.setattr(Scan, "sql", gone)
    (scan,) = indexed.skipping.report().scans
    assert (scan.files_read, scan.files_total, scan.files_unknown) == (1, 4, 0)
    assert "the JVM is gone" in scan.notes[-1]


def test_what_is_kept_for_a_report_holds_no_old_index(indexed: Lake) -> None:
    table = indexed.table()
    for i in range(8):
        indexed.file("0.parquet", {"x": [0], "s": [f"a{i}"], "pad": ["0" * i]})
        table.refresh()
        indexed.view("indexed").where("x > 12").collect()
    gc.collect()
    root = str(indexed.folder)
    assert sum(isinstance(known, Snapshot) and root in known.location for known in gc.get_objects()) <= 6
    *_, old, new = (indexed.skipping.reports()[i].scans[0] for i in (-9, -8, -1))
    assert (old.files_read, new.files_read, len(new.predicates)) == (1, 1, 2)
    assert not old.predicates and "the index has changed since" in old.notes[-1]


def test_what_is_kept_for_a_report_holds_no_list_of_files(indexed: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred lists of as many files as a table has would fill the driver."""
    scans: list[Any] = []
    later = callback.later

    def kept(decided: Decided, *more: Any) -> Any:
        scans.append(decided.judgement.listing.scan)
        monkeypatch.undo()
        return later(decided, *more)

    monkeypatch.setattr(callback, "later", kept)
    sql = "SELECT * FROM indexed JOIN bare ON x % 2 = id % 2 WHERE s LIKE 'a%' AND x >= (SELECT max(id) FROM bare)"
    assert indexed.spark.sql(sql).count() == 8
    (decided,) = scans
    assert decided.java.getClass().getSimpleName() == "ScanTrees"  # which has expressions, and neither plans nor files
    scan = next(scan for scan in indexed.skipping.report().scans if scan.table.endswith("/table"))
    assert any("scalarsubquery" in line.predicate for line in scan.predicates), str(scan)


@pytest.mark.parametrize("value", ["1" * 400, "1.2.3", "9999999999999999999999d"])
def test_a_time_without_end(lake: Lake, value: str) -> None:
    """A number of hundreds of digits is infinite to Java: JSON has no word for it, and nothing was skipped."""
    for i in range(3):
        lake.file(f"{i}.parquet", {"x": [i]})
    lake.index(MinMax("x"))
    with settings_of(lake.spark, {"spark.data_skip.decideSeconds": value}):
        lake.view()
        report = lake.query("SELECT * FROM t WHERE x = 1", read={"1.parquet"})
    assert any("is no time" in note for note in report.scans[-1].notes), report


def test_a_report_tells_one_thing_a_line() -> None:
    report = ScanReport("t", clause="MinMax(`a\nb`) admits", notes=["t.`a\nb` = 1 is not used"], errors=["of `a\nb`"])
    assert len(str(report).split("\n")) == len(str(ScanReport("t", clause="c", notes=["n"], errors=["e"])).split("\n"))


def test_what_is_kept_of_scans_without_an_index_holds_no_list_of_files(lake: Lake) -> None:
    """Beside a table with one. Of each of the last hundred queries the list was kept for its report, until somebody looked at it."""
    lake.file("0.parquet", {"x": [1, 2]})
    lake.index(MinMax("x"))
    lake.view()
    bare = Lake(lake.spark, lake.skipping, lake.folder.parent / "bare")
    bare.file("0.parquet", {"id": [1, 2]})
    jvm: Any = lake.spark._jvm
    kept = []
    for _ in range(5):
        frame = bare.view("bare").where("id > 0").join(lake.spark.table("t").where("x > 1"), F.expr("x = id"))
        location = frame._jdf.queryExecution().analyzed().collectLeaves().head().relation().location()
        kept.append(jvm.java.lang.ref.WeakReference(location))
        assert frame.count() == 1
        del frame, location
    lake.spark.catalog.dropTempView("bare")
    lake.spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()  # what is told of the end of a query holds its plan
    for _ in range(50):  # what Python lets go of, the JVM is told after a while
        gc.collect()
        jvm.System.gc()
        if (alive := sum(reference.get() is not None for reference in kept)) <= 2:
            break
        time.sleep(0.1)
    assert alive <= 2
    report = lake.skipping.report()
    assert any("no index at" in note for scan in report.scans for note in scan.notes), report


def test_what_sql_reports_while_skipping_is_off(lake: Lake) -> None:
    """Its own query was the last one for which it was off, so it told of one before."""
    lake.file("a.parquet", {"x": [1]})
    lake.index(MinMax("x"))
    lake.view()
    lake.spark.sql("SELECT * FROM t WHERE x = 1").collect()
    with settings_of(lake.spark, {"spark.data_skip.enabled": "false"}):
        lake.spark.sql("SELECT * FROM t WHERE x = 2").collect()
        (row,) = lake.spark.sql("SELECT * FROM data_skip_report()").collect()
    assert row.table is None and "skipping was off" in row.notes[0]


def test_which_columns_are_read_otherwise(lake: Lake) -> None:
    lake.text("a.csv", "1,2,3\n")
    lake.index(MinMax("a"), format="csv", schema="a INT, b INT, c INT")  # type: ignore[arg-type]
    lake.view(format="csv", schema="a INT, b STRING, c INT")
    lake.spark.sql("SELECT * FROM t WHERE a = 5").collect()
    assert "collected with columns b integer, the query reads b string" in str(lake.skipping.report())


def test_indicators_of_a_table_with_padded_text(lake: Lake) -> None:
    """Above its scan Spark hides which file a row is of."""
    lake.spark.sql("CREATE TABLE reading_padded (c CHAR(5), x INT) USING parquet")
    try:
        for i in range(3):
            lake.spark.sql(f"INSERT INTO reading_padded VALUES ('{i}', {i})")
        table = lake.skipping.table("reading_padded")
        table.create_index(MinMax("x"))
        assert table.indicators("x = 2").of_oracle == {"x = 2": 1.0}
    finally:
        lake.spark.sql("DROP TABLE reading_padded")
