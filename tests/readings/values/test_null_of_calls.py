"""A call may be NULL, or not, whatever its column is: Spark is asked, with each operand NULL."""

from __future__ import annotations

import pyarrow as pa

from data_skip import GapList, MinMax, Prefix, Suffix, ValueList
from tests.support import Lake

FORMS = ("({}) IS NULL", "({}) IS DISTINCT FROM true", "coalesce({}, true)", "NOT coalesce({}, false)", "({}) <=> NULL")


def files(lake: Lake) -> None:
    lake.file("a.parquet", {"x": ["abcde", "abc"], "p": ["a", "b"]})
    lake.file("b.parquet", {"x": ["zbcde", None], "p": [None, "b"]})
    lake.file("c.parquet", {"x": ["zz", "za"], "p": ["z", None]})
    lake.file("d.parquet", {"x": pa.nulls(1, pa.string()), "p": ["a"]})


def test_distinct_from_of_a_part(lake: Lake) -> None:
    files(lake)
    lake.index(Prefix("x", 8), Suffix("x", 8))
    assert lake.reads(
        "substr(x, 1, 5) IS DISTINCT FROM 'abc'",
        "NOT (left(x, 4) <=> 'zz')",
        "substr(x, 1, 5) IS NOT DISTINCT FROM 'abc'",
    ) == [
        {"a.parquet", "b.parquet", "c.parquet", "d.parquet"},
        {"a.parquet", "b.parquet", "c.parquet", "d.parquet"},
        {"a.parquet"},
    ]
    lake.reads(*(form.format(call) for form in FORMS for call in ("left(x, 2) = 'ab'", "x LIKE 'a%'", "right(x, 2) IN ('de', 'q')")))


def test_a_prefix_may_be_null(lake: Lake) -> None:
    files(lake)
    lake.index(MinMax("x"), MinMax("p"))
    lake.reads(*(form.format(call) for form in FORMS for call in ("startswith(x, p)", "x LIKE p", "x IN ('abc', p)", "x = p", "x < p")))
    lake.check("startswith(x, 'z')", read=["b.parquet", "c.parquet"])


def test_every_kind(lake: Lake) -> None:
    files(lake)
    lake.index(Prefix("x", 2), ValueList("x"), ValueList("p"), GapList("x"), GapList("p"))
    lake.reads(*(form.format(call) for form in FORMS for call in ("startswith(x, p)", "left(x, 2) = 'ab'", "x NOT LIKE 'a%'")))
