"""The claims of Backtracking.java: of texts that are no longer than it says, Java's own matcher looks at no more letters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support import Lake

MOST = 3000  # ways
LONGEST = 400  # letters: of a pattern that may be matched against any text
COUNTER = """
public final class Counter {
  public static int ofLike(String pattern, double most) {
    return data_skip.Backtracking.ofLike(pattern, (char) 92, most);
  }

  public static int ofRegex(String pattern, double most) {
    return data_skip.Backtracking.ofRegex(pattern, most);
  }

  public static String like(String pattern) {
    return org.apache.spark.sql.catalyst.util.StringUtils.escapeLikeRegex(pattern, (char) 92);
  }

  public static long lookedAt(String pattern, final String text, boolean whole) {
    final long[] count = new long[1];
    CharSequence counted = new CharSequence() {
      public char charAt(int i) {
        if (++count[0] > 10000000) throw new IllegalStateException("too many");
        return text.charAt(i);
      }
      public int length() { return text.length(); }
      public CharSequence subSequence(int start, int end) { return text.subSequence(start, end); }
      public String toString() { return text; }
    };
    java.util.regex.Matcher matcher = java.util.regex.Pattern.compile(pattern).matcher(counted);
    try {
      if (whole) matcher.matches(); else matcher.find();
    } catch (IllegalStateException tooMany) {
    }
    return count[0];
  }
}
"""

LETTERS = st.sampled_from(["a", "a", "b", ".", "[ab]", "[^b]", r"\w", "aa"])
QUANTIFIERS = st.sampled_from(["", "", "*", "+", "?", "*?", "{2}", "{1,3}", "{2,}"])
LIKE = st.text(st.sampled_from("%%%a_b"), min_size=1, max_size=12)


def _more(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    sequence = st.lists(parts, min_size=1, max_size=4).map("".join)
    bars = st.lists(sequence, min_size=1, max_size=3).map("|".join)
    return st.tuples(bars, QUANTIFIERS).map(lambda it: f"({it[0]}){it[1]}")


ATOM = st.tuples(LETTERS, QUANTIFIERS).map("".join)
REGEX = st.lists(st.recursive(ATOM, _more, max_leaves=6), min_size=1, max_size=5).map("".join)


class Matcher:
    """Java's, and what Backtracking says of it."""

    def __init__(self, lake: Lake) -> None:
        gateway: Any = lake.spark.sparkContext._gateway
        compiler = gateway.jvm.org.codehaus.janino.SimpleCompiler()
        compiler.setParentClassLoader(lake.skipping.jvm._shim.getClass().getClassLoader())
        compiler.cook(COUNTER)
        counter = compiler.getClassLoader().loadClass("Counter")
        self.like, self.looked_at, self.of_like, self.of_regex = (
            self._method(gateway, counter, name) for name in ("like", "lookedAt", "ofLike", "ofRegex")
        )

    @staticmethod
    def _method(gateway: Any, owner: Any, name: str) -> Callable[..., Any]:
        method = next(found for found in owner.getMethods() if found.getName() == name)

        def call(*given: Any) -> Any:
            arguments = gateway.new_array(gateway.jvm.Object, len(given))
            for i, value in enumerate(given):
                arguments[i] = value
            return method.invoke(None, arguments)

        return call


def texts(longest: int) -> list[str]:
    """What makes a matcher go back most, of so many letters."""
    n = min(longest, LONGEST)
    return ["a" * n, "a" * (n - 1) + "c", ("ab" * n)[:n], ("aab" * n)[: n - 1] + "c", "b" + "a" * (n - 1)] if n > 0 else []


def test_what_java_looks_at_is_bounded(lake: Lake) -> None:
    matcher = Matcher(lake)

    def holds(pattern: str, longest: int, whole: bool) -> None:
        for text in texts(longest):
            looked_at = matcher.looked_at(pattern, text, whole)
            assert looked_at <= 4 * (MOST + (len(pattern) + 1) * (len(text) + 1)), (pattern, text, looked_at)

    @settings(max_examples=150, deadline=None, derandomize=True)
    @given(REGEX)
    def of_regex(pattern: str) -> None:
        holds(pattern, matcher.of_regex(pattern, float(MOST)), False)

    @settings(max_examples=80, deadline=None, derandomize=True)
    @given(LIKE)
    def of_like(pattern: str) -> None:
        holds(matcher.like(pattern), matcher.of_like(pattern, float(MOST)), True)

    of_like()
    of_regex()


def test_letters_that_look_like_the_end_of_a_group(lake: Lake) -> None:
    matcher = Matcher(lake)
    for letters in ("[])a]", "[^])b]", "[[b])a]", r"[\][b])a]", r"[a&&[^b])]", r"[\c])a]", r"\c)a", r"(?<n>a)(?:a|\Q)\Ea)"):
        pattern = rf"({letters}a*)*\1x"
        assert matcher.of_regex(pattern, 1e8) <= 12, pattern


def test_a_group_that_is_named_and_a_start_that_may_be_left_out(lake: Lake) -> None:
    matcher = Matcher(lake)
    for pattern in (r"(?<n>a*)\k<n>\k<n>\k<n>x", "^?a*x", "^*a*x"):
        longest = matcher.of_regex(pattern, 1e6)
        assert longest < 10_000 and matcher.looked_at(pattern, "a" * longest, False) < 4e6, pattern


def test_long_texts_are_matched_by_what_does_not_go_back(lake: Lake) -> None:
    matcher = Matcher(lake)
    for pattern, least in {
        r"^\d{4}-\d{2}-\d{2}$": 1_000_000,
        r"GET /[a-z]+/": 2_000,
        r"^(\d{1,3}\.){3}\d{1,3}$": 1_000_000,
        "Mozilla|Chrome|Safari": 100_000,
        r"^[\w.+-]+@[\w-]+\.[\w.-]+$": 120,
        r"(\w+\s?)+$": 10,
        "(a|b)*": 10,
    }.items():
        assert matcher.of_regex(pattern, 1e8) >= least, pattern
    for pattern, least in {"%a%b%": 3_000, "%a%b%c%": 400, "a%b": 1_000_000}.items():
        assert matcher.of_like(pattern, 1e8) >= least, pattern
