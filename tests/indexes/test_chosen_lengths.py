"""Prefix and Suffix without a length: chosen on a sample, kept in the definition."""

from __future__ import annotations

from random import Random

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from data_skip import Prefix, Suffix, ValueList
from data_skip.testing import check_index
from tests.support import Lake


def paths(lake: Lake) -> None:
    """20 files, each with the paths of one tenant: the first 10 characters tell which, the other 40 characters tell nothing more."""
    random = Random(1)
    for i in range(20):
        tails = ["".join(random.choices("abcdefghij0123456789", k=40)) for _ in range(200)]
        lake.file(f"{i:02}.parquet", {"path": [f"/tenant{i:02}/{tail}" for tail in tails], "reversed": [f"{t}/{i:02}" for t in tails]})


def test_the_shortest_prefix_that_skips_nearly_as_much_as_whole_values(lake: Lake) -> None:
    paths(lake)
    table = lake.index(Prefix("path"), ValueList("path"), Suffix("reversed"))
    told = [row["index"] for row in table.describe().rows]
    assert "Prefix(path, length=10, limit=10000)" in told or "Prefix(path, length=12, limit=10000)" in told, told
    metadata = table.metadata()
    sizes = {}
    for name, field in ((column, row) for row in metadata.collect() for column, row in row.asDict().items() if "path" in column and row):
        if not isinstance(field, str):
            sizes[name] = sizes.get(name, 0) + sum(len(text) for text in field[0])
    prefixes, values = sorted(sizes.values())
    assert prefixes * 10 <= values
    lake.check("path LIKE '/tenant07/%'", read=["07.parquet"])
    lake.check("path LIKE '/tenant07/a%'", read=["07.parquet"])
    lake.check("reversed LIKE '%/07'", read=["07.parquet"])


def test_the_chosen_length_stays(lake: Lake) -> None:
    paths(lake)
    table = lake.index(Prefix("path"))
    before = table.describe().rows[0]["index"]
    lake.file("new.parquet", {"path": ["x" * 50], "reversed": ["y"]})
    table.refresh()
    assert table.describe().rows[0]["index"] == before
    lake.check(f"path = '{'x' * 50}'", read=["new.parquet"])
    table.drop_index(Prefix("path"))
    assert table.describe().rows == []


def test_nothing_to_choose_from(lake: Lake) -> None:
    lake.file("a.parquet", {"s": pa.nulls(3, pa.string())})
    table = lake.index(Prefix("s"), Suffix("s"))
    assert [row["index"] for row in table.describe().rows] == ["Prefix(s, length=8, limit=10000)", "Suffix(s, length=8, limit=10000)"]


@pytest.mark.long
def test_chosen_lengths_are_sound() -> None:
    words = ["", "a", "ab", "abc", None, "\U0001f600" * 20, "abcdefghijklmnop", "%_", "b"]
    predicates = ["s LIKE 'ab%'", "s = 'abc'", "NOT (s LIKE 'a%')", "s LIKE '%b'", "s IS NULL"]
    for index in (Prefix("s"), Suffix("s")):
        checked = check_index(index, [{"s": word} for word in words], predicates)
        assert "length=" in checked.index and checked.skipped["s = 'abc'"], str(checked)


def test_the_cap_makes_a_list_unknown(lake: Lake) -> None:
    lake.file("many.parquet", {"s": [f"{i:05}" for i in range(20_000)]})
    lake.file("few.parquet", {"s": ["a", "b"]})
    table = lake.index(ValueList("s"), Prefix("s", 5))
    lake.check("s = '39998'", read=["many.parquet"])  # TRAPS K3
    lake.check("s = 'a'", read=["few.parquet", "many.parquet"])
    assert pc.sum(pc.is_null(table.metadata().toArrow().column(4).combine_chunks().field(0))).as_py() == 1
