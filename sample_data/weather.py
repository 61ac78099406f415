"""A synthetic weather series at the real airports' positions, the same on every run.

    stations = read_stations()                    # 7,884 airports that have an IATA code
    series = simulate(stations, observation_times())
    write_weather(Path("build/demo/weather"))     # 512 Parquet files, 378,432 rows

The files are laid out as in the paper: the stations are split into regions by a KD-tree over latitude and longitude,
and each region has one file per quarter of the year.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from sample_data.files import AIRPORTS, Written, write_tables

SEED = 2020
FIRST_HOUR = np.datetime64("2023-01-01T00", "h")
OBSERVATIONS = 48
# 365 hours = 15 days and 5 hours: 48 steps are two years, and the hour of the day takes every value twice.
STEP = np.timedelta64(365, "h")

# Centres (lat, lng) and radius in degrees of the dry and of the continental parts of the world.
DESERTS = [
    (23, 10, 16), (24, 45, 11), (32, 57, 9), (27, 71, 10), (41, 60, 9), (42, 100, 11),  # Sahara to Gobi
    (33, -112, 7), (-25, 132, 10), (-23, 21, 7), (-23, -69, 5),  # Sonora, Australia, Kalahari, Atacama
]  # fmt: skip
CONTINENTS = [(62, 120, 28), (50, 80, 20), (58, -108, 22), (-85, 60, 20)]  # Siberia, Kazakhstan, Canada, Antarctica

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Times = npt.NDArray[np.datetime64]


@dataclass(frozen=True)
class Stations:
    """Where the weather is measured; one entry per station in every array."""

    names: pa.Table  # station, city (null where unknown), country
    lat: Floats
    lng: Floats
    elevation: Floats  # feet

    def __len__(self) -> int:
        return len(self.lat)


def read_stations(path: Path = AIRPORTS) -> Stations:
    """The airports that have an IATA code, ordered by their ICAO code."""
    options = csv.ConvertOptions(
        column_types={"elevation": pa.float64(), "lat": pa.float64(), "lon": pa.float64()},
        strings_can_be_null=True,
        null_values=[""],  # not the default list: NA is Namibia
    )
    airports = csv.read_csv(path, convert_options=options)
    airports = airports.filter(pc.is_valid(airports["iata"])).sort_by("icao")
    names = airports.select(["icao", "city", "country"]).rename_columns(["station", "city", "country"])
    return Stations(names, *(airports[name].to_numpy() for name in ("lat", "lon", "elevation")))


def observation_times() -> Times:
    """The hours at which every station is observed, UTC."""
    return FIRST_HOUR + np.arange(OBSERVATIONS) * STEP


def regions(stations: Stations, count: int) -> list[Integers]:
    """The stations' numbers in so many regions of about equal size: a KD-tree that divides the longer side of each box."""

    def split(members: Integers, count: int) -> list[Integers]:
        if count == 1:
            return [members]
        lat, lng = stations.lat[members], stations.lng[members]
        width = np.ptp(lng) * np.cos(np.radians(lat.mean()))
        order = members[np.argsort(lng if width > np.ptp(lat) else lat, kind="stable")]
        half = count // 2
        middle = len(order) * half // count
        return split(order[:middle], half) + split(order[middle:], count - half)

    return split(np.arange(len(stations)), count)


def simulate(stations: Stations, times: Times, seed: int = SEED) -> dict[str, Floats]:
    """temp (Fahrenheit), humidity (%), wind_speed (mph) and pressure (hPa, at sea level), each stations x times.

    Physics in one screen: colder towards the poles and with height, seasons that grow with latitude and turn round at
    the equator and inland, days that are warmest at three by the sun, hot dry deserts, passing weather.
    """
    random = np.random.default_rng(seed)
    lat, lng = stations.lat[:, None], stations.lng[:, None]
    away = np.abs(lat)

    desert, inland = _nearness(stations, DESERTS), _nearness(stations, CONTINENTS)
    passing, storms = _weather(stations, random, len(times)), _weather(stations, random, len(times))
    local = random.standard_normal((3, len(stations), len(times)))

    day_of_year = (times - times.astype("datetime64[Y]")) / np.timedelta64(1, "D")
    summer = np.sign(lat) * np.cos(2 * np.pi * (day_of_year - 200) / 365.25)
    solar_hour = (times - times.astype("datetime64[D]")) / np.timedelta64(1, "h") + lng / 15
    afternoon = np.cos(2 * np.pi * (solar_hour - 15) / 24)

    celsius = (
        -18 + 46 * np.cos(np.radians(lat)) ** 1.5
        + (1 + 0.22 * away) * (0.9 + 0.5 * desert + 0.9 * inland) * summer
        + (4 + 5 * desert) * afternoon
        + 6 * desert
        - 6.0 * stations.elevation[:, None] * 0.3048 / 1000
        + (1.5 + 0.05 * away) * passing
        + 0.8 * local[0]
    )  # fmt: skip
    humidity = 78 - 45 * desert - 12 * afternoon - 6 * passing + 5 * local[1]
    wind = np.abs(5 + 0.05 * away + 4 * storms + 3 * local[2])
    pressure = 1014 - 9 * storms + 3 * passing
    return {
        "temp": _rounded(celsius * 9 / 5 + 32),
        "humidity": _rounded(np.clip(humidity, 3, 100)),
        "wind_speed": _rounded(wind),
        "pressure": _rounded(pressure),
    }


def _globe(lat: npt.ArrayLike, lng: npt.ArrayLike) -> Floats:
    """Unit vectors, one row per position."""
    lat, lng = np.radians(lat), np.radians(lng)
    return np.stack([np.cos(lat) * np.cos(lng), np.cos(lat) * np.sin(lng), np.sin(lat)], axis=1)


def _nearness(stations: Stations, centres: list[tuple[int, int, int]]) -> Floats:
    """1 at the nearest of the centres, falling to 0 with the distance; one row per station."""
    lat, lng, radius = np.array(centres, float).T
    angle = np.degrees(np.arccos(np.clip(_globe(stations.lat, stations.lng) @ _globe(lat, lng).T, -1, 1)))
    near: Floats = np.exp(-((angle / radius) ** 2)).max(axis=1, keepdims=True)
    return near


def _weather(stations: Stations, random: np.random.Generator, times: int, waves: int = 24) -> Floats:
    """About normal (0, 1), alike in neighbouring stations and new at each time: a sum of waves round the globe."""
    directions = random.normal(scale=3.0, size=(3, waves))
    phases = random.uniform(0, 2 * np.pi, waves)
    strengths = random.standard_normal((waves, times))
    field: Floats = np.cos(_globe(stations.lat, stations.lng) @ directions + phases) @ strengths
    return field * float(np.sqrt(2 / waves))


def _rounded(values: Floats) -> Floats:
    """One decimal, as a weather service prints it, and never -0.0."""
    return np.round(values, 1) + 0.0


def quarters(times: Times) -> dict[str, Integers]:
    """The times' numbers by quarter of the year, under names like `2023-q1`."""
    months = times.astype("datetime64[M]").astype(int)
    names = [f"{1970 + month // 12}-q{month % 12 // 3 + 1}" for month in months]
    return {name: np.flatnonzero(np.array(names) == name) for name in dict.fromkeys(names)}


def weather_tables(count: int = 64) -> dict[str, pa.Table]:
    """The whole series: one table for each of so many regions and each quarter, under names like `r07-2023-q1`."""
    stations, times = read_stations(), observation_times()
    series = simulate(stations, times)
    tables = {}
    for region, members in enumerate(regions(stations, count)):
        for quarter, hours in quarters(times).items():
            tables[f"r{region:02d}-{quarter}"] = _table(stations, times, series, members, hours)
    return tables


def _table(stations: Stations, times: Times, series: dict[str, Floats], members: Integers, hours: Integers) -> pa.Table:
    """The observations of some stations at some times, ordered by station, then time."""
    station = np.repeat(members, len(hours))
    time = np.tile(times[hours], len(members)).astype("datetime64[us]")
    measured = {name: pa.array(values[np.ix_(members, hours)].ravel()) for name, values in series.items()}
    columns = {
        **{name: stations.names[name].take(pa.array(station)) for name in stations.names.column_names},
        "lat": pa.array(stations.lat[station]),
        "lng": pa.array(stations.lng[station]),
        "time": pa.array(time, pa.timestamp("us", tz="UTC")),
        **measured,
    }
    return pa.table(columns)


def write_weather(folder: Path, count: int = 64) -> Written:
    """Write the whole series into `folder`, a Parquet file for each of so many regions and each quarter."""
    return write_tables(weather_tables(count), folder)
