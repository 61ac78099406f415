"""Text of times, read a third time: rows that skipping lost."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pyarrow as pa
import pytest

from data_skip import MinMax
from tests.support import Lake, settings_of

POLICY = "spark.sql.legacy.timeParserPolicy"
ZONE = "spark.sql.session.timeZone"


@pytest.mark.parametrize("type_", [pa.timestamp("us", "UTC"), pa.int64()], ids=["date_format", "from_unixtime"])
@pytest.mark.parametrize(("zone", "change"), [("Asia/Gaza", "2037-10-30T23:00"), ("Africa/Windhoek", "2036-12-31T23:00")])
def test_java_text_foretells_other_changes_of_clocks(lake: Lake, type_: pa.DataType, zone: str, change: str) -> None:
    """java.util.TimeZone turns clocks back where java.time, of the same zone, keeps one offset: from the end of 2036 on."""
    moment = datetime.fromisoformat(change).replace(tzinfo=timezone.utc)
    days = {"back": moment, "before": moment - timedelta(days=2), "modern": datetime(2021, 6, 1, 12, tzinfo=timezone.utc)}
    for name, around in days.items():
        values = [around + timedelta(minutes=minutes) for minutes in (-50, -5, 5, 50)]
        numbers = [int(value.timestamp()) for value in values]
        lake.file(name, {"v": pa.array(numbers if type_ == pa.int64() else values, type_)})
    lake.index(MinMax("v"))
    call = "from_unixtime" if type_ == pa.int64() else "date_format"
    hours = [f"{hour:02}:{minute}" for hour in range(24) for minute in ("05", "55")]
    wheres = [*(f"{call}(v, 'HH:mm') = '{hour}'" for hour in hours), f"{call}(v, 'yyyy-MM-dd') = '2021-06-01'"]
    with settings_of(lake.spark, {POLICY: "LEGACY", ZONE: zone}):
        *_, modern = lake.reads(*wheres)
    assert modern == {"back", "before", "modern"}
    with settings_of(lake.spark, {ZONE: zone}):
        *_, modern = lake.reads(*wheres)
    assert modern == {"modern"}
