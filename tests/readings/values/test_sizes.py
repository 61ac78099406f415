"""What the driver evaluates of values that a query looks at only behind another predicate: it may take all memory, or end the JVM."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from data_skip import MinMax, ValueList
from tests.support import Lake, settings_of

MOST = 2**31 - 1
SIZED = {
    "repeat('a', n) = 'aaa'": {"few"},
    "space(n) = '   '": {"few"},
    "lpad('a', n, 'x') = 'xxa'": {"few"},
    "length(rpad('a', n)) = 3": {"few"},
    "hex(rpad(X'61', n, X'62')) = '616262'": {"few"},
    "size(array_repeat(1, n)) = 3": {"few"},
    "size(sequence(1, n)) = 3": {"few"},
    "size(sequence(n, 1)) = 3": {"few"},
    "size(array_insert(array(1), n, 5)) = 3": {"few"},
    "format_number(1.5D, n) = '1.500'": {"few"},
    "element_at(sequence(1, 3), n) = 3": {"few"},
    "length(try_to_binary(repeat('61', n), 'hex')) = 3": {"few", "more"},  # where an error would be NULL nothing is asked
    "length(repeat(repeat(repeat('ab', n), n), n)) = 54": {"few"},
    "length(aggregate(sequence(1, n), 'a', (text, i) -> concat(text, text))) = 8": {"few", "more"},  # twice as long with each element
    "aggregate(sequence(1, n), 0L, (sum, i) -> sum + i) = 6": {"few"},
    "length(format_string(concat('%', n, 'd'), 7)) = 3": {"few", "more"},
}


def texts(lake: Lake, given: dict[str, str]) -> None:
    """A file for each text s, with its length n, by which a query looks at the others only."""
    for name, text in given.items():
        lake.file(name, {"s": [text], "n": [len(text)]})
    lake.index(ValueList("s"), ValueList("n"))


def test_a_number_of_a_row_makes_no_size_here(lake: Lake) -> None:
    """Of the least of all integers ElementAt reads memory that is none of its array's: the JVM ends, as in jobs without the range of n."""
    for name, values in {"few": [1, 3], "more": [5, 6], "least": [-MOST - 1], "most": [MOST - 7, MOST]}.items():
        lake.file(name, {"n": pa.array(values, pa.int32())})
    lake.index(ValueList("n"))
    with settings_of(lake.spark, {"spark.sql.ansi.enabled": "false"}):
        for predicate, read in SIZED.items():
            lake.check(f"n BETWEEN 1 AND 8 AND {predicate}", read)


def test_sizes_multiply(lake: Lake) -> None:
    """Of three within one another 10,000 each would be a million million."""
    for name, n in {"few": 3, "hundreds": 300, "thousands": 9999}.items():
        lake.file(name, {"n": pa.array([n], pa.int32())})
    lake.index(ValueList("n"))
    lake.check("size(sequence(1, n)) = 3", {"few"})
    lake.check("n < 9 AND size(flatten(transform(sequence(1, n), i -> transform(sequence(1, n), j -> repeat('a', n))))) = 9", {"few"})
    lake.check("length(repeat(repeat('a', n), n)) = 9", {"few", "hundreds", "thousands"})


def test_a_decimal_in_text_may_have_too_many_digits(lake: Lake) -> None:
    """Of 1E-6000000 Spark makes a decimal in ten seconds and more, of longer exponents in days: a query never looks at such a value."""
    texts(lake, {"one": "1.5", "two": "2.5", "far": "1E-6000000"})
    for parsed in (
        "from_json(concat('{\"q\":', s, '}'), 'q decimal(9,2)').q",
        "from_json(concat('[', s, ']'), 'array<decimal(9,2)>')[0]",
        "from_csv(s, 'q decimal(9,2)').q",
        "from_xml(concat('<r><q>', s, '</q></r>'), 'q decimal(9,2)').q",
    ):
        lake.check(f"n < 9 AND {parsed} = 1.5", {"one"})
    lake.check("n < 99 AND from_json(concat('{\"q\":', s, '}'), 'q double').q < 1", {"far"})


def test_of_dates_as_well(lake: Lake) -> None:
    days = {"few": [2], "many": [2_000_000]}
    for name, values in days.items():
        lake.file(name, {"d": pa.array(values, pa.int32()).cast(pa.date32())})
    lake.index(ValueList("d"))
    lake.check("size(sequence(DATE'1970-01-01', d)) = 3", {"few", "many"})
    lake.check("size(sequence(DATE'1970-01-01', d)) = 4", {"many"})


def test_one_text_may_be_too_long_for_a_pattern(lake: Lake) -> None:
    """Java matches such a group by a call for each letter: of the other values it is known all the same."""
    texts(lake, {"short": "abab", "other": "x", "long": "ab" * 50_000})
    lake.check("n < 9 AND s RLIKE '^(a|b)*$'", {"short"})


def test_a_text_that_is_too_long_for_a_pattern_to_go_back(lake: Lake) -> None:
    """Java tries all places of eight letters among 40, or all ways to repeat one, for days: a query never looks at such a value."""
    texts(lake, {"short": "aaaaaaax", "other": "b", "long": "a" * 40})
    for matches in (
        "s LIKE '%a%a%a%a%a%a%a%x'",
        "s LIKE ALL ('%x', '%a%a%a%a%a%a%a%x')",
        "s RLIKE '^(a+)+x'",
        "regexp_replace(s, '(a+)+x', '') = ''",
        "regexp_extract(s, '(a|aa)+x', 0) <> ''",
        "size(split(s, '(a*)*x')) = 2",
        "regexp_count(s, '(a+)+x') = 1",
    ):
        lake.check(f"n < 9 AND {matches}", {"short"})
    lake.check("n < 9 AND try_to_number(regexp_replace(s, '(a+)+x', '1'), '9') = 1", {"short"})


def test_a_key_of_a_url_is_a_pattern(lake: Lake) -> None:
    for name, key in {"short": "aaac", "other": "b", "long": "a" * 40 + "c"}.items():
        lake.file(name, {"s": [f"http://host/path?{key}=1"], "n": [len(key)]})
    lake.index(ValueList("s"), ValueList("n"))
    lake.check(r"n < 9 AND parse_url(s, 'QUERY', '(a*)*x\\2') IS NULL", {"short", "other"})
    lake.check("parse_url(s, 'QUERY', 'a{3}c') = '1'", {"short"})


def test_a_pattern_of_a_row_may_be_any(lake: Lake) -> None:
    for name, pattern in {"short": "a+", "other": "b", "long": f"({'|'.join('a' * 14)})*(b)?\\2x"}.items():
        lake.file(name, {"p": [pattern], "n": [len(pattern)]})
    lake.index(ValueList("p"), ValueList("n"))
    for matches in ("'aaaaaaaaaaaa' RLIKE p", "regexp_replace('aaaaaaaaaaaa', p, '') = ''"):
        lake.check(f"n < 9 AND {matches}", {"short", "other"})


def test_what_one_value_takes_is_not_waited_for(lake: Lake) -> None:
    """Each two of 20,000 letters are compared. A query that never looks at such a value does not wait."""
    texts(lake, {"short": "cba", "other": "b", "long": "a" * 20_000})
    lake.view()
    ordered = "exists(split(s, ''), x -> exists(split(s, ''), y -> x > y))"
    with settings_of(lake.spark, {"spark.data_skip.decideSeconds": "1"}):
        report = lake.query(f"SELECT * FROM t WHERE n < 9 AND {ordered}", {"short", "other"}, errors=True)
        assert any("for more than 0.5 s" in error for error in report.scans[-1].errors)


def test_a_constant_size_or_pattern_that_raises_an_error(lake: Lake) -> None:
    """Reports told of an error of a filter, which was that of the constant: Spark meets it only where a row comes to it."""
    for name, n in {"one": 1, "three": 3}.items():
        lake.file(name, {"n": [n]})
    lake.index(ValueList("n"))
    with settings_of(lake.spark, {"spark.sql.ansi.enabled": "true"}):
        for raising in (
            "repeat(string(n), CAST('a' AS INT)) = 'aa'",
            "lpad(string(n), CAST('a' AS INT), 'x') = 'aa'",
            "regexp_replace(string(n), string(1/0), 'b') = 'b'",
            "split(string(n), string(1/0))[0] = 'a'",
            "string(n) RLIKE string(1/0)",
            "string(n) LIKE string(1/0)",
        ):
            lake.check(f"CASE WHEN n = 2 THEN {raising} ELSE n = 1 END", {"one"})


def test_a_number_is_not_rounded_to_a_million_digits_here(lake: Lake) -> None:
    """Of whole numbers Spark's code leaves out what does nothing; interpreted, it writes all digits of each, for seconds or for days."""
    for name, n in {"three": 3, "four": 4, "far": 50}.items():
        lake.file(name, {"n": pa.array([n], pa.int32()), "m": pa.array([n], pa.int64()), "d": [n + 0.5]})
    lake.index(MinMax("n"), ValueList("m"), ValueList("d"))
    lake.view()
    lake.query("SELECT * FROM t WHERE round(n, 3000000) = 3", {"three", "four", "far"})
    lake.query("SELECT * FROM t WHERE bround(m, 3000000) = 3", {"three", "four", "far"})
    lake.query("SELECT * FROM t WHERE n < 4 AND CASE WHEN n = 50 THEN round(d, -3000000) = 1 ELSE m = 3 END", {"three"})
    lake.query("SELECT * FROM t WHERE round(n, 2) = 3 AND bround(m, 1000) = 3 AND round(d, 0) = 4", {"three"})


INTERRUPTED = """
public final class Interrupted extends data_skip.InTime.Work {
  public Object done() {
    try {
      Thread.sleep(60000);
      return "known";
    } catch (InterruptedException swallowed) {
      return "made up";
    }
  }

  public static int believed(int times) throws Exception {
    Object one = org.apache.spark.sql.catalyst.expressions.Literal$.MODULE$.TrueLiteral();
    int believed = 0;
    for (int i = 0; i < times; i++, Thread.sleep(2)) {
      try {
        data_skip.InTime.of((org.apache.spark.sql.catalyst.expressions.Expression) one, new Interrupted());
        believed++;
      } catch (IllegalStateException late) {
      }
    }
    return believed;
  }
}
"""


def test_what_a_function_gives_that_was_interrupted_is_not_believed(lake: Lake) -> None:
    """It may swallow that, and give what it likes: in one of many times before it was found to be late."""
    gateway: Any = lake.spark.sparkContext._gateway
    compiler = gateway.jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(lake.skipping.jvm._shim.getClass().getClassLoader())
    compiler.cook(INTERRUPTED)
    method = next(found for found in compiler.getClassLoader().loadClass("Interrupted").getMethods() if found.getName() == "believed")
    times = gateway.new_array(gateway.jvm.Object, 1)
    times[0] = 500
    with settings_of(lake.spark, {"spark.data_skip.decideSeconds": "0.002"}):
        assert method.invoke(None, times) == 0
