"""Logs as servers write them, and the agents in them."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import log_skip
from log_skip import Formatted
from log_skip.extractors import Distinct, Extractor
from log_skip.ngram import ngrams
from log_skip.user_agents import get_agent_name, is_bot
from tests.support import Lake, aged

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


FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:120.0) Gecko/20100101 Firefox/120.0"
HIDDEN = "Mozilla/5.0\0" + FIREFOX


def test_pandas_ends_a_string_at_a_zero_byte() -> None:
    """To its tables 'a' and 'a\\0b' are one string: what the first of a batch gave, the others gave too."""
    cut = HIDDEN.split("\0")[0]
    assert list(Distinct(len)(pd.Series([cut, HIDDEN, f"{cut}\0"]))) == [len(cut), len(HIDDEN), len(cut) + 1]


def test_a_zero_byte_does_not_end_a_user_agent(lake: Lake, spark: SparkSession) -> None:
    """The batches of a query are others than those that were indexed."""
    log_skip.register(spark)
    lake.file("a.parquet", {"agent": [HIDDEN.split("\0")[0], HIDDEN], "x": [1, 2]})
    lake.file("b.parquet", {"agent": ["curl/7.1"], "x": [2]})
    lake.index(Formatted("agent", "get_agent_name"))
    lake.check("x = 2 AND get_agent_name(agent) = 'Firefox'", read=["a.parquet"])


def test_a_log_is_read_again_without_registering_again(spark: SparkSession, lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    registered: list[str] = []
    monkeypatch.setattr(Extractor, "register", lambda self, spark: registered.append(self.name))
    session = spark.newSession()
    with pytest.raises(Exception, match="access_log_"):  # nothing was registered
        log_skip.read_access_log(session, str(lake.folder))
    assert "access_log_ip" in registered
    registered.clear()
    with pytest.raises(Exception, match="access_log_"):
        log_skip.read_access_log(session, str(lake.folder))
    assert not registered
    log_skip.register(session)
    assert "access_log_ip" in registered
