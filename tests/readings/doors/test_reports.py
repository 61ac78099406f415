"""Reports that are made when they are looked at: what they keep until then, and what became of it meanwhile."""

from __future__ import annotations

import gc
from hashlib import sha256
from typing import Any

import pytest

from data_skip import MinMax, ValueList
from data_skip.planning import callback
from data_skip.planning.decide import Decided
from data_skip.spark.bridge import Scan
from data_skip.store import Snapshot
from tests.support import Lake


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
