"""MaxLength skips no file that holds a matching row, and skips some."""

import os
import time

import data_skip
import pyarrow as pa
import pyarrow.parquet as pq
from data_skip.testing import check_index, check_plugin

import max_length

CITIES = ["", "Oslo", None, "\U0001f600" * 9, "Llanfairpwllgwyngyll", "Rome"]
PREDICATES = ["length(city) > 8", "NOT (length(city) > 8)", "length(city) > 3 OR city IS NULL"]


def test_rows_that_are_hard_for_it(spark):
    checked = check_index(max_length.MaxLength("city"), [{"city": city} for city in CITIES], PREDICATES, spark)
    assert checked.skipped["length(city) > 8"]


def test_rows_and_predicates_that_are_drawn(spark):
    # indexes=[...]: of a class that takes more than a column; predicates=[...]: those that it does not think of
    checked = check_plugin(max_length, spark=spark)
    assert not checked.idle and not checked.unasked, checked


def test_a_query_skips_files(spark, tmp_path):
    for number, cities in enumerate([["Oslo", "Rome"], ["Oslo", "Llanfairpwllgwyngyll"]]):
        path = tmp_path / f"{number}.parquet"
        pq.write_table(pa.table({"city": cities}), path)
        os.utime(path, (time.time() - 3600,) * 2)  # a file of this moment may still change, and is read
    skipping = data_skip.enable(spark)
    skipping.table(str(tmp_path)).create_index(max_length.MaxLength("city"))
    spark.read.parquet(str(tmp_path)).createOrReplaceTempView("cities")

    rows = spark.sql("SELECT city FROM cities WHERE length(city) > 8").collect()

    assert [row.city for row in rows] == ["Llanfairpwllgwyngyll"]
    assert skipping.report().scans[-1].files_read == 1
