"""The README's promise in small: same rows, fewer files."""

from __future__ import annotations

from data_skip import MinMax, Suffix
from tests.support import Lake


def test_skips_files_of_a_range_and_a_suffix(lake: Lake) -> None:
    lake.file("cold.parquet", {"temp": [10.0, 20.0], "city": ["Oslo", "Turku"]})
    lake.file("hot.parquet", {"temp": [99.0, 104.0], "city": ["Jaipur", "Nagpur"]})
    lake.file("warm.parquet", {"temp": [30.0, None], "city": ["Raipur", "Rome"]})
    lake.index(MinMax("temp"), Suffix("city", 4))
    lake.view()
    lake.check("temp > 101", read=["hot.parquet"])
    lake.check("city LIKE '%pur'", read=["hot.parquet", "warm.parquet"])
    lake.check("temp > 25 AND city LIKE '%pur'", read=["hot.parquet", "warm.parquet"])
    lake.check("temp IS NULL", read=["warm.parquet"])
    lake.check("NOT (temp < 99)", read=["hot.parquet"])
