"""Prefix and Suffix: the distinct beginnings (endings) of a file's strings; smaller than all its values, nearly as good for LIKE."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from random import Random
from statistics import geometric_mean
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from data_skip import filters
from data_skip.clause import Clause, Computed, Text
from data_skip.expression import Call, Expression, Literal, name_of
from data_skip.filters import Indexes, Spark, admits
from data_skip.index import BoundIndex, Index, Record, refuse_number
from data_skip.indexes.distinct import any_of_list, distinct, merged_lists
from data_skip.proofs.like import Affixes, affixes
from data_skip.sample import Sample

_LENGTHS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 64)  # that are tried where none is given
_DEFAULT_LENGTH = 8  # where there is nothing to choose it from
_METADATA_FACTOR, _QUERIES = 0.9, 50


class _Affix(Index):
    """Distinct affixes of `length` code points, up to `limit` a file (beyond it unknown). A string shorter than that is kept whole.

    A length that is not given is chosen from a sample of up to 64 files: the shortest with which LIKE queries would read hardly more
    than with whole values, with a metadata factor of at least 0.9 in the whole table. Rule and queries are those of Extensible Data
    Skipping, V-E and figure 12: affixes of random length of 50 random values. The length then belongs to the index, as if given.
    """

    def __init__(self, expression: str, length: int | None = None, limit: int = 10_000) -> None:
        refuse_number(limit, "limit is the largest number of values kept a file")
        if length is not None:
            refuse_number(length, "length is how many characters of a value are kept")
        super().__init__(expression, length=length, limit=limit)

    distinct = True
    length: int | None
    limit: int
    exact: ClassVar[str]  # the name of the node that asks for this affix and nothing else

    @property
    def chosen(self) -> int:
        """The length. ValueError where it is still to be chosen."""
        if self.length is None:
            raise ValueError(f"{self} has no length yet: create_index chooses it")
        return self.length

    def fitted(self, sample: Sample) -> Index:
        if self.length is not None:
            return self
        (expression,) = self.expressions
        return type(self)(expression, length=self._shortest_useful(sample.values(expression), sample.files), limit=self.limit)

    def _shortest_useful(self, found: pa.Table, table_files: int) -> int:
        """The rule of the class's docstring, for a table of `file` and `v0`.

        Of the files read, one held the value that the query was made of; the others are as many among the files of the whole table,
        in proportion.
        """
        if not pa.types.is_string(found["v0"].type) or found["v0"].null_count == len(found):
            return _DEFAULT_LENGTH
        found = found.filter(found["v0"].is_valid())
        strings = found["v0"].combine_chunks()
        files = found["file"].combine_chunks().dictionary_encode().indices.to_numpy()
        scale = (table_files - 1) / max(1, len(np.unique(files)) - 1)
        queries = self._queries(strings.to_pylist())
        needed = [self._files_read(strings, files, query) for query in queries]
        for length in _LENGTHS:
            read = [self._files_read(strings, files, self.cut_text(query, length)) for query in queries]
            if (
                geometric_mean([(1 + (n - 1) * scale) / (1 + (r - 1) * scale) for n, r in zip(needed, read, strict=True)])
                >= _METADATA_FACTOR
            ):
                return length
        return _LENGTHS[-1]

    def _queries(self, strings: list[str]) -> list[str]:
        random = Random(0)
        values = random.choices(sorted(filter(None, strings)) or [""], k=_QUERIES)
        return [self.cut_text(value, random.randint(1, max(1, len(value)))) for value in values]

    def _files_read(self, strings: pa.Array, files: npt.NDArray[np.int64], query: str) -> int:
        return len(np.unique(files[self.matches(strings, query).to_numpy(zero_copy_only=False)]))

    def of(self, found: Affixes) -> str:
        """What a predicate says of this end of a string."""
        raise NotImplementedError

    def cut_text(self, text: str, length: int) -> str:
        """The affix of a string, of so many code points or fewer."""
        raise NotImplementedError

    def cut(self, strings: pa.Array, length: int) -> pa.Array:
        """The affix of each string."""
        raise NotImplementedError

    def matches(self, strings: pa.Array, text: str) -> pa.BooleanArray:
        """Which strings have this affix."""
        raise NotImplementedError

    def refuse(self, types: tuple[str, ...]) -> str | None:
        return None if types == ("string",) else f"it takes a string without collation, not {types[0]}; cast it, or use ValueList"

    def record_fields(self, types: tuple[pa.DataType, ...]) -> Mapping[str, pa.DataType]:
        return {"affixes": pa.list_(pa.string()), "has_null": pa.bool_()}

    def collect(self, *values: pa.Array) -> Record:
        (array,) = values
        return {"affixes": distinct(self.cut(array, self.chosen), self.limit), "has_null": array.null_count > 0}

    def merge(self, a: Record, b: Record) -> Record:
        return {"affixes": merged_lists(a["affixes"], b["affixes"], self.limit), "has_null": a["has_null"] or b["has_null"]}


class Prefix(_Affix):
    """The first `length` code points of each string: `Prefix("path", 8)`. Serves LIKE 'x%', =, IN and their NOT."""

    exact = "StartsWith"

    def of(self, found: Affixes) -> str:
        return found.prefix

    def cut_text(self, text: str, length: int) -> str:
        return text[:length]

    def cut(self, strings: pa.Array, length: int) -> pa.Array:
        return pc.utf8_slice_codeunits(strings, 0, length)

    def matches(self, strings: pa.Array, text: str) -> pa.BooleanArray:
        return pc.starts_with(strings, text)


class Suffix(_Affix):
    """The last `length` code points of each string: `Suffix("city", 4)`. Serves LIKE '%x', =, IN and their NOT."""

    exact = "EndsWith"

    def of(self, found: Affixes) -> str:
        return found.suffix

    def cut_text(self, text: str, length: int) -> str:
        return text[-length:]

    def cut(self, strings: pa.Array, length: int) -> pa.Array:
        return pc.utf8_slice_codeunits(strings, -length)

    def matches(self, strings: pa.Array, text: str) -> pa.BooleanArray:
        return pc.ends_with(strings, text)


@filters.on()
def by_affix(node: Expression, indexes: Indexes) -> Iterator[Clause]:
    """Predicates about how a string begins or ends, or what it is."""
    for index in indexes.of(_Affix):
        assert isinstance(index.index, _Affix)
        test = _test(node, index.expression, index.index)
        if test is not None:
            yield _any_affix(index, test, _true_for_null(node, index.expression, indexes.spark), admits(index, node, indexes))


Test = Callable[[pa.Array], pa.BooleanArray]


def _test(node: Expression, target: Expression, affix: _Affix) -> Test | None:
    """Which affixes may belong to a string that satisfies the node; None where the node says nothing about them."""
    length = affix.chosen
    match node:
        case Call("IsNull", [inner]) if inner == target:
            return _none
        case Call("EqualNullSafe", [inner, Literal(None)]) if inner == target:
            return _none
        case Call("IsNotNull", [inner]) if inner == target:
            return _all
        case Call("In", [inner, *constants]) if inner == target and (texts := _strings(constants)) is not None:
            return _one_of([affix.cut_text(text, length) for text in texts])
        case Call("Not", [inner]):
            return _negated(inner, target, affix)
        case Call("If", [Call("IsNull", [inner]), Literal(False | None), cut]) if inner == target:  # as Spark asks right(x, 3) = 'abc'
            return _cut(cut, target, affix)
    if (test := _cut(node, target, affix)) is not None:
        return test
    found = affixes(node, target)
    if found is None:
        return None
    known = affix.cut_text(affix.of(found), length)
    if found.whole:
        return _one_of([known])
    return (lambda stored: affix.matches(stored, known)) if known else None


def _cut(node: Expression, target: Expression, affix: _Affix) -> Test | None:
    """Which affixes may belong to a string of which left(x, n) or right(x, n) is one of some constants."""
    length = affix.chosen
    match node:
        case Call("In", [Call("If", [_, Literal(None), cut]), *constants]):  # of right
            return _cut(replace(node, operands=(cut, *constants)), target, affix)
        case Call(
            "EqualTo" | "EqualNullSafe" | "In",
            [Call("Substring", [inner, Literal(int() as start), Literal(int() as count)]), *constants],
        ) if inner == target and (texts := _strings(constants)) is not None:
            of_start = start in (0, 1)
            n = count if of_start else -start
            if (
                of_start != isinstance(affix, Prefix)
                or n < 1
                or count < n
                or any(c.value is None for c in constants if isinstance(c, Literal))
            ):
                return None
            ends = _one_of([affix.cut_text(text, length) for text in texts if len(text) == n])
            whole = _one_of([affix.cut_text(text, length) for text in texts if len(text) < n])
            return lambda stored: pc.or_(whole(stored), ends(affix.cut(stored, min(n, length))))
    return None


def _negated(node: Expression, target: Expression, affix: _Affix) -> Test | None:
    """Which affixes may belong to a string for which the node is false: an affix that settles that the node is true may not."""
    length = affix.chosen
    match node:
        case Call("In", [inner, *constants]) if inner == target and (texts := _strings(constants)) is not None:
            if any(isinstance(c, Literal) and c.value is None for c in constants):
                return _none  # x NOT IN ('a', NULL) is false or null
            return _unless(_one_of([text for text in texts if len(text) < length]))
    found = affixes(node, target)
    match found:
        case Affixes(text, _, whole=True) if len(text) < length:  # a shorter string is kept whole: the affix is the string
            return _unless(_one_of([text]))
        case Affixes(whole=False) if name_of(node) == affix.exact and len(known := affix.of(found)) <= length:
            return _unless(lambda stored: affix.matches(stored, known))
    return None


def _strings(constants: list[Expression]) -> list[str] | None:
    """The texts of plain string literals, less NULLs; None where something else is among them."""
    values = [c.value for c in constants if isinstance(c, Literal) and c.type == "string"]
    if len(values) != len(constants) or not all(v is None or isinstance(v, str) for v in values):
        return None
    return [v for v in values if v is not None]


def _true_for_null(node: Expression, target: Expression, spark: Spark) -> bool:
    """Whether the node may be true of NULL: of a comparison of the target itself that is known, of all else Spark is asked."""
    match node:
        case Call("IsNull", [inner]) | Call("EqualNullSafe", [inner, Literal(None)]) if inner == target:
            return True
        case Call("Not", [Call("EqualNullSafe", [inner, Literal()])]) if inner == target:
            return True
        case Call("IsNotNull" | "EqualTo" | "EqualNullSafe" | "In", [inner, *_]) if inner == target:
            return False
        case Call("Not", [Call("EqualTo" | "In", [inner, _, *_])]) if inner == target:  # NOT IN () may be true of NULL
            return False
    answer = spark.truth(node, target, pa.nulls(1))
    return answer is None or bool(answer[0])


def _none(stored: pa.Array) -> pa.BooleanArray:
    return pa.array(np.zeros(len(stored), dtype=bool))


def _all(stored: pa.Array) -> pa.BooleanArray:
    return pa.array(np.ones(len(stored), dtype=bool))


def _one_of(texts: list[str]) -> Test:
    return lambda stored: pc.is_in(stored, value_set=pa.array(texts, pa.string()))


def _unless(test: Test) -> Test:
    return lambda stored: pc.invert(test(stored))


def _any_affix(index: BoundIndex, test: Test, of_null: bool, text: Text) -> Clause:
    def may_match(stored: pa.ListArray, has_null: pa.BooleanArray) -> pa.BooleanArray:
        found = any_of_list(stored, test)
        return pc.or_kleene(found, has_null) if of_null else found

    return Computed(text, (index["affixes"], index["has_null"]), may_match, pure=True)
