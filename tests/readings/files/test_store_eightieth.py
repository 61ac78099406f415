"""How an index is kept and trusted, read once more: each test is a recipe by which rows were others than by a listing."""

from __future__ import annotations

from data_skip import MinMax
from tests.support import Lake, rows_of, settings_of

AT_ONCE = {"spark.sql.sources.useListFilesFileSystemList": "file"}  # as S3A is by default


def test_folders_of_a_store_that_is_listed_at_once(lake: Lake) -> None:
    """Spark then looks at whole paths, and leaves out other ones than where it lists folder by folder."""
    for number, folder in enumerate(("k=a", "k=b._COPYING_", "k=c")):
        lake.file(f"{folder}/f.parquet", {"x": [number]})
    with settings_of(lake.spark, AT_ONCE):
        table = lake.index(MinMax("x"))
        snapshot, listing = table.read("snapshot"), lake.view()
        for where, count in (("x >= 0", 3), ("x = 1", 1), ("x <> 1", 2), ("k = 'b._COPYING_'", 1)):
            assert rows_of(snapshot.where(where)) == rows_of(listing.where(where))
            assert snapshot.where(where).count() == count
        assert snapshot.where("x = 1").count() == 1
        read = lake.skipping.report().scans[-1]
        assert (read.files_read, read.files_total) == (1, 3)
    assert rows_of(table.read("snapshot")) == rows_of(lake.view())  # of what Spark does not list the index may tell
