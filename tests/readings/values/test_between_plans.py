"""Functions of which Spark's generated code gives something else than their interpreted form, as that of what is called for elements."""

from __future__ import annotations

import pyarrow as pa
import pytest

from data_skip import DataSkipError, MinMax, ValueList
from tests.support import Lake


@pytest.mark.parametrize(
    ("sql", "where"),
    [
        ("levenshtein(s, 'xyz', k)", "exists(array(-1), y -> {0} = y)"),
        ("array(levenshtein(s, 'xyz', k))", "exists({0}, y -> y = -1)"),
        ("hash(make_interval(0, 0, 0, 1 + length(s)))", "exists(array(1, 2), y -> {0} = y - 1328321722)"),
        ("cast(map_keys(map(d, 1))[0] AS string)", "forall(array(1), y -> {0} = '0.0')"),
    ],
)
def test_an_index_of_what_generated_code_gives(lake: Lake, sql: str, where: str) -> None:
    """Rows were lost: records are of the one form, such queries of the other."""
    for name, text in {"a": "abc", "b": ""}.items():
        lake.file(name, {"s": [text], "k": pa.array([None], pa.int32()), "d": [-0.0]})
    for kind in (ValueList, MinMax):
        with pytest.raises(DataSkipError, match="gives something else in some plans"):
            lake.index(kind(sql))
    lake.index(ValueList("s"), ValueList("k"), ValueList("d"))
    lake.view()
    lake.query(f"SELECT s FROM t WHERE {where.format(sql)}")
