"""A synthetic access log, many times as large as the real one, with its distribution of agents, paths and hours, laid out by time.

Visits are drawn from the real log: all that one address with one agent asked for within one hour. Each hour of each day draws
about as many of the real visits of that hour of the day as a real day has, with their minutes and seconds. A file per six hours.
"""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sample_data.access_log import SCHEMA, by_hour, read_lines
from sample_data.files import Written, write_tables

FIRST = datetime(2015, 5, 17, tzinfo=timezone.utc)
HOURS = 6  # of a file
_HOUR = 3_600_000_000  # microseconds
Places = npt.NDArray[np.int64]


def busy_log(times: int) -> dict[str, pa.Table]:
    """About `times` as many rows as the real log has, a table per six hours, under names like `2015-05-17T06`. The same on every run."""
    real = pa.concat_tables(by_hour(read_lines()).values())
    real = real.filter(pc.is_valid(real["time"])).combine_chunks()
    moments = real["time"].cast(pa.int64()).to_numpy()
    hours = moments // _HOUR
    visits = _visits(real, hours)
    of_hour = [[visit for visit in visits if hours[visit[0]] % 24 == hour] for hour in range(24)]
    observed = np.bincount(np.unique(hours) % 24, minlength=24)
    random = np.random.default_rng(0)
    tables = {}
    for start in range(0, times * len(np.unique(hours)), HOURS):
        drawn, moved = [], []
        for hour in range(start, start + HOURS):
            count = random.poisson(len(of_hour[hour % 24]) / observed[hour % 24])
            drawn += [of_hour[hour % 24][i] for i in random.integers(len(of_hour[hour % 24]), size=count)]
            moved += [hour * _HOUR] * sum(map(len, drawn[len(drawn) - count :]))
        places = np.concatenate(drawn)
        clock = moments[places] % _HOUR + np.array(moved) + int(FIRST.timestamp()) * 1_000_000
        order = np.argsort(clock, kind="stable")
        time = pa.array(clock[order]).cast(SCHEMA.field("time").type)
        rows = real.take(pa.array(places[order])).set_column(SCHEMA.get_field_index("time"), SCHEMA.field("time"), time)
        tables[(FIRST + timedelta(hours=start)).strftime("%Y-%m-%dT%H")] = rows
    return tables


def _visits(real: pa.Table, hours: Places) -> list[Places]:
    """The rows of each visit."""
    keys = [column.combine_chunks().dictionary_encode().indices.fill_null(-1).to_numpy() for column in (real["ip"], real["user_agent"])]
    order = np.lexsort((hours, *keys))
    changes = np.zeros(len(order) - 1, dtype=bool)
    for key in (hours, *keys):
        changes |= key[order][1:] != key[order][:-1]
    return np.split(order, np.flatnonzero(changes) + 1)


def write_busy_log(folder: Path, times: int) -> Written:
    """Write the synthetic log into `folder`, a Parquet file per six hours."""
    return write_tables(busy_log(times), folder)
