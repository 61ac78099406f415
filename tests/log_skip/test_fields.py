"""Fields of logs: what each extractor finds, and that an index over it skips."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from log_skip import Formatted, extractors
from tests.support import Lake

pytestmark = pytest.mark.usefixtures("functions")

CASES: list[tuple[str, Any, Any]] = [
    ("url_host(s)", "http://a.org:80/b?c#d", "a.org"),
    ("url_host(s)", "/b", None),
    ("url_host(s)", "http://[bad", None),
    ("url_path(s)", "http://a.org/b/c.png?x=/1#top", "/b/c.png"),
    ("url_path(s)", "/b/c.png?x=http://y/z", "/b/c.png"),
    ("url_path(s)", "http://a.org", ""),
    ("path_prefix(s, 2)", "/a/b/c?x=1", "/a/b"),
    ("path_prefix(s, 1)", "/a", "/a"),
    ("path_prefix(s, 0)", "/a", ""),
    ("file_extension(s)", "/a.b/c.PNG?x=1.gif", "png"),
    ("file_extension(s)", "/a.b/c", ""),
    ("query_keys(s)", "/a?y=1&x=2&z#?w=3", "y&x&z"),
    ("query_keys(s)", "/a", ""),
    ("query_value(s, 'x')", "/a?yx=1&x=2", "2"),
    ("query_value(s, 'z')", "/a?y=1&x=2", ""),
    ("status_class(s)", "404", "4xx"),
    ("status_class(s)", "-", "-"),
    ("ipv4_8(s)", "10.1.2.3", "10"),
    ("ipv4_16(s)", "10.1.2.3", "10.1"),
    ("ipv4_24(s)", "10.1.2.3", "10.1.2"),
    ("ipv6_48(s)", "2001:db8::1", "2001:db8::/48"),
    ("ipv6_48(s)", "2001:0DB8:0:1:2:3:4:5", "2001:db8::/48"),
    ("ipv6_48(s)", "fe80::1%eth0", "fe80::/48"),
    ("ipv6_48(s)", "10.1.2.3", None),
    ("email_domain(s)", "Joe <joe@Mail.Example.org>", "mail.example.org"),
    ("email_domain(s)", "joe", ""),
    ("severity(s)", "12:00 [warning] disk full", "WARN"),
    ("severity(s)", "12:00 INFO no error", "INFO"),
    ("severity(s)", "<3>kernel: information", ""),
    ("severity(s)", "CRITICAL", "CRIT"),
    ("regexp_group(s, 'user=([a-z]+)')", "x user=joe", "joe"),
    ("query_value(s, 'ids[]')", "/a?ids=1&ids[]=2", "2"),
    ("query_value(s, 'f[x]')", "/a?f[x]=3", "3"),
    ("query_value(s, 'a+b')", "/a?aab=1&a+b=4", "4"),
    ("query_value(s, concat('x', char(92), 'E.'))", "/a?x\\E.=5", "5"),
    ("query_value(s, 'x.y')", "/a?xzy=5", ""),
]


def test_each_field(spark: SparkSession) -> None:
    rows = spark.createDataFrame([[text for _, text, _ in CASES]], [f"s{i}" for i in range(len(CASES))])
    found = rows.selectExpr(*(sql.replace("(s", f"(s{i}") for i, (sql, _, _) in enumerate(CASES))).first()
    assert found is not None
    assert list(zip(CASES, found, strict=True)) == [(case, case[2]) for case in CASES]
    nulls = spark.sql(f"SELECT {', '.join(sql for sql, _, _ in CASES)} FROM VALUES (CAST(NULL AS STRING)) AS t(s)").first()
    assert nulls is not None and set(nulls) == {None}
    asked = {sql.split("(")[0] for sql, _, _ in CASES}
    assert asked == {each.name for each in extractors() if not each.name.startswith(("access_log_", "get_", "is_"))}


def test_each_field_skips(lake: Lake) -> None:
    """By the SQL function, on a table with as many kinds of value as extractors."""
    lake.file("first.parquet", {"s": ["http://a.org/b/c.png?x=1&y=2", "10.1.2.3", "joe@a.org", "404", "an ERROR", "2001:db8::1"]})
    lake.file("second.parquet", {"s": ["http://b.org/d/e.html?z=1", "10.2.2.3", "joe@b.org", "500", "a warning", "2001:db9::1", None]})
    constants = {"path_prefix": [3], "query_value": ["z"], "regexp_group": [r"joe@(\w+)\.org"]}
    names = [each.name for each in extractors() if not each.name.startswith(("access_log_", "get_", "is_", "ipv4_8"))]
    lake.index(*(Formatted("s", name, constants.get(name, [])) for name in names))
    for where in (
        "url_host(s) = 'b.org'",
        "url_path(s) LIKE '/d/%'",
        "path_prefix(s, 3) = 'http://b.org/d'",
        "file_extension(s) IN ('html', 'htm')",
        "query_keys(s) = 'z'",
        "array_contains(split(query_keys(s), '&'), 'z')",
        "query_value(s, 'z') = '1'",
        "status_class(s) = '5xx'",
        "ipv4_16(s) = '10.2'",
        "ipv4_24(s) = '10.2.2'",
        "ipv6_48(s) = '2001:db9::/48'",
        "email_domain(s) = 'b.org'",
        "severity(s) = 'WARN'",
        r"regexp_group(s, r'joe@(\w+)\.org') = 'b'",
        r"regexp_extract(s, r'joe@(\w+)\.org', 1) = 'b'",
    ):
        lake.check(where, read=["second.parquet"])


def test_numbers_have_fields_too(lake: Lake) -> None:
    lake.file("good.parquet", {"status": pa.array([200, 304], pa.int32())})
    lake.file("bad.parquet", {"status": pa.array([404, 503, None], pa.int32())})
    lake.index(Formatted("status", "status_class"))
    lake.check("status_class(status) = '5xx'", read=["bad.parquet"])
    lake.check("status_class(status) IN ('2xx', '3xx')", read=["good.parquet"])
