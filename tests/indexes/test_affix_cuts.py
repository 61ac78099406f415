"""left, right and substring of a column, equal to constants: served by Prefix and Suffix."""

from __future__ import annotations

from random import Random

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from data_skip import MinMax, Prefix, Suffix
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


def test_parts_that_are_split_off(lake: Lake) -> None:
    lake.file("a.parquet", {"s": ["a/x/1", "a/y/2", None]})
    lake.file("b.parquet", {"s": ["b/x/1", "b"]})
    lake.file("c.parquet", {"s": ["", "/x", "c/"]})
    wheres = {
        "split_part(s, '/', 1) = 'b'": ["b"],
        "split_part(s, '/', -1) = '2'": ["a"],
        "split_part(s, '/', 2) = 'x'": ["a", "b", "c"],
        "split_part(s, '/', 9) = ''": ["a", "b", "c"],
        "split_part(s, '/', 1) = ''": ["a", "b", "c"],
        "substring_index(s, '/', 2) = 'a/y'": ["a"],
        "substring_index(s, '/', -2) = 'x/1'": ["a", "b"],
        "split(s, '/')[0] = 'c'": ["c"],
        "split(s, '[/]')[0] <=> 'a'": ["a"],
        "NOT (split_part(s, '/', 1) = 'b')": ["a", "b", "c"],
    }
    lake.index(Prefix("s", 3), Suffix("s", 3))
    for where, read in wheres.items():
        lake.check(where, read=[f"{name}.parquet" for name in read])
    lake.table().drop_index(Prefix("s", 3), Suffix("s", 3))
    lake.index(MinMax("s"), MinMax("get(split(s, '/'), 1)"))
    lake.check("split_part(s, '/', 1) = 'b'", read=["b.parquet", "c.parquet"])  # from '' to 'c/'
    lake.check("split(s, '/')[0] <=> 'a'", read=["a.parquet", "c.parquet"])
    lake.check("substring_index(s, '/', 2) = 'a/y'", read=["a.parquet", "c.parquet"])
    lake.check("get(split(s, '/'), 1) = 'y'", read=["a.parquet"])  # an index of its own


@pytest.mark.parametrize("kind", [Prefix, Suffix])
def test_is_sound(spark: SparkSession, kind: type[Prefix] | type[Suffix]) -> None:
    random = Random(3)
    predicates = []
    for _ in range(30):
        text = random.choice(WORDS) or "c"
        n = random.randrange(0, 6)
        start = random.randrange(-6, 3)
        forms = [f"split_part(s, '{text[1:2] or 'b'}', {random.choice([1, -1, 2])}) = '{text[:1]}'"]
        forms += [f"split(s, '{text[:1] or 'x'}')[0] = 'a'"]
        forms += [f"substring_index(s, 'b', {random.randrange(-2, 3)}) = '{text}'"]
        forms += [f"left(s, {n}) = '{text[:n]}'", f"right(s, {n}) = '{text[-n:]}'", f"right(s, {n}) IN ('{text[-2:]}', '{text}', NULL)"]
        predicates.append(random.choice([*forms, f"substring(s, {start}, {n}) = '{text}'", f"NOT (right(s, {n}) = '{text[-n:]}')"]))
    for length in (1, 3):
        check_index(kind("s", length), pa.table({"s": WORDS}), predicates, spark)
