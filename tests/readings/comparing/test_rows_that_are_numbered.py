"""Rows that are numbered, or drawn, twice in one query fit each other only where both parts of it read the same files."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest

from data_skip import MinMax
from tests.support import Lake, settings_of

JOINED = "SELECT /*+ BROADCAST(s) */ t.*, {} AS n FROM t JOIN small s ON t.k = s.k"
WIDE = [f"w{i}" for i in range(40)]
# A file a task; and what is read of the one scan is worth it that the small side is run first, of the other not.
SETTINGS = {
    "spark.sql.files.maxPartitionBytes": "40000",
    "spark.sql.files.openCostInBytes": "40000",
    "spark.data_skip.join.leastBytes": "1300000",
}


@pytest.fixture
def rows(lake: Lake) -> Iterator[Lake]:
    """`t`: files that each hold one `k`, the last of them in the last partition; `small`: its `k`."""
    small = Lake(lake.spark, lake.skipping, lake.folder.parent / "small")
    small.file("0.parquet", {"k": pa.array([4], pa.int32())})
    for i in range(5):
        numbers = [(i * 997 + j) * 2654435761 % 2**63 for j in range(100 - i)]
        lake.file(f"{i}.parquet", {"id": numbers, "k": pa.array([i] * (100 - i), pa.int32())} | {name: numbers for name in WIDE})
    lake.index(MinMax("k"))
    lake.view()
    small.view("small")
    yield lake
    lake.spark.catalog.dropTempView("small")


@pytest.mark.parametrize("numbered", ["monotonically_increasing_id()", "rand(7)"])
def test_a_join_on_the_numbers_of_rows(rows: Lake, numbered: str) -> None:
    joined = JOINED.format(numbered)
    sql = f"SELECT l.*, r.k FROM (SELECT id, n, {', '.join(WIDE)} FROM ({joined})) l JOIN (SELECT k, n FROM ({joined})) r ON l.n = r.n"
    with settings_of(rows.spark, SETTINGS):
        report = rows.query(sql)
        assert all("stands twice" in str(scan.notes) for scan in report.scans)


def test_what_numbers_rows_once_is_no_reason(rows: Lake) -> None:
    for sql in (
        "SELECT *, rand(7) FROM t WHERE k = 4 UNION ALL SELECT *, rand(8) FROM t WHERE k = 3",
        "SELECT *, rand(7) AS n FROM t WHERE k = 4 ORDER BY n",
    ):
        with rows.skipping.disabled():
            expected = {row.id for row in rows.spark.sql(sql).collect()}
        assert {row.id for row in rows.spark.sql(sql).collect()} == expected
        assert all(scan.files_read == 1 for scan in rows.skipping.report().scans)
