"""Records of elements from Parquet footers: what reading the rows gives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from data_skip import BloomFilter, Index, MinMax, Prefix
from tests.support import Lake, aged

ROWS = {
    "a": pa.array([[1, 2, 2], [3, None], [], None, [7] * 9, [None]] * 20, pa.list_(pa.int64())),
    "s": pa.array([["x", "y"], [None], [], None, ["abc"], ["é"]] * 20, pa.list_(pa.string())),
    "items": pa.array(
        [[{"p": 1, "q": "u"}, None], [], None, [{"p": None, "q": "v"}]] * 30, pa.list_(pa.struct({"p": pa.int32(), "q": pa.string()}))
    ),
    "n": pa.array([{"x": 1}, None, {"x": None}, {"x": 5}] * 30, pa.struct({"x": pa.int64()})),
}
LEAVES = {"a": "a.list.element", "s": "s.list.element", "items.p": "items.list.element.p", "items.q": "items.list.element.q", "n.x": "n.x"}


def records(lake: Lake, indexes: Sequence[Index], *others: Index) -> tuple[int, dict[str, list[Any]]]:
    """How many files were lifted, which is so where all indexes are; the records of each index."""
    table = lake.table()
    report = table.create_index(*indexes, *others)
    rows = table.metadata().select(*(index.column for index in indexes)).orderBy("path").collect()
    table.drop_index(*indexes, *others)
    return report.files_lifted, {str(index): [row.asDict(recursive=True)[index.column] for row in rows] for index in indexes}


@pytest.mark.parametrize("writer", ["spark", "pyarrow"])
def test_footers_say_of_elements_what_the_rows_do(lake: Lake, writer: str) -> None:
    lake.folder.mkdir(exist_ok=True)
    source = lake.folder.parent / "source.parquet"
    filters = {leaf: {"ndv": 20, "fpp": 0.01} for leaf in LEAVES.values()}
    pq.write_table(pa.table({**ROWS, "text": ["x"] * 120}), source, **({"bloom_filter_options": filters} if writer == "pyarrow" else {}))
    if writer == "spark":
        options = {f"parquet.bloom.filter.enabled#{leaf}": "true" for leaf in LEAVES.values()}
        ndv = {f"parquet.bloom.filter.expected.ndv#{leaf}": "20" for leaf in LEAVES.values()}
        options["parquet.enable.dictionary"] = "false"  # a dictionary says all, then parquet-mr writes no filter
        lake.spark_file("one.parquet", lake.spark.read.parquet(str(source)), **options, **ndv)
    else:
        aged(source.replace(lake.folder / "one.parquet"))
    indexes = [*(BloomFilter(expression, fpp=0.5) for expression in LEAVES), *map(MinMax, ("a", "items.p", "n.x"))]
    files, lifted = records(lake, indexes)
    assert files == (1 if writer == "spark" else 0)  # Arrow has counted the NULLs of lists wrongly, more than once
    files, collected = records(lake, indexes, Prefix("text", 1))
    assert files == 0
    assert lifted == collected


def test_other_layouts_of_lists_are_read(lake: Lake) -> None:
    pq.write_table(pa.table({"a": ROWS["a"]}), aged_path := lake.folder / "old.parquet", use_compliant_nested_type=False)
    aged(aged_path)
    assert records(lake, [MinMax("a")])[0] == 0
