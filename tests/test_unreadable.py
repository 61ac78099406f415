"""A file that cannot be read, as an archive that is being written, does not keep the others from being indexed."""

from __future__ import annotations

import gzip
import sys
from types import ModuleType

import pytest

from data_skip import DataSkipError, MinMax
from data_skip.building import one_pass
from tests.support import Lake, settings_of

CSV = {"format": "csv", "schema": "x INT, s STRING"}


def _archive(lake: Lake, name: str, number: int, whole: bool = True) -> None:
    content = gzip.compress("".join(f"{number},{i}\n" for i in range(4_000)).encode())
    lake.bytes(name, content if whole else content[: len(content) // 2])


@pytest.mark.parametrize("ignored", ["false", "true"])
def test_a_rotation_in_progress(lake: Lake, ignored: str) -> None:
    with settings_of(lake.spark, {"spark.sql.files.ignoreCorruptFiles": ignored}):
        for number in range(5):
            _archive(lake, f"{number}.csv.gz", number, whole=number != 3)
        table = lake.table(**CSV)
        report = table.create_index(MinMax("x"))
        assert (report.files_collected, report.files_unreadable) == (4, 1)
        assert "1 file cannot be read" in str(report) and "3.csv.gz" in report.unreadable
        lake.view(**CSV)
        assert lake.read_by("SELECT * FROM t WHERE x = 1") == {"1.csv.gz", "3.csv.gz"}
        _archive(lake, "3.csv.gz", 3)
        assert table.refresh().files_collected == 1
        lake.view(**CSV)
        lake.check("x = 1", read={"1.csv.gz"})


def test_where_no_file_can_be_read_nothing_is_written(lake: Lake) -> None:
    for number in range(3):
        _archive(lake, f"{number}.csv.gz", number, whole=False)
    with pytest.raises(DataSkipError, match=r"cannot be read.*nothing was written"):
        lake.table(**CSV).create_index(MinMax("x"))
    assert lake.table(**CSV).describe().version is None


def test_an_expression_that_raises_an_error_in_one_file(lake: Lake) -> None:
    for number, text in enumerate(("1", "two", "3", "4")):
        lake.file(f"{number}.parquet", {"s": [text]})
    with settings_of(lake.spark, {"spark.sql.ansi.enabled": "true"}):
        report = lake.table().create_index(MinMax("cast(s AS INT)"))
        assert report.files_unreadable == 1 and "'two'" in report.unreadable
        assert lake.read_by(f"SELECT * FROM parquet.`{lake.folder}` WHERE cast(s AS INT) = 3") == {"1.parquet", "2.parquet"}


def test_the_file_that_an_error_names_is_read_alone_next(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(8):
        _archive(lake, f"{number} 100%.csv.gz", number, whole=number != 3)
    tries, collect = [], one_pass.collect
    monkeypatch.setattr(one_pass, "collect", lambda *args: (tries.append(1), collect(*args))[1])
    report = lake.table(**CSV).create_index(MinMax("x + 1"))
    assert (report.files_collected, report.files_unreadable) == (7, 1) and len(tries) == 4  # all, that one, and the halves of the others


@pytest.mark.long
def test_too_many_are_no_matter_of_the_files(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(one_pass, "_MOST_UNREADABLE", 2)
    for number in range(8):
        _archive(lake, f"{number}.csv.gz", number, whole=number > 4)
    with pytest.raises(DataSkipError, match="nothing was written"):
        lake.table(**CSV).create_index(MinMax("x"))


def test_a_cancelled_pass_is_not_tried_again(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(4):
        lake.file(f"{number}.parquet", {"x": [number], "s": [str(number)]})
    tries = []

    def cancelled(*_: object) -> None:
        tries.append(1)
        lake.spark.sparkContext.cancelAllJobs()
        lake.spark.sql("SELECT raise_error('[SPARK_JOB_CANCELLED] Job 1 cancelled')").collect()

    monkeypatch.setattr(one_pass, "collect", cancelled)
    with pytest.raises(DataSkipError, match="SPARK_JOB_CANCELLED"):
        lake.table().create_index(MinMax("x + 1"))
    assert len(tries) == 1


def test_workers_that_lack_a_module(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """As those of another Python lack data_skip itself: no file is at fault, and what tasks read themselves is not read by Spark then."""
    here = ModuleType("only_on_the_driver")
    here.OnlyHere = type("OnlyHere", (MinMax,), {"__module__": here.__name__, "__qualname__": "OnlyHere"})  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, here.__name__, here)
    for number in range(4):
        lake.file(f"{number}.parquet", {"x": [number]})
    tries, collect = [], one_pass.collect
    monkeypatch.setattr(one_pass, "collect", lambda *args: (tries.append(1), collect(*args)))
    with pytest.raises(DataSkipError, match=r"No module named 'only_on_the_driver'; .*PYSPARK_PYTHON=/.*nothing was written"):
        lake.table().create_index(here.OnlyHere("x + 1"))
    assert not tries
