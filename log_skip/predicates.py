"""Which literals a string must contain for a node of the WHERE tree to be true."""

from __future__ import annotations

from data_skip.expression import Call, Expression, Literal
from data_skip.plugin import plain_string
from log_skip.required import NOTHING_KNOWN, Required, any_of, literal, of_like, of_regular_expression

# Their result is a part of their first operand: no character is changed, and bytes stay together.
_PARTS = ("Substring", "SubstringIndex", "StringTrim", "StringTrimLeft", "StringTrimRight")


def of_predicate(node: Expression, target: Expression) -> Required:
    """What the string `target` contains wherever the node is true."""
    match node:
        case Call("If", [_, Literal(False | None), predicate]):  # Spark's way of asking right(x, 3) = 'abc'
            return of_predicate(predicate, target)
        case Call("EqualTo" | "EqualNullSafe", [part, Literal(str() as text) as constant]):
            return _equal(part, target, [text]) if plain_string(constant.type) else NOTHING_KNOWN
        case Call("StartsWith" | "EndsWith" | "Contains", [part, Literal(str() as text) as constant]):
            return _within(part, target, literal(text)) if plain_string(constant.type) else NOTHING_KNOWN
        case Call("In", [part, *constants]):
            texts = [c.value for c in constants if isinstance(c, Literal) and plain_string(c.type)]
            if len(texts) != len(constants) or not all(text is None or isinstance(text, str) for text in texts):
                return NOTHING_KNOWN
            return _equal(part, target, [text for text in texts if isinstance(text, str)])
        case Call("Like", [part, Literal(str() as pattern) as constant]) if plain_string(constant.type):
            return _within(part, target, of_like(pattern, node.parameter("escapeChar")))
        case Call("LikeAll" | "LikeAny" as name, [part]):
            found = [of_like(pattern, "\\") for pattern in node.parameter("patterns") if pattern is not None]
            return _within(part, target, any_of(found) if name == "LikeAny" else sum(found, NOTHING_KNOWN))
        case Call("RLike", [part, Literal(str() as pattern) as constant]) if plain_string(constant.type):
            return _within(part, target, of_regular_expression(pattern))
        case Call("GreaterThan", [Call("StringInstr", [part, Literal(str() as text) as constant]), Literal(int() as least)]) | Call(
            "GreaterThan", [Call("StringLocate", [Literal(str() as text) as constant, part, _]), Literal(int() as least)]
        ):
            return _within(part, target, literal(text)) if least >= 0 and plain_string(constant.type) else NOTHING_KNOWN
    return NOTHING_KNOWN


def _equal(part: Expression, target: Expression, texts: list[str]) -> Required:
    """What the target contains where a string made from it is one of some texts."""
    match part:
        case Call("RegExpExtract", [whole, Literal(str() as pattern), Literal(int() as group)]) if all(texts):
            return _within(whole, target, any_of([_found(pattern, group, text) for text in texts]))
    return _within(part, target, any_of([literal(text) for text in texts]))


def _found(pattern: str, group: int, text: str) -> Required:
    """What a string contains in which a pattern was found, with this as one of its groups."""
    if "?" in text:  # which may stand for another character
        return _without_marks(literal(text)) + of_regular_expression(pattern)
    return literal(text) + of_regular_expression(pattern, group, text)


def _within(part: Expression, target: Expression, required: Required) -> Required:
    """What the target contains where a string made from it contains what is required; nothing is known of other strings."""
    if not required or not plain_string(part.type):
        return NOTHING_KNOWN
    if part == target:
        return required
    match part:
        case Call(name, [whole, *_]) if name in _PARTS:
            return _within(whole, target, required)
        case Call("If", [_, Literal(None), some]):  # as Spark asks right(x, 3) IN (...)
            return _within(some, target, required)
        case Call("ElementAt", [Call("StringSplitSQL", [whole, _]), *_]):  # split_part
            return _within(whole, target, required)
        case Call("RegExpExtract", [whole, Literal(str() as pattern), _]):
            # The part is not empty, so the pattern was found.
            return _within(whole, target, _without_marks(required) + of_regular_expression(pattern))
    return NOTHING_KNOWN


def _without_marks(required: Required) -> Required:
    r"""A match of half a surrogate pair, as that of `\uDE00` in 😀, is written as `?`, which is no part of the string."""
    literals = tuple(part for text in required.literals for part in text.split("?") if part)
    choices = tuple(tuple(_without_marks(alternative) for alternative in alternatives) for alternatives in required.choices)
    return Required(literals, tuple(alternatives for alternatives in choices if all(alternatives)))
