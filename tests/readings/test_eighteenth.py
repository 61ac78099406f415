"""Rows in groups, commits of some files, records in memory, read again: what failed to build, and faults that no test noticed."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from data_skip import DataSkipError, Index, MinMax, ValueList
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
    assert groupings == [None, Grouping(), None]


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
    rows = lake.spark.range(40).selectExpr("named_struct('u', id % 3, 'v', id % 2) AS o")
    for i in range(2):
        lake.spark_file(f"{i}.orc", rows.selectExpr(f"named_struct('u', o.u + {10 * i}, 'v', o.v) AS o"), "orc")
    lake.index(MinMax("o.u + 1"), format="orc")
    assert groupings == [Grouping()]
    lake.view(format="orc")
    lake.check("o.u + 1 = 12", read=["1.orc"])


@pytest.mark.parametrize("broken", [["a", "b"], ["a", "b", "y", "z"]])
def test_first_files_that_cannot_be_read(lake: Lake, broken: list[str]) -> None:
    """Others can, by a later commit."""
    for i in range(3):
        lake.file(f"g{i}.parquet", {"x": [i]})
    for name in broken:
        lake.bytes(f"{name}.parquet", b"PAR1 no more PAR1")
    table = lake.table(schema="x BIGINT")
    report = table.create_index(MinMax("x + 1"), files_per_commit=1)
    assert (report.files_collected, report.files_unreadable) == (3, len(broken))
    generations = table._store.snapshot().generation_of()
    assert len(generations) == 3 + len(broken) and not any(generations.values())
    lake.view(schema="x BIGINT")
    assert lake.read_by("SELECT * FROM t WHERE x + 1 = 3") == {"g2.parquet", *(f"{name}.parquet" for name in broken)}


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
    generations = {file.path: generation for file, generation in table._store.snapshot().generation_of().items()}
    assert generations["0.parquet"] % 2 == 0


def test_records_that_are_let_go_while_they_are_asked_for(lake: Lake) -> None:
    """Another query of another index may do that at any moment."""
    lake.file("0.parquet", {"x": [1], "s": ["s"]})
    snapshot = lake.index(MinMax("x"), ValueList("s"))._store.snapshot()
    assert snapshot is not None

    class Going(dict):  # type: ignore[type-arg]
        def __contains__(self, column: object) -> bool:
            there = super().__contains__(column)
            snapshot.let_go(str(column))
            return there

    expected = snapshot.records(snapshot.definitions, 1 << 30)
    snapshot._records = Going(snapshot._records)
    assert snapshot.records(snapshot.definitions, 1 << 30) == expected


def test_an_expression_of_a_type_that_arrow_lacks(lake: Lake) -> None:
    write(lake)
    with pytest.raises(DataSkipError, match=r"cannot be built.*CalendarInterval"):
        lake.table().create_index(Once("make_interval(0, 0, 0, a)"))
