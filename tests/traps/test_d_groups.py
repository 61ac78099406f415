"""Keys of groups that are structs: a predicate about one is asked of the rows below where equal structs are the same."""

from __future__ import annotations

import pyarrow as pa
import pytest

from data_skip import MinMax, ValueList
from tests.support import Lake


@pytest.fixture
def structs(lake: Lake) -> Lake:
    for i, (number, zero) in enumerate([(1, 0.0), (2, -0.0), (3, 5.0)]):
        s = pa.array(
            [{"n": number, "d": zero, "t": {"c": f"c{i}"}}] * 2,
            pa.struct({"n": pa.int64(), "d": pa.float64(), "t": pa.struct({"c": pa.string()})}),
        )
        lake.file(f"{i}.parquet", {"k": [i, i], "s": s, "e": pa.array([{"n": number, "t": {"c": f"c{i}"}}] * 2)})
    lake.index(MinMax("s.n"), ValueList("s.t.c"), ValueList("s.d"), MinMax("e.n"), ValueList("e.t.c"))
    lake.view()
    return lake


@pytest.mark.parametrize(
    ("where", "read"),
    [("e.n = 2", {"1.parquet"}), ("e.t.c = 'c2'", {"2.parquet"}), ("e.n > 1 AND e.t.c < 'c2'", {"1.parquet"})],
)
def test_structs_of_exact_fields(structs: Lake, where: str, read: set[str]) -> None:
    structs.query(f"SELECT e, count(*) FROM t GROUP BY e HAVING {where}", read)
    structs.query(f"SELECT * FROM (SELECT k, e, row_number() OVER (PARTITION BY e ORDER BY k) AS r FROM t) WHERE {where}", read)


def test_zeros_in_a_struct_are_one_group(structs: Lake) -> None:
    """Of the group of 0.0 and -0.0 either may be what is shown."""
    for value in ("0.0", "-0.0"):
        structs.query(f"SELECT s.d, count(*) FROM t GROUP BY s.d HAVING cast(s.d AS string) = '{value}'")
        structs.query(f"SELECT s, count(*) FROM t GROUP BY s HAVING cast(s.d AS string) = '{value}'")
