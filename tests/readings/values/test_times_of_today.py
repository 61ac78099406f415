"""Text without a date, and a TIME, are moments of the current day: a decision that was told again after midnight lost rows by it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path

import pytest

import data_skip
from data_skip import MinMax, ValueList
from data_skip.errors import DataSkipError
from data_skip.proofs import steady
from data_skip.store import reader
from tests.support import Lake, files_read, rows_of, settings_of

UNDATED = Path(data_skip.__file__).parent / "spark" / "values" / "Undated.java"
LATER = "> TIMESTAMP'3000-01-01 00:00:00'"
UNFOLDED = {"spark.sql.optimizer.excludedRules": "org.apache.spark.sql.catalyst.optimizer.ConstantFolding"}
LEGACY = {"spark.sql.legacy.timeParserPolicy": "LEGACY"}


def test_java_and_python_know_such_text_by_the_same() -> None:
    java = UNDATED.read_text("utf-8").replace("\\\\", "\\")
    for pattern in (steady._WITHOUT_DATE, steady._TIMESTAMP, steady._TIME, steady._OF_TIME, reader._SHORT_YEAR):
        assert f'"{pattern.pattern}"' in java
    spark_own = [name for name in steady._PARSERS if not name.startswith("Try")]  # which Spark replaces before anything is evaluated
    assert f'"{" ".join(spark_own)}"' in java and f'"{" ".join(steady._BY_PATTERN)}"' in java


@pytest.fixture
def texts(lake: Lake) -> Lake:
    for name, text in {"time": "12:00:00", "T": "T12:00", "odd": " -7:5", "dated": "2001-02-03 12:00:00", "none": "N/A"}.items():
        lake.file(name, {"s": [text, None], "j": [f'{{"t": "{text}"}}', None], "day": ["01-02-03", None]})
    lake.index(*(kind(column) for kind in (ValueList, MinMax) for column in ("s", "j", "day")))
    lake.view()
    return lake


@pytest.mark.parametrize(
    "where",
    [
        f"try_cast(s AS timestamp) {LATER}",
        f"coalesce(try_to_timestamp(concat(s, '')), current_timestamp()) {LATER}",
        f"exists(array(s), x -> try_cast(x AS timestamp) {LATER})",
        "date_format(try_cast(s AS timestamp), 'yyyy') = '3000'",
    ],
)
def test_text_that_begins_with_a_time_is_not_decided(texts: Lake, where: str) -> None:
    """All other text is: it has a date, or is none on any day."""
    texts.check(where, read=["time", "T", "odd"])


def test_what_reads_text_inside_is_not_asked(texts: Lake) -> None:
    texts.check(f"from_json(j, 't timestamp').t {LATER}", read=["time", "T", "odd", "dated", "none"])
    texts.check(f"from_json(j, 't timestamp_ntz').t {LATER.replace('TIMESTAMP', 'TIMESTAMP_NTZ')}", read=[])


def test_years_of_two_digits(texts: Lake) -> None:
    """Of java.text they are of the century that ends twenty years after today."""
    texts.check("to_date(day, 'yy-MM-dd') > DATE'3000-01-01'", read=[])
    with settings_of(texts.spark, LEGACY):
        texts.check("to_date(day, 'yy-MM-dd') > DATE'3000-01-01'", read=["time", "T", "odd", "dated", "none"])
        texts.check("to_date(day, 'yyyy-MM-dd') > DATE'3000-01-01'", read=[])


def test_names_of_zones_that_depend_on_the_rows_before(lake: Lake) -> None:
    """java.text looks for a name among those of the zone before: behind `China Standard Time`, `CST` is China's, and not Chicago's."""
    day = "2020-01-01 00:00"
    lake.file("chicago", {"s": [f"{day} CST"]})
    lake.file("china", {"s": [f"{day} China Standard Time"] * 9})
    lake.file("offset", {"s": [f"{day} -0600"]})
    lake.index(ValueList("s"))
    asked = {
        "unix_timestamp(s, 'yyyy-MM-dd HH:mm z') = 1577808000": {"chicago", "china", "offset"},
        "to_timestamp(s, 'yyyy-MM-dd HH:mm Z') = timestamp_seconds(1577858400)": {"chicago", "china", "offset"},
        "to_timestamp(s, \"yyyy-MM-dd HH:mm 'Z'\") = timestamp_seconds(1577858400)": set(),
        "to_timestamp(s, 'yyyy-MM-dd HH:mm X') = timestamp_seconds(1577858400)": {"offset"},
    }
    with settings_of(lake.spark, LEGACY | {"spark.sql.ansi.enabled": "false"}):
        lake.view()
        rows = lake.spark.table("t").coalesce(1)  # Spark reads larger files first: CST comes behind what is of China
        for where, read in asked.items():
            with lake.skipping.disabled():
                expected = rows_of(rows.where(where))
            assert rows_of(rows.where(where)) == expected
            assert files_read(lake.skipping, rows.where(where), lake.folder) == read


@pytest.mark.parametrize("column", ["t", "timestampadd(HOUR, 1, t)", "date_trunc('DAY', t)"])
def test_constants_that_are_left_as_they_are(lake: Lake, column: str) -> None:
    lake.file("old", {"t": [dt.datetime(2001, 2, 3, tzinfo=dt.timezone.utc)]})
    lake.file("new", {"t": [dt.datetime(3001, 2, 3, tzinfo=dt.timezone.utc)]})
    lake.index(MinMax("t"))
    lake.view()
    with settings_of(lake.spark, UNFOLDED):
        lake.check(f"{column} > CAST('2500-01-01 00:00:00' AS timestamp_ntz)", read=["new"])
        lake.check(f"{column} > CAST('12:00:00' AS timestamp)", read=["old", "new"])


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
