"""The small side of a join is run for its keys alone: by text readers, fewer columns make other rows."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from data_skip import MinMax, Skipping
from tests.support import Lake

TEXTS = {"csv": "55,abc\n55,1\n73,2\n", "json": '{"a":55,"b":"abc"}\n{"a":55,"b":1}\n{"a":73,"b":2}\n'}
SCHEMA = "a BIGINT, b INT"


@pytest.fixture(scope="module")
def numbers(spark: SparkSession, skipping: Skipping, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    """Ten numbers a file, x from 0 to 79; and small texts of CSV and JSON, each with a record that is malformed in b."""
    folder = tmp_path_factory.mktemp("text_of_small_sides")
    lake = Lake(spark, skipping, folder / "numbers")
    for i in range(8):
        lake.file(f"{i}.parquet", {"x": list(range(10 * i, 10 * i + 10)), "pad": [f"{j * j * j:09}" for j in range(i, i + 10)]})
    lake.index(MinMax("x"))
    lake.view("numbers")
    for format_, text in TEXTS.items():
        path = folder / f"small.{format_}"
        path.write_text(text)
        reader = spark.read.format(format_)
        reader.schema(SCHEMA).load(str(path)).createOrReplaceTempView(f"plain_{format_}")
        reader.schema(f"{SCHEMA}, _corrupt_record STRING").load(str(path)).createOrReplaceTempView(f"marked_{format_}")
        reader.schema(f"{SCHEMA}, odd STRING").option("columnNameOfCorruptRecord", "odd").load(str(path)).createOrReplaceTempView(
            f"named_{format_}"
        )
        reader.schema(SCHEMA).option("mode", "dropMalformed").load(str(path)).createOrReplaceTempView(f"dropped_{format_}")
    yield lake
    for view in ("numbers", *(f"{kind}_{format_}" for kind in ("plain", "marked", "named", "dropped") for format_ in TEXTS)):
        spark.catalog.dropTempView(view)


@pytest.mark.parametrize("format_", TEXTS)
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT x, b FROM numbers JOIN marked_{0} ON x = a WHERE _corrupt_record IS NOT NULL",
        "SELECT x, b FROM numbers JOIN named_{0} ON x = a AND odd LIKE '%abc%'",
        "SELECT x, m FROM numbers JOIN (SELECT a, max(b) AS m FROM dropped_{0} GROUP BY a HAVING count(*) < 2) ON x = a",
    ],
)
def test_which_records_are_malformed_depends_on_the_columns_that_are_read(numbers: Lake, sql: str, format_: str) -> None:
    """b was not read for the keys: no record was malformed, and the keys of those that are were missing."""
    notes = [note for scan in numbers.query(sql.format(format_)).scans for note in scan.notes]
    assert any("is not used" in note and "malformed" in note for note in notes), notes


@pytest.mark.parametrize("format_", TEXTS)
def test_other_texts_are_run_first(numbers: Lake, format_: str) -> None:
    """Without a column of malformed records, each value is what it is; and a sub-query reads the same columns both times."""
    scans = numbers.query(f"SELECT x, b FROM numbers JOIN plain_{format_} ON x = a").scans  # in the order in which Spark lists them
    assert [scan.files_read for scan in scans if scan.table.endswith("numbers")] == [2]
    sql = f"SELECT x FROM numbers WHERE x >= (SELECT max(a) FROM named_{format_} WHERE odd IS NULL OR b IS NULL)"
    assert numbers.query(sql).scans[-1].files_read == 1
