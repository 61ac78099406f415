"""What predicates about text say of how every string that satisfies them begins and ends."""

from __future__ import annotations

from dataclasses import dataclass

from data_skip.data_types import plain_string
from data_skip.expression import Call, Expression, Literal

LOOSE = ("Like", "RLike")  # of which affixes do not tell all
# Calls whose result may be the start or the end of a string, or the place of a text in it.
PARTS = ("Substring", "SubstringIndex", "ElementAt", "GetArrayItem", "StringInstr", "StringLocate")


@dataclass(frozen=True)
class Affixes:
    """A string that satisfies the predicate begins with `prefix` and ends with `suffix`; `whole`: it is exactly that, in both."""

    prefix: str = ""
    suffix: str = ""
    whole: bool = False

    def __post_init__(self) -> None:
        if self.whole and self.prefix != self.suffix:
            raise ValueError(f"a whole string begins and ends with itself, not with {self.prefix!r} and {self.suffix!r}")


def exactly(text: str) -> Affixes:
    """The string is this text."""
    return Affixes(text, text, whole=True)


def literal_parts(pattern: str, escape: str) -> list[str] | None:
    """The texts before, between and after the wildcards of a LIKE pattern, some of them empty; None where Spark refuses the pattern."""
    parts, i = [""], 0
    while i < len(pattern):
        if pattern[i] == escape:
            i += 1
            if i == len(pattern) or pattern[i] not in ("%", "_", escape):
                return None
            parts[-1] += pattern[i]
        elif pattern[i] in "%_":
            parts.append("")
        else:
            parts[-1] += pattern[i]
        i += 1
    return parts


def parse_like(pattern: str, escape: str) -> Affixes | None:
    """The affixes of a LIKE pattern; None where Spark refuses the pattern.

    Java reads bytes that are no UTF-8 as U+FFFD, which a pattern may hold as well: what stands beyond one is not known.
    """
    parts = literal_parts(pattern, escape)
    if parts is None:
        return None
    prefix, suffix = parts[0].split(_REPLACEMENT)[0], parts[-1].split(_REPLACEMENT)[-1]
    return Affixes(prefix, suffix, whole=len(parts) == 1 and _REPLACEMENT not in pattern)


_QUANTIFIERS = "?*{"  # that let a pattern do without what stands before
_REPLACEMENT = "\ufffd"


def parse_regex(pattern: str) -> Affixes | None:
    r"""The literal text that a regular expression of Java wants at the start; None where it wants none.

    Java takes \Q and \E away before it reads the pattern, so that `^ab\Q\E*c` is `^ab*c`.
    """
    if not pattern.startswith("^") or any(sign in pattern for sign in ("|", "\\Q", "\\E")):
        return None
    prefix, i = "", 1
    while i < len(pattern):
        escaped = pattern[i] == "\\"
        literal = pattern[i + 1 : i + 2] if escaped else pattern[i]
        if not literal or (escaped and literal.isalnum()) or literal == _REPLACEMENT or (not escaped and literal in ".$^()[]{}*+?"):
            break
        i += 1 + escaped
        if pattern[i : i + 1] and pattern[i] in _QUANTIFIERS:
            break
        prefix += literal
    return Affixes(prefix=prefix) if prefix else None


def affixes(node: Expression, target: Expression) -> Affixes | None:
    """What a predicate with a constant says of the string `target`: =, StartsWith, EndsWith, Like, RLike, and = of a part of it."""
    match node:
        case Call(_, [string, Literal(str() as text) as constant]) if string == target:
            return _of_whole(node, text) if plain_string(target.type) and plain_string(constant.type) else None
        case Call("EqualTo" | "EqualNullSafe", [Call() as part, Literal() as constant]) if plain_string(target.type):
            return _of_part(part, constant.value, target)
    return None


def _of_whole(node: Call, text: str) -> Affixes | None:
    """What a predicate about the string itself says of it."""
    match node.name:
        case "EqualTo" | "EqualNullSafe":
            return exactly(text)
        case "StartsWith":
            return Affixes(prefix=text)
        case "EndsWith":
            return Affixes(suffix=text)
        case "Like":
            return parse_like(text, node.parameter("escapeChar"))
        case "RLike":
            return parse_regex(text)
    return None


def _of_part(part: Call, value: object, target: Expression) -> Affixes | None:
    """What it says of a string that a part of it, or the place of a text in it, has a value."""
    match part, value:
        case Call("Substring", [string, Literal(0 | 1), Literal(int() as length)]), str() as text if string == target:
            return exactly(text) if len(text) < length else Affixes(prefix=text) if len(text) == length else None
        case Call("StringInstr", [string, Literal(str() as text) as literal]), 1 if string == target:
            return Affixes(prefix=text) if plain_string(literal.type) else None
        case Call("StringLocate", [Literal(str() as text) as literal, string, Literal(1)]), 1 if string == target:
            return Affixes(prefix=text) if plain_string(literal.type) else None
        case _, str() as text if (end := _end(part, target)) is not None:
            if part.name == "GetArrayItem":  # Java may split a character in two, of which Spark writes `?`, where a match is empty
                text = text.removesuffix("?")
            return Affixes(prefix=text) if end > 0 else Affixes(suffix=text)
    return None


def _end(part: Call, target: Expression) -> int | None:
    """From which end of the string a part of it is taken that is split at some delimiter: 1, its start; -1, its end; None: neither."""
    match part:
        case Call("SubstringIndex", [string, Literal(str()), Literal(int() as count)]) if string == target and count:
            end = 1 if count > 0 else -1
        case Call("ElementAt", [Call("StringSplitSQL", [string, Literal(str())]), Literal(1 | -1 as end), *_]) if string == target:
            pass  # split_part
        case Call("GetArrayItem", [Call("StringSplit", [string, Literal(str()), *_]), Literal(0)]) if string == target:
            end = 1
        case _:
            return None
    return end if plain_string(part.type) else None
