"""Rows that are told in groups, and files that are indexed by several commits."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from data_skip import DataSkipError, Index, MinMax, Prefix
from data_skip.building import collect, grouped, indexing
from data_skip.building.grouped import Grouping
from tests.support import Lake, settings_of
from tests.test_direct import Everything, Once, bits
from tests.test_grouped import groupings, records, small_files_are_worth_it  # noqa: F401


def write(lake: Lake) -> None:
    for i in range(2):
        columns = {"a": [n % 4 + i for n in range(60)], "e0": [n % 3 for n in range(60)], "s": [f"s{n % 2}" for n in range(60)]}
        lake.file(f"{i}.parquet", columns)


@pytest.mark.parametrize(
    "indexes",
    [
        (Once("if(true, a, e0) * 3"),),
        (Once("a > 1 OR (a > 1 AND e0 = 1)"),),
        (Once("named_struct('p', a, 'q', s).p + 1"),),
        (Once("if(true, a, e0) * 3"), Once("a * 2")),
        (Once("a + 1"), Once("if(true, a, e0) * 2")),  # e0 is what the first one would be called
    ],
    ids=str,
)
def test_columns_that_the_optimizer_leaves_out(
    lake: Lake,
    monkeypatch: pytest.MonkeyPatch,
    groupings: list[Grouping | None],  # noqa: F811
    indexes: tuple[Index, ...],
) -> None:
    """An expression names them: of the columns that its tree reads alone Spark cannot make it."""
    write(lake)
    offered = grouped.candidates
    monkeypatch.setattr(grouped, "candidates", lambda bindings: [found for found in offered(bindings) if found.columns])
    of_columns = records(lake, *indexes)
    monkeypatch.setattr(grouped, "candidates", lambda bindings: [found for found in offered(bindings) if not found.columns])
    of_values = records(lake, *indexes)
    monkeypatch.setattr(grouped, "LEAST_BYTES", 1 << 60)
    assert of_columns == of_values == records(lake, *indexes)
    first = [None] if len(indexes) == 1 else [Grouping(("a",)), None]  # of two, the one that means the same is told by columns
    assert groupings == [*first, Grouping(), None]


def test_a_variable_of_the_session_is_no_column(lake: Lake, groupings: list[Grouping | None]) -> None:  # noqa: F811
    """What the optimizer left out is found by its name elsewhere."""
    write(lake)
    lake.spark.sql("DECLARE OR REPLACE VARIABLE e0 DOUBLE DEFAULT 5")
    try:
        lake.index(Once("if(true, a, e0) * 3"))
    finally:
        lake.spark.sql("DROP TEMPORARY VARIABLE e0")
    assert groupings == [Grouping()]


def test_rows_of_a_group_are_told_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many rows as the counts say, whatever of them fits into a batch."""
    values, counts = pa.array([7, None, 9]), np.array([2, 1, 5])
    told = ["7", "7", "None", *["9"] * 5]
    for most in (1, 2, 3, 7, 8, 100):
        monkeypatch.setattr(collect, "_ROWS", most)
        errors: dict[int, str] = {}
        every, once = collect._collect_counted([Everything("x"), Once("x")], [values, values], counts, errors, {})
        assert every is not None and once is not None
        assert (every["values"], every["rows"], sorted(once["values"]), errors) == (told, 8, ["7", "9", "None"], {})


def test_a_file_that_is_told_in_parts_is_finished_once(lake: Lake, groupings: list[Grouping | None]) -> None:  # noqa: F811
    """Several tasks have groups of one file: none of them has the whole of it."""

    class Mean(Index):
        fields = {"mean": pa.float64(), "rows": pa.int64()}

        def collect(self, *values: pa.Array) -> dict[str, Any]:
            return {"mean": float(sum(values[0].to_pylist())), "rows": len(values[0])}

        def merge(self, a: dict[str, Any], b: dict[str, Any]) -> dict[str, Any]:
            return {name: a[name] + b[name] for name in a}

        def finish(self, record: dict[str, Any]) -> dict[str, Any]:
            return {"mean": record["mean"] / record["rows"], "rows": 1}

    lake.file("0.parquet", {"x": [n % 20 for n in range(200)]})
    with settings_of(lake.spark, {"spark.sql.adaptive.enabled": "false", "spark.sql.shuffle.partitions": "4"}):
        (found, _) = records(lake, Mean("x + 1"))
    assert groupings == [Grouping(("x",))]
    assert {"mean": bits(10.5), "rows": "1"} in found.values()


def test_fields_that_rows_show(lake: Lake, groupings: list[Grouping | None]) -> None:  # noqa: F811
    """What some row of a file must have is told of its groups."""
    for i in range(2):
        rows = lake.spark.range(40).selectExpr(f"named_struct('u', id % 3 + {10 * i}, 'v', id % 2) AS o")
        lake.spark_file(f"{i}.orc", rows, "orc")
    lake.index(Prefix("to_json(o)", 7), format="orc")
    assert groupings == [Grouping()]
    lake.view(format="orc")
    lake.check("to_json(o) LIKE '{\"u\":11%'", read=["1.orc"])


@pytest.mark.parametrize("count", [1, 2])
def test_first_files_that_cannot_be_read(lake: Lake, count: int) -> None:
    """Others can, by a later commit."""
    for i in range(4):
        lake.file(f"{i}.parquet", {"x": [i]})
    table = lake.table(schema="x BIGINT")
    files = [path.rpartition("/")[2] for path in table.files()]  # in the order in which they are collected
    for name in files[:count]:
        lake.bytes(name, b"PAR1 no more PAR1")
    report = table.create_index(MinMax("x + 1"), files_per_commit=1)
    assert (report.files_collected, report.files_unreadable) == (4 - count, count)
    assert table._store.snapshot().generations.tolist() == [0, 0, 0, 0]
    lake.view(schema="x BIGINT")
    assert lake.read_by("SELECT * FROM t WHERE x + 1 = 99") == set(files[:count])


def test_where_none_can_be_read_nothing_is_written(lake: Lake) -> None:
    for name in "abc":
        lake.bytes(f"{name}.parquet", b"PAR1 no more PAR1")
    table = lake.table(schema="x INT")
    with pytest.raises(DataSkipError, match="nothing was written"):
        table.create_index(MinMax("x + 1"), files_per_commit=2)
    assert table.describe().version is None


def test_a_report_counts_the_files_of_all_commits(lake: Lake) -> None:
    for i in range(3):
        lake.lines(f"{i}.json", json.dumps({"x": i}), "{")
    report = lake.table(format="json", schema="x INT").create_index(MinMax("x"), files_per_commit=1)
    assert (report.files_refused, report.files_collected, report.rows) == (3, 3, 6)


def test_a_file_has_a_row_more_if_it_was_not_of_the_first_commit(lake: Lake) -> None:
    for i in range(5):
        lake.file(f"{i}.parquet", {"x": [i]})
    table = lake.table()
    table.create_index(MinMax("x"), files_per_commit=2)
    assert table._store.snapshot().rows == 5 + 2 + 1


def test_an_index_that_is_dropped_between_commits(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not declared again."""
    for i in range(3):
        lake.file(f"{i}.parquet", {"x": [i]})
    table, run = lake.table(), indexing.collect_files

    def collect_files(*arguments: Any) -> Any:
        if table.describe().version is not None:
            lake.table().drop_index(MinMax("x"))
        return run(*arguments)

    monkeypatch.setattr(indexing, "collect_files", collect_files)
    with pytest.raises(DataSkipError, match="dropped meanwhile"):
        table.create_index(MinMax("x"), files_per_commit=2)
    assert not table._store.snapshot().definitions


def test_files_that_come_back_between_commits(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """What one commit says of files is what the next one begins with."""
    for i in range(4):
        lake.file(f"{i}.parquet", {"x": [i]})
    table, aside, passes = lake.table(), lake.folder.parent / "aside", []
    run = indexing.collect_files

    def collect_files(*arguments: Any) -> Any:
        found = run(*arguments)
        passes.append(1)
        source, target = (lake.folder / "0.parquet", aside)[:: 1 if len(passes) % 2 else -1]
        source.rename(target)
        return found

    monkeypatch.setattr(indexing, "collect_files", collect_files)
    table.create_index(MinMax("x"), files_per_commit=1)
    assert len(passes) == 4
    assert sorted(row.x for row in table.read("snapshot").collect()) == [0, 1, 2, 3]
    last = table._store.snapshot()
    generations = dict(zip(last.keys["path"].to_pylist(), last.generations.tolist(), strict=True))
    assert generations["0.parquet"] % 2 == 0


def test_an_expression_of_a_type_that_arrow_lacks(lake: Lake) -> None:
    write(lake)
    with pytest.raises(DataSkipError, match=r"cannot be built.*CalendarInterval"):
        lake.table().create_index(Once("make_interval(0, 0, 0, a)"))
