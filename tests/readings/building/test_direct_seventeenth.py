"""What pyarrow reads must be the file that was listed."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from data_skip import MinMax
from data_skip.building import one_pass
from data_skip.building.file_records import Wanted, records_of
from data_skip.building.lifting import Part
from data_skip.expression import Column
from tests.support import Lake


def test_a_file_of_another_time_or_size_is_another_file(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"x": [1]}), path)
    size, modified = path.stat().st_size, path.stat().st_mtime_ns // 1_000_000
    asked = Wanted([MinMax("x")], [(Column("bigint", None, ("x",)),)], {})
    assert records_of(Part(0, f"file:{path}", size, modified), asked).file is not None
    for other in (Part(0, f"file:{path}", size, modified + 1), Part(0, f"file:{path}", size + 1, modified)):
        with pytest.raises(OSError, match="changed"):
            records_of(other, asked)


def test_also_where_its_footer_is_enough(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """The driver took the footer of whatever lay there: of a file that was put back, time and all, before the table was listed again."""
    path, other = lake.file("a.parquet", {"x": [1, 2, 3]}), lake.folder.parent / "other.parquet"
    kept = lake.folder.parent / "kept.parquet"
    pq.write_table(pa.table({"x": [100, 200]}), other)
    shutil.copy2(path, kept)
    lift = one_pass.lift

    def late(*args: Any) -> Any:
        shutil.copy2(other, path)
        found = lift(*args)
        shutil.copy2(kept, path)
        return found

    monkeypatch.setattr(one_pass, "lift", late)
    assert lake.table().create_index(MinMax("x")).rows == 3  # by a task
    lake.view()
    lake.check("x = 2", read=["a.parquet"])
