"""What the suites of this folder share: a lake of small files, and a table of predicates with the files that each must read.

Each module is named for the system whose test suite it takes its cases from, told anew: the data of some files, a predicate, and which of
the files may be skipped. A row of a table: the predicate; the files that hold a row for which it is true, as Spark itself must agree; the
files that are read besides, mostly none; and why these are kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from data_skip import Index
from tests.differential.truth import Truth, kept_files
from tests.support import Lake

ROW = "row"  # a column that numbers the rows of a suite
Case = tuple[str, str] | tuple[str, str, str, str]
Rows = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Suite:
    """A lake and a DataFrame of it."""

    lake: Lake
    frame: DataFrame


def write(lake: Lake, files: Mapping[str, Rows], columns: Mapping[str, pa.DataType], *indexes: Index) -> Suite:
    """Writes one Parquet file for each name, without the columns that none of its rows has, and indexes them."""
    number = 0
    for name, rows in files.items():
        present = {key: type_ for key, type_ in columns.items() if any(key in row for row in rows)}
        table = pa.Table.from_pylist([dict(row) for row in rows], pa.schema(list(present.items())))
        lake.file(f"{name}.parquet", table.append_column(ROW, pa.array(range(number, number + len(rows)), pa.int64())))
        number += len(rows)
    lake.index(*indexes, options={"mergeSchema": "true"})
    return Suite(lake, lake.spark.read.option("mergeSchema", "true").parquet(str(lake.folder)))


def check(suite: Suite, cases: Sequence[Case]) -> None:
    """Each predicate reads exactly the files that its row of the table says, and gives the rows that plain Spark gives."""
    truth = Truth(suite.lake.skipping, suite.frame)
    wrong = []
    for case, holding in zip(cases, truth.matching([case[0] for case in cases]), strict=True):
        where, told, besides = case[0], _names(case[1]), _names(case[2]) if len(case) == 4 else set()
        read = _read(suite, where)
        if holding is None or _stems(holding) != told or read != told | besides or told & besides:
            wrong.append(
                f"{where}\n  true in {_told(_stems(holding or set()))}\n  reads   {_told(read)}\n  expected {_told(told | besides)}"
            )
    assert not wrong, "\n".join(wrong)
    _rows_are_equal(suite.frame, truth, [case[0] for case in cases])


def _read(suite: Suite, where: str) -> set[str]:
    planned = kept_files(suite.lake.skipping, suite.frame, where)
    return _stems(planned[0] if planned else {path.rsplit("/", 1)[-1] for path in suite.frame.where(where).inputFiles()})


def _rows_are_equal(frame: DataFrame, truth: Truth, predicates: Sequence[str]) -> None:
    """Runs all predicates with skipping, in one query."""
    got = Counter()
    parts = [frame.where(where).select(F.lit(i).alias("case"), ROW) for i, where in enumerate(predicates)]
    whole = parts[0]
    for part in parts[1:]:
        whole = whole.unionAll(part)
    got.update((row[0], row[1]) for row in whole.collect())
    columns = [F.expr(where).alias(f"p{i}") for i, where in enumerate(predicates)]
    expected = Counter((i - 1, row[0]) for row in truth.rows.select(ROW, *columns).collect() for i in range(1, len(row)) if row[i])
    assert got == expected, (
        f"skipping changed the rows of {[predicates[i] for i in {case for case, _ in (got - expected) + (expected - got)}]}"
    )


def _stems(files: set[str]) -> set[str]:
    return {file.removesuffix(".parquet") for file in files}


def _names(text: str) -> set[str]:
    return set(text.split())


def _told(names: set[str]) -> str:
    return " ".join(sorted(names)) or "no file"
