"""Formatted and its extractors: named, versioned, the same in an index, in SQL and in Spark's own spelling."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from subprocess import run
from sys import executable

import pandas as pd
import pytest
from pyspark.serializers import CloudPickleSerializer
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import geo_skip
import log_skip
from data_skip import DataSkipError, ValueList
from data_skip.testing import check_index
from log_skip import Formatted
from log_skip.extractors import Distinct, _known
from log_skip.user_agents import get_agent_name
from tests.support import Lake

FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:24.0) Gecko/20140205 Firefox/24.0 Iceweasel/24.3.0"
CHROME = "Mozilla/5.0 (Windows NT 6.1) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/32.0.1700.107 Safari/537.36"
GOOGLEBOT = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"
IPHONE = "Mozilla/5.0 (iPhone; CPU iPhone OS 7_0_4 like Mac OS X) AppleWebKit/537.51.1 Version/7.0 Mobile Safari/9537.53"

pytestmark = pytest.mark.usefixtures("functions")


@pytest.fixture
def extractors() -> Iterator[None]:
    """What a test makes known is forgotten after it."""
    before = dict(_known)
    yield
    _known.clear()
    _known.update(before)


def vendor(text: str) -> str | None:
    return text.split("/")[0] or None


def test_an_extractor_of_a_user_is_a_function_and_an_index(lake: Lake, spark: SparkSession, extractors: None) -> None:
    log_skip.extractor("vendor", version=3, aliases=["getVendor"])(vendor)
    log_skip.register(spark)
    lake.file("mozilla.parquet", {"agent": [FIREFOX, None]})
    lake.file("curl.parquet", {"agent": ["curl/7.1", "wget/1", "Curl/7 "]})
    lake.file("none.parquet", {"agent": ["", None]})
    lake.index(Formatted("agent", "vendor"))
    lake.check("vendor(agent) = 'Mozilla'", read=["mozilla.parquet"])
    lake.check("getVendor(agent) = 'Mozilla'", read=["mozilla.parquet"])
    lake.check("vendor(agent) IN ('wget', 'Iceweasel')", read=["curl.parquet"])
    lake.check("vendor(agent) LIKE 'C%'", read=["curl.parquet"])  # TRAPS K11: 'Curl' is not 'curl'
    lake.check("vendor(agent) LIKE '%z%' AND length(agent) > 3", read=["mozilla.parquet"])
    lake.check("vendor(agent) LIKE 'M%z%a'", read=["mozilla.parquet"])
    lake.check("vendor(agent) RLIKE '^[cw].*t$'", read=["curl.parquet"])
    lake.check("regexp_replace(vendor(agent), '[a-z]', '') = 'M'", read=["mozilla.parquet"])
    lake.check("vendor(agent) <> 'Mozilla'", read=["curl.parquet"])
    lake.check("NOT vendor(agent) IN ('curl', 'wget', 'Curl')", read=["mozilla.parquet"])
    lake.check("vendor(agent) IS NULL", read=["mozilla.parquet", "none.parquet"])
    lake.check("coalesce(vendor(agent), 'unknown') = 'unknown'", read=["mozilla.parquet", "none.parquet"])  # TRAPS G16
    lake.check("upper(vendor(agent)) = 'WGET'", read=["curl.parquet"])  # TRAPS G15
    lake.check("upper(agent) = 'WGET'", read=["curl.parquet", "mozilla.parquet", "none.parquet"])


@pytest.mark.long
def test_an_extractor_is_known_by_its_column(lake: Lake) -> None:
    lake.file("a.parquet", {"agent": [FIREFOX], "referrer": [CHROME]})
    lake.index(Formatted("agent", "get_agent_name"))
    lake.check("get_agent_name(agent) = 'Chrome'", read=[])
    lake.check("get_agent_name(referrer) = 'Chrome'", read=["a.parquet"])
    assert lake.view().where(F.call_function("get_agent_name", "agent") == "Chrome").count() == 0
    assert lake.skipping.report().scans[-1].files_read == 0


@pytest.mark.long
def test_records_of_another_version_are_not_used(lake: Lake, spark: SparkSession, extractors: None) -> None:
    """TRAPS G14: the function means something else, by its code or only by what lies below it."""
    log_skip.extractor("vendor", version=1)(vendor)
    log_skip.register(spark)
    lake.file("a.parquet", {"agent": ["curl/7"]})
    table = lake.index(Formatted("agent", "vendor"))
    lake.check("vendor(agent) = 'wget'", read=[])

    log_skip.extractor("vendor", version=2)(vendor)
    log_skip.register(spark)
    lake.check("vendor(agent) = 'wget'", read=["a.parquet"])
    lake.skipping.forget()  # as by another process: in this one the index is remembered as that of the other function
    report = lake.check("vendor(agent) = 'wget'", read=["a.parquet"])
    assert any("collected by version 1 of extractor vendor, this is 2" in note for note in report.notes)
    (row,) = table.describe().rows
    assert "version 1 of extractor vendor, this is 2; drop the index and create it again" in row["problem"]
    with pytest.raises(DataSkipError, match="exists already"):
        table.create_index(Formatted("agent", "vendor"))
    table.drop_index(Formatted("agent", "vendor"))
    table.create_index(Formatted("agent", "vendor"))
    lake.check("vendor(agent) = 'wget'", read=[])

    _known.pop("vendor")
    assert "no extractor is called 'vendor'" in table.describe().rows[0]["problem"]


@pytest.mark.long
def test_a_function_of_another_version_is_another_expression(lake: Lake, spark: SparkSession, extractors: None) -> None:
    """Also for an index that knows nothing of versions."""
    log_skip.extractor("vendor", version=1)(vendor)
    log_skip.register(spark)
    lake.file("a.parquet", {"agent": ["curl/7"]})
    lake.index(ValueList("vendor(agent)"))
    lake.check("vendor(agent) = 'wget'", read=[])
    log_skip.extractor("vendor", version=2)(vendor)
    log_skip.register(spark)
    lake.check("vendor(agent) = 'wget'", read=["a.parquet"])


@pytest.mark.long
def test_an_extractor_is_pickled_alike_in_every_process() -> None:
    """Or an index would not be found again by another session."""
    code = (
        "from pyspark.serializers import CloudPickleSerializer as S; from log_skip.extractors import Distinct;"
        "from log_skip.user_agents import get_agent_name as f; print(S().dumps((Distinct(f), 'string')).hex())"
    )
    here = CloudPickleSerializer().dumps((Distinct(get_agent_name), "string")).hex()
    there = run([executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2])
    assert there.stdout.strip() == here
    assert b"get_agent_name" in bytes.fromhex(here) and len(here) < 400  # by its name, not by its code


def test_each_distinct_string_of_a_batch_is_parsed_once() -> None:
    asked = []

    def parse(text: str) -> str:
        asked.append(text)
        if text == "bad":
            raise ValueError
        return text[:1]

    batch = pd.Series(["abc", None, "xyz", "abc", "bad", None, ""])
    found = Distinct(parse)(batch)
    assert [None if value is None else str(value) for value in found] == ["a", None, "x", "a", None, None, ""]
    assert sorted(asked) == ["", "abc", "bad", "xyz"]
    assert list(Distinct(parse)(pd.Series([], dtype=object))) == []


@pytest.mark.parametrize("error", [ModuleNotFoundError, FileNotFoundError, MemoryError])
def test_what_a_worker_lacks_is_no_null(error: type[Exception]) -> None:
    """Where one that makes an index lacked a package, all agents of a file were null to it, and to no query's worker."""

    def parse(text: str) -> str:
        raise error(text)

    with pytest.raises(error):
        Distinct(parse)(pd.Series(["abc"]))


def test_sql_extractors_serve_sparks_own_spelling(lake: Lake) -> None:
    lake.file("a.parquet", {"url": ["http://a.org/x/y.PNG?q=1&r=2", None, "not a url ^^"]})
    lake.file("b.parquet", {"url": ["https://b.org:80/x/z/1.html#top", "/only/path"]})
    lake.file("c.parquet", {"url": ["", "http://[bad"]})
    lake.index(Formatted("url", "url_host"), Formatted("url", "path_prefix", [2]), Formatted("url", "query_value", ["q"]))
    for query in ("url_host(url) = 'a.org'", "try_parse_url(url, 'HOST') = 'a.org'", "try_parse_url(url, 'HOST') LIKE 'a.%'"):
        lake.check(query, read=["a.parquet"])
    lake.check("path_prefix(url, 2) = '/only/path'", read=["b.parquet"])
    lake.check("substring_index(split_part(split_part(url, '?', 1), '#', 1), '/', 3) = '/only/path'", read=["b.parquet"])
    lake.check("path_prefix(url, 1) = '/only'", read=["a.parquet", "b.parquet", "c.parquet"])
    lake.check("query_value(url, 'q') = '1'", read=["a.parquet"])
    lake.check("query_value(url, 'r') = '3'", read=["a.parquet", "b.parquet", "c.parquet"])
    lake.check("url_host(url) IS NULL", read=["a.parquet", "b.parquet", "c.parquet"])


def test_expressions_that_spark_evaluates_by_an_object_are_found_again(lake: Lake) -> None:
    """parse_url and from_json hold an evaluator, or a map of options, that only its parameters tell."""
    lake.file("a.parquet", {"url": ["http://a.org/x"], "event": ['{"level": "INFO"}']})
    lake.file("b.parquet", {"url": ["http://b.org/x"], "event": ['{"level": "WARN"}']})
    level = "from_json(event, 'level STRING', map('mode', 'PERMISSIVE')).level"
    lake.index(ValueList("parse_url(url, 'HOST')"), ValueList("get_json_object(event, '$.level')"), ValueList(level))
    lake.check("parse_url(url, 'HOST') = 'a.org'", read=["a.parquet"])
    lake.check("parse_url(url, 'PATH') = '/y'", read=["a.parquet", "b.parquet"])
    lake.check("get_json_object(event, '$.level') = 'WARN'", read=["b.parquet"])
    lake.check(f"{level} = 'WARN'", read=["b.parquet"])
    lake.check("from_json(event, 'level STRING', map('mode', 'FAILFAST')).level = 'WARN'", read=["a.parquet", "b.parquet"])


@pytest.mark.long
def test_is_sound(spark: SparkSession) -> None:
    agents = [FIREFOX, CHROME, GOOGLEBOT, IPHONE, None, "", "x" * 20_000, "😀", "curl/7.1", "Mozilla/5.0 Firefox/" + "9" * 5000]
    name = ["= 'Firefox'", "<> 'Other'", "IN ('Googlebot', 'IE')", "LIKE '%Safari'", "IS NULL", "<=> NULL"]
    predicates = [f"get_agent_name(a) {test}" for test in name] + ["NOT (get_agent_name(a) = 'Other')", "length(get_agent_name(a)) > 6"]
    checked = check_index(Formatted("a", "get_agent_name"), [{"a": agent} for agent in agents], predicates, spark)
    assert all(checked.skipped.values()), checked
    bots = ["is_bot(a)", "NOT is_bot(a)", "is_bot(a) IS NULL", "is_bot(a) = false OR a IS NULL"]
    checked = check_index(Formatted("a", "is_bot"), [{"a": agent} for agent in agents], bots, spark)
    assert checked.skipped["is_bot(a)"] and checked.skipped["NOT is_bot(a)"], checked


def test_refuses_what_it_cannot_be(lake: Lake) -> None:
    with pytest.raises(ValueError, match="no extractor is called 'get_browser'"):
        Formatted("agent", "get_browser")
    with pytest.raises(ValueError, match=r"takes constants: depth INT; not \[\]"):
        Formatted("path", "path_prefix")
    with pytest.raises(ValueError, match="collected by version 7"):
        Formatted("agent", "get_agent_name", extractor_version=7)
    with pytest.raises(ValueError, match="at least 1"):
        Formatted("agent", "get_agent_name", limit=0)
    with pytest.raises(ValueError, match="letters, digits and _ only"):
        log_skip.extractor("get agent")(vendor)
    with pytest.raises(ValueError, match="must be a whole number"):
        log_skip.extractor("agent", version=1.5)(vendor)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="a string or a whole number"):
        Formatted("path", "path_prefix", [1.5])
    for constants in (2, "2"):
        with pytest.raises(ValueError, match=r"^constants are a list, as \[2\], not "):
            Formatted("path", "path_prefix", constants)  # type: ignore[arg-type]


def test_an_extractor_that_cannot_be_one_is_not_known(extractors: None) -> None:
    """Where one was, `register` ended at it, with an error that did not name it, and so did `read_access_log`."""
    known_before = log_skip.extractors()
    with pytest.raises(ValueError, match="extractor agent is to be a function of one string, not 3"):
        log_skip.extractor("agent")(3)  # type: ignore[type-var]
    with pytest.raises(ValueError, match="aliases of extractor agent are a list of names, not 'browser'"):
        log_skip.extractor("agent", aliases="browser")
    for sql in ("lower(x)", "lower({0)", "lower({1})", "lower({text})", "lower({{0}})"):
        with pytest.raises(ValueError, match=r"the SQL of extractor low cannot be '.*: .*; \{0\} stands for the string"):
            log_skip.sql_extractor("low", sql)
    assert log_skip.extractors() == known_before


def test_an_extractor_that_is_no_function_of_sql_is_named(spark: SparkSession, extractors: None) -> None:
    log_skip.extractor("zz_vendor", returns="strnig")(vendor)
    with pytest.raises(DataSkipError, match=r"^extractor zz_vendor is no function of SQL: .*; make it known anew, by the same name$"):
        log_skip.register(spark)
    log_skip.extractor("zz_vendor")(vendor)
    log_skip.register(spark)


def test_a_session_that_is_none(spark: SparkSession) -> None:
    for register in (log_skip.register, geo_skip.register, lambda found: log_skip.read_access_log(found, "t")):
        with pytest.raises(DataSkipError, match="takes a running, classic SparkSession, not None"):
            register(None)
