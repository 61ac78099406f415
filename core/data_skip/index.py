"""Index: the base class of every index."""

from __future__ import annotations

import inspect
import json
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, ClassVar

import pyarrow as pa

from data_skip.clause import Field
from data_skip.errors import printable
from data_skip.expression import Expression
from data_skip.footer import Footer
from data_skip.sample import Sample
from data_skip.source_code import note

Record = dict[str, Any]  # field -> value; None: unknown


class Index:
    """A kind of metadata over one or more SQL expressions. A subclass says what is known about a file:

        class MaxLength(Index):
            fields = {"longest": pa.int32()}
            def collect(self, values):
                return {"longest": pc.max(pc.utf8_length(values)).as_py()}
            def merge(self, a, b):
                return {"longest": max(a["longest"], b["longest"])}

    `Index("city")` takes SQL expressions; parameters (keyword arguments of `__init__`) go to `super().__init__` as keywords
    and become attributes, as JSON keeps them: a tuple as a list. A filter (see filters.py) says which predicates the index serves.

    Values reach `collect` in Spark's own representation: dates as days since 1970 (int32), timestamps as microseconds (int64).
    An error in `collect`, `merge` or `finish`, or a field that is None, makes the record or field unknown: such a file is read.
    """

    fields: ClassVar[Mapping[str, pa.DataType]] = {}
    version: ClassVar[int] = 1  # of the code that collects: raise it when records of the old code mean something else
    expression_count: ClassVar[int | None] = 1  # how many expressions it takes; None: any number
    # Whether a value (and NULL) that comes again tells nothing new: then `collect` may be given each but once, of many batches. Numbers
    # are told apart by their bits. Said by the class that defines `collect`, of an index over one expression.
    distinct: ClassVar[bool] = False
    # Of each expression the fields of its smallest and largest value, or of lists of them, a part of the file each: for pictures. All
    # other fields are the same in any two files of one row without NULL. None: it keeps no ranges.
    extents: ClassVar[tuple[tuple[str, str], ...] | None] = None

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        if cls.__module__ != "__main__":
            note(cls.__module__)

    def __init__(self, *expressions: str, **parameters: Any) -> None:
        wanted = self.expression_count
        if not expressions or (wanted is not None and len(expressions) != wanted):
            raise ValueError(f"{self.kind} takes {wanted or 'one or more'} SQL expression(s), not {len(expressions)}: {expressions}")
        for expression in expressions:
            if not isinstance(expression, str) or not expression.strip():
                raise ValueError(f"{type(self).__name__} takes SQL expressions as non-empty strings, not {expression!r}")
        if parameters and type(self).__init__ is Index.__init__:
            raise ValueError(f"{self.kind} takes no {', '.join(parameters)}: it has no parameters, only SQL expressions")
        parameters = _as_kept(parameters)
        self.expressions = expressions
        self.parameters = parameters
        for name, value in parameters.items():
            setattr(self, name, value)

    @property
    def inputs(self) -> tuple[str, ...]:
        """The SQL expressions whose values reach `collect`, and whose types the other methods are told: mostly just `expressions`."""
        return self.expressions

    def fitted(self, sample: Sample) -> Index:
        """The index with every parameter that is None chosen from a sample of the table, when the index is created."""
        return self

    def refuse(self, types: tuple[str, ...]) -> str | None:
        """Why the index cannot be built over expressions of these Spark types; None where it can."""
        return None

    def record_fields(self, types: tuple[pa.DataType, ...]) -> Mapping[str, pa.DataType]:
        """The fields of a record, for expressions of these Arrow types."""
        return self.fields

    def collect(self, *values: pa.Array) -> Record:
        """The record of one batch of a file's rows: an array of equal length for each expression, never empty."""
        raise NotImplementedError

    def merge(self, a: Record, b: Record) -> Record:
        """The record of two batches of the same file. Batches come in any order.

        Records are what `collect` or `merge` gave, not finished; a field that is None is unknown, and mostly stays so. `a` and `b` are not
        used again: they may be changed, and one of them given back.
        """
        raise NotImplementedError

    def finish(self, record: Record) -> Record:
        """The record to keep, for an index that must see a whole file first. It is not merged again, but may be finished again.

        `record` is not used again: it may be changed and given back.
        """
        return record

    def lift(self, footer: Footer, expressions: tuple[Expression, ...]) -> Record | None:
        """The finished record of a Parquet file from its footer, for the index's expressions as trees; None: its rows must be read."""
        return None

    @property
    def kind(self) -> str:
        """The name of the class, by which an index is known in the store."""
        return type(self).__name__

    def __str__(self) -> str:
        defaults = self._defaults()
        given = {name: value for name, value in self.parameters.items() if name not in defaults or defaults[name] != value}
        return shown(self.kind, self.expressions, given)

    @classmethod
    @cache
    def _defaults(cls) -> dict[str, Any]:
        """The parameters of a kind, by name, with their defaults."""
        return {name: parameter.default for name, parameter in inspect.signature(cls).parameters.items()}

    def __repr__(self) -> str:
        return str(self)

    def __eq__(self, other: object) -> bool:
        mine = (self.kind, self.expressions, self.parameters)
        return isinstance(other, Index) and mine == (other.kind, other.expressions, other.parameters)

    def __hash__(self) -> int:
        return hash((self.kind, self.expressions))

    @cached_property
    def column(self) -> str:
        """The index's column in the store: `MinMax("temp")` lives in `min_max__temp`.

        Letters, digits and `_` only, since engines refuse more. Where that, or their ignoring of case, would lose something
        of the definition, its checksum makes the name unique.
        """
        words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", self.kind).lower()
        readable = re.sub(r"[^A-Za-z0-9_]+", "_", "_".join(self.expressions))
        if not self.parameters and readable == self.expressions[0].lower():
            return f"{words}__{readable}"
        return f"{words}__{readable[:40].strip('_')}__{zlib.crc32(_written(self.kind, self.expressions, self.parameters).encode()):08x}"


def is_kind(found: Any) -> bool:
    """Whether something of a module is a kind of index: a class whose records have fields, and not what others are derived from."""
    return isinstance(found, type) and issubclass(found, Index) and bool(found.fields or found.record_fields is not Index.record_fields)


def _as_kept(parameters: dict[str, Any]) -> dict[str, Any]:
    """Parameters as the store gives them back, so that an index is the same one then; as they are where it cannot keep them."""
    try:
        kept: dict[str, Any] = json.loads(json.dumps(parameters))
    except (TypeError, ValueError, RecursionError):
        return parameters
    return kept


def refuse_number(value: Any, meaning: str) -> None:
    """ValueError for a parameter that is no whole number of at least 1; meaning: what it is, as "limit is the most that is kept"."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{meaning}, a whole number of at least 1, not {value!r}")


def shown(kind: str, expressions: tuple[str, ...], parameters: Mapping[str, Any]) -> str:
    """An index as it is written in Python, for people."""
    return printable(_written(kind, expressions, parameters))


def _written(kind: str, expressions: tuple[str, ...], parameters: Mapping[str, Any]) -> str:
    return f"{kind}({', '.join([*expressions, *(f'{name}={value!r}' for name, value in parameters.items())])})"


@dataclass(frozen=True)
class BoundIndex:
    """An index of a table, with its expressions as trees: what a filter gets to see. `index["max"]` is a field for clauses."""

    index: Index
    expressions: tuple[Expression, ...]

    @property
    def expression(self) -> Expression:
        """The first (mostly the only) expression."""
        return self.expressions[0]

    def __getitem__(self, field: str) -> Field:
        return Field(self.index.column, field, str(self))

    @cached_property
    def _shown(self) -> str:
        return str(self.index)

    def __str__(self) -> str:
        return self._shown
