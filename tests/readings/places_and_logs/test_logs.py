"""Logs as servers write them."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import log_skip
from log_skip.ngram import ngrams
from log_skip.user_agents import get_agent_name, is_bot
from tests.support import aged

LINE = '1.2.3.4 - - [10/Oct/2000:13:55:36 -0700] "GET /a HTTP/1.0" 200 23 "http://r" "Agent"'
LINES = {
    f"example.com:80 {LINE}": ("1.2.3.4", None, None),
    LINE: ("1.2.3.4", None, None),
    LINE.replace("1.2.3.4 - -", "www.example.com:443 ::1 - john doe"): ("::1", None, "john doe"),
    LINE.replace("1.2.3.4 - -", "::1 - john doe"): ("::1", None, "john doe"),
    LINE.replace("1.2.3.4 - -", "1.2.3.4:5678 - john doe"): ("1.2.3.4:5678", None, "john doe"),
    LINE.replace("1.2.3.4 - -", "host:1 ident user").replace("/a", "/ - [10/"): ("host:1", "ident", "user"),
}


def test_lines_that_begin_with_the_server(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "log" / "a.log"
    path.parent.mkdir()
    path.write_text("".join(f"{line}\n" for line in LINES))
    aged(path)
    frame = log_skip.read_access_log(spark, str(path.parent))
    rows = frame.select("ip", "identity", "user", "status", "user_agent", "_malformed").collect()
    assert [tuple(row) for row in rows] == [(*expected, 200, "Agent", None) for expected in LINES.values()]


@pytest.mark.parametrize("texts", [["abcdefghij" * 2_000] * 200, ["abcdefghij" * 400_000]])
def test_ngrams_of_long_rows_take_bounded_memory(texts: list[str]) -> None:
    array = pa.array([f"{text}{i}" for i, text in enumerate(texts)])
    tracemalloc.start()
    try:
        found = ngrams(array, 3).to_pylist()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert {"abc", "jab", "hij", "ij0"} <= set(found)
    assert peak < 110 << 20


def test_long_user_agents_are_what_the_library_says() -> None:
    agent = "Mozilla/5.0 (X11; Linux x86_64; rv:32.0) Gecko/20100101 Firefox/32.0 "
    assert get_agent_name(agent + "x" * 9000) == "Firefox"
    assert not is_bot(agent + "x" * 9000)
