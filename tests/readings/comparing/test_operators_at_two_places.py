"""What goes by the order of rows and stands at two places of a plan: also where the optimizer has put it there, or no function says so."""

from __future__ import annotations

import pytest
from pyspark.sql.functions import col

from tests.readings.comparing.support import LAST, OTHER, chosen
from tests.support import Lake, rows_of, settings_of

__all__ = ["chosen"]  # fixtures
OTHERS_FIRST = {"spark.sql.files.minPartitionNum": "4"}  # by which the first row of `k = 4` is one of another file once others are skipped
BELOW = "(SELECT count(*) AS c FROM range(3) r WHERE r.id * 50000 < a.i)"
TEXTS = "SELECT DISTINCT k, if(id < 50000, 'z', 'Z') COLLATE UTF8_LCASE AS s FROM chosen"
ZEROS = "SELECT k, CAST(min(if(id < 50000, -0.0D, 0.0D)) AS STRING) AS s {} FROM chosen GROUP BY k"
FIRST = "SELECT id FROM chosen WHERE abs(k) = 4 LIMIT 1"
NUMBERED = "SELECT id, monotonically_increasing_id() AS n FROM chosen WHERE k = 4"
PARTS = "SELECT count(*) FROM (SELECT explode(array(_metadata)) AS m FROM parquet.`{}` WHERE k = 4) WHERE m.file_block_start = 0"
# What is not deterministic Spark runs once for all that ask for it.
NAMED = "WITH c AS (SELECT *, input_file_name() AS f, _metadata AS m FROM parquet.`{}` WHERE k = 4)"
NESTED = NAMED + ", e AS (SELECT *, input_file_name() AS g FROM c)"


def test_the_rows_outside_of_a_sub_query_stand_in_it_as_well(chosen: Lake) -> None:
    """Spark joins them with a copy of themselves, whose objects are the same (DecorrelateInnerQuery): a row was lost."""
    report = chosen.query(f"SELECT k, c FROM (SELECT k, {BELOW} AS c FROM ({LAST}) a) JOIN VALUES (4) AS d(k) USING (k) WHERE c > 0")
    assert report.scans and all(scan.files_read == 7 for scan in report.scans)


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT a.k FROM ({TEXTS}) a JOIN ({TEXTS}) b ON hex(a.s) = hex(b.s) AND a.k = abs(b.k) WHERE a.k = 4",
        f"SELECT a.k FROM ({ZEROS.format('')}) a JOIN ({ZEROS.format(', max(id)')}) b ON a.s = b.s AND a.k = abs(b.k) WHERE a.k = 4",
        f"SELECT id FROM ({NUMBERED}) JOIN ({FIRST}) USING (id) WHERE n = 0",
    ],
)
def test_which_of_equal_ones_stands_for_a_group_and_the_number_of_a_row(chosen: Lake, sql: str) -> None:
    with settings_of(chosen.spark, OTHERS_FIRST):
        report = chosen.query(sql)
        assert report.scans and all(scan.files_read == 7 for scan in report.scans)


def test_the_parts_of_files_in_all_of_the_metadata(chosen: Lake) -> None:
    with settings_of(chosen.spark, OTHERS_FIRST):
        assert chosen.query(PARTS.format(chosen.folder)).scans[0].files_read == 7
        names = chosen.query(f"SELECT k, _metadata.file_name FROM (SELECT *, _metadata FROM parquet.`{chosen.folder}`) WHERE k = 4")
        assert names.scans[0].files_read == 2


@pytest.mark.parametrize(
    ("sql", "read"),
    [
        ("SELECT id FROM c TABLESAMPLE (50 PERCENT) REPEATABLE (3) UNION ALL SELECT id FROM c WHERE id < 40010", 7),
        ("SELECT id, m.file_block_start FROM c UNION ALL SELECT id, 0 FROM c WHERE id < 40010", 7),
        ("SELECT id FROM c UNION ALL SELECT id FROM c WHERE id < 40010", 2),
    ],
)
@pytest.mark.parametrize("named", [NAMED, NESTED])
def test_what_stands_in_a_shared_with_is_below_all_that_ask_for_it(chosen: Lake, named: str, sql: str, read: int) -> None:
    """A sample had other rows: files were skipped for it, since no scan stood below it."""
    with settings_of(chosen.spark, OTHERS_FIRST):
        report = chosen.query(f"{named.format(chosen.folder)} {sql if named == NAMED else sql.replace('FROM c', 'FROM e')}")
        assert report.scans and all(scan.files_read == read for scan in report.scans)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT id, _metadata FROM parquet.`{}` WHERE k = 4",
        "SELECT id, m FROM (SELECT *, _metadata AS m FROM parquet.`{}`) WHERE k = 4 ORDER BY id LIMIT 5000",
        "SELECT (SELECT _metadata FROM parquet.`{}` WHERE k = 4 AND id = 40000).file_block_length",
    ],
)
def test_all_of_the_metadata_is_shown_with_the_parts_in_it(chosen: Lake, sql: str) -> None:
    """They were those into which the files that were left are cut."""
    with settings_of(chosen.spark, OTHERS_FIRST):
        report = chosen.query(sql.format(chosen.folder))
        assert report.scans and all(scan.files_read == 7 for scan in report.scans)


@pytest.mark.parametrize(
    ("sql", "read"),
    [
        ("SELECT TRANSFORM(_metadata, id) USING 'cat' AS (m, id) FROM parquet.`{0}` WHERE k = 4", [7]),
        ("SELECT TRANSFORM(_metadata.file_name, id) USING 'cat' AS (m, id) FROM parquet.`{0}` WHERE k = 4", [2]),
        ("SELECT CAST(NULL AS {1}) AS m FROM parquet.`{0}` WHERE k = 5 UNION ALL SELECT _metadata FROM parquet.`{0}` WHERE k = 4", [1, 7]),
    ],
)
def test_all_of_the_metadata_is_taken_by_no_expression(chosen: Lake, sql: str, read: list[int]) -> None:
    """A script is given all columns below it, and a union has columns by their places: parts were those of the files that were left."""
    (metadata,) = chosen.spark.sql(f"SELECT _metadata FROM parquet.`{chosen.folder}`").schema
    with settings_of(chosen.spark, OTHERS_FIRST):
        report = chosen.query(sql.format(chosen.folder, metadata.dataType.simpleString()))
        assert sorted(scan.files_read for scan in report.scans) == read


def test_all_of_the_metadata_under_another_name_with_metadata_of_its_own(chosen: Lake) -> None:
    """By that Spark tells `_metadata` from other columns."""
    frame = chosen.spark.read.parquet(str(chosen.folder)).where("k = 4")
    with settings_of(chosen.spark, OTHERS_FIRST):
        with chosen.skipping.disabled():
            expected = rows_of(frame.select("id", "_metadata"))
        assert rows_of(frame.select("id", col("_metadata").alias("_metadata", metadata={"comment": "whence"}))) == expected
        assert [scan.files_read for scan in chosen.skipping.report().scans] == [7]


def test_what_is_only_shown_is_not_compared(chosen: Lake) -> None:
    report = chosen.query(f"SELECT a.k, a.i, b.i FROM ({LAST}) a JOIN ({OTHER}) b ON a.k = abs(b.k) WHERE a.k = 5 ORDER BY 2 LIMIT 10")
    assert min(scan.files_read for scan in report.scans) == 1
