"""The Spark of the tests."""

import os
import sys

import data_skip
import pytest
from pyspark.sql import SparkSession


def session():
    """A small Spark on this machine, whose workers run this Python."""
    data_skip.ensure_java()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    return SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()


@pytest.fixture(scope="session")
def spark():
    """The session of all tests."""
    started = session()
    yield started
    started.stop()
