"""Direct values: tasks find the different values of a column, Spark evaluates expressions of them: records are those of all rows."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, timezone
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql.types import DoubleType, StringType, StructField, StructType

from data_skip import GapList, Index, MinMax, ValueList
from data_skip.building import direct_values, grouped, one_pass
from data_skip.building.grouped import Grouping
from data_skip.expression import Call, Column
from log_skip import Formatted, register
from tests.support import Lake, aged
from tests.test_direct import Everything, Once
from tests.test_grouped import groupings, records, small_files_are_worth_it

__all__ = ["groupings", "small_files_are_worth_it"]  # fixtures

NOON = datetime(2024, 3, 31, 12, 0, 0, 7, tzinfo=timezone.utc)
COLUMNS = {
    "truth": (pa.bool_(), [True, False, None]),
    "tiny": (pa.int8(), [-128, 127, None]),
    "small": (pa.int16(), [-(2**15), 7]),
    "whole": (pa.int32(), [None, 5, -5]),
    "long": (pa.int64(), [2**62, -(2**62), None]),
    "price": (pa.decimal128(12, 2), [Decimal("1.25"), None, Decimal("-7.00")]),
    "day": (pa.date32(), [date(1901, 1, 1), date(9999, 12, 31), None]),
    "at": (pa.timestamp("us", "UTC"), [NOON, None]),
    "local": (pa.timestamp("us"), [NOON.replace(tzinfo=None), None]),
    "word": (pa.string(), ["a", "", None, "Ää\0z"]),
    "bytes": (pa.binary(), [b"\xff\0", b"", None]),
}


@pytest.fixture
def by_tasks(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bool]]:
    """Of each pass, whether tasks found the values."""
    found: list[bool] = []
    usual = one_pass._of_values

    def spied(*arguments: Any) -> Any:
        told = usual(*arguments)
        found.append(bool(told))
        return told

    monkeypatch.setattr(one_pass, "_of_values", spied)
    yield found


def write(lake: Lake, rows: int = 300) -> None:
    for i in range(3):
        table = pa.table({name: pa.array([some[n % len(some)] for n in range(rows + i)], type_) for name, (type_, some) in COLUMNS.items()})
        lake.file(f"{i}.parquet", table.slice(i))
        pq.write_table(table, lake.folder / f"plain{i}.parquet", use_dictionary=i == 1, row_group_size=100)
        aged(lake.folder / f"plain{i}.parquet")
    lake.file("empty.parquet", table.slice(0, 0))


@pytest.mark.parametrize("name", [name if name in ("at", "word") else pytest.param(name, marks=pytest.mark.long) for name in COLUMNS])
def test_records_of_every_type(lake: Lake, monkeypatch: pytest.MonkeyPatch, by_tasks: list[bool], name: str) -> None:
    write(lake)
    text = f"hex({name})" if name == "bytes" else f"string({name})"  # bytes need be no text
    indexes: list[Index] = [Once(f"coalesce({text}, 'none')"), MinMax(f"hash({name})")]
    indexes += [] if name in ("word", "bytes") else [Everything(f"named_struct('v', {name}).v IS NULL"), GapList(f"hash({name}) % 5")]
    of_values = records(lake, *indexes)
    assert by_tasks == [True]
    monkeypatch.setattr(grouped, "LEAST_BYTES", 1 << 60)
    assert of_values == records(lake, *indexes)
    assert by_tasks == [True, False]


def test_functions_in_python_are_asked_of_each_value(lake: Lake, monkeypatch: pytest.MonkeyPatch, by_tasks: list[bool]) -> None:
    register(lake.spark)
    write(lake)
    index = Formatted("word", "get_agent_name")
    of_values = records(lake, index)
    monkeypatch.setattr(grouped, "LEAST_BYTES", 1 << 60)
    assert of_values == records(lake, index) and by_tasks == [True, False]


def test_rows_are_the_same_and_files_are_skipped(lake: Lake, by_tasks: list[bool]) -> None:
    for i in range(4):
        lake.file(f"{i}.parquet", {"number": [n % 5 + 10 * i for n in range(400)]})
    lake.index(ValueList("number % 10 + number"), MinMax("number + 1"))
    assert by_tasks == [True]
    lake.check("number + 1 = 22", read=["2.parquet"])
    lake.check("number % 10 + number > 33", read=["3.parquet"])


@pytest.mark.long
@pytest.mark.parametrize("odd", ["many", "lacking", "int32"])
def test_spark_reads_all_where_a_file_is_not_to_be_read_so(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, groupings: list[Grouping | None], by_tasks: list[bool], odd: str
) -> None:
    few = [n % 5 for n in range(10_000)]
    for name in ("0", "1", "2", "3"):
        lake.file(f"{name}.parquet", {"number": few, "beside": few})
    if odd == "many":
        lake.file("1.parquet", {"number": list(range(5_000)), "beside": few[:5_000]})
    elif odd == "lacking":
        lake.file("1.parquet", {"beside": few})
    else:
        lake.file("1.parquet", {"number": pa.array(few, pa.int32()), "beside": few})
    indexes = Once("number + 1"), MinMax("number * 2")
    found = records(lake, *indexes)
    assert by_tasks == [False] and groupings == [Grouping(("number",))]
    monkeypatch.setattr(grouped, "LEAST_BYTES", 1 << 60)
    assert found == records(lake, *indexes)


@pytest.mark.parametrize(
    ("type_", "path", "format_", "option", "asked"),
    [
        ("string", ("b",), "parquet", "", True),
        ("string", ("a",), "parquet", "", False),  # char(5), which Spark pads
        ("bigint", ("b",), "parquet", "", False),  # another type than the table's
        ("string", ("b", "c"), "parquet", "", False),
        ("double", ("d",), "parquet", "", True),
        ("string", ("b",), "orc", "", False),
        ("string", ("b",), "parquet", "fs.s3a.endpoint", False),
    ],
)
def test_which_columns_tasks_are_asked_for(type_: str, path: tuple[str, ...], format_: str, option: str, asked: bool) -> None:
    padded = StructField("a", StringType(), metadata={"__CHAR_VARCHAR_TYPE_STRING": "char(5)"})
    schema = StructType([padded, StructField("b", StringType()), StructField("d", DoubleType())])
    column = Column(type_, None, path)
    reader = {"format": format_, "options": {}, "session": {}}
    binding: Any = SimpleNamespace(definition=SimpleNamespace(bound_expressions=(Call("string", None, "Upper", (column,)),), reader=reader))
    assert direct_values.column_of([binding], schema, [option] if option else []) == (column if asked else None)
