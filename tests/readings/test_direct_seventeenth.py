"""What pyarrow reads must be the file that was listed."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from data_skip import MinMax
from data_skip.building.file_records import Part, Wanted, records_of
from data_skip.building.plain import NotPlain
from data_skip.expression import Column


def test_a_file_of_another_time_or_size_is_another_file(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"x": [1]}), path)
    size, modified = path.stat().st_size, path.stat().st_mtime_ns // 1_000_000
    asked = Wanted([MinMax("x")], [(Column("bigint", None, ("x",)),)], {})
    assert records_of(Part(0, f"file:{path}", size, modified), asked).file is not None
    for other in (Part(0, f"file:{path}", size, modified + 1), Part(0, f"file:{path}", size + 1, modified)):
        with pytest.raises(NotPlain, match="changed"):
            records_of(other, asked)
