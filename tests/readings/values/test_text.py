"""What is concluded from a part of a string, a pattern or a regular expression, as Java and Spark read them."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import IllegalArgumentException
from pyspark.sql import SparkSession

from data_skip import BloomFilter, MinMax, Prefix, Suffix
from data_skip.proofs.like import parse_like, parse_regex
from data_skip.testing import check_index
from log_skip.required import of_regular_expression
from tests.readings.support import printed_by
from tests.support import Lake

ROUNDS = max(1, int(os.environ.get("DATA_SKIP_EXAMPLES", "0")) // 200)  # make fuzz draws more
# Of Java's regular expressions: what is taken away before they are read, quantifiers of all kinds, flags, comments, escapes, classes.
PIECES = [
    *("a", "b", "ab", "abc", "\\Q\\E", "\\Qa\\E", "\\Q.\\E", "\\Q", "\\E", "*", "+", "?", "{0,}", "{0}", "{2}", "*+", "??", "|", "(", ")"),
    *("(?:", "(?i)", "(?x)", "(?-x)", "(?#c)", "# ", " ", "(?=b)", "(?!c)", "(?<=a)", "(?>", "(?<n>", "\\x61", "\\x{62}", "\\u0061"),
    *("\\0141", "\\cA", "\\1", "\\k<n>", "[ab]", "[^a]", "[a&&[b]]", "[]a]", "[a[^b]]", ".", "$", "\\.", "\\b", "\\d", "\\p{L}", "😀"),
    *("é", "\\\\", "\\N{DIGIT ONE}"),
]
TEXTS = [
    "",
    "a",
    "b",
    "ab",
    "abc",
    "bc",
    "aab",
    "aa",
    "abab",
    "ac",
    "a b",
    "AB",
    "aB",
    "é",
    "😀",
    "a😀",
    "a.",
    "a\\b",
    "aba",
    "1",
    "a1",
    "ab#c",
]


def test_a_whole_string_is_its_suffix_too(lake: Lake) -> None:
    lake.file("a.parquet", {"s": ["Rome", "Paris"], "a": [["Rome"], []]})
    lake.file("b.parquet", {"s": ["Bucharest in Romania", None], "a": [["Bucharest in Romania", None], None]})
    lake.index(Suffix("s", 4), Suffix("a", 4), Prefix("s", 20))
    wheres = ("left(s, 10) = 'Rome'", "substr(s, 1) = 'Rome'", "left(s, 10) <=> 'Rome'", "left(s, 9) IN ('Rome')", "get(a, 0) = 'Rome'")
    more = ("exists(a, x -> left(x, 10) = 'Rome')", "left(get(a, 0), 10) = 'Rome'")
    assert lake.reads(*wheres, *more) == [{"a.parquet"}] * 7


def test_quoting_is_taken_away_first(lake: Lake) -> None:
    lake.file("a.parquet", {"s": ["ac", "acc"]})
    lake.file("b.parquet", {"s": ["b", "bb"]})
    lake.index(Prefix("s", 2), MinMax("s"))
    lake.check(r"s RLIKE r'^ab\Q\E*c'", read=["a.parquet", "b.parquet"])
    lake.check(r"s RLIKE r'^ac\.?'", read=["a.parquet"])


def test_a_split_may_cut_a_character(lake: Lake) -> None:
    lake.file("a.parquet", {"s": ["😀", "a😀"]})
    lake.file("b.parquet", {"s": ["?", "a?b"]})
    lake.file("c.parquet", {"s": ["bc"]})
    lake.index(Prefix("s", 2), MinMax("s"))
    wheres = ("split(s, '(?!^)')[0] = '?'", "split(s, '(?=.)')[0] = '?'", "split(s, '(?<=a.)')[0] = 'a?'", "split(s, 'b')[0] = 'a?'")
    read = lake.reads(*wheres)
    assert read[2:] == [{"a.parquet", "b.parquet"}] * 2


def test_java_reads_other_bytes_as_a_replacement(lake: Lake) -> None:
    for name, value in {"a": "cast(X'70FF25' AS STRING)", "b": "'q'"}.items():
        rows = lake.spark.sql(f"SELECT {value} AS s FROM range(100)")
        lake.spark_file(f"{name}.parquet", rows, **{"parquet.bloom.filter.enabled#s": "true", "parquet.enable.dictionary": "false"})
    index = BloomFilter("s")  # which is lifted: of text that is no UTF-8 nothing else is known
    assert lake.table().create_index(index).files_lifted == 2
    assert "a.parquet" in lake.reads("s LIKE r'p\ufffd\\%'")[0]
    lake.check("s = 'q'", read=["b.parquet"])


def test_what_regular_expressions_require(spark: SparkSession) -> None:
    jvm: Any = spark._jvm
    texts = jvm.java.util.ArrayList()
    for text in TEXTS:
        texts.add(text)
    random, known = Random(34), 0
    for _ in range(3000):
        pattern = "^" * (random.random() < 0.6) + "".join(random.choices(PIECES, k=random.randint(1, 5)))
        prefix, required = parse_regex(pattern), of_regular_expression(pattern)
        if prefix is None and not required:
            continue
        try:
            found = jvm.java.util.regex.Pattern.compile(pattern).asPredicate()
        except IllegalArgumentException:  # it is no regular expression
            continue
        others = jvm.java.util.ArrayList(texts)
        others.removeIf(found)
        known += 1
        for text in set(TEXTS) - set(jvm.java.lang.String.join("|", others).split("|")):
            assert prefix is None or text.startswith(prefix.prefix), (pattern, text)
            assert all(part in text for part in required.literals), (pattern, text)
    assert known > 300


def test_like_knows_nothing_beyond_a_replacement() -> None:
    found = parse_like("a\ufffdb%c\ufffdd", "\\")
    assert found is not None
    assert (found.prefix, found.suffix, found.whole) == ("a", "d", False)


@pytest.mark.parametrize("length", [1, 8])
def test_random_parts_of_strings(spark: SparkSession, length: int) -> None:
    random = Random(length)
    words = ["", "a", "ab", "abc", "abcd", "Rome", "é😀", "x😀y", "a?", "a,b", "xyzabcdefgh", None]
    for _ in range(ROUNDS):
        predicates = []
        for _ in range(15):
            text, n = (random.choice(words) or "c")[: random.randint(0, 9)], random.randint(-3, 10)
            parts = [f"left(s, {n})", f"right(s, {n})", f"substr(s, {random.randint(-5, 2)}, {n})", "substr(s, 1)", "split(s, '(?!^)')[0]"]
            parts += [f"split_part(s, ',', {random.choice([1, -1])})", f"substring_index(s, ',', {random.choice([1, -1, 2])})"]
            tests = ["{} = '{}'", "{} <=> '{}'", "{} IN ('{}', 'ab')", "NOT ({} = '{}')", "{} IS DISTINCT FROM '{}'", "{} NOT IN ('{}')"]
            predicates.append(random.choice(tests).format(random.choice(parts), text))
        for kind in (Prefix, Suffix):
            check_index(kind("s", length), pa.table({"s": words}), predicates, spark)


def test_letters_and_names_of_executors_that_have_others(tmp_path: Path) -> None:
    """The driver finds what an expression gives of a file's values, and tasks evaluate it of its rows, by their language and names."""
    told = printed_by("values.on_other_executors", tmp_path)
    assert told["lost"] == [], "rows were lost, which executors find"
    assert told["skipped"] == 2, "of text in ASCII letters are the same, and files are skipped"
    assert "collected with java.locale.providers='(default) (driver), COMPAT (tasks)', the query reads with '(default)'" in told["notes"]
    assert "'UTC (driver), that of their machines with TZ=America/Los_Angeles (tasks)', which is not known" in told["refused"]
