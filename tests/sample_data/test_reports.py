"""The weather reports: a little clustered by each column, sorted by none, the same on every run."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from sample_data.reports import LATE_FILES, LATE_REPORTS, STATIONS_A_FILE, report_tables

FILES = 64


@pytest.fixture(scope="module")
def tables() -> dict[str, pa.Table]:
    return report_tables(FILES)


def test_every_file_has_a_part_of_each_columns_values(tables: dict[str, pa.Table]) -> None:
    whole = pa.concat_tables(tables.values())
    for name in ("station", "city", "country", "lat", "lng", "time", "number", "user_agent"):
        distinct = len(whole[name].unique())
        assert max(len(table[name].unique()) for table in tables.values()) < distinct / 5, name
    for name in ("temp", "humidity", "wind_speed", "pressure"):
        narrower = [pc.stddev(table[name]).as_py() < pc.stddev(whole[name]).as_py() for table in tables.values()]
        assert sum(narrower) > 0.6 * FILES, name
    assert len(whole["report_id"].unique()) == len(whole)


def test_nulls_and_conditions_are_in_some_files(tables: dict[str, pa.Table]) -> None:
    for name in ("city", "pressure", "snow_depth"):
        assert sum(table[name].null_count > 0 for table in tables.values()) > 0
    assert 0 < sum(table["snow_depth"].null_count == len(table) for table in tables.values()) < FILES
    for condition in ("frost", "heat", "dry"):
        holding = [condition in table["conditions"].combine_chunks().flatten().to_pylist() for table in tables.values()]
        assert 0 < sum(holding) < FILES, condition


def test_some_reports_are_late(tables: dict[str, pa.Table]) -> None:
    for i, table in enumerate(tables.values()):
        assert len(table["station"].unique()) == STATIONS_A_FILE
        latest = pc.max(table["time"])
        late = pc.sum(pc.less(table["time"], pc.subtract(latest, pa.scalar(13 * 3_600_000_000, pa.duration("us"))))).as_py() or 0
        assert (0 < late <= LATE_REPORTS) == (i % LATE_FILES == 0)


def test_they_are_the_same_on_every_run(tables: dict[str, pa.Table]) -> None:
    assert report_tables(FILES) == tables
