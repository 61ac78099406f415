"""Text once more: what another reading of every claim about it found."""

from __future__ import annotations

import pandas as pd
from pyspark.sql import SparkSession

import log_skip
from log_skip import Formatted
from log_skip.extractors import Distinct
from tests.support import Lake

FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:120.0) Gecko/20100101 Firefox/120.0"
HIDDEN = "Mozilla/5.0\0" + FIREFOX


def test_pandas_ends_a_string_at_a_zero_byte() -> None:
    """To its tables 'a' and 'a\\0b' are one string: what the first of a batch gave, the others gave too."""
    cut = HIDDEN.split("\0")[0]
    assert list(Distinct(len)(pd.Series([cut, HIDDEN, f"{cut}\0"]))) == [len(cut), len(HIDDEN), len(cut) + 1]


def test_a_zero_byte_does_not_end_a_user_agent(lake: Lake, spark: SparkSession) -> None:
    """The batches of a query are others than those that were indexed."""
    log_skip.register(spark)
    lake.file("a.parquet", {"agent": [HIDDEN.split("\0")[0], HIDDEN], "x": [1, 2]})
    lake.file("b.parquet", {"agent": ["curl/7.1"], "x": [2]})
    lake.index(Formatted("agent", "get_agent_name"))
    lake.check("x = 2 AND get_agent_name(agent) = 'Firefox'", read=["a.parquet"])
