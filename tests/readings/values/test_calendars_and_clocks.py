"""Which moments go up with a text, an hour or a month: calendars of java.text, clocks that are turned, rules of time zones that change."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql.types import StructField, StructType, TimestampType

from data_skip import BloomFilter, MinMax, ValueList
from data_skip.errors import DataSkipError
from data_skip.spark.bridge import Scan
from data_skip.store.settings import ZONE_RULES
from tests.support import Lake, aged, files_read, settings_of

ZONE = "spark.sql.session.timeZone"
POLICY = "spark.sql.legacy.timeParserPolicy"


def _moments(*texts: str) -> list[datetime]:
    return [datetime.fromisoformat(text).replace(tzinfo=timezone.utc) for text in texts]


def _files(lake: Lake, type_: pa.DataType, *files: list[datetime]) -> None:
    """A file for each list of moments of column `v`, named a, b, ..."""
    for name, values in zip("abcdefg", files, strict=False):
        numbers = [int(value.timestamp()) for value in values]
        lake.file(f"{name}.parquet", {"v": pa.array(numbers if type_ == pa.int64() else values, type_)})


@pytest.mark.parametrize("type_", [pa.timestamp("us", "UTC"), pa.int64()], ids=["date_format", "from_unixtime"])
@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_formats_of_java_text_do_not_go_up_with_time(lake: Lake, type_: pa.DataType, zone: str) -> None:
    """They use the Julian calendar before 1582-10-15, which is what they write of ten days before it, at all hours."""
    _files(
        lake,
        type_,
        _moments("1582-10-05T12:00", "1582-10-06T01:00", "1582-10-06T06:00", "1582-10-08T12:00"),
        _moments("1000-01-03T12:00", "1000-01-09T12:00", "1000-01-30T12:00"),
        _moments("1850-01-01T04:57", "1850-01-01T04:59", "1850-01-01T15:00"),
        _moments("2021-01-03", "2021-01-30"),
        _moments("2022-05-03T12:00", "2022-05-03T13:00"),
    )
    lake.index(MinMax("v"))
    name = "from_unixtime" if type_ == pa.int64() else "date_format"
    wheres = [
        *(f"{name}(v, 'yyyy-MM-dd HH:mm:ss') = '1582-10-15 {hour}:00:00'" for hour in ("01", "06", "20")),
        *(f"{name}(v, 'MM-dd HH') = '10-15 {hour}'" for hour in ("01", "06", "20")),
        *(f"{name}(v, '{pattern}') < '{pattern[:-2].replace('MM', '01')}10'" for pattern in ("MM-dd", "dd")),
        *(f"{name}(v, 'HH') = '{hour}'" for hour in ("00", "01", "23")),
        f"{name}(v, 'HH:mm') > '23:30'",
    ]
    with settings_of(lake.spark, {POLICY: "LEGACY", ZONE: zone}):
        lake.reads(*wheres)
        (modern,) = lake.reads(f"{name}(v, 'yyyy-MM') = '2021-01'")
    assert modern == {"a.parquet", "b.parquet", "c.parquet", "d.parquet"}
    with settings_of(lake.spark, {ZONE: zone}):
        lake.reads(*wheres)
        (all_,) = lake.reads(f"{name}(v, 'yyyy-MM') = '2021-01'")
    assert all_ == {"d.parquet"}


def test_clocks_that_leave_out_the_last_hour_of_a_month(lake: Lake) -> None:
    """In Berlin, a month after 1916-03-30 23:30 is 05-01 00:30, a month after other times of that day and the next is 04-30."""
    _files(
        lake,
        pa.timestamp("us", "UTC"),
        _moments("1916-03-30T11:00", "1916-03-30T22:30", "1916-03-31T11:00"),
        _moments("1916-03-30T22:45", "1916-03-31T09:00", "1916-03-31T22:45"),
        _moments("1916-04-10T11:00", "1916-04-11T11:00"),
        _moments("2021-05-30T11:00", "2021-05-31T11:00"),
    )
    lake.index(MinMax("v"))
    with settings_of(lake.spark, {ZONE: "Europe/Berlin"}):
        later = ["timestampadd(MONTH, 1, v)", "v + INTERVAL '1' MONTH", "timestampadd(QUARTER, 1, v - INTERVAL '2' MONTH)"]
        ends = [
            f"TIMESTAMP'1916-{end}'" for end in ("04-30 00:00:00", "04-30 23:00:00", "05-01 00:00:00", "05-01 00:45:00", "05-02 00:00:00")
        ]
        lake.reads(*(f"{function} {operator} {end}" for function in later for operator in ("<", ">=") for end in ends))
        lake.reads(*(f"date({function}) = DATE'1916-{day}'" for function in later for day in ("04-30", "05-01")))
        read = lake.reads(*(f"{function} >= TIMESTAMP'{day}'" for function in later for day in ("1916-05-03", "2021-06-30", "2021-07-01")))
    assert read == [{"c.parquet", "d.parquet"}, {"d.parquet"}, set()] * 3


def test_what_aes_draws_is_another_each_time(lake: Lake) -> None:
    """Spark says that it is deterministic, but each call draws a vector to begin with."""
    for name in "abc":
        lake.file(f"{name}.parquet", {"v": [name]})
    encrypted = "hex(aes_encrypt(v, '0000111122223333'))"
    with pytest.raises(DataSkipError, match="deterministic"):
        lake.index(ValueList(encrypted))
    lake.index(ValueList("v"), MinMax("v"), BloomFilter("v"))
    for where in (f"{encrypted} < '8'", f"{encrypted} LIKE '%A%'", f"exists(array(v), x -> {encrypted.replace('(v', '(x')} < '8')"):
        assert lake.read_by(f"SELECT * FROM {_view(lake)} WHERE {where}") == {"a.parquet", "b.parquet", "c.parquet"}
    (one,) = lake.reads("hex(encode(v, 'UTF-8')) = '62'")
    assert one == {"b.parquet"}


def _view(lake: Lake) -> str:
    lake.view()
    return "t"


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


MEXICO = {"spark.sql.session.timeZone": "America/Mexico_City"}


@pytest.fixture
def moments(lake: Lake) -> Lake:
    """A file with a moment, its date, and both as text."""
    moment = datetime(2030, 7, 1, 12, tzinfo=timezone.utc)
    lake.file("a", {"ts": pa.array([moment], pa.timestamp("us", "UTC")), "d": [moment.date()], "s": ["2030-07-01 12:00"]})
    return lake


def with_later_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on Java has later rules of time zones, as an update of the same version brings."""
    found = Scan.settings.func

    def settings(scan: Scan) -> list[dict[str, str]]:
        return [{**session, ZONE_RULES: "9999z"} for session in found(scan)]

    monkeypatch.setattr(Scan, "settings", property(settings))


def test_rules_of_time_zones_change(moments: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Mexico has had no summer time since 2022: a Java of the same version that did not know yet told other hours of the years after."""
    texts = "to_timestamp(s, 'yyyy-MM-dd HH:mm')", "unix_timestamp(s, 'yyyy-MM-dd HH:mm')"
    with settings_of(moments.spark, MEXICO):
        moments.index(ValueList("hour(ts)"), ValueList("cast(ts AS date)"), *map(MinMax, texts))
        wheres = ("hour(ts) = 30", "cast(ts AS date) = '2000-01-01'", f"{texts[0]} = timestamp'2000-01-01'", f"{texts[1]} = 7")
        assert moments.reads(*wheres) == [set()] * len(wheres)
        with_later_rules(monkeypatch)
        assert moments.reads(*wheres) == [{"a"}] * len(wheres)


def test_zones_that_a_function_names(moments: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = "from_utc_timestamp(ts, 'America/Mexico_City')", "to_utc_timestamp(ts, 'America/Mexico_City')"
    moments.index(*map(MinMax, calls))
    wheres = [f"{call} < timestamp'2000-01-01'" for call in calls]
    assert moments.reads(*wheres) == [set()] * len(wheres)
    with_later_rules(monkeypatch)
    assert moments.reads(*wheres) == [{"a"}] * len(wheres)


def test_moments_that_a_reader_takes_to_another_zone(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """INT96 of Impala and Arrow, once a setting has Spark take them for local times."""
    at = pa.table({"ts": pa.array([datetime(2030, 7, 1, 12)], pa.timestamp("us"))})
    pq.write_table(at, lake.folder / "a", use_deprecated_int96_timestamps=True)
    aged(lake.folder / "a")
    with settings_of(lake.spark, {**MEXICO, "spark.sql.parquet.int96TimestampConversion": "true"}):
        lake.index(MinMax("ts"))
        assert lake.reads("ts > timestamp'2030-07-02'") == [set()]
        with_later_rules(monkeypatch)
        assert lake.reads("ts > timestamp'2030-07-02'") == [{"a"}]


def test_a_moment_that_is_a_default(moments: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of files that lack the column, Spark makes it of text."""
    text = "TIMESTAMP '2030-07-01 12:00:00'"
    schema = StructType([StructField("c", TimestampType(), True, {"CURRENT_DEFAULT": text, "EXISTS_DEFAULT": text})])
    with settings_of(moments.spark, MEXICO):
        moments.index(MinMax("c"), schema=schema)
        later = moments.view(schema=schema).where("c > timestamp'2030-07-02'")
        assert files_read(moments.skipping, later, moments.folder) == set()
        with_later_rules(monkeypatch)
        later = moments.view(schema=schema).where("c > timestamp'2030-07-02'")
        assert files_read(moments.skipping, later, moments.folder) == {"a"}


def test_moments_dates_and_utc_have_no_rules(moments: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    moments.index(MinMax("ts"), ValueList("hour(ts)"), ValueList("year(d)"), ValueList("upper(s)"))
    with_later_rules(monkeypatch)
    wheres = ("ts < timestamp'2000-01-01'", "hour(ts) = 30", "year(d) = 2000", "upper(s) = 'X'")
    assert moments.reads(*wheres) == [set()] * len(wheres)
