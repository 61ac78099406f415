"""The SQL functions of log_skip, once for the session of the run."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

import log_skip


@pytest.fixture(scope="session")
def functions(spark: SparkSession) -> None:
    log_skip.register(spark)
