"""An index over a predicate, or over its NOT, serves both: whoever keeps where a node stands keeps whether it is negated there."""

from __future__ import annotations

import pyarrow as pa

from data_skip import GapList, Index, MinMax, ValueList
from tests.support import Lake

PREDICATES = ("x = 5", "x > 5", "x IN (5, 6)", "b", "s LIKE '%c%'", "x > 5 AND b")


def files(lake: Lake) -> None:
    lake.file("a.parquet", {"x": [5, 5], "b": [True, True], "s": ["c", "cx"], "f": [[True], [True]]})
    lake.file("b.parquet", {"x": [6, 7], "b": [False, False], "s": ["a", "b"], "f": [[False], [False]]})
    lake.file("c.parquet", {"x": [None, 7], "b": [None, False], "s": ["a", None], "f": [[False], []]})
    nothing = {"x": pa.nulls(1, pa.int64()), "b": pa.nulls(1, pa.bool_()), "s": pa.nulls(1, pa.string())}
    lake.file("d.parquet", nothing | {"f": [[True]]})


def test_every_predicate_and_its_not(lake: Lake) -> None:
    files(lake)
    indexes: list[Index] = [MinMax("x"), MinMax("b")]
    for i, predicate in enumerate(PREDICATES):
        indexes += [ValueList(predicate), (MinMax, ValueList, GapList)[i % 3](f"NOT ({predicate})")]
    lake.index(*indexes)
    forms = ("{}", "NOT ({})", "coalesce({}, true)", "NOT coalesce({}, false)")
    lake.reads(*(form.format(predicate) for predicate in PREDICATES for form in forms))


def test_an_index_over_a_negation_serves_it(lake: Lake) -> None:
    files(lake)
    lake.index(MinMax("x <> 5"), ValueList("NOT b"), ValueList("s NOT LIKE '%c%'"))
    for where in ("x <> 5", "NOT b", "s NOT LIKE '%c%'", "NOT (x = 5)", "x <> 5 AND NOT b", "coalesce(x <> 5, false)"):
        lake.check(where, read=["b.parquet", "c.parquet"])
    lake.check("coalesce(NOT b, true)", read=["b.parquet", "c.parquet", "d.parquet"])


def test_one_kind_at_a_time(lake: Lake) -> None:
    files(lake)
    for index in (MinMax("x <> 5"), ValueList("x <> 5"), GapList("x <> 5")):
        lake.index(index)
        lake.check("x <> 5", read=["b.parquet", "c.parquet"])
        lake.table().drop_index(index)


def test_an_index_over_negated_elements(lake: Lake) -> None:
    files(lake)
    lake.index(ValueList("transform(f, e -> NOT e)"))
    lake.check("exists(transform(f, e -> NOT e), e -> e)", read=["b.parquet", "c.parquet"])
    lake.check("array_contains(transform(f, e -> NOT e), false)", read=["a.parquet", "d.parquet"])
