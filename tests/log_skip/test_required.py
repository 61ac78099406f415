"""The literals that a pattern requires: told, and never wrongly."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from log_skip.required import NOTHING_KNOWN, Required, of_like, of_regular_expression


def told(required: Required) -> list[object]:
    """Literals, and choices as lists of such lists."""
    return [*required.literals, *([told(alternative) for alternative in alternatives] for alternatives in required.choices)]


@pytest.mark.parametrize(
    ("pattern", "literals"),
    [
        ("%GET /a%.png", ["GET /a", ".png"]),
        ("abc", ["abc"]),
        ("a_c%", ["a", "c"]),
        ("%", []),
        ("", []),
        ("50\\%%", ["50%"]),
        ("a\\_b\\\\c", ["a_b\\c"]),
        ("a\\b", []),  # Spark refuses it
        ("a\\", []),
        ("😀%é", ["😀", "é"]),
    ],
)
def test_like(pattern: str, literals: list[str]) -> None:
    assert told(of_like(pattern, "\\")) == literals


def test_like_with_another_escape() -> None:
    assert told(of_like("a#%b\\%c", "#")) == ["a%b\\", "c"]


@pytest.mark.parametrize(
    ("pattern", "literals"),
    [
        ("error", ["error"]),
        ("^GET /a\\.png$", ["GET /a.png"]),
        ("user=(\\w+) ok", ["user=", " ok"]),
        ("a.b", ["a", "b"]),
        ("colou?r", ["colo", "r"]),
        ("ab+c", ["ab", "c"]),
        ("ab*c", ["a", "c"]),
        ("ab{0,3}c", ["a", "c"]),
        ("ab{2}c", ["ab", "c"]),
        ("ab{2,}?c", ["ab", "c"]),
        ("ab??c", ["a", "c"]),
        ("ab*+c", ["a", "c"]),
        ("(ERROR|FATAL):", [":", [["ERROR"], ["FATAL"]]]),
        ("ERROR|FATAL", [[["ERROR"], ["FATAL"]]]),
        ("ERROR|FATAL|", []),
        ("(a|.)b", ["b"]),
        ("(?:abc)def", ["abc", "def"]),
        ("(?<name>abc)", ["abc"]),
        ("(abc)?def", ["def"]),
        ("(abc)*", []),
        ("(abc)+", ["abc"]),
        ("(abc){0}", []),
        ("((a|b)c|d)e", ["e", [["c", [["a"], ["b"]]], ["d"]]]),
        ("[abc]def", ["def"]),
        ("[^\\]]def", ["def"]),
        ("[a-z[0-9]]def", ["def"]),
        ("[a-z&&[def]]x", ["x"]),
        ("\\d+ms", ["ms"]),
        ("\\p{L}a\\pLb", ["a", "b"]),
        ("\\bfoo\\b bar", ["foo", " bar"]),
        ("a\\tb", ["a\tb"]),
        ("(a)\\1b\\12c", ["a", "b", "c"]),
        ("a\\|b\\(c", ["a|b(c"]),
        ("😀+x", ["😀", "x"]),
        ("\\Qa.b\\E", []),
        ("(?i)error", []),
        ("a(?i)error", []),
        ("(?i:error)", []),
        ("(?=a)b", []),
        ("(?!abc)d", []),
        ("(?<!abc)d", []),
        ("(?<=a>)d", []),
        ("(?>abc)", []),
        ("(?x)a b # c", []),
        ("\\x41bc", []),
        ("\\u0041bc", []),
        ("\\cAb", []),
        ("\\0101", []),
        ("\\k<name>a", []),
        ("[]abc]", []),
        ("[^]abc]", []),
        ("[\\c]]abc", []),
        ("[\\Q]\\E]abc", []),
        ("[abc", []),
        ("(abc", []),
        ("abc)", []),
        ("a{,2}b", []),
        ("a{x}b", []),
        ("a**b", []),
        ("*a", []),
        ("a\\", []),
        ("", []),
        ("a]b", []),
        ("a}b", []),
        ("\\b{g}a", []),
    ],
)
def test_regular_expressions(pattern: str, literals: list[object]) -> None:
    found = of_regular_expression(pattern)
    assert told(found) == literals
    assert bool(found) == bool(literals)
    assert literals or found == NOTHING_KNOWN


@pytest.mark.parametrize(
    ("pattern", "group", "literals"),
    [
        ("Chrome/([0-9]+)", 1, ["Chrome/31"]),
        ("a([0-9]+)b", 1, ["a31b"]),
        ("a(b)([0-9]+)c", 2, ["a", "b", "31c"]),
        ("a(?<name>\\d+)b", 1, ["a31b"]),
        ("a(?:\\d+)b(\\d+)", 1, ["a", "b31"]),
        ("a(?:b(\\d+))c", 1, ["a", "b31", "c"]),
        ("a((\\d)b)c", 2, ["a", "31b", "c"]),
        ("a((\\d)b)c", 1, ["a31c"]),
        ("a(\\d+)?b", 1, ["a", "b"]),  # here it matched, but a digit may come again
        ("a(\\d)+b", 1, ["a", "b"]),
        ("a(?:b(\\d+))*c", 1, ["a", "c"]),
        ("a(?:b(\\d+)){2}c", 1, ["a", "c"]),
        ("a(\\d+)|b", 1, [[["a31"], ["b"]]]),
        ("a(\\d+)b", 0, ["a", "b"]),
        ("a(\\d+)b", 2, ["a", "b"]),
        ("a[(](\\d+)b", 1, ["a", "31b"]),
        ("a\\((\\d+)b", 1, ["a(31b"]),
        ("a^(\\d+)$b", 1, ["a", "31", "b"]),
        ("(?i)a(\\d+)", 1, []),
    ],
)
def test_a_group_of_known_text(pattern: str, group: int, literals: list[object]) -> None:
    assert told(of_regular_expression(pattern, group, "31")) == literals


def holds(required: Required, text: str) -> bool:
    every = all(literal in text for literal in required.literals)
    return every and all(any(holds(alternative, text) for alternative in alternatives) for alternatives in required.choices)


# Python reads these as Java does.
ATOMS = st.sampled_from(["a", "b", "ab", ".", "[ab]", "[^a]", "\\.", "\\d", "\\w", "\\bx", "^", "$", "1", "x", "\\|", " "])
PATTERNS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["", "*", "+", "?", "{0,2}", "{1,2}", "*?", "{2}"])).map(lambda p: f"(?:{p[0]}){p[1]}"),
        st.lists(inner, min_size=1, max_size=4).map("".join),
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: f"({'|'.join(parts)})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{0,2}", "{2}"])).map(lambda p: f"({p[0]}){p[1]}"),
        st.tuples(st.sampled_from("ab1x"), st.sampled_from(["*", "+", "?", "{0,2}", "{1}"])).map("".join),
    ),
    max_leaves=12,
)


@settings(max_examples=500, deadline=None)
@given(PATTERNS, st.lists(st.text("ab1x. |", max_size=12), max_size=20))
def test_what_a_pattern_finds_holds_what_it_requires(pattern: str, texts: list[str]) -> None:
    required = of_regular_expression(pattern)
    for text in texts:
        if match := re.search(pattern, text):
            assert holds(required, text), (pattern, text, required)
            for group, found in enumerate(match.groups(), 1):
                assert not found or holds(of_regular_expression(pattern, group, found), text), (pattern, group, text)


@settings(max_examples=200, deadline=None)
@given(st.text("ab%_\\#", max_size=8), st.lists(st.text("ab%_\\#", max_size=8), max_size=20))
def test_what_is_like_a_pattern_holds_what_it_requires(pattern: str, texts: list[str]) -> None:
    required = of_like(pattern, "#")
    compiled = "".join(".*" if c == "%" else "." if c == "_" else re.escape(c) for c in re.sub("#(.)", "", pattern))
    for text in texts if "#" not in pattern else ():
        if re.fullmatch(compiled, text, re.DOTALL):
            assert holds(required, text), (pattern, text, required)
