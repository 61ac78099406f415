"""The synthetic log is the real one, many times over."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from sample_data.access_log import SCHEMA, by_hour, read_lines
from sample_data.busy_log import HOURS, busy_log

TIMES = 5


@pytest.fixture(scope="module")
def tables() -> dict[str, pa.Table]:
    return busy_log(TIMES)


def test_it_is_as_large_as_asked_and_laid_out_by_time(tables: dict[str, pa.Table]) -> None:
    assert len(tables) == TIMES * 84 / HOURS
    assert sum(map(len, tables.values())) == pytest.approx(TIMES * 10_000, rel=0.05)
    for name, table in tables.items():
        assert table.schema == SCHEMA
        times = table["time"].to_pylist()
        assert times == sorted(times)
        assert {time.strftime("%Y-%m-%d") for time in times} == {name[:10]}
        assert {time.hour // HOURS for time in times} == {int(name[11:]) // HOURS}


def test_its_values_are_real_and_as_frequent(tables: dict[str, pa.Table]) -> None:
    real, made = pa.concat_tables(by_hour(read_lines()).values()), pa.concat_tables(tables.values())
    for column in ("ip", "path", "user_agent", "status"):
        assert set(made[column].unique().to_pylist()) <= set(real[column].unique().to_pylist())
    for column, value in (("status", 404), ("path", "/favicon.ico"), ("method", "HEAD")):
        shares = [pc.mean(pc.equal(table[column], value).cast(pa.int8())).as_py() for table in (real, made)]
        assert shares[1] == pytest.approx(shares[0], rel=0.35)


def test_it_is_the_same_on_every_run(tables: dict[str, pa.Table]) -> None:
    again = busy_log(TIMES)
    assert all(again[name].equals(table) for name, table in tables.items())
