"""left, right and substring of a column, equal to constants: served by Prefix and Suffix."""

from __future__ import annotations

from random import Random

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from data_skip import Prefix, Suffix
from data_skip.testing import check_index
from tests.support import Lake

WORDS = ["", "a", "ab", "abc", "abcd", "b.png", "c.png", "é😀", "x😀y", "xyzabc", None]


def test_files_are_skipped(lake: Lake) -> None:
    lake.file("a.parquet", {"s": ["/a/1.png", "/a/2.png"]})
    lake.file("b.parquet", {"s": ["/b/1.gif", "gif", None]})
    lake.file("c.parquet", {"s": ["", "x"]})
    lake.index(Prefix("s", 3), Suffix("s", 3))
    for where, read in {
        "right(s, 4) = '.png'": ["a"],
        "right(s, 3) = 'gif'": ["b"],
        "right(s, 2) IN ('if', 'ng')": ["a", "b"],
        "right(s, 5) = 'gif'": ["b"],  # the whole string
        "substring(s, -3) = 'png'": ["a"],
        "substring(s, -3, 10) <=> 'gif'": ["b"],
        "substring(s, -3, 2) = 'pn'": ["a", "b", "c"],  # neither the start nor the end
        "right(s, 2) = 'gif'": [],  # longer than it can be
        "right(s, 2) = ''": ["c"],
        "left(s, 2) = '/b'": ["b"],
        "left(s, 2) IN ('/a', 'x')": ["a", "c"],
        "substr(s, 1, 5) = '/a/1.'": ["a"],
        "substring(s, 2, 2) = 'b/'": ["a", "b", "c"],
        "NOT (right(s, 4) = '.png')": ["a", "b", "c"],
        "right(s, 4) = '.png' OR right(s, 1) = 'x'": ["a", "c"],
    }.items():
        lake.check(where, read=[f"{name}.parquet" for name in read])


@pytest.mark.parametrize("kind", [Prefix, Suffix])
def test_is_sound(spark: SparkSession, kind: type[Prefix] | type[Suffix]) -> None:
    random = Random(3)
    predicates = []
    for _ in range(20):
        text = random.choice(WORDS) or "c"
        n = random.randrange(0, 6)
        start = random.randrange(-6, 3)
        forms = [f"left(s, {n}) = '{text[:n]}'", f"right(s, {n}) = '{text[-n:]}'", f"right(s, {n}) IN ('{text[-2:]}', '{text}', NULL)"]
        predicates.append(random.choice([*forms, f"substring(s, {start}, {n}) = '{text}'", f"NOT (right(s, {n}) = '{text[-n:]}')"]))
    for length in (1, 3):
        check_index(kind("s", length), pa.table({"s": WORDS}), predicates, spark)
