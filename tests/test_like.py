"""Patterns of LIKE, against a matcher that tries everything."""

from __future__ import annotations

from itertools import product

import pytest

from data_skip.expression import Call, Column, Literal
from data_skip.proofs.like import Affixes, affixes, parse_like

ALPHABET = "ab%_#"
STRINGS = ["".join(t) for n in range(4) for t in product("ab%_#\n", repeat=n)]
PATTERNS = ["".join(t) for n in range(5) for t in product(ALPHABET, repeat=n)]


def tokens(pattern: str, escape: str) -> list[tuple[str, str]] | None:
    """Literal characters and wildcards; None for a pattern that Spark refuses."""
    found, characters = [], iter(pattern)
    for character in characters:
        if character == escape:
            following = next(characters, None)
            if following is None or following not in ("%", "_", escape):
                return None
            found.append(("literal", following))
        else:
            found.append(("any" if character == "%" else "one" if character == "_" else "literal", character))
    return found


def matches(pattern: list[tuple[str, str]], text: str) -> bool:
    if not pattern:
        return text == ""
    kind, character = pattern[0]
    if kind == "any":
        return any(matches(pattern[1:], text[i:]) for i in range(len(text) + 1))
    return text != "" and (kind == "one" or text[0] == character) and matches(pattern[1:], text[1:])


@pytest.mark.parametrize("escape", ["#", "\\", "%", "a"])
def test_every_match_has_the_affixes(escape: str) -> None:
    for pattern in PATTERNS:
        parsed, expected = parse_like(pattern, escape), tokens(pattern, escape)
        assert (parsed is None) == (expected is None), pattern
        if parsed is None or expected is None:
            continue
        matching = [text for text in STRINGS if matches(expected, text)]
        assert all(text.startswith(parsed.prefix) and text.endswith(parsed.suffix) for text in matching), pattern
        if parsed.whole:
            assert matching == [parsed.prefix] * (parsed.prefix in STRINGS), pattern


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("", Affixes("", "", whole=True)),
        ("%", Affixes("", "")),
        ("abc", Affixes("abc", "abc", whole=True)),
        ("ab%", Affixes("ab", "")),
        ("%ab", Affixes("", "ab")),
        ("%ab%", Affixes("", "")),
        ("ab%cd_ef", Affixes("ab", "ef")),
        ("a_c", Affixes("a", "c")),
        ("a#%b", Affixes("a%b", "a%b", whole=True)),
        ("a#%b%#_", Affixes("a%b", "_")),
        ("##%", Affixes("#", "")),
        ("\U0001f600%é", Affixes("\U0001f600", "é")),
        ("a#", None),
        ("a#b", None),
    ],
)
def test_affixes_of_a_pattern(pattern: str, expected: Affixes | None) -> None:
    assert parse_like(pattern, "#") == expected


def leaf(name: str, type_: str = "string", literal: str = "string") -> Call:
    parameters = '{"escapeChar": "#"}' if name == "Like" else "{}"
    return Call("boolean", None, name, (Column(type_, None, ("s",)), Literal(literal, None, "a%")), parameters)


def test_affixes_of_predicates() -> None:
    target = Column("string", None, ("s",))
    assert affixes(leaf("EqualTo"), target) == Affixes("a%", "a%", whole=True)
    assert affixes(leaf("EqualNullSafe"), target) == Affixes("a%", "a%", whole=True)
    assert affixes(leaf("StartsWith"), target) == Affixes("a%", "")
    assert affixes(leaf("EndsWith"), target) == Affixes("", "a%")
    assert affixes(leaf("Like"), target) == Affixes("a", "")
    for other in ("Contains", "RLike", "LessThan"):
        assert affixes(leaf(other), target) is None


def test_a_collation_or_another_column_says_nothing() -> None:
    collated = "string collate UTF8_LCASE"
    for name in ("EqualTo", "StartsWith", "EndsWith", "Like"):
        assert affixes(leaf(name, collated, collated), Column(collated, None, ("s",))) is None
        assert affixes(leaf(name, literal=collated), Column("string", None, ("s",))) is None
        assert affixes(leaf(name), Column("string", None, ("other",))) is None
