from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from data_skip import Skipping
from tests.differential.planted import Small


@pytest.fixture(scope="session")
def small(spark: SparkSession, skipping: Skipping, tmp_path_factory: pytest.TempPathFactory) -> Small:
    return Small(spark, skipping, tmp_path_factory.mktemp("planted"))
