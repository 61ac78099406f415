"""Weather reports as gateways receive and store them: a table with a column of each kind, a little clustered by each.

A file holds what one gateway received within some hours from some stations of its region, a report an hour from each. What clusters a
column is how such data come about: the region (place, names, the software that the stations run), the hours (time, number), and both
(the weather). Nothing is sorted. In every fourth file a few reports are late by days or weeks: they were sent again.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from sample_data.access_log import by_hour, read_lines
from sample_data.files import Written, write_tables
from sample_data.weather import Floats, Integers, Stations, read_stations, regions, simulate

REGIONS = 32
STATIONS_A_FILE, AGENTS_A_REGION, AGENTS_A_FILE = 100, 12, 6
HOURS = (4, 12)  # of a file
FIRST, DAYS = np.datetime64("2023-01-01T00", "h"), 730
LATE_FILES, LATE_REPORTS, LATE_DAYS = 4, 10, 30
WITHOUT_BAROMETER = 0.001  # of the stations
NUMBERS_A_GATEWAY = 1_000_000


@dataclass(frozen=True)
class Gateway:
    """What one region's files have in common: its stations, and the software that they run."""

    number: int
    members: Integers
    agents: list[str]


def report_tables(files: int) -> dict[str, pa.Table]:
    """A table for each of `files` files, under names like `g07-0012`. The same on every run."""
    stations, random = read_stations(), np.random.default_rng(0)
    log = pa.concat_tables(by_hour(read_lines()).values())
    agents = sorted(log["user_agent"].drop_null().unique().to_pylist())
    members = regions(stations, REGIONS)
    gateways = [Gateway(i, m, random.choice(agents, AGENTS_A_REGION, replace=False).tolist()) for i, m in enumerate(members)]
    broken = random.random(len(stations)) < WITHOUT_BAROMETER
    starts = np.sort(random.integers(24 * DAYS, size=-(-files // len(gateways))))
    received = [0] * len(gateways)
    tables = {}
    for i in range(files):
        gateway = gateways[i % len(gateways)]
        start = FIRST + starts[i // len(gateways)] + random.integers(-72, 72)
        table = _file(stations, gateway, start, received[gateway.number], broken, random)
        received[gateway.number] += table.num_rows
        tables[f"g{gateway.number:02}-{i // len(gateways):04}"] = table if i % LATE_FILES else _late(table, random)
    return tables


def _file(
    stations: Stations, gateway: Gateway, start: np.datetime64, received: int, broken: Integers, random: np.random.Generator
) -> pa.Table:
    times = start + np.arange(random.integers(*HOURS, endpoint=True)) * np.timedelta64(1, "h")
    some = random.choice(gateway.members, STATIONS_A_FILE, replace=False)
    chosen = Stations(stations.names.take(some), stations.lat[some], stations.lng[some], stations.elevation[some])
    weather = {name: values.ravel() for name, values in simulate(chosen, times, int(random.integers(1 << 32))).items()}
    station = np.repeat(np.arange(len(some)), len(times))
    seconds = np.tile(times, len(some)).astype("datetime64[s]") + np.repeat(random.integers(3600, size=len(some)), len(times))
    order = np.argsort(seconds, kind="stable")
    agents = random.choice(gateway.agents, AGENTS_A_FILE, replace=False)[random.integers(AGENTS_A_FILE, size=len(some))]
    temp, wind, pressure = weather["temp"], weather["wind_speed"], weather["pressure"]
    snow = np.where(temp < 25, np.round((25 - temp) / 4 * random.random(len(temp)), 1), np.nan)
    columns = {
        "report_id": pa.array([f"{a:016x}{b:016x}" for a, b in random.integers(1 << 63, size=(len(station), 2)).tolist()]),
        "number": pa.array(gateway.number * NUMBERS_A_GATEWAY + received + np.argsort(order)),
        **{name: chosen.names[name].take(pa.array(station)) for name in chosen.names.column_names},
        "lat": pa.array(chosen.lat[station]),
        "lng": pa.array(chosen.lng[station]),
        "time": pa.array(seconds.astype("datetime64[us]"), pa.timestamp("us", tz="UTC")),
        "temp": pa.array(temp),
        "humidity": pa.array(weather["humidity"]),
        "wind_speed": pa.array(wind),
        "pressure": pa.array(pressure, mask=broken[some][station]),
        "snow_depth": pa.array(snow, mask=np.isnan(snow)),
        "conditions": pa.array(_conditions(temp, weather["humidity"], wind, pressure), pa.list_(pa.string())),
        "user_agent": pa.array(agents[station].tolist()),
    }
    return pa.table(columns).take(pa.array(order))


def _conditions(temp: Floats, humidity: Floats, wind: Floats, pressure: Floats) -> list[list[str]]:
    """What a report calls out, mostly nothing."""
    signs = {"frost": temp < 32, "heat": temp > 100, "gale": wind > 32, "storm": pressure < 985, "dry": humidity < 20}
    names = list(signs)
    return [[names[i] for i in np.flatnonzero(row)] for row in np.stack(list(signs.values()), axis=1)]


def _late(table: pa.Table, random: np.random.Generator) -> pa.Table:
    """A few of the reports are older than the others, by their time and their number."""
    late = random.choice(table.num_rows, LATE_REPORTS, replace=False)
    hours = random.integers(24, 24 * LATE_DAYS, size=LATE_REPORTS)
    times, numbers = table["time"].to_numpy().copy(), table["number"].to_numpy().copy()
    times[late] -= hours * np.timedelta64(1, "h")
    numbers[late] -= np.minimum(hours * STATIONS_A_FILE // 24, numbers[late] % NUMBERS_A_GATEWAY)
    for name, values in (("time", times), ("number", numbers)):
        place = table.schema.get_field_index(name)
        table = table.set_column(place, table.schema.field(name), pa.array(values).cast(table.schema.field(name).type))
    return table


def write_reports(folder: Path, files: int) -> Written:
    """Write the reports into `folder`."""
    return write_tables(report_tables(files), folder)


def write_stations(folder: Path) -> Written:
    """One Parquet file: station, elevation (feet)."""
    stations = read_stations()
    return write_tables({"stations": stations.names.select(["station"]).append_column("elevation", pa.array(stations.elevation))}, folder)
