"""What a LIKE pattern says about every string that it matches."""

from __future__ import annotations

from dataclasses import dataclass

from data_skip.expression import Call, Expression, Literal, plain_string


@dataclass(frozen=True)
class Affixes:
    """A string that satisfies the predicate begins with `prefix` and ends with `suffix`; `whole`: it is exactly `prefix`."""

    prefix: str = ""
    suffix: str = ""
    whole: bool = False


def parse_like(pattern: str, escape: str) -> Affixes | None:
    """The affixes of a LIKE pattern, with `%`, `_` and an escape character; None where Spark refuses the pattern."""
    literals, current, i = [], "", 0
    while i < len(pattern):
        character = pattern[i]
        if character == escape:
            i += 1
            if i == len(pattern) or pattern[i] not in ("%", "_", escape):
                return None
            current += pattern[i]
        elif character in "%_":
            literals.append(current)
            current = ""
        else:
            current += character
        i += 1
    literals.append(current)
    return Affixes(literals[0], literals[-1], whole=len(literals) == 1)


def affixes(node: Expression, target: Expression) -> Affixes | None:
    """What a predicate says of the string `target`: for =, StartsWith, EndsWith and Like with a constant; else None."""
    match node:
        case Call(name, [string, Literal(str() as text) as literal]) if string == target:
            if not (plain_string(string.type) and plain_string(literal.type)):
                return None
            match name:
                case "EqualTo" | "EqualNullSafe":
                    return Affixes(text, text, whole=True)
                case "StartsWith":
                    return Affixes(prefix=text)
                case "EndsWith":
                    return Affixes(suffix=text)
                case "Like":
                    return parse_like(text, node.parameter("escapeChar"))
    return None
