"""Sessions of rows: Spark makes one of those that overlap, so that its start and end are those of no single row."""

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
