"""Large records of files on S3: tasks write them there, with what Hadoop has been told, into files of the index."""

from __future__ import annotations

from typing import Any

import pyarrow.parquet as pq
import pytest

from data_skip import MinMax, ValueList
from data_skip.building import chunks, indexing
from tests.object_store.table import Bucket


@pytest.mark.long
@pytest.mark.object_store
@pytest.mark.parametrize(
    ("text", "number", "rows"), [("s", "x", [3, 3, 3]), ("concat(s, '')", "x + 1", [6])], ids=["by tasks that read files", "by Spark"]
)
def test_tasks_write_files_of_the_index(bucket: Bucket, monkeypatch: pytest.MonkeyPatch, text: str, number: str, rows: list[int]) -> None:
    """Rows of files that tasks write: one is not committed as it was, and what is right in it, beside others, is written once more."""
    monkeypatch.setattr(chunks, "FIRST", 2)
    monkeypatch.setattr(chunks, "_MOST_BYTES", 2_500)
    run = indexing.collect_files

    def collect_files(*arguments: Any) -> Any:
        found = run(*arguments)
        for file in [file for file in found.values() if file.part][:1]:
            file.refused = True  # so that others of its part are read back, and written beside the parts of others
        return found

    monkeypatch.setattr(indexing, "collect_files", collect_files)
    bucket.numbers(count=8, rows=20)
    report = bucket.table().create_index(ValueList(text), MinMax(number))
    assert (report.files_collected, report.rows) == (8, 160)
    footers = [pq.read_metadata(path) for path in bucket.folder.rglob("part-*.parquet")]
    by_tasks = [footer.num_rows for footer in footers if footer.created_by.startswith("parquet-cpp-arrow")]
    assert (sorted(by_tasks), report.files_refused) == (rows, 1)
    for where in (f"{number} = 105", f"{text} = 'b110'", f"{text} = 'a5'"):
        assert bucket.check(where).scans[-1].files_read <= 2
    assert bucket.table().refresh().files_collected == 0
