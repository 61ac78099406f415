"""What a reader gives by what else a query asks for: maps of ORC by its number of columns, and malformed JSON by its filters."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.orc as orc
import pytest

from data_skip import DataSkipError, MinMax, ValueList
from tests.support import Lake, aged, settings_of

FEW = {"spark.sql.codegen.maxFields": "3"}  # as a hundred columns do, beyond which Spark reads ORC row by row: maps as TreeMaps


def write_orc(lake: Lake, name: str, entries: list[tuple[str, int]]) -> None:
    columns = {"m": pa.array([entries], pa.map_(pa.string(), pa.int64())), "x": [1], "y": [1], "z": [1]}
    orc.write_table(pa.table(columns), str(lake.folder / name))
    aged(lake.folder / name)


@pytest.mark.parametrize("expression", ["map_keys(m)[0]", "CAST(m AS STRING)", "m['k']", "size(m)"])
def test_no_index_over_a_map_of_orc(lake: Lake, expression: str) -> None:
    """It held b, and a query of many columns finds a first: of other writers than Spark, which sorts keys, and leaves none twice."""
    write_orc(lake, "a.orc", [("b", 1), ("a", 2)])
    write_orc(lake, "b.orc", [("k", 1), ("k", 2)])
    with pytest.raises(DataSkipError, match="a map of ORC"):
        lake.index(ValueList(expression), format="orc")
    lake.index(MinMax("x"), format="orc")
    lake.view(format="orc")
    with settings_of(lake.spark, FEW):
        for where in ("map_keys(m)[0] = 'a'", "m['k'] = 2", "size(m) = 1 AND x = 1"):
            assert lake.spark.sql(f"SELECT * FROM t WHERE {where}").count() == 1


def test_no_index_over_the_column_of_malformed_json(lake: Lake) -> None:
    """Where Spark's reader has a filter on a key that is there twice, the record is malformed: it was none while it was indexed."""
    lake.lines("a.json", '{"a": 1, "b": 1, "a": 5}')
    lake.lines("b.json", '{"a": 2, "b": 2}')
    schema = "a INT, b INT, _corrupt_record STRING"
    for expression in ("_corrupt_record", "length(_CORRUPT_RECORD)"):
        with pytest.raises(DataSkipError, match="the column of malformed records"):
            lake.index(MinMax(expression), format="json", schema=schema)
    lake.index(MinMax("a"), format="json", schema=schema)
    lake.view(format="json", schema=schema)
    assert lake.spark.sql("SELECT * FROM t WHERE a > 0 AND _corrupt_record IS NOT NULL").count() == 1
    lake.query("SELECT * FROM t WHERE a > 2 AND _corrupt_record IS NOT NULL", read=["a.json"])
