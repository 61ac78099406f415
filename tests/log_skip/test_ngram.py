"""NGram: text search."""

from __future__ import annotations

from itertools import permutations
from random import Random

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from data_skip import DataSkipError
from data_skip.testing import check_index
from log_skip import NGram
from log_skip.ngram import ngrams
from tests.support import Lake

TEXTS = {
    "disk": ["12:00 [warn] disk full on /dev/sda1", "12:01 [error] disk gone", None],
    "login": ["user=alice logged in from 10.0.0.1", "user=bob logged out", ""],
    "unicode": ["gr\u00fc\u00dfe 😀😀 \u65e5\u672c\u8a9e", "a_b 50% c\\d", "ab"],
}


@pytest.mark.parametrize("threshold", [1, 10_000])
def test_skips_by_literals_as_a_list_and_as_a_filter(lake: Lake, threshold: int) -> None:
    for name, texts in TEXTS.items():
        lake.file(name, {"m": pa.array(texts, pa.string())})
    lake.index(NGram("m", threshold=threshold, fpp=1e-6))
    everything = list(TEXTS)
    for where, read in {
        "m LIKE '%disk%'": ["disk"],
        "contains(m, 'logged')": ["login"],
        "m LIKE '12:0%gone'": ["disk"],
        "m LIKE '%[%] disk%'": ["disk"],
        "m LIKE '%di%sk%'": everything,  # nothing of three characters
        "m LIKE '%50\\\\% c%'": ["unicode"],
        "m LIKE '%a!_b%' ESCAPE '!'": ["unicode"],
        "m LIKE '%a_b%'": everything,
        "startswith(m, 'user')": ["login"],
        "endswith(m, 'out')": ["login"],
        "m = 'user=bob logged out'": ["login"],
        "m <=> 'ab'": everything,
        "m IN ('user=eve logged out', '12:01 [error] disk gone')": ["disk"],
        "m IN ('user=eve logged out', 'ab')": everything,
        "m LIKE '%😀😀 日%'": ["unicode"],  # TRAPS K10: three code points, ten bytes, six UTF-16 units
        "m LIKE '%😀😀😀%'": [],
        "m LIKE ANY ('%gone', '%l_gged%')": ["disk", "login"],
        "m LIKE ANY ('%gone', '%l%d%')": everything,
        "m LIKE ALL ('%disk%', '%f_ll on%')": ["disk"],
        "m RLIKE 'disk (full|gone)'": ["disk"],
        "m RLIKE '(alice|bob) logged'": ["login"],
        "m RLIKE 'alice|warn'": ["disk", "login"],
        "m RLIKE 'alice|d.sk'": everything,
        "m RLIKE '(?i)ALICE'": everything,
        "m RLIKE 'alices?'": ["login"],
        "m RLIKE 'alicex?y*z{0,1}'": ["login"],
        "m RLIKE 'user=(eve|[a-z]+)'": ["login"],
        "m ILIKE '%ALICE%'": everything,
        "instr(m, 'alice') > 0": ["login"],
        "locate('alice', m, 2) > 0": ["login"],
        "position('disk' IN m) > 3": ["disk"],
        "instr(m, 'alice') > -1": everything,
        "regexp_extract(m, 'user=([a-z]+)', 1) = 'alice'": ["login"],
        "regexp_extract(m, 'u.e.=([a-z]+)', 1) = 'bo'": ["login"],
        "regexp_extract(m, 'us.r(=)([a-z]+) logged', 2) = 'out'": [],
        "regexp_extract(m, 's?(e|k)(?: |r)([[=]])', 2) IN ('=', '[')": everything,
        "regexp_extract(m, 'xuser=([a-z]+)', 1) = ''": everything,
        "regexp_extract(m, 'xuser=([a-z]+)', 1) LIKE '_b'": [],
        "split_part(m, ' ', 2) = 'logged'": ["login"],
        "substring_index(m, ' ', 1) = 'user=bob'": ["login"],
        "right(m, 4) = 'gone'": ["disk"],
        "right(m, 4) IN ('gone', 'none')": ["disk"],
        "left(m, 4) IN ('user', 'none')": ["login"],
        "trim(substr(m, 4, 9)) LIKE '%ali%'": ["login"],
        "upper(m) = 'AB'": everything,
        "m LIKE '%disk%' OR m LIKE '%user%'": ["disk", "login"],
        "m LIKE '%disk%' AND m LIKE '%user%'": [],
        "NOT (m LIKE '%disk%')": everything,
        "NOT m IN ('12:01 [error] disk gone')": everything,
        "m LIKE '%disk%' OR m IS NULL": everything,
        "m LIKE '%'": everything,
        "m > 'user'": everything,
        "m COLLATE UTF8_LCASE LIKE '%ALICE%'": everything,
        "contains(m, 'ALICE' COLLATE UTF8_LCASE)": everything,
        "m COLLATE UNICODE_CI = 'AB'": everything,
    }.items():
        lake.check(where, read=read)


def test_an_index_over_lower_serves_ilike(lake: Lake) -> None:
    lake.file("a.parquet", {"m": ["User ALICE"]})
    lake.file("b.parquet", {"m": ["User Bob"]})
    lake.index(NGram("lower(m)"))
    lake.check("m ILIKE '%Alice%'", read=["a.parquet"])
    lake.check("lower(m) LIKE '%alice%'", read=["a.parquet"])
    lake.check("m LIKE '%alice%'", read=["a.parquet", "b.parquet"])


def test_a_match_of_half_a_character(lake: Lake) -> None:
    """Java finds half a surrogate pair, and Spark writes it as `?`: the part is not in the string."""
    lake.file("half.parquet", {"m": ["😀abc"]})
    lake.file("none.parquet", {"m": ["?ab"]})
    lake.index(NGram("m", 3))
    where = "regexp_extract(m, '(\\\\x{DE00}abc)', 1) = '?abc'"
    lake.check(where, read=["half.parquet"])
    assert lake.view().where(where).count() == 1


@pytest.mark.parametrize("n", [1, 2, 3, 5, 9])
def test_ngrams_are_those_of_a_slow_and_simple_way(n: int) -> None:
    random = Random(n)
    alphabets = ["ab", "ab\x00 é", "😀日本\U0010ffff\ue000a", "".join(map(chr, range(32, 400)))]
    for alphabet in alphabets:
        texts = [None if random.random() < 0.1 else "".join(random.choices(alphabet, k=random.randrange(20))) for _ in range(300)]
        expected = {text[i : i + n] for text in texts if text is not None for i in range(len(text) - n + 1)}
        for array in (pa.array(texts, pa.string()), pa.array(["zzzzzzzzzz", *texts], pa.string()).slice(1)):
            assert set(ngrams(array, n).to_pylist()) == expected
    assert len(ngrams(pa.array([None, ""], pa.string()), n)) == 0
    assert len(ngrams(pa.array(["".join(map(chr, range(0x4E00, 0x9000)))], pa.string()), n)) == 0x9000 - 0x4E00 - n + 1


def test_batches_merge_in_every_order() -> None:
    """TRAPS K13; the list stays unknown once it was too long."""
    batches = [pa.array(["abcd", None]), pa.array(["bcde"]), pa.array([None, ""], pa.string()), pa.array(["xyz", "abc"])]
    for threshold, fields in ((5, ("grams",)), (3, ("bitsets",))):
        index = NGram("m", threshold=threshold)
        records = []
        for order in permutations(batches):
            record = index.collect(order[0])
            for batch in order[1:]:
                record = index.merge(record, index.collect(batch))
            finished = index.finish(record)
            assert index.finish(finished) == finished
            assert [name for name, value in finished.items() if value is not None] == list(fields)
            records.append({name: sorted(value) for name, value in finished.items() if value is not None})
        assert all(record == records[0] for record in records)


@pytest.mark.parametrize("threshold", [1, 1000])
def test_is_sound(spark: SparkSession, threshold: int) -> None:
    texts = ["", "ab", "abc", "xabcx", "a%c", "a_c\\", "😀😀é", "ab\nc", "ABC", None, None, "abcabcabc" * 50, "日本語 text", "x" * 3000]
    served = ["m LIKE '%abc%'", "m = 'abc'", "m RLIKE 'abc+'", "m LIKE '%😀😀é%'", "contains(m, 'x' || repeat('x', 50))", "m <=> 'abc'"]
    others = ["NOT (m LIKE '%abc%')", "m LIKE 'ab%'", "m RLIKE '(?i)abc'", "m LIKE '%abc%' OR m IS NULL", "NOT (m RLIKE 'abc')"]
    checked = check_index(NGram("m", threshold=threshold), [{"m": text} for text in texts], served + others, spark)
    assert all(checked.skipped[predicate] for predicate in served), checked
    assert not any(checked.skipped[predicate] for predicate in others), checked


@pytest.mark.long
def test_random_predicates_lose_no_row(lake: Lake) -> None:
    """Patterns made of pieces of the texts, so that they often match."""
    random = Random(6)
    words = ["GET", "/a", "/b.png", "err", "ERR", "user=x", "10.0.0.1", "%", "_", "😀", "(", "é", "aa"]
    texts = ["".join(random.choices(words, k=random.randrange(8))) for _ in range(120)]
    for i in range(12):
        lake.file(f"{i}.parquet", {"m": pa.array([*texts[i * 10 : i * 10 + 10], None])})
    lake.index(NGram("m", 2), NGram("m", 3, threshold=1), NGram("m", 4))
    lake.view()
    skipped = 0
    for _ in range(40):
        predicates = [_predicate(random, random.choice(texts)) for _ in range(random.choice([1, 1, 2]))]
        skipped += lake.check(random.choice([" OR ", " AND "]).join(predicates)).files_skipped
    assert skipped > 80


def _predicate(random: Random, text: str) -> str:
    start = random.randrange(len(text) or 1)
    piece = text[start : start + random.randrange(1, 12)] or "aa"
    word = "".join("\\\\" + c if c in "%_" else c for c in piece)
    java = "".join("[(]" if c == "(" else "\\\\." if c == "." else c for c in piece)
    forms = [
        f"m LIKE '%{word}%'",
        f"m LIKE '{word}_%'",
        f"m LIKE '%{word}%{word[-1:] if word[-1:] not in '%_' else ''}'",
        f"contains(m, '{piece}')",
        f"m = '{piece}'",
        f"m RLIKE '{java}'",
        f"m RLIKE '{java}?|{java}{{2}}'",
        f"m RLIKE '(?:{java}|zz)+.*[a-z]'",
        f"regexp_extract(m, '({java}.?)', 1) = '{piece}'",
        f"regexp_extract(m, '{java}([a-z/=]+)(.)', {random.choice((1, 2))}) IN ('{piece[-1:]}', 'e', '/')",
        f"split_part(m, '/', 2) LIKE '{word}%'",
        f"right(m, 3) = '{piece[-3:]}'",
        f"instr(m, '{piece}') > {random.randrange(3)}",
        f"NOT (m LIKE '%{word}%')",
    ]
    return random.choice(forms)


def test_refuses_what_it_cannot_be(lake: Lake) -> None:
    for n in (0, True, 2.5):
        with pytest.raises(ValueError, match="at least 1"):
            NGram("m", n)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="between 0 and 1"):
        NGram("m", fpp=0)
    lake.file("a.parquet", {"m": [1]})
    with pytest.raises(DataSkipError, match="a string without collation, not bigint"):
        lake.index(NGram("m"))
