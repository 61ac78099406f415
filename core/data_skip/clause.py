"""Clauses: predicates over the records of files.

The contract. Clause c represents predicate e when every file that holds a row satisfying e satisfies c. So for one file:

    c is true       the file may hold a matching row: read it
    c is false      the file holds no matching row: skip it
    c is unknown    (null: a record or field is missing) nothing is known: read it

    AND       true     false    unknown        OR        true     false    unknown
    true      true     false    unknown        true      true     true     true
    false     false    false    false          false     true     false    unknown
    unknown   unknown  false    unknown        unknown   true     unknown  unknown

Unknown becomes "read it" in one function, `_or_unknown`, and nowhere else. Example: for `temp > 101` the clause is
`MinMax(temp).max > 101`; the file whose largest temp is 99 is skipped, the file with no record is read.

A clause is never negated: that a necessary condition fails to hold proves nothing. NOT is gone before (see normalize.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Mask = npt.NDArray[np.bool_]


class Records:
    """The records of some files, by index: one struct a file, null where the file has no record."""

    def __init__(self, columns: Mapping[str, pa.StructArray], stopped: Callable[[], bool] = lambda: False) -> None:
        self.columns = columns
        self._stopped = stopped  # whether there is no time left: then nothing more is evaluated
        self._answers: dict[int, tuple[Clause, pa.BooleanArray]] = {}

    def answer(self, clause: Clause) -> pa.BooleanArray:
        """What the clause says of each file, evaluated once however often it is asked for; unknown of each where there is no time left."""
        if id(clause) not in self._answers:
            if self.columns and self._stopped():
                return pa.nulls(len(next(iter(self.columns.values()))), pa.bool_())
            self._answers[id(clause)] = (clause, clause.evaluate(self))  # holding the clause keeps its id its own
        return self._answers[id(clause)][1]


class Groups:
    """What is known of groups of records that are not read yet."""

    def __init__(self, count: int, ends: Callable[[str, str], tuple[pa.Array, pa.Array] | None]) -> None:
        """ends: by index and name of a field, the smallest and the largest value of each group, or what lies beyond it.

        Null where nothing is known, and where some record may be missing, or lack the field, or have NaN there. None: of all groups.
        """
        self.count, self.ends = count, ends


class Clause:
    """A predicate over records; combine with `&` and `|`."""

    def __and__(self, other: Clause) -> Clause:
        return all_of([self, other])

    def __or__(self, other: Clause) -> Clause:
        return any_of([self, other])

    def __invert__(self) -> NoReturn:
        raise TypeError("a clause cannot be negated: it only says where a row may be, never where none is; negate the predicate instead")

    def __bool__(self) -> NoReturn:
        raise TypeError("a clause is true or false for a file, not by itself; combine clauses with & and |")

    def fields(self) -> Iterator[Field]:
        """The fields of records that the clause reads."""
        raise NotImplementedError

    def evaluate(self, records: Records) -> pa.BooleanArray:
        """True, false or null for each file."""
        raise NotImplementedError

    def rules_out(self, groups: Groups) -> Mask:
        """Which groups of records need not be read: the clause is definitely false of each of their records."""
        return np.zeros(groups.count, dtype=bool)


@dataclass(frozen=True, eq=False)
class Field:
    """One field of an index's records; comparing it with a constant gives a clause."""

    index: str
    name: str
    label: str

    def of(self, records: Records) -> pa.Array:
        """The field of each file; null where the record, or this field of it, is missing."""
        return pc.struct_field(records.columns[self.index], self.name)

    def __gt__(self, value: Any) -> Clause:
        return Comparison(">", self, value)

    def __ge__(self, value: Any) -> Clause:
        return Comparison(">=", self, value)

    def __lt__(self, value: Any) -> Clause:
        return Comparison("<", self, value)

    def __le__(self, value: Any) -> Clause:
        return Comparison("<=", self, value)

    def __eq__(self, value: Any) -> Clause:  # type: ignore[override]
        return Comparison("=", self, value)

    def __ne__(self, value: Any) -> Clause:  # type: ignore[override]
        return Comparison("<>", self, value)

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        return f"{self.label}.{self.name}"


_COMPARE: dict[str, Callable[[Any, Any], pa.BooleanArray]] = {
    ">": pc.greater,
    ">=": pc.greater_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    "=": pc.equal,
    "<>": pc.not_equal,
}


def _is_nan(value: Any) -> bool:
    if isinstance(value, pa.Scalar):
        return pa.types.is_floating(value.type) and value.is_valid and bool(np.isnan(value.as_py()))
    return isinstance(value, float | np.floating) and bool(np.isnan(value))


@dataclass(frozen=True, eq=False)
class Comparison(Clause):
    """A field against a constant."""

    operator: str
    field: Field
    value: Any

    def __post_init__(self) -> None:
        if self.value is None or _is_nan(self.value):
            raise ValueError(f"{self.field} is compared with {self.value}: that is never true; leave the clause out, or test for it")

    def fields(self) -> Iterator[Field]:
        yield self.field

    def evaluate(self, records: Records) -> pa.BooleanArray:
        values = self.field.of(records)
        result = _COMPARE[self.operator](values, pa.scalar(self.value))
        if pa.types.is_floating(values.type):  # Arrow says false of NaN, where Spark may say true: unknown
            result = pc.if_else(pc.is_nan(values), None, result)
        return result

    def rules_out(self, groups: Groups) -> Mask:
        ends = groups.ends(self.field.index, self.field.name)
        if ends is None:
            return super().rules_out(groups)
        (low, high), value = ends, pa.scalar(self.value)
        if self.operator == "=":
            possible = pc.and_kleene(pc.less_equal(low, value), pc.greater_equal(high, value))
        elif self.operator == "<>":
            possible = pc.or_kleene(pc.not_equal(low, value), pc.not_equal(high, value))
        else:
            possible = _COMPARE[self.operator](high if self.operator[0] == ">" else low, value)
        return ~_or_unknown(possible)

    def __str__(self) -> str:
        return f"{self.field} {self.operator} {self.value!r}"


class Words:
    """Text for people that is made when it is read: a query waits for no words of Spark's."""

    def __init__(self, make: Callable[[], str]) -> None:
        self._make = make

    def __str__(self) -> str:
        return self._make()


Text = str | Words


@dataclass(frozen=True, eq=False)
class Computed(Clause):
    """A clause that needs code: one vectorised function of its fields (an array of each) to booleans, null for unknown.

    pure: whether the function depends on its arguments alone, and on constants that it holds: then any other process may evaluate it.
    """

    text: Text
    inputs: tuple[Field, ...]
    function: Callable[..., pa.BooleanArray]
    pure: bool = False

    def fields(self) -> Iterator[Field]:
        yield from self.inputs

    def evaluate(self, records: Records) -> pa.BooleanArray:
        return self.function(*(field.of(records) for field in self.inputs))

    def __str__(self) -> str:
        return str(self.text)


@dataclass(frozen=True, eq=False)
class Named(Clause):
    """A clause that is explained in other words than its parts."""

    text: Text
    clause: Clause

    def fields(self) -> Iterator[Field]:
        return self.clause.fields()

    def evaluate(self, records: Records) -> pa.BooleanArray:
        return records.answer(self.clause)

    def rules_out(self, groups: Groups) -> Mask:
        return self.clause.rules_out(groups)

    def __str__(self) -> str:
        return str(self.text)


class Whole(Named):
    """A clause of an OR that says as much as those of its operands together would: these are not asked for."""


@dataclass(frozen=True, eq=False)
class AllOf(Clause):
    """AND."""

    parts: tuple[Clause, ...]

    def fields(self) -> Iterator[Field]:
        for part in self.parts:
            yield from part.fields()

    def evaluate(self, records: Records) -> pa.BooleanArray:
        return reduce(pc.and_kleene, map(records.answer, self.parts))

    def rules_out(self, groups: Groups) -> Mask:
        return np.logical_or.reduce([part.rules_out(groups) for part in self.parts])

    def __str__(self) -> str:
        return " AND ".join(f"({part})" if isinstance(part, AnyOf) else str(part) for part in self.parts)


@dataclass(frozen=True, eq=False)
class AnyOf(Clause):
    """OR."""

    parts: tuple[Clause, ...]

    def fields(self) -> Iterator[Field]:
        for part in self.parts:
            yield from part.fields()

    def evaluate(self, records: Records) -> pa.BooleanArray:
        return reduce(pc.or_kleene, map(records.answer, self.parts))

    def rules_out(self, groups: Groups) -> Mask:
        return np.logical_and.reduce([part.rules_out(groups) for part in self.parts])

    def __str__(self) -> str:
        return " OR ".join(f"({part})" if isinstance(part, AllOf) else str(part) for part in self.parts)


@dataclass(frozen=True, eq=False)
class _Constant(Clause):
    """A clause that asks no record; `all_of`, `any_of` and `survivors` know the two that there are."""

    text: str

    def fields(self) -> Iterator[Field]:
        return iter(())

    def evaluate(self, records: Records) -> pa.BooleanArray:
        raise TypeError(f"the clause {self} is the same for all files: it needs no evaluation")

    def __str__(self) -> str:
        return self.text


ALWAYS_TRUE: Clause = _Constant("true")
"""Nothing is known of any file. Neutral for AND, absorbing for OR."""
ALWAYS_FALSE: Clause = _Constant("false")
"""No row of any file can match. Absorbing for AND, neutral for OR."""


def all_of(clauses: list[Clause]) -> Clause:
    """AND of clauses; ALWAYS_TRUE where none says anything."""
    if any(c is ALWAYS_FALSE for c in clauses):
        return ALWAYS_FALSE
    parts = [p for c in clauses if c is not ALWAYS_TRUE for p in (c.parts if isinstance(c, AllOf) else (c,))]
    return ALWAYS_TRUE if not parts else parts[0] if len(parts) == 1 else AllOf(tuple(parts))


def any_of(clauses: list[Clause]) -> Clause:
    """OR of at least one clause; ALWAYS_TRUE where one of them is."""
    if not clauses or any(c is ALWAYS_TRUE for c in clauses):
        return ALWAYS_TRUE
    parts = [p for c in clauses if c is not ALWAYS_FALSE for p in (c.parts if isinstance(c, AnyOf) else (c,))]
    return ALWAYS_FALSE if not parts else parts[0] if len(parts) == 1 else AnyOf(tuple(parts))


def survivors(clause: Clause, records: Records, files: int) -> Mask:
    """Which of the files are to be read: all but those for which the clause is definitely false. Here unknown becomes "read it"."""
    if clause is ALWAYS_TRUE or clause is ALWAYS_FALSE:
        return np.full(files, clause is ALWAYS_TRUE)
    may_match = records.answer(clause)
    if len(may_match) != files:
        raise ValueError(f"clause {clause} gave {len(may_match)} answers for {files} files")
    return _or_unknown(may_match)


def _or_unknown(answers: pa.BooleanArray) -> Mask:
    """Which answers are true, or unknown."""
    return np.asarray(pc.fill_null(answers, True).to_numpy(zero_copy_only=False), dtype=bool)
