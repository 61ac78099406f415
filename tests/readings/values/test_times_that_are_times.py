"""What a reader of Spark 4.3 found: a TIME is a moment of the current day, also as TIMESTAMP_NTZ. Since 4.1 there are such."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from data_skip import MinMax, ValueList
from data_skip.errors import DataSkipError
from tests.support import Lake, settings_of

OF_TODAY = [
    "cast(array(to_time(s)) AS array<timestamp_ntz>)[0]",
    "cast(map('k', to_time(s)) AS map<string, timestamp_ntz>)['k']",
    "cast(if(id < 0, NULL, named_struct('t', to_time(s))) AS struct<t: timestamp_ntz>).t",
    "cast(array(to_time(s)) AS array<timestamp>)[0]",
]


@pytest.fixture
def times(lake: Lake) -> Iterator[Lake]:
    if lake.spark.version < "4.1":
        pytest.skip("it has no TIME")
    with settings_of(lake.spark, {"spark.sql.timeType.enabled": "true"}):
        for i in range(2):
            lake.file(str(i), {"id": [i], "s": [f"0{i}:00:00"]})
        lake.index(ValueList("s"), ValueList("id"))
        lake.view()
        yield lake


@pytest.mark.spark_version
@pytest.mark.parametrize("moment", OF_TODAY)
def test_times_are_of_the_current_day(times: Lake, moment: str) -> None:
    """Spark puts the day in the place of a cast from TIME, but not inside of an array, a map or a struct: it is that of the task."""
    for index in (MinMax(moment), ValueList(moment)):
        with pytest.raises(DataSkipError, match="current day"):
            times.index(index)
    times.check(f"{moment} > TIMESTAMP_NTZ'3000-01-01 00:00:00'", read=["0", "1"])


@pytest.mark.spark_version
def test_what_shows_no_day_is_decided(times: Lake) -> None:
    times.check("hour(cast(array(s) AS array<time>)[0]) = 1", read=["1"])
    times.check("cast(array(concat('2001-02-03 ', s)) AS array<timestamp_ntz>)[0] = TIMESTAMP_NTZ'2001-02-03 01:00:00'", read=["1"])
