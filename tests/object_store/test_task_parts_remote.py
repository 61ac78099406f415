"""Large records of files on S3: tasks write them there, with what Hadoop has been told, into files of the index; how it is rewritten."""

from __future__ import annotations

from typing import Any

import pyarrow.parquet as pq
import pytest

from data_skip import MinMax, ValueList, upkeep
from data_skip.building import chunks, indexing
from data_skip.store import parts, rewriting
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


@pytest.mark.long
@pytest.mark.object_store
def test_an_index_is_rewritten_some_rows_at_a_time_and_its_small_files_put_together(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What deltalake writes from a thread of its own is read from there meanwhile."""
    monkeypatch.setattr(upkeep, "_MOST_PARTS", 3)
    monkeypatch.setattr(rewriting, "_AT_ONCE", 0)
    monkeypatch.setattr(rewriting, "_SOME", 2)
    monkeypatch.setattr(parts, "LEAST_PART", 0)
    bucket.numbers(count=4, rows=20)
    indexed = bucket.table()
    indexed.create_index(MinMax("x"), ValueList("s"))
    for i in range(4, 8):
        bucket.file(f"{i}.parquet", {"x": range(20 * i, 20 * i + 20), "s": [f"s{i}"] * 20})
        indexed.refresh()
    snapshot = indexed._store.snapshot()
    assert "compacted" in [step.action for step in indexed.history()] and snapshot is not None and len(snapshot.parts) < 5
    before = indexed.records().sort_by("path")
    indexed.compact()
    assert indexed.records().sort_by("path") == before and len(before) == 8
    indexed.drop_index(ValueList("s"))
    assert bucket.check("x = 105").scans[-1].files_read <= 2
