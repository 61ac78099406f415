"""Lines of logs that are no text: bytes that are no UTF-8, NUL, nothing, and a hundred thousand characters."""

from __future__ import annotations

import pytest

from log_skip import Formatted, NGram, register
from tests.support import Lake

ODD = (
    b"abc\xff\xfedef GET /a?x=1",
    b"nul\x00byte Mozilla/5.0 Firefox/115.0",
    b"x" * 100_000 + b"needle",
    b"",
    b"plain curl/7.1 http://a.org/b",
    b"\xed\xa0\x80 lone",
)
FILES = len(ODD)


@pytest.fixture
def odd(lake: Lake) -> Lake:
    register(lake.spark)
    for number, content in enumerate(ODD):
        lake.bytes(f"{number}.log", content + b"\nline %d\n" % number)
    extractors = [Formatted("value", "get_agent_name"), Formatted("value", "url_host"), Formatted("value", "query_value", ["x"])]
    lake.index(NGram("value"), *extractors, format="text")
    lake.view(format="text")
    return lake


@pytest.mark.long
def test_rows_are_the_same_and_files_are_skipped(odd: Lake) -> None:
    skipped = {
        where: FILES - odd.query(f"SELECT * FROM t WHERE {where}").scans[-1].files_read
        for where in (
            "value LIKE '%needle%'",
            "value LIKE '%def%'",
            "value RLIKE '(a|b)*needle'",
            "value LIKE '%line 3%'",
            "value LIKE '%\ufffd%'",
            "value RLIKE 'n[u]l'",
            "get_agent_name(value) = 'Firefox'",
            "get_agent_name(value) <> 'Other'",
            "query_value(value, 'x') = '1'",
            "url_host(value) = 'a.org'",
        )
    }
    unserved = {"value LIKE '%\ufffd%'", "value RLIKE 'n[u]l'"}  # of fewer characters than an n-gram has
    assert {where for where, count in skipped.items() if not count} <= unserved, skipped
