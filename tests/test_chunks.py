"""How many files are indexed at a time: as many as leave the records that the driver holds small."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from data_skip import MinMax, ValueList
from data_skip.building import chunks
from data_skip.building.chunks import Chunks
from data_skip.building.task_parts import TaskParts
from tests.support import Lake

SMALL, LARGE = pa.struct([("min", pa.int64()), ("max", pa.date32())]), pa.struct([("values", pa.list_(pa.int64()))])


def taken(files: int, most: int, record: pa.DataType, bytes_a_file: int) -> list[int]:
    found, sizes = Chunks(np.ones(files, dtype=bool), most, [SMALL, record]), [0]
    while found.are_more:
        sizes.append(len(found.take()))
        found.held(sizes[-1], sizes[-1] * bytes_a_file)
    return sizes[1:]


@pytest.mark.parametrize(
    ("files", "most", "record", "bytes_a_file", "sizes"),
    [
        (5, 100, LARGE, 1, [5]),
        (1_000, 100_000, SMALL, 20, [1_000]),
        (250_000, 100_000, SMALL, 20, [100_000, 100_000, 50_000]),
        (200_000, 100_000, LARGE, 100, [64, 4_096, 100_000, 95_840]),
        (1_000, 100_000, LARGE, 1 << 20, [*[64] * 15, 40]),
        (264, 100, LARGE, 0, [64, 100, 100]),
        (66, 100_000, LARGE, 1 << 30, [64, 1, 1]),
    ],
)
def test_how_many_files_there_are_at_a_time(files: int, most: int, record: pa.DataType, bytes_a_file: int, sizes: list[int]) -> None:
    assert taken(files, most, record, bytes_a_file) == sizes


def test_large_records_are_committed_some_at_a_time(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a thousand files with ten thousand texts each the driver held three gigabytes; of more, Spark refuses what tasks give back."""
    monkeypatch.setattr(chunks, "FIRST", 2)
    monkeypatch.setattr(chunks, "_MOST_BYTES", 2_500)
    monkeypatch.setattr(TaskParts, "on", lambda *_: None)  # where tasks do not write them
    for i in range(7):
        lake.file(f"{i}.parquet", {"s": [f"a long text {i} {j}" for j in range(50)], "x": [i] * 50})
    table = lake.index(MinMax("x"))
    assert table.describe().version == 1
    report = table.create_index(ValueList("s"))
    assert (report.files_collected, report.rows) == (7, 350)
    assert len(table.history()) == 2 + 4, "2, 2, 2 and 1 files"
    lake.check("s = 'a long text 5 7'", read=["5.parquet"])
    lake.check("x = 6", read=["6.parquet"])
    lake.file("7.parquet", {"s": ["new"], "x": [7]})
    assert table.refresh().files_collected == 1
    lake.view()
    lake.check("s = 'new'", read=["7.parquet"])
