"""What data-skip raises, and how counts and text of others are shown."""

import re

# What a terminal takes for commands, or shows in another order than it is written; and what no encoding has.
_COMMANDS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


class DataSkipError(ValueError):
    """Something asked for cannot be done. Says what was wrong, with which value, and what to do; nothing was written."""


class DataSkipWarning(UserWarning):
    """Something that makes queries slower than they could be; never a wrong answer."""


def printable(text: str) -> str:
    """A text, perhaps of somebody else, as a terminal may be shown it: what is none is written as Python writes it, as `\\x1b`."""
    return _COMMANDS.sub(lambda found: ascii(found[0])[1:-1], text)


def counted(count: int, one: str, several: str) -> str:
    """A count with what is counted: counted(1, "file was", "files were") is "1 file was", of 2000 it is "2,000 files were"."""
    return f"{count:,} {one if count == 1 else several}"


def in_a_sentence(error: BaseException) -> str:
    """What kind of error it is, and what it says; of one of Java without Java's stack, which stands in the text of a Py4JJavaError."""
    if (java := getattr(error, "java_exception", None)) is not None:
        return str(java.toString()).strip().split("\n")[0].removeprefix("java.lang.")
    return f"{type(error).__name__}: {error}"
