"""The functions of user agents: the answers of the `user-agents` library, for any string."""

from __future__ import annotations

import os
import re
import sys
import warnings
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest
import ua_parser_rs  # noqa: F401  a test takes it away
from pyspark.sql import SparkSession
from ua_parser import BasicResolver, Parser, load_builtins

from data_skip.planning.indicators import matches
from log_skip import Formatted
from log_skip.user_agents import _VERSION, LONGEST, Agent, _Rules, get_agent_name, parse
from sample_data.access_log import read_lines, write_access_log
from tests.support import Lake, aged, files_read

ROUNDS = max(1, int(os.environ.get("DATA_SKIP_EXAMPLES", "0")) // 200)  # make fuzz draws more
BASIC = Parser(BasicResolver(load_builtins()))

pytestmark = pytest.mark.usefixtures("functions")


@pytest.fixture(scope="module")
def agents() -> list[str]:
    """The distinct agents of the real access log."""
    found = (re.search(r'"([^"]*)"\s*$', line) for line in read_lines())
    distinct = sorted({match[1] for match in found if match})
    assert len(distinct) > 500
    return distinct


def of_library(text: str) -> Agent:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from user_agents import parse as library

    agent = library(text)
    return Agent(agent.browser.family, agent.browser.version_string, agent.os.family, agent.device.family, agent.is_bot, agent.is_mobile)


def test_every_agent_of_the_log_is_what_the_library_says(agents: list[str]) -> None:
    assert [parse(agent) for agent in agents] == [of_library(agent) for agent in agents]
    assert len({parse(agent).name for agent in agents}) > 50
    assert {parse(agent).is_bot for agent in agents} == {parse(agent).is_mobile for agent in agents} == {True, False}


@pytest.mark.parametrize("text", ["", " ", "-", "x", "\x00", "😀" * 100, "Firefox/²", "Mozilla/5.0 (" * 300, "Chrome/1.2.3 '\"; DROP"])
def test_odd_agents_are_what_the_library_says(text: str) -> None:
    assert parse(text) == of_library(text)


@pytest.mark.parametrize("fast", [True, False])
def test_the_fast_backend_changes_no_answer(agents: list[str], fast: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Or an index of a machine that has it would skip rows of a query on one that has not. 360Spider is one that it reads otherwise."""
    monkeypatch.setitem(sys.modules, "ua_parser_rs", sys.modules["ua_parser_rs"] if fast else None)
    rules = _Rules()
    assert (rules.searches[0] is not None) == fast
    chosen = [agent for agent in agents if "360Spider" in agent or "slurp" in agent or "Spinn3r" in agent] + agents[:: 1 if fast else 20]
    for agent in [*chosen, "Firefox/٣.٤ ", "x\x1fFirefox/2.1\n", "é iPhone"]:
        browser, os, device = rules.find(agent)
        expected = BASIC.parse(agent).with_defaults()
        assert (browser, os, device) == (expected.user_agent, expected.os, expected.device), agent


def test_no_agent_is_an_error() -> None:
    assert parse("Mozilla/5.0 Firefox/" + "9" * 5000 + ".1") == Agent()  # the library raises ValueError
    assert parse("Firefox/24.0 " + "x" * LONGEST) == parse("Firefox/24.0 ")  # what is long is not remembered, but read
    assert get_agent_name("Firefox/24.0 " + "x" * 100) == "Firefox"
    assert get_agent_name("\ud800") == "Other"


def test_as_sql_functions(spark: SparkSession) -> None:
    agent = "Mozilla/5.0 (iPhone; CPU iPhone OS 7_0 like Mac OS X) AppleWebKit/537.51 Version/7.0 Mobile Safari/9537.53"
    names = ("get_agent_name", "get_agent_version", "get_os_name", "get_device_family", "is_bot", "is_mobile")
    paper = ("getAgentName", "getAgentVersion", "getOsName", "getDeviceFamily", "isBot", "isMobile")
    for functions in (names, paper):
        row = spark.sql(f"SELECT {', '.join(f'{name}(a)' for name in functions)} FROM VALUES ('{agent}') AS t(a)").first()
        assert row is not None and tuple(row) == ("Mobile Safari", "7.0", "iOS", "iPhone", False, True)


def test_null_empty_enormous_and_broken_agents_fail_no_task(lake: Lake, spark: SparkSession) -> None:
    """Text that is no UTF-8 included: pandas would refuse it."""
    lake.file("null.parquet", {"a": [None, None, "Firefox/24.0"]})
    lake.file("odd.parquet", {"a": ["", "x" * 100_000, "Mozilla/5.0 Firefox/" + "9" * 5000]})
    broken = spark.sql("SELECT 'Firefox/24.0' AS a UNION ALL SELECT cast(X'ff80' AS string)")
    lake.spark_file("broken.parquet", broken)
    lake.index(Formatted("a", "get_agent_name"))
    lake.check("get_agent_name(a) IS NULL", read=["null.parquet"])
    lake.check("get_agent_name(a) = 'Other'", read=["odd.parquet", "broken.parquet"])
    lake.check("get_agent_name(a) = 'Firefox'", read=["null.parquet", "broken.parquet"])


def test_skips_hours_of_the_real_log(lake: Lake, tmp_path: Path) -> None:
    lake.folder = tmp_path / "log"
    write_access_log(lake.folder)
    for file in lake.folder.glob("*.parquet"):
        aged(file)
    lake.index(*(Formatted("user_agent", name) for name in ("get_agent_name", "get_os_name", "is_bot", "get_device_family")))
    wheres = (
        "get_agent_name(user_agent) = 'AhrefsBot'",
        "getAgentName(user_agent) IN ('Konqueror', 'Safari') AND NOT is_bot(user_agent)",
        "get_os_name(user_agent) LIKE '%BSD'",
        "get_device_family(user_agent) = 'iPad' OR get_agent_name(user_agent) RLIKE '^Mobile .*UI'",
    )
    frame = lake.view()
    with lake.skipping.disabled():
        found = matches(frame, wheres)
    for i, where in enumerate(wheres):
        holding = {Path(row["file"]).name for row in found if row[f"q{i}"]}
        assert files_read(lake.skipping, frame.where(where), lake.folder) == holding, where
        assert len(holding) < len(found), where
    lake.query(f"SELECT user_agent, get_agent_name(user_agent) FROM t WHERE {wheres[0]}")


def test_the_rules_of_the_library_belong_to_the_version() -> None:
    assert re.fullmatch(r"3, user-agents [0-9.]+, ua-parser [0-9.]+, ua-parser-builtins [0-9.]+, Unicode [0-9.]+", _VERSION)


@pytest.mark.long
def test_random_agents_lose_no_row(lake: Lake, agents: list[str]) -> None:
    """Agents of the log, cut, joined and spoilt; predicates about what became of them."""
    random = Random(8)
    made = []
    for _ in range(160):
        one, other = random.choice(agents), random.choice(agents)
        spoilt = [one[: random.randrange(len(one) + 1)], one[: len(one) // 2] + other[len(other) // 2 :], one.upper(), f"{one}\u00e9"]
        made.append(random.choice([one, *spoilt, None]))
    for i in range(16):
        lake.file(f"{i}.parquet", {"a": pa.array(made[i * 10 : i * 10 + 10], pa.string())})
    lake.index(*(Formatted("a", name) for name in ("get_agent_name", "get_agent_version", "get_os_name", "is_mobile")))
    parsed = [parse(agent) for agent in made if agent is not None]
    skipped = 0
    for _ in range(ROUNDS):
        predicates = []
        for _ in range(15):
            agent = random.choice(parsed)
            forms = [
                f"get_agent_name(a) = '{agent.name}'",
                f"get_agent_name(a) LIKE '%{agent.name[-3:]}'",
                f"get_agent_version(a) >= '{agent.version}'",
                f"get_os_name(a) IN ('{agent.os}', 'Windows')",
                f"NOT (get_os_name(a) <=> '{agent.os}')",
                "is_mobile(a)",
                "get_agent_name(a) IS NULL",
            ]
            predicates.append(random.choice([" AND ", " OR "]).join(random.sample(forms, random.choice([1, 1, 2]))))
        skipped += sum(16 - len(read) for read in lake.reads(*predicates))
        for where in predicates[::8]:
            lake.query(f"SELECT * FROM t WHERE {where}")
    assert skipped > 30 * ROUNDS
