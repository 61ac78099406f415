"""Lines of CSV that another query may take apart otherwise than this one: a file with such a line is always read.

univocity's parser, to which Spark gives one line after the other, tells values of one line

- by what was read before it. The first line of a part of a file loses a mark of the order of bytes. Whether a last value that is blank is
  empty or missing depends on the value and on the line before. Of a line with a line feed inside, the rest is left to the next one.
- by the columns that a query asks for. It passes over quoted text that is left out by looking for a quote with no escape before it. That
  goes too far where the escape is escaped itself, as in `"a\\\\"`, and, where quotes escape quotes, if all of the text is quotes: `""`. It
  leaves out columns from its second record on: so the first one of a part of a file has other values there than behind another.

And a header behind comments is one only in the first part of its file.

Values do not show it: of the text `2024-01-02T\\` a date is left. So lines are looked at as they lie.
"""

from __future__ import annotations

import codecs
from collections.abc import Mapping, Sequence
from functools import reduce
from operator import or_
from typing import Any, NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from data_skip.building.collect import named
from data_skip.store.reader import is_cut_into_lines, leaves_out_columns

LINE = "data_skip_line"
Odd = tuple[str, str]  # characters that a line has, and Java's regular expression that is found in it, where bytes are read as UTF-8
EVERY_LINE: list[Odd] = [("", "")]
_BLANK = r"\x00-\x20"
_WIDE = ("utf-16", "utf-32")  # of their characters ASCII has one byte, beside zeros
_ESCAPED = {"\\t": "\t", "\\r": "\r", "\\b": "\b", "\\f": "\f", '\\"': '"', "\\'": "'", "\\\\": "\\"}


def encoding_of(reader: Mapping[str, Any]) -> str:
    """How the text of a reader's files is encoded."""
    options = reader["options"]
    return str(options.get("encoding", options.get("charset", "UTF-8")))


class Lines(NamedTuple):
    """The numbers of the files with an odd line, which may depend on where a part of its file begins, and of those with a header."""

    odd: set[int]
    headed: set[int]


def looked_through(lines: DataFrame, number: str, reader: Mapping[str, Any], in_parts: bool) -> Lines:
    """What some lines of CSV show, in one look: as of `odd_lines`, and which files surely have a header.

    lines: a line in the first column, and the number of its file in another. in_parts: whether a header is looked for in the first of the
    parts in which a file is read.
    """
    line = named(lines.columns[0])
    odd = _in_line(line, odd_lines(reader))
    first = lines.metadataColumn("_metadata")["file_block_start"] == 0
    headed = first & line.rlike(_header(reader)) if in_parts else F.lit(False)
    found = lines.where(odd | headed).groupBy(named(number)).agg(F.max(odd), F.max(headed)).collect()
    return Lines(*({file for file, *says in found if says[i]} for i in range(2)))


def _in_line(line: Column, odd: Sequence[Odd]) -> Column:
    return reduce(or_, (line.contains(characters) & line.rlike(pattern) for characters, pattern in odd), F.lit(False))


def _header(reader: Mapping[str, Any]) -> str:
    """What is found in a line that is neither blank nor a comment; of bytes that are no UTF-8 nothing is told."""
    comment = reader["options"].get("comment", "")
    if comment and not (comment.isascii() or encoding_of(reader).lower() in ("utf-8", "utf8")):
        return "(?!)"
    unless = f"(?!{_text(comment, '')})" if comment else ""
    return rf"\A[{_BLANK}\x{{FFFD}}]*+{unless}[^{_BLANK}\x{{FFFD}}]"


def odd_lines(reader: Mapping[str, Any]) -> list[Odd]:
    """Of which lines nothing is sure."""
    if reader["format"] != "csv" or not is_cut_into_lines(reader):
        return []
    options = reader["options"]
    try:
        encoding = codecs.lookup(encoding_of(reader)).name
        marked = _marked(encoding)
    except (LookupError, UnicodeError):
        return EVERY_LINE
    zeros = r"\x00*" if encoding.startswith(_WIDE) else ""
    separator = options.get("sep", options.get("delimiter", ","))
    separator = _ESCAPED.get(separator, separator)
    escape, quote = (options.get(key, default)[:1] or "\0" for key, default in (("escape", "\\"), ("quote", '"')))
    escapes = options.get("chartoescapequoteescaping", "")[:1]
    unclear = separator.startswith("\\") and len(separator) > 1
    if unclear or (encoding != "utf-8" and not f"{separator}{escape}{quote}{escapes}".isascii()):
        return EVERY_LINE
    leading = options.get("ignoreleadingwhitespace", "false").lower() == "true"
    found = [(characters, rf"\A{zeros}{pattern}") for characters, pattern in marked]
    begins = rf"(?:\A|{_text(separator, zeros)})"
    if leading and options.get("nullvalue", "") != options.get("emptyvalue", ""):
        found.append((separator[:1], rf"{begins}[{_BLANK}]++\z"))
    if len(options.get("linesep", "")) > 1:
        found.append(("\n", r"\n"))
    if leaves_out_columns(reader):
        found += _unlike_if_left_out(quote, escape, escapes, rf"(?:{begins}|[{_BLANK}])" if leading else begins, zeros)
    return found


def _marked(encoding: str) -> list[Odd]:
    """How a line begins with a mark of the order of bytes; none where the decoder takes it away, or the encoding has none.

    UnicodeError for an encoding in which ASCII is something else.
    """
    if encoding == "utf-8":
        return [("\ufeff", r"\x{FEFF}")]
    if encoding in _WIDE:
        return []
    if not encoding.startswith(_WIDE):
        ascii_ = bytes(range(128))
        if ascii_.decode(encoding) != ascii_.decode("ascii"):
            raise UnicodeError(encoding)
    try:
        "\ufeff".encode(encoding)
    except UnicodeError:
        return []
    return [("", r"\x{FFFD}")]


def _unlike_if_left_out(quote: str, escape: str, escapes: str, begins: str, zeros: str) -> list[Odd]:
    """Text that univocity passes over in another way than it parses it.

    To its parser a zero is also what stands for nothing. `escapes`: what escapes an escape, where that is not the escape itself.
    """
    if "\0" in (quote, escape):
        return [("\0", r"\x00")]
    q, e = _text(quote, zeros), _text(escape, zeros)
    end = quote if zeros else escape + quote
    if quote == escape:
        odd = [(end, f"{begins}(?:{q}{q})++(?!{q})")]
        return [*odd, (quote, f"{_text(escapes, zeros)}{q}")] if escapes else odd
    odd = [(end, f"{e}{e}{q}")]
    return [*odd, (end, f"{_text(escapes, zeros)}{e}{q}")] if escapes else odd


def _text(text: str, zeros: str) -> str:
    """A regular expression for characters one after the other."""
    return "".join(f"{zeros}\\x{{{ord(char):x}}}" for char in text)
