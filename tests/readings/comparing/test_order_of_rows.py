"""What goes by the order of rows, or by how files are cut: two parts of one query that compare it have to read the same files.

Spark cuts files by how much it reads in all (`FilePartition.maxSplitBytes`): once others are skipped, a file is cut that was whole."""

from __future__ import annotations

import pyarrow.parquet as pq
import pytest

from tests.readings.comparing.support import NUMBERED, SUMS, ordered, write
from tests.support import Lake, aged, settings_of

__all__ = ["ordered"]  # fixtures
LAST = "SELECT k, last(id) AS i FROM ordered GROUP BY k"


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT a.k FROM ({SUMS}) a JOIN ({SUMS}) b ON a.s = b.s WHERE a.k = 5",
        f"SELECT a.s = b.s FROM ({SUMS}) a JOIN (SELECT k, sum(x) AS s, max(id) FROM ordered GROUP BY k) b ON a.k = abs(b.k) WHERE a.k = 5",
        f"SELECT a.id FROM ({NUMBERED}) a JOIN ({NUMBERED}) b ON a.id = b.id WHERE a.k = 4 AND a.n = 2 AND b.n = 2",
        f"SELECT a.k FROM ({LAST}) a JOIN ({LAST}) b ON a.i = b.i WHERE a.k = 4",
        f"SELECT a.k, c.x FROM (({SUMS}) a JOIN (SELECT k, sum(x) AS s, max(id) FROM ordered GROUP BY k) b ON a.k = abs(b.k))"
        " LEFT JOIN (SELECT id * 1.5D AS x FROM range(1000)) c ON a.s > c.x AND c.x >= b.s WHERE a.k = 5",
    ],
)
def test_what_goes_by_the_order_is_compared(ordered: Lake, sql: str) -> None:
    report = ordered.query(sql)
    assert all(scan.files_read == 7 for scan in report.scans)
    assert any("goes by the order of rows" in note for scan in report.scans for note in scan.notes)


def test_with_what_is_cached(ordered: Lake) -> None:
    sums = ordered.spark.sql(SUMS).cache()
    try:
        sums.count()
        sums.createOrReplaceTempView("sums")
        ordered.query("SELECT a.k FROM (SELECT k, sum(x) AS s, max(id) FROM ordered GROUP BY k) a JOIN sums ON a.s = sums.s WHERE a.k = 5")
    finally:
        sums.unpersist()


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT a.k FROM ({SUMS}) a JOIN ({SUMS}) b ON b.s > a.s * 0.1 WHERE a.k > 4 AND b.k < 1",
        f"SELECT k FROM ({SUMS} HAVING k = 5) WHERE s = (SELECT max(s) FROM ({SUMS} HAVING k = 5))",
        f"SELECT a.k FROM ({NUMBERED}) a JOIN ({NUMBERED}) b ON a.k = b.k WHERE a.k = 5 AND a.n = 1 AND b.n = 1",
    ],
)
def test_files_are_skipped_where_it_is_not_or_of_the_same_or_of_others(ordered: Lake, sql: str) -> None:
    report = ordered.query(sql)
    assert report.scans and all(scan.files_read == 1 for scan in report.scans)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM {t} WHERE k = 5 AND _metadata.file_block_start = 0",
        "SELECT count(*) FROM (SELECT id, _metadata.file_block_length AS n FROM {t} WHERE k = 5) a JOIN"
        " (SELECT k, id, _metadata.file_block_length AS n FROM {t}) b ON a.id = b.id AND a.n = b.n",
        "SELECT count(*) FROM (SELECT id, spark_partition_id() AS n FROM ordered WHERE k = 5) a JOIN"
        " (SELECT k, id, shiftright(monotonically_increasing_id(), 33) AS n FROM ordered) b ON a.id = b.id AND a.n = b.n",
    ],
)
def test_parts_of_files(ordered: Lake, sql: str) -> None:
    assert ordered.query(sql.format(t=f"parquet.`{ordered.folder}`")).scans[0].files_read == 7


def test_more_rows_of_a_corrupt_file(ordered: Lake) -> None:
    """Spark leaves out the rest of a part: of smaller ones, those behind what is damaged are read."""
    corrupt = write(ordered.folder / "corrupt.parquet", 42, 2000, 200000)
    column = pq.ParquetFile(corrupt).metadata.row_group(1).column(1)
    content = bytearray(corrupt.read_bytes())
    content[column.data_page_offset : column.data_page_offset + column.total_compressed_size] = b"\xff" * column.total_compressed_size
    corrupt.write_bytes(bytes(content))
    aged(corrupt)
    sql = f"SELECT count(id) FROM parquet.`{ordered.folder}` WHERE k = 42"
    try:
        with settings_of(ordered.spark, {"spark.sql.files.ignoreCorruptFiles": "true"}):
            assert any("may be corrupt" in note for note in ordered.query(sql).scans[0].notes)
            with settings_of(ordered.spark, {"spark.sql.files.minPartitionNum": "1"}):  # of which it makes no other parts
                assert ordered.query(sql).scans[0].files_read == 1
    finally:
        corrupt.unlink()
