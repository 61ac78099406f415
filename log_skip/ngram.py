"""NGram: the distinct n-grams of a file's strings, for text search: LIKE '%x%', contains, and regular expressions with literal parts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import reduce

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from data_skip import Hybrid, filters
from data_skip.clause import Clause, Computed, Mask, Text
from data_skip.expression import Expression
from data_skip.filters import Indexes, admits
from data_skip.index import BoundIndex, Index, Record, refuse_number
from data_skip.plugin import blocks_of, hash_values, may_hold, owners
from log_skip.predicates import of_predicate
from log_skip.required import NOTHING_KNOWN, Required

_CHARACTERS = 1 << 20  # that are cut at once, but for the overlap: each takes some 55 bytes meanwhile
_TABLE = 1 << 24  # so many possible n-grams, or fewer, are told apart by a table rather than by sorting
_MOST_GRAMS = 512  # that a predicate is tested by
_MOST_PROBES = 1 << 20  # at once


class NGram(Index):
    """The distinct n-grams, in code points, of one expression's strings: `NGram("message")`.

    Up to `threshold` of them a file are listed, more are kept as a Bloom filter with `fpp` false positives for each n-gram. Serves what
    tells a literal of `n` characters or more that each matching string contains: LIKE, contains, startswith, endswith, =, IN, RLIKE, and
    equality of a part of the string, as regexp_extract(message, 'user=([a-z]+)', 1) = 'alice'. Never NOT of them.
    """

    def __init__(self, expression: str, n: int = 3, threshold: int = 1000, fpp: float = 0.01) -> None:
        refuse_number(n, "n is how many characters a gram has")
        super().__init__(expression, n=n, threshold=threshold, fpp=fpp)
        self._grams = Hybrid(expression, threshold=threshold, fpp=fpp)

    distinct = True
    n: int

    def refuse(self, types: tuple[str, ...]) -> str | None:
        return None if types == ("string",) else f"it takes a string without collation, not {types[0]}; cast it, or use ValueList"

    def record_fields(self, types: tuple[pa.DataType, ...]) -> Mapping[str, pa.DataType]:
        return {"grams": pa.list_(pa.string()), "bitsets": pa.list_(pa.binary())}

    def collect(self, *values: pa.Array) -> Record:
        (array,) = values
        return self._grams.collect(ngrams(array, self.n))

    def merge(self, a: Record, b: Record) -> Record:
        return self._grams.merge(a, b)

    def finish(self, record: Record) -> Record:
        """The list or the filter, once all n-grams are known."""
        if "grams" in record:
            return record
        finished = self._grams.finish(record)
        return {"grams": finished["values"], "bitsets": finished["bitsets"]}


def ngrams(strings: pa.Array, n: int) -> pa.Array:
    """The distinct n-grams of some strings."""
    texts = strings.drop_null().unique()
    ends = np.cumsum(pc.utf8_length(texts).to_numpy(zero_copy_only=False))
    found: set[str] = set()
    start = 0
    while start < len(texts):
        before = ends[start - 1] if start else 0
        end = max(start + 1, int(np.searchsorted(ends, before + _CHARACTERS, side="right")))
        pieces = texts.slice(start, end - start).to_pylist()
        if end == start + 1:
            (text,) = pieces
            for at in range(0, len(text), _CHARACTERS):
                found.update(_ngrams([text[at : at + _CHARACTERS + n - 1]], n))
        else:
            found.update(_ngrams(pieces, n))
        start = end
    return pa.array(sorted(found), pa.string())


def _ngrams(texts: list[str], n: int) -> Iterator[str]:
    """An n-gram is told by a number: that of its first n - 1 characters times the size of the alphabet, plus that of its last."""
    lengths = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
    codes = np.frombuffer("".join(texts).encode("utf-32-le"), dtype="<u4")
    starts = np.flatnonzero(np.arange(n, len(codes) + n) <= np.repeat(np.cumsum(lengths), lengths))
    if len(starts) == 0:
        return
    occurs = np.zeros(int(codes.max()) + 1, dtype=bool)
    occurs[codes] = True
    letters, size = (np.cumsum(occurs) - 1)[codes], int(occurs.sum())
    keys, most = letters[starts], size
    for i in range(1, n):
        if most > (1 << 62) // size:
            distinct, keys = np.unique(keys, return_inverse=True)
            most = len(distinct)
        keys, most = keys * size + letters[starts + i], most * size
    first = starts[_first_places(keys, most)]
    text = codes[first[:, None] + np.arange(n)].tobytes().decode("utf-32-le")
    for i in range(0, len(text), n):
        yield text[i : i + n]


def _first_places(keys: npt.NDArray[np.int64], most: int) -> npt.NDArray[np.int64]:
    """A place of each distinct key, all of them below `most`."""
    if most > _TABLE:
        return np.unique(keys, return_index=True)[1]
    places = np.full(most, -1, dtype=np.int64)
    places[keys] = np.arange(len(keys))
    return places[places >= 0]


@filters.on()
def contains(node: Expression, indexes: Indexes) -> Iterator[Clause]:
    """A predicate that a string satisfies only if it contains certain literals."""
    for index in indexes.of(NGram):
        required = of_predicate(node, index.expression)
        literals = len(list(required.all_literals()))
        grams = _grams_of(required, index.index.parameters["n"], _MOST_GRAMS // max(literals, 1))
        if grams:
            yield _may_contain(index, grams, admits(index, node, indexes))


def _grams_of(required: Required, n: int, most: int) -> Required:
    """The same in n-grams, up to `most` of each literal; of one that is shorter than n, nothing is known."""
    grams: dict[str, None] = {}
    for text in required.literals if most else ():
        last = len(text) - n
        starts: list[int] = np.linspace(0, last, min(most, last + 1), dtype=int).tolist() if last >= 0 else []
        grams.update(dict.fromkeys(text[start : start + n] for start in starts))
    choices = []
    for alternatives in required.choices:
        known = tuple(_grams_of(alternative, n, most) for alternative in alternatives)
        choices += [known] if all(known) else []
    return Required(tuple(grams), tuple(choices)) if grams or choices else NOTHING_KNOWN


def _may_contain(index: BoundIndex, required: Required, text: Text) -> Clause:
    grams = list(dict.fromkeys(required.all_literals()))
    columns = {gram: i for i, gram in enumerate(grams)}

    def may_match(lists: pa.ListArray, bitsets: pa.ListArray) -> pa.BooleanArray:
        present = _listed(lists, grams) | _held(bitsets, grams)
        unknown = pc.and_(lists.is_null(), bitsets.is_null())
        return pa.array(_satisfied(required, present, columns), mask=unknown.to_numpy(zero_copy_only=False))

    return Computed(text, (index["grams"], index["bitsets"]), may_match, pure=True)


def _satisfied(required: Required, present: Mask, columns: Mapping[str, int]) -> Mask:
    """For each file, whether the n-grams that it holds allow for what is required."""
    found = present[:, [columns[gram] for gram in required.literals]].all(axis=1)
    for alternatives in required.choices:
        found = found & reduce(np.logical_or, (_satisfied(alternative, present, columns) for alternative in alternatives))
    return np.asarray(found, dtype=bool)


def _listed(lists: pa.ListArray, grams: list[str]) -> Mask:
    """Which files (rows) list which n-grams (columns)."""
    present = np.zeros((len(lists), len(grams)), dtype=bool)
    places = pc.index_in(lists.flatten(), value_set=pa.array(grams, pa.string()))
    wanted = places.is_valid().to_numpy(zero_copy_only=False)
    present[owners(lists)[wanted], places.drop_null().to_numpy()] = True
    return present


def _held(bitsets: pa.ListArray, grams: list[str]) -> Mask:
    """Which files' Bloom filters may hold which n-grams."""
    present = np.zeros((len(bitsets), len(grams)), dtype=bool)
    flat, hashes = bitsets.flatten(), hash_values(pa.array(grams, pa.string()))
    if len(flat):
        counts = pc.binary_length(flat).to_numpy(zero_copy_only=False).astype(np.int64) // 32
        words, first, files = blocks_of(flat), np.cumsum(counts) - counts, owners(bitsets)
        step = max(1, _MOST_PROBES // len(flat))
        for at in range(0, len(grams), step):
            present[files, at : at + step] = may_hold(words, first, counts, hashes[at : at + step])
    return present
