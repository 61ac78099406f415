"""Rows that cross to Python once, with their count: records are those of all rows. Where most rows differ, they cross as they are."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest

from data_skip import BloomFilter, GapList, Index, MinMax, Prefix, ValueList
from data_skip.building import grouped, one_pass
from data_skip.building.grouped import Grouping, Pass
from log_skip import Formatted, NGram, register
from tests.support import Lake, settings_of
from tests.test_direct import Everything, Once, ordered

START = datetime(2024, 3, 31, tzinfo=timezone.utc)


@pytest.fixture(autouse=True)
def small_files_are_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grouped, "LEAST_BYTES", 0)
    monkeypatch.setattr(grouped, "SMALL_PART", 1)
    monkeypatch.setattr(grouped, "LEAST_ROWS", 1)
    monkeypatch.setattr(grouped, "SHARE", 1.1)  # of rows: all


@pytest.fixture
def groupings(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Grouping | None]]:
    """By what each pass grouped its rows."""
    chosen: list[Grouping | None] = []

    def passes(*arguments: Any) -> list[Pass]:
        planned = grouped.passes(*arguments)
        chosen.extend(one.grouping for one in planned)
        return planned

    monkeypatch.setattr(one_pass, "passes", passes)
    yield chosen


def write(lake: Lake, rows: int = 200) -> None:
    """Few numbers, words, prices and days; NULL among them; times that all differ."""
    for i in range(3):
        places = range(rows)
        columns = {
            "number": [None if n % 11 == 0 else n % 7 + 5 * i for n in places],
            "word": [None if n % 13 == 0 else f"{'ÄöX'[n % 3]}{i}" for n in places],
            "price": [Decimal(n % 3).scaleb(-2) for n in places],
            "at": [START + timedelta(days=i, microseconds=n * 997) for n in places],
            "near": [(0.0, -0.0, float("nan"))[n % 3] for n in places],
        }
        lake.file(f"{i}.parquet", columns)
    lake.file("empty.parquet", {"number": [1], "word": [""], "price": [Decimal("0.01")], "at": [START], "near": [1.0]})


def records(lake: Lake, *indexes: Index) -> list[Any]:
    table = lake.skipping.table(str(lake.folder))
    report = table.create_index(*indexes)
    found = [ordered(row.asDict(recursive=True)) for row in table.metadata().orderBy("path").collect()]
    table.drop_index(*indexes)
    assert not report.unknown
    return [*found, report.rows]


PLANS = ("true", "false")  # adaptive ones, and others
CASES = (
    ((Everything("number + 1"), Once("number % 2"), MinMax("number * 2"), GapList("number - 1")), ("number",)),
    ((Once("lower(word)"), Prefix("upper(word)", 1), BloomFilter("reverse(word)"), NGram("concat(word, 'abc')")), ("word",)),
    ((Once("year(at)"), MinMax("hour(at)"), Everything("date(at)")), ()),
    ((Everything("price + number"), ValueList("price * 2")), ("number", "price")),
    ((Once("near = 0"), Everything("isnan(near)")), ()),
    ((Once("split(word, 'X')"),), ("word",)),
)


@pytest.mark.parametrize(
    ("indexes", "columns", "adaptive"),
    [
        pytest.param(*case, plan, marks=pytest.mark.long if plan == "false" and case is not CASES[2] else ())
        for case in CASES
        for plan in PLANS
    ],
)
def test_records_are_those_of_all_rows(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, groupings: list[Grouping | None], indexes: tuple[Index, ...], columns: Any, adaptive: str
) -> None:
    write(lake)
    with settings_of(lake.spark, {"spark.sql.adaptive.enabled": adaptive}):
        of_groups = records(lake, *indexes)
    assert groupings == [Grouping(columns)]
    monkeypatch.setattr(grouped, "LEAST_BYTES", 1 << 60)
    assert of_groups == records(lake, *indexes)
    assert groupings == [Grouping(columns), None]


@pytest.mark.long
def test_indexes_whose_rows_are_few_alone_but_not_together(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, groupings: list[Grouping | None]
) -> None:
    write(lake)
    of_number, of_word, of_time = (Once("number % 2"), MinMax("number + 1")), (Once("lower(word)"),), (MinMax("year(at)"), Once("hour(at)"))
    others = (ValueList("near + 1"), MinMax("date_format(at, 'SSS')"), Everything("price + 1"), Once("number"))
    indexes = (*of_word, others[0], *of_number, others[1], *of_time, *others[2:])
    in_passes = records(lake, *indexes)
    assert groupings == [Grouping(("word",)), Grouping(("number",)), Grouping(("price",)), Grouping(), Grouping(), None]
    monkeypatch.setattr(grouped, "LEAST_BYTES", 1 << 60)
    assert in_passes == records(lake, *indexes)


def test_lines_are_parsed_once(lake: Lake, groupings: list[Grouping | None]) -> None:
    for i in range(2):
        lake.lines(f"{i}.json", *(json.dumps({"x": n % 7, "y": n % 11, "z": n % 13}) for n in range(100)))
    table = lake.skipping.table(str(lake.folder), format="json", schema="x INT, y INT, z INT")
    table.create_index(MinMax("x + 1"), MinMax("y + 1"), MinMax("z + 1"))
    assert groupings == [None]


@pytest.mark.parametrize(
    "index",
    [
        ValueList("at + INTERVAL 1 DAY"),  # all differ
        ValueList("near + 1"),  # 0.0 and -0.0 are one group
        MinMax("lower(word)"),  # long text, so many times over
    ],
    ids=str,
)
def test_rows_that_cross_as_they_are(lake: Lake, groupings: list[Grouping | None], index: Index) -> None:
    write(lake)
    records(lake, index)
    assert groupings == [None]


def test_words_that_are_equal_by_a_collation_stay_apart(lake: Lake, groupings: list[Grouping | None]) -> None:
    write(lake)
    lake.index(ValueList("upper(word)"), schema="word STRING COLLATE UTF8_LCASE")
    lake.index(Once("word COLLATE UTF8_LCASE"))
    assert groupings == [None, Grouping(("word",))]


def test_groups_that_would_not_have_their_values(lake: Lake, groupings: list[Grouping | None]) -> None:
    write(lake)
    with settings_of(lake.spark, {"spark.sql.retainGroupColumns": "false"}):
        records(lake, Once("lower(word)"))
    assert groupings == [None]


def test_files_that_are_looked_at() -> None:
    """A few, from everywhere, that are a small part of all."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(grouped, "SMALL_PART", 1 / 16)
        assert grouped._some_of(dict.fromkeys(range(10, 110), 1)) == [10, 43, 76, 109]
        assert grouped._some_of(dict.fromkeys(range(32), 1)) == [0, 10]
        assert grouped._some_of(dict.fromkeys(range(15), 1)) == []
        assert grouped._some_of({0: 100, 1: 1, 2: 100, 3: 1, 4: 1}) == [1, 3, 4]
        assert grouped._some_of({}) == []
        patched.setattr(grouped, "LEAST_BYTES", 101)
        assert grouped._some_of(dict.fromkeys(range(100), 1)) == []


def test_a_python_function_is_asked_once_about_a_value(lake: Lake, groupings: list[Grouping | None]) -> None:
    register(lake.spark)
    agents = ["curl/8.1.2", "Wget/1.21.3 (linux-gnu)", None]
    for i in range(2):
        lake.file(f"{i}.parquet", {"agent": [agents[n % 2 + i] for n in range(100)]})
    lake.index(Formatted("agent", "get_agent_name"))
    assert groupings == [Grouping(("agent",))]
    lake.check("get_agent_name(agent) = 'curl'", read=["0.parquet"])


def test_lines_that_cannot_be_parsed(lake: Lake, groupings: list[Grouping | None]) -> None:
    """What is told of each row is told of each group: here, that one of a file is malformed."""
    for name, broken in (("good", False), ("bad", True)):
        lines = [json.dumps({"x": n % 3}) for n in range(50)] + ["{"] * broken
        lake.lines(f"{name}.json", *lines)
    table = lake.skipping.table(str(lake.folder), format="json", schema="x INT")
    report = table.create_index(MinMax("x + 1"))
    assert groupings == [Grouping(("x",))]
    assert (report.files_refused, report.rows) == (1, 101)


def test_a_file_that_cannot_be_read(lake: Lake, groupings: list[Grouping | None]) -> None:
    write(lake)
    lake.bytes("broken.parquet", b"PAR1 no more PAR1")
    report = lake.table().create_index(MinMax("number + 1"))
    assert (report.files_collected, report.files_unreadable) == (4, 1)
