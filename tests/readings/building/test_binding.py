"""What the user gives, or a sample chooses, is what the records are made of: it is not rounded, and one bad file spoils nothing."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.types import DoubleType

from data_skip import DataSkipError, Index, MetricDistance, MinMax, Prefix, Suffix, ValueList, versioned
from data_skip.sample import Sample
from tests.support import Lake


def test_an_origin_is_not_rounded_to_the_type_of_its_column(lake: Lake) -> None:
    lake.spark.udf.register("apart", versioned(lambda a, b: None if a is None or b is None else abs(float(a) - float(b)), 1), DoubleType())
    lake.file("a.parquet", {"n": pa.array([1, 2], pa.int32()), "x": pa.array([0.1, 1], pa.float32()), "s": ["1", "2"]})
    lake.file("b.parquet", {"n": pa.array([40, 50], pa.int32()), "x": pa.array([7, 8], pa.float32()), "s": ["a", None]})
    for column, origin in {"n": 2.5, "x": 0.1}.items():
        with pytest.raises(DataSkipError, match=r"the origin .* is no value of type"):
            lake.index(MetricDistance(column, origin=origin, metric="apart"))
    with pytest.raises(DataSkipError, match="no value of type string"):
        lake.index(MetricDistance("s", origin=1))
    with pytest.raises(DataSkipError, match="no value of type int"):
        lake.index(MetricDistance("n", origin=1 << 40, metric="apart"))
    lake.index(MetricDistance("n", origin=2, metric="apart"), MetricDistance("cast(n AS double)", origin=2.5, metric="apart"))
    lake.check("apart(n, 2.5D) <= 0.5", read=["a.parquet"])
    lake.check("apart(cast(n AS double), 2.5D) <= 0.5", read=["a.parquet"])


@pytest.mark.parametrize("index", [Prefix("value"), Suffix("value"), MetricDistance("value")], ids=str)
def test_a_file_with_other_text_is_merely_unknown(lake: Lake, index: Index) -> None:
    latin = pa.Array.from_buffers(pa.string(), 2, pa.array([b"caf\xe9", b"zz"], pa.binary()).buffers())
    lake.file("a.parquet", {"value": ["abc", "abd"], "n": [1, 2]})
    lake.file("b.parquet", {"value": ["xyzxyz", "xywxyw"], "n": [3, 4]})
    lake.file("c.parquet", {"value": latin, "n": [5, 6]})
    lake.index(index, MinMax("n"))
    where = "levenshtein(value, 'abc') <= 1" if isinstance(index, MetricDistance) else "value = 'abc'"
    assert lake.reads(where, "n = 1") == [{"a.parquet", "c.parquet"}, {"a.parquet"}]


class _Unfit(Index):
    def __init__(self, expression: str, size: int | None = None) -> None:
        super().__init__(expression, size=size)

    def fitted(self, sample: Sample) -> Index:
        raise ZeroDivisionError(str(sample.files))


def test_an_index_that_cannot_choose_says_so(lake: Lake) -> None:
    lake.file("a.parquet", {"n": [1, 2]})
    with pytest.raises(DataSkipError, match=r"_Unfit\(n\) cannot choose its open parameters .* ZeroDivisionError: 1; give them"):
        lake.index(_Unfit("n"))


def test_dates_of_timestamps_where_sql_means_local_ones(lake: Lake) -> None:
    hour, day = 3_600_000_000, 24 * 3_600_000_000
    for i, name in enumerate("abc"):
        moments: Any = [(19723 + i) * day + h * hour for h in (6, 12, 23, 26)]
        lake.file(f"{name}.parquet", {"t": pa.array(moments, pa.timestamp("us", "UTC")), "n": pa.array(moments, pa.timestamp("us"))})
    settings = {"spark.sql.session.timeZone": "America/New_York", "spark.sql.timestampType": "TIMESTAMP_NTZ"}
    before = {name: lake.spark.conf.get(name) for name in settings}
    try:
        for name, value in settings.items():
            lake.spark.conf.set(name, value)
        lake.index(MinMax("cast(t AS date)"), ValueList("cast(n AS date)"))
        times = ("2024-01-01 20:00:00", "2024-01-02 03:00:00", "2024-01-02 21:00:00")
        wheres = [
            f"{c} {op} timestamp_{kind}'{time}'" for time in times for c, kind in (("t", "ltz"), ("n", "ntz")) for op in ("=", "<", ">=")
        ]
        read = lake.reads(*wheres, "cast(t AS date) = date'2024-01-02'")
        assert read[-1] == {"b.parquet"}
        assert any(len(files) < 3 for files in read)
    finally:
        for name, value in before.items():
            lake.spark.conf.set(name, value)
