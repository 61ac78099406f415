"""Logs as they lie: every line is there, and text files are skipped."""

from __future__ import annotations

import gzip
from datetime import datetime, timezone
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from data_skip import MinMax, ValueList
from log_skip import Formatted, NGram, malformed_lines, read_access_log, read_json_lines, recipe
from sample_data.access_log import parse_line, read_lines
from tests.support import Lake, aged

pytestmark = pytest.mark.usefixtures("functions")

COMMON = '10.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] "GET /a.gif HTTP/1.0" 200 2326'
COMBINED = f'{COMMON} "http://a.org/x" "Mozilla/4.08 [en] (Win98; I ;Nav)"'


def write(path: Path, *lines: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    data = "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape")
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return aged(path)


def test_fields_of_a_line(spark: SparkSession, tmp_path: Path) -> None:
    write(tmp_path / "log" / "a.log", COMBINED)
    row = read_access_log(spark, str(tmp_path / "log")).first()
    assert row is not None
    assert row.asDict() == {
        "ip": "10.0.0.1",
        "identity": None,
        "user": "frank",
        "time": datetime(2000, 10, 10, 20, 55, 36, tzinfo=timezone.utc).astimezone().replace(tzinfo=None),
        "request": "GET /a.gif HTTP/1.0",
        "method": "GET",
        "path": "/a.gif",
        "protocol": "HTTP/1.0",
        "status": 200,
        "bytes": 2326,
        "referrer": "http://a.org/x",
        "user_agent": "Mozilla/4.08 [en] (Win98; I ;Nav)",
        "_malformed": None,
    }


def test_odd_lines(spark: SparkSession, tmp_path: Path) -> None:
    odd = {
        "common": (COMMON, {"user_agent": None, "referrer": None, "status": 200, "_malformed": None}),
        "dashes": (COMBINED.replace("2326", "-").replace('"http://a.org/x"', '"-"'), {"bytes": None, "referrer": None, "_malformed": None}),
        "empty": (COMBINED.replace('"Mozilla/4.08 [en] (Win98; I ;Nav)"', '""'), {"user_agent": "", "status": 200}),
        "quotes": (COMBINED.replace("Mozilla", '\\"Moz\\\\'), {"user_agent": '\\"Moz\\\\/4.08 [en] (Win98; I ;Nav)'}),
        "dash": (COMBINED.replace("http://a.org/x", "- x"), {"referrer": "- x", "_malformed": None}),
        "blank": (COMBINED.replace("frank", "frank de luxe"), {"user": "frank de luxe", "ip": "10.0.0.1"}),
        "ipv6": (COMBINED.replace("10.0.0.1", "2001:db8::1"), {"ip": "2001:db8::1"}),
        "request": (COMBINED.replace("GET /a.gif HTTP/1.0", "\\x16\\x03\\x01" * 3000), {"method": None, "path": None, "status": 200}),
        "return": (COMBINED + "\r", {"status": 200, "_malformed": None}),
    }
    wrong = [COMBINED[:-1], COMBINED.replace("Oct", "Okt"), COMBINED.replace("10/Oct", "32/Oct")]
    malformed = ["", "rubbish", *wrong, '\udcff\udc80 "', "x" * 100_000]
    write(tmp_path / "odd" / "a.log", *(line for line, _ in odd.values()), *malformed)
    log = read_access_log(spark, str(tmp_path / "odd"))
    rows = log.collect()
    for row, (name, (_, expected)) in zip(rows, odd.items(), strict=False):
        assert {field: row[field] for field in expected} == expected, name
        assert row["_malformed"] is None, name
    assert len(rows) == len(odd) + len(malformed)
    kept = [line.encode("utf-8", "surrogateescape").decode("utf-8", "replace") for line in malformed]
    assert [row["_malformed"] for row in rows[len(odd) :]] == kept
    assert malformed_lines(log) == len(malformed)
    assert malformed_lines(log.limit(len(odd))) == 0


@pytest.mark.long
def test_the_real_log_as_the_demo_parses_it(spark: SparkSession, tmp_path: Path) -> None:
    lines = list(read_lines())
    write(tmp_path / "real" / "a.log.gz", *lines)
    log = read_access_log(spark, str(tmp_path / "real"))
    names = ["ip", "method", "path", "protocol", "status", "bytes", "referrer", "user_agent"]
    rows = log.select(*names, "time", "_malformed").collect()
    assert len(rows) == len(lines) == 10_000
    for line, row in zip(lines, rows, strict=True):
        parsed = parse_line(line)
        if parsed is None:
            assert row["_malformed"] == line
        else:
            assert {name: row[name] for name in names} == {name: parsed[name] for name in names}
            assert row["time"].astimezone(timezone.utc) == parsed["time"]
    assert malformed_lines(log) == 1


def test_skips_raw_text_files(lake: Lake) -> None:
    """Half of them gzipped, an hour each, with the recipe for them."""
    hours: dict[str, list[str]] = {}
    for line in read_lines():
        parsed = parse_line(line)
        hours.setdefault("none" if parsed is None else parsed["time"].strftime("%dT%H"), []).append(line)
    chosen = sorted(hours.items())[::6]
    for i, (hour, lines) in enumerate(chosen):
        write(lake.folder / f"{hour}.log{'.gz' if i % 2 else ''}", *lines)
    report = lake.index(*recipe("raw_access_log"), format="text").describe()
    assert [row["problem"] for row in report.rows] == [""] * len(recipe("raw_access_log"))
    log = read_access_log(lake.spark, str(lake.folder))
    log.createOrReplaceTempView("t")
    skipped = {}
    for where in (
        "status = 404 AND get_agent_name(user_agent) = 'Googlebot'",
        "status >= 500",
        "time >= TIMESTAMP '2015-05-19 00:00:00Z' AND time < TIMESTAMP '2015-05-19 04:00:00Z'",
        "path LIKE '/kibana/%'",
        "path LIKE '%.pdf'",
        "path LIKE '%logstash-monitorama%' AND bytes > 1000000",
        "ip = '83.149.9.216'",
        "user_agent RLIKE 'AhrefsBot/[0-9]'",
        "is_mobile(user_agent) AND url_host(referrer) = 'www.google.fr'",
        "_malformed IS NULL AND file_extension(path) = 'pdf'",
    ):
        skipped[where] = lake.check(where).files_skipped
    assert all(skipped.values()), skipped
    lake.spark.read.text(str(lake.folder)).createOrReplaceTempView("t")
    assert lake.check("access_log_status(value) = 500 AND access_log_path(value) LIKE '%.pdf'").files_skipped > 0
    assert lake.check("value LIKE '%Ahrefs%'").files_skipped == 0  # there is no index over the whole line


def test_text_search_in_raw_lines(lake: Lake) -> None:
    write(lake.folder / "a.log", "12:00 INFO user=alice logged in", "12:01 ERROR disk full")
    write(lake.folder / "b.log.gz", "13:00 INFO user=bob logged in", "")
    write(lake.folder / "c.log", "14:00 WARN \udcff\udcfe broken user=alice")  # no UTF-8: read whatever is asked
    lake.index(NGram("value"), Formatted("value", "severity"), ValueList("regexp_extract(value, '^([0-9]+):', 1)"), format="text")
    lake.view(format="text")
    lake.check("value LIKE '%disk%'", read=["a.log", "c.log"])
    lake.check("regexp_extract(value, 'user=([a-z]+)', 1) = 'bob'", read=["b.log.gz", "c.log"])
    lake.check("severity(value) = 'ERROR'", read=["a.log"])
    lake.check("regexp_extract(value, '^([0-9]+):', 1) IN ('13', '15')", read=["b.log.gz"])


def test_json_lines(lake: Lake, spark: SparkSession) -> None:
    for name, level in (("a", "INFO"), ("b", "ERROR")):
        events = (f'{{"time": "2024-01-0{day} 00:00:00", "level": "{level}", "message": "user {name} {day}"}}' for day in range(1, 5))
        write(lake.folder / f"{name}.json", *events)
    good = '{"level": "WARN", "time": "2024-01-01 00:00:00"}'
    write(lake.folder / "c.json", good, '{"level": ', "[1]", '{"time": "rubbish", "level": "WARN"}')
    schema = "time TIMESTAMP, level STRING, message STRING"
    frame = read_json_lines(spark, str(lake.folder), schema)
    assert frame.columns == ["time", "level", "message", "_malformed"]
    assert frame.count() == 12
    assert malformed_lines(frame) == 3
    found = read_json_lines(spark, str(lake.folder))
    assert sorted(found.columns) == ["_malformed", "level", "message", "time"]
    assert malformed_lines(found) == 2  # a time may be any text there

    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": "_malformed"}
    indexes = recipe("json_events", service=None, event=None, user_id=None)
    lake.index(*indexes, format="json", schema=f"{schema}, _malformed STRING", options=options)
    frame.createOrReplaceTempView("t")
    lake.check("level = 'ERROR'", read=["b.json", "c.json"])
    lake.check("message LIKE '%user a%'", read=["a.json", "c.json"])
    lake.check("level = 'FATAL' AND time > TIMESTAMP '2025-01-01'", read=["c.json"])


def test_recipes() -> None:
    assert MinMax("time") in recipe("access_log") and Formatted("user_agent", "is_bot") in recipe("access_log")
    events = recipe("json_events", time="ts", user_id=None)
    assert MinMax("ts") in events and not any("user_id" in str(index) or str(index) == "MinMax(time)" for index in events)
    assert all("(value)" in str(index.expressions) for index in recipe("raw_access_log"))
    with pytest.raises(ValueError, match="no recipe is called 'nginx'; there are access_log, raw_access_log, json_events"):
        recipe("nginx")
    with pytest.raises(ValueError, match="recipe access_log has no column agent; it has time, ip"):
        recipe("access_log", agent="ua")
