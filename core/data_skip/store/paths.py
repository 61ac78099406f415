"""The paths of the file versions of an index, which are escaped as in URIs: looked through as text, no Python object a file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from data_skip.store.versions import text_of

SUMMARIES = ("_common_metadata", "_metadata")  # files of which Spark takes the columns of Parquet before all others
# In a folder that Spark does not list, unless it is called as a summary is.
HIDDEN = re.compile(r"(^|/)(\.[^/]*|_[^/=]*|[^/]*\._COPYING_)/")
SUMMARY = f"(^|/)({'|'.join(SUMMARIES)})$"
_METADATA = b"_metadata"
_OUTSIDE = r"(^|/)(\.|%2[eE]){1,2}(/|$)|^/|//|%2[fF]|%00|\x00"
_AT_ONCE = 1 << 16  # characters: of a copy of more, the memory is given back at once, and takes longer to get again than to look through
_ROWS = 1 << 16  # of which what is made meanwhile stays in the caches, and takes no memory that counts
_MOST_NUMBER = 1 << 62  # of a size, and of a generation


class Letters(NamedTuple):
    """What stands in some paths, seen in one look at their text: most tables have nothing of it."""

    slash: bool = False
    percent: bool = False
    nul: bool = False
    metadata: bool = False  # the word, as in the name of a summary
    beyond_ascii: bool = False
    begins: bool = False  # a path with _ or .
    short: bool = False  # a path of two characters at most

    @classmethod
    def of(cls, paths: pa.Array) -> Letters:
        """Of what stands there, or where two of them meet."""
        starts, text = text_of(paths)
        begins, ends = starts[:-1], starts[1:]
        firsts = np.frombuffer(text, dtype=np.uint8)[begins if (begins < ends).all() else begins[begins < ends]]
        found = dict.fromkeys(cls._fields, False)
        found["begins"] = bool((firsts == ord("_")).any() or (firsts == ord(".")).any())
        found["short"] = bool((ends - begins <= 2).any())
        for part in texts(paths, len(_METADATA)):
            found["slash"] = found["slash"] or b"/" in part
            found["percent"] = found["percent"] or b"%" in part
            found["nul"] = found["nul"] or b"\0" in part
            found["metadata"] = found["metadata"] or (b"_" in part and _METADATA in part)
            found["beyond_ascii"] = found["beyond_ascii"] or not part.isascii()
        return cls(**found)

    def or_of(self, others: Letters) -> Letters:
        """What stands in these paths, or in others."""
        return Letters(*(ours or theirs for ours, theirs in zip(self, others, strict=True)))

    @property
    def flat(self) -> bool:
        """Whether all files surely lie in one folder, and have names that say nothing of what they are."""
        return not (self.slash or self.begins)


def refuse_paths(paths: pa.ChunkedArray, letters: Letters) -> None:
    """ValueError for a path outside of the root of a table."""
    if not (letters.slash or letters.percent or letters.nul or letters.short):
        return
    parts = (chunk.slice(start, _ROWS) for chunk in paths.chunks for start in range(0, len(chunk), _ROWS))
    if any(map(_may_lead_outside, parts)):  # a first look, which takes a tenth of the second
        outside = paths.filter(pc.match_substring_regex(paths, _OUTSIDE))
        if len(outside):
            raise ValueError(f"it has a record of {outside[0].as_py()!r}, which is no path below the root of a table")


def refuse_numbers(sizes: npt.NDArray[np.int64], generations: npt.NDArray[np.int64]) -> None:
    """ValueError for sizes and generations of file versions that do not add up."""
    if len(sizes) and (sizes.min() < 0 or sizes.sum(dtype=float) > _MOST_NUMBER):
        raise ValueError(f"it has a record of a file of {sizes.min():,} to {sizes.max():,} bytes")
    if len(generations) and (generations.min() < 0 or generations.max() > _MOST_NUMBER):
        raise ValueError(f"it has a file version of generation {generations.min():,} or {generations.max():,}")


def _may_lead_outside(paths: pa.Array) -> bool:
    """Whether some path has a slash beside a slash or a dot, begins with one, is a dot or two, or has an escape of these, or of NUL."""
    starts, text = text_of(paths)
    letters = np.frombuffer(text, dtype=np.uint8)
    slashes, escapes = np.flatnonzero(letters == ord("/")), np.flatnonzero(letters == ord("%"))
    after = [letters[np.minimum(places, len(letters) - 1)] for places in (slashes + 1, escapes + 1, escapes + 2)]
    beside = np.concatenate([letters[np.maximum(slashes - 1, 0)], after[0]])
    codes = after[1].astype(int) << 8 | after[2]
    short = np.diff(starts) <= 2
    return bool(
        np.isin(beside, (ord("/"), ord("."))).any()
        or np.isin(codes, [int.from_bytes(code, "big") for code in (b"2e", b"2E", b"2f", b"2F", b"00")]).any()
        or (len(letters) and (letters.min() == 0 or (letters[starts[:-1][np.diff(starts) > 0]] == ord("/")).any()))
        or (short.any() and pc.any(pc.is_in(paths.filter(pa.array(short)), pa.array([".", ".."], paths.type))).as_py())
    )


def has_summary(paths: pa.ChunkedArray) -> bool:
    """Whether one of the files is a summary of the columns of all."""
    return bool(pc.any(pc.match_substring_regex(paths, SUMMARY)).as_py())


def without_hidden(paths: pa.ChunkedArray, letters: Letters) -> pa.ChunkedArray:
    """Those of some paths that lie in no folder that Spark does not list."""
    if not letters.slash or not (letters.begins or any(any_has(paths, mark) for mark in (b"/_", b"/.", b"_/"))):
        return paths
    hidden = pc.and_not(pc.match_substring_regex(paths, HIDDEN.pattern), pc.match_substring_regex(paths, r"(^|/)_(common_)?metadata"))
    return paths.filter(pc.invert(hidden))


def any_has(strings: pa.ChunkedArray | pa.Array, word: bytes) -> bool:
    """Whether some characters are in one of the strings, or where two of them meet."""
    return any(word in part for part in texts(strings, len(word) - 1))


def texts(strings: pa.ChunkedArray | pa.Array, more: int = 0) -> Iterator[bytes]:
    """All characters of some strings, _AT_ONCE and some more at a time: to look through them so takes less than to ask of each."""
    for chunk in strings.chunks if isinstance(strings, pa.ChunkedArray) else [strings]:
        _, text = text_of(chunk)
        for start in range(0, len(text), _AT_ONCE):
            yield text[start : start + _AT_ONCE + more].tobytes()
