r"""What every string that satisfies a pattern must contain: literal parts of LIKE patterns and of Java regular expressions.

    LIKE '%GET /a%.png'      GET /a  and  .png
    RLIKE 'user=(\\d+) ok'   user=  and   ok
    RLIKE '(ERROR|FATAL):'   :  and  ( ERROR  or  FATAL )
    RLIKE 'colou?r'          colo  and  r
    RLIKE '(?i)error'        nothing is known

Regular expressions are read conservatively: what is not understood, in whatever place, makes the whole pattern say nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from data_skip.plugin import literal_parts


@dataclass(frozen=True)
class Required:
    """Each of `literals` is part of the string, and of each of `choices` at least one alternative holds. Empty: nothing is known."""

    literals: tuple[str, ...] = ()
    choices: tuple[tuple[Required, ...], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.literals or self.choices)

    def __add__(self, other: Required) -> Required:
        return Required(self.literals + other.literals, self.choices + other.choices)

    def all_literals(self) -> Iterator[str]:
        """The literals, those of the choices too."""
        yield from self.literals
        for alternatives in self.choices:
            for alternative in alternatives:
                yield from alternative.all_literals()


NOTHING_KNOWN = Required()


def literal(text: str) -> Required:
    """The string contains a text."""
    return Required((text,)) if text else NOTHING_KNOWN


def any_of(alternatives: list[Required]) -> Required:
    """One of them holds; of none at all, nothing is known."""
    if not alternatives or not all(alternatives):
        return NOTHING_KNOWN
    return alternatives[0] if len(alternatives) == 1 else Required(choices=(tuple(alternatives),))


def of_like(pattern: str, escape: str) -> Required:
    """The literal parts of a LIKE pattern; nothing of one that Spark refuses."""
    return Required(tuple(filter(None, literal_parts(pattern, escape) or ())))


def of_regular_expression(pattern: str, group: int = 0, text: str = "") -> Required:
    """The literals in every string in which java.util.regex finds the pattern, and in it `text` as that group, where one is named.

    So `Chrome/([0-9]+)` with 31 as group 1 is found in what contains Chrome/31.
    """
    try:
        reader = _Reader(pattern, group, text)
        found = reader.alternatives()
        return found if reader.at == len(pattern) else NOTHING_KNOWN
    except _NotUnderstoodError:
        return NOTHING_KNOWN


class _NotUnderstoodError(Exception):
    pass


_CLASSES = "dDwWsShHvVRX"  # escapes of one character, or line break, that is not known
_BORDERS = "bBAGzZ"  # escapes of no character
_CONTROLS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "a": "\a", "e": "\x1b"}


class _Reader:
    """Reads a pattern from the left. A run is what is known of neighbouring characters; whatever is not a literal ends it.

    What a group is known to hold counts as literal characters, except of a group that may be missing or come again, or is part of one.
    """

    def __init__(self, pattern: str, known_group: int, text: str) -> None:
        self.pattern, self.at, self.groups = pattern, 0, 0
        self.known_group, self.text = known_group, text

    def peek(self, length: int = 1) -> str:
        return self.pattern[self.at : self.at + length]

    def take(self) -> str:
        if self.at == len(self.pattern):
            raise _NotUnderstoodError
        self.at += 1
        return self.pattern[self.at - 1]

    def alternatives(self) -> Required:
        """a|b|..., to the end of the group or pattern."""
        found = [self.sequence()]
        while self.peek() == "|":
            self.take()
            found.append(self.sequence())
        return any_of(found)

    def sequence(self) -> Required:
        """Atoms with their quantifiers, to the end of the alternative."""
        found, run = NOTHING_KNOWN, ""
        while self.peek() not in ("", "|", ")"):
            groups, opens = self.groups, self.peek(3)
            atom = self.atom()
            optional, repeated = self.quantifier()
            if groups < self.known_group <= self.groups:
                if optional or repeated:
                    atom = NOTHING_KNOWN
                elif groups + 1 == self.known_group and opens != "(?:":
                    atom = self.text
            if isinstance(atom, str) and not (optional or repeated):
                run += atom
                continue
            found += literal(run if optional or not isinstance(atom, str) else run + atom)
            run = ""
            if isinstance(atom, Required) and not optional:
                found += atom
        return found + literal(run)

    def atom(self) -> str | Required:
        """A literal character, or what is required of anything else."""
        character = self.take()
        match character:
            case "(":
                return self.group()
            case "[":
                self.skip_class()
                return NOTHING_KNOWN
            case "\\":
                return self.escaped()
            case "." | "^" | "$":
                return NOTHING_KNOWN
            case "*" | "+" | "?" | "{" | "}" | "]":
                raise _NotUnderstoodError
        return character

    def group(self) -> Required:
        """( ), (?: ) and (?<name> ); lookarounds, flags and atomic groups are not understood."""
        self.groups += self.peek(2) != "?:"
        if self.peek() == "?":
            self.take()
            if self.peek() == "<":
                self.take()
                name = self.until(">")
                if not (name.isascii() and name.isalnum() and name[0].isalpha()):
                    raise _NotUnderstoodError
            elif self.take() != ":":
                raise _NotUnderstoodError
        found = self.alternatives()
        if self.take() != ")":
            raise _NotUnderstoodError
        return found

    def skip_class(self) -> None:
        """[abc], with the classes nested in it. A ] that may be meant literally is not understood."""
        if self.peek() == "^":
            self.take()
        if self.peek() == "]":
            raise _NotUnderstoodError
        depth = 1
        while depth:
            match self.take():
                case "\\":
                    if self.take() in "QEc":
                        raise _NotUnderstoodError
                case "[":
                    if self.peek() in ("]", "^"):
                        raise _NotUnderstoodError
                    depth += 1
                case "]":
                    depth -= 1

    def escaped(self) -> str | Required:
        character = self.take()
        if character in _CONTROLS:
            return _CONTROLS[character]
        if character in _CLASSES or character in _BORDERS:
            return NOTHING_KNOWN
        if character in "pP":
            if self.take() == "{":
                self.until("}")
            return NOTHING_KNOWN
        if character in "123456789":  # a back reference
            while self.peek().isdigit():
                self.take()
            return NOTHING_KNOWN
        if character.isascii() and character.isalnum():  # \Q, \x41, \u0041, \cA, \k<name>, \0, ...
            raise _NotUnderstoodError
        return character

    def quantifier(self) -> tuple[bool, bool]:
        """Whether the atom may be missing, and whether it has a quantifier at all."""
        character = self.peek()
        if character in ("*", "+", "?"):
            self.take()
            optional = character != "+"
        elif character == "{":
            self.take()
            least, *rest = self.until("}").split(",")
            if len(rest) > 1 or not all(part.isascii() and part.isdigit() for part in (least, *filter(None, rest))):
                raise _NotUnderstoodError
            optional = int(least) == 0
        else:
            return False, False
        if self.peek() in ("?", "+") and self.peek():  # lazy, possessive
            self.take()
        if self.peek() in ("*", "+", "?", "{") and self.peek():
            raise _NotUnderstoodError
        return optional, True

    def until(self, end: str) -> str:
        start = self.at
        while self.take() != end:
            pass
        return self.pattern[start : self.at - 1]
