"""Sessions of rows: Spark makes one of those that overlap, so that its start and end are those of no single row.

It makes them where a key of a GROUP BY is marked as one, which its optimizer does not know: of a plan that is grouped once more, as for the
keys of a join, it may make others."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from data_skip import MinMax, ValueList
from tests.support import Lake, settings_of

SESSION = "session_window(ts, '10 minutes')"
SESSIONS = f"(SELECT {SESSION} AS w, count(*) AS c FROM t GROUP BY {SESSION})"
BY_KEY = f"(SELECT {SESSION} AS w, k, count(*) AS c FROM t GROUP BY {SESSION}, k)"
WINDOWS = "(SELECT window(ts, '5 minutes') AS w, count(*) AS c FROM t GROUP BY window(ts, '5 minutes'))"


@pytest.fixture
def visits(lake: Lake, tmp_path: Path) -> Iterator[Lake]:
    start = datetime(2024, 1, 1, 10)
    for i in range(4):  # a session of all
        moments = pa.array([start + timedelta(minutes=6 * i)], pa.timestamp("us", "UTC"))
        lake.file(f"{i}", {"ts": moments, "k": [i], "pad": [list(range(5000))]})
    lake.index(ValueList("ts"), MinMax("k"))
    lake.view()
    starts = Lake(lake.spark, lake.skipping, tmp_path / "starts")
    starts.file("0", {"st": pa.array([start], pa.timestamp("us", "UTC")), "n": [2]})
    starts.view("starts")
    with settings_of(lake.spark, {"spark.sql.session.timeZone": "UTC", "spark.data_skip.join.leastBytes": "0"}):
        yield lake
    lake.spark.catalog.dropTempView("starts")


def test_a_session_that_is_joined(visits: Lake) -> None:
    report = visits.query(f"SELECT w, c, st FROM {SESSIONS} JOIN starts ON w.start = st")
    assert max(scan.files_skipped for scan in report.scans) == 0


def test_other_keys_are_used(visits: Lake) -> None:
    for rows, condition in ((BY_KEY, "k = n"), (WINDOWS, "w.start = st")):
        report = visits.query(f"SELECT w, c, st FROM {rows} JOIN starts ON {condition}")
        assert max(scan.files_skipped for scan in report.scans) == 3


@pytest.fixture
def clicks(lake: Lake, tmp_path: Path) -> Iterator[Lake]:
    """Two sessions that overlap, and a third one of two clicks; the view `kept` has them from a file."""
    start = datetime(2024, 1, 1, 10)

    def moments(*minutes: int) -> pa.Array:
        return pa.array([start + timedelta(minutes=each) for each in minutes], pa.timestamp("us", "UTC"))

    for i in range(6):
        lake.file(f"{i}", {"a": moments(4 * i), "b": moments(4 * i + 18), "pad": [list(range(5000))]})
    lake.index(ValueList("a"), ValueList("b"))
    lake.view()
    side = Lake(lake.spark, lake.skipping, tmp_path / "clicks")
    side.file("0", {"ts": moments(0, 8, 4, 12), "k": [1, 2, 3, 3]})
    side.view("clicks")
    kept = Lake(lake.spark, lake.skipping, tmp_path / "kept")
    kept.spark_file("0", lake.spark.sql(BY_KEY[1:-1].replace("FROM t", "FROM clicks")))
    kept.view("kept")
    with settings_of(lake.spark, {"spark.data_skip.join.leastBytes": "0"}):
        yield lake
    for view in ("clicks", "kept"):
        lake.spark.catalog.dropTempView(view)


@pytest.mark.parametrize("sessions", [BY_KEY.replace("FROM t", "FROM clicks"), "kept"], ids=["made", "kept"])
@pytest.mark.parametrize(
    ("condition", "skipped"),
    [("a = w.start AND b = w.end", 5), ("struct(a, a + INTERVAL 10 MINUTES) = w", 4), ("array(a) = array(w.start)", 3)],
)
def test_rows_that_are_joined_with_sessions(clicks: Lake, sessions: str, condition: str, skipped: int) -> None:
    """Rows were lost: the keys of the join were those of others."""
    report = clicks.query(f"SELECT a, w, k FROM t JOIN {sessions} ON {condition}")
    assert max(scan.files_skipped for scan in report.scans) == skipped
