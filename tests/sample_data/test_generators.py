"""The sample data is what its README says, and the same on every run."""

from __future__ import annotations

import hashlib
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from sample_data import access_log, weather
from sample_data.files import ACCESS_LOG, COUNTRIES, Written, empty_folder

GOOD = '1.2.3.4 - - [17/May/2015:23:30:00 -0130] "GET /a.png HTTP/1.1" 200 - "-" "say \\"hi\\""'


@pytest.fixture(scope="module")
def written_weather(tmp_path_factory: pytest.TempPathFactory) -> Written:
    return weather.write_weather(tmp_path_factory.mktemp("data") / "weather")


@pytest.fixture(scope="module")
def written_log(tmp_path_factory: pytest.TempPathFactory) -> Written:
    return access_log.write_access_log(tmp_path_factory.mktemp("data") / "access_log")


@pytest.fixture(scope="module")
def observations(written_weather: Written) -> pa.Table:
    return pq.read_table(written_weather.folder)


@pytest.fixture(scope="module")
def log(written_log: Written) -> pa.Table:
    return pq.read_table(written_log.folder)


def digests(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


def bounds(table: pa.Table, column: str) -> tuple[Any, Any]:
    least_most = pc.min_max(table[column]).as_py()
    return least_most["min"], least_most["max"]


def test_weather_is_as_large_as_the_readme_says(written_weather: Written, observations: pa.Table) -> None:
    assert (written_weather.files, written_weather.rows) == (512, 378_432)
    assert observations.num_rows == 378_432
    assert written_weather.bytes == sum(path.stat().st_size for path in written_weather.folder.glob("*.parquet"))


def test_weather_is_the_same_on_every_run(written_weather: Written, tmp_path: Path) -> None:
    again = weather.write_weather(tmp_path / "again")
    assert digests(again.folder) == digests(written_weather.folder)


def test_every_station_is_observed_once_at_every_time(observations: pa.Table) -> None:
    pairs = observations.group_by(["station", "time"]).aggregate([([], "count_all")])
    assert pairs.num_rows == observations.num_rows
    assert len(observations["station"].unique()) == len(weather.read_stations()) == 7_884
    assert len(observations["time"].unique()) == weather.OBSERVATIONS


def test_observations_meet_every_hour_of_the_day_and_only_two_years() -> None:
    times = weather.observation_times()
    hours = (times - times.astype("datetime64[D]")).astype(int)
    assert sorted(hours) == sorted(list(range(24)) * 2)
    assert set(times.astype("datetime64[Y]").astype(str)) == {"2023", "2024"}


@pytest.mark.parametrize(
    ("column", "lowest", "highest"),
    [
        ("temp", -130, 134),  # the records of the earth
        ("humidity", 0, 100),
        ("wind_speed", 0, 100),
        ("pressure", 900, 1085),
        ("lat", -90, 90),
        ("lng", -180, 180),
    ],
)
def test_measurements_lie_in_plausible_ranges(observations: pa.Table, column: str, lowest: float, highest: float) -> None:
    values = observations[column].to_numpy()
    assert observations[column].null_count == 0
    assert np.isfinite(values).all()
    assert lowest <= values.min() < values.max() <= highest
    assert not (np.signbit(values) & (values == 0)).any(), "no -0.0"


def test_temperatures_follow_latitude_and_season() -> None:
    stations, times = weather.read_stations(), weather.observation_times()
    temp = weather.simulate(stations, times)["temp"]
    month = times.astype("datetime64[M]").astype(int) % 12 + 1
    north, tropics, south = stations.lat > 50, np.abs(stations.lat) < 15, stations.lat < -30
    assert temp[tropics].mean() > temp[north].mean() + 20
    assert temp[north][:, month == 7].mean() > temp[north][:, month == 1].mean() + 20
    assert temp[south][:, month == 1].mean() > temp[south][:, month == 7].mean() + 10


def test_regions_hold_every_station_once_and_are_of_equal_size() -> None:
    stations = weather.read_stations()
    split = weather.regions(stations, 64)
    assert len(split) == 64
    assert sorted(np.concatenate(split)) == list(range(len(stations)))
    assert {len(members) for members in split} <= {123, 124}


def test_files_are_laid_out_by_region_and_quarter(written_weather: Written) -> None:
    boxes = [pq.read_table(path) for path in sorted(written_weather.folder.glob("r00-*.parquet"))]
    assert len(boxes) == 8
    assert len({bounds(box, "lat") + bounds(box, "lng") for box in boxes}) == 1, "one region"
    spans = [bounds(box, "time") for box in boxes]
    assert all(earlier[1] < later[0] for earlier, later in pairwise(spans)), "quarters do not overlap"


def test_cities_and_countries_are_the_real_ones(observations: pa.Table) -> None:
    cities = set(observations["city"].to_pylist())
    assert {"Jaipur", "Kanpur", "Udaipur", "Kuala Lumpur", None} <= cities
    assert "" not in cities
    assert "NA" in observations["country"].unique().to_pylist(), "Namibia is not a missing value"
    assert observations["country"].null_count == 0


def test_every_line_of_the_log_is_in_exactly_one_file(written_log: Written, log: pa.Table) -> None:
    assert (written_log.files, written_log.rows, log.num_rows) == (84, 10_000, 10_000)
    lines = list(access_log.read_lines(ACCESS_LOG))
    assert len(lines) == 10_000
    good = [row for row in map(access_log.parse_line, lines) if row is not None]
    key = ("ip", "path", "status", "bytes", "user_agent")
    kept = log.filter(pc.is_null(log["malformed"])).to_pylist()
    assert sorted(repr([row[name] for name in key]) for row in good) == sorted(repr([row[name] for name in key]) for row in kept)


def test_the_malformed_line_is_kept_whole(log: pa.Table) -> None:
    (row,) = log.filter(pc.is_valid(log["malformed"])).to_pylist()
    assert row.pop("malformed") in set(access_log.read_lines(ACCESS_LOG))
    assert set(row.values()) == {None}


def test_log_files_are_hours(written_log: Written) -> None:
    for path in written_log.folder.glob("*.parquet"):
        hours = {time.strftime("%Y-%m-%dT%H") for time in pq.read_table(path)["time"].to_pylist() if time}
        assert hours == {path.stem}


def test_log_columns_lie_in_plausible_ranges(log: pa.Table) -> None:
    assert bounds(log, "status") == (200, 500)
    assert bounds(log, "bytes")[0] >= 0
    assert {str(time)[:10] for time in bounds(log, "time")} == {"2015-05-17", "2015-05-20"}
    assert set(log["method"].unique().to_pylist()) == {"GET", "HEAD", "POST", "OPTIONS", None}


def test_log_is_the_same_on_every_run(written_log: Written, tmp_path: Path) -> None:
    assert digests(access_log.write_access_log(tmp_path / "again").folder) == digests(written_log.folder)


def test_a_line_is_parsed_into_columns() -> None:
    row = access_log.parse_line(GOOD)
    assert row is not None
    assert row["time"].isoformat() == "2015-05-18T01:00:00+00:00"
    assert (row["status"], row["bytes"], row["referrer"], row["user_agent"]) == (200, None, None, 'say \\"hi\\"')


@pytest.mark.parametrize(
    "line",
    [
        "",
        GOOD[:-1],
        GOOD + " more",
        GOOD.replace("May", "Mai"),
        GOOD.replace("17/May", "32/May"),
        GOOD.replace(" 200 ", " 2000 "),
        GOOD.replace("GET /a.png HTTP/1.1", "-"),
    ],
    ids=["empty", "cut off", "too long", "no month", "no day", "no status", "no request"],
)
def test_a_line_in_another_form_is_malformed(line: str) -> None:
    assert access_log.parse_line(line) is None


def test_malformed_lines_go_with_the_line_before_them() -> None:
    later = GOOD.replace("23:30:00 -0130", "08:00:00 +0000")
    tables = access_log.by_hour(["first", GOOD, "second", later, "third"])
    malformed = {hour: table["malformed"].to_pylist() for hour, table in tables.items()}
    assert malformed == {"2015-05-17T08": [None, "third"], "2015-05-18T01": ["first", None, "second"]}


def test_lines_without_any_good_one_are_kept() -> None:
    assert access_log.by_hour(["a", "b"])["unknown"]["malformed"].to_pylist() == ["a", "b"]


def test_a_folder_that_holds_other_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "precious").touch()
    with pytest.raises(FileExistsError, match="holds other files"):
        empty_folder(tmp_path)
    assert (tmp_path / "precious").exists()


def test_countries_are_there() -> None:
    assert COUNTRIES.stat().st_size > 200_000
