"""What a reader found: the schema that a function is given may have defaults, in a metadata that its type does not name."""

from __future__ import annotations

import pyspark.sql.functions as F
from pyspark.sql.types import IntegerType, StructField, StructType

from data_skip import ValueList
from tests.support import Lake, files_read, rows_of

_DEFAULTS = {"CURRENT_DEFAULT": "5", "EXISTS_DEFAULT": "5"}  # as the schema of a table with a DEFAULT has them


def test_functions_that_fill_in_a_default(lake: Lake) -> None:
    """An index over the same function without it was taken for one of this: rows were lost."""
    for name, a in (("a", 1), ("b", 2)):
        lake.file(name, {"j": [f'{{"a": {a}}}'], "c": [str(a)]})
    calls = [f"to_json(from_{kind}({kind[0]}, 'a int, b int'))" for kind in ("json", "csv")]
    lake.index(*map(ValueList, calls))
    frame = lake.view()
    for call in calls:
        lake.check(f"""{call} = '{{"a":1}}'""", read=["a"])
    schema = StructType([StructField("a", IntegerType()), StructField("b", IntegerType(), metadata=_DEFAULTS)])
    for given in (F.from_json("j", schema), F.from_csv("c", F.lit(schema.json()))):
        query = frame.where(F.to_json(given) == '{"a":1,"b":5}')
        assert files_read(lake.skipping, query, lake.folder) == {"a", "b"}
        assert rows_of(query) == {"Row(j='{\"a\": 1}', c='1')": 1}
