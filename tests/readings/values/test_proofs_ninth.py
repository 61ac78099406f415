"""What a ninth reading of the proofs found: an implied predicate that is never true."""

from __future__ import annotations

from data_skip import MinMax, ValueList
from tests.support import Lake


def test_no_element_satisfies_what_is_null(lake: Lake) -> None:
    """Spark leaves `x > NULL` in a function as NULL: no file holds a match, and no filter fails."""
    lake.file("a.parquet", {"a": [[1, 2], []], "n": [[[1]], []]})
    lake.file("b.parquet", {"a": [[3, None], None], "n": [[[3]], None]})
    lake.index(MinMax("a"), ValueList("n"))
    nothing = "exists(a, x -> x > cast(NULL AS INT))"
    deeper = "exists(n, x -> exists(x, y -> y = cast(NULL AS INT)))"
    assert lake.reads(nothing, deeper, f"{nothing} OR exists(a, x -> x = 3)") == [set(), set(), {"b.parquet"}]
    lake.reads(f"NOT {nothing}", f"NOT {deeper}")
