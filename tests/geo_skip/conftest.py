"""Two sessions in one JVM: one with Sedona's functions, one without."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession

import data_skip
import geo_skip
from tests.support import Lake


@pytest.fixture(scope="session")
def with_sedona(spark: SparkSession) -> SparkSession:
    if not pyspark.__version__.startswith("4.0."):
        # Seen on 4.3.0. In Python: cannot import name 'ArrowStreamPandasSerializer' from 'pyspark.sql.pandas.serializers'.
        # In the JVM: NoClassDefFoundError: org/apache/spark/sql/catalyst/expressions/FoldableUnevaluable.
        pytest.skip(f"Sedona 1.8.0, for Spark 4.0, neither imports nor registers its functions on pyspark {pyspark.__version__}")
    from sedona.spark import SedonaContext

    session = spark.newSession()
    SedonaContext.create(session)
    geo_skip.register(session)
    return session


@pytest.fixture(scope="session")
def without_sedona(spark: SparkSession) -> SparkSession:
    session = spark.newSession()
    geo_skip.register(session)
    return session


@pytest.fixture
def sedona(with_sedona: SparkSession, tmp_path: Path) -> Iterator[Lake]:
    """An empty folder for a table, queried with Sedona's functions."""
    yield Lake(with_sedona, data_skip.enable(with_sedona), tmp_path / "table")
    with_sedona.catalog.dropTempView("t")


@pytest.fixture
def plain(without_sedona: SparkSession, tmp_path: Path) -> Iterator[Lake]:
    """An empty folder for a table, in a session that has no functions but those of `geo_skip.register`."""
    yield Lake(without_sedona, data_skip.enable(without_sedona), tmp_path / "table")
    without_sedona.catalog.dropTempView("t")
