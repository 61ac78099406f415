"""Of a VARIANT the scan gives what the query takes, as a struct with fields 0, 1, ...: so Spark's optimizer has it since 4.1."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from data_skip import MinMax, Skipping, ValueList
from tests.support import Lake, settings_of

A, B = "variant_get(v, '$.a', 'int')", "variant_get(v, '$.b', 'int')"


@pytest.fixture(scope="module", params=["true", "false"])
def variants(
    request: pytest.FixtureRequest, spark: SparkSession, skipping: Skipping, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Lake]:
    """A row a file: v = {"a": i, "b": 3 - i}; i where the file is made, and in another struct s.v the same."""
    lake = Lake(spark, skipping, tmp_path_factory.mktemp("variants") / request.param)
    for i in range(4):
        lake.spark_file(
            f"{i}.parquet",
            spark.sql(f"""SELECT {i} AS x, v, struct({i} AS i, v) AS s FROM (SELECT parse_json('{{"a": {i}, "b": {3 - i}}}') v)"""),
        )
    with settings_of(spark, {"spark.sql.variant.pushVariantIntoScan": request.param}):
        lake.index(
            ValueList(A), ValueList(B), MinMax("variant_get(s.v, '$.a', 'int')"), ValueList("v IS NULL"), ValueList("CAST(v AS STRING)")
        )
        yield lake
    spark.catalog.dropTempView("t")


@pytest.mark.parametrize(
    ("sql", "read"),
    [
        (f"SELECT x FROM t WHERE {A} = 1", "1"),
        (f"SELECT x FROM t WHERE {B} = 1", "2"),
        (f"SELECT x, {A}, {B} FROM t WHERE {B} = 1", "2"),
        (f"SELECT x, {A}, to_json(v) FROM t WHERE {B} > 1 AND {A} > 0", "1"),
        ("SELECT x, s.i, variant_get(v, '$.c') FROM t WHERE variant_get(s.v, '$.a', 'int') > 2", "3"),
        ("SELECT x FROM t WHERE variant_get(v, '$.b', 'long') = 1", "0123"),
        ("SELECT x FROM t WHERE variant_get(v, '$.b', 'int') = 1 OR x = 0", "0123"),
        ('SELECT x FROM t WHERE CAST(v AS STRING) = \'{"a":1,"b":2}\'', "1"),
        ("SELECT x FROM t WHERE v IS NULL", ""),
        (f"SELECT x FROM t JOIN (SELECT id FROM range(2) WHERE id > 0) ON id = {B}", "2"),
    ],
)
def test_a_part_of_a_variant_is_what_the_user_takes(variants: Lake, sql: str, read: str) -> None:
    """v.0 of an index is not v.0 of a query: of two parts one index could be made, and none was used."""
    variants.view()
    report = variants.query(sql)
    assert report.scans[-1].files_read == len(read), report
